"""Numbers over all shapes, against values worked out by hand."""

import math

import pytest

from autotune.report.aggregates import (
    compute_savings,
    compute_summary,
    select_counted,
    select_largest,
    sum_by_phase,
)
from autotune.results import Coverage, RowStatus
from tests.autotune.report_runs import make_compared, make_row


def test_means_are_geometric_and_weighted_per_model_and_phase() -> None:
    one = make_compared(0.21, resolved=True, coverage=Coverage.INSIDE)
    rows = (
        make_row(0, one, model="A", phase="decode", weight=30.0),
        make_row(1, make_compared(0.0), model="A", phase="decode", weight=10.0),
        make_row(2, make_compared(0.1), model="B", phase="decode", weight=0.001),
    )
    summary = compute_summary(rows)
    assert summary.mean_gap_ratio == pytest.approx((1.21 * 1.1) ** (1 / 3) - 1)
    weighted = math.exp((0.75 * math.log(1.21) + 1.0 * math.log(1.1)) / 2.0) - 1
    assert summary.weighted_gap_ratio == pytest.approx(weighted)
    assert (summary.counted, summary.resolved) == (3, 1)
    assert summary.coverage == {
        Coverage.INSIDE: 1,
        Coverage.TRANSPOSED: 2,
        Coverage.EXTRAPOLATED: 0,
    }


def test_what_is_sure_and_what_the_tiling_data_carry_is_counted() -> None:
    rows = (
        make_row(0, make_compared(0.21, resolved=True, exceeds_p90=True)),
        make_row(1, make_compared(0.21, resolved=True, expressible_gap_ratio=0.1)),
        make_row(2, make_compared(0.0)),
    )
    summary = compute_summary(rows)
    assert (summary.resolved, summary.exceeds_p90, summary.inexpressible) == (2, 1, 1)
    assert summary.expressible_gap_ratio == pytest.approx((1.21 * 1.1) ** (1 / 3) - 1)


def test_grouped_and_unanswered_rows_do_not_count() -> None:
    rows = (
        make_row(0, make_compared(0.5), tag="grouped", model="A", weight=100.0),
        make_row(1, None),
        make_row(2, None, status=RowStatus.NO_LEGAL_PLAN),
        make_row(3, make_compared(0.1), model="A"),
    )
    summary = compute_summary(rows)
    assert (summary.rows, summary.counted, summary.grouped) == (4, 1, 1)
    assert (summary.rejected, summary.no_legal_plan) == (1, 1)
    assert summary.mean_gap_ratio == pytest.approx(0.1)
    assert [item.row.index for item in select_counted(rows)] == [3]
    assert [saving.shapes for saving in compute_savings(rows)] == [1]


def test_without_weight_or_rows_the_means_are_zero() -> None:
    assert compute_summary(()).mean_gap_ratio == 0.0
    weightless = compute_summary((make_row(0, make_compared(0.5), weight=0.0),))
    assert weightless.weighted_gap_ratio == 0.0


def test_largest_gaps_come_first_and_ties_in_the_order_of_the_file() -> None:
    gaps = (0.1, 0.3, 0.0, 0.3)
    rows = tuple(make_row(index, make_compared(gap)) for index, gap in enumerate(gaps))
    assert [item.row.index for item in select_largest(rows, 5)] == [1, 3, 0]
    assert [item.row.index for item in select_largest(rows, 1)] == [1]


def test_savings_sum_weighted_times_of_each_pass() -> None:
    first = make_compared(0.5, best_us=10.0, resolved=True)
    second = make_compared(0.1, best_us=100.0)
    rows = (
        make_row(0, first, model="A", tp=1, phase="decode", tokens=16, weight=32.0),
        make_row(1, second, model="A", tp=1, phase="decode", tokens=16, weight=1.0),
        make_row(2, first, model="A", tp=1, phase="decode", tokens=64, weight=0.0),
        make_row(3, first, weight=7.0),
    )
    small, large, nameless = compute_savings(rows)
    assert (small.model, small.tokens, small.shapes) == ("A", 16, 2)
    assert small.baseline_us == pytest.approx(32 * 15.0 + 110.0)
    assert small.saved_us == pytest.approx(32 * 5.0 + 10.0)
    assert small.resolved_saved_us == pytest.approx(32 * 5.0)
    assert small.saved_ratio == pytest.approx(170.0 / 590.0)
    assert small.resolved_ratio == pytest.approx(160.0 / 590.0)
    assert (large.saved_ratio, large.resolved_ratio) == (0.0, 0.0)
    assert (nameless.model, nameless.phase, nameless.shapes) == ("", "", 1)
    decode, rest = sum_by_phase((small, large, nameless))
    assert (decode.phase, decode.shapes, decode.model) == ("decode", 3, "")
    assert decode.saved_ratio == pytest.approx(170.0 / 590.0)
    assert rest.phase == ""
    assert rest.saved_us == pytest.approx(7 * 5.0)


def test_rows_without_model_and_phase_are_one_pass_whatever_else_they_name() -> None:
    rows = tuple(make_row(index, make_compared(0.1), tokens=index, tp=index) for index in (1, 2))
    (saving,) = compute_savings(rows)
    assert (saving.shapes, saving.tokens, saving.tp) == (2, None, None)
