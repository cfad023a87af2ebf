"""ASWT plans per second of the batch pipeline model on one core.

Run with `pytest tests/bench/test_bench_pipeline.py --benchmark-enable`. The target is a million a
second; `extra_info` of the saved benchmark holds the figure. With benchmarks disabled each shape
runs once, as a test.
"""

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from hwmodel.cost.pipeline import PipelineEvaluator
from hwmodel.plan import KernelPlan, Template
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware

TARGET_PER_SECOND = 1_000_000
PLAN_COUNT = 200_000
FRACTAL = 16
MOST_FRACTALS = 17
SHAPES = {
    "square": GemmProblem(m=4096, k=4096, n=4096),
    "decode": GemmProblem(m=16, k=4096, n=6144),
    "narrow": GemmProblem(m=40960, k=512, n=300),
}


def random_plans(problem: GemmProblem, count: int) -> PlanBatch:
    """ASWT plans with random tiles and windows; whether they are legal does not matter here."""
    random = np.random.default_rng(0)
    plan = KernelPlan(
        template=Template.ASWT,
        base_m=16,
        base_n=16,
        base_k=64,
        step_k=4,
        single_core_k=problem.k,
        used_core_num=32,
    )
    columns = PlanBatch.from_plans((plan,)).select(np.zeros(count, dtype=np.intp))
    for column in (columns.base_m, columns.base_n):
        column[:] = random.integers(1, MOST_FRACTALS, count) * FRACTAL
    columns.window_len[:] = random.integers(1, 9, count)
    columns.db_l0c[:] = random.integers(1, 3, count)
    return columns


@pytest.mark.parametrize("shape", SHAPES)
def test_plans_per_second(benchmark: BenchmarkFixture, shape: str) -> None:
    problem = SHAPES[shape]
    spec = load_hardware("ascend950pr-9589")
    plans = random_plans(problem, PLAN_COUNT)
    evaluator = PipelineEvaluator()
    times = benchmark(evaluator.estimate_us, problem, spec, plans)
    assert np.all(np.isfinite(times))
    if benchmark.stats is not None:
        rate = PLAN_COUNT / benchmark.stats.stats.min
        benchmark.extra_info["plans_per_second"] = round(rate)
        assert rate >= TARGET_PER_SECOND
