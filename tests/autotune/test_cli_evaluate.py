"""`autotune evaluate` as a user meets it."""

import json

import pytest

from autotune.cli.problem_arguments import PROBLEM_OPTIONS
from hwmodel.cost import evaluators
from hwmodel.cost.evaluators import EVALUATOR_NAMES, select_evaluator
from hwmodel.plan import KernelPlan
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from tests.autotune.command_line import CommandLine

SHAPE = ("--m", "600", "--k", "700", "--n", "2000")
EVALUATE = ("evaluate", *SHAPE)
PROBLEM = GemmProblem(m=600, k=700, n=2000)
OTHER = '{"baseM": 128, "baseN": 128, "baseK": 64}'


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(capsys, monkeypatch, "evaluate")


@pytest.mark.parametrize("name", EVALUATOR_NAMES)
def test_every_model_answers(command: CommandLine, name: str) -> None:
    code, out, err = command.run(*EVALUATE, "--evaluator", name, "--format", "json")
    assert code == 0
    assert "warning" not in err
    document = json.loads(out)
    spec = load_hardware("ascend950pr-9589")
    plan = KernelPlan(**document["plan"])
    cost = select_evaluator(name).evaluate(PROBLEM, spec, plan)
    assert document["cost"]["task_duration_us"] == cost.task_duration_us
    assert document["cost"]["bound"] == cost.bound
    assert (document["evaluator"], document["is_baseline"]) == (name, True)
    assert document["roofline_ratio"] == document["roofline_us"] / cost.task_duration_us
    assert document["vs"] is None


@pytest.mark.parametrize("name", EVALUATOR_NAMES)
def test_only_who_splits_the_time_has_rows_for_it(command: CommandLine, name: str) -> None:
    out = command.answer(*EVALUATE, "--evaluator", name)
    assert "bound by" in out
    assert ("exposed store" in out) == (name == "pipeline")


def test_table(command: CommandLine) -> None:
    out = command.answer(*EVALUATE)
    assert out.startswith("600x700x2000 on ascend950pr-9589, by the pipeline model\n")
    lines = out.splitlines()
    assert lines[2].startswith("the operator's plan: ")
    labels = [line.partition("  us ")[0].rstrip() for line in lines if "  us " in line]
    assert labels[:5] == ["time", "  launch", "  prologue", "  rounds", "  epilogue"]
    assert "MTE2 busy" in labels
    assert any(line.startswith("read from HBM     MB ") for line in lines)
    assert lines[-1].startswith("roofline: ")
    assert max(map(len, lines)) <= 115


def test_details_of_the_problem_are_said(command: CommandLine) -> None:
    out = command.answer(*EVALUATE, "--trans-a", "--dtype", "fp16")
    assert out.startswith("600x700x2000 (fp16, A stored K")


def test_two_plans_side_by_side(command: CommandLine) -> None:
    out = command.answer(*EVALUATE, "--plan", OTHER, "--vs", "baseline")
    heads = next(line for line in out.splitlines() if "unit" in line)
    assert heads.split("  ")[-1].strip() == "difference"
    assert "the operator's plan" in heads
    assert "this plan" in heads
    document = command.document(*EVALUATE, "--plan", OTHER, "--vs", "baseline")
    vs = document["vs"]
    assert vs["is_baseline"] is True
    assert document["plan"]["base_m"] == 128
    times = vs["cost"]["task_duration_us"], document["cost"]["task_duration_us"]
    assert vs["gap_ratio"] == times[0] / times[1] - 1.0
    assert " us over " in vs["explanation"]
    assert " ".join(out.split()).endswith(vs["explanation"])


def test_the_other_plan_may_be_any(command: CommandLine) -> None:
    forward = command.document(*EVALUATE, "--vs", OTHER)
    backward = command.document(*EVALUATE, "--plan", OTHER, "--vs", "{}")
    assert forward["vs"]["cost"] == backward["cost"]
    assert forward["cost"] == backward["vs"]["cost"]
    assert "the plan of --vs" in command.answer(*EVALUATE, "--vs", OTHER)
    same = command.document(*EVALUATE, "--vs", "baseline")
    assert same["vs"]["explanation"].startswith("The operator's plan is the operator's plan: ")


def test_illegal_plans_are_named(command: CommandLine) -> None:
    big = '{"base_m": 512, "base_n": 512}'
    code, out, err = command.run(*EVALUATE, "--plan", big, "--vs", big, "--format", "json")
    assert code == 0
    document = json.loads(out)
    assert document["warnings"] == document["vs"]["warnings"] != []
    names = [line.partition(" is not legal")[0] for line in err.splitlines()]
    count = len(document["warnings"])
    assert (
        names
        == ["autotune evaluate: warning: the plan"] * count
        + ["autotune evaluate: warning: the plan of --vs"] * count
    )


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("--vs", "nowhere.json"), "--vs nowhere.json: cannot be read (No such file"),
        (("--vs", '{"baseM": -1}'), "--vs: baseM = -1: must be in 1.."),
        (("--vs", "{"), "--vs: not JSON"),
        (("--plan", '{"nothing": 1}'), "--plan: 'nothing' is no field"),
        (("--plan", '{"kL1": 7}'), "--plan: kL1 = 7: must be a multiple of baseK"),
        (("--hw", "nothing"), "nothing"),
        (("--dtype", "fp16", "--out-dtype", "bf16"), "the operator has no such kernel"),
        (("--m", "0"), "--m 0: must be in 1..2147483647"),
    ],
)
def test_bad_input_is_one_line(command: CommandLine, argv: tuple[str, ...], expected: str) -> None:
    line = command.complaint(*EVALUATE, *argv)
    assert line.startswith("autotune evaluate: ")
    assert expected in line


def test_unknown_models_are_refused(command: CommandLine) -> None:
    code, out, err = command.run(*EVALUATE, "--evaluator", "crystal ball")
    assert (code, out) == (2, "")
    assert "invalid choice: 'crystal ball'" in err.splitlines()[-1]


def test_vector_kernels_and_empty_sums(command: CommandLine) -> None:
    for name in EVALUATOR_NAMES:
        document = command.document(
            "evaluate", "--m", "4", "--k", "0", "--n", "300", "--evaluator", name
        )
        assert document["cost"]["task_duration_us"] > 0.0


def test_compiling_is_announced(command: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        evaluators, "prepare_evaluator", lambda name, _, say: say(f"compiling the {name}")
    )
    _, _, err = command.run(*EVALUATE)
    assert err == "autotune evaluate: compiling the pipeline\n"


def test_options_are_those_of_the_baseline_command(command: CommandLine) -> None:
    out = command.answer("evaluate", "--help")
    for name in PROBLEM_OPTIONS:
        assert "--" + name.replace("_", "-") in out
