"""How fast the whole space is counted and its points are listed."""

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from baseline.decision import decide
from hwmodel.plan import canonical_plan
from hwmodel.problem import MAX_DIM, GemmProblem
from hwmodel.spec_io import load_hardware
from studies.space import PlanSpace, build_space
from studies.space_axes import ALL

SPEC = load_hardware("ascend950pr-9589")
SQUARE = GemmProblem(m=4096, k=4096, n=4096)
SHAPES = [
    SQUARE,
    GemmProblem(m=16, k=4096, n=6144),
    GemmProblem(m=4099, k=50257, n=4099),
    GemmProblem(m=MAX_DIM, k=MAX_DIM, n=MAX_DIM),
]
CHUNK = 1 << 14


def whole_space(problem: GemmProblem) -> PlanSpace:
    baseline = canonical_plan(problem, decide(problem, SPEC).plan)
    return build_space(problem, SPEC, baseline, name=ALL)


@pytest.mark.parametrize("problem", SHAPES, ids=GemmProblem.label)
def test_build_the_whole_space(benchmark: BenchmarkFixture, problem: GemmProblem) -> None:
    assert 0 < len(benchmark(whole_space, problem)) <= 10**7


def test_list_plans_in_order(benchmark: BenchmarkFixture) -> None:
    space = whole_space(SQUARE)
    plans = benchmark(space.plans, np.arange(CHUNK, dtype=np.int64))
    assert len(plans) == CHUNK


def test_list_plans_at_random(benchmark: BenchmarkFixture) -> None:
    space = whole_space(SQUARE)
    plans = benchmark(space.plans, space.sample(np.random.default_rng(0), CHUNK))
    assert len(plans) == CHUNK


def test_neighbours_of_a_point(benchmark: BenchmarkFixture) -> None:
    space = whole_space(SQUARE)
    assert len(benchmark(space.neighbours, len(space) // 2)) > 8
