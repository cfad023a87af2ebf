"""How far a predicted gap can be trusted: resolved or not, and how near to the measured kernels.

A model's error hides small gaps. A gap counts as resolved only if it exceeds twice the model's
median cross-validated error on measured kernels of the same class, and if kernels of both plans'
templates were measured at all. (Specification: studies.md, "Search".)
"""

from dataclasses import replace
from enum import StrEnum
from functools import cache

from hwmodel.dtypes import DType, Format
from hwmodel.plan import VENDOR_WINDOW_LEN, KernelPlan, L0cOutput, Template, canonical_plan
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.validation.classes import select_error_class
from hwmodel.validation.measured import load_measured
from studies.outcome import ShapeOutcome

RESOLVED_FACTOR = 2.0
"""Gap over median error from which a gap is resolved (specification: studies.md, "Search")."""


class Coverage(StrEnum):
    """How far the shape lies from the measured kernels (specification: studies.md, "Search")."""

    INSIDE = "inside"
    TRANSPOSED = "transposed"
    EXTRAPOLATED = "extrapolated"


def is_resolved(outcome: ShapeOutcome, spec: HardwareSpec, evaluator: str) -> bool:
    """Whether the gap of `outcome` exceeds what the evaluator's error could explain.

    The error is the cross-validated median of the evaluator's calibration, in the class of the
    baseline by its predicted time. There is none, and no gap is resolved, for an evaluator
    without a calibration (`formula`: it sees neither base_k nor order), for a chip whose
    calibration was carried over from another, and for a class without measured rows.
    """
    calibration = spec.calibrations.get(evaluator)
    if calibration is None or calibration.measured_on != spec.soc:
        return False
    if not {outcome.baseline.plan.template, outcome.best.plan.template} <= measured_templates():
        return False
    error_class = select_error_class(
        outcome.problem,
        outcome.baseline.plan,
        outcome.baseline.cost.task_duration_us,
        spec,
    )
    error = calibration.errors.get(error_class)
    return error is not None and outcome.gap_ratio > RESOLVED_FACTOR * error.median_ape


def select_coverage(outcome: ShapeOutcome) -> Coverage:
    """How far the comparison lies from the measured kernels: the farther of its two plans."""
    problem = outcome.problem
    plain = (
        problem.dtype is DType.BF16
        and problem.out_dtype is DType.BF16
        and problem.bias_dtype is None
        and problem.format_b is Format.ND
    )
    seen = all(_is_seen(problem, plan) for plan in (outcome.baseline.plan, outcome.best.plan))
    if not (plain and seen):
        return Coverage.EXTRAPOLATED
    if problem.trans_a or problem.trans_b:
        return Coverage.TRANSPOSED
    return Coverage.INSIDE


@cache
def measured_templates() -> frozenset[Template]:
    """Templates of which at least one kernel was measured."""
    return frozenset(row.plan.template for row in load_measured())


@cache
def measured_tiles() -> frozenset[tuple[int, int]]:
    """(base_m, base_n) of the measured kernels."""
    return frozenset((row.plan.base_m, row.plan.base_n) for row in load_measured())


def _is_seen(problem: GemmProblem, plan: KernelPlan) -> bool:
    """The plan's template, tile, window and output path were all measured, if not together."""
    vendor_order = replace(plan, window_len=VENDOR_WINDOW_LEN, serpentine=True)
    return (
        plan.template in measured_templates()
        and (plan.base_m, plan.base_n) in measured_tiles()
        and plan.l0c_output is L0cOutput.ON_THE_FLY
        and canonical_plan(problem, plan) == canonical_plan(problem, vendor_order)
    )
