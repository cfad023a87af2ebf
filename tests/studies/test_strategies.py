"""Conformance of every search strategy, and what is particular to each."""

import sys
from subprocess import run

import numpy as np
import pytest
from numpy.typing import NDArray

from hwmodel.errors import InputError
from hwmodel.legality import check
from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from studies import strategies
from studies.space import PlanSpace, build_space
from studies.strategies import STRATEGY_NAMES, build_strategy, check_strategy, nearest
from studies.strategies.nearest import FactorGrid
from studies.strategies.plan_points import PlanPoints
from studies.strategies.protocol import Strategy, TakenPoints
from tests.studies.fake_evaluator import FakeEvaluator

SPEC = load_hardware("ascend950pr-9589")
SMALL_PROBLEM = GemmProblem(m=20, k=40, n=20)
LARGE_PROBLEM = GemmProblem(m=512, k=128, n=512)


def make_space(problem: GemmProblem, template: Template = Template.ASWT) -> PlanSpace:
    baseline = KernelPlan(
        template=template,
        base_m=16,
        base_n=16,
        base_k=16,
        step_k=1,
        single_core_k=problem.k,
        used_core_num=1,
    )
    return build_space(problem, SPEC, baseline)


SMALL = make_space(SMALL_PROBLEM, Template.B_FULL)
LARGE = make_space(LARGE_PROBLEM)
LEARNING = [name for name in STRATEGY_NAMES if name not in {"exhaustive", "random"}]
every_strategy = pytest.mark.parametrize("name", STRATEGY_NAMES)


POINTS = {id(space): PlanPoints(space) for space in (SMALL, LARGE)}


def build(name: str, space: PlanSpace, seed: int) -> Strategy:
    if name == "cmaes":
        pytest.importorskip("cmaes")
    return build_strategy(name, POINTS[id(space)], seed)


def times_of(space: PlanSpace, indices: NDArray[np.int64]) -> NDArray[np.float64]:
    return FakeEvaluator().estimate_us(space.problem, SPEC, space.plans(indices))


def play(strategy: Strategy, space: PlanSpace, batches: int, count: int = 10) -> list[list[int]]:
    asked = []
    for _ in range(batches):
        batch = strategy.ask(count)
        strategy.tell(times_of(space, batch))
        asked.append(batch.tolist())
    return asked


@every_strategy
def test_equal_seeds_and_times_give_equal_batches(name: str) -> None:
    first = play(build(name, LARGE, 5), LARGE, 3)
    second = play(build(name, LARGE, 5), LARGE, 3)
    assert first == second
    if name != "exhaustive":
        assert play(build(name, LARGE, 6), LARGE, 3) != first


@every_strategy
def test_points_are_legal_and_never_repeated(name: str) -> None:
    strategy = build(name, LARGE, 1)
    strategy.observe(3, 12.0)
    asked = [index for batch in play(strategy, LARGE, 8) for index in batch]
    assert len(asked) == 80
    assert len({3, *asked}) == 81
    for index in asked:
        assert check(LARGE_PROBLEM, SPEC, LARGE.plan(index)) == ()


@every_strategy
def test_an_exhausted_space_ends_the_search(name: str) -> None:
    strategy = build(name, SMALL, 2)
    strategy.observe(len(SMALL) - 1, 12.0)
    strategy.observe(0, 12.0)
    asked: list[int] = []
    while batch := play(strategy, SMALL, 1, count=7)[0]:
        asked.extend(batch)
    assert sorted(asked) == list(range(1, len(SMALL) - 1))
    assert play(strategy, SMALL, 2) == [[], []]


@every_strategy
def test_only_the_last_batch_is_short(name: str) -> None:
    strategy = build(name, SMALL, 3)
    sizes = [len(batch) for batch in play(strategy, SMALL, len(SMALL) // 7 + 2, count=7)]
    assert sizes[:-2] == [7] * (len(SMALL) // 7)
    assert sizes[-2:] == [len(SMALL) % 7, 0]


@every_strategy
def test_asking_and_telling_alternate(name: str) -> None:
    strategy = build(name, LARGE, 4)
    with pytest.raises(ValueError, match="no batch"):
        strategy.tell(np.ones(1))
    with pytest.raises(ValueError, match="at least one"):
        strategy.ask(0)
    assert len(strategy.ask(3)) == 3
    with pytest.raises(ValueError, match="not told"):
        strategy.ask(3)
    with pytest.raises(ValueError, match="2 times for 3 points"):
        strategy.tell(np.ones(2))
    strategy.tell(np.ones(3))
    assert len(strategy.ask(3)) == 3


@every_strategy
def test_a_point_can_be_observed_once_only(name: str) -> None:
    strategy = build(name, SMALL, 4)
    strategy.observe(0, 12.0)
    for index in (0, -1, len(SMALL)):
        with pytest.raises(ValueError, match=f"point {index} "):
            strategy.observe(index, 12.0)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="'annealing' is unknown; one of exhaustive, random"):
        build("annealing", SMALL, 0)


def test_exhaustive_goes_in_order_around_what_is_known() -> None:
    strategy = build("exhaustive", LARGE, 0)
    for index in (1, 4, 5):
        strategy.observe(index, 12.0)
    assert play(strategy, LARGE, 3, count=3) == [[0, 2, 3], [6, 7, 8], [9, 10, 11]]


def test_random_is_uniform() -> None:
    draws, bins = 400, 4
    counts = np.zeros(bins)
    for seed in range(draws):
        ((index,),) = play(build("random", SMALL, seed), SMALL, 1, count=1)
        counts[index * bins // len(SMALL)] += 1
    four_sigmas = 4 * (draws / bins * (1 - 1 / bins)) ** 0.5
    assert np.abs(counts - draws / bins).max() < four_sigmas


@pytest.mark.parametrize("name", LEARNING)
def test_it_learns(name: str) -> None:
    asked = play(build(name, LARGE, 3), LARGE, 4, count=20)
    first, last = (times_of(LARGE, np.array(batch)) for batch in (asked[0], asked[-1]))
    assert np.median(last) < np.median(first)


@every_strategy
@pytest.mark.parametrize("finished", [1, 3])
def test_a_search_that_is_replayed_goes_on_alike(name: str, finished: int) -> None:
    whole = build(name, LARGE, 8)
    whole.observe(7, 12.0)
    expected = play(whole, LARGE, 4)
    again = build(name, LARGE, 8)
    again.observe(7, 12.0)
    assert play(again, LARGE, finished) + play(again, LARGE, 4 - finished) == expected


@every_strategy
def test_batches_of_any_size_are_answered(name: str) -> None:
    strategy = build(name, LARGE, 9)
    asked: list[int] = []
    for count in (1, 30, 2, 7):
        batch = play(strategy, LARGE, 1, count=count)[0]
        assert len(batch) == count
        asked.extend(batch)
    assert len(set(asked)) == len(asked)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategies, "find_spec", lambda _: None)
    with pytest.raises(
        InputError, match=r"cmaes needs the package cmaes: pip install .*\[cmaes\]"
    ):
        build_strategy("cmaes", POINTS[id(SMALL)], 0)
    check_strategy("tpe")


@pytest.mark.parametrize("space", [SMALL, LARGE], ids=["small", "large"])
def test_factors_lead_back_to_their_point(space: PlanSpace) -> None:
    grid = FactorGrid(POINTS[id(space)])
    free = TakenPoints(len(space))
    for index in range(0, len(space), max(1, len(space) // 50)):
        params = grid.params(index)
        for name, value in params.items():
            assert grid.distributions[name]._contains(value)
        assert space is LARGE or grid.nearest_free(params, free) == index


def test_suggestions_outside_the_space_are_moved_into_it() -> None:
    points = POINTS[id(LARGE)]
    grid = FactorGrid(points)
    free = TakenPoints(len(points))
    widest = {
        name: len(values) - 1 for name, values in zip(points.names, points.values, strict=True)
    }
    index = grid.nearest_free(widest, free)
    assert check(LARGE_PROBLEM, SPEC, LARGE.plan(index)) == ()
    free.take(index)
    assert grid.nearest_free(widest, free) != index


def test_a_point_is_found_where_the_sample_holds_no_free_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nearest, "COMPARED_COMPLETELY", 10)
    monkeypatch.setattr(nearest, "_POOL", 2)
    grid = FactorGrid(POINTS[id(SMALL)])
    taken = TakenPoints(len(SMALL))
    wanted = grid.params(60)
    found = []
    for _ in range(len(SMALL)):
        found.append(grid.nearest_free(wanted, taken))
        taken.take(found[-1])
    assert sorted(found) == list(range(len(SMALL)))
    assert found[0] == 60


def test_taken_points_count_what_is_left() -> None:
    taken = TakenPoints(3)
    taken.take(1)
    assert taken.left == 2
    assert [index in taken for index in range(3)] == [False, True, False]


def test_optuna_is_imported_by_who_uses_it_only() -> None:
    code = "import sys, studies.search; sys.exit('optuna' in sys.modules)"
    assert run([sys.executable, "-c", code], check=False).returncode == 0


def test_optuna_keeps_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    play(build("tpe", SMALL, 0), SMALL, 2)
    assert capfd.readouterr() == ("", "")
