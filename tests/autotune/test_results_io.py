import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.results import ResultRow
from autotune.results_io import (
    CSV_COLUMNS,
    format_results_csv,
    load_results,
    write_results_csv,
    write_results_json,
)
from hwmodel.errors import AutotuneError, RunDirectoryError
from tests.autotune.samples import rejected_row, result_row

ROWS = (result_row(), rejected_row())


def records(rows: tuple[ResultRow, ...]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(format_results_csv(rows), newline="")))


def test_json_comes_back_exactly_and_is_written_the_same(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    write_results_json(ROWS, path)
    first = path.read_bytes()
    assert load_results(path) == ROWS
    write_results_json(load_results(path), path)
    assert path.read_bytes() == first
    document = json.loads(first)
    assert document["schema"] == 3
    assert document["rows"][0]["compared"]["best"]["plan"]["base_m"] == 128
    assert document["rows"][1]["compared"] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("\x00", "not valid JSON"),
        ("[]", "schema None, this version reads 3"),
        ('{"schema": 1, "rows": []}', "schema 1, this version reads 3"),
        ('{"schema": 3}', "schema 3, this version reads 3"),
        ('{"schema": 3, "rows": [3]}', r"results\.json: rows\[0\]: expected an object"),
    ],
)
def test_a_foreign_file_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RunDirectoryError, match=message) as caught:
        load_results(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"cannot read .*: No such file"):
        load_results(tmp_path / "results.json")


def test_csv_is_flat_and_numbers_are_exact() -> None:
    first, second = records(ROWS)
    assert tuple(first) == CSV_COLUMNS
    assert first["m"] == "4096"
    assert first["bias"] == "fp32"
    assert first["trans_b"] == "1"
    assert first["gap_ratio"] == "0.1"
    assert float(first["best_roofline_ratio"]) == 0.1 + 0.2
    assert first["best_db_l0c"] == "2"
    assert first["best_serpentine"] == "0"
    assert first["best_inexpressible_field"] == "window_len"
    assert first["expressible_gap_ratio"] == "0.05"
    assert first["best_expressible_serpentine"] == "1"
    assert first["best_expressible_predicted_us"] == "104.0"
    assert (first["resolved"], first["exceeds_p90"]) == ("1", "0")
    assert (first["error_class"], first["best_error_class"]) == ("read_bound", "compute_bound")
    assert first["baseline_template"] == "aswt"
    assert first["rejected_points"] == "15"
    assert first["violations"] == "l1: 600000 > 524288; l0a: 70000 > 65536"
    assert first["measured_us"] == ""
    assert second["status"] == "rejected"
    assert second["measured_us"] == "12.5"
    assert second["best_template"] == second["gap_ratio"] == second["tp"] == ""


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ('a "quoted", name', 'a "quoted", name'),
        ("two\nlines\r", "two\nlines\r"),
        ("<b>&amp;", "<b>&amp;"),
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
    ],
)
def test_text_is_quoted_and_never_a_formula(name: str, cell: str) -> None:
    row = replace(result_row(name), model=name)
    (record,) = records((row,))
    assert record["name"] == cell
    assert record["model"] == cell


def test_unwritable(tmp_path: Path) -> None:
    with pytest.raises(AutotuneError, match=r"cannot write .*nowhere/r\.csv: No such file"):
        write_results_csv(ROWS, tmp_path / "nowhere" / "r.csv")
    (tmp_path / "r.json").mkdir()
    with pytest.raises(AutotuneError, match=r"cannot write .*r\.json: Is a directory"):
        write_results_json(ROWS, tmp_path / "r.json")
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
