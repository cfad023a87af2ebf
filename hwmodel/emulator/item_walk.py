"""The walk, compiled: makes the work items of a core, as many at a time as are wanted.

It does what `Schedule.items` does (a test holds the two equal) and numbers the L2 objects.
"""

from typing import NamedTuple

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
    K_OFF,
    K_SLAB,
    M_OFF,
    N_OFF,
    NO_OBJECT,
    REUSES,
    ROWS,
)
from hwmodel.jit import inline, jit
from hwmodel.walk.pieces import (
    EVEN_SLICE_UNIT,
    LONG_K,
    LONG_SLICE_K,
    SLICE_K,
)

Items = NDArray[np.int32]
Vector2D = NDArray[np.int64]

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
    W_BASE_M,
    W_BASE_N,
    W_K_L1,
    W_K_SLABS,
    W_FIRST_B,
    W_FIRST_C,
    W_HAS_C,
    W_REUSE,
    WALK_SIZE,
) = range(36)
SPLIT_NONE, SPLIT_THRESHOLD, SPLIT_EVEN = range(3)
PLACE_VENDOR, PLACE_FIRST, PLACE_LAST = range(3)

# Array `cursor`, a row a core: how far its items are made. Items left, row for the next one,
# number of its block on the core, and of the item in the block.
TO_MAKE, NEXT_ROW, BLOCK_NO, PART_NO, CURSOR_SIZE = range(5)

CHUNK = 16
"""Items made at once, and more than a core has in use behind the one that it loads: an L1 slot
each (`MAX_SLOTS`), two L0 halves, two tiles in L0C and two in UB."""

RING = 4 * CHUNK
"""Items of a core that are kept: the chunk it loads, the one before, and two made ahead."""


class Source(NamedTuple):
    """Where the items come from while the kernel runs.

    Attributes:
        walk: the schedule's numbers.
        owns: offsets of the pieces of blocks that have objects of their own, in rows and in
            columns, followed by -1.
        cursor: how far the items are made.
    """

    walk: Vector
    owns: Vector2D
    cursor: Vector2D


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
def find_place(walk: Vector, p: int, number: int) -> tuple[int, int, int, int, int, int, bool]:
    """Offsets and sizes of a core's block or piece `number`, and whether it is stream-K's.

    Size 0 for a piece of a tail that is none.
    """
    cores = walk[W_CORES]
    whole = max(0, (walk[W_WHOLE_SLOTS] - p + cores - 1) // cores)
    before = whole
    if walk[W_STREAM_K] and walk[W_SK_PLACE] == PLACE_FIRST:
        before = 0
    elif walk[W_STREAM_K] and walk[W_SK_PLACE] == PLACE_VENDOR:
        before = max(whole - 1, 0)
    has_piece = walk[W_WHOLE_SLOTS] + p < walk[W_SLOTS]
    is_piece = has_piece and number == before
    if is_piece:
        position = walk[W_WHOLE_SLOTS] + p // walk[W_PIECES]
    else:
        position = p + (number - (1 if has_piece and number > before else 0)) * cores
    row, col = find_block(walk, position)
    m_off, n_off = row * walk[W_BLOCK_M], col * walk[W_BLOCK_N]
    rows = min(walk[W_BLOCK_M], walk[W_M] - m_off)
    cols = min(walk[W_BLOCK_N], walk[W_N] - n_off)
    k_off, depth = 0, walk[W_K]
    if is_piece and walk[W_STREAM_K]:
        k_off = p % walk[W_PIECES] * walk[W_SINGLE_K]
        depth = min(walk[W_SINGLE_K], depth - k_off)
    elif is_piece:
        m_at, n_at, rows, cols = cut_piece(walk, p % walk[W_PIECES], rows, cols)
        m_off += m_at
        n_off += n_at
    return m_off, n_off, k_off, rows, cols, depth, is_piece and walk[W_STREAM_K] != 0


@inline
def next_row(starts: Vector, p: int, row: int) -> int:
    """The row after `row` in the core's ring."""
    return int(row + 1) if row + 1 < starts[p + 1] else int(starts[p])


@inline
def find_own(owns: Vector2D, operand: int, offset: int, base: int, length: int, size: int) -> int:
    """Number of the own objects of a part of a block; NO_OBJECT for a whole one."""
    if offset % base == 0 and size >= min(base, length - offset):
        return NO_OBJECT
    number = 0
    while owns[operand, number] != offset:
        number += 1
    return number


@inline
def write_objects(source: Source, items: Items, at: int) -> None:
    """The objects of the item, whose place is written."""
    walk, owns = source.walk, source.owns
    m_off, n_off, k_slabs = items[at, M_OFF], items[at, N_OFF], walk[W_K_SLABS]
    m_block, n_block = m_off // walk[W_BASE_M], n_off // walk[W_BASE_N]
    first_b = walk[W_FIRST_B]
    items[at, K_SLAB] = items[at, K_OFF] // walk[W_K_L1]
    items[at, A_BLOCK] = m_block * k_slabs
    items[at, B_BLOCK] = first_b + n_block * k_slabs
    own = find_own(owns, 0, m_off, walk[W_BASE_M], walk[W_M], items[at, ROWS])
    m_blocks = (walk[W_M] + walk[W_BASE_M] - 1) // walk[W_BASE_M]
    items[at, A_OWN] = (m_blocks + own) * k_slabs if own != NO_OBJECT else NO_OBJECT
    own = find_own(owns, 1, n_off, walk[W_BASE_N], walk[W_N], items[at, COLS])
    n_blocks = (walk[W_N] + walk[W_BASE_N] - 1) // walk[W_BASE_N]
    items[at, B_OWN] = first_b + (n_blocks + own) * k_slabs if own != NO_OBJECT else NO_OBJECT
    if items[at, C_BLOCK] != NO_OBJECT and walk[W_HAS_C]:
        items[at, C_BLOCK] = walk[W_FIRST_C] + m_block * n_blocks + n_block


@inline
def finds_panel(walk: Vector, items: Items, starts: Vector, p: int, at: int) -> bool:
    """Whether the item finds its panel in L1: same offset and size as the item before."""
    column = walk[W_REUSE]
    if column == NO_OBJECT:
        return False
    before = at - 1 if at > starts[p] else starts[p + 1] - 1
    return bool(
        items[at, M_OFF + column] == items[before, M_OFF + column]
        and items[at, ROWS + column] == items[before, ROWS + column]
        and items[at, K_OFF] == items[before, K_OFF]
    )


@jit
def fill_items(source: Source, items: Items, starts: Vector, p: int, room: int) -> None:
    """Write the next items of a core, at most `room`, into its ring."""
    walk, cursor = source.walk, source.cursor
    at = cursor[p, NEXT_ROW]
    left = min(room, cursor[p, TO_MAKE])
    cursor[p, TO_MAKE] -= left
    while left:
        place = find_place(walk, p, cursor[p, BLOCK_NO])
        m_off, n_off, k_off, rows, cols, depth, is_workspace = place
        m_step = walk[W_M_STEP] if walk[W_M_STEP] else max(rows, 1)
        n_step = walk[W_N_STEP] if walk[W_N_STEP] else max(cols, 1)
        size, slices = slice_length(walk, depth)
        n_parts = (cols + n_step - 1) // n_step
        parts = (rows + m_step - 1) // m_step * n_parts * slices
        part = cursor[p, PART_NO]
        while part < parts and left:
            index, tile = part % slices, part // slices
            m_at, n_at = tile // n_parts * m_step, tile % n_parts * n_step
            items[at, M_OFF] = m_off + m_at
            items[at, N_OFF] = n_off + n_at
            items[at, K_OFF] = k_off + index * size
            items[at, ROWS] = min(m_step, rows - m_at)
            items[at, COLS] = min(n_step, cols - n_at)
            items[at, DEPTH] = depth - index * size if index == slices - 1 else size
            items[at, C_BLOCK] = NO_OBJECT if is_workspace else 0
            write_objects(source, items, at)
            is_first = part == 0 and cursor[p, BLOCK_NO] == 0
            items[at, REUSES] = not is_first and finds_panel(walk, items, starts, p, at)
            at = next_row(starts, p, at)
            part += 1
            left -= 1
        cursor[p, PART_NO] = part
        if part == parts:
            cursor[p, PART_NO] = 0
            cursor[p, BLOCK_NO] += 1
    cursor[p, NEXT_ROW] = at


@jit
def fill_rings(source: Source, items: Items, starts: Vector, counts: Vector) -> None:
    """The first items of every core."""
    for p in range(counts.shape[0]):
        source.cursor[p, NEXT_ROW] = starts[p]
        source.cursor[p, TO_MAKE] = counts[p]
        room = starts[p + 1] - starts[p]
        # A ring that does not hold all items keeps the last chunk that was in use.
        fill_items(source, items, starts, p, room if room == counts[p] else room - CHUNK)


@inline
def refill(source: Source, items: Items, starts: Vector, p: int, item: int) -> None:
    """Make more items when the core begins to load the first one of a chunk."""
    if source.cursor[p, TO_MAKE] and (item - starts[p]) % CHUNK == 0:
        fill_items(source, items, starts, p, CHUNK)


@jit
def find_owns(walk: Vector, owns: Vector2D) -> tuple[int, int]:
    """Write the offsets of all pieces of blocks; their numbers.

    Pieces lie in the last round, one a core at most.
    """
    pieces_a, pieces_b = 0, 0
    if walk[W_STREAM_K]:
        return 0, 0
    for p in range(walk[W_CORES]):
        if walk[W_WHOLE_SLOTS] + p >= walk[W_SLOTS]:
            break
        number = max(0, (walk[W_WHOLE_SLOTS] - p + walk[W_CORES] - 1) // walk[W_CORES])
        m_off, n_off, _, rows, cols, _, _ = find_place(walk, p, number)
        if rows == 0:
            continue
        # What stays in L1 is not cut.
        if walk[W_M_STEP] == 0:
            pieces_a = add_own(
                owns,
                0,
                pieces_a,
                m_off,
                rows < min(walk[W_BASE_M], walk[W_M] - m_off) or m_off % walk[W_BASE_M] != 0,
            )
        if walk[W_N_STEP] == 0:
            pieces_b = add_own(
                owns,
                1,
                pieces_b,
                n_off,
                cols < min(walk[W_BASE_N], walk[W_N] - n_off) or n_off % walk[W_BASE_N] != 0,
            )
    return pieces_a, pieces_b


@inline
def add_own(owns: Vector2D, operand: int, count: int, offset: int, is_part: bool) -> int:
    """Add a piece's offset unless it is there; the number of offsets."""
    if not is_part:
        return count
    for number in range(count):
        if owns[operand, number] == offset:
            return count
    owns[operand, count] = offset
    return count + 1
