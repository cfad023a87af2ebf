"""How blocks are cut: into pieces in the last round, along K for stream-K, and into work items.

Notation: P = used_core_num; bm x bn = the block's own size; rest = blocks of the last round.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hwmodel.integers import align_up, ceil_div
from hwmodel.plan import Template
from hwmodel.walk.grid import Axis
from hwmodel.walk.items import WalkItem
from hwmodel.walk.params import A_RESIDENT, B_RESIDENT, KSplit, WalkParams

SLICE_K = 1024
"""Length of an fp32 K slice (specification: swizzle.md, section 1, "fp32 split-K")."""

LONG_SLICE_K = 8192
"""fp32 slice of a very long K; also the longest unsliced K of BASE (sections 1 and 3)."""

LONG_K = 268435456
"""K above which fp32 K slices are LONG_SLICE_K long (section 1)."""

EVEN_SLICE_UNIT = 64
"""Unit of BASE's K slices (section 3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TailSplit:
    """The pieces of a block of the last round: `pieces` cores share one block.

    ASWT first reduces the counts to what the last row and column of blocks need, BASE takes them
    as they are and counts the row pieces anew for each block (specification: swizzle.md, sections
    1 and 3).

    Attributes:
        m_cnt: row pieces.
        n_cnt: column pieces.
        n_align: unit of a piece's columns.
        recounts_rows: row pieces are counted from the block's own size (BASE).
        transposed: consecutive cores take pieces of a row instead of a column.
    """

    m_cnt: int
    n_cnt: int
    n_align: int
    recounts_rows: bool
    transposed: bool

    @property
    def pieces(self) -> int:
        """Cores that share a block; 1 without a split."""
        return self.m_cnt * self.n_cnt

    def cut(self, block: WalkItem, number: int) -> WalkItem | None:
        """Piece `number` of the block, None when the block is too small to have it."""
        m_step = ceil_div(block.blk_m, self.m_cnt)
        n_step = align_up(ceil_div(block.blk_n, self.n_cnt), self.n_align)
        if self.transposed:
            m_at, n_at = divmod(number, self.n_cnt)
        else:
            rows = ceil_div(block.blk_m, m_step) if self.recounts_rows else self.m_cnt
            n_at, m_at = divmod(number, rows)
        m_off, n_off = m_at * m_step, n_at * n_step
        if m_off >= block.blk_m or n_off >= block.blk_n:
            return None
        return block._replace(
            m_off=block.m_off + m_off,
            n_off=block.n_off + n_off,
            blk_m=min(block.blk_m - m_off, m_step),
            blk_n=min(block.blk_n - n_off, n_step),
        )


def build_tail_split(params: WalkParams, rows: Axis, cols: Axis) -> TailSplit:
    """The split of the last round's blocks."""
    m_cnt, n_cnt = params.m_tail_cnt, params.n_tail_cnt
    is_base = params.template is Template.BASE
    if not is_base:
        m_cnt = _needed_count(rows.last_length, m_cnt)
        n_cnt = _needed_count(cols.last_length, n_cnt)
    return TailSplit(
        m_cnt=m_cnt,
        n_cnt=n_cnt,
        n_align=params.n_piece_align,
        recounts_rows=is_base,
        transposed=params.transposed,
    )


def _needed_count(length: int, count: int) -> int:
    """Non-empty pieces of `length` elements cut `count` times."""
    return ceil_div(length, ceil_div(length, count))


def cut_k_piece(params: WalkParams, block: WalkItem, number: int) -> WalkItem:
    """Stream-K piece `number` of a block; the last one takes the rest of K."""
    k_off = number * params.single_core_k
    return block._replace(
        k_idx=number, k_off=k_off, blk_k=min(params.single_core_k, params.k - k_off)
    )


def compute_k_slices(k_split: KSplit, length: int) -> tuple[int, int]:
    """Length and number of the slices of `length` columns of K; the last slice takes the rest."""
    if k_split is KSplit.THRESHOLD:
        slice_k = SLICE_K if length <= LONG_K else LONG_SLICE_K
        if length > slice_k:
            return slice_k, length // slice_k
    elif k_split is KSplit.EVEN and length > LONG_SLICE_K:
        count = ceil_div(length, LONG_SLICE_K)
        return align_up(ceil_div(length, count), EVEN_SLICE_UNIT), count
    return length, 1


def count_items(params: WalkParams, block: WalkItem) -> int:
    """Work items of a block, without making them."""
    count = compute_k_slices(params.k_split, block.blk_k)[1]
    if params.template in A_RESIDENT:
        count *= ceil_div(block.blk_m, params.base_m)
    elif params.template in B_RESIDENT:
        count *= ceil_div(block.blk_n, params.base_n)
    return count


def cut_items(params: WalkParams, block: WalkItem) -> Iterator[WalkItem]:
    """The work items of a block in their order: L0C tiles, and within each its K slices."""
    m_idx, n_idx, k_idx, m_off, n_off, k_off, blk_m, blk_n, blk_k = block
    m_step = params.base_m if params.template in A_RESIDENT else blk_m
    n_step = params.base_n if params.template in B_RESIDENT else blk_n
    slice_k, slices = compute_k_slices(params.k_split, blk_k)
    is_stream_k = params.template is Template.STREAM_K
    for m_at in range(0, blk_m, m_step):
        for n_at in range(0, blk_n, n_step):
            for index in range(slices):
                k_at = index * slice_k
                yield WalkItem(
                    m_idx,
                    n_idx,
                    # A stream-K item keeps the number of its slot, all its slices share it.
                    k_idx if is_stream_k else index,
                    m_off + m_at,
                    n_off + n_at,
                    k_off + k_at,
                    min(m_step, blk_m - m_at),
                    min(n_step, blk_n - n_at),
                    blk_k - k_at if index == slices - 1 else slice_k,
                )
