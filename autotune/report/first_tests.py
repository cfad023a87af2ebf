"""Which kernels to time first on a chip: those that would save the most time in a pass.

Only what can be tried today is listed: plans that the vendor's tiling data can carry, with a gap
that the model's error cannot explain.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autotune.report.aggregates import CountedRow, select_counted
from autotune.report.changes import ARROW, describe_change, explain_gain
from autotune.report.tables import ShapeLine, build_counted_lines
from autotune.report.text import format_gap, format_us
from autotune.results import ComparedPlans, ResultRow
from hwmodel.cost.evaluators import select_evaluator
from hwmodel.problem import GemmProblem
from hwmodel.spec import ClassError, HardwareSpec
from studies.gap import RESOLVED_FACTOR

FIRST_TESTS = 10
"""Kernels in the table: about what one session on a chip can time."""

HOW_TO_APPLY = (
    "The operator has no tuning knob in this project: the fields, by the vendor's names, are what "
    "its host tiling would have to produce for these shapes, so time these kernels first, with "
    "both tilings, before changing any rule."
)
"""Stands below the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateLine:
    """One kernel to time.

    Attributes:
        shape: the shape's cells.
        changes: what to change from the vendor's tiling, field by field.
        times: predicted times, before and after.
        gap: how much longer the vendor's tiling takes.
        saved: predicted time saved in a pass.
        calls: calls in a pass.
        reason: why, in one clause.
    """

    shape: ShapeLine
    changes: tuple[str, ...]
    times: str
    gap: str
    saved: str
    calls: str
    reason: str


def build_first_tests(
    rows: Sequence[ResultRow], spec: HardwareSpec, evaluator: str
) -> tuple[CandidateLine, ...]:
    """The table, greatest saving in a pass first.

    Args:
        rows: all rows of the run.
        spec: the run's hardware.
        evaluator: name of the model, which is asked again for the parts of the time.
    """
    calibration = spec.calibrations.get(evaluator)
    errors = calibration.errors if calibration is not None else {}
    model = select_evaluator(evaluator)
    lines: list[CandidateLine] = []
    for item in select_first_tests(rows, errors, FIRST_TESTS):
        compared, problem = item.compared, item.row.problem
        plans = (compared.baseline.plan, compared.best_expressible.plan)
        before, after = (model.evaluate(problem, spec, plan) for plan in plans)
        times_us = compared.baseline.predicted_us, compared.best_expressible.predicted_us
        lines.append(
            CandidateLine(
                shape=build_counted_lines((item,))[0],
                changes=describe_change(*plans, compared.strategy),
                times=f" {ARROW} ".join(map(format_us, times_us)),
                gap=format_gap(compared.expressible_gap_ratio),
                saved=format_us(_saved_us(item)),
                calls=f"{item.row.weight:,.12g}",
                reason=explain_gain(plans, (before, after), spec.cores.aic_num),
            )
        )
    return tuple(lines)


def select_first_tests(
    rows: Sequence[ResultRow], errors: Mapping[str, ClassError], count: int
) -> tuple[CountedRow, ...]:
    """The `count` rows whose expressible plan saves the most time in a pass, most first.

    Rows of one problem are one kernel: only the one that saves the most is kept.

    Args:
        rows: all rows of the run.
        errors: the model's errors by class.
        count: how many at most.
    """
    candidates = [
        item
        for item in select_counted(rows)
        if _saved_us(item) > 0.0 and _is_resolved(item.compared, errors)
    ]
    candidates.sort(key=lambda item: (-_saved_us(item), item.row.index))
    kernels: dict[GemmProblem, CountedRow] = {}
    for item in candidates:
        kernels.setdefault(item.row.problem, item)
    return tuple(kernels.values())[:count]


def _is_resolved(compared: ComparedPlans, errors: Mapping[str, ClassError]) -> bool:
    """The expressible plan's own gap is resolved, by the rule of `studies.gap`."""
    if not compared.resolved or not compared.best_inexpressible_field:
        return compared.resolved
    classes = (compared.error_class, compared.best_error_class)
    return all(
        name in errors
        and compared.expressible_gap_ratio > RESOLVED_FACTOR * errors[name].median_ape
        for name in classes
    )


def _saved_us(item: CountedRow) -> float:
    """Time that the expressible plan saves in a pass, in microseconds."""
    compared = item.compared
    saved_us = compared.baseline.predicted_us - compared.best_expressible.predicted_us
    return item.row.weight * saved_us
