"""`autotune study` from the command line, with a quick fake in the place of the search."""

import argparse
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from autotune import parallel, study_run
from autotune.cli import study
from autotune.manifest import RunStatus, load_manifest
from autotune.results_io import load_results
from autotune.runs import RunDirectory
from hwmodel.errors import AutotuneError
from tests.autotune.fake_search import (
    DELAY_VARIABLE,
    K_DEFECT,
    K_KNOWN_FAILURE,
    K_REJECTED,
    answer_with_fake,
)

HEADER = "name,m,k,n\n"
SHAPES = HEADER + '"=1+1, <b>""x""</b>",64,64,64\nsmall,32,64,64\nagain,64,64,64\nodd,16,64,80\n'
REPRODUCIBLE = ("trials.jsonl", "results.json", "results.csv", "report.md")

Main = Callable[..., int]


@pytest.fixture
def main(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Main:
    """The command in a directory of its own that holds shapes.csv; returns the exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parallel, "answer_task", answer_with_fake)
    monkeypatch.setattr(study_run, "render_report", fake_report)
    Path("shapes.csv").write_text(SHAPES, encoding="utf-8")

    def call(*argv: str, shapes: str = "shapes.csv", jobs: int = 1) -> int:
        named = [] if "--resume" in argv else ["--shapes", shapes]
        return run_main(
            [*named, "--jobs", str(jobs), "--strategy", "random", "--trials", "10", *argv]
        )

    return call


def fake_report(run: RunDirectory) -> None:
    (run.path / "report.html").write_text("report", encoding="utf-8")
    (run.path / "report.md").write_text("report", encoding="utf-8")


def run_main(argv: Sequence[str]) -> int:
    """What the program does with the command, without the other commands."""
    parser = argparse.ArgumentParser()
    study.add_arguments(parser)
    try:
        return study.run(parser.parse_args(argv))
    except AutotuneError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code


def only_run() -> Path:
    (path,) = Path("runs").iterdir()
    return path


def contents(run: Path) -> dict[str, bytes]:
    return {name: (run / name).read_bytes() for name in REPRODUCIBLE}


def test_a_run_from_shapes_to_report(main: Main, capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    out, err = capsys.readouterr()
    run = only_run()
    manifest = load_manifest(run)
    assert manifest.status is RunStatus.FINISHED
    assert manifest.options.trials == 10
    assert out.splitlines()[2].startswith('=1+1, <b>"x"</b>')
    assert len(out.splitlines()) == 2 + 4 + 7
    assert "searched 3 of 3 problems" in err, "equal problems are computed once"
    assert f"run directory {run}; report {run}/report.html" in err
    assert "4 of 4 shapes counted; gap +" in err
    rows = load_results(run / "results.json")
    assert [row.name for row in rows] == ['=1+1, <b>"x"</b>', "small", "again", "odd"]
    assert rows[0].compared == rows[2].compared
    assert len(list((run / "journal").iterdir())) == 3
    trials = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    assert [line["problem"]["m"] for line in trials if "problem" in line] == [64, 32, 16]
    assert len(trials) == 3 * 11
    assert "finished" in (run / "run.log").read_text(encoding="utf-8")


def test_jobs_change_no_byte(main: Main) -> None:
    assert main("--out", "one") == 0
    assert main("--out", "two", jobs=2) == 0
    assert contents(Path("one")) == contents(Path("two"))


def test_json_and_csv_are_the_files(main: Main, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("json", "csv"):
        assert main("--format", form, "--out", "run") == 0
        out, _ = capsys.readouterr()
        assert out == (Path("run") / f"results.{form}").read_text(encoding="utf-8")
    assert json.loads((Path("run") / "results.json").read_text(encoding="utf-8"))["schema"] == 3


def interrupt_after(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C come when `count` problems are answered."""
    answers: list[parallel.SearchTask] = []

    def answer(task: parallel.SearchTask) -> parallel.Answer:
        if len(answers) == count:
            os.kill(os.getpid(), signal.SIGINT)
        answers.append(task)
        return answer_with_fake(task)

    monkeypatch.setattr(parallel, "answer_task", answer)


def test_an_interrupted_run_goes_on_by_itself(
    main: Main, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main("--out", "whole") == 0
    interrupt_after(2, monkeypatch)
    assert main() == 130
    run = only_run()
    assert load_manifest(run).status is RunStatus.INTERRUPTED
    assert not (run / "results.json").exists()
    err = capsys.readouterr().err
    assert err.splitlines()[-1] == (
        f"interrupted; to go on: python -m autotune study --resume {run}"
    )
    journals = sorted((run / "journal").iterdir())
    with journals[1].open("ab") as stream:
        stream.write(b'{"trial":')
    monkeypatch.setattr(parallel, "answer_task", answer_with_fake)
    assert main(jobs=2) == 0
    assert only_run() == run
    assert f"continuing the run {run}" in capsys.readouterr().err
    assert contents(run) == contents(Path("whole"))
    assert main() == 0
    assert len(list(Path("runs").iterdir())) == 2, "a finished run is not continued"


def test_new_starts_afresh(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after(0, monkeypatch)
    assert main() == 130
    monkeypatch.setattr(parallel, "answer_task", answer_with_fake)
    assert main("--new") == 0
    assert len(list(Path("runs").iterdir())) == 2


def test_resume_needs_only_the_directory(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main("--out", "whole", "--seed", "5") == 0
    interrupt_after(1, monkeypatch)
    assert main("--out", "part", "--seed", "5") == 130
    monkeypatch.setattr(parallel, "answer_task", answer_with_fake)
    Path("shapes.csv").unlink()
    assert run_main(["--resume", "part", "--jobs", "2"]) == 0
    assert contents(Path("part")) == contents(Path("whole"))


def test_a_finished_run_is_shown_again(
    main: Main, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main("--out", "run") == 0
    first = capsys.readouterr().out
    interrupt_after(0, monkeypatch)
    Path("run/report.html").unlink()
    for again in (("--out", "run"), ("--resume", "run")):
        assert main(*again) == 0
        out, err = capsys.readouterr()
        assert out == first
        assert "run is finished already: showing its results" in err
    assert Path("run/report.html").exists()


def test_rejected_shapes_are_answers(main: Main, capsys: pytest.CaptureFixture[str]) -> None:
    Path("some.csv").write_text(f"{HEADER}a,64,64,64\nb,64,{K_REJECTED},64\n", encoding="utf-8")
    assert main("--format", "json", shapes="some.csv", jobs=2) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["status"] for row in rows] == ["ok", "rejected"]
    assert rows[1]["message"].startswith("dtype_combination (ValidateDtype)")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_defect_fails_the_run_in_one_line(
    main: Main, capsys: pytest.CaptureFixture[str], jobs: int
) -> None:
    Path("some.csv").write_text(f"{HEADER}good,64,64,64\nbad,64,{K_DEFECT},64\n", encoding="utf-8")
    assert main(shapes="some.csv", jobs=jobs) == 1
    out, err = capsys.readouterr()
    run = only_run()
    assert out == ""
    assert err.splitlines()[-1] == (
        f"shape 'bad' (64x19x64) failed: ZeroDivisionError: a defect; details in {run}/run.log"
    )
    assert "Traceback" not in err
    assert "Traceback" in (run / "run.log").read_text(encoding="utf-8")
    assert load_manifest(run).status is RunStatus.FAILED


def test_a_failure_that_explains_itself_needs_no_log(
    main: Main, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("some.csv").write_text(f"{HEADER}bad,64,{K_KNOWN_FAILURE},64\n", encoding="utf-8")
    assert main(shapes="some.csv") == 1
    assert capsys.readouterr().err.splitlines()[-1] == "cannot write it: disk full"


def test_an_unforeseen_error_is_one_line_too(
    main: Main, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_run: object) -> None:
        raise KeyError("figure")

    monkeypatch.setattr(study_run, "render_report", broken)
    assert main("--out", "run") == 1
    assert "failed: KeyError: 'figure'; details in run/run.log" in capsys.readouterr().err
    assert load_manifest(Path("run")).status is RunStatus.FAILED
    monkeypatch.setattr(study_run, "render_report", fake_report)
    assert main("--out", "run") == 0


def test_a_disk_that_fills_up(
    main: Main, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    assert main("--out", "run", "--seed", "3") == 0
    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert main("--out", "other") == 1
        err = capsys.readouterr().err
    assert err.splitlines()[-1].startswith("cannot write other/")
    assert "No space left on device" in err


def test_a_log_that_cannot_be_written(
    main: Main, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt_after(0, monkeypatch)
    assert main("--out", "run") == 130
    monkeypatch.setattr(parallel, "answer_task", answer_with_fake)
    log = Path("run/run.log")
    log.unlink()
    log.mkdir()
    assert main("--out", "run") == 1
    assert capsys.readouterr().err.splitlines()[-1] == "cannot write run/run.log: Is a directory"
    log.rmdir()
    log.symlink_to("/dev/full")
    assert main("--out", "run") == 0, "a log is not worth a run"
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--jobs", "0"), "--jobs 0: must be 1 or more"),
        (("--trials", "0"), "--trials 0: must be 1 or more"),
        (("--seed", "-1"), "--seed -1: must be 0 or more"),
        (("--shapes", "nowhere.csv"), "nowhere.csv"),
        (("--shapes", "."), "directory"),
        (("--hw", "ascend9999"), "ascend9999"),
        (("--hw", "nowhere.toml"), "nowhere.toml"),
        (("--hw", "nowhere.ini"), "nowhere.ini"),
        (("--hw", "ascend910b1"), "--as-950"),
        (("--hw-base", "ascend910b1"), "--hw-base"),
        (("--out", "shapes.csv"), "Not a directory"),
        (("--out", "shapes.csv/below"), "Not a directory"),
        (("--out", "."), "is not empty and holds no run"),
        (("--resume", "nowhere"), "nowhere: not a run directory"),
        (("--resume", "shapes.csv"), "shapes.csv: not a run directory"),
        (("--resume", "finished", "--new"), "contradict each other"),
        (("--resume", "finished", "--seed", "7"), "another digest (options differ)"),
        (("--resume", "finished", "--hw", "ascend950pr-9579"), "another digest (spec differ)"),
        (("--out", "finished", "--seed", "7"), "another digest (options differ)"),
        (("--out", "finished", "--new"), "holds a run already"),
    ],
)
def test_bad_input_is_one_clear_line(
    main: Main, capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], message: str
) -> None:
    if "finished" in argv:
        assert main("--out", "finished") == 0
        capsys.readouterr()
    assert main(*argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err


def test_shapes_are_required(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main([]) == 2
    assert "--shapes FILE is missing" in capsys.readouterr().err


def test_a_bundled_list_is_used_and_named(main: Main, capsys: pytest.CaptureFixture[str]) -> None:
    assert main("--trials", "1", shapes="elsewhere/quick.csv") == 0
    assert "elsewhere/quick.csv is not a file here: using the bundled list quick.csv" in (
        capsys.readouterr().err
    )
    assert only_run().name.endswith("-quick")


def test_another_chip_on_request_is_recorded(main: Main) -> None:
    assert main("--hw", "ascend910b1", "--as-950", "--out", "run") == 0
    manifest = load_manifest(Path("run"))
    assert manifest.options.as_950
    assert manifest.options.hw == "ascend910b1"
    assert run_main(["--resume", "run"]) == 0


def test_trials_of_an_exhaustive_search_are_refused(
    main: Main, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main("--strategy", "exhaustive") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "--trials: the strategy exhaustive covers the whole space; leave it out, or name a "
        "sampling strategy with --strategy"
    ]
    assert not Path("runs").exists()


def test_a_file_of_rejected_shapes_has_no_gap(
    main: Main, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("some.csv").write_text(f"{HEADER}a,64,{K_REJECTED},64\n", encoding="utf-8")
    for again in (False, True):
        assert main("--out", "run", shapes="some.csv") == 3
        out, err = capsys.readouterr()
        assert "rejected (1 shape): dtype_combination" in out
        assert "0 of 1 shapes counted (1 rejected); there is no gap to tell" in err
        assert "gap +" not in err
        assert ("finished already" in err) is again
    assert load_manifest(Path("run")).status is RunStatus.FINISHED


def test_a_terminal_that_cannot_show_a_name(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("shapes.csv").write_text(f"{HEADER}größe,64,64,64\n", encoding="utf-8")
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main() == 0
    terminal.seek(0)
    assert "gr\\xf6\\xdfe" in terminal.read()


@pytest.mark.parametrize("how", ["ctrl-c", "terminate", "kill"])
def test_a_parallel_run_that_is_stopped_goes_on(main: Main, how: str) -> None:
    """Ctrl-C reaches the whole process group, as from a terminal; the others the program alone."""
    lines = "".join(f"s{m},{m},64,64\n" for m in range(16, 40))
    Path("shapes.csv").write_text(HEADER + lines, encoding="utf-8")
    process = start_program("--out", "part", "--jobs", "2")
    journal = Path("part/journal")
    wait_until(
        lambda: journal.is_dir() and any(path.stat().st_size for path in journal.iterdir()),
        process,
    )
    if how == "kill":
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert load_manifest(Path("part")).status is RunStatus.RUNNING
    else:
        if how == "ctrl-c":
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.terminate()
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Traceback" not in err
        assert err.splitlines()[-1].startswith("interrupted; to go on: ")
        assert load_manifest(Path("part")).status is RunStatus.INTERRUPTED
    assert main("--out", "part", jobs=2) == 0
    assert main("--out", "whole") == 0
    assert contents(Path("part")) == contents(Path("whole"))


def start_program(*argv: str) -> "subprocess.Popen[str]":
    """The command in a process group of its own, with a fake search that takes its time."""
    arguments = ["--shapes", "shapes.csv", "--strategy", "random", "--trials", "10", *argv]
    program = (
        "import sys; from tests.autotune import test_study as t; "
        "t.parallel.answer_task = t.answer_with_fake; t.study_run.render_report = t.fake_report; "
        f"sys.exit(t.run_main({arguments!r}))"
    )
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, DELAY_VARIABLE: "0.2", "PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until(
    condition: Callable[[], bool], process: "subprocess.Popen[str]", timeout_s: float = 60.0
) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
