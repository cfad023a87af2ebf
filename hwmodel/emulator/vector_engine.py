"""The fast engine of the vector kernels (docs/emulator.md, section 8).

It shares the memory, the clocks and the timers with the engine of the cube kernels.
"""

import numpy as np

import hwmodel.jit as jit_module
from hwmodel.emulator.compute import note
from hwmodel.emulator.constants import TICKS_PER_CYCLE, EmulatorConstants
from hwmodel.emulator.engine import (
    EventLog,
    absent_objects,
    idle_channels,
    make_result,
    move_on,
    start_of_chip,
    wake,
)
from hwmodel.emulator.geometry import Vector, slab_rows, span, up
from hwmodel.emulator.layout import (
    AIV_STORE_Q,
    BASE_K,
    BASE_M,
    BASE_N,
    BEGIN,
    BIAS_BYTES,
    BUSY_MTE2,
    C_ELEMENT_BYTES,
    CORES,
    EARLIEST,
    FIRST_B,
    IDLE,
    IN_DATA,
    ISSUED,
    KIND,
    L2_BYTES,
    LAST_STORE,
    LAUNCH,
    LD_STEP,
    LD_STEP_NO,
    LEADER,
    LEN_K,
    LEN_M,
    LEN_N,
    LOG_CORE,
    LOG_ITEM,
    LOG_OPERAND,
    LOG_ROWS,
    LOG_SIZE,
    M3_DONE,
    M3_TAKEN,
    NEED,
    NEVER,
    NOW,
    OPERAND_A,
    PIPE_MTE2,
    PIPE_VECTOR,
    ROW_TICKS,
    SHARE_ROOM,
    STATE,
    STORES,
    V_FINISH,
    V_STEP_DONE,
)
from hwmodel.emulator.loads import begin_load, close_load
from hwmodel.emulator.memory import Cube, Links, Matrix, Slots, set_timer
from hwmodel.emulator.request import count_bytes, find_kind, issue
from hwmodel.emulator.result import CoreActivity, EmulationResult
from hwmodel.emulator.stores import UB_BLOCK_BYTES, complete_mte3, enter_l2
from hwmodel.emulator.vector_setup import (
    AIV_HBM_Q,
    AIV_L2_Q,
    BUSY_MTE3,
    BUSY_V,
    ELEMENT_PASSES,
    FIRST_C,
    FIRST_OPERAND,
    LANES,
    LD_PART,
    LD_TILE,
    OUTPUT_CYCLES,
    PASSES,
    PIECE,
    SHARE,
    STEPS,
    SUMS,
    TILE_COLS,
    TILES,
    TOTAL,
    V_FREE,
    V_LOADED,
    V_SLOT_FREE,
    V_STEP,
    V_STEP_NO,
    V_TILE,
    V_TILE_END,
    VECTOR_CORE_SIZE,
    WORK_CYCLES,
    VectorRun,
    count_vector_log_rows,
    list_tiles,
    prepare_vector,
)
from hwmodel.jit import inline, jit
from hwmodel.plan import KernelPlan
from hwmodel.problem import GemmProblem

PASS_START_TICKS = 20 * TICKS_PER_CYCLE
"""Before the first result of a vector instruction (specification: plan.md, "VECTOR")."""

BUFFERS = 2
"""Inputs in UB, used in turn by even and odd steps (specification: kernels.md)."""


@inline
def find_tile(par: Vector, p: int, number: int) -> tuple[int, int, int, int, int]:
    """Place, size and C object of the core's tile or piece `number`."""
    if par[STEPS] == 0:
        start = p * par[SHARE]
        size = min(par[SHARE], par[TOTAL] - start)
        at = number * par[PIECE]
        return 0, start + at, 1, min(par[PIECE], size - at), p * par[TILE_COLS] + number
    tile = p + number * par[CORES]
    m_off, n_off = tile // par[TILE_COLS] * par[BASE_M], tile % par[TILE_COLS] * par[BASE_N]
    rows, cols = min(par[BASE_M], par[LEN_M] - m_off), min(par[BASE_N], par[LEN_N] - n_off)
    return m_off, n_off, rows, cols, par[FIRST_C] + tile


@inline
def issue_load(
    par: Vector,
    glob: Vector,
    core: Matrix,
    chan: Matrix,
    timers: Vector,
    link: Links,
    slots: Slots,
    watch: Matrix,
    p: int,
) -> None:
    """Issue the core's next load when MTE2 is idle and the step's slot is known to be free."""
    step_no = core[p, LD_STEP_NO]
    if chan[p, STATE] != IDLE or par[STEPS] == 0 or core[p, LD_TILE] == core[p, TILES]:
        return
    if core[p, V_STEP_NO] + BUFFERS <= step_no:
        return
    m_off, n_off, height, width, _ = find_tile(par, p, core[p, LD_TILE])
    step = core[p, LD_STEP]
    k0 = step * par[BASE_K]
    depth = min(par[BASE_K], par[LEN_K] - k0)
    operand = par[FIRST_OPERAND] ^ core[p, LD_PART]
    if operand == OPERAND_A:
        which = m_off // par[BASE_M] * par[STEPS] + step
        offset, extent = m_off, height
    else:
        which = par[FIRST_B] + n_off // par[BASE_N] * par[STEPS] + step
        offset, extent = n_off, width
    slab = slab_rows(par, operand, offset, extent, k0, depth)
    rows, run, _, _ = slab
    bias = width * par[BIAS_BYTES] if core[p, LD_PART] and step == 0 else 0
    find_kind(par, glob, core, chan, link, slots, watch, p, operand, which, rows * run)
    count_bytes(par, chan, p, slab, bias)
    port = par[AIV_HBM_Q] if chan[p, KIND] >= LEADER else par[AIV_L2_Q]
    chan[p, EARLIEST] = max(span(chan[p, L2_BYTES], port), rows * par[ROW_TICKS])
    issue(par, glob, chan, timers, p, core[p, V_SLOT_FREE + step_no % BUFFERS])


@inline
def complete_load(
    par: Vector,
    glob: Vector,
    core: Matrix,
    chan: Matrix,
    timers: Vector,
    link: Links,
    slots: Slots,
    log: Matrix,
    p: int,
) -> None:
    """A load is complete: its followers go on, the core turns to its next load."""
    close_load(par, glob, core, chan, timers, link, slots, p)
    now = glob[NOW]
    if log.shape[0]:
        operand = par[FIRST_OPERAND] ^ core[p, LD_PART]
        detail = LOG_OPERAND * operand + chan[p, KIND]
        note(log, glob, p, PIPE_MTE2, chan[p, BEGIN], now, core[p, LD_TILE], detail)
    core[p, LD_PART] ^= 1
    if core[p, LD_PART]:
        return
    core[p, V_LOADED + core[p, LD_STEP_NO] % BUFFERS] = now
    core[p, LD_STEP_NO] += 1
    core[p, LD_STEP] += 1
    if core[p, LD_STEP] == par[STEPS]:
        core[p, LD_STEP] = 0
        core[p, LD_TILE] += 1


@inline
def advance_vector(par: Vector, glob: Vector, core: Matrix, log: Matrix, p: int) -> None:
    """V goes on as far as what is loaded and stored allows."""
    while True:
        if core[p, V_STEP] == par[STEPS]:
            # The last tile must have left UB before its place takes the next one.
            if core[p, M3_DONE] < core[p, V_TILE]:
                return
            _, _, height, width, _ = find_tile(par, p, core[p, V_TILE])
            work = (par[WORK_CYCLES] + par[OUTPUT_CYCLES] * height * width) * TICKS_PER_CYCLE
            short = (height * width + par[LANES] - 1) // par[LANES] * TICKS_PER_CYCLE
            duration = par[SUMS] * (work + PASS_START_TICKS)
            duration += par[ELEMENT_PASSES] * (short + PASS_START_TICKS)
            end = max(core[p, V_FREE], core[p, LAST_STORE]) + duration
            if log.shape[0]:
                note(log, glob, p, PIPE_VECTOR, end - duration, end, core[p, V_TILE], V_FINISH)
            core[p, V_FREE] = end
            core[p, BUSY_V] += duration
            core[p, V_TILE_END] = end
            core[p, V_TILE] += 1
            core[p, V_STEP] = 0
        step_no = core[p, V_STEP_NO]
        if step_no == core[p, LD_STEP_NO]:
            return
        _, _, height, width, _ = find_tile(par, p, core[p, V_TILE])
        work = (par[WORK_CYCLES] + par[OUTPUT_CYCLES] * height * width) * TICKS_PER_CYCLE
        duration = par[PASSES] * (work + PASS_START_TICKS)
        end = max(core[p, V_FREE], core[p, V_LOADED + step_no % BUFFERS]) + duration
        if log.shape[0]:
            note(log, glob, p, PIPE_VECTOR, end - duration, end, core[p, V_TILE], V_STEP_DONE)
        core[p, BUSY_V] += duration
        core[p, V_FREE] = end
        core[p, V_SLOT_FREE + step_no % BUFFERS] = end
        core[p, V_STEP_NO] += 1
        core[p, V_STEP] += 1


@inline
def take_tile(
    par: Vector, glob: Vector, core: Matrix, chan: Matrix, timers: Vector, p: int
) -> None:
    """An idle MTE3 takes the next finished tile."""
    channel = par[CORES] + p
    if chan[channel, STATE] == IDLE and core[p, M3_TAKEN] < core[p, V_TILE]:
        chan[channel, STATE] = ISSUED
        chan[channel, NEED] = 0
        core[p, M3_TAKEN] += 1
        set_timer(par, glob, timers, channel, max(glob[NOW], core[p, V_TILE_END]))


@jit
def begin_store(
    par: Vector,
    glob: Vector,
    core: Matrix,
    chan: Matrix,
    link: Links,
    slots: Slots,
    watch: Matrix,
    share: Cube,
    p: int,
) -> None:
    """A tile begins to enter L2."""
    channel = par[CORES] + p
    _, _, height, width, which = find_tile(par, p, core[p, M3_TAKEN] - 1)
    row = width * par[C_ELEMENT_BYTES]
    if width == par[LEN_N]:
        height, row = 1, height * row
    chan[channel, STATE] = IN_DATA
    chan[channel, BEGIN] = glob[NOW]
    chan[channel, EARLIEST] = glob[NOW] + span(height * up(row, UB_BLOCK_BYTES), par[AIV_STORE_Q])
    enter_l2(par, glob, chan, link, slots, watch, share, channel, which, height * row, False)


@jit
def simulate_vector(
    par: Vector,
    glob: Vector,
    core: Matrix,
    chan: Matrix,
    timers: Vector,
    link: Links,
    slots: Slots,
    share: Cube,
    watch: Matrix,
    log: Matrix,
) -> None:
    """Run all cores until nothing is left to happen."""
    cores = par[CORES]
    for p in range(cores):
        take_tile(par, glob, core, chan, timers, p)
        issue_load(par, glob, core, chan, timers, link, slots, watch, p)
    while True:
        timer = move_on(par, glob, chan, timers, share, watch)
        if timer < 0:
            return
        if timer == NEVER:
            continue
        channel = wake(par, glob, timers, timer)
        p = channel % cores
        if chan[channel, STATE] == ISSUED:
            if channel < cores:
                begin_load(par, glob, chan, share, p)
            else:
                begin_store(par, glob, core, chan, link, slots, watch, share, p)
            continue
        if channel < cores:
            complete_load(par, glob, core, chan, timers, link, slots, log, p)
        else:
            core[p, BUSY_MTE3] += glob[NOW] - chan[channel, BEGIN]
            complete_mte3(glob, core, chan, log, p, channel, core[p, M3_DONE])
        if par[STEPS]:
            advance_vector(par, glob, core, log, p)
        take_tile(par, glob, core, chan, timers, p)
        issue_load(par, glob, core, chan, timers, link, slots, watch, p)


def needs_compiling() -> bool:
    """Whether the first run will take the time to compile the engine, some seconds."""
    return jit_module.needs_compiling(simulate_vector)


def emulate_vector(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants
) -> EmulationResult:
    """Run the plan's kernel on the vector cores.

    The time is linear in the events; `extrapolation.emulate_long` bounds it.

    Raises:
        InputError: the plan is none of a vector template, cannot compute the problem, or has more
            events than are emulated one by one.
    """
    return _execute(prepare_vector(problem, plan, constants), log_rows=0)[0]


def emulate_vector_with_log(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants
) -> tuple[EmulationResult, EventLog]:
    """As `emulate_vector`, with a log of everything that every pipe did.

    Raises:
        InputError: as `emulate_vector`.
    """
    run = prepare_vector(problem, plan, constants)
    result, rows = _execute(run, log_rows=count_vector_log_rows(run))
    starts = np.concatenate([[0], np.cumsum(run.tiles)])
    # The engine counts the tiles of each core, the log those of all.
    rows[:, LOG_ITEM] += starts[rows[:, LOG_CORE]]
    return result, EventLog(rows=rows, items=list_tiles(run), starts=starts)


def _execute(run: VectorRun, *, log_rows: int) -> tuple[EmulationResult, Matrix]:
    """Run and collect the result and the rows of the log."""
    cores = len(run.tiles)
    channels = 2 * cores
    glob = start_of_chip()
    core = np.zeros((cores, VECTOR_CORE_SIZE), dtype=np.int64)
    core[:, TILES] = run.tiles
    if run.par[STEPS] == 0:
        # Nothing to compute: all pieces are ready at the launch.
        core[:, V_TILE] = run.tiles
        core[:, V_TILE_END] = run.par[LAUNCH]
    log = np.zeros((log_rows, LOG_SIZE), dtype=np.int64)
    simulate_vector(
        run.par,
        glob,
        core,
        idle_channels(channels),
        np.full(channels, NEVER, dtype=np.int64),
        *absent_objects(run.objects),
        np.zeros((2, 2, SHARE_ROOM), dtype=np.int64),
        np.zeros((2, channels + 1), dtype=np.int64),
        log,
    )
    assert glob[STORES] == run.tiles.sum(), "the emulated kernel hangs"
    activities = tuple(
        CoreActivity(
            mte2_ticks=int(row[BUSY_MTE2]),
            mte1_ticks=0,
            cube_ticks=0,
            fixpipe_ticks=int(row[BUSY_MTE3]),
            end_ticks=int(row[LAST_STORE]),
            vector_ticks=int(row[BUSY_V]),
        )
        for row in core
    )
    return make_result(glob, int(core[:, LAST_STORE].max()), activities), log[: glob[LOG_ROWS]]
