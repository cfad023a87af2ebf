"""What is fitted of the pipeline model: its seven ratios, by plain least squares."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.constants import CONSTANT_NAMES, PIPELINE_MODEL, PipelineConstants
from hwmodel.cost.pipeline import estimate_group
from hwmodel.cost.terms import ProblemTerms, chip_rates, problem_terms
from hwmodel.plan import L0cOutput, Template
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.validation.fit import ModelFit, Parameter
from hwmodel.validation.measured import MeasuredRow

REPEATS = 5
"""Deals of the groups to folds in the cross-validation."""

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


class PipelinePredictor:
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

    def __call__(self, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Predicted times in the order of the rows, microseconds."""
        constants = PipelineConstants(**values)
        times = np.empty(self._size)
        for group in self._groups:
            chip = chip_rates(group.problem, self._spec, constants)
            costs = estimate_group(
                group.terms, chip, group.problem, group.template, group.output, group.plans
            )
            times[group.positions] = costs.total * (1 / chip.clock_mhz)
        return times


def list_pipeline_parameters(spec: HardwareSpec) -> tuple[Parameter, ...]:
    """Its parameters: ratios that start at what they are without a calibration."""
    bounds = dict.fromkeys(CONSTANT_NAMES, RATIO_BOUNDS)
    bounds["line_waste_ratio"] = LINE_WASTE_BOUNDS
    bounds["overlap_loss_ratio"] = OVERLAP_LOSS_BOUNDS
    # The cube cannot do more than its peak.
    peak = 1 / spec.compute.cube_efficiency_ratio
    bounds["cube_efficiency_ratio"] = (RATIO_BOUNDS[0], peak + STEP_RATIO)
    defaults = asdict(PipelineConstants())
    return tuple(
        Parameter(name=name, start=defaults[name], low=low, high=high)
        for name, (low, high) in bounds.items()
    )


PIPELINE_FIT = ModelFit(
    model=PIPELINE_MODEL,
    list_parameters=list_pipeline_parameters,
    build_predictor=PipelinePredictor,
    step_ratio=STEP_RATIO,
    repeats=REPEATS,
)
"""How the pipeline model is fitted."""
