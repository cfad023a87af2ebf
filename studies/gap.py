"""How far a predicted gap can be trusted: resolved or not, and how near to the measured kernels.

A model's error hides small gaps. The specification (studies.md, "Search") calls a gap resolved if
it exceeds twice the model's median cross-validated error in the class of the baseline, and if both
plans' templates were measured. This module is stricter in two ways:

- The error is the larger of those of the two plans' classes, each plan's class by its own
  predicted time. A gap is a ratio of two predictions, and in the largest stream-K gaps the winner
  is of another class than the baseline, one that the model predicts worse.
- No gap is resolved when either predicted time is below that of the shortest measured kernel:
  nothing is known of the model's error there.

A median says that half of the kernels are predicted worse. So it is also told which resolved gaps
exceed twice the 90th percentile, again the larger of the two classes'.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from hwmodel.dtypes import DType, Format
from hwmodel.plan import VENDOR_WINDOW_LEN, KernelPlan, L0cOutput, Template, canonical_plan
from hwmodel.problem import GemmProblem
from hwmodel.spec import ClassError, HardwareSpec
from hwmodel.validation.classes import ErrorClass, select_error_class
from hwmodel.validation.measured import load_measured
from studies.outcome import ShapeOutcome

RESOLVED_FACTOR = 2.0
"""Gap over median error from which a gap is resolved (specification: studies.md, "Search")."""


class Coverage(StrEnum):
    """How far the shape lies from the measured kernels (specification: studies.md, "Search")."""

    INSIDE = "inside"
    TRANSPOSED = "transposed"
    EXTRAPOLATED = "extrapolated"


@dataclass(frozen=True, slots=True, kw_only=True)
class GapVerdict:
    """What a gap is worth.

    Attributes:
        resolved: the gap exceeds what the model's median error could explain.
        exceeds_p90: it is resolved and exceeds twice the 90th percentile of the error, too.
        baseline_class: error class of the baseline, by its predicted time.
        best_class: error class of the best plan, by its own predicted time.
    """

    resolved: bool
    exceeds_p90: bool
    baseline_class: ErrorClass
    best_class: ErrorClass


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedPlan:
    """A plan and its predicted time, microseconds."""

    plan: KernelPlan
    time_us: float


def judge_gap(outcome: ShapeOutcome, spec: HardwareSpec, evaluator: str) -> GapVerdict:
    """Whether the gap of `outcome` exceeds what the evaluator's error could explain."""
    baseline, best = (
        TimedPlan(plan=side.plan, time_us=side.cost.task_duration_us)
        for side in (outcome.baseline, outcome.best)
    )
    return judge_difference(outcome.problem, spec, evaluator, baseline, best)


def judge_difference(
    problem: GemmProblem,
    spec: HardwareSpec,
    evaluator: str,
    baseline: TimedPlan,
    best: TimedPlan,
) -> GapVerdict:
    """Whether two times, whichever is longer, differ by more than the error could explain.

    There is no error to compare with, and no gap is resolved, for an evaluator without a
    calibration (`formula`: it sees neither base_k nor order), for a chip whose calibration was
    carried over from another, and when one of the two classes has no measured rows.
    """
    sides = (baseline, best)
    classes = tuple(select_error_class(problem, one.plan, one.time_us, spec) for one in sides)
    errors = _known_errors(spec, evaluator, classes)
    trusted = bool(errors) and all(_is_measured_ground(one) for one in sides)
    times_us = [one.time_us for one in sides]
    gap_ratio = max(times_us) / min(times_us) - 1.0
    resolved = trusted and all(gap_ratio > RESOLVED_FACTOR * item.median_ape for item in errors)
    return GapVerdict(
        resolved=resolved,
        exceeds_p90=resolved
        and all(gap_ratio > RESOLVED_FACTOR * item.p90_ape for item in errors),
        baseline_class=classes[0],
        best_class=classes[1],
    )


def select_coverage(outcome: ShapeOutcome) -> Coverage:
    """How far the comparison lies from the measured kernels: the farther of its two plans."""
    return select_plans_coverage(outcome.problem, (outcome.baseline.plan, outcome.best.plan))


def select_plans_coverage(problem: GemmProblem, plans: Sequence[KernelPlan]) -> Coverage:
    """How far plans for one problem lie from the measured kernels: the farthest of them."""
    plain = (
        problem.dtype is DType.BF16
        and problem.out_dtype is DType.BF16
        and problem.bias_dtype is None
        and problem.format_b is Format.ND
    )
    if not (plain and all(_is_seen(problem, plan) for plan in plans)):
        return Coverage.EXTRAPOLATED
    if problem.trans_a or problem.trans_b:
        return Coverage.TRANSPOSED
    return Coverage.INSIDE


@cache
def measured_templates() -> frozenset[Template]:
    """Templates of which at least one kernel was measured."""
    return frozenset(row.plan.template for row in load_measured())


@cache
def measured_tiles() -> frozenset[tuple[int, int, int, int]]:
    """(base_m, base_n, base_k, step_k) of the measured kernels."""
    return frozenset(
        (row.plan.base_m, row.plan.base_n, row.plan.base_k, row.plan.step_k)
        for row in load_measured()
    )


@cache
def shortest_measured_us() -> float:
    """Time of the shortest measured kernel, microseconds."""
    return min(row.duration_us for row in load_measured())


def _known_errors(
    spec: HardwareSpec, evaluator: str, classes: tuple[ErrorClass, ...]
) -> tuple[ClassError, ...]:
    """The cross-validated errors of the classes on this very chip; empty unless all are known."""
    calibration = spec.calibrations.get(evaluator)
    if calibration is None or calibration.measured_on != spec.soc:
        return ()
    if any(error_class not in calibration.errors for error_class in classes):
        return ()
    return tuple(calibration.errors[error_class] for error_class in classes)


def _is_measured_ground(side: TimedPlan) -> bool:
    """Kernels of the plan's template were measured, and it is not shorter than any of them."""
    return side.plan.template in measured_templates() and side.time_us >= shortest_measured_us()


def _is_seen(problem: GemmProblem, plan: KernelPlan) -> bool:
    """The plan's template, tile, window and output path were all measured, if not together.

    A tile is seen with its depth in K: base_k and step_k decide how loads and multiplications
    overlap, and no measured kernel varies them on one shape.
    """
    if plan.template not in measured_templates() or plan.l0c_output is not L0cOutput.ON_THE_FLY:
        return False
    canonical = canonical_plan(problem, plan)
    return any(
        canonical
        == canonical_plan(
            problem,
            replace(plan, window_len=VENDOR_WINDOW_LEN, serpentine=True, step_k=step_k),
        )
        for base_m, base_n, base_k, step_k in measured_tiles()
        if (base_m, base_n, base_k) == (plan.base_m, plan.base_n, plan.base_k)
    )
