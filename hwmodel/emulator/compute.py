"""MTE1 and the cube of one core as recurrences (docs/emulator.md, section 3)."""

import numpy as np
from numpy.typing import NDArray

from hwmodel.emulator.constants import TICKS_PER_CYCLE
from hwmodel.emulator.geometry import Vector, span, up
from hwmodel.emulator.item_walk import Items, next_row
from hwmodel.emulator.layout import (
    BASE_K,
    BUSY_CUBE,
    BUSY_MTE1,
    C0,
    COLS,
    CU_FREE,
    CU_TILE,
    DEPTH,
    ELEMENT_BYTES,
    FRACTAL_TICKS,
    FX_DONE,
    FX_END,
    FX_START,
    H_END,
    H_FREE,
    H_IS_FIRST,
    H_LAST_OF,
    H_TICKS,
    K_L1,
    KEEP,
    KEEP_A_PANEL,
    L0A_Q,
    L0B_Q,
    L0C_HALVES,
    L1_SLOTS,
    LD_STEP_NO,
    LOADED,
    LOG_CORE,
    LOG_DETAIL,
    LOG_END,
    LOG_ITEM,
    LOG_PIPE,
    LOG_ROWS,
    LOG_START,
    M1_BLOCK_TICKS,
    M1_FREE,
    M1_FULL_CUBE_TICKS,
    M1_FULL_TICKS,
    M1_ITEM,
    M1_ITEMS_LEFT,
    M1_L0_NO,
    M1_LEFT,
    M1_PENDING,
    M1_STEP,
    M1_STEP_NO,
    M1_STEPS,
    M1_TILE_COLS,
    M1_TILE_ROWS,
    NO_OBJECT,
    PIPE_CUBE,
    PIPE_MTE1,
    RESIDENT,
    ROWS,
    SLOT_FREE,
    TILE_END,
    TILE_ITEM,
    TILE_START,
    TILE_TICKS,
    WIDEN_A,
    WIDEN_B,
)
from hwmodel.emulator.memory import Matrix
from hwmodel.integers import FRACTAL
from hwmodel.jit import inline, jit

Marks = NDArray[np.int64]

GRAIN_TICKS = 4 * TICKS_PER_CYCLE
"""G: a 512-byte grain at 128 bytes a cycle."""

L0_HALVES = 2
"""L0A and L0B are used in two halves each, so at most two L0 steps are loaded ahead."""

MARK_LOADED, MARK_READ, MARK_READ_TIME, MARK_SIZE = range(4)
"""Columns of `marks`: last step that used a resident slab, last one read by MTE1, and when."""


@jit
def note(
    log: Matrix,
    glob: Vector,
    core_no: int,
    pipe: int,
    start: int,
    end: int,
    item: int,
    detail: int,
) -> None:
    """Add a row to the log."""
    row = glob[LOG_ROWS]
    log[row, LOG_CORE] = core_no
    log[row, LOG_PIPE] = pipe
    log[row, LOG_START] = start
    log[row, LOG_END] = end
    log[row, LOG_ITEM] = item
    log[row, LOG_DETAIL] = detail
    glob[LOG_ROWS] = row + 1


@inline
def mte1_ticks(par: Vector, rows: int, cols: int, width: int) -> int:
    """Time to move both operands of an L0 step."""
    depth = up(width, par[C0]) * par[ELEMENT_BYTES]
    return span(up(rows, FRACTAL) * depth * par[WIDEN_A], par[L0A_Q]) + span(
        up(cols, FRACTAL) * depth * par[WIDEN_B], par[L0B_Q]
    )


@jit
def enter_item(par: Vector, items: Items, core: Matrix, p: int, item: int) -> None:
    """MTE1 turns to an item."""
    rows, cols = int(items[item, ROWS]), int(items[item, COLS])
    core[p, M1_ITEM] = item
    core[p, M1_STEP] = 0
    core[p, M1_STEPS] = (items[item, DEPTH] + par[K_L1] - 1) // par[K_L1]
    if core[p, M1_TILE_ROWS] == rows and core[p, M1_TILE_COLS] == cols:
        return
    blocks = (up(rows, FRACTAL) // FRACTAL) * (up(cols, FRACTAL) // FRACTAL)
    core[p, M1_TILE_ROWS] = rows
    core[p, M1_TILE_COLS] = cols
    core[p, M1_BLOCK_TICKS] = blocks * par[FRACTAL_TICKS]
    core[p, M1_FULL_TICKS] = mte1_ticks(par, rows, cols, par[BASE_K])
    steps = up(par[BASE_K], par[C0]) // par[C0]
    core[p, M1_FULL_CUBE_TICKS] = core[p, M1_BLOCK_TICKS] * steps


@inline
def run_mte1(
    par: Vector,
    items: Items,
    starts: Vector,
    core: Matrix,
    marks: Marks,
    glob: Vector,
    log: Matrix,
    p: int,
) -> None:
    """MTE1's next L0 step."""
    item, step = core[p, M1_ITEM], core[p, M1_STEP]
    half = core[p, M1_L0_NO] & 1
    slot = core[p, M1_STEP_NO] % par[L1_SLOTS]
    left = core[p, M1_LEFT]
    start = max(core[p, M1_FREE], core[p, H_FREE + half])
    core[p, H_IS_FIRST + half] = 0
    if left == 0:
        left = min(par[K_L1], items[item, DEPTH] - step * par[K_L1])
        start = max(start, core[p, LOADED + slot])
        core[p, H_IS_FIRST + half] = 1 if step == 0 else 0
    width = min(par[BASE_K], left)
    if width == par[BASE_K]:
        ticks = core[p, M1_FULL_TICKS]
        cube_ticks = core[p, M1_FULL_CUBE_TICKS]
    else:
        ticks = mte1_ticks(par, core[p, M1_TILE_ROWS], core[p, M1_TILE_COLS], width)
        cube_ticks = core[p, M1_BLOCK_TICKS] * ((width + par[C0] - 1) // par[C0])
    end = start + ticks
    core[p, M1_FREE] = end
    core[p, BUSY_MTE1] += ticks
    core[p, H_END + half] = end
    core[p, H_TICKS + half] = cube_ticks
    core[p, H_LAST_OF + half] = NO_OBJECT
    core[p, M1_L0_NO] += 1
    core[p, M1_PENDING] += 1
    if log.shape[0]:
        note(log, glob, p, PIPE_MTE1, start, end, item, step)
    left -= width
    core[p, M1_LEFT] = left
    if left:
        return
    core[p, SLOT_FREE + slot] = end
    if par[KEEP] >= KEEP_A_PANEL and step < par[RESIDENT]:
        marks[p, step, MARK_READ] = core[p, M1_STEP_NO]
        marks[p, step, MARK_READ_TIME] = end
    core[p, M1_STEP_NO] += 1
    core[p, M1_STEP] = step + 1
    if step + 1 == core[p, M1_STEPS]:
        core[p, H_LAST_OF + half] = item
        core[p, M1_ITEMS_LEFT] -= 1
        if core[p, M1_ITEMS_LEFT]:
            enter_item(par, items, core, p, next_row(starts, p, item))


@inline
def run_cube(par: Vector, core: Matrix, glob: Vector, log: Matrix, p: int, half: int) -> None:
    """The cube's next L0 step."""
    start = max(core[p, CU_FREE], core[p, H_END + half])
    ticks = core[p, H_TICKS + half]
    end = start + ticks
    tile = core[p, CU_TILE]
    if core[p, H_IS_FIRST + half]:
        bank = tile & (par[L0C_HALVES] - 1)
        start = max(start + par[TILE_TICKS], core[p, FX_START + bank] + GRAIN_TICKS)
        end = max(start + ticks, core[p, FX_END + bank] + GRAIN_TICKS)
    core[p, CU_FREE] = end
    core[p, H_FREE + half] = end
    core[p, BUSY_CUBE] += ticks
    core[p, M1_PENDING] -= 1
    if log.shape[0]:
        note(log, glob, p, PIPE_CUBE, start, end, tile, 0)
    item = core[p, H_LAST_OF + half]
    if item != NO_OBJECT:
        entry = tile & 1
        core[p, TILE_ITEM + entry] = item
        core[p, TILE_START + entry] = start
        core[p, TILE_END + entry] = end
        core[p, CU_TILE] = tile + 1


@inline
def advance_compute(
    par: Vector,
    items: Items,
    starts: Vector,
    core: Matrix,
    marks: Marks,
    glob: Vector,
    log: Matrix,
    p: int,
) -> None:
    """MTE1 and the cube of a core go on as far as they can."""
    moved = True
    while moved:
        moved = False
        if core[p, M1_PENDING] < L0_HALVES and core[p, M1_STEP_NO] < core[p, LD_STEP_NO]:
            run_mte1(par, items, starts, core, marks, glob, log, p)
            moved = True
        pending = core[p, M1_PENDING]
        if pending:
            half = (core[p, M1_L0_NO] - pending) & 1
            is_free = core[p, FX_DONE] + par[L0C_HALVES] > core[p, CU_TILE]
            if is_free or not core[p, H_IS_FIRST + half]:
                run_cube(par, core, glob, log, p, half)
                moved = True
