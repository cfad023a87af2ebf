"""`autotune schedule --batch`: one answer a line, whatever the lines say."""

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autotune.__main__ import main

GOLDEN = Path(__file__).parents[1] / "golden"
REQUEST: dict[str, Any] = {
    "kind": "aswt",
    "m": 100,
    "n": 100,
    "k": 64,
    "usedCoreNum": 4,
    "mL1": 32,
    "nL1": 32,
    "dtype": "bf16",
}
Run = Callable[[bytes], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def _only_this_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autotune.__main__.COMMAND_MODULES", ("schedule",))


@pytest.fixture
def run_batch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(content: bytes) -> list[dict[str, Any]]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert main(["schedule", "--batch", "-"]) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        return [json.loads(line) for line in captured.out.splitlines()]

    return run


@pytest.mark.parametrize("name", ["swizzle.jsonl.gz", "swizzle_vector.jsonl.gz"])
def test_golden_cases_round_trip(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with gzip.open(GOLDEN / name, "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines][::5]
    batch = tmp_path / "requests.jsonl"
    batch.write_text(
        "".join(json.dumps({"id": case["id"], "input": case["input"]}) + "\n" for case in cases)
    )
    assert main(["schedule", "--batch", str(batch)]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    expected = [{"id": case["id"]} | case["output"] for case in cases]
    assert [list(answer.items()) for answer in answers] == [
        list(answer.items()) for answer in expected
    ]


def test_order_blank_lines_and_ids(run_batch: Run) -> None:
    lines = [
        json.dumps({"id": 7, "input": REQUEST}),
        "",
        " \t\r",
        json.dumps({"input": REQUEST | {"m": 10}}),
        json.dumps({"id": {"a": "\u00e9\ud800"}, "input": REQUEST}),
    ]
    first, second, third = run_batch("\n".join(lines).encode())
    assert next(iter(first.items())) == ("id", 7)
    assert "id" not in second
    assert second["count"] == 4
    assert third["id"] == {"a": "\u00e9\ud800"}
    assert first | {"id": None} == third | {"id": None}


def test_byte_order_mark_and_crlf(run_batch: Run) -> None:
    line = json.dumps({"id": "x", "input": REQUEST}).encode()
    (answer,) = run_batch(b"\xef\xbb\xbf" + line + b"\r\n")
    assert answer["count"] == 16


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"nonsense", "not JSON"),
        (b"\xff\xfe\xfd", "not JSON"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"id": NaN, "input": {}}', "NaN is no number"),
        (b"[1, 2]", "not a JSON object: [1, 2]"),
        (b'"text"', 'not a JSON object: "text"'),
        (b"{}", "input: missing"),
        (b'{"input": [1]}', "input: missing or no object"),
        (b'{"input": {"kind": "aswt"}}', "key m is missing"),
        (b'{"id": 1e999, "input": {}}', "1e999 is out of range"),
        (b'{"id": 1, "id": 2, "input": {}}', 'key "id" is given twice'),
        (b'{"input": {"m": 1, "m": 1}}', 'key "m" is given twice'),
        (b"x" * 3_000_000, "the line is longer than 1048576 bytes"),
    ],
)
def test_a_bad_line_is_answered_and_the_next_goes_on(
    line: bytes, message: str, run_batch: Run
) -> None:
    good = json.dumps({"id": 1, "input": REQUEST}).encode()
    bad, answer = run_batch(line + b"\n" + good)
    assert bad.keys() == {"error", "message"}
    assert bad["error"] == "bad_input"
    assert message in bad["message"]
    assert answer["id"] == 1


def test_a_bad_request_keeps_its_id(run_batch: Run) -> None:
    (answer,) = run_batch(json.dumps({"id": "r", "input": REQUEST | {"m": 0}}).encode())
    assert list(answer) == ["id", "error", "message"]
    assert answer["id"] == "r"


def test_answers_are_as_compact_as_the_golden_files(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = json.dumps({"id": "a", "input": REQUEST}).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line)))
    assert main(["schedule", "--batch", "-"]) == 0
    assert capsys.readouterr().out.startswith('{"id":"a","blockNum":4,"count":16,"sha256":"')


def test_too_many_items_are_an_answer(run_batch: Run) -> None:
    huge = REQUEST | {"m": 2**31 - 1, "n": 2**31 - 1}
    answer, _ = run_batch(b"\n".join(json.dumps({"id": 1, "input": huge}).encode() for _ in "ab"))
    assert list(answer) == ["id", "error", "message"]
    assert "4503599627370496" in answer["message"]
    assert "10000000" in answer["message"]


def test_an_empty_batch_has_no_answers(run_batch: Run) -> None:
    assert run_batch(b"") == []


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schedule", "--batch", str(tmp_path / name)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("autotune schedule: ")
    assert captured.err.count("\n") == 1
