"""KernelPlan: one point of the design space, in the vendor's names in snake_case.

A plan says which kernel template runs, how big its tiles are, how they are buffered and in which
order the cores walk the blocks. It carries only independent fields; everything else (L1 tile,
depths, number of K pieces, cache modes) follows from plan and problem. A field that a template
does not use has one canonical value, so equal plans compare equal.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from hwmodel.integers import FRACTAL, align_up, ceil_div
from hwmodel.problem import GemmProblem

VENDOR_WINDOW_LEN = 4
"""Window length of the vendor's ASWT and stream-K schedulers (swizzle.md, section 1)."""


class Template(StrEnum):
    """Kernel templates: the vendor's, and the proposed partial and panel variants."""

    ASWT = "aswt"
    A_FULL = "a_full"
    B_FULL = "b_full"
    A_PARTIAL = "a_partial"
    B_PARTIAL = "b_partial"
    A_PANEL = "a_panel"
    B_PANEL = "b_panel"
    STREAM_K = "stream_k"
    VECTOR = "vector"
    BASE = "base"
    TO_MULTI_MUL = "to_multi_mul"
    K_EQUAL_ZERO = "k_equal_zero"


class L0cOutput(StrEnum):
    """How an L0C tile reaches global memory: directly, or through UB and the vector cores."""

    ON_THE_FLY = "on_the_fly"
    FIXPIPE = "fixpipe"


class StreamKOrder(StrEnum):
    """Place of the stream-K piece among a core's data-parallel items."""

    VENDOR = "vendor"
    FIRST = "first"
    LAST = "last"


CUBE_TEMPLATES = frozenset(Template) - {
    Template.VECTOR,
    Template.TO_MULTI_MUL,
    Template.K_EQUAL_ZERO,
}
"""Templates that run on the cube cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPlan:
    """One point of the design space; sizes in elements, counts dimensionless.

    Attributes:
        template: the kernel.
        base_m: rows of the L0C tile.
        base_n: columns of the L0C tile.
        base_k: K columns of one L0 step.
        step_k: L0 steps in one L1 step; the L1 slab is min(step_k*base_k, up(k, 16)) columns long.
        l1_buffer_num: L1 slots of the streamed operand(s).
        resident_slabs: L1 slabs kept across items (partial and panel templates), else 0.
        db_l0c: 2 when L0C holds two tiles.
        ub_db: 2 when UB holds two tiles (fixpipe output).
        l0c_output: the way of a tile out of L0C.
        window_len: block rows of the swizzle window.
        serpentine: odd windows run through the columns backwards.
        m_tail_cnt: row pieces of a block in the last round.
        n_tail_cnt: column pieces of a block in the last round.
        single_core_k: K columns of one work item (stream-K: of one piece), else k.
        sk_order: place of the stream-K piece on a core.
        used_core_num: cores (AIC; AIV for the vector templates) that get work.
    """

    template: Template
    base_m: int
    base_n: int
    base_k: int
    step_k: int
    l1_buffer_num: int = 2
    resident_slabs: int = 0
    db_l0c: int = 1
    ub_db: int = 1
    l0c_output: L0cOutput = L0cOutput.ON_THE_FLY
    window_len: int = VENDOR_WINDOW_LEN
    serpentine: bool = True
    m_tail_cnt: int = 1
    n_tail_cnt: int = 1
    single_core_k: int
    sk_order: StreamKOrder = StreamKOrder.VENDOR
    used_core_num: int

    def k_l1(self, problem: GemmProblem) -> int:
        """K columns of one L1 slab."""
        return min(self.step_k * self.base_k, align_up(problem.k, FRACTAL))

    def m_tiles(self, problem: GemmProblem) -> int:
        """Block rows, Mt."""
        return ceil_div(problem.m, self.base_m)

    def n_tiles(self, problem: GemmProblem) -> int:
        """Block columns, Nt."""
        return ceil_div(problem.n, self.base_n)

    def k_pieces(self, problem: GemmProblem) -> int:
        """K pieces of a stream-K tile, Kt; 1 for a template that does not split K."""
        return ceil_div(problem.k, self.single_core_k)


def canonical_window(
    window_len: int, serpentine: bool, m_tiles: int, n_tiles: int
) -> tuple[int, bool]:
    """Smallest (window_len, serpentine) that gives the same order of blocks.

    With one block row or column there is one order, written (1, True). Every window longer than
    m_tiles // 2 is a single window over all rows, written (m_tiles // 2 + 1, True): serpentine has
    nothing to reverse there. (Specification: plan.md, "Window length": canonical W is the smallest
    of its class.)
    """
    if m_tiles <= 1 or n_tiles <= 1:
        return 1, True
    if window_len > m_tiles // 2:
        return m_tiles // 2 + 1, True
    return window_len, serpentine


def canonical_plan(problem: GemmProblem, plan: KernelPlan) -> KernelPlan:
    """The representative of all plans that run exactly like this one on the problem.

    The window is reduced by `canonical_window` where the template walks one, and step_k to the
    smallest value with the same L1 slab. ub_db counts only with the fixpipe output.
    """
    if plan.template not in CUBE_TEMPLATES:
        return plan
    walks_window = plan.template in {
        Template.ASWT,
        Template.STREAM_K,
        Template.A_PANEL,
        Template.B_PANEL,
        Template.BASE,
    }
    m_tiles, n_tiles = plan.m_tiles(problem), plan.n_tiles(problem)
    if plan.template is Template.B_PANEL:
        m_tiles, n_tiles = n_tiles, m_tiles
    window_len, serpentine = (
        canonical_window(plan.window_len, plan.serpentine, m_tiles, n_tiles)
        if walks_window
        else (1, True)
    )
    full_steps = max(1, ceil_div(align_up(problem.k, FRACTAL), plan.base_k))
    return replace(
        plan,
        window_len=window_len,
        serpentine=serpentine,
        step_k=min(plan.step_k, full_steps),
        ub_db=plan.ub_db if plan.l0c_output is L0cOutput.FIXPIPE else 1,
    )
