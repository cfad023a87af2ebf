"""`autotune study` with the real search, models and report, on a few small shapes."""

import csv
import io
import json
from pathlib import Path

import pytest

from autotune import study_run
from autotune.manifest import load_manifest
from autotune.results import RowStatus
from autotune.results_io import load_results
from autotune.runs import open_run
from autotune.study_run import reuse_study
from tests.autotune.test_study import fake_report, run_main

NAME = '=cmd|"<script>alert(1)</script>", x'
SHAPES = (
    "m,k,n,name,trans_b,dtype,out_dtype,weight\n"
    f'16,64,48,"{NAME.replace(chr(34), chr(34) * 2)}",1,bf16,bf16,2\n'
    "32,96,32,small,0,bf16,bf16,1\n"
    "16,64,48,the first again,1,bf16,bf16,1\n"
    "16,0,48,empty sum,1,bf16,bf16,1\n"
    "1,64,4096,one row in fp32,1,fp32,fp32,1\n"
    "16,64,48,refused,1,fp16,bf16,1\n"
)
REPRODUCIBLE = ("trials.jsonl", "results.json", "results.csv", "report.md")


@pytest.fixture(autouse=True)
def _shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text(SHAPES, encoding="utf-8")


def study(*argv: str, jobs: int = 1) -> int:
    return run_main(["--shapes", "s.csv", "--effort", "quick", "--jobs", str(jobs), *argv])


def contents(run: Path) -> dict[str, bytes]:
    files = [run / name for name in REPRODUCIBLE]
    files += sorted((run / "figures").glob("*"))
    return {path.name: path.read_bytes() for path in files}


@pytest.mark.parametrize("strategy", ["exhaustive", "tpe"])
def test_neither_jobs_nor_a_stop_change_a_byte(
    strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if strategy == "tpe":  # the figures take time and are the same for every strategy
        monkeypatch.setattr(study_run, "render_report", fake_report)
    options = ("--strategy", strategy, *(("--trials", "25") if strategy == "tpe" else ()))
    assert study("--out", "one", *options) == 0
    assert study("--out", "two", *options, jobs=2) == 0
    assert contents(Path("one")) == contents(Path("two"))
    cut_back(Path("two"))
    assert study("--out", "two", *options) == 0
    assert contents(Path("one")) == contents(Path("two"))


def cut_back(run: Path) -> None:
    """What a run looks like that was killed in the middle of its second journal."""
    manifest = run / "manifest.json"
    document = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({**document, "status": "running"}), encoding="utf-8")
    first, second, *others = sorted((run / "journal").iterdir())
    assert first.stat().st_size > 0
    torn = second.read_bytes()
    second.write_bytes(torn[: len(torn) * 2 // 3])
    for path in (*others, *(run / name for name in REPRODUCIBLE)):
        path.unlink()


def test_every_row_is_answered_and_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert study("--out", "run", "--format", "json") == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    rows = load_results(Path("run/results.json"))
    assert [row["name"] for row in document["rows"]] == [row.name for row in rows]
    assert rows[0].name == NAME
    assert rows[0].compared == rows[2].compared
    assert [row.status for row in rows].count(RowStatus.REJECTED) == 1
    first = rows[0].compared
    assert first is not None
    assert first.gap_ratio == first.baseline.predicted_us / first.best.predicted_us - 1.0
    assert first.regret_ratio == 0.0
    assert first.certificate.startswith("every legal point of the space tiles (")
    assert 0.0 < first.best.roofline_ratio <= 1.0
    table = list(csv.DictReader(io.StringIO(Path("run/results.csv").read_text(encoding="utf-8"))))
    assert table[0]["name"] == f"'{NAME}"
    page = Path("run/report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "of the pipeline model" in err or "the pipeline model's median error" in err
    assert load_manifest(Path("run")).digests.run


def test_a_lost_report_is_rendered_again() -> None:
    assert study("--out", "run") == 0
    Path("run/report.html").unlink()
    assert reuse_study(open_run(Path("run"))) == load_results(Path("run/results.json"))
    assert Path("run/report.html").exists()
