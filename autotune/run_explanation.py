"""Shapes of a finished run, found by name, and their winners compared with another plan.

A run keeps plans and times, not what the times are made of; so the plans are evaluated again, on
the hardware of the run.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from autotune.explanation import Comparison
from autotune.explanation_reasons import ExplainedKernel
from autotune.plan_fields import BASELINE, load_plan
from autotune.report.aggregates import is_grouped
from autotune.report.text import clip_text, format_count, short_name
from autotune.results import ComparedPlans, ResultRow
from hwmodel.cost.evaluator import Evaluator
from hwmodel.errors import InputError
from hwmodel.plan import KernelPlan
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec

EXPRESSIBLE: Final = "expressible"
"""The best plan that the operator's tiling data can carry, where a plan may be given."""

_NAMES: Final = {
    BASELINE: "the operator's plan",
    EXPRESSIBLE: "the best plan that the tiling data can carry",
}
_BEST: Final = "the best plan"
_OPTION: Final = "--vs"
_SUGGESTIONS: Final = 3
_LIST_COLUMNS: Final = 300
"""Columns of a list of shapes in a message."""

_SAME_RATIO: Final = 1e-9
"""Times of one model agree to this: its version changes whenever a prediction may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRow:
    """A shape of the run with its comparison.

    Attributes:
        row: the row of the results.
        compared: what the run found.
        comparison: its winner against the plan asked for, evaluated again.
    """

    row: ResultRow
    compared: ComparedPlans
    comparison: Comparison

    @property
    def matches_run(self) -> bool:
        """The winner's time is the one that the run has."""
        now_us = self.comparison.second.cost.task_duration_us
        return abs(now_us / self.compared.best.predicted_us - 1.0) <= _SAME_RATIO


def find_row(rows: Sequence[ResultRow], name: str) -> ResultRow:
    """The shape of that name, size (`2048x4096x704`, M x K x N) or number in the report.

    Raises:
        InputError: there is none, or several that differ.
    """
    named = [row for row in rows if row.name == name]
    sized = [row for row in rows if row.problem.label() == name]
    numbered = [row for row in rows if str(row.index + 1) == name]
    found = named or sized or numbered
    if not found:
        raise InputError(f"--shape {short_name(name)}: not in the run; {_suggest(rows, name)}")
    if len({row.problem for row in found}) > 1:
        places = ", ".join(f"{row.index + 1} ({row.problem.label()})" for row in found)
        raise InputError(
            f"--shape {short_name(name)}: {format_count(len(found), 'shape')} of the run; give "
            f"one's number: {clip_text(places, _LIST_COLUMNS)}"
        )
    return found[0]


def select_largest(rows: Sequence[ResultRow], count: int) -> tuple[ResultRow, ...]:
    """The shapes with the largest gaps, largest first, each problem once, without gaps of zero.

    Shapes tagged `grouped`, which another operator serves, are left out.
    """
    gaps: dict[GemmProblem, tuple[float, ResultRow]] = {}
    for row in rows:
        if row.compared is not None and row.compared.gap_ratio > 0.0 and not is_grouped(row):
            gaps.setdefault(row.problem, (row.compared.gap_ratio, row))
    ordered = sorted(gaps.values(), key=lambda pair: (-pair[0], pair[1].index))
    return tuple(row for _, row in ordered[:count])


def explain_row(row: ResultRow, versus: str, model: Evaluator, spec: HardwareSpec) -> ExplainedRow:
    """The winner of a shape against the plan asked for.

    Args:
        row: the shape.
        versus: `baseline`, `expressible`, or a plan as `autotune.plan_fields` reads it.
        model: evaluates both.
        spec: the hardware of the run.

    Raises:
        InputError: the shape has no winner, or `versus` is no plan.
    """
    compared = row.compared
    if compared is None:
        raise InputError(
            f"shape {short_name(row.name)}: the run has no plan to explain: "
            f"{short_name(row.message)}"
        )
    known = {BASELINE: compared.baseline.plan, EXPRESSIBLE: compared.best_expressible.plan}
    other = known.get(versus) or load_plan(
        versus, _OPTION, row.problem, spec, compared.baseline.plan
    )

    def evaluate(name: str, plan: KernelPlan) -> ExplainedKernel:
        cost = model.evaluate(row.problem, spec, plan)
        return ExplainedKernel(name=name, plan=plan, cost=cost)

    return ExplainedRow(
        row=row,
        compared=compared,
        comparison=Comparison(
            problem=row.problem,
            spec=spec,
            first=evaluate(_NAMES.get(versus, f"the plan of {_OPTION}"), other),
            second=evaluate(_BEST, compared.best.plan),
        ),
    )


def _suggest(rows: Sequence[ResultRow], name: str) -> str:
    """Names like the one that was given, or how to write one."""
    if not rows:
        return "it has no shapes"
    names = list(dict.fromkeys(row.name for row in rows))
    close = difflib.get_close_matches(name, names, n=_SUGGESTIONS)
    if close:
        return f"is it {' or '.join(map(short_name, close))}?"
    return f"give a name, a size like {rows[0].problem.label()} or a number up to {len(rows)}"
