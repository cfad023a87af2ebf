"""FIX and MTE3: the way of the tiles out of L0C (docs/emulator.md, section 3)."""

from hwmodel.emulator.compute import GRAIN_TICKS, note
from hwmodel.emulator.geometry import Vector, span, unaligned_ends, up
from hwmodel.emulator.item_walk import Items
from hwmodel.emulator.layout import (
    AIV_STORE_Q,
    BEGIN,
    BUSY_FIX,
    C_BLOCK,
    C_ELEMENT_BYTES,
    COLS,
    CORES,
    CU_TILE,
    EARLIEST,
    FIXPIPE_Q,
    FX_DONE,
    FX_END,
    FX_SIZE,
    FX_START,
    FX_TAKEN,
    FX_TICKS,
    IDLE,
    IN_DATA,
    IS_WIDE_C,
    ISSUED,
    K_OFF,
    L0C_HALVES,
    L2,
    L2_BYTES,
    LAST_STORE,
    LAST_WORKSPACE,
    M3_DONE,
    M3_TAKEN,
    M_OFF,
    N_OFF,
    NEED,
    NO_OBJECT,
    NOW,
    PARTIAL_TICKS,
    PIPE_FIX,
    PIPE_MTE3,
    ROWS,
    STATE,
    STORE_BYTES,
    STORES,
    TILE_END,
    TILE_ITEM,
    TILE_START,
    UB_ITEM,
    UB_SLOTS,
)
from hwmodel.emulator.memory import (
    Cube,
    Links,
    Matrix,
    Slots,
    set_timer,
    take_share,
    write_object,
)
from hwmodel.jit import inline, jit

L0C_ELEMENT_BYTES = 4
"""L0C holds fp32."""

UB_BLOCK_BYTES = 32
"""Rows in UB are whole blocks of this size."""


@inline
def take_tile(
    par: Vector, glob: Vector, core: Matrix, chan: Matrix, timers: Vector, p: int
) -> None:
    """An idle FIX takes the next tile, an idle MTE3 the next full UB slot."""
    channel, taken = par[CORES] + p, core[p, FX_TAKEN]
    has_room = par[UB_SLOTS] == 0 or taken - core[p, M3_DONE] < par[UB_SLOTS]
    if chan[channel, STATE] == IDLE and taken < core[p, CU_TILE] and has_room:
        chan[channel, STATE] = ISSUED
        chan[channel, NEED] = 0
        core[p, FX_TAKEN] = taken + 1
        start = max(glob[NOW], core[p, TILE_START + (taken & 1)] + GRAIN_TICKS)
        set_timer(par, glob, timers, channel, start)
    channel += par[CORES]
    if par[UB_SLOTS] and chan[channel, STATE] == IDLE and core[p, M3_TAKEN] < core[p, FX_DONE]:
        chan[channel, STATE] = ISSUED
        chan[channel, NEED] = 0
        core[p, M3_TAKEN] += 1
        set_timer(par, glob, timers, channel, glob[NOW])


@inline
def enter_l2(
    par: Vector,
    glob: Vector,
    chan: Matrix,
    link: Links,
    slots: Slots,
    watch: Matrix,
    share: Cube,
    channel: int,
    which: int,
    size: int,
    is_in_place: bool,
) -> None:
    """A tile of `size` bytes begins to enter L2, where it belongs to the object `which`.

    In place: its bytes were part of the object before.
    """
    chan[channel, L2_BYTES] = size
    write_object(par, glob, chan, link, slots, watch, channel, which, size, is_in_place)
    chan[channel, NEED] += 1
    take_share(glob, share, L2, channel, size)


@jit
def begin_store(
    par: Vector,
    items: Items,
    glob: Vector,
    chan: Matrix,
    link: Links,
    slots: Slots,
    watch: Matrix,
    share: Cube,
    channel: int,
    item: int,
) -> None:
    """A tile of the cube begins to enter L2."""
    size = int(items[item, ROWS]) * int(items[item, COLS])
    which = items[item, C_BLOCK]
    size *= L0C_ELEMENT_BYTES if which == NO_OBJECT else par[C_ELEMENT_BYTES]
    # Later fp32 slices of K are added to the first.
    is_in_place = items[item, K_OFF] > 0
    enter_l2(par, glob, chan, link, slots, watch, share, channel, which, size, is_in_place)


@jit
def begin_fix(
    par: Vector,
    items: Items,
    glob: Vector,
    core: Matrix,
    chan: Matrix,
    timers: Vector,
    link: Links,
    slots: Slots,
    watch: Matrix,
    share: Cube,
    p: int,
) -> None:
    """The fixpipe starts on a tile."""
    channel, now = par[CORES] + p, glob[NOW]
    tile = core[p, FX_TAKEN] - 1
    item = core[p, TILE_ITEM + (tile & 1)]
    chan[channel, STATE] = IN_DATA
    chan[channel, BEGIN] = now
    core[p, FX_START + (tile & (par[L0C_HALVES] - 1))] = now
    rows, cols = int(items[item, ROWS]), int(items[item, COLS])
    size = rows * cols * L0C_ELEMENT_BYTES
    if core[p, FX_SIZE] != size:
        core[p, FX_SIZE] = size
        core[p, FX_TICKS] = span(size, par[FIXPIPE_Q])
    end = now + core[p, FX_TICKS]
    released = core[p, TILE_END + (tile & 1)] + GRAIN_TICKS
    if par[UB_SLOTS]:
        set_timer(par, glob, timers, channel, max(end, released))
        return
    if items[item, C_BLOCK] != NO_OBJECT:
        m_off, n_off = int(items[item, M_OFF]), int(items[item, N_OFF])
        ends = unaligned_ends(par, m_off, n_off, rows, cols)
        end += ends * par[PARTIAL_TICKS]
    chan[channel, EARLIEST] = max(end, released)
    begin_store(par, items, glob, chan, link, slots, watch, share, channel, item)


@jit
def begin_mte3(
    par: Vector,
    items: Items,
    glob: Vector,
    core: Matrix,
    chan: Matrix,
    link: Links,
    slots: Slots,
    watch: Matrix,
    share: Cube,
    p: int,
) -> None:
    """The vector cores start to write a UB slot to memory."""
    channel = 2 * par[CORES] + p
    item = core[p, UB_ITEM + ((core[p, M3_TAKEN] - 1) & 1)]
    chan[channel, STATE] = IN_DATA
    chan[channel, BEGIN] = glob[NOW]
    rows = int(items[item, ROWS])
    if par[IS_WIDE_C]:
        # Both vector cores of the cube core share the rows.
        rows = (rows + 1) // 2
    size = rows * up(items[item, COLS] * par[C_ELEMENT_BYTES], UB_BLOCK_BYTES)
    chan[channel, EARLIEST] = glob[NOW] + span(size, par[AIV_STORE_Q])
    begin_store(par, items, glob, chan, link, slots, watch, share, channel, item)


@inline
def complete_fix(
    par: Vector, items: Items, glob: Vector, core: Matrix, chan: Matrix, log: Matrix, p: int
) -> None:
    """The fixpipe has moved a tile."""
    channel, now = par[CORES] + p, glob[NOW]
    tile = core[p, FX_DONE]
    item = core[p, TILE_ITEM + (tile & 1)]
    chan[channel, STATE] = IDLE
    core[p, BUSY_FIX] += now - chan[channel, BEGIN]
    core[p, FX_END + (tile & (par[L0C_HALVES] - 1))] = now
    core[p, FX_DONE] = tile + 1
    if log.shape[0]:
        note(log, glob, p, PIPE_FIX, chan[channel, BEGIN], now, item, 0)
    if par[UB_SLOTS]:
        core[p, UB_ITEM + (tile & 1)] = item
        return
    count_store(glob, core, p, chan[channel, L2_BYTES])
    if items[item, C_BLOCK] == NO_OBJECT:
        core[p, LAST_WORKSPACE] = now


@inline
def complete_mte3(
    glob: Vector, core: Matrix, chan: Matrix, log: Matrix, p: int, channel: int, item: int
) -> None:
    """MTE3 has written a tile from UB."""
    chan[channel, STATE] = IDLE
    core[p, M3_DONE] += 1
    count_store(glob, core, p, chan[channel, L2_BYTES])
    if log.shape[0]:
        note(log, glob, p, PIPE_MTE3, chan[channel, BEGIN], glob[NOW], item, 0)


@inline
def count_store(glob: Vector, core: Matrix, p: int, size: int) -> None:
    """A tile is in memory."""
    glob[STORES] += 1
    glob[STORE_BYTES] += size
    core[p, LAST_STORE] = glob[NOW]
