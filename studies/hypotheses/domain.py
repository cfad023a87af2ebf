"""The shapes that count for a study: distinct problems of its domain, by their first rows.

Rows of the shapes file count for every study, rows of a domain list for its own hypothesis only.
Rows tagged `grouped` are served by another operator today and count for none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hwmodel.problem import GemmProblem
from studies.hypotheses.answers import Comparison, ShapeAnswer
from studies.hypotheses.registry import StudyEntry
from studies.hypotheses.statistics import LEAST_SHAPES, RatioSample, cluster_of, summarise
from studies.hypotheses.verdicts import RatioSummary, StudiedRow
from studies.shape_rows import ShapeRow

GROUPED_TAG = "grouped"
"""Rows that another operator serves today (specification: studies.md, "Shapes")."""

Answers = Mapping[GemmProblem, ShapeAnswer]
"""The answers by problem; problems that the operator rejects have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainShape:
    """A distinct problem of a study's domain, by its first row."""

    row: ShapeRow
    answer: ShapeAnswer
    comparison: Comparison


def list_domain(
    entry: StudyEntry, rows: Sequence[StudiedRow], answers: Answers
) -> tuple[DomainShape, ...]:
    """The distinct problems that count for a study, in the order of their first rows."""
    shapes: dict[GemmProblem, DomainShape] = {}
    for studied in rows:
        row = studied.row
        counts = studied.source in {"", entry.domain_list} and row.tag != GROUPED_TAG
        answer = answers.get(row.problem)
        if not counts or answer is None or row.problem in shapes:
            continue
        comparison = answer.find(entry.statement.id)
        if comparison is not None:
            shapes[row.problem] = DomainShape(row=row, answer=answer, comparison=comparison)
    return tuple(shapes.values())


def list_counted(
    rows: Sequence[StudiedRow], answers: Answers
) -> list[tuple[ShapeRow, ShapeAnswer]]:
    """Rows of the shapes file that count, with their answers."""
    return [
        (studied.row, answers[studied.row.problem])
        for studied in rows
        if studied.source == ""
        and studied.row.tag != GROUPED_TAG
        and studied.row.problem in answers
    ]


def judged_ratio(comparison: Comparison) -> float:
    """The ratio that a verdict is about."""
    return comparison.judged_ratio


def summarise_ratios(
    shapes: Sequence[DomainShape],
    ratio_of: Callable[[Comparison], float] = judged_ratio,
    *,
    least_shapes: int = LEAST_SHAPES,
) -> RatioSummary:
    """Statistics of one ratio of each shape."""
    samples = [
        RatioSample(ratio=ratio_of(shape.comparison), cluster=cluster_of(shape.row))
        for shape in shapes
    ]
    return summarise(samples, least_shapes=least_shapes)
