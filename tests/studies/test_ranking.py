from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodel.plan import KernelPlan, Template
from hwmodel.plan_batch import PlanBatch
from studies.ranking import BestPlans, order_plans, rank_time, rank_times, tie_limit

BASELINE = KernelPlan(
    template=Template.ASWT,
    base_m=256,
    base_n=256,
    base_k=64,
    step_k=4,
    single_core_k=4096,
    used_core_num=32,
)
repeatable = settings(derandomize=True, deadline=None)
times = st.floats(1e-9, 1e25)


@given(first=times, second=times)
@repeatable
def test_ranks_order_times_and_equal_ones_agree_to_six_digits(first: float, second: float) -> None:
    ranks = rank_time(first), rank_time(second)
    if first <= second:
        assert ranks[0] <= ranks[1]
    if ranks[0] == ranks[1]:
        assert abs(first - second) <= 1.0001e-5 * first
    elif abs(ranks[0] - ranks[1]) > 1:
        assert f"{first:.5e}" != f"{second:.5e}"


@pytest.mark.parametrize("power", range(-9, 20))
def test_ranks_go_on_across_decades(power: int) -> None:
    top = 10.0**power
    assert rank_time(top * 0.99999951) == rank_time(top)
    assert rank_time(top * 1.00001) == rank_time(top) + 1
    assert rank_time(top * 0.999999) == rank_time(top) - 1


@given(values=st.lists(times, min_size=1, max_size=40), cut=st.integers(0, 40))
@repeatable
def test_the_rank_of_a_time_does_not_depend_on_its_neighbours(
    values: list[float], cut: int
) -> None:
    whole = rank_times(np.array(values))
    parts = np.concatenate(
        [rank_times(np.array(values[:cut])), rank_times(np.array(values[cut:]))]
    )
    assert whole.tolist() == parts.tolist()


@given(best=times, factor=st.floats(1.0, 1.02))
@repeatable
def test_ties_are_within_one_percent(best: float, factor: float) -> None:
    is_tie = rank_time(best * factor) <= tie_limit(rank_time(best))
    if factor < 1.00998:
        assert is_tie
    if factor > 1.01002:
        assert not is_tie


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_times_that_are_none_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="positive and finite"):
        rank_times(np.array([1.0, bad]))


def test_equal_times_go_to_the_baseline_then_to_what_is_nearest_to_it_then_to_the_simpler() -> (
    None
):
    plans = [
        replace(BASELINE, base_m=128, base_n=128, window_len=2),
        replace(BASELINE, window_len=8),
        replace(BASELINE, serpentine=False),
        replace(BASELINE, window_len=2),
        replace(BASELINE, m_tail_cnt=2),
        BASELINE,
        replace(BASELINE, base_m=16, base_n=16, base_k=16),
    ]
    order = order_plans(
        PlanBatch.from_plans(plans), rank_times(np.array([5.0] * 6 + [4.0])), BASELINE
    )
    assert order.tolist() == [6, 5, 3, 1, 4, 2, 0]


def test_the_rounded_time_decides_before_the_preference() -> None:
    near = replace(BASELINE, window_len=8)
    plans = PlanBatch.from_plans([BASELINE, near])
    equal = rank_times(np.array([5.0000001, 5.0]))
    assert order_plans(plans, equal, BASELINE).tolist() == [0, 1]
    different = rank_times(np.array([5.0001, 5.0]))
    assert order_plans(plans, different, BASELINE).tolist() == [1, 0]


def random_plans(count: int) -> tuple[PlanBatch, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    rng = np.random.default_rng(1)
    plans = [
        replace(
            BASELINE,
            base_m=int(16 * rng.integers(1, 20)),
            base_n=int(16 * rng.integers(1, 20)),
            step_k=int(rng.integers(1, 5)),
            window_len=int(rng.integers(1, 9)),
        )
        for _ in range(count)
    ]
    distinct = list(dict.fromkeys(plans))
    return PlanBatch.from_plans(distinct), rng.integers(100, 130, len(distinct)) / 10.0


@pytest.mark.parametrize("chunk", [1, 7, 64, 10**6])
@pytest.mark.parametrize("count", [1, 5, 16, 10**4])
def test_the_best_do_not_depend_on_the_batches(chunk: int, count: int) -> None:
    plans, times_us = random_plans(900)
    best = BestPlans(count, BASELINE)
    for start in range(0, len(plans), chunk):
        rows = np.arange(start, min(start + chunk, len(plans)))
        best.add(plans.select(rows), times_us[rows])
    order = order_plans(plans, rank_times(times_us), BASELINE)[:count]
    assert best.plans() == tuple(plans.plan(int(row)) for row in order)
    assert best.ties == int((times_us <= times_us.min() * 1.01).sum())
    assert best.best_rank == rank_time(float(times_us.min()))


def test_nothing_added_is_nothing_found() -> None:
    best = BestPlans(3, BASELINE)
    assert best.plans() == ()
    best.add(PlanBatch.from_plans([BASELINE]).select(np.zeros(1, dtype=np.bool_)), np.zeros(0))
    assert best.plans() == ()
    assert best.ties == 0
    best.add_one(BASELINE, 3.0)
    assert best.plans() == (BASELINE,)
    assert best.ties == 1
