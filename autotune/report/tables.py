"""The tables of the report: every cell as text, with the value it is sorted by."""

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.report.aggregates import CountedRow, PassSaving, is_grouped
from autotune.report.text import (
    clean_text,
    clip_text,
    describe_field,
    describe_problem,
    describe_tiling,
    format_gap,
    format_percent,
    format_product,
    format_us,
    name_class,
)
from autotune.results import ComparedPlans, ResultRow

TABLE_NAME_COLUMNS = 120
"""Longest name in a table; it wraps there."""

MESSAGE_COLUMNS = 300
"""Longest message of a row without a comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeLine:
    """One row of the table of all shapes.

    Attributes:
        number: 1-based position in the shapes file.
        name: the row's name, empty when it is only the size.
        size: `m x k x n`.
        details: what else the problem has, empty for a plain bf16 linear layer.
        grouped: left out of the aggregates.
        status: of a row without a comparison, in words; empty otherwise.
        message: why there is none.
        compared: the comparison, None when there is none.
        measured: measured time, empty when unknown.
        macs: multiply-accumulates, by which sizes are sorted.
    """

    number: int
    name: str
    size: str
    details: str
    grouped: bool
    status: str
    message: str
    compared: "ComparedCells | None"
    measured: str
    macs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCells:
    """The cells of a comparison; `*_value` are the numbers behind them.

    `new_field` is what the best tiling needs that the vendor's tiling data cannot carry, empty for
    nothing, and `expressible_gap` the gap without it.
    """

    strategy: str
    baseline_tiling: str
    baseline_time: str
    baseline_value: float
    best_tiling: str
    new_field: str
    expressible_gap: str
    best_time: str
    best_value: float
    gap: str
    gap_value: float
    resolved: bool
    bound: str
    roofline: str
    roofline_value: float
    coverage: str
    error_class: str
    regret: str
    violations: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingLine:
    """One row of the table of time saved per forward pass."""

    model: str
    phase: str
    tokens: str
    shapes: int
    baseline: str
    saved: str
    saved_share: str
    resolved_saved: str
    resolved_share: str


def build_shape_lines(rows: Sequence[ResultRow]) -> tuple[ShapeLine, ...]:
    """All rows, in the order of the shapes file."""
    return tuple(_shape_line(row) for row in rows)


def build_counted_lines(items: Sequence[CountedRow]) -> tuple[ShapeLine, ...]:
    """Some rows, in the order given."""
    return tuple(_shape_line(item.row) for item in items)


def build_saving_lines(savings: Sequence[PassSaving]) -> tuple[SavingLine, ...]:
    """The savings of each pass as text."""
    return tuple(
        _saving_line(
            saving,
            clean_text(saving.model) + (f" (tp {saving.tp})" if saving.tp else "")
            or "rows without a model",
        )
        for saving in savings
    )


def build_phase_lines(phases: Sequence[PassSaving]) -> tuple[SavingLine, ...]:
    """The savings of each phase as text; without phases, one line for all shapes."""
    return tuple(
        _saving_line(
            saving,
            "all passes"
            if saving.phase
            else "all shapes"
            if len(phases) == 1
            else "rows without a phase",
        )
        for saving in phases
    )


def _saving_line(saving: PassSaving, name: str) -> SavingLine:
    """One line of savings."""
    return SavingLine(
        model=name,
        phase=clean_text(saving.phase),
        tokens="" if saving.tokens is None else f"{saving.tokens:,}",
        shapes=saving.shapes,
        baseline=format_us(saving.baseline_us),
        saved=format_us(saving.saved_us),
        saved_share=format_percent(saving.saved_ratio),
        resolved_saved=format_us(saving.resolved_saved_us),
        resolved_share=format_percent(saving.resolved_ratio),
    )


def _shape_line(row: ResultRow) -> ShapeLine:
    """The cells of one row."""
    label = row.problem.label()
    return ShapeLine(
        number=row.index + 1,
        name="" if row.name == label else clip_text(clean_text(row.name), TABLE_NAME_COLUMNS),
        size=format_product(row.problem.m, row.problem.k, row.problem.n),
        details=describe_problem(row.problem),
        grouped=is_grouped(row),
        status="" if row.compared is not None else row.status.value.replace("_", " "),
        message=clip_text(clean_text(row.message), MESSAGE_COLUMNS),
        compared=None if row.compared is None else _compared_cells(row.compared),
        measured="" if row.measured_us is None else format_us(row.measured_us),
        macs=row.problem.macs,
    )


def _compared_cells(compared: ComparedPlans) -> ComparedCells:
    """The cells of one comparison."""
    baseline, best = compared.baseline, compared.best
    same_plan = baseline.plan == best.plan
    return ComparedCells(
        strategy=compared.strategy,
        baseline_tiling=describe_tiling(baseline.plan),
        baseline_time=format_us(baseline.predicted_us),
        baseline_value=baseline.predicted_us,
        best_tiling="the same" if same_plan else describe_tiling(best.plan),
        new_field=describe_field(compared.best_inexpressible_field),
        expressible_gap=format_gap(compared.expressible_gap_ratio),
        best_time=format_us(best.predicted_us),
        best_value=best.predicted_us,
        gap=format_gap(compared.gap_ratio),
        gap_value=compared.gap_ratio,
        resolved=compared.resolved,
        bound=_change(baseline.bound, best.bound),
        roofline=_change(
            format_percent(baseline.roofline_ratio), format_percent(best.roofline_ratio)
        ).replace(" % →", " →"),
        roofline_value=best.roofline_ratio,
        coverage=compared.coverage.value,
        error_class=name_class(compared.error_class),
        regret="none" if compared.regret_ratio is None else format_percent(compared.regret_ratio),
        violations="; ".join(compared.violations),
    )


def _change(before: str, after: str) -> str:
    """`before → after`, or one of them when nothing changed."""
    return before if before == after else f"{before} → {after}"
