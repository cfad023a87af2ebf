"""One model chooses, another one judges: the answer is the judge's best, and resumable."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from baseline.decision import decide
from hwmodel.cost.breakdown import CostBreakdown
from hwmodel.cost.pipeline import PipelineEvaluator
from hwmodel.errors import InputError
from hwmodel.plan import KernelPlan, canonical_plan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import load_hardware
from studies import search
from studies.cascade import cascade_candidates, search_by_cascade, split_count
from studies.exhaustive_search import search_exhaustively
from studies.objective import Objective
from studies.outcome import ShapeOutcome
from studies.ranking import rank_times
from studies.search import CASCADE_COUNTS, Effort, SearchOptions, search_shape
from studies.setting import SearchSetting, build_setting
from studies.space_axes import ALL
from tests.studies.fake_evaluator import FakeEvaluator, MemoryJournal

SPEC = load_hardware("ascend950pr-9589")
PROBLEM = GemmProblem(m=300, k=96, n=1000)
COUNT = 6


class Judge(FakeEvaluator):
    """Another favourite, another name; cannot run plans of one tile."""

    def __init__(self, *, refused_n: int = 0, base_n: int = 64) -> None:
        super().__init__(version="judge", base_n=base_n)
        self._refused_n = refused_n

    @property
    def name(self) -> str:
        return "judge"

    def evaluate(
        self, problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan
    ) -> CostBreakdown:
        if plan.base_n == self._refused_n:
            raise InputError("judge: not this one")
        return super().evaluate(problem, spec, plan)


class FlatJudge(Judge):
    """All plans take equally long."""

    def estimate_us(
        self, problem: GemmProblem, spec: HardwareSpec, plans: PlanBatch
    ) -> NDArray[np.float64]:
        return np.full(len(plans), 7.0)


def make_setting(problem: GemmProblem = PROBLEM) -> SearchSetting:
    objective = Objective(problem, SPEC, PipelineEvaluator())
    return build_setting(problem, SPEC, objective, quick=False, space=ALL)


def run(
    judge: FakeEvaluator, journal: MemoryJournal | None = None, count: int = COUNT
) -> ShapeOutcome:
    objective = Objective(PROBLEM, SPEC, judge)
    return search_by_cascade(make_setting(), objective, count, journal or MemoryJournal())


def test_the_judge_orders_what_the_selector_chose() -> None:
    outcome = run(Judge())
    selected = search_exhaustively(
        make_setting(), MemoryJournal(), count=COUNT // 2, group_count=COUNT // 2
    )
    chosen = {item.plan for item in (*selected.top, selected.best_expressible)}
    assert {item.plan for item in outcome.top} == chosen | {selected.baseline.plan}
    times_us = [item.cost.task_duration_us for item in outcome.top]
    ranks = rank_times(np.array(times_us)).tolist()
    assert ranks == sorted(ranks)
    batch = PlanBatch.from_plans([item.plan for item in outcome.top])
    assert times_us == Judge().estimate_us(PROBLEM, SPEC, batch).tolist()
    assert outcome.baseline.cost == Judge().evaluate(PROBLEM, SPEC, selected.baseline.plan)
    assert outcome.gap_ratio >= 0
    assert outcome.certificate == selected.certificate
    assert outcome.evaluations == selected.evaluations
    assert 1 <= outcome.ties_within_1pct <= len(outcome.top)


def test_the_selection_says_where_the_orders_differ() -> None:
    outcome = run(Judge())
    selection = outcome.selection
    assert selection is not None
    assert (selection.selector, selection.judge, selection.unjudged) == ("pipeline", "judge", 0)
    model = PipelineEvaluator()
    expected = [model.evaluate(PROBLEM, SPEC, item.plan).task_duration_us for item in outcome.top]
    assert list(selection.selector_us) == expected
    assert sorted(selection.selector_places) == list(range(1, len(expected) + 1))
    first = selection.judge_place_of_first - 1
    assert expected[first] == pytest.approx(min(expected), rel=1e-5)
    assert outcome.certificate is not None
    assert outcome.regret_ratio == expected[0] / outcome.certificate.best_us - 1
    assert (
        selection.baseline_us
        == model.evaluate(PROBLEM, SPEC, outcome.baseline.plan).task_duration_us
    )
    assert selection.kendall is not None
    assert selection.spearman is not None
    assert -1 <= selection.kendall <= 1


def test_a_judge_that_agrees_has_the_same_order() -> None:
    outcome = run_same()
    selection = outcome.selection
    assert selection is not None
    assert selection.selector_places == tuple(range(1, len(outcome.top) + 1))
    assert (selection.kendall, selection.spearman) == (1.0, 1.0)
    assert outcome.regret_ratio == 0
    assert selection.judge_place_of_first == 1


def run_same() -> ShapeOutcome:
    objective = Objective(PROBLEM, SPEC, PipelineEvaluator())
    return search_by_cascade(make_setting(), objective, COUNT, MemoryJournal())


def test_equal_times_have_no_correlation_and_fall_to_the_baseline() -> None:
    outcome = run(FlatJudge())
    assert outcome.best.plan == outcome.baseline.plan
    assert outcome.selection is not None
    assert outcome.selection.kendall is outcome.selection.spearman is None


def test_what_the_judge_cannot_run_is_counted() -> None:
    whole = run(Judge())
    tiles = {item.plan.base_n for item in whole.top} - {whole.baseline.plan.base_n}
    refused = run(Judge(refused_n=min(tiles)))
    assert refused.selection is not None
    assert refused.selection.unjudged == len(whole.top) - len(refused.top) > 0
    with pytest.raises(InputError, match="not this one"):
        run(Judge(refused_n=whole.baseline.plan.base_n))


@pytest.mark.parametrize("finished", [0, 1, 2, 5])
def test_an_interrupted_cascade_goes_on(finished: int) -> None:
    journal, judge = MemoryJournal(), Judge()
    expected = run(judge, journal)
    kinds = [record["kind"] for record in journal.records]
    assert kinds == ["certificate"] + ["evaluation"] * len(expected.top)
    again = MemoryJournal(journal.records[:finished])
    judge.calls = 0
    assert run(judge, again) == expected
    assert again.records == journal.records
    assert judge.calls == len(expected.top) - max(finished - 1, 0)


def test_another_number_of_plans_is_another_certificate() -> None:
    journal = MemoryJournal()
    few = run(Judge(), journal)
    more = run(Judge(), journal, count=2 * COUNT)
    assert len(more.top) > len(few.top)
    assert more.best.cost.task_duration_us <= few.best.cost.task_duration_us
    assert [record["kind"] for record in journal.records].count("certificate") == 2


def test_the_real_judge_never_finds_the_operators_plan_better() -> None:
    options = SearchOptions(effort=Effort.QUICK)
    outcome = search_shape(PROBLEM, SPEC, options, MemoryJournal())
    assert outcome.selection is not None
    assert (outcome.selection.selector, outcome.selection.judge) == ("pipeline", "emulator")
    assert outcome.best.cost.task_duration_us <= outcome.baseline.cost.task_duration_us
    assert CASCADE_COUNTS[Effort.QUICK] <= len(outcome.top) <= CASCADE_COUNTS[Effort.QUICK] + 2


@pytest.mark.parametrize("effort", Effort)
def test_the_effort_decides_how_many_are_judged(
    monkeypatch: pytest.MonkeyPatch, effort: Effort
) -> None:
    asked: list[int] = []

    def note(setting: SearchSetting, judge: Objective, count: int, journal: object) -> None:
        asked.append(count)
        assert setting.space == ("tiles" if effort is Effort.QUICK else "all")
        assert judge.evaluator_name == "emulator"

    monkeypatch.setattr(search, "search_by_cascade", note)
    search_shape(PROBLEM, SPEC, replace(SearchOptions(), effort=effort), MemoryJournal())
    assert asked == [{"quick": 4, "standard": 16, "full": 64}[effort]]


def test_candidates_are_those_of_the_certificate() -> None:
    setting = make_setting()
    plans = cascade_candidates(PROBLEM, SPEC, setting.objective, COUNT)
    selected = search_exhaustively(
        setting, MemoryJournal(), count=COUNT // 2, group_count=COUNT // 2
    )
    assert plans == tuple(item.plan for item in selected.top)
    few = cascade_candidates(PROBLEM, SPEC, setting.objective, 2, quick=True, space="tiles")
    assert len(few) == 2
    vendor = canonical_plan(PROBLEM, decide(PROBLEM, SPEC).plan)
    assert vendor == setting.baseline.plan


def test_half_are_the_best_and_half_of_further_groups() -> None:
    count = 21
    plans = cascade_candidates(PROBLEM, SPEC, make_setting().objective, count)
    best = search_exhaustively(make_setting(), MemoryJournal(), count=count)
    half = len(plans) - count // 2
    assert split_count(count) == (half, count // 2)
    assert plans[:half] == tuple(item.plan for item in best.top[:half])
    groups = [(plan.template, plan.base_m, plan.base_n, plan.l0c_output) for plan in plans]
    further = groups[half:]
    assert len(set(further)) == len(further) == count // 2
    assert not set(further) & set(groups[:half])
    times_us = [
        PipelineEvaluator().evaluate(PROBLEM, SPEC, plan).task_duration_us for plan in plans
    ]
    ranks = rank_times(np.array(times_us)).tolist()
    assert ranks == sorted(ranks)


def test_the_best_and_further_groups_are_another_certificate() -> None:
    journal = MemoryJournal()
    for counts in ((3, 3), (3, 0), (3, 3)):
        search_exhaustively(make_setting(), journal, count=counts[0], group_count=counts[1])
    assert len(journal.records) == 2
