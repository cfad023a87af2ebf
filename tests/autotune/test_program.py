"""The program as a process: streams that are closed, full or left, and Ctrl-C at any moment."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from autotune import __main__ as program
from autotune import parallel, study_run
from autotune.manifest import RunStatus, load_manifest
from hwmodel.errors import EXIT_BAD_INPUT, EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED
from tests.autotune.fake_search import answer_with_fake
from tests.autotune.test_study import fake_report

PYTHON = sys.executable
PROGRAM = f"{PYTHON} -m autotune"
ROOT = Path(__file__).parents[2]
STARTUP_TARGET_S = 0.3


def shell(command: str, *, unbuffered: bool = False) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command line of bash."""
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    environment.pop("PYTHONUNBUFFERED", None)
    if unbuffered:
        environment["PYTHONUNBUFFERED"] = "1"
    result = subprocess.run(
        ("bash", "-o", "pipefail", "-c", command),
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    return result.returncode, result.stdout, result.stderr


@pytest.mark.parametrize("unbuffered", [False, True])
def test_a_reader_that_leaves_ends_the_program_quietly(tmp_path: Path, unbuffered: bool) -> None:
    batch = tmp_path / "batch.jsonl"
    batch.write_text('{"m":1,"k":1,"n":1}\n' * 1000, encoding="utf-8")
    code, out, err = shell(
        f"{PROGRAM} baseline --batch {batch} | head -1 | cut -c -2", unbuffered=unbuffered
    )
    assert (code, out, err) == (program.EXIT_BROKEN_PIPE, '{"\n', "")


@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize(
    ("argv", "name"),
    [("hw list", "autotune hw"), ("--help", "autotune"), ("--version", "autotune")],
)
def test_a_full_disk_is_one_line(argv: str, name: str, unbuffered: bool) -> None:
    code, _, err = shell(f"{PROGRAM} {argv} >/dev/full", unbuffered=unbuffered)
    assert code == EXIT_FAILED
    assert err == f"{name}: cannot write stdout: No space left on device\n"


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("hw list >&-", EXIT_FAILED, "autotune: cannot write stdout: it is closed"),
        ("baseline --batch - <&-", EXIT_BAD_INPUT, "standard input is closed"),
        ("hw show ascend910b1 --format toml <&-", EXIT_DONE, ""),
        ("hw show nosuch 2>&-", EXIT_BAD_INPUT, ""),
        ("hw show nosuch 2>/dev/full", EXIT_BAD_INPUT, ""),
        ("hw list >&- 2>&-", EXIT_FAILED, ""),
    ],
)
def test_closed_streams_are_one_line(command: str, code: int, message: str) -> None:
    found, _, err = shell(f"{PROGRAM} {command}")
    assert found == code
    assert message in err
    assert err.count("\n") == bool(message)


INTERRUPTED = """
import os, signal, sys

pending = [sys.argv.pop(1)]

class Interrupter:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in pending:
            pending.clear()
            os.kill(os.getpid(), signal.SIGINT)

sys.modules.pop(pending[0], None)
sys.meta_path.insert(0, Interrupter)
from autotune.__main__ import run_program

code = run_program()
os.kill(os.getpid(), signal.SIGINT)  # at the very end
sys.exit(code)
"""
"""Runs `autotune hw list`, with Ctrl-C when a module is imported and once more at the end."""


@pytest.mark.parametrize(
    ("module", "code", "message"),
    [
        ("contextlib", EXIT_INTERRUPTED, "autotune: interrupted\n"),
        ("hwmodel.errors", EXIT_INTERRUPTED, "autotune: interrupted\n"),
        ("argparse", EXIT_INTERRUPTED, "autotune: interrupted\n"),
        ("autotune.cli.study", EXIT_INTERRUPTED, "autotune: interrupted\n"),
        ("tabulate", EXIT_INTERRUPTED, "autotune: interrupted\n"),
        ("no module", EXIT_DONE, ""),
    ],
)
def test_ctrl_c_at_any_moment_is_one_line(module: str, code: int, message: str) -> None:
    result = subprocess.run(
        (PYTHON, "-c", INTERRUPTED, module, "hw", "list"),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (result.returncode, result.stderr) == (code, message)


def test_a_real_ctrl_c_ends_in_one_line() -> None:
    process = subprocess.Popen(
        (PYTHON, "-m", "autotune", "baseline", "--batch", "-"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b'{"m":1,"k":1,"n":1}\n')
    process.stdin.flush()
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err) == (EXIT_INTERRUPTED, b"autotune: interrupted\n")


STARTUP = """
import sys, time
from autotune.__main__ import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
heavy = {"numpy", "scipy", "optuna", "matplotlib", "joblib", "jinja2", "tabulate", "tomlkit"}
sys.exit(f"{sorted(heavy & set(sys.modules))} {time.process_time()}")
"""


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_startup_is_quick(option: str) -> None:
    times_s = []
    for _ in range(3):
        result = subprocess.run(
            (PYTHON, "-c", STARTUP, option), capture_output=True, text=True, check=False, cwd=ROOT
        )
        modules, time_s = result.stderr.rsplit(maxsplit=1)
        assert modules == "[]"
        times_s.append(float(time_s))
    # Processor time: other programs on the machine do not count.
    assert min(times_s) < STARTUP_TARGET_S


@pytest.fixture
def quick_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parallel, "answer_task", answer_with_fake)
    monkeypatch.setattr(study_run, "render_report", fake_report)
    Path("s.csv").write_text("m,k,n\n64,64,64\n", encoding="utf-8")


@pytest.mark.usefixtures("quick_study")
def test_a_study_survives_a_full_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["study", "--shapes", "s.csv", "--out", "run", "--jobs", "1"]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr("sys.stdout", full)
        code = program.main([*argv, "--strategy", "random", "--trials", "10"])
    lines = capsys.readouterr().err.splitlines()
    assert code == EXIT_FAILED
    assert lines[-2] == "autotune study: run directory run; report run/report.html"
    assert lines[-1] == "autotune study: cannot write stdout: No space left on device"
    assert load_manifest(Path("run")).status is RunStatus.FINISHED


@pytest.mark.usefixtures("quick_study")
def test_lost_results_come_back_from_the_journals(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["study", "--shapes", "s.csv", "--out", "run", "--jobs", "1"]
    assert program.main([*argv, "--strategy", "random", "--trials", "10"]) == EXIT_DONE
    results = Path("run/results.json")
    content = results.read_bytes()
    results.write_bytes(content + b" ")
    capsys.readouterr()
    assert program.main(["study", "--resume", "run"]) == EXIT_BAD_INPUT
    assert "remove it and let `autotune study --resume run` make it" in capsys.readouterr().err
    results.unlink()
    assert program.main(["report", "run"]) == EXIT_BAD_INPUT
    assert "`autotune study --resume run` makes it again" in capsys.readouterr().err
    assert program.main(["study", "--resume", "run", "--jobs", "1"]) == EXIT_DONE
    assert results.read_bytes() == content


@pytest.mark.usefixtures("quick_study")
@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("study", "--shapes="), "--shapes: the name is empty"),
        (("study", "--shapes", "s.csv", "--out="), "argument --out: the name is empty"),
        (("study", "--resume="), "argument --resume: the name is empty"),
        (("study", "--shapes", "s.csv", "--jobs", "x"), "invalid int value: 'x'"),
        (("report", ""), "argument RUN: the name is empty"),
    ],
)
def test_empty_names_are_refused(
    argv: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: object = program.main(argv)
    except SystemExit as leaving:
        code = leaving.code
    assert code == EXIT_BAD_INPUT
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert [path.name for path in Path().iterdir()] == ["s.csv"]


def test_errors_of_the_program_itself_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_args: object) -> int:
        raise OSError("a defect")

    monkeypatch.setattr("autotune.cli.hw.run", fail)
    with pytest.raises(OSError, match="a defect"):
        program.main(["hw", "list"])
