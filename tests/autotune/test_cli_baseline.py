import io
import json
from pathlib import Path
from typing import Any

import pytest

from autotune import __main__ as program
from baseline import json_lines
from tests.golden_tilings import load_golden_tilings

SHAPE = ("--m", "4096", "--k", "4096", "--n", "4096")


class Terminal:
    """Runs `autotune baseline` and gives back the exit code and both streams."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def run(self, *argv: str) -> tuple[int, str, str]:
        try:
            code = program.main(("baseline", *argv))
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        streams = self.capsys.readouterr()
        return code, streams.out, streams.err


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    # The program with this subcommand alone, so that no other one slows or breaks these tests.
    monkeypatch.setattr(program, "COMMAND_MODULES", ("baseline",))
    return Terminal(capsys)


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_table(terminal: Terminal) -> None:
    code, out, err = terminal.run(*SHAPE)
    assert (code, err) == (0, "")
    assert "strategy        BASIC_ASWT" in out
    assert "tiling key      66 (0x42)" in out
    assert "base_m 256" in out
    assert "skSingleCoreK 4096" in out
    assert "steps" not in out
    assert max(len(line) for line in out.splitlines()) <= 115


def test_explained_table_numbers_the_steps_and_warns(terminal: Terminal) -> None:
    code, out, _ = terminal.run(*SHAPE, "--explain")
    assert code == 0
    assert "   1. strategy: K_EQUAL_ZERO refused: K is not 0" in out
    assert "proven unable to win" in out
    assert "warning" not in out
    _, out, _ = terminal.run("--m", "1", "--k", "0", "--n", "3", "--explain")
    assert "warning: defect 1: one vector core clears 1 element(s)" in out


def test_json_document(terminal: Terminal) -> None:
    code, out, _ = terminal.run(*SHAPE, "--format", "json")
    document = json.loads(out)
    assert code == 0
    assert document["hardware"] == "ascend950pr-9589"
    assert document["problem"]["trans_b"] is True
    assert document["decision"]["strategy"] == "BASIC_ASWT"
    assert document["plan"]["template"] == "aswt"
    assert document["key"]["api_level"] == "TENSOR"
    assert "steps" not in document
    _, out, _ = terminal.run(*SHAPE, "--format", "json", "--explain")
    document = json.loads(out)
    assert document["warnings"] == []
    assert document["steps"][0]["topic"] == "strategy"


def test_every_option_reaches_the_request(terminal: Terminal) -> None:
    argv = (
        "--m 100 --k 9000 --n 77 --trans-a --no-trans-b --dtype fp32 --bias fp32 --format-b NZ"
        " --mode hf32 --deterministic 2 --strategy base --format json"
    )
    code, out, _ = terminal.run(*argv.split())
    problem: dict[str, Any] = json.loads(out)["problem"]
    assert code == 0
    assert problem == {
        "m": 100,
        "k": 9000,
        "n": 77,
        "trans_a": True,
        "trans_b": False,
        "dtype": "fp32",
        "out_dtype": "fp32",
        "bias_dtype": "fp32",
        "format_b": "NZ",
        "op_impl_mode": 64,
        "deterministic_level": 2,
    }
    assert json.loads(out)["decision"]["strategy"] == "BASE"
    _, out, _ = terminal.run(*SHAPE, "--out-dtype", "fp32", "--offset-x", "128", "--trans-b")
    assert "C fp32" in out
    assert "API level     BASIC" in out


def test_base_and_bias_in_the_table(terminal: Terminal) -> None:
    _, out, _ = terminal.run(*SHAPE, "--strategy", "base", "--bias", "fp32", "--trans-a")
    assert "tCubeTiling\n    usedCoreNum" in out
    assert "A bf16 stored K x M" in out
    assert "bias fp32" in out


@pytest.mark.parametrize("mode", ["high-precision", "4", "0x4"])
def test_modes_by_name_and_number(terminal: Terminal, mode: str) -> None:
    _, out, _ = terminal.run("--m", "1", "--k", "9", "--n", "8", "--dtype", "fp32", "--mode", mode)
    assert "TO_MUL" in out
    assert "mode high precision" in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("--m 1 --k 1", "--n is missing"),
        ("--m 0 --k 1 --n 1", "--m 0: must be in 1..2147483647"),
        ("--m 1 --k -1 --n 1", "--k -1: must be in 0..2147483647"),
        ("--m 1 --k 1 --n 2147483648", "--n 2147483648: must be in 1..2147483647"),
        ("--m 1 --k 0 --n 1 --bias bf16", "k = 0 with a bias"),
        ("--m 1 --k 1 --n 1 --out-dtype fp16", "no such kernel"),
        ("--m x --k 1 --n 1", "invalid int value"),
        ("--m 1 --k 1 --n 1 --mode fast", "'fast': must be default"),
        ("--m 1 --k 1 --n 1 --mode 5", "'5': must be default"),
        ("--m 1 --k 1 --n 1 --hw ascend910b1", "--as-950"),
        ("--m 1 --k 1 --n 1 --hw nothing", "nothing"),
        ("--batch - --m 1", "--m does not go with --batch"),
        ("--batch - --no-trans-a", "--trans-a does not go with --batch"),
        ("--batch - --explain", "--explain does not go with --batch"),
        ("--batch - --format json", "--format does not go with --batch"),
        ("--batch no/such/file", "no/such/file: No such file or directory"),
        ("--batch .", ".: Is a directory"),
        ("--batch=", "--batch: the name is empty"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(terminal: Terminal, argv: str, message: str) -> None:
    code, out, err = terminal.run(*argv.split())
    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err


def test_another_arch_only_when_told(terminal: Terminal) -> None:
    code, out, _ = terminal.run(*SHAPE, "--hw", "ascend910b1", "--as-950")
    assert code == 0
    assert "the heuristic of the Ascend 950 applied to a chip of DAV_2201" in out
    _, out, _ = terminal.run(*SHAPE, "--hw", "ascend910b1", "--as-950", "--format", "json")
    assert json.loads(out)["as_950"] is True


def test_a_closed_or_unreadable_stream_is_bad_input(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    code, _, err = terminal.run("--batch", "-")
    assert (code, err.count("\n")) == (2, 1)
    assert "standard input is closed" in err

    class Broken(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, _buffer: object) -> int:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(Broken())))
    code, _, err = terminal.run("--batch", "-")
    assert (code, err.count("\n")) == (2, 1)
    assert "-: Input/output error" in err


def test_batch_answers_the_golden_file(terminal: Terminal, tmp_path: Path) -> None:
    cases = load_golden_tilings()
    path = tmp_path / "requests.jsonl"
    path.write_text("\n".join(json.dumps(case["in"]) + "\n" for case in cases), encoding="utf-8")
    code, out, err = terminal.run("--batch", str(path))
    assert (code, err) == (0, "")
    expected = [
        json.dumps({"id": case["in"]["id"]} | case["out"], separators=(",", ":")) for case in cases
    ]
    assert out.splitlines() == expected


def test_batch_reads_stdin_and_goes_on_after_a_bad_line(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(
        monkeypatch,
        b'\xef\xbb\xbf{"id":1,"m":1,"k":1,"n":1}\r\n   \r\n\nnot json\n{"id":2,"m":1,"k":0,"n":1}',
    )
    code, out, _ = terminal.run("--batch", "-")
    answers = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [answer.get("id") for answer in answers] == [1, None, 2]
    assert answers[1]["error"] == "bad_input"
    assert answers[2]["strategy"] == "K_EQUAL_ZERO"


def test_batch_takes_the_default_platform_from_hw(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(monkeypatch, b'{"m":4096,"k":4096,"n":4096}\n')
    _, out, _ = terminal.run("--batch", "-", "--hw", "ascend950pr-9579")
    assert json.loads(out)["numBlocks"] == 28


def test_an_overlong_line_is_one_bad_answer(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "MAX_LINE_BYTES", 100)
    for filler, count in ((b"x" * 350, 2), (b"y" * 99, 2), (b"z" * 100, 2), (b"z" * 202, 2)):
        feed(monkeypatch, filler + b'\n{"id":1,"m":1,"k":1,"n":1}\n')
        _, out, _ = terminal.run("--batch", "-")
        answers = [json.loads(line) for line in out.splitlines()]
        assert len(answers) == count
        assert answers[0]["error"] == "bad_input"
        assert answers[1]["id"] == 1
