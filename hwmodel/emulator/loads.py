"""MTE2: the loads of a core and what they find in L2 (docs/emulator.md, sections 2 and 3)."""

from hwmodel.emulator.compute import MARK_LOADED, MARK_READ, MARK_READ_TIME, Marks, note
from hwmodel.emulator.geometry import Vector, count_straddles, slab_rows, span
from hwmodel.emulator.item_walk import Items, Source, next_row, refill
from hwmodel.emulator.layout import (
    A_BLOCK,
    A_OWN,
    B_BLOCK,
    BASE_M,
    BEGIN,
    BIAS_BYTES,
    BUSY_MTE2,
    COLS,
    CORES,
    DEPTH,
    EARLIEST,
    FIRST_B,
    FOLLOWER,
    FOLLOWERS,
    FOLLOWS,
    HBM,
    HBM_BYTES,
    HBM_READ_BYTES,
    HIT,
    HITS,
    IDLE,
    IN_DATA,
    IN_FLIGHT,
    K_L1,
    K_OFF,
    K_SLAB,
    K_SLABS,
    KEEP,
    KEEP_A,
    KEEP_A_PANEL,
    KEEP_B,
    KEEP_B_PANEL,
    KIND,
    L1_SLOTS,
    L2,
    L2_BYTES,
    LD_FREE,
    LD_IS_STARTED,
    LD_ITEM,
    LD_ITEMS_LEFT,
    LD_LAST_OPERAND,
    LD_OPERAND,
    LD_PORT_A,
    LD_PORT_BYTES_A,
    LD_PRELOAD,
    LD_STEP,
    LD_STEP_NO,
    LD_STEPS,
    LEADER,
    LEN_K,
    LEN_M,
    LOAD_BYTES,
    LOADED,
    LOADS,
    LOG_OPERAND,
    M1_STEP_NO,
    M_OFF,
    NEED,
    NO_OBJECT,
    NO_SLOT,
    NOW,
    O_STATE,
    OPERAND_A,
    OPERAND_B,
    PIPE_MTE2,
    PORT_Q,
    PRELOADS,
    RESIDENT,
    RESIDENT_OBJECT,
    REUSES,
    ROW_TICKS,
    ROWS,
    SLOT,
    SLOT_FREE,
    STATE,
    STRADDLE_TICKS_A,
    WAITS_FOR,
)
from hwmodel.emulator.memory import (
    Cube,
    Links,
    Matrix,
    Slots,
    free_slot,
    meet,
    take_share,
)
from hwmodel.emulator.request import count_bytes, find_kind, issue
from hwmodel.jit import inline


@inline
def start_step(par: Vector, items: Items, core: Matrix, marks: Marks, p: int) -> bool:
    """Whether the core's next L1 step may be loaded; then fixes which operands it loads."""
    step_no, step, item = core[p, LD_STEP_NO], core[p, LD_STEP], core[p, LD_ITEM]
    if core[p, M1_STEP_NO] + par[L1_SLOTS] <= step_no:
        return False
    free = core[p, SLOT_FREE + step_no % par[L1_SLOTS]]
    keep = par[KEEP]
    loads_a = loads_b = True
    if keep == KEEP_A:
        loads_a = items[item, A_BLOCK] + step >= par[RESIDENT]
    elif keep == KEEP_B:
        loads_b = items[item, B_BLOCK] - par[FIRST_B] + step >= par[RESIDENT]
    elif keep >= KEEP_A_PANEL and step < par[RESIDENT]:
        if items[item, REUSES]:
            loads_a, loads_b = keep == KEEP_B_PANEL, keep == KEEP_A_PANEL
        elif marks[p, step, MARK_LOADED] != marks[p, step, MARK_READ]:
            return False
        else:
            free = max(free, marks[p, step, MARK_READ_TIME])
        marks[p, step, MARK_LOADED] = step_no
    core[p, LD_FREE] = free
    core[p, LD_OPERAND] = OPERAND_A if loads_a else OPERAND_B
    core[p, LD_LAST_OPERAND] = OPERAND_B if loads_b else OPERAND_A
    core[p, LD_IS_STARTED] = 1
    return True


@inline
def request(
    par: Vector,
    glob: Vector,
    core: Matrix,
    chan: Matrix,
    timers: Vector,
    link: Links,
    slots: Slots,
    watch: Matrix,
    p: int,
    place: tuple[int, int, int, int, int],
    objects: tuple[int, int],
    bias: int,
    free: int,
) -> None:
    """Issue a load of a slab.

    `place` is operand, offset, size, k0 and width; `objects` the block's object and the own one.
    """
    operand, offset, extent, k0, width = place
    slab = slab_rows(par, operand, offset, extent, k0, width)
    rows, run, pitch, start = slab
    which, own = objects
    if own != NO_OBJECT and slots[which] == NO_SLOT:
        which = own
    find_kind(par, glob, core, chan, link, slots, watch, p, operand, which, rows * run)
    count_bytes(par, chan, p, slab, bias)
    size = chan[p, L2_BYTES]
    if core[p, LD_PORT_BYTES_A + operand] != size:
        core[p, LD_PORT_BYTES_A + operand] = size
        core[p, LD_PORT_A + operand] = span(size, par[PORT_Q])
    chan[p, EARLIEST] = max(core[p, LD_PORT_A + operand], rows * par[ROW_TICKS])
    straddle_ticks = par[STRADDLE_TICKS_A + operand]
    if straddle_ticks:
        chan[p, EARLIEST] += count_straddles(rows, run, pitch, start) * straddle_ticks
    issue(par, glob, chan, timers, p, free)


@inline
def find_preload(
    par: Vector, number: int
) -> tuple[tuple[int, int, int, int, int], tuple[int, int]]:
    """Place and objects of a slab that is loaded before the first item."""
    operand = OPERAND_A if par[KEEP] == KEEP_A else OPERAND_B
    base, length = par[BASE_M + operand], par[LEN_M + operand]
    offset, k0 = number // par[K_SLABS] * base, number % par[K_SLABS] * par[K_L1]
    extent, width = min(base, length - offset), min(par[K_L1], par[LEN_K] - k0)
    first = par[FIRST_B] if operand == OPERAND_B else 0
    return (operand, offset, extent, k0, width), (first + number, NO_OBJECT)


@inline
def issue_load(
    par: Vector,
    items: Items,
    glob: Vector,
    core: Matrix,
    marks: Marks,
    chan: Matrix,
    timers: Vector,
    link: Links,
    slots: Slots,
    watch: Matrix,
    p: int,
) -> None:
    """Issue the core's next load when MTE2 is idle and the step's slot is known to be free."""
    item = core[p, LD_ITEM]
    if chan[p, STATE] != IDLE or core[p, LD_ITEMS_LEFT] == 0:
        return
    if core[p, LD_PRELOAD] < par[PRELOADS]:
        place, objects = find_preload(par, core[p, LD_PRELOAD])
        request(par, glob, core, chan, timers, link, slots, watch, p, place, objects, 0, 0)
        return
    if not core[p, LD_IS_STARTED] and not start_step(par, items, core, marks, p):
        return
    operand, step = core[p, LD_OPERAND], core[p, LD_STEP]
    k_done = step * par[K_L1]
    k0 = items[item, K_OFF] + k_done
    width = min(par[K_L1], items[item, DEPTH] - k_done)
    offset, extent = int(items[item, M_OFF + operand]), int(items[item, ROWS + operand])
    place = (operand, offset, extent, k0, width)
    slab = items[item, K_SLAB] + step
    own = items[item, A_OWN + operand]
    objects = (
        items[item, A_BLOCK + operand] + slab,
        own + slab if own != NO_OBJECT else NO_OBJECT,
    )
    bias = items[item, COLS] * par[BIAS_BYTES] if operand and k0 == 0 else 0
    request(
        par,
        glob,
        core,
        chan,
        timers,
        link,
        slots,
        watch,
        p,
        place,
        objects,
        bias,
        core[p, LD_FREE],
    )


@inline
def begin_load(par: Vector, glob: Vector, chan: Matrix, share: Cube, p: int) -> None:
    """The data phase begins: the load takes its shares."""
    chan[p, STATE] = IN_DATA
    chan[p, BEGIN] = glob[NOW]
    chan[p, EARLIEST] += glob[NOW]
    chan[p, NEED] += 1
    take_share(glob, share, L2, p, chan[p, L2_BYTES])
    if chan[p, KIND] >= LEADER:
        chan[p, NEED] += 1
        take_share(glob, share, HBM, p, chan[p, HBM_BYTES])


@inline
def close_load(
    par: Vector,
    glob: Vector,
    core: Matrix,
    chan: Matrix,
    timers: Vector,
    link: Links,
    slots: Slots,
    p: int,
) -> None:
    """A load is complete: it is counted, and its followers go on."""
    now, kind = glob[NOW], chan[p, KIND]
    chan[p, STATE] = IDLE
    core[p, BUSY_MTE2] += now - chan[p, BEGIN]
    glob[LOADS] += 1
    glob[LOAD_BYTES] += chan[p, L2_BYTES]
    glob[HBM_READ_BYTES] += chan[p, HBM_BYTES]
    if kind == HIT:
        glob[HITS] += 1
    elif kind == FOLLOWER:
        glob[FOLLOWS] += 1
    elif kind == LEADER:
        slot = chan[p, SLOT]
        if chan[p, FOLLOWERS]:
            for other in range(par[CORES]):
                if chan[other, WAITS_FOR] == slot:
                    chan[other, WAITS_FOR] = NO_SLOT
                    meet(par, glob, chan, timers, other)
        if link[slot, O_STATE] == IN_FLIGHT:
            link[slot, O_STATE] = RESIDENT_OBJECT
        else:
            free_slot(glob, link, slots, slot)


@inline
def complete_load(
    par: Vector,
    items: Items,
    glob: Vector,
    core: Matrix,
    chan: Matrix,
    timers: Vector,
    link: Links,
    slots: Slots,
    source: Source,
    starts: Vector,
    log: Matrix,
    p: int,
) -> None:
    """A load is complete: its followers go on, the core turns to its next load."""
    close_load(par, glob, core, chan, timers, link, slots, p)
    now, kind = glob[NOW], chan[p, KIND]
    is_preload = core[p, LD_PRELOAD] < par[PRELOADS]
    if log.shape[0]:
        item = NO_OBJECT if is_preload else core[p, LD_ITEM]
        operand = core[p, LD_OPERAND]
        if is_preload:
            operand = OPERAND_A if par[KEEP] == KEEP_A else OPERAND_B
        note(log, glob, p, PIPE_MTE2, chan[p, BEGIN], now, item, LOG_OPERAND * operand + kind)
    if is_preload:
        core[p, LD_PRELOAD] += 1
    elif core[p, LD_OPERAND] != core[p, LD_LAST_OPERAND]:
        core[p, LD_OPERAND] = core[p, LD_LAST_OPERAND]
    else:
        next_step(par, items, source, starts, core, p, now)


@inline
def next_step(
    par: Vector, items: Items, source: Source, starts: Vector, core: Matrix, p: int, now: int
) -> None:
    """A step's loads are complete: turn to the next step."""
    core[p, LOADED + core[p, LD_STEP_NO] % par[L1_SLOTS]] = now
    core[p, LD_STEP_NO] += 1
    core[p, LD_IS_STARTED] = 0
    core[p, LD_STEP] += 1
    if core[p, LD_STEP] == core[p, LD_STEPS]:
        core[p, LD_STEP] = 0
        core[p, LD_ITEMS_LEFT] -= 1
        if core[p, LD_ITEMS_LEFT]:
            item = next_row(starts, p, core[p, LD_ITEM])
            core[p, LD_ITEM] = item
            refill(source, items, starts, p, item)
            depth = items[item, DEPTH]
            core[p, LD_STEPS] = (depth + par[K_L1] - 1) // par[K_L1]
