"""Speed of the emulator: events per second, and the time of a large kernel.

Targets on one core: 6 million events a second, 20 ms for 8192^3 in bf16, less than 300 MB.
"""

from collections.abc import Callable
from typing import Protocol

import pytest

from baseline.decision import decide
from hwmodel.emulator.engine import emulate
from hwmodel.emulator.result import EmulationResult
from hwmodel.emulator.spec_constants import constants_from_spec
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware

SPEC = load_hardware(DEFAULT_HARDWARE)
CONSTANTS = constants_from_spec(SPEC)


class Stats(Protocol):
    mean: float


class Metadata(Protocol):
    stats: Stats


class Benchmark(Protocol):
    extra_info: dict[str, object]
    stats: Metadata | None

    def __call__(self, function: Callable[[], EmulationResult]) -> EmulationResult: ...


@pytest.mark.parametrize(
    "problem",
    [
        GemmProblem(m=8192, k=8192, n=8192),
        GemmProblem(m=4096, k=128, n=16384),
        GemmProblem(m=64, k=7168, n=4096),
        # More than L2 holds, rows that end within lines.
        GemmProblem(m=12345, k=2050, n=9001, trans_b=False),
    ],
    ids=GemmProblem.label,
)
def test_emulate(benchmark: Benchmark, problem: GemmProblem) -> None:
    plan = decide(problem, SPEC).plan
    emulate(problem, plan, CONSTANTS)
    result = benchmark(lambda: emulate(problem, plan, CONSTANTS))
    assert result.store_bytes >= problem.c_total_bytes
    benchmark.extra_info["events"] = result.events
    if benchmark.stats is not None:
        rate = result.events / benchmark.stats.stats.mean
        benchmark.extra_info["million_events_per_second"] = round(rate / 1e6, 2)
