"""What every emulated kernel must satisfy, edge cases, the log, and the engine in plain Python."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodel.dtypes import DType, Format
from hwmodel.emulator.constants import EmulatorConstants
from hwmodel.emulator.engine import emulate, emulate_with_log
from hwmodel.emulator.layout import (
    LOG_CORE,
    LOG_END,
    LOG_PIPE,
    LOG_START,
    PIPE_CUBE,
    PIPE_FIX,
    PIPE_MTE1,
    PIPE_MTE2,
    PIPE_MTE3,
)
from hwmodel.emulator.setup import MAX_CORES
from hwmodel.errors import InputError
from hwmodel.integers import ceil_div
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.walk import walk
from tests.hwmodel.emulator.chips import CHIP, INSTANT_CHIP, twice_as_fast
from tests.hwmodel.emulator.plain import plain_modules
from tests.hwmodel.emulator.random_cases import TEMPLATES, Case, make_case

GRAIN_TICKS = 1024
templates = st.sampled_from(TEMPLATES)
seeds = st.integers(1000, 100_000)
PROBLEM = GemmProblem(m=500, n=300, k=700)


def _plan(problem: GemmProblem, **changes: object) -> KernelPlan:
    values: dict[str, object] = {
        "template": Template.ASWT,
        "base_m": 64,
        "base_n": 48,
        "base_k": 32,
        "step_k": 4,
        "single_core_k": problem.k,
        "used_core_num": 8,
    }
    return KernelPlan(**(values | changes))  # type: ignore[arg-type]


@settings(derandomize=True, deadline=None, max_examples=150)
@given(templates, seeds)
def test_no_pipe_works_longer_than_the_kernel(template: Template, seed: int) -> None:
    problem, plan, constants = make_case(template, seed)
    result = emulate(problem, plan, constants)
    for core in result.cores:
        pipes = (core.mte2_ticks, core.mte1_ticks, core.cube_ticks, core.fixpipe_ticks)
        assert 0 <= max(pipes) <= core.end_ticks <= result.makespan_ticks
    # From a cold start the shared memories need their time for all bytes.
    read_ticks = result.hbm_read_bytes * 65536 // constants.hbm_grains
    l2_ticks = (result.load_bytes + result.store_bytes) * 65536 // constants.l2_grains
    assert result.makespan_ticks >= max(read_ticks, l2_ticks) * 0.999
    assert result.hits + result.follows <= result.loads <= result.events
    assert emulate(problem, plan, constants) == result


@settings(derandomize=True, deadline=None, max_examples=150)
@given(templates, seeds)
def test_bytes_and_multiplications_are_those_of_the_schedule(
    template: Template, seed: int
) -> None:
    problem, plan, constants = make_case(template, seed)
    problem = replace(problem, format_b=Format.ND, bias_dtype=None)
    result = emulate(problem, plan, constants)
    schedule = walk(problem, plan)
    store_bytes = fractals = loads = 0
    element, c0 = problem.dtype.size_bytes, problem.dtype.c0_elements
    k_l1 = plan.k_l1(problem)
    for core in range(plan.used_core_num):
        slots = schedule.workspace_slots(core)
        for item, slot in zip(schedule.items(core), slots, strict=True):
            loads += (item.blk_m + item.blk_n) * item.blk_k * element
            size = 4 if slot >= 0 else problem.out_dtype.size_bytes
            store_bytes += item.blk_m * item.blk_n * size
            for k_at in range(0, item.blk_k, k_l1):
                left = min(k_l1, item.blk_k - k_at)
                depth = sum(
                    ceil_div(min(plan.base_k, left - at), c0) for at in range(0, left, plan.base_k)
                )
                fractals += ceil_div(item.blk_m, 16) * ceil_div(item.blk_n, 16) * depth
    assert result.store_bytes == store_bytes
    assert result.events - result.loads == schedule.count
    if template in (Template.ASWT, Template.BASE, Template.STREAM_K):
        assert result.load_bytes == loads
    is_fp32 = problem.dtype is DType.FP32
    step = constants.fractal_ticks_hf32 if problem.is_hf32 else constants.fractal_ticks_fp32
    step = step if is_fp32 else constants.fractal_ticks_16bit
    assert sum(core.cube_ticks for core in result.cores) == fractals * step


@pytest.mark.parametrize("k", [64, 700])
def test_load_bytes_in_closed_form(k: int) -> None:
    problem = GemmProblem(m=500, n=300, k=k)
    a_bytes, b_bytes = problem.a_total_bytes, problem.b_total_bytes
    m_tiles, n_tiles = ceil_div(500, 64), ceil_div(300, 48)
    aswt = emulate(problem, _plan(problem), CHIP)
    assert aswt.load_bytes == n_tiles * a_bytes + m_tiles * b_bytes
    assert aswt.store_bytes == problem.c_total_bytes
    assert aswt.hbm_read_bytes >= a_bytes + b_bytes
    # Each of the seven cores with a block of columns loads all of A, and its B once an m step.
    a_full = emulate(problem, _plan(problem, template=Template.A_FULL), CHIP)
    assert a_full.load_bytes == n_tiles * a_bytes + m_tiles * b_bytes
    b_full = emulate(problem, _plan(problem, template=Template.B_FULL), CHIP)
    assert b_full.load_bytes == n_tiles * a_bytes + m_tiles * b_bytes
    # One core with the whole of A loads it once.
    alone = emulate(problem, _plan(problem, template=Template.A_FULL, used_core_num=1), CHIP)
    assert alone.load_bytes == a_bytes + m_tiles * b_bytes


@pytest.mark.parametrize("template", [Template.A_PANEL, Template.B_PANEL])
def test_a_whole_panel_is_loaded_once_a_row(template: Template) -> None:
    problem = GemmProblem(m=256, n=192, k=256)
    plan = _plan(problem, template=template, used_core_num=1, window_len=1, resident_slabs=2)
    a_bytes, b_bytes = problem.a_total_bytes, problem.b_total_bytes
    expected = a_bytes + 4 * b_bytes if template is Template.A_PANEL else b_bytes + 4 * a_bytes
    assert emulate(problem, plan, CHIP).load_bytes == expected


def test_partial_load_lies_between_streaming_and_full_load() -> None:
    plans = [_plan(PROBLEM, template=Template.ASWT, used_core_num=1)]
    plans += [
        _plan(PROBLEM, template=Template.A_PARTIAL, used_core_num=1, resident_slabs=slabs)
        for slabs in (1, 20, 48)
    ]
    plans += [_plan(PROBLEM, template=Template.A_FULL, used_core_num=1)]
    loads = [emulate(PROBLEM, plan, CHIP).load_bytes for plan in plans]
    # All 48 slabs resident is the full load.
    assert loads[0] > loads[1] > loads[2] > loads[3] == loads[4]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.integers(1, 300),
    st.integers(1, 300),
    st.integers(1, 400),
    st.integers(1, 4),
    st.sampled_from((32, 64, 128)),
)
def test_instant_memory_leaves_the_chain_of_the_cube(
    m: int, n: int, k: int, step_k: int, base_k: int
) -> None:
    problem = GemmProblem(m=m, n=n, k=k)
    # Every core has one tile: no tile waits for the one before.
    plan = _plan(problem, base_m=64, base_n=64, base_k=base_k, step_k=step_k, used_core_num=25)
    result = emulate(problem, plan, INSTANT_CHIP)
    chain = max(core.cube_ticks for core in result.cores)
    l0_steps = ceil_div(k, base_k)
    # Every load and every move still takes a tick or so, the fixpipe one grain.
    assert chain <= result.makespan_ticks <= chain + GRAIN_TICKS + 16 * (l0_steps + 1)


@pytest.mark.parametrize("template", TEMPLATES)
def test_all_rates_doubled_halve_the_time(template: Template) -> None:
    with plain_modules() as plain:
        engine = plain["engine"]
        assert not hasattr(engine.simulate, "py_func")
        for seed in range(3):
            problem, plan, _ = make_case(template, seed)
            before = engine.emulate(problem, plan, CHIP).makespan_ticks
            # The grain of the hand-over is a fixed time, too.
            for name in ("compute", "stores", "engine"):
                vars(plain[name])["GRAIN_TICKS"] = GRAIN_TICKS // 2
            after = engine.emulate(problem, plan, twice_as_fast(CHIP)).makespan_ticks
            for name in ("compute", "stores", "engine"):
                vars(plain[name])["GRAIN_TICKS"] = GRAIN_TICKS
            assert 2 * after == pytest.approx(before, rel=2e-3)


@pytest.mark.parametrize("template", TEMPLATES)
def test_compiled_and_plain_are_equal(template: Template) -> None:
    with plain_modules() as plain:
        for seed in range(12):
            case = make_case(template, seed)
            result, log = plain["engine"].emulate_with_log(*case)
            assert result == emulate(*case)
            assert np.array_equal(log.rows, emulate_with_log(*case)[1].rows)


def test_rarely_used_lines_are_equal_too() -> None:
    with plain_modules() as plain:
        # A resident slab that is not free yet; a long K in even slices; the list of shares full.
        cases = [make_case(Template.A_PANEL, seed) for seed in range(12, 40)]
        long_k = GemmProblem(m=40, n=40, k=9000, out_dtype=DType.FP32)
        cases.append(Case(long_k, _plan(long_k, template=Template.BASE, base_k=512), CHIP))
        for name in ("memory", "engine"):
            vars(plain[name])["SHARE_ROOM"] = 16
        for case in cases:
            assert plain["engine"].emulate(*case) == emulate(*case)


@pytest.mark.parametrize("template", TEMPLATES)
def test_log_accounts_for_every_pipe(template: Template) -> None:
    for seed in range(20):
        case = make_case(template, seed)
        result, log = emulate_with_log(*case)
        assert result == emulate(*case)
        rows = log.rows
        assert (rows[:, LOG_START] <= rows[:, LOG_END]).all()
        assert rows[:, LOG_END].max() <= result.makespan_ticks
        for number, core in enumerate(result.cores):
            mine = rows[rows[:, LOG_CORE] == number]
            busy = {}
            for pipe in (PIPE_MTE2, PIPE_MTE1, PIPE_CUBE, PIPE_FIX, PIPE_MTE3):
                work = mine[mine[:, LOG_PIPE] == pipe]
                busy[pipe] = int((work[:, LOG_END] - work[:, LOG_START]).sum())
                assert (work[1:, LOG_START] >= work[:-1, LOG_END]).all()
            assert busy[PIPE_MTE2] == core.mte2_ticks
            assert busy[PIPE_MTE1] == core.mte1_ticks
            # A tile's first multiplication can be held up by the fixpipe it follows.
            assert busy[PIPE_CUBE] >= core.cube_ticks
            assert busy[PIPE_FIX] == core.fixpipe_ticks


SLOW_STORES = replace(CHIP, aiv_store_q=CHIP.aiv_store_q // 30, fixpipe_q=CHIP.fixpipe_q // 9)


@pytest.mark.parametrize("constants", [CHIP, SLOW_STORES])
@pytest.mark.parametrize(
    "changes",
    [
        {"db_l0c": 2},
        {"l0c_output": L0cOutput.FIXPIPE, "db_l0c": 2},
        {"template": Template.A_FULL, "l1_buffer_num": 8},
        {
            "template": Template.B_FULL,
            "l1_buffer_num": 8,
            "db_l0c": 2,
            "ub_db": 2,
            "l0c_output": L0cOutput.FIXPIPE,
        },
        {"template": Template.A_PANEL, "resident_slabs": 1},
    ],
)
def test_items_in_use_are_kept(changes: dict[str, object], constants: EmulatorConstants) -> None:
    # One L1 step an item: as many items are under way as can be, in hundreds on each core.
    problem = GemmProblem(m=1000, n=1600, k=20)
    plan = _plan(problem, base_m=16, base_n=16, used_core_num=3, **changes)
    assert emulate(problem, plan, constants) == emulate_with_log(problem, plan, constants)[0]


@pytest.mark.parametrize(
    ("problem", "changes"),
    [
        (GemmProblem(m=300, n=300, k=1), {}),
        (GemmProblem(m=300, n=300, k=7, trans_a=True, trans_b=False), {"base_k": 64}),
        (GemmProblem(m=1, n=1, k=4000), {"base_m": 16, "base_n": 16}),
        (GemmProblem(m=1, n=1, k=1), {"base_m": 16, "base_n": 16, "used_core_num": 1}),
        (GemmProblem(m=4096, n=4096, k=512), {"base_m": 4096, "base_n": 4096, "base_k": 512}),
        (PROBLEM, {"used_core_num": 1}),
        (PROBLEM, {"used_core_num": MAX_CORES}),
    ],
)
def test_extreme_sizes(problem: GemmProblem, changes: dict[str, object]) -> None:
    plan = _plan(problem, **changes)
    result = emulate(problem, plan, CHIP)
    assert result.store_bytes == problem.c_total_bytes
    assert result.makespan_ticks > CHIP.launch_ticks


def test_a_small_l2_reads_again_and_writes_back() -> None:
    problem = GemmProblem(m=1024, n=1024, k=256)
    plan = _plan(problem, used_core_num=4)
    large = emulate(problem, plan, CHIP)
    assert large.hbm_write_bytes == 0
    small = emulate(problem, plan, replace(CHIP, l2_capacity_bytes=300_000))
    assert small.hbm_read_bytes > large.hbm_read_bytes
    assert small.makespan_ticks >= large.makespan_ticks
    assert 0 < small.hbm_write_bytes <= problem.c_total_bytes
    # Not even one slab fits: every object is dropped when the next one comes.
    none = emulate(problem, plan, replace(CHIP, l2_capacity_bytes=0))
    assert none.hbm_read_bytes >= small.hbm_read_bytes


@pytest.mark.parametrize("capacity", [2_000_000, 4_000_000])
def test_sizes_need_not_be_tracked_when_all_fits(capacity: int) -> None:
    problem = GemmProblem(m=512, n=512, k=256)
    # A, B and C are 1 MB; the engine's upper limit of that lies between the two capacities.
    plan = _plan(problem)
    few = emulate(problem, plan, replace(CHIP, l2_capacity_bytes=capacity))
    assert few == emulate(problem, plan, CHIP)


def test_slices_of_k_are_added_in_place() -> None:
    # Sixteen tiles in two fp32 slices each. A tile outlives the loads between its slices.
    problem = GemmProblem(m=256, n=192, k=2500, dtype=DType.FP32, out_dtype=DType.FP32)
    plan = _plan(problem, base_m=64, base_n=48, used_core_num=1)
    assert len(list(walk(problem, plan).items(0))) == 16 * 2
    tile_bytes = 64 * 48 * 4
    chip = replace(CHIP, l2_capacity_bytes=2_000_000)
    result = emulate(problem, plan, chip)
    # A tile is written back once, however many slices were added to it.
    assert 0 < result.hbm_write_bytes < problem.c_total_bytes
    assert result.hbm_write_bytes % tile_bytes == 0
    assert result.store_bytes == 2 * problem.c_total_bytes


def test_fixpipe_output_costs_a_mixed_launch() -> None:
    plan = _plan(PROBLEM, l0c_output=L0cOutput.FIXPIPE)
    mixed = emulate(PROBLEM, plan, CHIP).makespan_ticks
    free = emulate(PROBLEM, plan, replace(CHIP, mixed_kernel_extra_ticks=0)).makespan_ticks
    assert mixed - free == CHIP.mixed_kernel_extra_ticks


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"template": Template.VECTOR}, "only cube kernels"),
        ({"used_core_num": MAX_CORES + 1}, "used_core_num"),
        ({"l1_buffer_num": 9}, r"l1_buffer_num = 9: must be in 1\.\.8"),
        ({"db_l0c": 3}, "db_l0c"),
        ({"base_k": 0}, "base_k = 0: must be at least 1"),
        ({"base_m": 1 << 16, "base_n": 1 << 16}, "bytes; use a smaller tile"),
    ],
)
def test_plans_that_cannot_run(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        emulate(PROBLEM, _plan(PROBLEM, **changes), CHIP)


def test_too_many_tiles_are_refused() -> None:
    problem = GemmProblem(m=200_000, n=200_000, k=16)
    plan = _plan(problem, base_m=16, base_n=16, base_k=16)
    with pytest.raises(InputError, match="slabs and tiles, more than the"):
        emulate(problem, plan, CHIP)


def test_writes_that_do_not_share_the_hbm_never_slow_a_kernel_down() -> None:
    # C is four times L2, far more than may wait, and little is computed: the write-back holds
    # reads up all the time.
    chip = replace(CHIP, l2_capacity_bytes=2**19, write_back_slack_bytes=2**17)
    problem = GemmProblem(m=1024, k=256, n=1024)
    plan = KernelPlan(
        template=Template.ASWT,
        base_m=128,
        base_n=128,
        base_k=64,
        step_k=4,
        single_core_k=256,
        used_core_num=32,
    )
    shared = emulate(problem, plan, chip)
    alone = emulate(problem, plan, replace(chip, hbm_writes_alone=1))
    assert shared.hbm_write_bytes > 2**20
    assert alone.makespan_ticks < shared.makespan_ticks
