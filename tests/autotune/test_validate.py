"""`autotune validate`: figures, formats and messages."""

import json
from pathlib import Path

import pytest

from autotune.__main__ import main
from autotune.cli.validate import EVALUATORS
from hwmodel.cost.evaluators import EVALUATOR_NAMES
from hwmodel.validation.measured import load_measured
from tests.hwmodel.validation.test_measured import write_csv

KEYS = [
    "rows",
    "median_ape",
    "mean_ape",
    "p90_ape",
    "max_ape",
    "bias",
    "spearman",
    "classes",
    "kept_back",
    "plans_differing_from_baseline",
    "worst",
]


def test_json_of_the_formula(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--evaluator", "formula", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document) == KEYS
    assert document["rows"] == 99
    assert document["median_ape"] == pytest.approx(0.104, abs=1e-3)
    assert document["classes"]["small"] == {"n": 12, "median_ape": 0.561982, "p90_ape": 0.803266}
    assert document["plans_differing_from_baseline"] == 19
    apes = [row["ape"] for row in document["worst"]]
    assert apes == sorted(apes, reverse=True)
    locked = {row.index for row in load_measured() if row.locked}
    assert document["kept_back"]["n"] == len(locked) == 31
    assert not locked & {row["row"] for row in document["worst"]}
    assert set(document["worst"][0]) == {"row", "predicted_us", "measured_us", "ape"}


def test_table_of_the_pipeline(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate"]) == 0
    output = capsys.readouterr().out
    assert "cross-validated" in output
    assert "19 of 99 rows" in output
    assert "output_heavy" in output
    assert output.count("kept back") == 2
    kept_back = next(line for line in output.splitlines() if line.startswith("kept back "))
    assert kept_back.split()[2] == "31"


def test_table_of_the_formula_claims_no_fit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--evaluator", "formula"]) == 0
    assert "fitted" not in capsys.readouterr().out


def test_own_file_on_another_chip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_csv(tmp_path / "own.csv")
    arguments = ["--measured", str(path), "--hw", "ascend950dt-9581", "--format", "json"]
    assert main(["validate", *arguments]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rows"] == 1
    assert list(document["classes"]) == ["stream_k"]
    assert document["kept_back"] is None


def test_all_rows_of_ones_own_file_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    k, n = next(row for row in load_measured() if row.locked).group
    path = write_csv(tmp_path / "own.csv", k=str(k), n=str(n))
    assert main(["validate", "--measured", str(path), "--format", "json"]) == 0
    assert [row["row"] for row in json.loads(capsys.readouterr().out)["worst"]] == [0]
    assert main(["validate", "--measured", str(path)]) == 0
    assert "kept back" not in capsys.readouterr().out


def test_a_request_that_is_rejected_today_counts_as_differing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from baseline import decision
    from hwmodel.errors import RejectedError

    def reject(*_: object) -> None:
        raise RejectedError("dim_out_of_range", "ValidateShape", "rejected")

    monkeypatch.setattr(decision, "decide", reject)
    path = write_csv(tmp_path / "own.csv")
    assert main(["validate", "--measured", str(path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["plans_differing_from_baseline"] == 1


def test_a_bad_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_csv(tmp_path / "bad.csv", k="-1")
    assert main(["validate", "--measured", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "bad.csv, line 2, column k" in captured.err


def test_the_options_name_every_evaluator() -> None:
    assert EVALUATORS == EVALUATOR_NAMES
