"""WalkParams: everything that decides which core computes which block in which order.

A plan yields one set of parameters (`plan_params.py`). Merged tails and an L1 tile of its own have
no place in a plan: only the vendor's data structures have them.

Notation: Mt x Nt blocks of block_m x block_n; P = used_core_num; rest = Mt*Nt % P, the blocks of
an incomplete last round; Kt = ceil(k, single_core_k).
"""

from dataclasses import dataclass, fields
from enum import StrEnum

from hwmodel.errors import InputError
from hwmodel.integers import ceil_div
from hwmodel.plan import VENDOR_WINDOW_LEN, StreamKOrder, Template


class KSplit(StrEnum):
    """How a block's K is cut into slices that follow each other on the same core.

    NONE is one slice. THRESHOLD is slices of a fixed length, the last one longer (ASWT and
    stream-K in fp32). EVEN is slices of about equal length (BASE with an fp32 result). Source: the
    specification (swizzle.md, sections 1 to 3).
    """

    NONE = "none"
    THRESHOLD = "threshold"
    EVEN = "even"


A_RESIDENT = frozenset({Template.A_FULL, Template.A_PARTIAL})
"""Templates whose block spans all of M, cut into items along m."""

B_RESIDENT = frozenset({Template.B_FULL, Template.B_PARTIAL})
"""Templates whose block spans all of N, cut into items along n."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkParams:
    """Parameters of the walk; sizes in elements, counts dimensionless.

    Attributes:
        template: the kernel.
        m: rows of C.
        n: columns of C.
        k: columns of K, at least 1.
        used_core_num: P, cores that share the blocks.
        block_m: rows of a block (the L1 tile).
        block_n: columns of a block.
        base_m: rows of an item where a block is cut along m (A_FULL, A_PARTIAL).
        base_n: columns of an item where a block is cut along n (B_FULL, B_PARTIAL).
        window_len: rows of a window; more than Mt means Mt.
        serpentine: odd windows go through the columns backwards.
        transposed: rows and columns change roles in the order of blocks (B_PANEL).
        m_tail_cnt: row pieces of a block of the last round.
        n_tail_cnt: column pieces of a block of the last round.
        m_base_tail_split_cnt: last block rows that share their height evenly (merged tails).
        n_base_tail_split_cnt: last block columns likewise.
        m_tail_main: rows of a merged tail block, 0 without.
        n_tail_main: columns of a merged tail block, 0 without.
        n_piece_align: unit of a piece's columns; above 1 for B in fractal format.
        single_core_k: columns of K of a stream-K piece, else k.
        sk_order: place of the stream-K piece on its core.
        k_split: how K is cut inside a block.
        is_fixpipe: tiles leave L0C through UB and the vector cores.
        is_fp32_output: C is fp32; both vector cores of a cube core then share a tile.
    """

    template: Template
    m: int
    n: int
    k: int
    used_core_num: int
    block_m: int
    block_n: int
    base_m: int
    base_n: int
    window_len: int = VENDOR_WINDOW_LEN
    serpentine: bool = True
    transposed: bool = False
    m_tail_cnt: int = 1
    n_tail_cnt: int = 1
    m_base_tail_split_cnt: int = 1
    n_base_tail_split_cnt: int = 1
    m_tail_main: int = 0
    n_tail_main: int = 0
    n_piece_align: int = 1
    single_core_k: int
    sk_order: StreamKOrder = StreamKOrder.VENDOR
    k_split: KSplit = KSplit.NONE
    is_fixpipe: bool = False
    is_fp32_output: bool = False

    def __post_init__(self) -> None:
        """Reject parameters that would leave out, repeat or empty a piece of the work.

        Raises:
            InputError: a size or count below 1, or an inconsistency the message names.
        """
        for field in fields(self):
            low = 0 if field.name in {"m_tail_main", "n_tail_main"} else 1
            value = getattr(self, field.name)
            if type(value) is int and value < low:
                raise InputError(f"walk: {field.name} = {value}: must be at least {low}")
        self._check_merged_tail("m", self.m, self.block_m)
        self._check_merged_tail("n", self.n, self.block_n)
        self._check_tail_split()
        if self.template in A_RESIDENT and (self.block_m < self.m or self.m_tail_cnt > 1):
            raise InputError("walk: A stays in L1: needs one block row and m_tail_cnt = 1")
        if self.template in B_RESIDENT and (self.block_n < self.n or self.n_tail_cnt > 1):
            raise InputError("walk: B stays in L1: needs one block column and n_tail_cnt = 1")
        if self.template is Template.STREAM_K:
            self._check_stream_k()

    @property
    def m_tiles(self) -> int:
        """Mt, block rows."""
        return ceil_div(self.m, self.block_m)

    @property
    def n_tiles(self) -> int:
        """Nt, block columns."""
        return ceil_div(self.n, self.block_n)

    @property
    def rest(self) -> int:
        """Blocks of an incomplete last round, 0 when every round is complete."""
        return self.m_tiles * self.n_tiles % self.used_core_num

    @property
    def k_pieces(self) -> int:
        """Kt, stream-K pieces of a tile of the last round."""
        return ceil_div(self.k, self.single_core_k)

    def _check_merged_tail(self, name: str, length: int, block: int) -> None:
        cnt = getattr(self, f"{name}_base_tail_split_cnt")
        main = getattr(self, f"{name}_tail_main")
        if cnt == 1:
            return
        main_length = (ceil_div(length, block) - cnt) * block
        if main < 1 or main_length < 0 or main_length + (cnt - 1) * main >= length:
            raise InputError(
                f"walk: {name}_base_tail_split_cnt = {cnt}, {name}_tail_main = {main}: "
                f"{cnt} merged blocks of that size do not fit into {name} = {length}"
            )

    def _check_tail_split(self) -> None:
        pieces = self.m_tail_cnt * self.n_tail_cnt
        if pieces > 1 and not 0 < self.rest * pieces <= self.used_core_num:
            raise InputError(
                f"walk: m_tail_cnt * n_tail_cnt = {pieces}: the {self.rest} blocks of the last "
                f"round times that must be in 1..{self.used_core_num} (used_core_num)"
            )

    def _check_stream_k(self) -> None:
        if self.m_tail_cnt * self.n_tail_cnt > 1:
            raise InputError("walk: stream-K takes no tail split: set both tail counts to 1")
        if self.k_pieces < 2 or not 0 < self.rest * self.k_pieces <= self.used_core_num:
            raise InputError(
                f"walk: stream-K with {self.rest} blocks in the last round and {self.k_pieces} K "
                f"pieces: needs 2 pieces or more, and blocks * pieces in 1..{self.used_core_num} "
                "(used_core_num)"
            )
