"""Fit the pipeline model's constants to measured kernels, and judge the fit on rows it never saw.

The fit minimises the squares of log(predicted / measured). Cross-validation deals the (k, n)
groups out to folds, so that a row is always predicted by a fit that saw no row with its weights;
it is repeated with other deals. Rows of the locked quarter are refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from hwmodel.cost.constants import CONSTANT_NAMES, PipelineConstants
from hwmodel.cost.pipeline import estimate_group
from hwmodel.cost.terms import ProblemTerms, chip_rates, problem_terms
from hwmodel.errors import InputError
from hwmodel.plan import L0cOutput, Template
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.validation.measured import MeasuredRow

FOLDS = 5
"""Folds of the cross-validation: about six of the 31 groups that are not locked in each."""

REPEATS = 5
"""Deals of the groups to folds."""

SEED = 20261130
"""Seed of the deals: any fixed number does."""

CONSTANT_DIGITS = 4
"""Decimals of a constant: finer than its uncertainty, coarser than a computer's rounding."""

RATIO_BOUNDS = (0.5, 2.0)
"""A figure of the spec that is off by more than this is no matter for a correction."""

LINE_WASTE_BOUNDS = (0.0, 1.0)
"""Of the wasted part of the lines at least none and at most all is paid for."""

OVERLAP_LOSS_BOUNDS = (0.0, 0.3)
"""Above a third, less bandwidth could be faster."""

STEP_RATIO = 1e-3
"""Relative step of the derivatives: the model has kinks, so not an infinitesimal one."""

ProblemKind = tuple[Template, L0cOutput, GemmProblem]


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowGroup:
    """Rows that one closed form evaluates at once."""

    template: Template
    output: L0cOutput
    problem: GemmProblem
    positions: NDArray[np.intp]
    terms: ProblemTerms
    plans: PlanBatch


class RowPredictor:
    """Predicts all rows for any constants; what does not depend on the constants is kept."""

    def __init__(self, spec: HardwareSpec, rows: Sequence[MeasuredRow]) -> None:
        """Group the rows by kernel and by everything of the problem but its lengths."""
        self._spec = spec
        self._size = len(rows)
        kinds: dict[ProblemKind, list[int]] = {}
        for position, row in enumerate(rows):
            kind = (row.plan.template, row.plan.l0c_output, replace(row.problem, m=1, k=1, n=1))
            kinds.setdefault(kind, []).append(position)
        self._groups = tuple(
            _RowGroup(
                template=template,
                output=output,
                problem=problem,
                positions=np.array(positions),
                terms=problem_terms([rows[position].problem for position in positions]),
                plans=PlanBatch.from_plans([rows[position].plan for position in positions]),
            )
            for (template, output, problem), positions in kinds.items()
        )

    def predict_us(self, constants: PipelineConstants) -> NDArray[np.float64]:
        """Predicted times in the order of the rows, microseconds."""
        times = np.empty(self._size)
        for group in self._groups:
            chip = chip_rates(group.problem, self._spec, constants)
            costs = estimate_group(
                group.terms, chip, group.problem, group.template, group.output, group.plans
            )
            times[group.positions] = costs.total * (1 / chip.clock_mhz)
        return times


def fit_constants(spec: HardwareSpec, rows: Sequence[MeasuredRow]) -> PipelineConstants:
    """The constants that fit the rows best.

    Raises:
        InputError: a row is locked, or there are fewer rows than constants.
    """
    if any(row.locked for row in rows):
        raise InputError("a locked row is among those to fit; leave the locked quarter out")
    if len(rows) < len(CONSTANT_NAMES):
        raise InputError(
            f"{len(rows)} rows cannot fit {len(CONSTANT_NAMES)} constants; give more rows"
        )
    predictor = RowPredictor(spec, rows)
    log_measured = np.log([row.duration_us for row in rows])

    def residuals(values: NDArray[np.float64]) -> NDArray[np.float64]:
        predicted = predictor.predict_us(PipelineConstants(**_named(values)))
        difference: NDArray[np.float64] = np.log(predicted) - log_measured
        return difference

    low, high = _bounds(spec)
    start = np.clip(np.ones_like(low), low + STEP_RATIO, high - STEP_RATIO)
    steps = np.full_like(start, STEP_RATIO)
    solution = least_squares(residuals, start, bounds=(low, high), diff_step=steps)
    return PipelineConstants(**_named(np.round(solution.x, CONSTANT_DIGITS)))


def _named(values: NDArray[np.float64]) -> dict[str, float]:
    """Constants by name."""
    return {name: float(value) for name, value in zip(CONSTANT_NAMES, values, strict=True)}


def _bounds(spec: HardwareSpec) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Least and greatest value of each constant."""
    bounds = dict.fromkeys(CONSTANT_NAMES, RATIO_BOUNDS)
    bounds["line_waste_ratio"] = LINE_WASTE_BOUNDS
    bounds["overlap_loss_ratio"] = OVERLAP_LOSS_BOUNDS
    # The cube cannot do more than its peak.
    peak = 1 / spec.compute.cube_efficiency_ratio
    bounds["cube_efficiency_ratio"] = (RATIO_BOUNDS[0], peak + STEP_RATIO)
    pairs = np.array([bounds[name] for name in CONSTANT_NAMES])
    return pairs[:, 0], pairs[:, 1]


def split_groups(
    rows: Sequence[MeasuredRow], folds: int, seed: int
) -> tuple[NDArray[np.intp], ...]:
    """Positions of the rows of each fold; rows of one (k, n) are in one fold.

    The groups, in sorted order, are shuffled by the seed and dealt out like cards.
    """
    groups = sorted({row.group for row in rows})
    order = np.random.default_rng(seed).permutation(len(groups))
    fold_of = {groups[group]: place % folds for place, group in enumerate(order)}
    row_folds = np.array([fold_of[row.group] for row in rows])
    return tuple(np.flatnonzero(row_folds == fold) for fold in range(folds))


def cross_validate(
    spec: HardwareSpec,
    rows: Sequence[MeasuredRow],
    *,
    folds: int = FOLDS,
    repeats: int = REPEATS,
    seed: int = SEED,
) -> NDArray[np.float64]:
    """Predictions of every row by fits that saw no row of its group.

    Returns:
        Microseconds, shape (repeats, len(rows)): one prediction for each deal of the groups.
    """
    predictor = RowPredictor(spec, rows)
    predicted = np.empty((repeats, len(rows)))
    for repeat in range(repeats):
        for held_out in split_groups(rows, folds, seed + repeat):
            seen = sorted(set(range(len(rows))) - set(held_out.tolist()))
            constants = fit_constants(spec, [rows[position] for position in seen])
            predicted[repeat, held_out] = predictor.predict_us(constants)[held_out]
    return predicted
