"""The error report on rows with known errors."""

from dataclasses import replace

import pytest

from hwmodel.cost.formula import FormulaEvaluator
from hwmodel.errors import InputError
from hwmodel.spec_io import load_hardware
from hwmodel.validation.errors_report import compute_error_report, summarise_predictions
from hwmodel.validation.measured import load_measured

SPEC = load_hardware("ascend950pr-9589")
ROWS = tuple(replace(row, locked=False) for row in load_measured()[:5])


def test_figures_of_known_errors() -> None:
    factors = (1.1, 0.8, 1.0, 1.02, 0.7)
    predicted = [row.duration_us * factor for row, factor in zip(ROWS, factors, strict=True)]
    report = summarise_predictions(SPEC, ROWS, predicted)
    assert report.median_ape == pytest.approx(0.1)
    assert report.mean_ape == pytest.approx(0.62 / 5)
    assert report.p90_ape == pytest.approx(0.2 + 0.6 * 0.1)
    assert report.max_ape == pytest.approx(0.3)
    assert report.bias == pytest.approx(0.0)
    assert [error.row.index for error in report.worst(2)] == [4, 1]
    assert report.rows[0].signed_error == pytest.approx(0.1)
    assert sum(error.n for error in report.classes.values()) == 5


def test_locked_rows_are_pooled_and_never_listed() -> None:
    rows = tuple(replace(row, locked=row.index in {1, 4}) for row in ROWS)
    predicted = [row.duration_us * (1.1 + 0.1 * row.index) for row in rows]
    report = summarise_predictions(SPEC, rows, predicted)
    assert [error.row.index for error in report.worst(9)] == [3, 2, 0]
    assert [error.row.index for error in report.open_rows] == [0, 2, 3]
    assert report.kept_back is not None
    assert report.kept_back.n == 2
    assert report.kept_back.median_ape == pytest.approx(0.35)
    assert report.max_ape == pytest.approx(0.5), "pooled figures are of all rows"
    assert summarise_predictions(SPEC, ROWS, predicted).kept_back is None


def test_rank_correlation() -> None:
    measured = [row.duration_us for row in ROWS]
    assert summarise_predictions(SPEC, ROWS, measured).spearman == pytest.approx(1)
    opposite = [1 / time for time in measured]
    assert summarise_predictions(SPEC, ROWS, opposite).spearman == pytest.approx(-1)
    assert summarise_predictions(SPEC, ROWS, [1.0] * 5).spearman == 1.0
    assert summarise_predictions(SPEC, ROWS[:1], [1.0]).spearman == 1.0


def test_no_rows_are_an_error() -> None:
    with pytest.raises(InputError, match="no measured rows"):
        compute_error_report(FormulaEvaluator(), SPEC, ())
