"""`autotune tune` as a user meets it: the real search on small shapes, a made-up one elsewhere."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from autotune import tuning
from autotune.comparison import compare_plans
from autotune.plan_fields import change_plan
from baseline.decision import decide
from baseline.vendor_kernel import VENDOR_KERNEL_KEYS
from hwmodel.cost.evaluators import select_evaluator
from hwmodel.errors import InputError
from hwmodel.plan import KernelPlan, Template, canonical_plan
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import load_hardware
from studies.journal import Journal
from studies.outcome import EvaluatedPlan, ShapeOutcome
from studies.search import SearchOptions, search_shape
from tests.autotune.command_line import CommandLine

SPEC = load_hardware("ascend950pr-9589")
SMALL = ("tune", "--m", "128", "--k", "512", "--n", "512")
PROBLEM = GemmProblem(m=128, k=512, n=512)
LARGE = ("tune", "--m", "2048", "--k", "4096", "--n", "2048")
LARGE_PROBLEM = GemmProblem(m=2048, k=4096, n=2048)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(capsys, monkeypatch, "tune")


def pasted(out: str) -> Any:
    """The document at the end of the text."""
    return json.loads(out[out.rindex('{"strategy"') :])


def find(
    monkeypatch: pytest.MonkeyPatch, best: dict[str, object], expressible: dict[str, object]
) -> None:
    """Let the search find these plans, given by what differs from the operator's plan."""

    def search(
        problem: GemmProblem, spec: HardwareSpec, options: SearchOptions, journal: Journal
    ) -> ShapeOutcome:
        found = search_shape(problem, spec, replace(options, strategy="random", trials=1), journal)
        evaluate = select_evaluator(options.evaluator).evaluate

        def change(fields: dict[str, object]) -> EvaluatedPlan:
            if not fields:
                return found.baseline
            plan = replace(found.baseline.plan, **fields)  # type: ignore[arg-type]
            cost = evaluate(problem, spec, plan)
            return EvaluatedPlan(plan=plan, cost=replace(cost, task_duration_us=1.0))

        return replace(found, best=change(best), best_expressible=change(expressible))

    monkeypatch.setattr(tuning, "search_shape", search)


def test_the_best_plan_is_that_of_the_search(command: CommandLine) -> None:
    document = command.document(*SMALL)
    outcome = search_shape(PROBLEM, SPEC, SearchOptions(), NoJournal())
    best = document["best"]
    assert best["cost"]["task_duration_us"] == outcome.best.cost.task_duration_us
    assert KernelPlan(**best["plan"]) == outcome.best.plan
    assert document["gap_ratio"] == outcome.gap_ratio
    assert document["ties_within_1pct"] == outcome.ties_within_1pct
    assert document["search"] == {
        "study": "tiles",
        "strategy": "cascade",
        "evaluator": "emulator",
        "effort": "standard",
        "trials": 200,
        "seed": 0,
    }
    certificate = document["certificate"]
    assert certificate["evaluated"] + certificate["pruned"] > 0
    assert certificate["evaluator"] == document["selection"]["selector"] == "pipeline"
    assert document["selection"]["judge"] == "emulator"
    assert document["regret_ratio"] == outcome.regret_ratio
    assert document["baseline"]["strategy"] == decide(PROBLEM, SPEC).strategy


class NoJournal:
    def read(self) -> tuple[()]:
        return ()

    def append(self, records: object) -> None:
        pass


def test_text(command: CommandLine) -> None:
    code, out, err = command.run(*SMALL)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == (
        "128x512x512 on ascend950pr-9589, chosen by the pipeline model, judged by the emulator: "
        "cascade, effort standard"
    )
    labels = [line[:17].strip() for line in lines[2:] if line[:17].strip()]
    assert labels[:10] == [
        "operator's plan",
        "best plan",
        "gap",
        "coverage",
        "roofline",
        "certificate",
        "judged",
        "regret",
        "ties",
        "why",
    ]
    assert "every legal point of the space" in out
    assert max(map(len, lines[1:])) <= 100
    assert command.run(*SMALL)[1] == out, "the same bytes again"


def test_what_is_pasted_is_read_again_as_the_same_plan(command: CommandLine) -> None:
    kernel = pasted(command.answer(*SMALL))
    document = command.document(*SMALL)
    assert kernel == document["kernel"]
    assert tuple(kernel) == VENDOR_KERNEL_KEYS
    baseline = decide(PROBLEM, SPEC).plan
    plan = change_plan(PROBLEM, SPEC, baseline, kernel, "--plan")
    expected = KernelPlan(**document["best_expressible"]["plan"])
    assert canonical_plan(PROBLEM, plan) == canonical_plan(PROBLEM, expected)


@pytest.mark.parametrize("strategy", ["random", "tpe"])
def test_sampling_the_judge_has_no_certificate_and_shows_progress(
    command: CommandLine, strategy: str
) -> None:
    search = ("--strategy", strategy, "--evaluator", "emulator", "--trials", "20", "--seed", "3")
    argv = (*SMALL, *search)
    code, out, err = command.run(*argv)
    assert code == 0
    assert f"by the emulator model: {strategy}, 20 trials, seed 3, effort standard\n" in out
    assert "regret           not known: no certificate\n" in out
    assert f"none: {strategy} evaluated 20 plans, so that a better one may be left" in " ".join(
        out.split()
    )
    assert err.startswith("evaluated 20 of 20 plans in ")
    document = command.document(*argv)
    assert document["certificate"] is None
    assert document["evaluations"] == 20


def test_an_inexpressible_field_is_named_and_the_next_best_given(
    command: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    find(monkeypatch, {"base_m": 128, "window_len": 2}, {"base_m": 128})
    out = command.answer(*LARGE)
    text = " ".join(out.split())
    assert (
        "The operator's tiling data cannot carry window_len = 2 (block order) of the best plan. "
        "Its fields that differ from the operator's plan, as --plan takes them: "
        '{"base_m": 128, "window_len": 2} '
        "The best plan that they can carry, 1.00 us (gap +"
    ) in text
    assert pasted(out)["tilingData"]["baseM"] == 128
    document = command.document(*LARGE)
    assert document["inexpressible_field"] == "window_len"
    assert document["best"]["plan"]["window_len"] == 2


def test_fields_without_other_words_are_named_once(
    command: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    find(monkeypatch, {"template": Template.A_PANEL, "resident_slabs": 1}, {})
    text = " ".join(command.answer(*LARGE).split())
    assert 'cannot carry template = "a_panel" of the best plan.' in text
    assert "(gap 0.0 %), is the operator's own; in the operator's names, ready to paste:" in text


def test_the_operators_own_plan_is_given_as_it_writes_it(
    command: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    find(monkeypatch, {}, {})
    out = command.answer(*LARGE)
    record = decide(LARGE_PROBLEM, SPEC).to_record()
    assert pasted(out) == {key: record[key] for key in VENDOR_KERNEL_KEYS}
    assert (
        "\nThe best plan is the operator's own; in the operator's names, ready to paste:\n" in out
    )
    assert "there is no gap to speak of" in out
    assert command.document(*LARGE)["inexpressible_field"] is None


def test_kernels_of_the_vector_cores(command: CommandLine) -> None:
    document = command.document("tune", "--m", "4", "--k", "0", "--n", "300")
    assert document["kernel"]["tilingStruct"] == "MatMulV3KEqZeroBasicTilingData"
    assert document["best"]["plan"] == document["baseline"]["plan"]


def test_rules_that_the_operator_breaks_are_told(
    command: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(*args: Any) -> ShapeOutcome:
        return replace(search_shape(*args), baseline_violations=("l1: too much",))

    monkeypatch.setattr(tuning, "search_shape", search)
    assert "the operator's plan breaks a rule: l1: too much" in command.answer(*SMALL)
    assert command.document(*SMALL)["baseline"]["violations"] == ["l1: too much"]


def test_the_quick_space_is_said_to_be_smaller(command: CommandLine) -> None:
    out = command.answer(*SMALL, "--effort", "quick")
    assert "effort quick (a smaller space: the gap is a lower bound)\n" in out
    assert "effort standard\n" in command.answer(*SMALL, "--effort", "standard")


def test_options_reach_the_problem(command: CommandLine) -> None:
    argv = (*SMALL, "--trans-a", "--no-trans-b", "--dtype", "fp16", "--deterministic", "2")
    document = command.document(*argv, "--effort", "quick", "--mode", "high-precision")
    problem = document["problem"]
    assert (problem["trans_a"], problem["trans_b"], problem["dtype"]) == (True, False, "fp16")
    assert (problem["deterministic_level"], problem["op_impl_mode"]) == (2, 4)
    out = command.answer(*argv, "--effort", "quick")
    assert out.startswith("128x512x512 (fp16, A stored KxM, B stored KxN) on ")


def test_other_chips_are_marked(command: CommandLine) -> None:
    argv = (*SMALL, "--effort", "quick", "--hw", "ascend910b1")
    assert "--as-950" in command.complaint(*argv)
    assert command.document(*argv, "--as-950")["as_950"] is True
    first = command.answer(*argv, "--as-950").splitlines()[0]
    assert "ascend910b1 (the heuristic of the Ascend 950 applied to a chip of " in first


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("--trials", "0", "--strategy", "random"), "--trials 0: must be 1 or more"),
        (("--seed", "-1"), "--seed -1: must be 0 or more"),
        (("--trials", "9"), "--trials: the strategy cascade covers the whole space"),
        (
            ("--evaluator", "emulator", "--strategy", "exhaustive"),
            "the emulator is too slow to search exhaustively",
        ),
        (("--evaluator", "formula", "--strategy", "cascade"), "cascade: the pipeline model"),
        (("--k", "-1"), "--k -1: must be in 0..2147483647"),
        (("--hw", "nothing"), "nothing"),
        (("--dtype", "fp16", "--out-dtype", "bf16"), "the operator has no such kernel"),
    ],
)
def test_bad_input_is_one_line(command: CommandLine, argv: tuple[str, ...], expected: str) -> None:
    assert command.complaint(*SMALL, *argv).startswith(f"autotune tune: {expected}") or (
        expected in command.complaint(*SMALL, *argv)
    )


@pytest.mark.parametrize("argv", [("--strategy", "magic"), ("--effort", "some"), ("--m", "x")])
def test_unknown_choices_are_refused(command: CommandLine, argv: tuple[str, ...]) -> None:
    code, out, err = command.run(*SMALL, *argv)
    assert (code, out) == (2, "")
    assert f"argument {argv[0]}: invalid" in err.splitlines()[-1]


def test_a_size_is_missing(command: CommandLine) -> None:
    assert command.complaint("tune", "--m", "1", "--k", "2").endswith(
        "--n is missing; give --m, --k and --n"
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: replace(plan, window_len=3),
        lambda plan: replace(plan, base_m=128, base_k=32, step_k=7),
        lambda plan: replace(plan, db_l0c=2, base_n=64),
    ],
)
def test_changed_fields_give_the_plan_again(change: Callable[[KernelPlan], KernelPlan]) -> None:
    decision = decide(LARGE_PROBLEM, SPEC)
    plan = change(decision.plan)
    outcome = search_shape(
        LARGE_PROBLEM, SPEC, SearchOptions(strategy="random", trials=1), NoJournal()
    )
    one = tuning.Tuning(
        spec=SPEC,
        options=SearchOptions(),
        outcome=outcome,
        compared=compare_plans(outcome, SPEC, "pipeline"),
        decision=decision,
    )
    fields = json.loads(json.dumps(one.changed_fields(plan)))
    assert change_plan(LARGE_PROBLEM, SPEC, decision.plan, fields, "--plan") == plan


def test_inexpressible_plans_have_no_record() -> None:
    from baseline.platform import Platform
    from baseline.vendor_kernel import build_vendor_kernel

    plan = replace(decide(LARGE_PROBLEM, SPEC).plan, window_len=2)
    with pytest.raises(InputError, match="window_len"):
        build_vendor_kernel(LARGE_PROBLEM, plan, Platform.from_spec(SPEC))
