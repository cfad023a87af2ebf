"""Slabs: where a load's elements lie in memory, what it costs, and which L2 object it belongs to.

Source: docs/emulator.md, section 2, "Loads of a step" and "L2 objects".
"""

from dataclasses import dataclass
from enum import StrEnum

from hwmodel.dtypes import Format
from hwmodel.emulator.constants import LINE_BYTES, SHARE_ONE, EmulatorConstants, span
from hwmodel.integers import FRACTAL, align_up, ceil_div
from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import GemmProblem
from hwmodel.vendor_tiling import compute_l2_cache_disable


class Operand(StrEnum):
    """What an L2 object is a part of."""

    A = "a"
    B = "b"
    C = "c"


ObjectName = tuple[Operand, int, int, int]
"""Operand, block index, slab index (C: column of blocks), and the offset of a piece or -1."""

NO_PIECE = -1
"""Stands in an object's name for the offset of a piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One load.

    Attributes:
        step: L1 step it belongs to, None before the first item.
        block: L2 object of the whole block's slab.
        own: L2 object of the slab itself; differs from `block` in a piece.
        bypasses: the operand's cache mode is set.
        slab_bytes: size of the L2 object.
        request_bytes: bytes through L2 and port, the bias included.
        hbm_bytes: bytes from HBM if it has to go there.
        port_ticks: least time from the begin of the data phase.
    """

    step: int | None
    block: ObjectName
    own: ObjectName
    bypasses: bool
    slab_bytes: int
    request_bytes: int
    hbm_bytes: int
    port_ticks: int


class SlabMaker:
    """Makes the requests of one kernel."""

    def __init__(
        self, problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants
    ) -> None:
        """Take the kernel's description and settle the cache mode of the operands."""
        self.problem = problem
        self.plan = plan
        self.constants = constants
        self.k_l1 = plan.k_l1(problem)
        mode = select_cache_mode(problem, plan, constants.l2_bytes)
        self.bypasses = {Operand.A: bool(mode & 1), Operand.B: bool(mode & 2)}

    def make(
        self,
        operand: Operand,
        *,
        outer: tuple[int, int],
        inner: tuple[int, int],
        step: int | None = None,
        bias_bytes: int = 0,
    ) -> Request:
        """The load of a slab.

        Args:
            operand: A or B.
            outer: first row of A or column of B, and how many.
            inner: first column of K, and how many.
            step: L1 step it belongs to.
            bias_bytes: bytes of the bias that come along.
        """
        rows, run, pitch, offset = self._place(operand, outer, inner)
        if run == pitch:
            rows, run = 1, rows * run
        lines = sum(count_line_bytes(offset + row * pitch, run) for row in range(rows))
        slab_bytes = rows * run
        waste = ((lines - slab_bytes) * self.constants.line_waste_f) // SHARE_ONE
        port_ticks = max(
            span(slab_bytes + bias_bytes, self.constants.port_q), rows * self.constants.row_ticks
        )
        if self._runs_along_outer(operand):
            straddles = lines // LINE_BYTES - rows * ceil_div(run, LINE_BYTES)
            port_ticks += straddles * self.constants.straddle_ticks
        block, own = self._names(operand, outer, inner)
        return Request(
            step=step,
            block=block,
            own=own,
            bypasses=self.bypasses[operand],
            slab_bytes=slab_bytes,
            request_bytes=slab_bytes + bias_bytes,
            hbm_bytes=slab_bytes + waste + bias_bytes,
            port_ticks=port_ticks,
        )

    def _place(
        self, operand: Operand, outer: tuple[int, int], inner: tuple[int, int]
    ) -> tuple[int, int, int, int]:
        """Rows of the slab in memory; run, pitch and offset of the first one in bytes."""
        problem, size = self.problem, self.problem.dtype.size_bytes
        (o_off, o_len), (k0, width) = outer, inner
        if operand is Operand.B and problem.format_b is Format.NZ:
            padded = align_up(o_len, FRACTAL) * align_up(width, problem.dtype.c0_elements) * size
            return 1, padded, padded, 0
        if operand is Operand.A:
            is_k_contiguous, outer_total = not problem.trans_a, problem.m
        else:
            is_k_contiguous, outer_total = problem.trans_b, problem.n
        if is_k_contiguous:
            return o_len, width * size, problem.k * size, (o_off * problem.k + k0) * size
        return width, o_len * size, outer_total * size, (k0 * outer_total + o_off) * size

    def _runs_along_outer(self, operand: Operand) -> bool:
        """Whether the operand's rows in memory run along M or N, in ND."""
        if operand is Operand.A:
            return self.problem.trans_a
        return not self.problem.trans_b and self.problem.format_b is not Format.NZ

    def _names(
        self, operand: Operand, outer: tuple[int, int], inner: tuple[int, int]
    ) -> tuple[ObjectName, ObjectName]:
        """L2 objects of the block's slab and of the slab itself."""
        is_a = operand is Operand.A
        base = self.plan.base_m if is_a else self.plan.base_n
        total = self.problem.m if is_a else self.problem.n
        offset, length = outer
        block, slab = offset // base, inner[0] // self.k_l1
        is_piece = offset % base != 0 or length < min(base, total - offset)
        whole = (operand, block, slab, NO_PIECE)
        return whole, (operand, block, slab, offset) if is_piece else whole


def count_line_bytes(offset: int, length: int) -> int:
    """Bytes of the lines that a run of `length` bytes at `offset` touches."""
    return ((offset + length - 1) // LINE_BYTES - offset // LINE_BYTES + 1) * LINE_BYTES


def select_cache_mode(problem: GemmProblem, plan: KernelPlan, l2_bytes: int) -> int:
    """Which operands bypass L2: bit 0 A, bit 1 B (section 3, "MTE2: requests")."""
    keeps_a = plan.template in {Template.A_FULL, Template.A_PARTIAL}
    keeps_b = plan.template in {Template.B_FULL, Template.B_PARTIAL}
    m_l1 = align_up(problem.m, FRACTAL) if keeps_a else plan.base_m
    n_l1 = align_up(problem.n, FRACTAL) if keeps_b else plan.base_n
    k_l1 = plan.k_l1(problem)
    return compute_l2_cache_disable(
        problem,
        l2_bytes=l2_bytes,
        a_in_one_block=plan.base_n >= problem.n and plan.n_tail_cnt <= 1,
        b_in_one_block=plan.base_m >= problem.m and plan.m_tail_cnt <= 1,
        a_inner_tile=m_l1 if problem.trans_a else k_l1,
        b_inner_tile=k_l1 if problem.trans_b else n_l1,
    )
