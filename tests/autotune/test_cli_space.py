"""`autotune space` as a user meets it."""

import json
from pathlib import Path
from typing import Any

import pytest

from autotune import __main__ as program
from studies.space_axes import SPACE_NAMES, TILES

SHAPE = ("--m", "64", "--k", "512", "--n", "1000")


class Terminal:
    """Runs the command and gives back the exit code and both streams."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def run(self, *argv: str) -> tuple[int, str, str]:
        try:
            code = program.main(("space", *argv))
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        streams = self.capsys.readouterr()
        return code, streams.out, streams.err

    def document(self, *argv: str) -> Any:
        code, out, err = self.run("--format", "json", *argv)
        assert code == 0, err
        return json.loads(out)


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    # The program with this subcommand alone, so that no other one slows or breaks these tests.
    monkeypatch.setattr(program, "COMMAND_MODULES", ("space",))
    return Terminal(capsys)


def test_the_document_adds_up(terminal: Terminal) -> None:
    document = terminal.document(*SHAPE)
    assert document["space"] == "all"
    assert document["restriction"] == ""
    assert sum(count["points"] for count in document["templates"]) == document["points"]
    rejected = document["rejected"]
    assert document["cartesian"] == document["points"] + sum(rejected.values())
    assert list(rejected.values()) == sorted(rejected.values(), reverse=True)
    assert document["baseline"]["index"] < document["points"]
    assert document["values"]["base_m"] == 4


def test_the_text_says_what_the_document_does(terminal: Terminal) -> None:
    document = terminal.document(*SHAPE)
    code, out, err = terminal.run(*SHAPE)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "64x512x1000 bf16 on ascend950pr-9589, space all"
    assert lines[1].startswith(f"{document['points']:,} points of {document['cartesian']:,} in")
    assert lines[2] == f"the operator's plan (aswt) is point {document['baseline']['index']:,}"
    for count in document["templates"]:
        row = next(line for line in lines if line.startswith(f"{count['template']} ")).split()
        assert row[9:] == [f"{count['points']:,}", f"{count['cartesian']:,}"]
    worst = next(iter(document["rejected"]))
    assert sum(line.startswith(f"{worst} ") for line in lines) == 1


def test_large_and_quick_spaces_say_what_they_leave_out(terminal: Terminal) -> None:
    large = ("--m", "4096", "--k", "4096", "--n", "4096")
    _, out, _ = terminal.run(*large)
    assert "stream-K: even pieces of K (47,303,864 legal points left out)" in out
    quick = terminal.document(*large, "--effort", "quick")
    assert quick["points"] < 20_000
    assert "no partial loads, no panels" in quick["restriction"]
    tiles = terminal.document(*large, "--space", "tiles", "--effort", "full")
    assert (tiles["points"], tiles["restriction"]) == (1377225, "")


def test_where_the_operators_plan_is(terminal: Terminal) -> None:
    _, out, _ = terminal.run("--m", "64", "--k", "8192", "--n", "1280", "--space", "tiles")
    assert "the operator's plan (stream_k) is outside of this space but searched all" in out
    _, out, _ = terminal.run("--m", "16", "--k", "8200", "--n", "512", "--dtype", "fp32")
    assert "the operator's plan (stream_k) is" in out
    code, out, _ = terminal.run("--m", "16", "--k", "0", "--n", "16")
    assert code == 0
    assert "0 points of 0 in the product of the axes" in out
    assert "template" not in out.replace("the operator's plan (k_equal_zero)", "")


def test_an_illegal_plan_of_the_operator_is_said_to_be_one(terminal: Terminal) -> None:
    # Stream-K takes the whole piece of K for base_k, here no multiple of 16.
    _, out, _ = terminal.run("--m", "16", "--k", "4097", "--n", "16")
    assert "is no point but searched all the same: base_k must be a multiple of" in out


def test_a_row_for_every_shape(terminal: Terminal, tmp_path: Path) -> None:
    shapes = tmp_path / "shapes.csv"
    shapes.write_text(
        "name,m,k,n,bias\nfirst,64,512,1000,none\nno sum,64,0,64,fp32\nagain,64,512,1000,none\n"
    )
    listed = terminal.document("--shapes", str(shapes))
    assert [row["name"] for row in listed] == ["first", "no sum", "again"]
    assert listed[0]["points"] == listed[2]["points"] == terminal.document(*SHAPE)["points"]
    assert "refusal" in listed[1]
    code, out, err = terminal.run("--shapes", str(shapes))
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) == 5
    assert lines[0].split()[:2] == ["shape", "points"]
    assert "rejected: " in lines[3]


def test_bundled_lists_are_found_by_name(terminal: Terminal) -> None:
    code, out, err = terminal.run("--shapes", "quick", "--effort", "quick")
    assert code == 0
    assert err == ("autotune space: quick is not a file here: using the bundled list quick.csv\n")
    assert len(out.splitlines()) == 14


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ((), "--m, --k and --n are missing; give them, or --shapes FILE"),
        (("--m", "4"), "--k is missing; give --m, --k and --n"),
        (("--m", "0", "--k", "1", "--n", "1"), "--m 0: must be in 1..2147483647"),
        (("--shapes", ""), "--shapes: the name is empty; give a file or a bundled list"),
        (("--shapes", "none.csv"), "none.csv: there is no such file; name an existing one"),
        (
            ("--shapes", "quick.csv", "--trans-a"),
            "--trans-a does not go with --shapes: its rows say it all; leave it out",
        ),
        ((*SHAPE, "--hw", "chip"), "chip"),
        ((*SHAPE, "--hw-base", "chip"), "--hw-base completes a platform file"),
    ],
)
def test_bad_input_is_one_line(terminal: Terminal, argv: tuple[str, ...], message: str) -> None:
    code, out, err = terminal.run(*argv)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_the_option_knows_every_space() -> None:
    from autotune.cli.space import SPACES

    assert set(SPACES) == set(SPACE_NAMES)
    assert TILES in SPACES
