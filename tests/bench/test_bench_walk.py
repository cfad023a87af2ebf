"""Work items per second: walking alone, and writing the vendor's record."""

from collections import deque
from collections.abc import Callable
from typing import Protocol

import pytest

from baseline.swizzle_record import build_record
from hwmodel.plan import Template
from hwmodel.problem import GemmProblem
from hwmodel.walk import Schedule, walk
from tests.hwmodel.walk_cases import make_plan

PROBLEM = GemmProblem(m=4096, n=8192, k=4096)


class Benchmark(Protocol):
    extra_info: dict[str, object]

    def __call__(self, function: Callable[[Schedule], int], schedule: Schedule) -> int: ...


def _walk_all(schedule: Schedule) -> int:
    for core in range(schedule.block_num):
        deque(schedule.items(core), maxlen=0)
    return schedule.count


def _record(schedule: Schedule) -> int:
    return len(str(build_record(schedule)["sha256"]))


@pytest.mark.parametrize("template", [Template.ASWT, Template.B_FULL, Template.STREAM_K])
def test_walk(benchmark: Benchmark, template: Template) -> None:
    plan = make_plan(template, base_m=64, base_n=64, single_core_k=2048, used_core_num=31)
    schedule = walk(PROBLEM, plan)
    items = benchmark(_walk_all, schedule)
    benchmark.extra_info["items"] = items
    assert items >= PROBLEM.m * PROBLEM.n // (64 * 64)


def test_record(benchmark: Benchmark) -> None:
    plan = make_plan(Template.ASWT, base_m=64, base_n=64, used_core_num=32)
    schedule = walk(PROBLEM, plan)
    assert benchmark(_record, schedule) == 64
    benchmark.extra_info["items"] = schedule.count
