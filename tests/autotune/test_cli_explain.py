"""`autotune explain` on made-up runs, whose plans are real ones."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.manifest import RunStatus
from autotune.results import ComparedPlans, Coverage, PlanResult, ResultRow
from hwmodel.cost.evaluators import select_evaluator
from hwmodel.plan import KernelPlan
from hwmodel.problem import GemmProblem
from tests.autotune.command_line import CommandLine
from tests.autotune.report_runs import (
    make_compared,
    make_manifest,
    make_plan,
    make_row,
    make_run,
    make_spec,
)

SPEC = make_spec()


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(capsys, monkeypatch, "explain")


def compare(problem: GemmProblem, baseline: KernelPlan, best: KernelPlan) -> ComparedPlans:
    """A comparison with the times that the pipeline model gives."""
    model = select_evaluator("pipeline")
    times = [model.evaluate(problem, SPEC, plan).task_duration_us for plan in (baseline, best)]
    compared = make_compared(
        times[0] / times[1] - 1.0, best_us=times[1], resolved=True, baseline=baseline, best=best
    )
    expressible = PlanResult(
        plan=replace(best, base_m=96), predicted_us=times[1], bound="cube", roofline_ratio=0.5
    )
    return replace(
        compared,
        best_expressible=expressible,
        baseline=replace(compared.baseline, predicted_us=times[0]),
    )


def make_explained_row(index: int, name: str, m: int, n: int) -> ResultRow:
    problem = GemmProblem(m=m, k=4096, n=n)
    plans = make_plan(32, 32), make_plan(128, 128, window_len=2)
    compared = compare(problem, *plans)
    return replace(make_row(index, compared, name=name), problem=problem)


ROWS = (
    make_explained_row(0, "small gap", 512, 2048),
    make_explained_row(1, "large, with an umlaut ü", 4096, 4096),
    make_row(2, None, name="refused"),
    make_explained_row(3, "small gap", 1024, 2048),
    make_explained_row(4, "small gap again", 512, 2048),
    replace(make_explained_row(5, "experts", 8192, 4096), tag="grouped"),
)


@pytest.fixture
def run(tmp_path: Path) -> str:
    return str(make_run(tmp_path / "a run", ROWS, spec=SPEC))


def test_one_shape(command: CommandLine, run: str) -> None:
    out = command.answer("explain", run, "--shape", "2")
    lines = out.splitlines()
    assert lines[0] == (
        "large, with an umlaut ü (4096x4096x4096) on ascend950pr-9589, by the pipeline model"
    )
    assert lines[2:4] == [
        "the operator's plan: 32x32x64, step 4, W 4",
        "the best plan: 128x128x64, step 4, W 2",
    ]
    assert any(line.startswith("read from L2      MB ") for line in lines)
    assert "The best plan wins " in out
    assert "\nGap: resolved: " in out
    assert "\nCoverage: transposed: as measured" in out
    assert max(map(len, lines)) <= 115


def test_the_document_holds_the_figures_of_the_model(command: CommandLine, run: str) -> None:
    document = command.document("explain", run, "--shape", "4096x4096x4096")
    assert {name: document[name] for name in ("hardware", "evaluator", "vs")} == {
        "hardware": "ascend950pr-9589",
        "evaluator": "pipeline",
        "vs": "baseline",
    }
    (shape,) = document["shapes"]
    compared = ROWS[1].compared
    assert compared is not None
    assert shape["best"]["cost"]["task_duration_us"] == compared.best.predicted_us
    assert shape["vs"]["cost"]["task_duration_us"] == compared.baseline.predicted_us
    assert shape["gap_ratio"] == pytest.approx(compared.gap_ratio, rel=1e-12)
    assert (shape["number"], shape["matches_run"]) == (2, True)


def test_the_largest_gaps_come_first_and_once(command: CommandLine, run: str) -> None:
    out = command.answer("explain", run)
    assert out.startswith("The 3 largest gaps of 6 shapes on ascend950pr-9589, by the pipeline")
    document = command.document("explain", run)
    gaps = [shape["gap_ratio"] for shape in document["shapes"]]
    assert gaps == sorted(gaps, reverse=True)
    assert len(gaps) == 3
    assert {shape["name"] for shape in document["shapes"]} == {
        "small gap",
        "large, with an umlaut ü",
    }
    assert out.rstrip().endswith(
        f"autotune explain '{run}' --shape {document['shapes'][0]['number']}"
    )


def test_runs_without_a_gap_say_so(command: CommandLine, tmp_path: Path) -> None:
    directory = make_run(tmp_path / "run", (make_row(0, make_compared(0.0)), make_row(1, None)))
    assert command.answer("explain", str(directory)) == (
        "No better tiling than the operator's was found for any of 2 shapes.\n"
    )
    one = make_run(tmp_path / "one", ROWS[:1], spec=SPEC)
    assert command.answer("explain", str(one)).startswith("The only gap of 1 shape on ")


@pytest.mark.parametrize(
    ("gap_ratio", "is_resolved", "is_sure", "expected"),
    [
        (
            0.1,
            False,
            False,
            "not resolved: it may be nothing but the model's error (kernels: read bound)",
        ),
        (
            0.1,
            True,
            False,
            "resolved: it exceeds twice the model's median error for such kernels (read bound), "
            "but not twice its 90th percentile",
        ),
        (0.1, True, True, "read bound), and twice its 90th"),
        (0.0, False, False, "there is no gap to speak of"),
    ],
)
def test_what_a_gap_is_worth(
    command: CommandLine,
    tmp_path: Path,
    gap_ratio: float,
    is_resolved: bool,
    is_sure: bool,
    expected: str,
) -> None:
    compared = make_compared(
        gap_ratio, coverage=Coverage.EXTRAPOLATED, resolved=is_resolved, exceeds_p90=is_sure
    )
    run = str(make_run(tmp_path / "run", (make_row(0, compared),)))
    _, out, _ = command.run("explain", run, "--shape", "1")
    text = " ".join(out.split())
    assert expected in text.partition("Gap: ")[2]
    assert "Coverage: extrapolated: one of the two plans is beyond the measured kernels" in text


def test_other_plans_to_compare_with(command: CommandLine, run: str, tmp_path: Path) -> None:
    argv = ("explain", run, "--shape", "1")
    expressible = command.document(*argv, "--vs", "expressible")["shapes"][0]
    assert expressible["vs"]["plan"]["base_m"] == 96
    assert expressible["vs"]["name"] == "the best plan that the tiling data can carry"
    mine = command.document(*argv, "--vs", '{"baseM": 64}')["shapes"][0]["vs"]
    assert (mine["plan"]["base_m"], mine["plan"]["base_n"]) == (64, 32)
    assert mine["name"] == "the plan of --vs"
    path = tmp_path / "plan.json"
    path.write_text('{"base_m": 64}', encoding="utf-8")
    assert command.document(*argv, "--vs", str(path))["shapes"][0]["vs"] == mine
    out = command.answer(*argv, "--vs", '{"baseM": 64}')
    assert "Gap:" not in out


def test_another_model_may_be_asked(command: CommandLine, run: str) -> None:
    document = command.document("explain", run, "--shape", "1", "--evaluator", "formula")
    assert document["evaluator"] == "formula"
    assert document["shapes"][0]["best"]["cost"]["launch_us"] == 0.0


def test_another_version_of_the_model_is_told(command: CommandLine, tmp_path: Path) -> None:
    row = make_row(0, make_compared(0.1, best_us=40.0), name="old")
    run = str(make_run(tmp_path / "run", (row,)))
    code, _, err = command.run("explain", run)
    assert code == 0
    assert err.startswith(
        "autotune explain: old: the run's pipeline model said 40.0 us for the best plan, this "
        "version says "
    )
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (
            "small gap",
            "--shape small gap: 2 shapes of the run; give one's number: 1 (512x4096x2048)",
        ),
        ("smal gap", "--shape smal gap: not in the run; is it small gap or small gap again?"),
        (
            "xyz",
            "--shape xyz: not in the run; give a name, a size like 512x4096x2048 or a number up",
        ),
        ("", "--shape : not in the run"),
        ("7", "--shape 7: not in the run"),
        ("refused", "shape refused: the run has no plan to explain: ValidateShape: dimension"),
    ],
)
def test_shapes_that_cannot_be_explained(
    command: CommandLine, run: str, shape: str, expected: str
) -> None:
    assert command.complaint("explain", run, "--shape", shape).startswith(
        f"autotune explain: {expected}"
    )


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("--vs", "{}"), "--vs with a plan is for one shape; name it with --shape"),
        (("--vs", "nowhere", "--shape", "1"), "--vs nowhere: cannot be read"),
        (("--vs", '{"base": 1}', "--shape", "1"), "--vs: 'base' is no field"),
    ],
)
def test_bad_options(command: CommandLine, run: str, argv: Sequence[str], expected: str) -> None:
    assert f"autotune explain: {expected}" in command.complaint("explain", run, *argv)


def test_bad_run_directories_are_one_line(command: CommandLine, tmp_path: Path) -> None:
    line = command.complaint("explain", str(tmp_path / "nowhere"))
    assert line.endswith("nowhere: not a run directory (no manifest.json)")
    assert "the name is empty" in command.run("explain", "")[2]
    stopped = make_manifest(status=RunStatus.INTERRUPTED)
    directory = make_run(tmp_path / "run", ROWS, manifest=stopped)
    results = directory / "results.json"
    document = json.loads(results.read_text(encoding="utf-8"))
    for text, expected in (
        ("{", "results.json: not valid JSON"),
        ("[]", "results.json: schema None, this version reads 3; run the study again"),
        (json.dumps(document | {"schema": 1}), "results.json: schema 1, this version reads 3"),
        (json.dumps(document | {"rows": [{}]}), "results.json: rows[0]"),
    ):
        results.write_text(text, encoding="utf-8")
        assert expected in command.complaint("explain", str(directory))
    results.unlink()
    line = command.complaint("explain", str(directory))
    assert (
        "the run is not finished (interrupted) and has no results.json; continue it with" in line
    )


def test_hardware_of_another_version_is_one_line(command: CommandLine, run: str) -> None:
    (Path(run) / "hardware.toml").write_text("of = 'another version'\n", encoding="utf-8")
    line = command.complaint("explain", run)
    assert "hardware.toml" in line
    assert line.endswith("(the run may be of another version; run the study again)")


def test_a_run_without_rows_has_no_shape(command: CommandLine, tmp_path: Path) -> None:
    run = str(make_run(tmp_path / "run", ()))
    assert command.complaint("explain", run, "--shape", "1").endswith(
        "--shape 1: not in the run; it has no shapes"
    )


def test_names_that_the_terminal_lacks_are_escaped(
    command: CommandLine, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from autotune.cli import explain

    monkeypatch.setattr(
        explain, "escape_for", lambda _, text: text.encode("ascii", "backslashreplace").decode()
    )
    assert "umlaut \\xfc" in command.answer("explain", run, "--shape", "2")
