"""What a core has to do, before any time is known: loads, L0 steps and stores, in their order.

Notation (docs/emulator.md, section 2): s and sC bytes of an element of A or B and of C; kL columns
of an L1 slab; k0 the first column of a slab; C0 columns of a fractal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from hwmodel.dtypes import DType
from hwmodel.emulator.constants import LINE_BYTES, EmulatorConstants, span
from hwmodel.emulator.reference.slabs import Operand, Request, SlabMaker
from hwmodel.integers import FRACTAL, align_up, ceil_div
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.walk import Schedule, WalkItem

ACCUMULATOR_BYTES = 4
"""L0C, the workspace and UB on its way hold fp32 (specification: kernels.md)."""

UB_BLOCK_BYTES = 32
"""A row in UB is padded to whole blocks (specification: plan.md, "Fixpipe output")."""

PRELOADING = {
    Template.A_FULL: Operand.A,
    Template.A_PARTIAL: Operand.A,
    Template.B_FULL: Operand.B,
    Template.B_PARTIAL: Operand.B,
}
"""Operand that is loaded, wholly or in part, before the first item."""

PANELS = {Template.A_PANEL: Operand.A, Template.B_PANEL: Operand.B}
"""Operand of which an item may reuse the slabs of the item before it."""


class WayOut(StrEnum):
    """Where the fixpipe takes a tile."""

    C = "c"
    WORKSPACE = "workspace"
    UB = "ub"


@dataclass(frozen=True, slots=True, kw_only=True)
class L1Step:
    """One L1 step.

    Attributes:
        request_count: loads it waits for.
        waits_for: earlier L1 step that also used the resident slab this one overwrites, or None.
    """

    request_count: int
    waits_for: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class L0Step:
    """One L0 step: durations, and its place in L1 step and item (numbered over the core)."""

    l1_step: int
    item: int
    is_first_of_l1_step: bool
    is_last_of_l1_step: bool
    is_first_of_item: bool
    is_last_of_item: bool
    mte1_ticks: int
    cube_ticks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The way of a tile out of L0C.

    Attributes:
        way: where it goes first.
        block: L2 object it belongs to.
        store_bytes: bytes that reach memory.
        is_later_slice: it is added to an earlier fp32 slice of the same tile.
        fixpipe_ticks: least time of the fixpipe.
        mte3_ticks: least time of the vector cores' store; 0 unless through UB.
    """

    way: WayOut
    block: tuple[int, int]
    store_bytes: int
    is_later_slice: bool
    fixpipe_ticks: int
    mte3_ticks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreWork:
    """Everything one core does; every tuple is in the order of execution."""

    requests: tuple[Request, ...]
    l1_steps: tuple[L1Step, ...]
    l0_steps: tuple[L0Step, ...]
    stores: tuple[Store, ...]


class WorkBuilder:
    """Makes the `CoreWork` of the cores of one kernel."""

    def __init__(
        self, problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants
    ) -> None:
        """Take the kernel's description; nothing is computed for a core yet."""
        self.problem = problem
        self.plan = plan
        self.constants = constants
        self.k_l1 = plan.k_l1(problem)
        self.slabs = SlabMaker(problem, plan, constants)
        self.preloaded = PRELOADING.get(plan.template)
        self.panel = PANELS.get(plan.template)

    def build(self, schedule: Schedule, core: int) -> CoreWork:
        """The work of one core."""
        items = tuple(schedule.items(core))
        requests = list(self._preloads()) if items else []
        l1_steps: list[L1Step] = []
        l0_steps: list[L0Step] = []
        last_user: dict[int, int] = {}
        for number, item in enumerate(items):
            reuses = number > 0 and self._reuses(items[number - 1], item)
            for j in range(ceil_div(item.blk_k, self.k_l1)):
                step = len(l1_steps)
                loads = self._step_loads(item, j, step, reuses)
                requests += loads
                overwrites = self.panel is not None and j < self.plan.resident_slabs and not reuses
                waits_for = last_user.get(j) if overwrites else None
                l1_steps.append(L1Step(request_count=len(loads), waits_for=waits_for))
                l0_steps += self._l0_steps(item, number, j, step)
                last_user[j] = step
        workspace = schedule.workspace_slots(core)
        return CoreWork(
            requests=tuple(requests),
            l1_steps=tuple(l1_steps),
            l0_steps=tuple(l0_steps),
            stores=tuple(self._store(item, next(workspace) >= 0) for item in items),
        )

    def _preloads(self) -> Iterator[Request]:
        """The loads before the first item (section 2, "Templates that keep slabs in L1")."""
        problem, plan = self.problem, self.plan
        if self.preloaded is None:
            return
        if self.preloaded is Operand.A:
            length, base = problem.m, plan.base_m
        else:
            length, base = problem.n, plan.base_n
        number = 0
        for offset in range(0, length, base):
            for k0 in range(0, problem.k, self.k_l1):
                if self._is_preloaded(number):
                    yield self.slabs.make(
                        self.preloaded,
                        outer=(offset, min(base, length - offset)),
                        inner=(k0, min(self.k_l1, problem.k - k0)),
                    )
                number += 1

    def _is_preloaded(self, number: int) -> bool:
        """Whether slab `number` of the preloading operand is loaded before the first item."""
        is_full = self.plan.template in {Template.A_FULL, Template.B_FULL}
        return is_full or number < self.plan.resident_slabs

    def _reuses(self, previous: WalkItem, item: WalkItem) -> bool:
        """Whether a panel template finds the item's first slabs still in L1."""
        if self.panel is Operand.A:
            same_rows = (previous.m_off, previous.blk_m) == (item.m_off, item.blk_m)
            return same_rows and previous.k_off == item.k_off
        if self.panel is Operand.B:
            same_cols = (previous.n_off, previous.blk_n) == (item.n_off, item.blk_n)
            return same_cols and previous.k_off == item.k_off
        return False

    def _step_loads(self, item: WalkItem, j: int, step: int, reuses: bool) -> list[Request]:
        """The loads of L1 step `j` of an item: A, then B, without what is in L1 already."""
        k0 = item.k_off + j * self.k_l1
        inner = (k0, min(self.k_l1, item.blk_k - j * self.k_l1))
        loads = []
        if not self._is_kept(Operand.A, item, j, reuses):
            outer = (item.m_off, item.blk_m)
            loads.append(self.slabs.make(Operand.A, outer=outer, inner=inner, step=step))
        if not self._is_kept(Operand.B, item, j, reuses):
            outer = (item.n_off, item.blk_n)
            bias = item.blk_n * self.problem.bias_bytes if k0 == 0 else 0
            loads.append(
                self.slabs.make(Operand.B, outer=outer, inner=inner, step=step, bias_bytes=bias)
            )
        return loads

    def _is_kept(self, operand: Operand, item: WalkItem, j: int, reuses: bool) -> bool:
        """Whether the step's slab of the operand needs no load."""
        if self.panel is operand:
            return reuses and j < self.plan.resident_slabs
        if self.preloaded is not operand:
            return False
        is_a = operand is Operand.A
        block = item.m_off // self.plan.base_m if is_a else item.n_off // self.plan.base_n
        return self._is_preloaded(block * ceil_div(self.problem.k, self.k_l1) + j)

    def _l0_steps(self, item: WalkItem, number: int, j: int, step: int) -> Iterator[L0Step]:
        """The L0 steps of L1 step `j` of an item (section 3, "MTE1 and CUBE")."""
        is_last_l1_step = (j + 1) * self.k_l1 >= item.blk_k
        width = min(self.k_l1, item.blk_k - j * self.k_l1)
        base_k = self.plan.base_k
        for at in range(0, width, base_k):
            is_last = at + base_k >= width
            columns = min(base_k, width - at)
            yield L0Step(
                l1_step=step,
                item=number,
                is_first_of_l1_step=at == 0,
                is_last_of_l1_step=is_last,
                is_first_of_item=j == 0 and at == 0,
                is_last_of_item=is_last and is_last_l1_step,
                mte1_ticks=self._mte1_ticks(item, columns),
                cube_ticks=self._cube_ticks(item, columns),
            )

    def _mte1_ticks(self, item: WalkItem, columns: int) -> int:
        problem = self.problem
        row_bytes = align_up(columns, problem.dtype.c0_elements) * problem.dtype.size_bytes
        is_fp32 = problem.dtype is DType.FP32
        twice_a = 2 if is_fp32 and problem.trans_a else 1
        twice_b = 2 if is_fp32 and not problem.trans_b else 1
        bytes_a = align_up(item.blk_m, FRACTAL) * row_bytes * twice_a
        bytes_b = align_up(item.blk_n, FRACTAL) * row_bytes * twice_b
        return span(bytes_a, self.constants.l1_to_l0a_q) + span(
            bytes_b, self.constants.l1_to_l0b_q
        )

    def _cube_ticks(self, item: WalkItem, columns: int) -> int:
        problem, constants = self.problem, self.constants
        fractals = ceil_div(item.blk_m, FRACTAL) * ceil_div(item.blk_n, FRACTAL)
        steps = fractals * ceil_div(columns, problem.dtype.c0_elements)
        if problem.dtype is not DType.FP32:
            return steps * constants.fractal_ticks_16bit
        if problem.is_hf32:
            return steps * constants.fractal_ticks_hf32
        return steps * constants.fractal_ticks_fp32

    def _store(self, item: WalkItem, goes_to_workspace: bool) -> Store:
        """The store of an item's tile (section 3, "FIX: the way out")."""
        plan, out_bytes = self.plan, self.problem.out_dtype.size_bytes
        m, n = item.blk_m, item.blk_n
        fixpipe_ticks = span(m * n * ACCUMULATOR_BYTES, self.constants.fixpipe_q)
        mte3_ticks = 0
        if goes_to_workspace:
            way, out_bytes = WayOut.WORKSPACE, ACCUMULATOR_BYTES
        elif is_through_ub(plan):
            way = WayOut.UB
            rows = ceil_div(m, 2) if out_bytes == ACCUMULATOR_BYTES else m
            row_bytes = align_up(n * out_bytes, UB_BLOCK_BYTES)
            mte3_ticks = span(rows * row_bytes, self.constants.aiv_store_q)
        else:
            way = WayOut.C
            ends = count_partial_ends(item, self.problem)
            fixpipe_ticks += ends * self.constants.partial_ticks
        return Store(
            way=way,
            block=(item.m_off // plan.base_m, item.n_off // plan.base_n),
            store_bytes=m * n * out_bytes,
            is_later_slice=item.k_off > 0,
            fixpipe_ticks=fixpipe_ticks,
            mte3_ticks=mte3_ticks,
        )


def is_through_ub(plan: KernelPlan) -> bool:
    """Whether tiles leave through UB; stream-K's never do."""
    return plan.l0c_output is L0cOutput.FIXPIPE and plan.template is not Template.STREAM_K


def count_partial_ends(item: WalkItem, problem: GemmProblem) -> int:
    """Ends of the tile's rows in C that are not on a line boundary."""
    out_bytes = problem.out_dtype.size_bytes
    rows, run = item.blk_m, item.blk_n * out_bytes
    if item.blk_n == problem.n:
        rows, run = 1, item.blk_m * run
    ends = 0
    for row in range(rows):
        first = ((item.m_off + row) * problem.n + item.n_off) * out_bytes
        ends += (first % LINE_BYTES != 0) + ((first + run) % LINE_BYTES != 0)
    return ends
