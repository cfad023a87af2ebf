"""`autotune compare` on made-up runs."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.fail_condition import FailCondition, parse_fail_condition
from autotune.manifest import RunStatus, load_manifest, write_manifest
from autotune.results import ResultRow
from hwmodel.errors import EXIT_FAIL_IF_MET, InputError
from tests.autotune.command_line import CommandLine
from tests.autotune.report_runs import make_compared, make_manifest, make_row, make_run


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(capsys, monkeypatch, "compare")


def rows_of(*best_times_us: float | None) -> tuple[ResultRow, ...]:
    """Rows with these best times and gaps of 10 %; None for shapes without an answer."""
    return tuple(
        make_row(
            index,
            None if best_us is None else make_compared(0.1, best_us=best_us),
            name=f"shape {index}",
        )
        for index, best_us in enumerate(best_times_us)
    )


class Runs:
    """Makes runs in directories of their own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def make(self, name: str, rows: Sequence[ResultRow]) -> str:
        return str(make_run(self.directory / name, rows))


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def test_shapes_are_counted_as_better_worse_and_equal(command: CommandLine, runs: Runs) -> None:
    a = runs.make("a", rows_of(100.0, 100.0, 100.0, 100.0, 100.0))
    b = runs.make("b", rows_of(101.1, 100.9, 100.0, 99.2, 98.9))
    document = command.document("compare", a, b)
    assert document["counts"] == {"better": 1, "worse": 1, "equal": 3}
    changes = [shape["change"] for shape in document["shapes"]]
    assert changes == ["worse", "equal", "equal", "equal", "better"]
    assert document["threshold_ratio"] == 0.01
    assert document["fail_if"] is None
    shape = document["shapes"][0]
    assert shape["best_ratio"] == pytest.approx(1.011)
    assert shape["b"]["best_us"] == 101.1
    product = 1.011 * 1.009 * 0.992 * 0.989
    assert document["means"]["best_ratio"] == pytest.approx(product**0.2)
    assert document["means"]["first_gap_ratio"] == pytest.approx(0.1)


def test_text(command: CommandLine, runs: Runs) -> None:
    a = runs.make("a", rows_of(100.0, 50.0))
    b = runs.make("b", rows_of(103.0, 50.0))
    lines = command.answer("compare", a, b).splitlines()
    assert lines[:3] == [f"A: {a}", f"B: {b}", ""]
    cells = " ".join(lines[5].split())
    assert cells == "shape 0 110 113 100 103 +3.0 % +10.0 % +10.0 % worse"
    assert not lines[6].rstrip().endswith(("worse", "better"))
    summary = " ".join(lines[7:])
    assert (
        "2 shapes with an answer in both; best time in B against A: 0 better, 1 worse, 1 equal "
        "(by more than 1 %)"
    ) in summary
    assert "geometric means: best time +1.5 %, baseline +1.5 %; gap +10.0 % in A" in summary
    assert summary.endswith("A and B were asked alike")


def test_shapes_are_matched_by_problem_whatever_their_name(
    command: CommandLine, runs: Runs
) -> None:
    first = rows_of(100.0, 50.0, 70.0)
    renamed = replace(first[0], name="another name", index=2)
    again = replace(first[1], index=3, name="the same again")
    other = replace(make_row(8, make_compared(0.1)), name="only here")
    a = runs.make("a", (*first, again))
    b = runs.make("b", (other, renamed, first[1]))
    document = command.document("compare", a, b)
    assert [shape["name"] for shape in document["shapes"]] == ["shape 0", "shape 1"]
    assert [row["name"] for row in document["only_in_a"]] == ["shape 2"]
    assert [row["name"] for row in document["only_in_b"]] == ["only here"]
    text = command.answer("compare", a, b)
    assert "listed in A only (1): shape 2" in text
    assert "listed in B only (1): only here" in text


def test_shapes_without_an_answer(command: CommandLine, runs: Runs) -> None:
    a = runs.make("a", rows_of(100.0, 50.0, None, None))
    b = runs.make("b", rows_of(100.0, None, 70.0, None))
    document = command.document("compare", a, b)
    assert [row["name"] for row in document["lost"]] == ["shape 1"]
    assert [row["name"] for row in document["gained"]] == ["shape 2"]
    assert document["unanswered"] == 1
    text = command.answer("compare", a, b)
    for line in (
        "with an answer in A only (1): shape 1",
        "with an answer in B only (1): shape 2",
        "without an answer in either: 1 shape",
    ):
        assert line in text


def test_no_shape_has_an_answer_in_both(command: CommandLine, runs: Runs) -> None:
    a, b = runs.make("a", rows_of(None, 1.0)), runs.make("b", rows_of(None, None))
    assert command.document("compare", a, b)["means"] is None
    text = command.answer("compare", a, b)
    assert "0 shapes with an answer in both" in text
    assert "geometric means" not in text


def test_long_lists_are_cut(command: CommandLine, runs: Runs) -> None:
    a = runs.make("a", rows_of(*[100.0] * 30))
    b = runs.make("b", rows_of(100.0))
    text = " ".join(command.answer("compare", a, b).split())
    assert "listed in A only (29): shape 1, " in text
    assert text.endswith("shape 20 and 9 more")


def test_grouped_shapes_are_in_no_mean(command: CommandLine, runs: Runs) -> None:
    first, second = rows_of(100.0, 50.0), rows_of(100.0, 75.0)
    a = runs.make("a", (first[0], replace(first[1], tag="grouped")))
    b = runs.make("b", (second[0], replace(second[1], tag="grouped")))
    document = command.document("compare", a, b)
    assert document["means"]["best_ratio"] == 1.0
    assert document["counts"]["worse"] == 1


@pytest.mark.parametrize(
    ("times_us", "condition", "is_met"),
    [
        ((100.0, 101.1), "worse>1%", True),
        ((100.0, 100.9), "worse>1%", False),
        ((100.0, 100.9), "worse>0.5%", True),
        ((100.0, 100.9), " worse > 0.5 % ", True),
        ((100.0, 50.0), "worse>0%", False),
        ((100.0, 100.001), "worse>0%", True),
        ((100.0, 300.0), "worse>200%", False),
        ((100.0, 300.1), "worse>200%", True),
    ],
)
def test_the_condition_decides_the_exit_code(
    command: CommandLine,
    runs: Runs,
    times_us: tuple[float, float],
    condition: str,
    is_met: bool,
) -> None:
    a = runs.make("a", rows_of(times_us[0], 10.0))
    b = runs.make("b", rows_of(times_us[1], 10.0))
    code, out, err = command.run("compare", a, b, "--fail-if", condition, "--format", "json")
    assert code == (EXIT_FAIL_IF_MET if is_met else 0)
    document = json.loads(out)
    name = "".join(condition.split())
    assert document["fail_if"] == {"condition": name, "met": is_met}
    if is_met:
        assert err.startswith(f"autotune compare: {name} is met by 1 shape, the worst by ")
        assert err.endswith(": shape 0\n")
        assert err.count("\n") == 1
    else:
        assert err == ""


def test_a_lost_answer_meets_the_condition(command: CommandLine, runs: Runs) -> None:
    a, b = runs.make("a", rows_of(10.0, 20.0)), runs.make("b", rows_of(10.0, None))
    code, out, err = command.run("compare", a, b, "--fail-if", "worse>50%")
    assert code == EXIT_FAIL_IF_MET
    assert out != ""
    assert err == "autotune compare: worse>50% is met by 1 shape without an answer in B\n"
    assert command.run("compare", a, b)[0] == 0
    assert command.run("compare", b, a, "--fail-if", "worse>50%")[0] == 0


BAD_CONDITIONS = (
    "",
    "worse",
    "worse>",
    "worse>1",
    "worse>%",
    "worse>=1%",
    "worse<1%",
    "better>1%",
    "worse>-1%",
    "worse>1.%",
    "worse>.5%",
    "worse>1e3%",
    "worse>nan%",
    "worse>1,5%",
    "worse>1%%",
    "worse>1% or",
    "worse>1234567%",
    "worse>\u0661%",
)


@pytest.mark.parametrize("condition", BAD_CONDITIONS)
def test_bad_conditions_are_one_line(command: CommandLine, runs: Runs, condition: str) -> None:
    a = runs.make("a", rows_of(10.0))
    assert command.complaint("compare", a, a, "--fail-if", condition) == (
        f"autotune compare: --fail-if {condition!r}: write worse> and a percentage, e.g. "
        "'worse>1%'"
    )
    with pytest.raises(InputError):
        parse_fail_condition(condition)


def test_conditions_are_ratios() -> None:
    assert parse_fail_condition("worse>2.5%") == FailCondition(
        text="worse>2.5%", worse_ratio=0.025
    )


def test_what_was_asked_otherwise_is_told(command: CommandLine, runs: Runs) -> None:
    a, b = runs.make("a", rows_of(10.0)), runs.make("b", rows_of(10.0))
    manifest = load_manifest(Path(b))
    write_manifest(
        Path(b),
        replace(
            manifest,
            options=replace(
                manifest.options, hw="mine.toml", effort="standard", seed=7, as_950=True
            ),
            digests=replace(manifest.digests, spec="a" * 64, model="b" * 64),
            versions={"numpy": "2.0", "python": "3.12.0"},
            git_commit=None,
        ),
    )
    differences = command.document("compare", a, b)["differences"]
    assert [tuple(one.values()) for one in differences] == [
        ("hardware", "ascend950pr-9589", "mine.toml"),
        ("applied as a 950", "False", "True"),
        ("effort", "quick", "standard"),
        ("seed", "0", "7"),
        ("hardware figures (digest)", "3" * 12, "a" * 12),
        ("model version (digest)", "5" * 12, "b" * 12),
        ("version of numpy", "unknown", "2.0"),
        ("version of python", "3.11.0", "3.12.0"),
        ("commit", "abc123", "unknown"),
    ]
    text = " ".join(command.answer("compare", a, b).split())
    assert "A / B differ in: hardware ascend950pr-9589 / mine.toml; " in text


def test_runs_without_a_shape_in_common(command: CommandLine, runs: Runs) -> None:
    a = runs.make("a", rows_of(10.0))
    b = runs.make("b", (make_row(5, make_compared(0.1)),))
    line = command.complaint("compare", a, b, "--fail-if", "worse>1%")
    assert line.endswith("have no shape in common; compare runs of lists that share shapes")


def test_bad_run_directories_are_one_line(command: CommandLine, runs: Runs) -> None:
    good = runs.make("good", rows_of(10.0))
    stopped = make_run(
        runs.directory / "bad", rows_of(10.0), manifest=make_manifest(status=RunStatus.FAILED)
    )
    results = stopped / "results.json"
    document = json.loads(results.read_text(encoding="utf-8"))
    for text, expected in (
        ("", "results.json: not valid JSON"),
        (json.dumps(document | {"schema": 99}), "results.json: schema 99, this version reads"),
        (json.dumps(document | {"rows": {}}), "results.json: schema"),
        (json.dumps(document | {"rows": [1]}), "results.json: rows[0]"),
    ):
        results.write_text(text, encoding="utf-8")
        for pair in ((good, str(stopped)), (str(stopped), good)):
            assert expected in command.complaint("compare", *pair)
    results.unlink()
    assert "the run is not finished (failed)" in command.complaint("compare", good, str(stopped))
    manifest = stopped / "manifest.json"
    for text, expected in (
        ("{", "manifest.json: not valid JSON"),
        ("{}", "manifest.json: schema None"),
        ('{"schema": 1}', "manifest.json"),
    ):
        manifest.write_text(text, encoding="utf-8")
        assert expected in command.complaint("compare", good, str(stopped))
    manifest.unlink()
    assert "not a run directory" in command.complaint("compare", good, str(stopped))
    assert "not a run directory" in command.complaint("compare", good, str(manifest))


def test_changed_results_are_refused(command: CommandLine, runs: Runs) -> None:
    good = runs.make("good", rows_of(10.0))
    directory = Path(runs.make("changed", rows_of(10.0)))
    write_manifest(directory, make_manifest(file_digests={"results.json": "0" * 64}))
    line = command.complaint("compare", good, str(directory))
    assert "results.json: changed since the run wrote it" in line


def test_hardware_of_another_version_does_not_matter(command: CommandLine, runs: Runs) -> None:
    a, b = runs.make("a", rows_of(10.0)), runs.make("b", rows_of(10.0))
    (Path(a) / "hardware.toml").write_text("of = 'another version'\n", encoding="utf-8")
    assert command.document("compare", a, b)["counts"]["equal"] == 1


def test_runs_of_hypotheses_have_no_best_plans(command: CommandLine, runs: Runs) -> None:
    good, other = runs.make("good", rows_of(10.0)), runs.make("other", rows_of(10.0))
    manifest = load_manifest(Path(other))
    write_manifest(Path(other), replace(manifest, options=replace(manifest.options, study="h1")))
    line = command.complaint("compare", good, other)
    assert line.endswith(
        "other: the run is one of study h1, which keeps no best plans; give a run of study tiles"
    )


def test_both_runs_are_needed(command: CommandLine, runs: Runs) -> None:
    code, _, err = command.run("compare", runs.make("a", rows_of(10.0)))
    assert code == 2
    assert err.splitlines()[-1].endswith("the following arguments are required: RUN_B")
    assert "the name is empty" in command.run("compare", "", "")[2]


def test_odd_names_stay_on_one_line(command: CommandLine, runs: Runs) -> None:
    row = replace(rows_of(10.0)[0], name="two\nlines " + "x" * 100)
    a = runs.make("a", (row,))
    lines = command.answer("compare", a, a).splitlines()
    assert lines[5].startswith("two lines xxx")
    assert len(lines[5]) <= 120
