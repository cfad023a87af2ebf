"""The work items of the cores as one array, and the L2 objects that they touch.

Items are made while the kernel runs: a core has a ring of them, of which a few are in use at a
time, so that the memory does not grow with the kernel. Where all items are wanted, as by a log,
the ring has room for all.
"""

from dataclasses import dataclass

import numpy as np

from hwmodel.emulator.geometry import Vector
from hwmodel.emulator.item_walk import (
    BLOCK_NO,
    CURSOR_SIZE,
    PLACE_FIRST,
    PLACE_LAST,
    PLACE_VENDOR,
    RING,
    SPLIT_EVEN,
    SPLIT_NONE,
    SPLIT_THRESHOLD,
    W_BASE_M,
    W_BASE_N,
    W_BLOCK_M,
    W_BLOCK_N,
    W_COL_BLOCKS,
    W_CORES,
    W_FIRST_B,
    W_FIRST_C,
    W_FULL_WINDOWS,
    W_HAS_C,
    W_K,
    W_K_L1,
    W_K_SLABS,
    W_LAST_WINDOW,
    W_M,
    W_M_CNT,
    W_M_STEP,
    W_N,
    W_N_ALIGN,
    W_N_CNT,
    W_N_STEP,
    W_ORDER_COLS,
    W_PIECES,
    W_RECOUNTS,
    W_REUSE,
    W_ROW_BLOCKS,
    W_SERPENTINE,
    W_SINGLE_K,
    W_SK_PLACE,
    W_SLOTS,
    W_SPLIT,
    W_STREAM_K,
    W_TRANSPOSED,
    W_WHOLE_SLOTS,
    W_WINDOW,
    WALK_SIZE,
    Items,
    Source,
    fill_rings,
    find_owns,
)
from hwmodel.emulator.layout import ITEM_SIZE, NO_OBJECT
from hwmodel.integers import ceil_div
from hwmodel.plan import KernelPlan, StreamKOrder, Template
from hwmodel.problem import GemmProblem
from hwmodel.walk import Schedule
from hwmodel.walk.params import A_RESIDENT, B_RESIDENT, KSplit
from hwmodel.walk.pieces import count_items

_SPLITS = {
    KSplit.NONE: SPLIT_NONE,
    KSplit.THRESHOLD: SPLIT_THRESHOLD,
    KSplit.EVEN: SPLIT_EVEN,
}
_PANELS = {Template.A_PANEL: 0, Template.B_PANEL: 1}
"""Column, after M_OFF and ROWS, by which a panel is reused."""

_PLACES = {
    StreamKOrder.VENDOR: PLACE_VENDOR,
    StreamKOrder.FIRST: PLACE_FIRST,
    StreamKOrder.LAST: PLACE_LAST,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItems:
    """The items of all cores and the objects they belong to.

    Attributes:
        items: one row an item, core after core; columns of `layout.py`. All items, or rings.
        starts: first row of each core, and the number of rows.
        counts: items of each core.
        source: where more items come from.
        first_b: number of the first object of B; those of A come before it.
        objects: number of objects.
    """

    items: Items
    starts: Vector
    counts: Vector
    source: Source
    first_b: int
    objects: int


def _walk_vector(schedule: Schedule, k_l1: int) -> Vector:
    """The numbers of the schedule for the compiled walk, without those of the objects."""
    params, order, tail = schedule.params, schedule.order, schedule.tail
    is_stream_k = params.template is Template.STREAM_K
    values = {
        W_CORES: params.used_core_num,
        W_M: params.m,
        W_N: params.n,
        W_K: params.k,
        W_BLOCK_M: params.block_m,
        W_BLOCK_N: params.block_n,
        W_ROW_BLOCKS: schedule.rows.count,
        W_COL_BLOCKS: schedule.cols.count,
        W_TRANSPOSED: params.transposed,
        W_WINDOW: order.window,
        W_FULL_WINDOWS: order.full_windows,
        W_LAST_WINDOW: order.last_window,
        W_ORDER_COLS: order.n_tiles,
        W_SERPENTINE: order.serpentine,
        W_WHOLE_SLOTS: schedule.whole_slots,
        W_SLOTS: schedule.slots,
        W_STREAM_K: is_stream_k,
        W_SK_PLACE: _PLACES[params.sk_order],
        W_SINGLE_K: params.single_core_k,
        W_PIECES: params.k_pieces if is_stream_k else tail.pieces,
        W_M_CNT: tail.m_cnt,
        W_N_CNT: tail.n_cnt,
        W_N_ALIGN: tail.n_align,
        W_RECOUNTS: tail.recounts_rows,
        W_M_STEP: params.base_m if params.template in A_RESIDENT else 0,
        W_N_STEP: params.base_n if params.template in B_RESIDENT else 0,
        W_SPLIT: _SPLITS[params.k_split],
        W_BASE_M: params.base_m,
        W_BASE_N: params.base_n,
        W_K_L1: k_l1,
        W_K_SLABS: ceil_div(params.k, k_l1),
        W_REUSE: _PANELS.get(params.template, NO_OBJECT),
    }
    return np.array([int(values.get(index, 0)) for index in range(WALK_SIZE)], dtype=np.int64)


def build_work(
    problem: GemmProblem,
    plan: KernelPlan,
    schedule: Schedule,
    *,
    has_c_objects: bool,
    keeps_all: bool,
    skipped: Vector | None = None,
) -> WorkItems:
    """The items of all cores with their objects.

    Args:
        problem: the problem.
        plan: the plan.
        schedule: its walk.
        has_c_objects: number the blocks of C, too; not needed when nothing is ever evicted.
        keeps_all: make all items at once and keep them.
        skipped: whole blocks that each core leaves out at its start, None for none.
    """
    cores = schedule.block_num
    walk = _walk_vector(schedule, plan.k_l1(problem))
    owns = np.full((2, cores + 1), NO_OBJECT, dtype=np.int64)
    pieces_a, pieces_b = find_owns(walk, owns)
    m_blocks, n_blocks = ceil_div(problem.m, plan.base_m), ceil_div(problem.n, plan.base_n)
    # The order of objects: A blocks, A pieces, B blocks, B pieces, C blocks.
    first_b = (m_blocks + int(pieces_a)) * int(walk[W_K_SLABS])
    first_c = first_b + (n_blocks + int(pieces_b)) * int(walk[W_K_SLABS])
    walk[[W_FIRST_B, W_FIRST_C, W_HAS_C]] = first_b, first_c, has_c_objects
    counts = np.array([schedule.item_count(core) for core in range(cores)], dtype=np.int64)
    cursor = np.zeros((cores, CURSOR_SIZE), dtype=np.int64)
    if skipped is not None:
        cursor[:, BLOCK_NO] = skipped
        counts -= skipped * count_items(schedule.params, schedule.tile(0))
    starts = np.zeros(cores + 1, dtype=np.int64)
    np.cumsum(counts if keeps_all else np.minimum(counts, RING), out=starts[1:])
    items = np.zeros((int(starts[-1]), ITEM_SIZE), dtype=np.int32)
    source = Source(walk, owns, cursor)
    fill_rings(source, items, starts, counts)
    return WorkItems(
        items=items,
        starts=starts,
        counts=counts,
        source=source,
        first_b=first_b,
        objects=first_c + (m_blocks * n_blocks if has_c_objects else 0),
    )
