"""Host tilings per second of the exact scalar path, requests parsed beforehand, on one core.

Run with `pytest tests/bench/test_bench_baseline.py --benchmark-enable`. The targets are 10,000 a
second over the golden file and 4,000 over the LLM shapes; `extra_info` of the saved benchmark
holds the figure. With benchmarks disabled each runs once, as a test.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from baseline.batch import build_platform, build_request
from baseline.decision import decide_request
from baseline.platform import Platform
from baseline.request import TilingRequest
from hwmodel.errors import RejectedError
from studies.shape_rows import load_shapes
from tests.baseline.platforms import ASCEND_950PR
from tests.golden_tilings import load_golden_tilings

LLM_SHAPES = Path(__file__).parents[2] / "studies" / "shapes" / "llm_shapes.csv"

GOLDEN_TARGET = 10_000
LLM_TARGET = 4_000

Requests = Sequence[tuple[TilingRequest, Platform]]


def decide_all(requests: Requests) -> int:
    """Number of requests decided, the rejected ones included."""
    for request, platform in requests:
        try:
            decide_request(request, platform)
        except RejectedError:
            continue
    return len(requests)


def measure(benchmark: BenchmarkFixture, requests: Requests, target: int) -> None:
    assert benchmark(decide_all, requests) == len(requests)
    if benchmark.stats is not None:
        per_second = len(requests) / benchmark.stats.stats.min
        benchmark.extra_info["tilings_per_second"] = round(per_second)
        assert per_second >= target


@pytest.mark.benchmark(group="host tiling")
def test_golden_tilings_per_second(benchmark: BenchmarkFixture) -> None:
    requests = [
        (build_request(case["in"]), build_platform(case["in"], ASCEND_950PR))
        for case in load_golden_tilings()
    ]
    measure(benchmark, requests, GOLDEN_TARGET)


@pytest.mark.benchmark(group="host tiling")
def test_llm_tilings_per_second(benchmark: BenchmarkFixture) -> None:
    requests = [
        (TilingRequest.from_problem(row.problem), ASCEND_950PR) for row in load_shapes(LLM_SHAPES)
    ]
    measure(benchmark, requests, LLM_TARGET)
