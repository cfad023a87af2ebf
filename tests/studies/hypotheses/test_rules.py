"""Rules for the host tiling: chosen on two thirds of the shapes, scored on the rest."""

from collections.abc import Callable

import pytest

from hwmodel.problem import GemmProblem
from studies.hypotheses.domain import DomainShape, list_domain
from studies.hypotheses.registry import find_entry
from studies.hypotheses.rules import (
    derive_rule,
    derive_window,
    forced_ratio,
    window_ratio,
)
from studies.hypotheses.splits import is_held_out
from tests.autotune.hypothesis_runs import make_answer, make_window_effect
from tests.studies.hypotheses.test_summary import row_of

PROBLEMS = tuple(
    GemmProblem(m=m, k=k + place, n=4096)
    for m in (16, 512)
    for k in (64, 1000, 5000)
    for place in range(20)
)


def domain(study: str, ratio_of: Callable[[GemmProblem], float]) -> tuple[DomainShape, ...]:
    answers = {problem: make_answer(problem, {study: ratio_of(problem)}) for problem in PROBLEMS}
    rows = [row_of(problem) for problem in PROBLEMS]
    return list_domain(find_entry(study), rows, answers)


def test_a_planted_condition_is_found_and_confirmed_on_unseen_shapes() -> None:
    shapes = domain("h4", lambda p: 1.2 if p.k <= 512 and p.m > 16 else 0.8)
    rule = derive_rule("h4", shapes)
    assert rule is not None
    assert rule.is_confirmed
    assert set(rule.members) == {p for p in PROBLEMS if p.k < 512 and p.m == 512}
    assert len(rule.conditions) == 2
    assert rule.held_out.shapes == sum(map(is_held_out, PROBLEMS))
    assert rule.held_out.wins == rule.held_out_members == sum(map(is_held_out, rule.members))
    assert rule.held_out.losses == rule.choosing.losses == 0
    assert rule.choosing.shapes + rule.held_out.shapes == len(PROBLEMS)


def test_a_gain_everywhere_needs_no_condition() -> None:
    rule = derive_rule("h3", domain("h3", lambda _: 1.02))
    assert rule is not None
    assert rule.conditions == ()
    assert rule.members == PROBLEMS


@pytest.mark.parametrize(
    "ratio_of",
    [
        pytest.param(lambda _: 1.0, id="nothing gains"),
        pytest.param(lambda _: 1.004, id="a gain that refutes is no reason for a rule"),
        pytest.param(lambda p: 0.9 if p.k % 5 == 0 else 1.1, id="some lose wherever one looks"),
        pytest.param(lambda p: 1.05 if p.k == 64 else 1.0, id="too few shapes gain"),
    ],
)
def test_no_rule_without_a_gain_or_with_a_large_loss(
    ratio_of: Callable[[GemmProblem], float],
) -> None:
    assert derive_rule("h4", domain("h4", ratio_of)) is None


def test_no_rule_without_shapes() -> None:
    assert derive_rule("h4", ()) is None


def test_a_rule_that_unseen_shapes_do_not_bear_out_is_not_confirmed() -> None:
    shapes = domain("h6", lambda p: 0.7 if is_held_out(p) else 1.3)
    rule = derive_rule("h6", shapes)
    assert rule is not None
    assert rule.choosing.geomean == pytest.approx(1.3)
    assert not rule.is_confirmed
    assert rule.held_out.large_losses > 0


def test_the_same_shapes_give_the_same_rule() -> None:
    shapes = domain("h1", lambda p: 1.1 if p.k > 900 else 0.99)
    first, second = derive_rule("h1", shapes), derive_rule("h1", shapes)
    assert first is not None
    assert first == second
    assert first.conditions == ("K > 128",)


def test_what_a_hypothesis_does_without_asking_the_selector() -> None:
    problem = GemmProblem(m=512, k=64, n=4096)
    ratios = {"h2": 1.01, "h3": 1.02, "h4": 1.03, "h5": 1.0, "h5_rule": 0.7, "h6": 1.06}
    answer = make_answer(problem, ratios)
    expected = {"h2": 1.01, "h3": 1.02, "h4": 1.03, "h5": 0.7, "h6": 1.06}
    for study, ratio in expected.items():
        (shape,) = list_domain(find_entry(study), [row_of(problem)], {problem: answer})
        assert forced_ratio(study, shape) == pytest.approx(ratio)
    alone = make_answer(problem, {"h5": 1.0})
    (shape,) = list_domain(find_entry("h5"), [row_of(problem)], {problem: alone})
    assert forced_ratio("h5", shape) == 1.0


def test_the_constant_window_that_gains_most_takes_the_place_of_4() -> None:
    rule = derive_window(domain("h2", lambda _: 1.05))
    assert rule is not None
    assert rule.conditions == ("W = 8",)
    assert rule.held_out.geomean == pytest.approx(1.05)
    assert rule.members == PROBLEMS
    assert derive_window(domain("h2", lambda _: 1.0)) is None
    assert derive_window(()) is None


def test_windows_that_were_not_judged_count_as_the_operators() -> None:
    effect = make_window_effect(1.05, 100.0)
    assert window_ratio(effect, 16) == pytest.approx(1.05)  # every longer window is the whole one
    assert window_ratio(effect, 3) == 1.0
    assert window_ratio(None, 8) == 1.0
