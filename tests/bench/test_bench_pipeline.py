"""Legal plans per second of the pipeline model on one core.

Run with `pytest tests/bench/test_bench_pipeline.py --benchmark-enable`: a million legal plans of a
shape's spaces `tiles` and `all` in random order, by `PipelineEvaluator.estimate_us`, the very
function whose agreement with the emulator is tested (`python -m tests.bench.agreement`). The
target is ten million a second of CPU time; `extra_info` of the saved benchmark holds the figure.
With benchmarks disabled a few plans of each shape run once, as a test.
"""

import time

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from baseline.decision import decide
from hwmodel.cost.pipeline import PipelineEvaluator
from hwmodel.plan import canonical_plan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import load_hardware
from studies.space import build_space

PLAN_COUNT = 1_000_000
FEW_PLANS = 10_000
SHAPES = {
    "square": GemmProblem(m=4096, k=4096, n=4096),
    "decode": GemmProblem(m=16, k=4096, n=6144),
    "prefill": GemmProblem(m=2048, k=7168, n=2112),
}


def shuffled_plans(problem: GemmProblem, spec: HardwareSpec, name: str, count: int) -> PlanBatch:
    """Legal plans of the problem's space in random order; some again if it has fewer."""
    baseline = canonical_plan(problem, decide(problem, spec).plan)
    space = build_space(problem, spec, baseline, name=name)
    return space.plans(np.random.default_rng(0).integers(0, len(space), count))


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("space", ["tiles", "all"])
@pytest.mark.parametrize("shape", SHAPES)
def test_plans_per_second(benchmark: BenchmarkFixture, shape: str, space: str) -> None:
    problem = SHAPES[shape]
    spec = load_hardware("ascend950pr-9589")
    count = FEW_PLANS if benchmark.disabled else PLAN_COUNT
    plans = shuffled_plans(problem, spec, space, count)
    evaluator = PipelineEvaluator()
    evaluator.estimate_us(problem, spec, plans.select(np.arange(1)))
    times = benchmark(evaluator.estimate_us, problem, spec, plans)
    assert np.all(np.isfinite(times))
    if benchmark.stats is not None:
        rate = len(plans) / benchmark.stats.stats.min
        benchmark.extra_info["plans_per_second"] = round(rate)
