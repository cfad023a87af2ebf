"""Vector kernels: engine and reference, invariants, edge cases, the engine in plain Python."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodel.dtypes import DType, Format
from hwmodel.emulator.activity import (
    Pipe,
    Stall,
    compute_activities,
    compute_mean_activities,
)
from hwmodel.emulator.constants import span
from hwmodel.emulator.layout import (
    COLS,
    LOG_CORE,
    LOG_END,
    LOG_ITEM,
    LOG_PIPE,
    LOG_START,
    M_OFF,
    N_OFF,
    PIPE_MTE2,
    PIPE_MTE3,
    PIPE_VECTOR,
    ROWS,
)
from hwmodel.emulator.reference.vector import emulate_vector_reference
from hwmodel.emulator.vector_engine import (
    emulate_vector,
    emulate_vector_with_log,
    needs_compiling,
)
from hwmodel.emulator.vector_setup import CLEAR_BYTES, count_vector_events
from hwmodel.errors import InputError
from hwmodel.integers import ceil_div
from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import MAX_DIM, GemmProblem
from hwmodel.walk import walk
from tests.hwmodel.emulator.chips import CHIP, twice_as_fast
from tests.hwmodel.emulator.plain import plain_modules
from tests.hwmodel.emulator.random_cases import find_differences
from tests.hwmodel.emulator.vector_cases import VECTOR_TEMPLATES, make_vector_case

CASES = 60
templates = st.sampled_from(VECTOR_TEMPLATES)
seeds = st.integers(1000, 100_000)


def _plan(problem: GemmProblem, **changes: object) -> KernelPlan:
    values: dict[str, object] = {
        "template": Template.VECTOR,
        "base_m": 1 if problem.m == 1 else 64,
        "base_n": 64 if problem.m == 1 else 1,
        "base_k": 128,
        "step_k": 1,
        "single_core_k": max(1, problem.k),
        "used_core_num": 8,
    }
    return KernelPlan(**(values | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("template", VECTOR_TEMPLATES)
def test_engine_equals_reference(template: Template) -> None:
    different = {}
    for seed in range(CASES):
        case = make_vector_case(template, seed)
        names = find_differences(emulate_vector_reference(*case), emulate_vector(*case))
        if names:
            different[seed] = names
    assert not different


@settings(derandomize=True, deadline=None, max_examples=150)
@given(templates, seeds)
def test_no_pipe_works_longer_than_the_kernel(template: Template, seed: int) -> None:
    problem, plan, constants = make_vector_case(template, seed)
    result = emulate_vector(problem, plan, constants)
    for core in result.cores:
        pipes = (core.mte2_ticks, core.vector_ticks, core.fixpipe_ticks)
        assert 0 <= max(pipes) <= core.end_ticks <= result.makespan_ticks
        assert core.mte1_ticks == core.cube_ticks == 0
    read_ticks = result.hbm_read_bytes * 65536 // constants.hbm_grains
    l2_ticks = (result.load_bytes + result.store_bytes) * 65536 // constants.l2_grains
    assert result.makespan_ticks >= max(read_ticks, l2_ticks) * 0.999
    assert emulate_vector(problem, plan, constants) == result
    assert result.events == count_vector_events(problem, plan)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(templates, seeds)
def test_bytes_are_those_of_the_schedule(template: Template, seed: int) -> None:
    problem, plan, constants = make_vector_case(template, seed)
    problem = replace(problem, format_b=Format.ND)
    result = emulate_vector(problem, plan, constants)
    assert result.store_bytes == problem.c_total_bytes
    if template is Template.K_EQUAL_ZERO:
        assert result.load_bytes == result.hbm_read_bytes == 0
        return
    schedule, size = walk(problem, plan), problem.dtype.size_bytes
    items = [item for p in range(plan.used_core_num) for item in schedule.items(p)]
    loaded = sum((item.blk_m + item.blk_n) * problem.k * size for item in items)
    loaded += sum(item.blk_n * problem.bias_bytes for item in items)
    assert result.load_bytes == loaded


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seeds)
def test_the_matrix_of_to_mul_is_read_once(seed: int) -> None:
    problem, plan, constants = make_vector_case(Template.VECTOR, seed)
    problem = replace(problem, format_b=Format.ND, bias_dtype=None)
    constants = replace(constants, l2_capacity_bytes=1 << 40, line_waste_f=0)
    result = emulate_vector(problem, plan, constants)
    # With room for it the vector operand is read once, too.
    assert result.hbm_read_bytes == problem.a_total_bytes + problem.b_total_bytes
    assert result.hbm_write_bytes == 0


def test_one_core_alone_takes_what_its_pipes_take() -> None:
    problem = GemmProblem(m=64, k=128, n=1, dtype=DType.FP32, out_dtype=DType.FP32)
    chip = replace(CHIP, row_ticks=0)
    result = emulate_vector(problem, _plan(problem, used_core_num=1), chip)
    vector = chip.launch_ticks + chip.l2_latency_ticks + chip.hbm_latency_ticks
    begin = vector + span(128 * 4, chip.aiv_hbm_q)
    # The second load's latency is counted from the launch, so it is over.
    loaded = begin + span(64 * 128 * 4, chip.aiv_hbm_q)
    cycles = 3 * (64 * 128 // chip.vector_lanes + 20)
    end = loaded + cycles * 256 + span(64 * 4, chip.aiv_store_q)
    assert result.makespan_ticks == end


def test_16_bit_inputs_take_twice_the_passes() -> None:
    problem = GemmProblem(m=1, k=4096, n=640, dtype=DType.FP32, out_dtype=DType.FP32)
    half = replace(problem, dtype=DType.FP16)
    full, narrow = (emulate_vector(p, _plan(p), CHIP) for p in (problem, half))
    steps = 10 * 4096 // 128
    one_pass = (64 * 128 // 64 + 20) * 256
    ticks = [sum(core.vector_ticks for core in result.cores) for result in (full, narrow)]
    assert ticks[0] == (2 * steps + 10) * one_pass
    assert ticks[1] - ticks[0] == 2 * steps * one_pass


def test_clearing_is_bound_by_stores_and_then_by_the_write_back() -> None:
    small = GemmProblem(m=1024, k=0, n=1024)
    large = GemmProblem(m=65536, k=0, n=16384)
    plan = _plan(small, template=Template.K_EQUAL_ZERO, used_core_num=64)
    result = emulate_vector(small, plan, CHIP)
    own = ceil_div(small.m * small.n, 64) * 2
    least = CHIP.launch_ticks + span(own, CHIP.aiv_store_q)
    assert least <= result.makespan_ticks < least * 1.1
    assert result.events == 64 * ceil_div(own, CLEAR_BYTES)
    result = emulate_vector(large, plan, CHIP)
    # Dirty lines left at the end are not paid for.
    written = large.c_total_bytes - CHIP.l2_capacity_bytes
    assert abs(result.hbm_write_bytes - written) <= 64 * CLEAR_BYTES
    hbm_ticks = written * CHIP.hbm_write_cost_f // 4096 * 65536 // CHIP.hbm_grains
    assert hbm_ticks < result.makespan_ticks < hbm_ticks * 1.3


@pytest.mark.parametrize("template", VECTOR_TEMPLATES)
def test_log_accounts_for_every_pipe(template: Template) -> None:
    for seed in range(30):
        problem, plan, constants = make_vector_case(template, seed)
        result, log = emulate_vector_with_log(problem, plan, constants)
        assert result == emulate_vector(problem, plan, constants)
        rows = log.rows
        assert (rows[:, LOG_START] <= rows[:, LOG_END]).all()
        assert rows[:, LOG_END].max() == result.makespan_ticks
        for number, core in enumerate(result.cores):
            mine = rows[rows[:, LOG_CORE] == number]
            busy = {}
            for pipe in (PIPE_MTE2, PIPE_VECTOR, PIPE_MTE3):
                work = mine[mine[:, LOG_PIPE] == pipe]
                busy[pipe] = int((work[:, LOG_END] - work[:, LOG_START]).sum())
                assert (work[1:, LOG_START] >= work[:-1, LOG_END]).all()
                # Tile by tile.
                assert (np.diff(work[:, LOG_ITEM]) >= 0).all()
            assert busy == {
                PIPE_MTE2: core.mte2_ticks,
                PIPE_VECTOR: core.vector_ticks,
                PIPE_MTE3: core.fixpipe_ticks,
            }
            items = np.unique(mine[:, LOG_ITEM]).tolist()
            assert items == list(range(log.starts[number], log.starts[number + 1]))
            activities = compute_activities(result, log, plan, constants, number)
            assert list(activities) == [Pipe.MTE2, Pipe.VECTOR, Pipe.MTE3]
            for activity in activities.values():
                total = activity.busy_cycles + activity.stall_cycles + activity.idle_cycles
                assert total == pytest.approx(result.makespan_ticks / 256)
                assert min(*activity.stalls_cycles.values(), activity.idle_cycles) >= 0


@pytest.mark.parametrize("template", VECTOR_TEMPLATES)
def test_items_of_the_log_are_the_tiles(template: Template) -> None:
    problem, plan, constants = make_vector_case(template, 3)
    log = emulate_vector_with_log(problem, plan, constants)[1]
    tiles = log.items[:, [M_OFF, N_OFF, ROWS, COLS]].tolist()
    assert sum(rows * cols for *_, rows, cols in tiles) == problem.m * problem.n
    if template is Template.K_EQUAL_ZERO:
        # Pieces of the flat C, each where the one before ends.
        ends = np.cumsum([rows * cols for *_, rows, cols in tiles])
        assert [m_off * problem.n + n_off for m_off, n_off, *_ in tiles[1:]] == ends[:-1].tolist()
        return
    schedule = walk(problem, plan)
    assert tiles == [
        [item.m_off, item.n_off, item.blk_m, item.blk_n]
        for p in range(plan.used_core_num)
        for item in schedule.items(p)
    ]


def test_reasons_of_waits_are_what_was_made_slow() -> None:
    problem = GemmProblem(m=1, k=4096, n=2048, dtype=DType.FP32, out_dtype=DType.FP32)

    def worst(pipe: Pipe, **changes: int) -> Stall:
        chip = replace(CHIP, launch_ticks=0, **changes)
        result, log = emulate_vector_with_log(problem, _plan(problem), chip)
        stalls = compute_mean_activities(result, log, _plan(problem), chip)[pipe].stalls_cycles
        return max(stalls, key=lambda reason: stalls[reason])

    assert worst(Pipe.VECTOR, aiv_hbm_q=CHIP.aiv_hbm_q // 50) is Stall.LOADS
    assert worst(Pipe.VECTOR, aiv_store_q=10) is Stall.UB_SLOT
    assert worst(Pipe.MTE2, vector_lanes=1) is Stall.UB_SLOT
    assert worst(Pipe.MTE2, hbm_latency_ticks=10**7) is Stall.LATENCY
    assert worst(Pipe.MTE3, vector_lanes=1) is Stall.TILE


@pytest.mark.parametrize(
    ("template", "sizes"),
    [
        (Template.VECTOR, (1, 1000, 4000)),
        (Template.TO_MULTI_MUL, (300, 500, 200)),
        (Template.K_EQUAL_ZERO, (500, 0, 30000)),
    ],
)
def test_all_rates_doubled_halve_the_time(template: Template, sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    problem = GemmProblem(m=m, k=k, n=n)
    base_m = 1 if m == 1 else 64
    plan = _plan(problem, template=template, base_m=base_m, base_n=64, base_k=64)
    # Whole vectors of work before and after.
    chip = replace(CHIP, vector_lanes=32)
    with plain_modules() as modules:
        engine = modules["vector_engine"]
        before = engine.emulate_vector(problem, plan, chip).makespan_ticks
        vars(engine)["PASS_START_TICKS"] //= 2
        # Work is counted in cycles: twice the lanes do half of it.
        after = engine.emulate_vector(problem, plan, twice_as_fast(chip)).makespan_ticks
    assert 2 * after == pytest.approx(before, rel=2e-3)


def test_cores_without_work() -> None:
    problem = GemmProblem(m=1, k=0, n=3)
    plan = _plan(problem, template=Template.K_EQUAL_ZERO, used_core_num=64)
    result = emulate_vector(problem, plan, CHIP)
    assert result.events == 3
    assert [core.end_ticks > 0 for core in result.cores] == [True] * 3 + [False] * 61


@pytest.mark.parametrize(
    ("problem", "changes", "message"),
    [
        (GemmProblem(m=1, k=8, n=8), {"template": Template.ASWT}, "runs on cube cores"),
        (GemmProblem(m=2, k=8, n=8), {}, "needs m = 1 or n = 1"),
        (GemmProblem(m=1, k=0, n=8), {}, "needs k >= 1"),
        (GemmProblem(m=1, k=8, n=8), {"template": Template.K_EQUAL_ZERO}, "needs k = 0"),
        (GemmProblem(m=1, k=8, n=8), {"base_k": 0}, "base_k = 0"),
        (GemmProblem(m=1, k=8, n=8), {"used_core_num": 600}, "used_core_num = 600"),
        (GemmProblem(m=1, k=MAX_DIM, n=MAX_DIM), {}, "emulate_long"),
    ],
)
def test_what_cannot_run_is_refused(
    problem: GemmProblem, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        emulate_vector(problem, _plan(problem, **changes), CHIP)


def test_the_reference_refuses_cube_kernels() -> None:
    problem = GemmProblem(m=1, k=8, n=8)
    with pytest.raises(InputError, match="use a vector one"):
        emulate_vector_reference(problem, _plan(problem, template=Template.ASWT), CHIP)


@pytest.mark.parametrize("template", VECTOR_TEMPLATES)
def test_engine_in_plain_python(template: Template) -> None:
    cases = [make_vector_case(template, seed) for seed in range(12)]
    expected = [emulate_vector(*case) for case in cases]
    assert not needs_compiling()
    logs = [emulate_vector_with_log(*case)[1].rows for case in cases]
    with plain_modules() as modules:
        plain = [modules["vector_engine"].emulate_vector_with_log(*case) for case in cases]
        assert not modules["vector_engine"].needs_compiling()
    for one, log, (other, plain_log) in zip(expected, logs, plain, strict=True):
        assert not find_differences(one, other)
        assert np.array_equal(log, plain_log.rows)
