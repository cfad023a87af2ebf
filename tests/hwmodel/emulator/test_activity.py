"""What the pipes did adds up, on every template; msprof's columns; what a timeline selects."""

from dataclasses import replace

import numpy as np
import pytest

from hwmodel.cost.breakdown import Bound
from hwmodel.emulator import layout
from hwmodel.emulator.activity import (
    Pipe,
    PipeActivity,
    Stall,
    compute_activities,
    compute_launch_ticks,
    compute_mean_activities,
    find_busiest_core,
)
from hwmodel.emulator.constants import TICKS_PER_CYCLE, EmulatorConstants
from hwmodel.emulator.engine import EventLog, emulate_with_log
from hwmodel.emulator.result import EmulationResult
from hwmodel.emulator.spec_constants import constants_from_spec
from hwmodel.emulator.summary import compute_l2_hit_ratio, compute_summary, find_bound
from hwmodel.emulator.timeline import PRELOAD_ROUND, select_timeline
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware

SPEC = load_hardware("ascend950pr-9589")
CONSTANTS = constants_from_spec(SPEC)
PROBLEM = GemmProblem(m=500, k=1000, n=900)
PLAN = KernelPlan(
    template=Template.ASWT,
    base_m=128,
    base_n=128,
    base_k=64,
    step_k=2,
    single_core_k=1000,
    used_core_num=4,
)
PLANS = {
    "aswt": PLAN,
    "two tiles in L0C": replace(PLAN, db_l0c=2),
    "a_full": replace(PLAN, template=Template.A_FULL, l1_buffer_num=4),
    "b_partial": replace(PLAN, template=Template.B_PARTIAL, resident_slabs=3),
    "a_panel": replace(PLAN, template=Template.A_PANEL, resident_slabs=2),
    "stream_k": replace(
        PLAN, template=Template.STREAM_K, used_core_num=32, single_core_k=500, base_n=112
    ),
    "via UB": replace(PLAN, l0c_output=L0cOutput.FIXPIPE),
    "via one slot of UB": replace(
        PLAN, template=Template.B_FULL, l0c_output=L0cOutput.FIXPIPE, step_k=16
    ),
    "an idle core": replace(PLAN, used_core_num=40),
}
SLOW_STORES = replace(CONSTANTS, aiv_store_q=CONSTANTS.aiv_store_q // 50)
SLOW_FIXPIPE = replace(CONSTANTS, fixpipe_q=CONSTANTS.fixpipe_q // 50)
SLOW_CUBE = replace(CONSTANTS, fractal_ticks_16bit=CONSTANTS.fractal_ticks_16bit * 20)


def run(
    plan: KernelPlan, constants: EmulatorConstants = CONSTANTS
) -> tuple[EmulationResult, EventLog, dict[Pipe, PipeActivity]]:
    result, log = emulate_with_log(PROBLEM, plan, constants)
    core = find_busiest_core(result)
    return result, log, compute_activities(result, log, plan, constants, core)


@pytest.mark.parametrize("constants", [CONSTANTS, SLOW_STORES, SLOW_FIXPIPE, SLOW_CUBE])
@pytest.mark.parametrize("name", PLANS)
def test_work_stalls_and_idle_time_add_up(name: str, constants: EmulatorConstants) -> None:
    plan = PLANS[name]
    result, log, _ = run(plan, constants)
    for core, counted in enumerate(result.cores):
        pipes = compute_activities(result, log, plan, constants, core)
        busy = {pipe: activity.busy_cycles * TICKS_PER_CYCLE for pipe, activity in pipes.items()}
        assert busy[Pipe.MTE2] == counted.mte2_ticks
        assert busy[Pipe.MTE1] == counted.mte1_ticks
        assert busy[Pipe.CUBE] == counted.cube_ticks
        assert busy[Pipe.FIXPIPE] == counted.fixpipe_ticks
        for activity in pipes.values():
            total = activity.busy_cycles + activity.stall_cycles + activity.idle_cycles
            assert total == pytest.approx(result.makespan_ticks / TICKS_PER_CYCLE)
            assert min(activity.stalls_cycles.values()) >= 0.0
            assert activity.idle_cycles >= 0.0


def test_the_mean_is_that_of_all_cores() -> None:
    result, log, _ = run(PLAN)
    mean = compute_mean_activities(result, log, PLAN, CONSTANTS)
    cube = sum(core.cube_ticks for core in result.cores) / len(result.cores)
    assert mean[Pipe.CUBE].busy_cycles == pytest.approx(cube / TICKS_PER_CYCLE)
    assert Pipe.MTE3 not in mean


def worst_stall(plan: KernelPlan, constants: EmulatorConstants, pipe: Pipe) -> Stall:
    stalls = run(plan, constants)[2][pipe].stalls_cycles
    return max(stalls, key=lambda reason: stalls[reason])


def test_reasons_are_what_was_made_slow() -> None:
    assert worst_stall(PLAN, SLOW_CUBE, Pipe.MTE1) is Stall.L0_HALF
    assert worst_stall(PLAN, SLOW_CUBE, Pipe.MTE2) is Stall.L1_SLOT
    assert worst_stall(PLAN, SLOW_CUBE, Pipe.FIXPIPE) is Stall.TILE
    assert worst_stall(PLAN, SLOW_FIXPIPE, Pipe.CUBE) is Stall.L0C
    assert worst_stall(PLANS["via UB"], SLOW_STORES, Pipe.FIXPIPE) is Stall.UB_SLOT
    slow_loads = replace(CONSTANTS, port_q=CONSTANTS.port_q // 50)
    assert worst_stall(PLAN, slow_loads, Pipe.MTE1) is Stall.LOADS
    assert worst_stall(PLAN, slow_loads, Pipe.CUBE) is Stall.OPERANDS
    slow_start = replace(CONSTANTS, tile_ticks=10**8)
    assert worst_stall(PLAN, slow_start, Pipe.CUBE) is Stall.TILE_START
    far_memory = replace(CONSTANTS, hbm_latency_ticks=10**7)
    assert worst_stall(PLAN, far_memory, Pipe.MTE2) is Stall.LATENCY


def test_mixed_kernels_launch_later() -> None:
    extra = CONSTANTS.mixed_kernel_extra_ticks
    assert extra > 0
    plain, mixed = (compute_launch_ticks(PLANS[name], CONSTANTS) for name in ("aswt", "via UB"))
    assert mixed - plain == extra
    for name, launch in (("aswt", plain), ("via UB", mixed)):
        for activity in run(PLANS[name])[2].values():
            assert activity.stalls_cycles[Stall.LAUNCH] == launch / TICKS_PER_CYCLE


def test_columns_are_those_of_msprof() -> None:
    result, _, _ = run(PLAN)
    summary = compute_summary(result, PLAN, SPEC, CONSTANTS)
    assert list(summary) == [
        "task_duration_us", "block_num", "aicore_time_us", "aic_total_cycles",
        "aic_mac_time_us", "aic_mac_ratio", "aic_mte1_time_us", "aic_mte1_ratio",
        "aic_mte2_time_us", "aic_mte2_ratio", "aic_fixpipe_time_us", "aic_fixpipe_ratio",
        "cube_utilization_percent",
    ]  # fmt: skip
    clock = SPEC.cores.clock_mhz
    total = summary["aic_total_cycles"]
    assert summary["aicore_time_us"] == pytest.approx(total / clock / 4, rel=1e-4)
    assert summary["aic_mac_time_us"] == pytest.approx(
        summary["aic_mac_ratio"] * summary["aicore_time_us"]
    )
    assert summary["cube_utilization_percent"] == pytest.approx(
        100 * total / (clock * summary["task_duration_us"] * SPEC.cores.aic_num), rel=1e-4
    )
    assert summary["task_duration_us"] > summary["aicore_time_us"]


def test_bound_and_hit_ratio() -> None:
    result, _, _ = run(PLAN, SLOW_CUBE)
    assert find_bound(result, PLAN, SLOW_CUBE) is Bound.CUBE
    result, _, _ = run(PLAN, SLOW_FIXPIPE)
    assert find_bound(result, PLAN, SLOW_FIXPIPE) is Bound.FIXPIPE
    late = replace(CONSTANTS, launch_ticks=10**9)
    result, _, _ = run(PLAN, late)
    assert find_bound(result, PLAN, late) is Bound.LAUNCH
    assert compute_l2_hit_ratio(result) == (result.hits + result.follows) / result.loads
    assert compute_l2_hit_ratio(replace(result, loads=0)) == 0.0


def test_timelines_know_item_and_round() -> None:
    _, log, _ = run(PLANS["a_full"])
    timeline = select_timeline(log, range(4), None)
    assert len(timeline.rows) == len(log.rows)
    pipes = timeline.rows[:, layout.LOG_PIPE]
    for pipe in (layout.PIPE_MTE2, layout.PIPE_MTE1, layout.PIPE_CUBE, layout.PIPE_FIX):
        items = np.unique(timeline.items[(pipes == pipe) & (timeline.rounds != PRELOAD_ROUND)])
        assert items.tolist() == list(range(len(log.items)))
    preloads = timeline.rounds == PRELOAD_ROUND
    assert preloads.any()
    assert (timeline.items[preloads] == layout.NO_OBJECT).all()
    cores = timeline.rows[~preloads, layout.LOG_CORE]
    assert (log.starts[cores] + timeline.rounds[~preloads] == timeline.items[~preloads]).all()
    first = select_timeline(log, (1, 3), 2)
    assert set(first.rows[:, layout.LOG_CORE]) == {1, 3}
    assert set(first.rounds) == {PRELOAD_ROUND, 0, 1}
