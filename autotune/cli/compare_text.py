"""How `autotune compare` words its answer: as a table for people, as a document for programs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

from autotune.cli.paragraph import wrap_paragraph
from autotune.fail_condition import FailCondition
from autotune.report.text import (
    clean_text,
    clip_text,
    format_count,
    format_gap,
    format_percent,
    format_us,
    short_name,
)
from autotune.results import ComparedPlans, ResultRow
from autotune.run_comparison import Change, MatchedShape, RunComparison
from autotune.search_runs import SearchResults

_NAME_COLUMNS: Final = 48
"""Longest name in the table; the other columns take some 70."""

_LISTED: Final = 20
"""Shapes that are named in a list; of more the number is told."""

_HEADS: Final = (
    "shape",
    "baseline A",
    "B",
    "best A",
    "B",
    "B to A",
    "gap A",
    "B",
    "",
)


def build_document(
    first: SearchResults,
    second: SearchResults,
    comparison: RunComparison,
    condition: FailCondition | None,
) -> dict[str, object]:
    """The answer as one JSON document; ratios are run B over run A."""
    means = comparison.means()
    return {
        "run_a": str(first.directory),
        "run_b": str(second.directory),
        "threshold_ratio": comparison.threshold_ratio,
        "counts": {change.value: comparison.count(change) for change in Change},
        "means": None if means is None else asdict(means),
        "shapes": [_describe_shape(shape) for shape in comparison.shapes],
        "lost": _describe_rows(comparison.lost),
        "gained": _describe_rows(comparison.gained),
        "unanswered": comparison.unanswered,
        "only_in_a": _describe_rows(comparison.only_first),
        "only_in_b": _describe_rows(comparison.only_second),
        "differences": [asdict(difference) for difference in comparison.differences],
        "fail_if": None
        if condition is None
        else {"condition": condition.text, "met": comparison.is_worse},
    }


def _describe_shape(shape: MatchedShape) -> dict[str, object]:
    """One shape as plain data."""
    return {
        "name": shape.row.name,
        "problem": asdict(shape.row.problem),
        "a": _describe_side(shape.first),
        "b": _describe_side(shape.second),
        "best_ratio": shape.best_ratio,
        "baseline_ratio": shape.baseline_ratio,
        "change": shape.change.value,
    }


def _describe_side(compared: ComparedPlans) -> dict[str, object]:
    """Times and gap of one run."""
    return {
        "baseline_us": compared.baseline.predicted_us,
        "best_us": compared.best.predicted_us,
        "gap_ratio": compared.gap_ratio,
    }


def _describe_rows(rows: Sequence[ResultRow]) -> list[dict[str, object]]:
    return [{"name": row.name, "problem": asdict(row.problem)} for row in rows]


def describe_failure(comparison: RunComparison, condition: FailCondition) -> str:
    """Why the condition is met, in one line."""
    parts = []
    worse = [shape for shape in comparison.shapes if shape.change is Change.WORSE]
    if worse:
        worst = max(worse, key=lambda shape: shape.best_ratio)
        parts.append(
            f"{format_count(len(worse), 'shape')}, the worst by "
            f"{_format_change(worst.best_ratio)}: {short_name(worst.row.name)}"
        )
    if comparison.lost:
        parts.append(f"{format_count(len(comparison.lost), 'shape')} without an answer in B")
    return f"{condition.text} is met by {'; '.join(parts)}"


def format_comparison(
    first: SearchResults, second: SearchResults, comparison: RunComparison
) -> str:
    """The answer as text: a line a shape, then the sums."""
    lines = [f"A: {first.directory}", f"B: {second.directory}", ""]
    if comparison.shapes:
        lines += [_format_table(comparison.shapes), ""]
    lines += map(wrap_paragraph, _summarise(comparison))
    return "\n".join(lines)


def _format_table(shapes: Sequence[MatchedShape]) -> str:
    from tabulate import tabulate

    return tabulate(
        [_cells(shape) for shape in shapes],
        headers=_HEADS,
        tablefmt="simple",
        disable_numparse=True,
        colalign=("left", *("right",) * (len(_HEADS) - 2), "left"),
    )


def _cells(shape: MatchedShape) -> tuple[str, ...]:
    """Times in microseconds, the change of the best one, and the gaps."""
    sides = shape.first, shape.second
    return (
        clip_text(clean_text(shape.row.name), _NAME_COLUMNS),
        *(format_us(side.baseline.predicted_us) for side in sides),
        *(format_us(side.best.predicted_us) for side in sides),
        _format_change(shape.best_ratio),
        *(format_gap(side.gap_ratio) for side in sides),
        "" if shape.change is Change.EQUAL else shape.change.value,
    )


def _summarise(comparison: RunComparison) -> Iterator[str]:
    """Counts, means, differences, and shapes that could not be compared."""
    counts = ", ".join(f"{comparison.count(change):,} {change}" for change in Change)
    yield (
        f"{format_count(len(comparison.shapes), 'shape')} with an answer in both; best time in B "
        f"against A: {counts} (by more than {comparison.threshold_ratio * 100:g} %)"
    )
    means = comparison.means()
    if means is not None:
        yield (
            f"geometric means: best time {_format_change(means.best_ratio)}, baseline "
            f"{_format_change(means.baseline_ratio)}; gap {format_gap(means.first_gap_ratio)} in "
            f"A, {format_gap(means.second_gap_ratio)} in B (shapes tagged grouped left out)"
        )
    differences = "; ".join(
        f"{one.what} {short_name(one.first)} / {short_name(one.second)}"
        for one in comparison.differences
    )
    yield f"A / B differ in: {differences}" if differences else "A and B were asked alike"
    for what, rows in (
        ("with an answer in A only", comparison.lost),
        ("with an answer in B only", comparison.gained),
        ("listed in A only", comparison.only_first),
        ("listed in B only", comparison.only_second),
    ):
        if rows:
            names = ", ".join(short_name(row.name) for row in rows[:_LISTED])
            more = f" and {len(rows) - _LISTED:,} more" if len(rows) > _LISTED else ""
            yield f"{what} ({len(rows):,}): {names}{more}"
    if comparison.unanswered:
        yield f"without an answer in either: {format_count(comparison.unanswered, 'shape')}"


def _format_change(ratio: float) -> str:
    """A change of time with its sign, e.g. `+1.2 %`, `-0.4 %`."""
    text = format_percent(ratio - 1.0)
    return f"+{text}" if ratio > 1.0 and text != format_percent(0.0) else text
