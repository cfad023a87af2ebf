"""Numbers over all shapes of a run: what counts, mean gaps, time saved per forward pass.

Notation: gap g = t_baseline / t_best - 1; the geometric mean of the gap is exp(mean of log(1 + g))
    - 1. A row counts when it has a comparison and is not tagged `grouped`: such shapes are served
    by another operator today, so they are shown but left out of every aggregate (specification:
    studies.md, "Shapes").
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autotune.results import ComparedPlans, Coverage, ResultRow, RowStatus

GROUPED_TAG = "grouped"
"""Tag of shapes that another operator serves today (specification: studies.md, "Shapes")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRow:
    """A row that counts: its comparison is there, and its weight is normalised.

    Attributes:
        row: the row.
        compared: its comparison, never None.
        share: weight, normalised so that all rows of one (model, phase) sum to 1.
    """

    row: ResultRow
    compared: ComparedPlans
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GapSummary:
    """The run in numbers. Means are ratios and 0 when no row counts.

    Attributes:
        rows: rows of the shapes file.
        counted: rows that count.
        grouped: rows with a comparison that are left out as `grouped`.
        rejected: rows that the operator or the shapes reader refuses.
        no_legal_plan: rows without a legal plan in the space.
        resolved: counted rows whose gap is resolved.
        resolved_extrapolated: those of them whose comparison is extrapolated.
        exceeds_p90: those of them whose gap exceeds twice the 90th percentile of the error, too.
        inexpressible: counted rows whose best plan the vendor's tiling data cannot carry.
        mean_gap_ratio: geometric mean of the gap, every row alike.
        expressible_gap_ratio: the same against the best plans that the tiling data can carry.
        weighted_gap_ratio: the same with normalised weights.
        coverage: counted rows by coverage.
    """

    rows: int
    counted: int
    grouped: int
    rejected: int
    no_legal_plan: int
    resolved: int
    resolved_extrapolated: int
    exceeds_p90: int
    inexpressible: int
    mean_gap_ratio: float
    expressible_gap_ratio: float
    weighted_gap_ratio: float
    coverage: Mapping[Coverage, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassSaving:
    """Time of the matrix multiplications of one forward pass (training: one step) on one device.

    Attributes:
        model: the model; empty for the rows that name neither model nor phase, and for a phase
            over all models.
        tp: tensor-parallel degree, None when unknown.
        phase: phase of the pass, empty when unknown.
        tokens: tokens in flight, None when unknown.
        shapes: rows that make up the pass.
        baseline_us: sum of weight x baseline time.
        saved_us: sum of weight x (baseline - best).
        resolved_saved_us: the part of it whose gaps are resolved.
    """

    model: str
    tp: int | None
    phase: str
    tokens: int | None
    shapes: int
    baseline_us: float
    saved_us: float
    resolved_saved_us: float

    @property
    def saved_ratio(self) -> float:
        """Saved part of the pass, 0..1."""
        return self.saved_us / self.baseline_us if self.baseline_us > 0.0 else 0.0

    @property
    def resolved_ratio(self) -> float:
        """Part of the pass that is saved by resolved gaps, 0..1."""
        return self.resolved_saved_us / self.baseline_us if self.baseline_us > 0.0 else 0.0


def is_grouped(row: ResultRow) -> bool:
    """The row is shown but left out of aggregates."""
    return row.tag == GROUPED_TAG


def select_counted(rows: Sequence[ResultRow]) -> tuple[CountedRow, ...]:
    """The rows that count, in order, with weights normalised to a sum of 1 per (model, phase)."""
    pairs = [
        (row, row.compared)
        for row in rows
        if row.compared is not None and row.status is RowStatus.OK and not is_grouped(row)
    ]
    totals: dict[tuple[str, str], float] = {}
    for row, _ in pairs:
        key = (row.model, row.phase)
        totals[key] = totals.get(key, 0.0) + row.weight
    return tuple(
        CountedRow(
            row=row,
            compared=compared,
            share=row.weight / totals[row.model, row.phase]
            if totals[row.model, row.phase] > 0.0
            else 0.0,
        )
        for row, compared in pairs
    )


def compute_summary(rows: Sequence[ResultRow]) -> GapSummary:
    """The run in numbers."""
    counted = select_counted(rows)
    gaps = [item.compared.gap_ratio for item in counted]
    ones = [1.0] * len(counted)
    return GapSummary(
        rows=len(rows),
        counted=len(counted),
        grouped=sum(row.status is RowStatus.OK and is_grouped(row) for row in rows),
        rejected=sum(row.status is RowStatus.REJECTED for row in rows),
        no_legal_plan=sum(row.status is RowStatus.NO_LEGAL_PLAN for row in rows),
        resolved=sum(item.compared.resolved for item in counted),
        resolved_extrapolated=sum(
            item.compared.resolved and item.compared.coverage is Coverage.EXTRAPOLATED
            for item in counted
        ),
        exceeds_p90=sum(item.compared.exceeds_p90 for item in counted),
        inexpressible=sum(bool(item.compared.best_inexpressible_field) for item in counted),
        mean_gap_ratio=_geometric_mean_gap(gaps, ones),
        expressible_gap_ratio=_geometric_mean_gap(
            [item.compared.expressible_gap_ratio for item in counted], ones
        ),
        weighted_gap_ratio=_geometric_mean_gap(gaps, [item.share for item in counted]),
        coverage={
            coverage: sum(item.compared.coverage is coverage for item in counted)
            for coverage in Coverage
        },
    )


def select_largest(rows: Sequence[ResultRow], count: int) -> tuple[CountedRow, ...]:
    """The `count` counted rows with the largest gap above 0, largest first."""
    with_gap = [item for item in select_counted(rows) if item.compared.gap_ratio > 0.0]
    return tuple(sorted(with_gap, key=gap_order)[:count])


def gap_order(item: CountedRow) -> tuple[float, int]:
    """Sort key: largest gap first, then the order of the file."""
    return -item.compared.gap_ratio, item.row.index


def compute_savings(rows: Sequence[ResultRow]) -> tuple[PassSaving, ...]:
    """Time saved per forward pass: an entry a (model, tp, phase, tokens), in the file's order.

    Rows that name neither model nor phase make one entry: their weights are all that is known.
    """
    passes: dict[tuple[str, int | None, str, int | None], list[CountedRow]] = {}
    for item in select_counted(rows):
        row = item.row
        known = bool(row.model or row.phase)
        key = (row.model, row.tp, row.phase, row.tokens) if known else ("", None, "", None)
        passes.setdefault(key, []).append(item)
    return tuple(
        PassSaving(
            model=model,
            tp=tp,
            phase=phase,
            tokens=tokens,
            shapes=len(items),
            baseline_us=sum(i.row.weight * i.compared.baseline.predicted_us for i in items),
            saved_us=sum(compute_saved_us(i) for i in items),
            resolved_saved_us=sum(compute_saved_us(i) for i in items if i.compared.resolved),
        )
        for (model, tp, phase, tokens), items in passes.items()
    )


def sum_by_phase(savings: Sequence[PassSaving]) -> tuple[PassSaving, ...]:
    """One entry a phase, summed over models and tokens, in the order of their first pass."""
    phases: dict[str, list[PassSaving]] = {}
    for saving in savings:
        phases.setdefault(saving.phase, []).append(saving)
    return tuple(
        PassSaving(
            model="",
            tp=None,
            phase=phase,
            tokens=None,
            shapes=sum(one.shapes for one in members),
            baseline_us=sum(one.baseline_us for one in members),
            saved_us=sum(one.saved_us for one in members),
            resolved_saved_us=sum(one.resolved_saved_us for one in members),
        )
        for phase, members in phases.items()
    )


def compute_saved_us(item: CountedRow) -> float:
    """Time saved by one row in a pass, weight x (baseline - best), in microseconds."""
    compared = item.compared
    return item.row.weight * (compared.baseline.predicted_us - compared.best.predicted_us)


def _geometric_mean_gap(gaps: Sequence[float], weights: Sequence[float]) -> float:
    """exp(weighted mean of log(1 + gap)) - 1; 0 without weight."""
    total = math.fsum(weights)
    if total <= 0.0:
        return 0.0
    logs = math.fsum(w * math.log1p(gap) for w, gap in zip(weights, gaps, strict=True))
    return math.expm1(logs / total)
