"""Selector and judge: who decides what, ties, losses, draws."""

from dataclasses import replace

import numpy as np
import pytest

from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from studies.gap import Coverage
from studies.hypotheses.case import build_case
from studies.hypotheses.effort import DEPTHS, Depth
from studies.hypotheses.models import CaseModels, list_changed_fields
from tests.studies.fake_evaluator import FakeEvaluator

SPEC = load_hardware("ascend950pr-9589")
CASE = build_case(GemmProblem(m=512, k=512, n=512), SPEC)
DEPTH = replace(DEPTHS["quick"], pipeline_draws=3, emulator_draws=2)


def models_of(selector: FakeEvaluator, judge: FakeEvaluator, depth: Depth = DEPTH) -> CaseModels:
    return CaseModels(CASE, depth, selector=selector, judge=judge)


def with_tiles(*tiles: tuple[int, int]) -> PlanBatch:
    plans = [
        replace(
            CASE.baseline, base_m=m, base_n=n, used_core_num=min(32, -(-512 // m) * -(-512 // n))
        )
        for m, n in tiles
    ]
    return PlanBatch.from_plans(plans)


def test_the_selector_chooses_and_the_judge_may_disagree() -> None:
    models = models_of(FakeEvaluator(base_m=32, base_n=48), FakeEvaluator(base_m=256, base_n=256))
    choice = models.choose(with_tiles((32, 48), (256, 128)))
    assert (choice.plan.base_m, choice.plan.base_n) == (32, 48)
    assert choice.candidates == 3
    comparison = models.compare("x", choice)
    assert comparison.selected_ratio > 1.0
    assert comparison.judged_ratio < 1.0
    assert comparison.optimism_ratio == pytest.approx(
        comparison.selected_ratio - comparison.judged_ratio
    )
    assert set(comparison.changed_fields) >= {"base_m", "base_n"}
    assert comparison.coverage is Coverage.EXTRAPOLATED


def test_equal_times_fall_to_the_control() -> None:
    models = models_of(FakeEvaluator(), FakeEvaluator())
    twin = PlanBatch.from_plans([replace(CASE.baseline, serpentine=False)])
    choice = models.choose(twin)
    assert choice.plan == CASE.baseline
    comparison = models.compare("x", choice)
    assert comparison.changed_fields == ()
    assert comparison.judged_ratio == comparison.selected_ratio == 1.0
    assert comparison.emulator_draws == (1.0, 1.0)
    assert not comparison.resolved


def test_without_alternatives_the_control_stays() -> None:
    models = models_of(FakeEvaluator(), FakeEvaluator())
    choice = models.choose(None)
    assert (choice.plan, choice.candidates) == (CASE.baseline, 1)
    assert models.compare("x", choice).pipeline_draws == (1.0, 1.0, 1.0)


def test_plans_that_break_a_rule_are_passed_over() -> None:
    models = models_of(FakeEvaluator(base_m=1024, base_n=1024), FakeEvaluator())
    illegal = replace(CASE.baseline, base_m=1024, base_n=1024)
    choice = models.choose(PlanBatch.from_plans([illegal]))
    assert choice.plan == CASE.baseline
    assert illegal not in choice.top


def test_a_plan_is_judged_once() -> None:
    calls: list[int] = []

    class CountingJudge(FakeEvaluator):
        def estimate_us(self, problem, spec, plans):  # type: ignore[no-untyped-def]
            calls.append(len(plans))
            return super().estimate_us(problem, spec, plans)

    models = models_of(FakeEvaluator(), CountingJudge())
    first = models.judge_us(CASE.baseline)
    assert models.judge_us(CASE.baseline) == first
    assert models.judge(CASE.baseline).judge_us == first
    assert calls == [1]
    assert models.nominally_judged == {CASE.baseline: first}


def test_draws_rescore_the_top_for_the_selector_and_keep_the_plans_for_the_judge() -> None:
    class DrawnSelector(FakeEvaluator):
        """Prefers other tiles on another chip."""

        def estimate_us(self, problem, spec, plans):  # type: ignore[no-untyped-def]
            nominal = spec == SPEC
            favourite = (32, 48) if nominal else (128, 128)
            return FakeEvaluator(base_m=favourite[0], base_n=favourite[1]).estimate_us(
                problem, spec, plans
            )

    models = models_of(DrawnSelector(), DrawnSelector())
    tiles = with_tiles((32, 48), (128, 128))
    choice = models.choose(tiles)
    assert (choice.plan.base_m, choice.plan.base_n) == (32, 48)
    comparison = models.compare("x", choice)
    assert len(comparison.pipeline_draws) == 3
    assert all(ratio > 1.0 for ratio in comparison.pipeline_draws)
    times = FakeEvaluator(base_m=128, base_n=128).estimate_us(
        CASE.problem, SPEC, PlanBatch.from_plans([CASE.baseline, choice.plan])
    )
    assert comparison.emulator_draws == pytest.approx([times[0] / times[1]] * 2)


def test_undrawn_comparisons_hold_no_draws() -> None:
    models = models_of(FakeEvaluator(), FakeEvaluator())
    comparison = models.compare("x", models.choose(None), is_drawn=False)
    assert comparison.pipeline_draws == comparison.emulator_draws == ()


def test_times_that_are_known_are_not_asked_for_again() -> None:
    models = models_of(FakeEvaluator(), FakeEvaluator())
    tiles = with_tiles((32, 48), (64, 64))
    choice = models.choose_timed(tiles, np.array([100.0, 1.0]))
    assert (choice.plan.base_m, choice.plan.base_n) == (64, 64)


def test_changed_fields_are_named_in_the_order_of_the_plan() -> None:
    other = replace(CASE.baseline, window_len=9, base_n=16)
    assert list_changed_fields(CASE.baseline, other) == ("base_n", "window_len")
