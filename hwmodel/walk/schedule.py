"""Schedule: per core, the ordered work items of one kernel, made on demand.

Nothing is stored but the parameters and the geometry of the grid: the items of a core come from an
iterator, counts are computed. A schedule of 2^50 items costs as little as one of ten until
somebody walks it.

Every template is one of two walks. The blocks of the grid in window order go to the cores in turn,
core p taking positions p, p+P, p+2P, ... In an incomplete last round a block may be shared by
several cores: cut along m and n (tail split, specification: swizzle.md, section 1) or along K
(stream-K, section 2). So a core has whole blocks, all of one kind, and at most one piece.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

from hwmodel.integers import align_up, ceil_div
from hwmodel.plan import KernelPlan, StreamKOrder, Template
from hwmodel.problem import GemmProblem
from hwmodel.walk.grid import Axis, WindowOrder, build_order, cut_axis
from hwmodel.walk.items import VectorRecord, WalkItem
from hwmodel.walk.params import A_RESIDENT, B_RESIDENT, KSplit, WalkParams
from hwmodel.walk.pieces import (
    TailSplit,
    build_tail_split,
    count_items,
    cut_items,
    cut_k_piece,
)
from hwmodel.walk.plan_params import walk_params

AIV_PER_AIC = 2
"""Vector cores beside each cube core (specification: kernels.md, "Memories and pipes")."""

WORKSPACE_SLOT_ELEMENTS = 256 * 256
"""fp32 elements of a stream-K workspace slot (specification: swizzle.md, section 2)."""

PITCH_UNIT = 32
"""Unit, in elements, of a workspace row with the fixpipe output, and of a band (section 2)."""

NO_WORKSPACE = -1
"""Stands for no workspace slot or offset in the vendor's records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Which core computes what, in which order.

    Build it with `walk` or `build_schedule`.

    Attributes:
        params: the parameters of the walk.
        rows: block rows of C.
        cols: block columns of C.
        order: order of the blocks; of the transposed grid when params.transposed.
        tail: split of the last round's blocks among cores.
        whole_slots: positions of the order that are computed as whole blocks.
        slots: T, positions including pieces; core p owns p, p+P, p+2P, ... below T.
    """

    params: WalkParams
    rows: Axis
    cols: Axis
    order: WindowOrder
    tail: TailSplit
    whole_slots: int
    slots: int

    @property
    def block_num(self) -> int:
        """Cores that the kernel is launched on, P."""
        return self.params.used_core_num

    @property
    def rounds(self) -> int:
        """Rounds of P blocks that the grid takes; `slots` is at most rounds * P."""
        return ceil_div(self.rows.count * self.cols.count, self.block_num)

    @property
    def count(self) -> int:
        """Work items of all cores; computed in a time proportional to the cores only."""
        return sum(self.item_count(core) for core in range(self.block_num))

    def tile(self, index: int) -> WalkItem:
        """The whole block at position `index` of the order, over all of K."""
        row, col = self.order.tile(index)
        if self.params.transposed:
            row, col = col, row
        m_off, blk_m = self.rows.span(row)
        n_off, blk_n = self.cols.span(col)
        return WalkItem(row, col, 0, m_off, n_off, 0, blk_m, blk_n, self.params.k)

    def whole_block_count(self, core: int) -> int:
        """Whole blocks of a core."""
        return len(range(core, self.whole_slots, self.block_num))

    def piece(self, core: int) -> WalkItem | None:
        """The core's piece of a shared block of the last round, None when it has none."""
        if self.whole_slots + core >= self.slots:
            return None
        if self.params.template is Template.STREAM_K:
            tile, number = divmod(core, self.params.k_pieces)
            return cut_k_piece(self.params, self.tile(self.whole_slots + tile), number)
        tile, number = divmod(core, self.tail.pieces)
        return self.tail.cut(self.tile(self.whole_slots + tile), number)

    def blocks(self, core: int) -> Iterator[WalkItem]:
        """The blocks and pieces of a core in their order, before they are cut into items.

        In full and partial loads a block is what stays in L1 against the streamed operand;
        elsewhere a block is one item, or the K slices of one L0C tile.
        """
        whole = self._whole_blocks(core)
        piece = self.piece(core)
        if piece is None:
            return whole
        before = self._blocks_before_piece(core)
        return chain(islice(whole, before), (piece,), whole)

    def items(self, core: int) -> Iterator[WalkItem]:
        """The work items of a core in their order."""
        if not self._cuts_blocks:
            return self.blocks(core)
        params = self.params
        return chain.from_iterable(cut_items(params, block) for block in self.blocks(core))

    def item_count(self, core: int) -> int:
        """Work items of a core, without making them."""
        count = 0
        whole = self.whole_block_count(core)
        if whole:
            # One whole block stands for all: the cut depends on the whole of M, N or K only.
            count += whole * count_items(self.params, self.tile(core))
        piece = self.piece(core)
        if piece is not None:
            count += count_items(self.params, piece)
        return count

    def workspace_slots(self, core: int) -> Iterator[int]:
        """Workspace slot of each item: the core's number for a stream-K piece, else -1."""
        for block in self.blocks(core):
            slot = core if block.blk_k < self.params.k else NO_WORKSPACE
            for _ in range(count_items(self.params, block)):
                yield slot

    def vector_records(self, aiv: int) -> Iterator[VectorRecord]:
        """What vector core `aiv` of a mixed kernel writes to C, in its order.

        Fixpipe output: its rows of each item of its cube core. Stream-K: its band of the last
        round's tiles. Nothing for other kernels, whose cube cores write C themselves or which have
        no cube core.
        """
        if self.params.template is Template.STREAM_K:
            return self._reduction_records(aiv)
        if self.params.is_fixpipe:
            return self._fixpipe_records(aiv)
        return iter(())

    @property
    def _cuts_blocks(self) -> bool:
        params = self.params
        return params.template in A_RESIDENT | B_RESIDENT or params.k_split is not KSplit.NONE

    def _whole_blocks(self, core: int) -> Iterator[WalkItem]:
        return map(self.tile, range(core, self.whole_slots, self.block_num))

    def _blocks_before_piece(self, core: int) -> int:
        whole = self.whole_block_count(core)
        if self.params.template is not Template.STREAM_K:
            return whole
        match self.params.sk_order:
            case StreamKOrder.FIRST:
                return 0
            case StreamKOrder.LAST:
                return whole
            case StreamKOrder.VENDOR:
                return max(whole - 1, 0)

    def _fixpipe_records(self, aiv: int) -> Iterator[VectorRecord]:
        """Specification: swizzle.md, "Fixpipe variants: who writes C"."""
        core, half = divmod(aiv, AIV_PER_AIC)
        for item in self.items(core):
            first = ceil_div(item.blk_m, AIV_PER_AIC) if self.params.is_fp32_output else item.blk_m
            start, rows = (first, item.blk_m - first) if half else (0, first)
            if rows:
                yield VectorRecord(
                    aiv, item.m_off + start, rows, item.n_off, item.blk_n, NO_WORKSPACE, 1
                )

    def _reduction_records(self, aiv: int) -> Iterator[VectorRecord]:
        """Specification: swizzle.md, section 2, "Reduction on the vector cores"."""
        slots = self.params.k_pieces
        bands = AIV_PER_AIC * slots
        tile_number, band = divmod(aiv, bands)
        if tile_number >= self.params.rest:
            return
        tile = self.tile(self.whole_slots + tile_number)
        pitch = align_up(tile.blk_n, PITCH_UNIT) if self.params.is_fixpipe else tile.blk_n
        height = align_up(ceil_div(tile.blk_m, bands), ceil_div(PITCH_UNIT, pitch))
        start = band * height
        if start < tile.blk_m:
            yield VectorRecord(
                aiv,
                tile.m_off + start,
                min(height, tile.blk_m - start),
                tile.n_off,
                tile.blk_n,
                tile_number * slots * WORKSPACE_SLOT_ELEMENTS + start * pitch,
                slots,
            )


def build_schedule(params: WalkParams) -> Schedule:
    """The schedule of these parameters."""
    rows = cut_axis(params.m, params.block_m, params.m_base_tail_split_cnt, params.m_tail_main)
    cols = cut_axis(params.n, params.block_n, params.n_base_tail_split_cnt, params.n_tail_main)
    tail = build_tail_split(params, rows, cols)
    blocks = rows.count * cols.count
    rest = params.rest
    pieces = params.k_pieces if params.template is Template.STREAM_K else tail.pieces
    across, along = (cols, rows) if params.transposed else (rows, cols)
    return Schedule(
        params=params,
        rows=rows,
        cols=cols,
        order=build_order(across.count, along.count, params.window_len, params.serpentine),
        tail=tail,
        whole_slots=blocks - rest if pieces > 1 else blocks,
        slots=blocks + (pieces - 1) * rest,
    )


def walk(problem: GemmProblem, plan: KernelPlan) -> Schedule:
    """The schedule of a plan on a problem.

    Raises:
        InputError: the plan's template cannot compute the problem, or its counts do not fit.
    """
    return build_schedule(walk_params(problem, plan))
