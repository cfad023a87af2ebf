"""Speed of the emulator: events per second, and the time of a large kernel.

Targets on one core: 6 million events a second, 20 ms for 8192^3 in bf16, less than 300 MB.
"""

import subprocess
import sys
from collections.abc import Callable
from typing import Protocol

import pytest

from baseline.decision import decide
from hwmodel.emulator.engine import emulate
from hwmodel.emulator.result import EmulationResult
from hwmodel.emulator.spec_constants import constants_from_spec
from hwmodel.emulator.vector_engine import emulate_vector
from hwmodel.plan import KernelPlan, Template
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
    note_rate(benchmark, result)


@pytest.mark.parametrize(
    ("problem", "template", "base_m"),
    [
        (GemmProblem(m=1, k=8192, n=65536), Template.VECTOR, 1),
        (GemmProblem(m=2048, k=1024, n=2048), Template.TO_MULTI_MUL, 64),
        (GemmProblem(m=65536, k=0, n=32768), Template.K_EQUAL_ZERO, 1),
    ],
    ids=["vector", "to_multi_mul", "k_equal_zero"],
)
def test_emulate_vector(
    benchmark: Benchmark, problem: GemmProblem, template: Template, base_m: int
) -> None:
    plan = KernelPlan(
        template=template,
        base_m=base_m,
        base_n=64,
        base_k=64,
        step_k=1,
        single_core_k=max(1, problem.k),
        used_core_num=SPEC.cores.aiv_num,
    )
    emulate_vector(problem, plan, CONSTANTS)
    result = benchmark(lambda: emulate_vector(problem, plan, CONSTANTS))
    assert result.store_bytes == problem.c_total_bytes
    note_rate(benchmark, result)


def note_rate(benchmark: Benchmark, result: EmulationResult) -> None:
    """Keep how many events the kernel has, and how many a second were emulated."""
    benchmark.extra_info["events"] = result.events
    if benchmark.stats is not None:
        rate = result.events / benchmark.stats.stats.mean
        benchmark.extra_info["million_events_per_second"] = round(rate / 1e6, 2)


def test_memory_does_not_grow_with_the_events() -> None:
    # Three million events, nearly all of tiles that are written back to HBM.
    script = """
from dataclasses import replace
from pathlib import Path
from tests.bench.test_bench_emulator import CONSTANTS, SPEC, decide, emulate
from hwmodel.problem import GemmProblem
small, large = (GemmProblem(m=m, k=64, n=m) for m in (64, 32768))
plan = replace(decide(large, SPEC).plan, base_m=16, base_n=64, m_tail_cnt=1, n_tail_cnt=1)

def peak_mb():
    # Of this program alone: getrusage counts what the parent process had at the fork, too.
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024

peaks = []
for problem in (small, large):
    result = emulate(problem, plan, CONSTANTS)
    peaks.append(peak_mb())
assert result.events > 3_000_000 and result.hbm_write_bytes > 1e9
print(*peaks)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ran.stderr == ""
    before_mb, peak_mb = map(int, ran.stdout.split())
    assert peak_mb - before_mb < 30
    assert peak_mb < 300
