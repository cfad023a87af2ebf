"""Long kernels: what is extrapolated, what is exact, and what is refused."""

from dataclasses import replace

import pytest

from hwmodel.dtypes import DType
from hwmodel.emulator import extrapolation
from hwmodel.emulator.constants import resource_grains, ticks
from hwmodel.emulator.engine import emulate
from hwmodel.emulator.extrapolation import (
    LONG_EVENTS,
    MAX_RUN_EVENTS,
    count_events,
    emulate_long,
)
from hwmodel.emulator.spec_constants import constants_from_spec
from hwmodel.emulator.vector_engine import emulate_vector
from hwmodel.errors import InputError
from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import MAX_DIM, GemmProblem
from hwmodel.spec_io import load_hardware
from tests.hwmodel.emulator.chips import CHIP

SMALL_L2 = replace(
    CHIP,
    l2_bytes=1 << 20,
    l2_capacity_bytes=1 << 20,
    write_back_slack_bytes=1 << 14,
    busy_latency_ticks=ticks(5),
)
"""Kernels of some ten thousand events fill this L2 many times. It is the 128th part of a real one,
and so are the slack of its write-back and the time that a miss waits for that."""

EXACT = ("loads", "load_bytes", "store_bytes", "events")


def _plan(problem: GemmProblem, **changes: object) -> KernelPlan:
    values: dict[str, object] = {
        "template": Template.ASWT,
        "base_m": 32,
        "base_n": 32,
        "base_k": 64,
        "step_k": 1,
        "single_core_k": max(1, problem.k),
        "used_core_num": 8,
    }
    return KernelPlan(**(values | changes))  # type: ignore[arg-type]


TO_MUL = {"template": Template.VECTOR, "base_m": 32, "base_n": 1}


@pytest.mark.parametrize(
    ("sizes", "changes"),
    [
        ((20000, 128, 1000), {}),
        ((160000, 128, 1000), {"serpentine": False, "window_len": 3}),
        ((100, 128, 90000), {}),
        ((64, 200000, 64), {}),
        ((20000, 300, 64), {"template": Template.B_FULL, "base_n": 64}),
        ((64, 300, 20000), {"template": Template.A_FULL, "base_m": 64}),
        ((20000, 300, 300), {"template": Template.A_PANEL, "resident_slabs": 1}),
        ((300, 300, 20000), {"template": Template.B_PANEL, "resident_slabs": 1}),
        ((40000, 128, 48), {"template": Template.STREAM_K, "single_core_k": 64}),
        ((100000, 300, 1), TO_MUL),
        ((1, 300, 100000), TO_MUL | {"base_m": 1, "base_n": 32}),
        ((32, 200000, 1), TO_MUL),
        ((32000, 100, 300), {"template": Template.TO_MULTI_MUL}),
        ((30000, 0, 70000), {"template": Template.K_EQUAL_ZERO}),
    ],
)
def test_long_kernels_are_near_the_whole_ones(
    sizes: tuple[int, int, int], changes: dict[str, object]
) -> None:
    m, k, n = sizes
    problem = GemmProblem(m=m, k=k, n=n)
    plan = _plan(problem, **changes)
    is_cube = plan.template not in {Template.VECTOR, Template.TO_MULTI_MUL, Template.K_EQUAL_ZERO}
    whole = (emulate if is_cube else emulate_vector)(problem, plan, SMALL_L2)
    limit = count_events(problem, plan) // 4
    part = emulate_long(problem, plan, SMALL_L2, limit_events=limit)
    assert part.is_extrapolated
    assert part.emulated_events is not None
    assert part.emulated_events < whole.events
    assert part.makespan_ticks == pytest.approx(whole.makespan_ticks, rel=0.01)
    # Counts and bytes moved are linear in the lengths, so they are exact.
    assert [getattr(part, name) for name in EXACT] == [getattr(whole, name) for name in EXACT]
    # Bytes from HBM are not: how far the cores drift apart decides what is still in L2.
    assert part == emulate_long(problem, plan, SMALL_L2, limit_events=limit)


def test_short_kernels_are_emulated_whole() -> None:
    problem = GemmProblem(m=300, k=300, n=300)
    plan = _plan(problem)
    result = emulate_long(problem, plan, CHIP)
    assert not result.is_extrapolated
    assert result == emulate(problem, plan, CHIP)
    assert count_events(problem, plan) == result.events


def test_a_direction_of_few_periods_is_not_cut() -> None:
    problem = GemmProblem(m=300, k=60, n=300)
    plan = _plan(problem)
    assert emulate_long(problem, plan, CHIP, limit_events=10) == emulate(problem, plan, CHIP)
    nothing = GemmProblem(m=10, k=0, n=10)
    clear = _plan(nothing, template=Template.K_EQUAL_ZERO)
    assert not emulate_long(nothing, clear, CHIP, limit_events=1).is_extrapolated


def test_the_largest_problem_takes_a_bounded_number_of_events() -> None:
    problem = GemmProblem(m=MAX_DIM, k=MAX_DIM, n=MAX_DIM)
    plan = _plan(problem, base_m=256, base_n=256, step_k=4)
    result = emulate_long(problem, plan, SMALL_L2, limit_events=100_000)
    assert result.emulated_events is not None
    assert result.emulated_events < LONG_EVENTS
    assert result.store_bytes == problem.c_total_bytes
    assert result.load_bytes > problem.a_total_bytes + problem.b_total_bytes
    # The cube's time alone, exactly known.
    fractals = (-(-MAX_DIM // 16)) ** 3
    assert result.makespan_ticks > fractals * 256 // 8


def test_clearing_the_largest_c() -> None:
    problem = GemmProblem(m=MAX_DIM, k=0, n=MAX_DIM, dtype=DType.FP32, out_dtype=DType.FP32)
    plan = _plan(problem, template=Template.K_EQUAL_ZERO)
    result = emulate_long(problem, plan, CHIP)
    assert result.store_bytes == problem.c_total_bytes
    write_ticks = result.hbm_write_bytes * CHIP.hbm_write_cost_f // 4096 * 65536 // CHIP.hbm_grains
    assert result.makespan_ticks > write_ticks > 0


def test_a_walk_that_does_not_repeat_itself_is_refused() -> None:
    # One window of a million rows; its columns take more events than can be run.
    problem = GemmProblem(m=MAX_DIM, k=64, n=64 * 1024)
    plan = _plan(problem, window_len=MAX_DIM // 64)
    assert count_events(problem, plan) > MAX_RUN_EVENTS
    with pytest.raises(InputError, match="events even when shortened"):
        emulate_long(problem, plan, CHIP)


def test_a_slower_memory_is_extrapolated_to_a_longer_time() -> None:
    problem = GemmProblem(m=20000, k=128, n=1000)
    plan = _plan(problem)
    slow = replace(SMALL_L2, hbm_grains=resource_grains(99.2))
    times = [
        emulate_long(problem, plan, chip, limit_events=20_000).makespan_ticks
        for chip in (SMALL_L2, slow)
    ]
    assert times[0] < times[1]


DRIFTING = GemmProblem(m=1203946, k=88, n=45351)
"""The short last column always goes to the same cores: late in the kernel, L2 has dropped B when
the last core comes to it."""


def test_cores_that_drift_apart_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    constants = constants_from_spec(load_hardware("ascend950pr-9589"))
    plan = _plan(DRIFTING, base_m=256, base_n=256, base_k=96, window_len=2, used_core_num=32)
    limit = count_events(DRIFTING, plan) // 8
    whole = emulate(DRIFTING, plan, constants)
    part = emulate_long(DRIFTING, plan, constants, limit_events=limit)
    assert part.emulated_events is not None
    assert part.emulated_events < whole.events
    assert part.makespan_ticks == pytest.approx(whole.makespan_ticks, rel=0.001)
    assert part.hbm_read_bytes == pytest.approx(whole.hbm_read_bytes, rel=0.05)
    assert [getattr(part, name) for name in EXACT] == [getattr(whole, name) for name in EXACT]
    monkeypatch.setattr(extrapolation, "_may_drift", lambda *_: False)
    straight = emulate_long(DRIFTING, plan, constants, limit_events=limit)
    assert straight.hbm_read_bytes < 0.9 * whole.hbm_read_bytes


def test_a_drifting_kernel_that_is_no_longer_than_its_samples_is_emulated_whole() -> None:
    constants = constants_from_spec(load_hardware("ascend950pr-9589"))
    problem = replace(DRIFTING, m=330_000)
    plan = _plan(problem, base_m=256, base_n=256, base_k=96, window_len=2, used_core_num=32)
    result = emulate_long(problem, plan, constants, limit_events=200_000)
    assert result == emulate(problem, plan, constants)
