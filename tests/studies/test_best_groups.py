"""The best plan of each of the best groups, whatever the batches."""

from dataclasses import replace

import numpy as np
import pytest

from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.plan_batch import PlanBatch
from studies.best_groups import BestGroups, code_groups
from studies.ranking import order_plans, rank_time, rank_times
from tests.studies.test_ranking import BASELINE, random_plans


@pytest.mark.parametrize("chunk", [1, 7, 64, 10**6])
@pytest.mark.parametrize("count", [1, 5, 16, 10**4])
def test_the_best_groups_do_not_depend_on_the_batches(chunk: int, count: int) -> None:
    plans, times_us = random_plans(900)
    groups = BestGroups(count, BASELINE)
    for start in range(0, len(plans), chunk):
        rows = np.arange(start, min(start + chunk, len(plans)))
        groups.add(plans.select(rows), times_us[rows])
    best: dict[tuple[int, int], KernelPlan] = {}
    ranks = rank_times(times_us)
    first_ranks: list[int] = []
    for row in order_plans(plans, ranks, BASELINE):
        plan = plans.plan(int(row))
        if (plan.base_m, plan.base_n) not in best:
            best[plan.base_m, plan.base_n] = plan
            first_ranks.append(int(ranks[row]))
    expected = tuple(best.values())[:count]
    assert groups.plans_beside(PlanBatch.from_plans([])) == expected
    assert groups.plans_beside(PlanBatch.from_plans(expected[:3])) == expected[3:]
    assert [groups.rank_at(place) for place in range(len(expected))] == first_ranks[:count]
    assert groups.rank_at(len(expected)) is None


def test_what_sets_groups_apart() -> None:
    others = [
        replace(BASELINE, template=Template.A_PANEL),
        replace(BASELINE, l0c_output=L0cOutput.FIXPIPE),
        replace(BASELINE, base_m=BASELINE.base_m + 16),
        replace(BASELINE, base_n=BASELINE.base_n + 16),
    ]
    same = [replace(BASELINE, window_len=3), replace(BASELINE, step_k=1, base_k=32, db_l0c=1)]
    codes = code_groups(PlanBatch.from_plans([BASELINE, *same, *others])).tolist()
    assert codes[0] == codes[1] == codes[2]
    assert len(set(codes)) == 1 + len(others)


def test_only_what_is_as_fast_as_its_group_may_improve_it() -> None:
    groups = BestGroups(4, BASELINE)
    groups.add(PlanBatch.from_plans([BASELINE]), np.array([5.0]))
    plans = [BASELINE, BASELINE, BASELINE, replace(BASELINE, base_n=BASELINE.base_n + 16)]
    codes = code_groups(PlanBatch.from_plans(plans))
    ranks = np.array([rank_time(time_us) for time_us in (4.9, 5.0, 5.1, 9.0)])
    assert groups.may_improve(codes, ranks).tolist() == [True, True, False, True]
