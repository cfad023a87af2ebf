"""Fit a model's constants to measured kernels, and judge the fit on rows it never saw.

What is fitted is a `ModelFit`: its parameters and how it predicts rows. The fit minimises a loss
of log(predicted / measured), with a log-normal prior on parameters that have one. Cross-validation
deals the (k, n) groups out to folds, so that a row is always predicted by a fit that saw no row
with its weights; it is repeated with other deals. Rows of the locked quarter are refused.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Literal, TypeVar, TypeVarTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from hwmodel.errors import InputError
from hwmodel.spec import HardwareSpec
from hwmodel.validation.measured import MeasuredRow

FOLDS = 5
"""Folds of the cross-validation: about six of the 31 groups that are not locked in each."""

SEED = 20261130
"""Seed of the deals and of the bootstrap: any fixed number does."""

CONSTANT_DIGITS = 4
"""Decimals of a constant: finer than its uncertainty, coarser than a computer's rounding."""

SOFT: Literal["soft_l1"] = "soft_l1"
"""The loss that grows linearly beyond its scale."""

CHOICE_ROUNDS = 2
"""Turns of the choices: what one is worth may depend on a later one."""

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

Predictor = Callable[[Mapping[str, float]], NDArray[np.float64]]
"""From the constants by name to the predicted times of some rows, microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A constant to fit.

    Attributes:
        name: of the constant, with its unit as suffix.
        start: where the fit starts: its value when nothing is known from measured kernels. It is
            also the centre of the prior.
        low: least value.
        high: greatest value.
        sigma: width of the log-normal prior; None: the data alone decide.
        scale: size of a step that matters, for the solver.
    """

    name: str
    start: float
    low: float
    high: float
    sigma: float | None = None
    scale: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A constant that is chosen from a few values, the first one that of a model without it."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFit:
    """How a model is fitted.

    Attributes:
        model: name of the evaluator.
        list_parameters: its parameters on a chip.
        build_predictor: predicts rows on a chip for any constants.
        loss: `linear` for least squares; `soft_l1` when rows that it cannot explain must not pull.
        loss_scale: error (a log ratio) above which `soft_l1` grows linearly.
        prior_error: error of a prediction that weighs as much as a parameter one sigma off.
        step_ratio: relative step of the derivatives: a model has kinks, so not infinitesimal.
        repeats: deals of the groups to folds in the cross-validation.
        most_steps: of the solver; None: until it has converged.
        held: names of parameters that are not fitted but stay at their start.
        choices: constants that every fit chooses on its own rows, one after the other, between
            two fits of the parameters.
    """

    model: str
    list_parameters: Callable[[HardwareSpec], tuple[Parameter, ...]]
    build_predictor: Callable[[HardwareSpec, Sequence[MeasuredRow]], Predictor]
    loss: Literal["linear", "soft_l1"] = "linear"
    loss_scale: float = 1.0
    prior_error: float = 0.0
    step_ratio: float
    repeats: int
    most_steps: int | None = None
    held: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()

    def free_parameters(self, spec: HardwareSpec) -> tuple[Parameter, ...]:
        """The parameters that are fitted."""
        return tuple(one for one in self.list_parameters(spec) if one.name not in self.held)

    def held_constants(self, spec: HardwareSpec) -> dict[str, float]:
        """The constants that are not fitted, at their starts."""
        return {
            one.name: round(one.start, CONSTANT_DIGITS)
            for one in self.list_parameters(spec)
            if one.name in self.held
        }


def fit_constants(
    fit: ModelFit,
    spec: HardwareSpec,
    rows: Sequence[MeasuredRow],
    *,
    start: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """The constants that fit the rows best, those that are held among them.

    Args:
        fit: the model.
        spec: the chip that the rows were measured on.
        rows: the rows; one that is given twice counts twice.
        start: where to start from, instead of the parameters' own starts.

    Raises:
        InputError: a row is locked, or there are fewer rows than constants.
    """
    count = len(fit.free_parameters(spec)) + len(fit.choices)
    if any(row.locked for row in rows):
        raise InputError("a locked row is among those to fit; leave the locked quarter out")
    if len(rows) < count:
        raise InputError(f"{len(rows)} rows cannot fit {count} constants; give more rows")
    predict = fit.build_predictor(spec, rows)
    log_measured = np.log([row.duration_us for row in rows])
    if not fit.choices:
        return _fit_parameters(fit, spec, predict, log_measured, {}, start)
    constants = start
    if constants is None:
        first = {one.name: one.values[0] for one in fit.choices}
        constants = _fit_parameters(fit, spec, predict, log_measured, first, None)
    chosen = _choose(fit, predict, log_measured, constants)
    return _fit_parameters(fit, spec, predict, log_measured, chosen, constants)


def _choose(
    fit: ModelFit,
    predict: Predictor,
    log_measured: NDArray[np.float64],
    constants: Mapping[str, float],
) -> dict[str, float]:
    """The best value of each choice in turn, twice over; a tie stays with the earlier value."""

    def loss(values: Mapping[str, float]) -> float:
        errors = (np.log(predict(values)) - log_measured) / fit.loss_scale
        squares = errors**2
        return float(np.sum(2 * (np.sqrt(1 + squares) - 1) if fit.loss == SOFT else squares))

    best = dict(constants)
    least = loss(best)
    for choice in fit.choices * CHOICE_ROUNDS:
        for value in choice.values:
            trial = best | {choice.name: value}
            trial_loss = least if value == best[choice.name] else loss(trial)
            if trial_loss < least:
                best, least = trial, trial_loss
    return {choice.name: best[choice.name] for choice in fit.choices}


def _fit_parameters(
    fit: ModelFit,
    spec: HardwareSpec,
    predict: Predictor,
    log_measured: NDArray[np.float64],
    chosen: Mapping[str, float],
    start: Mapping[str, float] | None,
) -> dict[str, float]:
    """The least squares of the free parameters, all other constants as they are."""
    parameters = fit.free_parameters(spec)
    others = fit.held_constants(spec) | dict(chosen)
    names = [one.name for one in parameters]
    low, high, scale, centre = (
        np.array([getattr(one, key) for one in parameters])
        for key in ("low", "high", "scale", "start")
    )
    has_prior = np.array([one.sigma is not None for one in parameters], dtype=bool)
    sigma = np.array([one.sigma for one in parameters if one.sigma is not None])

    def name_values(values: NDArray[np.float64]) -> dict[str, float]:
        return others | {name: float(value) for name, value in zip(names, values, strict=True)}

    def residuals(values: NDArray[np.float64]) -> NDArray[np.float64]:
        errors = np.log(predict(name_values(values))) - log_measured
        off = np.log(values[has_prior] / centre[has_prior]) / sigma
        return np.concatenate([errors, fit.prior_error * off])

    begin = centre if start is None else np.array([start[name] for name in names])
    margin = fit.step_ratio * scale
    solution = least_squares(
        residuals,
        np.clip(begin, low + margin, high - margin),
        bounds=(low, high),
        diff_step=np.full_like(begin, fit.step_ratio),
        x_scale=scale,
        loss=fit.loss,
        f_scale=fit.loss_scale,
        max_nfev=fit.most_steps,
    )
    return name_values(np.round(solution.x, CONSTANT_DIGITS))


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
    fit: ModelFit,
    spec: HardwareSpec,
    rows: Sequence[MeasuredRow],
    *,
    folds: int = FOLDS,
    repeats: int | None = None,
    seed: int = SEED,
    jobs: int = 1,
) -> NDArray[np.float64]:
    """Predictions of every row by fits that saw no row of its group.

    Args:
        fit: the model.
        spec: the chip.
        rows: the rows.
        folds: parts that the groups are dealt out to.
        repeats: deals; by default the model's own number.
        seed: of the first deal.
        jobs: processes; the result does not depend on it.

    Returns:
        Microseconds, shape (repeats, len(rows)): one prediction for each deal of the groups.
    """
    repeats = fit.repeats if repeats is None else repeats
    deals = [
        (repeat, held_out)
        for repeat in range(repeats)
        for held_out in split_groups(rows, folds, seed + repeat)
    ]
    predicted = np.empty((repeats, len(rows)))
    parts = _run_all(_predict_fold, [(fit, spec, rows, held_out) for _, held_out in deals], jobs)
    for (repeat, held_out), part in zip(deals, parts, strict=True):
        predicted[repeat, held_out] = part
    return predicted


def _predict_fold(
    fit: ModelFit, spec: HardwareSpec, rows: Sequence[MeasuredRow], held_out: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Predictions of the rows held out by a fit of the others."""
    seen = sorted(set(range(len(rows))) - set(held_out.tolist()))
    constants = fit_constants(fit, spec, [rows[position] for position in seen])
    return fit.build_predictor(spec, [rows[position] for position in held_out])(constants)


def bootstrap_constants(
    fit: ModelFit,
    spec: HardwareSpec,
    rows: Sequence[MeasuredRow],
    fitted: Mapping[str, float],
    *,
    draws: int,
    seed: int = SEED,
    jobs: int = 1,
) -> tuple[dict[str, float], ...]:
    """How the fitted constants scatter: fits of groups drawn with replacement.

    Whole (k, n) groups are drawn, as their rows err together. Each fit starts from `fitted`.

    Args:
        fit: the model.
        spec: the chip.
        rows: the rows that were fitted.
        fitted: the constants of all rows.
        draws: number of fits.
        seed: of the draws.
        jobs: processes; the result does not depend on it.

    Returns:
        One set of the constants that are fitted, not held, for each draw.
    """
    members: dict[tuple[int, int], list[MeasuredRow]] = {}
    for row in rows:
        members.setdefault(row.group, []).append(row)
    groups = sorted(members)
    generator = np.random.default_rng(seed)
    samples = [
        [row for place in drawn for row in members[groups[place]]]
        for drawn in generator.integers(len(groups), size=(draws, len(groups)))
    ]
    cases = [(fit, spec, sample, fitted) for sample in samples]
    return tuple(_run_all(_fit_sample, cases, jobs))


def _fit_sample(
    fit: ModelFit,
    spec: HardwareSpec,
    rows: Sequence[MeasuredRow],
    fitted: Mapping[str, float],
) -> dict[str, float]:
    """One fit of a bootstrap; only what is fitted."""
    constants = fit_constants(fit, spec, rows, start=fitted)
    return {name: value for name, value in constants.items() if name not in fit.held}


def _run_all(
    function: Callable[[*Arguments], Result], cases: Sequence[tuple[*Arguments]], jobs: int
) -> list[Result]:
    """The function's results for all cases, in their order, from `jobs` processes."""
    if jobs == 1:
        return [function(*case) for case in cases]
    # Fresh processes: a copy of one that runs threads may hang.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(function, *case) for case in cases]
        return [future.result() for future in futures]
