"""The work items of all cores as one array, and the L2 objects that they touch.

`fill_items` walks the schedule like `Schedule.items`, but compiled; a test holds the two equal.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwmodel.emulator.geometry import Vector, up
from hwmodel.emulator.layout import (
    A_BLOCK,
    A_OWN,
    B_BLOCK,
    B_OWN,
    C_BLOCK,
    COLS,
    DEPTH,
    ITEM_SIZE,
    K_OFF,
    K_SLAB,
    M_OFF,
    N_OFF,
    NO_OBJECT,
    REUSES,
    ROWS,
)
from hwmodel.integers import ceil_div
from hwmodel.jit import inline, jit
from hwmodel.plan import KernelPlan, StreamKOrder, Template
from hwmodel.problem import GemmProblem
from hwmodel.walk import Schedule
from hwmodel.walk.params import A_RESIDENT, B_RESIDENT, KSplit
from hwmodel.walk.pieces import (
    EVEN_SLICE_UNIT,
    LONG_K,
    LONG_SLICE_K,
    SLICE_K,
)

Items = NDArray[np.int32]

# Vector `walk`: the schedule's numbers.
(
    W_CORES,
    W_M,
    W_N,
    W_K,
    W_BLOCK_M,
    W_BLOCK_N,
    W_ROW_BLOCKS,
    W_COL_BLOCKS,
    W_TRANSPOSED,
    W_WINDOW,
    W_FULL_WINDOWS,
    W_LAST_WINDOW,
    W_ORDER_COLS,
    W_SERPENTINE,
    W_WHOLE_SLOTS,
    W_SLOTS,
    W_STREAM_K,
    W_SK_PLACE,
    W_SINGLE_K,
    W_PIECES,
    W_M_CNT,
    W_N_CNT,
    W_N_ALIGN,
    W_RECOUNTS,
    W_M_STEP,
    W_N_STEP,
    W_SPLIT,
    WALK_SIZE,
) = range(28)
SPLIT_NONE, SPLIT_THRESHOLD, SPLIT_EVEN = range(3)
PLACE_VENDOR, PLACE_FIRST, PLACE_LAST = range(3)

_SPLITS = {
    KSplit.NONE: SPLIT_NONE,
    KSplit.THRESHOLD: SPLIT_THRESHOLD,
    KSplit.EVEN: SPLIT_EVEN,
}
_PLACES = {
    StreamKOrder.VENDOR: PLACE_VENDOR,
    StreamKOrder.FIRST: PLACE_FIRST,
    StreamKOrder.LAST: PLACE_LAST,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItems:
    """The items of all cores and the objects they belong to.

    Attributes:
        items: one row an item, core after core; columns of `layout.py`.
        starts: first row of each core, and the number of rows.
        first_b: number of the first object of B; those of A come before it.
        objects: number of objects.
    """

    items: Items
    starts: Vector
    first_b: int
    objects: int


def _walk_vector(schedule: Schedule) -> Vector:
    """The numbers of the schedule for the compiled walk."""
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
    }
    return np.array([int(values[index]) for index in range(WALK_SIZE)], dtype=np.int64)


@inline
def find_block(walk: Vector, index: int) -> tuple[int, int]:
    """Row and column of the block at a position of the order; see `WindowOrder.tile`."""
    cols, window = walk[W_ORDER_COLS], walk[W_WINDOW]
    at = index // (cols * window)
    height = window
    if at >= walk[W_FULL_WINDOWS]:
        at = walk[W_FULL_WINDOWS]
        height = walk[W_LAST_WINDOW]
    rest = index - at * window * cols
    col, row = rest // height, rest % height
    if at & 1 and walk[W_SERPENTINE]:
        col = cols - 1 - col
    row += at * window
    return (col, row) if walk[W_TRANSPOSED] else (row, col)


@inline
def slice_length(walk: Vector, length: int) -> tuple[int, int]:
    """Length and number of the slices of K; see `compute_k_slices`."""
    if walk[W_SPLIT] == SPLIT_THRESHOLD:
        size = SLICE_K if length <= LONG_K else LONG_SLICE_K
        if length > size:
            return size, length // size
    elif walk[W_SPLIT] == SPLIT_EVEN and length > LONG_SLICE_K:
        count = (length + LONG_SLICE_K - 1) // LONG_SLICE_K
        return up((length + count - 1) // count, EVEN_SLICE_UNIT), count
    return length, 1


@inline
def cut_piece(walk: Vector, number: int, rows: int, cols: int) -> tuple[int, int, int, int]:
    """Offsets in the block and sizes of a tail piece; size 0 when there is none."""
    m_cnt, n_cnt = walk[W_M_CNT], walk[W_N_CNT]
    m_step = (rows + m_cnt - 1) // m_cnt
    n_step = up((cols + n_cnt - 1) // n_cnt, walk[W_N_ALIGN])
    if walk[W_TRANSPOSED]:
        m_at, n_at = number // n_cnt, number % n_cnt
    else:
        if walk[W_RECOUNTS]:
            m_cnt = (rows + m_step - 1) // m_step
        n_at, m_at = number // m_cnt, number % m_cnt
    m_off, n_off = m_at * m_step, n_at * n_step
    if m_off >= rows or n_off >= cols:
        return 0, 0, 0, 0
    return m_off, n_off, min(rows - m_off, m_step), min(cols - n_off, n_step)


@inline
def add_block(
    walk: Vector,
    items: Items,
    at: int,
    place: tuple[int, int, int, int, int, int],
    is_workspace: bool,
) -> int:
    """Write the items of a block or piece as far as there is room; the next item's number."""
    m_off, n_off, k_off, rows, cols, depth = place
    m_step = walk[W_M_STEP] if walk[W_M_STEP] else rows
    n_step = walk[W_N_STEP] if walk[W_N_STEP] else cols
    size, slices = slice_length(walk, depth)
    for m_at in range(0, rows, m_step):
        for n_at in range(0, cols, n_step):
            for index in range(slices):
                if at < items.shape[0]:
                    items[at, M_OFF] = m_off + m_at
                    items[at, N_OFF] = n_off + n_at
                    items[at, K_OFF] = k_off + index * size
                    items[at, ROWS] = min(m_step, rows - m_at)
                    items[at, COLS] = min(n_step, cols - n_at)
                    is_last = index == slices - 1
                    items[at, DEPTH] = depth - index * size if is_last else size
                    items[at, C_BLOCK] = NO_OBJECT if is_workspace else 0
                at += 1
    return at


@inline
def add_position(walk: Vector, items: Items, at: int, position: int, piece: int) -> int:
    """Items of the block at a position of the order, or of its piece `piece` (-1: the whole)."""
    row, col = find_block(walk, position)
    m_off, n_off = row * walk[W_BLOCK_M], col * walk[W_BLOCK_N]
    rows = min(walk[W_BLOCK_M], walk[W_M] - m_off)
    cols = min(walk[W_BLOCK_N], walk[W_N] - n_off)
    k_off, depth = 0, walk[W_K]
    is_workspace = False
    if piece >= 0 and walk[W_STREAM_K]:
        k_off = piece * walk[W_SINGLE_K]
        depth = min(walk[W_SINGLE_K], depth - k_off)
        is_workspace = True
    elif piece >= 0:
        m_at, n_at, rows, cols = cut_piece(walk, piece, rows, cols)
        if rows == 0:
            return at
        m_off += m_at
        n_off += n_at
    return add_block(walk, items, at, (m_off, n_off, k_off, rows, cols, depth), is_workspace)


@jit
def fill_items(walk: Vector, items: Items, starts: Vector) -> int:
    """Write the items of all cores, as far as there is room; their number."""
    at = 0
    cores = walk[W_CORES]
    for core in range(cores):
        starts[core] = at
        whole = max(0, (walk[W_WHOLE_SLOTS] - core + cores - 1) // cores)
        before = whole
        if walk[W_STREAM_K] and walk[W_SK_PLACE] == PLACE_FIRST:
            before = 0
        elif walk[W_STREAM_K] and walk[W_SK_PLACE] == PLACE_VENDOR:
            before = max(whole - 1, 0)
        for number in range(before):
            at = add_position(walk, items, at, core + number * cores, -1)
        if walk[W_WHOLE_SLOTS] + core < walk[W_SLOTS]:
            position = walk[W_WHOLE_SLOTS] + core // walk[W_PIECES]
            at = add_position(walk, items, at, position, core % walk[W_PIECES])
        for number in range(before, whole):
            at = add_position(walk, items, at, core + number * cores, -1)
    starts[cores] = at
    return at


@inline
def find_own(offsets: Vector, count: int, offset: int) -> tuple[int, int]:
    """Number of a piece by its offset, and the count of pieces with it."""
    for number in range(count):
        if offsets[number] == offset:
            return number, count
    offsets[count] = offset
    return count, count + 1


@jit
def mark_objects(
    items: Items,
    starts: Vector,
    offsets: tuple[Vector, Vector],
    lengths: tuple[int, int],
    bases: tuple[int, int],
    k_l1: int,
    k_slabs: int,
    reuse_offset: int,
    has_c: bool,
) -> tuple[int, int]:
    """Write the objects of every item; the first of B, and their number.

    The order of objects: A blocks, A pieces, B blocks, B pieces, C blocks. `reuse_offset` is the
    column by which a panel is reused, -1 without panels.
    """
    m_blocks = (lengths[0] + bases[0] - 1) // bases[0]
    n_blocks = (lengths[1] + bases[1] - 1) // bases[1]
    pieces_a, pieces_b = 0, 0
    for at in range(items.shape[0]):
        m_off, n_off = items[at, M_OFF], items[at, N_OFF]
        items[at, K_SLAB] = items[at, K_OFF] // k_l1
        items[at, A_BLOCK] = m_off // bases[0] * k_slabs
        items[at, A_OWN] = NO_OBJECT
        items[at, B_OWN] = NO_OBJECT
        if m_off % bases[0] or items[at, ROWS] < min(bases[0], lengths[0] - m_off):
            own, pieces_a = find_own(offsets[0], pieces_a, m_off)
            items[at, A_OWN] = own
        if n_off % bases[1] or items[at, COLS] < min(bases[1], lengths[1] - n_off):
            own, pieces_b = find_own(offsets[1], pieces_b, n_off)
            items[at, B_OWN] = own
    first_b = (m_blocks + pieces_a) * k_slabs
    first_c = first_b + (n_blocks + pieces_b) * k_slabs
    for at in range(items.shape[0]):
        m_off, n_off = items[at, M_OFF], items[at, N_OFF]
        items[at, B_BLOCK] = first_b + n_off // bases[1] * k_slabs
        if items[at, A_OWN] != NO_OBJECT:
            items[at, A_OWN] = (m_blocks + items[at, A_OWN]) * k_slabs
        if items[at, B_OWN] != NO_OBJECT:
            items[at, B_OWN] = first_b + (n_blocks + items[at, B_OWN]) * k_slabs
        if items[at, C_BLOCK] != NO_OBJECT:
            block = m_off // bases[0] * n_blocks + n_off // bases[1]
            items[at, C_BLOCK] = first_c + block if has_c else 0
        items[at, REUSES] = 0
    if reuse_offset >= 0:
        mark_reuse(items, starts, reuse_offset)
    return first_b, first_c + (m_blocks * n_blocks if has_c else 0)


@jit
def mark_reuse(items: Items, starts: Vector, column: int) -> None:
    """Mark the items that find their panel in L1: same offset and size as the item before."""
    for core in range(starts.shape[0] - 1):
        for at in range(starts[core] + 1, starts[core + 1]):
            items[at, REUSES] = (
                items[at, M_OFF + column] == items[at - 1, M_OFF + column]
                and items[at, ROWS + column] == items[at - 1, ROWS + column]
                and items[at, K_OFF] == items[at - 1, K_OFF]
            )


def build_items(schedule: Schedule) -> tuple[Items, Vector]:
    """The items of all cores, without their objects, and the first row of each core."""
    walk = _walk_vector(schedule)
    starts = np.zeros(schedule.block_num + 1, dtype=np.int64)
    items = np.zeros((schedule.count, ITEM_SIZE), dtype=np.int32)
    count = fill_items(walk, items, starts)
    assert count == len(items), "the compiled walk differs from the schedule"
    return items, starts


def build_work(
    problem: GemmProblem, plan: KernelPlan, schedule: Schedule, *, has_c_objects: bool
) -> WorkItems:
    """The items of all cores with their objects.

    Args:
        problem: the problem.
        plan: the plan.
        schedule: its walk.
        has_c_objects: number the blocks of C, too; not needed when nothing is ever evicted.
    """
    items, starts = build_items(schedule)
    panels = {Template.A_PANEL: 0, Template.B_PANEL: 1}
    k_l1 = plan.k_l1(problem)
    first_b, objects = mark_objects(
        items,
        starts,
        # Room for the offsets of the pieces; a core has at most one.
        (np.zeros_like(starts), np.zeros_like(starts)),
        (problem.m, problem.n),
        (plan.base_m, plan.base_n),
        k_l1,
        ceil_div(problem.k, k_l1),
        panels.get(plan.template, NO_OBJECT),
        has_c_objects,
    )
    return WorkItems(items=items, starts=starts, first_b=int(first_b), objects=int(objects))
