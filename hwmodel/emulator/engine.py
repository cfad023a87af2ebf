"""The fast engine: runs a kernel event by event (docs/emulator.md)."""

from dataclasses import dataclass

import numpy as np

import hwmodel.jit as jit_module
from hwmodel.emulator.compute import (
    GRAIN_TICKS,
    MARK_SIZE,
    Marks,
    advance_compute,
    enter_item,
)
from hwmodel.emulator.constants import EmulatorConstants
from hwmodel.emulator.geometry import Vector
from hwmodel.emulator.item_walk import Items, Source
from hwmodel.emulator.layout import (
    BUSY_CUBE,
    BUSY_FIX,
    BUSY_MTE1,
    BUSY_MTE2,
    CHAN_SIZE,
    CHANNEL,
    CHANNEL_BITS,
    CHANNEL_MASK,
    CLOCK,
    CORE_SIZE,
    CORES,
    DEPTH,
    FOLLOWS,
    FX_END,
    FX_START,
    GLOB_SIZE,
    HBM,
    HBM_GRAINS,
    HBM_READ_BYTES,
    HBM_WRITE_BYTES,
    HITS,
    ISSUED,
    K_L1,
    L2,
    L2_GRAINS,
    LAST_STORE,
    LAST_WORKSPACE,
    LD_ITEM,
    LD_ITEMS_LEFT,
    LD_STEPS,
    LINK_SIZE,
    LIST_HEAD,
    LIST_TAIL,
    LOAD_BYTES,
    LOADS,
    LOG_ROWS,
    LOG_SIZE,
    M1_ITEMS_LEFT,
    M3_DONE,
    MIN_MTE2,
    MIN_OUT,
    NEVER,
    NO_OBJECT,
    NO_SLOT,
    NOW,
    PASS,
    PASS_MASK,
    SHARE_HEAD,
    SHARE_ROOM,
    SHARE_TAIL,
    STATE,
    STORE_BYTES,
    STORES,
    TARGET,
    TIME_SHIFT,
    UB_ITEM,
    UNTIL,
    WAITS_FOR,
    WATCH_HEAD,
    WATCH_TAIL,
    WRITE_SPEED,
    WRITES_ALONE,
    WRITES_BACK,
)
from hwmodel.emulator.loads import begin_load, complete_load, issue_load
from hwmodel.emulator.memory import Cube, Links, Matrix, Slots, release_shares, release_watches
from hwmodel.emulator.result import CoreActivity, EmulationResult
from hwmodel.emulator.setup import (
    Run,
    compute_reduction_ticks,
    count_log_rows,
    prepare,
)
from hwmodel.emulator.stores import (
    begin_fix,
    begin_mte3,
    complete_fix,
    complete_mte3,
    take_tile,
)
from hwmodel.jit import inline, jit
from hwmodel.plan import KernelPlan
from hwmodel.problem import GemmProblem


@inline
def foresee(glob: Vector, resource: int, target: int, users: int, grains: int) -> int:
    """When the resource's clock reaches the target if nothing changes."""
    left = (target - glob[CLOCK + resource]) * users
    return int(glob[NOW] + (left + grains - 1) // grains)


@inline
def next_hbm(par: Vector, glob: Vector, share: Cube, watch: Matrix) -> int:
    """When HBM serves a share, reaches a watch or ends the write-back."""
    head, tail = glob[SHARE_HEAD + HBM], glob[SHARE_TAIL + HBM]
    users = tail - head
    target, alone = NEVER, NEVER
    if users:
        target = share[HBM, TARGET, head]
    if glob[WRITES_BACK]:
        reached = glob[UNTIL]
        if glob[WATCH_HEAD] < glob[WATCH_TAIL]:
            reached = min(reached, watch[TARGET, glob[WATCH_HEAD] % watch.shape[1]])
        if par[WRITES_ALONE]:
            alone = reached
        else:
            users += par[WRITE_SPEED]
            target = min(target, reached)
    if users == 0:
        return alone
    return min(alone, foresee(glob, HBM, target, users, par[HBM_GRAINS]))


@inline
def next_l2(par: Vector, glob: Vector, share: Cube) -> int:
    """When L2 serves a share."""
    head = glob[SHARE_HEAD + L2]
    users = glob[SHARE_TAIL + L2] - head
    if users == 0:
        return NEVER
    return foresee(glob, L2, share[L2, TARGET, head], users, par[L2_GRAINS])


@inline
def move_clocks(par: Vector, glob: Vector, now: int) -> None:
    """Both virtual clocks and the time advance to `now`."""
    passed = now - glob[NOW]
    users = glob[SHARE_TAIL + HBM] - glob[SHARE_HEAD + HBM]
    if glob[WRITES_BACK] and not par[WRITES_ALONE]:
        users += par[WRITE_SPEED]
    if users:
        glob[CLOCK + HBM] += passed * par[HBM_GRAINS] // users
    users = glob[SHARE_TAIL + L2] - glob[SHARE_HEAD + L2]
    if users:
        glob[CLOCK + L2] += passed * par[L2_GRAINS] // users
    glob[NOW] = now
    glob[PASS] = 0
    glob[CHANNEL] = -1


@inline
def least_timer(timers: Vector, first: int, end: int) -> int:
    """The next timer among some channels."""
    least = NEVER
    for channel in range(first, end):
        least = min(least, int(timers[channel]))
    return least


@inline
def move_on(
    par: Vector, glob: Vector, chan: Matrix, timers: Vector, share: Cube, watch: Matrix
) -> int:
    """Go to the next event; the timer that is due, or NEVER when only shares were served.

    When nothing is left to happen, -1.
    """
    timer = int(min(glob[MIN_MTE2], glob[MIN_OUT]))
    hbm_time = next_hbm(par, glob, share, watch)
    l2_time = next_l2(par, glob, share)
    now = min(timer >> TIME_SHIFT, hbm_time, l2_time)
    if now >= NEVER >> TIME_SHIFT:
        return -1
    if now > glob[NOW]:
        move_clocks(par, glob, now)
    if hbm_time > now and l2_time > now:
        return timer
    if hbm_time <= now:
        release_shares(par, glob, chan, timers, share, HBM)
        release_watches(par, glob, chan, timers, watch)
    if l2_time <= now:
        release_shares(par, glob, chan, timers, share, L2)
    return NEVER


@inline
def wake(par: Vector, glob: Vector, timers: Vector, timer: int) -> int:
    """The channel whose timer is due; the timer is reset."""
    channel = timer & CHANNEL_MASK
    glob[PASS] = (timer >> CHANNEL_BITS) & PASS_MASK
    glob[CHANNEL] = channel
    timers[channel] = NEVER
    if channel < par[CORES]:
        glob[MIN_MTE2] = least_timer(timers, 0, par[CORES])
    else:
        glob[MIN_OUT] = least_timer(timers, par[CORES], timers.shape[0])
    return channel


@jit
def simulate(
    par: Vector,
    items: Items,
    starts: Vector,
    source: Source,
    glob: Vector,
    core: Matrix,
    marks: Marks,
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
        if starts[p] < starts[p + 1]:
            enter_item(par, items, core, p, starts[p])
            issue_load(par, items, glob, core, marks, chan, timers, link, slots, watch, p)
    while True:
        timer = move_on(par, glob, chan, timers, share, watch)
        if timer < 0:
            return
        if timer == NEVER:
            continue
        channel = wake(par, glob, timers, timer)
        begins = chan[channel, STATE] == ISSUED
        p = channel % cores
        if channel < cores:
            if begins:
                begin_load(par, glob, chan, share, p)
            else:
                complete_load(
                    par,
                    items,
                    glob,
                    core,
                    chan,
                    timers,
                    link,
                    slots,
                    source,
                    starts,
                    log,
                    p,
                )
        elif channel < 2 * cores:
            if begins:
                begin_fix(par, items, glob, core, chan, timers, link, slots, watch, share, p)
            else:
                complete_fix(par, items, glob, core, chan, log, p)
        elif begins:
            begin_mte3(par, items, glob, core, chan, link, slots, watch, share, p)
        else:
            item = core[p, UB_ITEM + (core[p, M3_DONE] & 1)]
            complete_mte3(glob, core, chan, log, p, channel, item)
        if not begins:
            advance_compute(par, items, starts, core, marks, glob, log, p)
            take_tile(par, glob, core, chan, timers, p)
            issue_load(par, items, glob, core, marks, chan, timers, link, slots, watch, p)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLog:
    """What every pipe did when.

    Attributes:
        rows: one row a piece of work; columns LOG_* of `layout.py`, times in ticks.
        items: the work items the rows refer to; columns of `layout.py`.
        starts: first item of each core, and the number of items.
    """

    rows: Matrix
    items: Items
    starts: Vector


def needs_compiling() -> bool:
    """Whether the first run will take the time to compile the engine, about fifteen seconds.

    Once compiled it is kept for later starts. A program that starts workers calls `emulate` on any
    small kernel before, so that it is compiled once.
    """
    return jit_module.needs_compiling(simulate)


def emulate(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants
) -> EmulationResult:
    """Run the plan's kernel on the problem.

    Raises:
        InputError: the plan is none of a cube template, or cannot compute the problem.
    """
    return _execute(prepare(problem, plan, constants, logs=False), logs=False)[0]


def emulate_drifted(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants, skipped: Vector
) -> EmulationResult:
    """As `emulate`, but each core leaves out its first `skipped` whole blocks.

    So the cores are as far apart as they are late in a long kernel.

    Raises:
        InputError: as `emulate`.
    """
    return _execute(prepare(problem, plan, constants, logs=False, skipped=skipped), logs=False)[0]


def emulate_with_log(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants
) -> tuple[EmulationResult, EventLog]:
    """As `emulate`, with a log of everything that every pipe did.

    Raises:
        InputError: as `emulate`.
    """
    return _execute(prepare(problem, plan, constants, logs=True), logs=True)


def _execute(run: Run, *, logs: bool) -> tuple[EmulationResult, EventLog]:
    """Run and collect the result."""
    par, items, starts = run.par, run.work.items, run.work.starts
    cores = int(par[CORES])
    channels = 3 * cores
    glob = start_of_chip()
    core = _start_of_cores(run)
    log = np.zeros((count_log_rows(run) if logs else 0, LOG_SIZE), dtype=np.int64)
    simulate(
        par,
        items,
        starts,
        run.work.source,
        glob,
        core,
        np.full((cores, run.resident_slabs, MARK_SIZE), -1, dtype=np.int64),
        idle_channels(channels),
        np.full(channels, NEVER, dtype=np.int64),
        *absent_objects(run.work.objects),
        np.zeros((2, 2, SHARE_ROOM), dtype=np.int64),
        np.zeros((2, channels + 1), dtype=np.int64),
        log,
    )
    assert glob[STORES] == run.work.counts.sum(), "the emulated kernel hangs"
    event_log = EventLog(rows=log[: glob[LOG_ROWS]], items=items, starts=starts)
    return _collect(run, glob, core), event_log


def start_of_chip() -> Vector:
    """The vector `glob` at time 0."""
    glob = np.zeros(GLOB_SIZE, dtype=np.int64)
    glob[[MIN_MTE2, MIN_OUT]] = NEVER
    glob[[LIST_HEAD, LIST_TAIL]] = NO_OBJECT
    glob[CHANNEL] = -1
    return glob


def absent_objects(objects: int) -> tuple[Links, Slots]:
    """The arrays `link` and `slots` at time 0.

    There is a row for every object; of those that are never used the system provides no memory.
    """
    link = np.zeros((objects + 1, LINK_SIZE), dtype=np.int32)
    return link, np.zeros(objects, dtype=np.int32)


def idle_channels(channels: int) -> Matrix:
    """The array `chan` at time 0."""
    chan = np.zeros((channels, CHAN_SIZE), dtype=np.int64)
    chan[:, WAITS_FOR] = NO_SLOT
    return chan


def _start_of_cores(run: Run) -> Matrix:
    """The array `core` at time 0."""
    items, starts = run.work.items, run.work.starts
    core = np.zeros((len(starts) - 1, CORE_SIZE), dtype=np.int64)
    core[:, LD_ITEM] = starts[:-1]
    core[:, LD_ITEMS_LEFT] = run.work.counts
    core[:, M1_ITEMS_LEFT] = run.work.counts
    core[:, FX_START : FX_START + 2] = -GRAIN_TICKS
    core[:, FX_END : FX_END + 2] = -GRAIN_TICKS
    has_items = starts[:-1] < starts[1:]
    depths = items[starts[:-1][has_items], DEPTH].astype(np.int64)
    core[has_items, LD_STEPS] = -(-depths // run.par[K_L1])
    return core


def _collect(run: Run, glob: Vector, core: Matrix) -> EmulationResult:
    """The result of a finished run."""
    end = int(core[:, LAST_STORE].max())
    if run.slots:
        reduction_start = int(core[:, LAST_WORKSPACE].max()) + run.barrier_ticks
        end = max(end, reduction_start + compute_reduction_ticks(run))
    cores = tuple(
        CoreActivity(
            mte2_ticks=int(row[BUSY_MTE2]),
            mte1_ticks=int(row[BUSY_MTE1]),
            cube_ticks=int(row[BUSY_CUBE]),
            fixpipe_ticks=int(row[BUSY_FIX]),
            end_ticks=int(row[LAST_STORE]),
        )
        for row in core
    )
    return make_result(glob, end, cores)


def make_result(
    glob: Vector, makespan_ticks: int, cores: tuple[CoreActivity, ...]
) -> EmulationResult:
    """The result of a finished run from what was counted."""
    return EmulationResult(
        makespan_ticks=makespan_ticks,
        events=int(glob[LOADS] + glob[STORES]),
        loads=int(glob[LOADS]),
        hits=int(glob[HITS]),
        follows=int(glob[FOLLOWS]),
        load_bytes=int(glob[LOAD_BYTES]),
        hbm_read_bytes=int(glob[HBM_READ_BYTES]),
        hbm_write_bytes=int(glob[HBM_WRITE_BYTES]),
        store_bytes=int(glob[STORE_BYTES]),
        cores=cores,
    )
