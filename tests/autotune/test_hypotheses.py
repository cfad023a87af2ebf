"""`autotune study --study h1` and the like with the real models, on a few small shapes."""

import csv
import io
import json
from pathlib import Path

import pytest

from autotune.hypothesis_results_io import (
    CSV_COLUMNS,
    HYPOTHESES_SCHEMA,
    format_hypotheses_json,
    load_hypotheses,
)
from autotune.hypothesis_run import reuse_hypotheses
from autotune.hypothesis_table import describe_budget, describe_results, format_claims
from autotune.runs import open_run
from hwmodel.errors import RunDirectoryError
from studies.hypotheses.effort import DEPTHS
from studies.hypotheses.registry import ENTRIES
from studies.hypotheses.verdicts import RowState, Verdict
from tests.autotune.test_study import run_main

SHAPES = (
    "m,k,n,name,trans_b,dtype,out_dtype,weight,model,phase,layer\n"
    "96,64,128,=small,1,bf16,bf16,2,a,decode,o\n"
    "300,96,272,ragged,1,bf16,bf16,1,a,decode,qkv\n"
    "96,64,128,the first again,1,bf16,bf16,1,a,prefill,o\n"
    "16,64,48,refused,1,fp16,bf16,1,,,\n"
)
REPRODUCIBLE = ("trials.jsonl", "results.json", "results.csv", "report.md")


@pytest.fixture(autouse=True)
def _shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text(SHAPES, encoding="utf-8")


def study(*argv: str, study: str = "h1", jobs: int = 1) -> int:
    return run_main(
        ["--shapes", "s.csv", "--effort", "quick", "--study", study, "--jobs", str(jobs), *argv]
    )


def contents(run: str) -> dict[str, bytes]:
    return {name: (Path(run) / name).read_bytes() for name in REPRODUCIBLE}


def test_neither_jobs_nor_a_stop_change_a_byte(capsys: pytest.CaptureFixture[str]) -> None:
    assert study("--out", "one") == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("study")
    assert "not tested" in shown.out
    assert "chosen by pipeline" in shown.err
    assert study("--out", "two", jobs=2) == 0
    assert contents("one") == contents("two")
    journal = sorted(Path("two/journal").iterdir())[1]
    journal.write_bytes(journal.read_bytes()[:-40])
    manifest = Path("two/manifest.json")
    manifest.write_text(manifest.read_text().replace('"finished"', '"interrupted"'))
    Path("two/results.json").unlink()
    assert run_main(["--resume", "two"]) == 0
    assert contents("one") == contents("two")


def test_a_finished_run_shows_its_results_again_in_any_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert study("--out", "run") == 0
    capsys.readouterr()
    results = load_hypotheses(Path("run/results.json"))
    assert reuse_hypotheses(open_run(Path("run"))) == results
    assert study("--out", "run", "--format", "json") == 0
    assert capsys.readouterr().out == format_hypotheses_json(results)
    assert study("--out", "run", "--format", "csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert tuple(rows[0]) == CSV_COLUMNS
    assert rows[0]["name"] == "'=small"
    assert [row["state"] for row in rows] == ["ok"] * 6 + ["rejected"]
    assert study("--out", "run", "--format", "verdicts") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["command"].endswith("study --shapes s.csv --study h1 --effort quick")
    assert [item["study"] for item in document["verdicts"]] == ["h1", "h1_frozen_load"]


def test_results_hold_every_row_and_count_a_problem_once() -> None:
    assert study("--out", "run") == 0
    results = load_hypotheses(Path("run/results.json"))
    assert [row.state for row in results.rows] == [RowState.OK] * 3 + [RowState.REJECTED]
    assert "dtype_combination" in results.rows[3].message
    h1 = results.verdicts[0]
    assert h1.summary.verdict is Verdict.NOT_TESTED
    assert h1.summary.shapes == 2
    assert [saving.phase for saving in h1.savings] == ["decode", "prefill"]
    assert results.proxy is not None
    assert results.proxy.shapes == 2


def test_h6_brings_its_domain_list() -> None:
    assert study("--out", "run", study="h6") == 0
    results = load_hypotheses(Path("run/results.json"))
    assert [row.source for row in results.rows] == [""] * 4 + ["h6"] * 10
    (verdict,) = results.verdicts
    assert verdict.summary.shapes == 10
    assert verdict.savings[0].saved_us == 0.0


@pytest.mark.parametrize("option", ["--strategy=random", "--evaluator=pipeline", "--seed=1"])
def test_what_a_hypothesis_fixes_cannot_be_chosen(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study(option) == 2
    assert "a hypothesis fixes" in capsys.readouterr().err


def test_a_search_has_no_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    assert study("--format", "verdicts", study="tiles") == 2
    assert "only hypotheses have verdicts" in capsys.readouterr().err


def test_list_shows_every_claim(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(["--list"]) == 0
    shown = capsys.readouterr().out
    assert shown == format_claims()
    for entry in ENTRIES:
        assert f"{entry.statement.id}: {entry.statement.title}" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_results_of_another_kind_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    with pytest.raises(RunDirectoryError, match="cannot read"):
        load_hypotheses(path)
    for text, message in (
        ("{", "not valid JSON"),
        ("[]", "schema None"),
        ('{"schema": 2}', "schema 2"),
        (json.dumps({"schema": HYPOTHESES_SCHEMA, "results": {}}), "missing entry"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(RunDirectoryError, match=message):
            load_hypotheses(path)


def test_the_budget_is_told_beforehand() -> None:
    told = describe_budget(600, DEPTHS["full"], 2)
    assert "64 draws" in told
    assert "every row" in told
    assert "2 processes" in told
    assert "one row in 4" in describe_budget(1, DEPTHS["quick"], 1)


def test_the_parts_that_a_mixed_study_holds_for_are_told() -> None:
    assert study("--out", "run") == 0
    results = load_hypotheses(Path("run/results.json"))
    assert len(describe_results(results)) == 1
