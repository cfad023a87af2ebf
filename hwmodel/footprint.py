"""On-chip bytes that a plan needs: L1 slabs, bias slots and L0 tiles of one core.

Notation (specification: plan.md): a16(x) = x rounded up to 16, s = bytes of an element of A and
B, sb = bytes of a bias element, C0 = 32/s elements. A matrix part of `rows` by `columns` as it
is stored takes a16(rows)*up(columns, C0)*s bytes of L1. SA and SB are the slabs of one L1 step,
kL columns of K long; BI the bias slots.
"""

from hwmodel.integers import FRACTAL, align_up, ceil_div
from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import GemmProblem

DOUBLE_BUFFER = 2
"""Slots of an operand that is streamed through L1 or L0 while the previous part is in use."""
L0C_ELEMENT_BYTES = 4
"""L0C accumulates in 32 bits, whatever the types of A, B and C."""
UB_BLOCK_BYTES = 32
"""Pitch unit of the rows of a tile in UB (specification: kernels.md, "Fixpipe optimisation")."""


def compute_stored_bytes(problem: GemmProblem, rows: int, columns: int) -> int:
    """L1 bytes of a part of A or B that is stored as `rows` lines of `columns` elements."""
    c0 = problem.dtype.c0_elements
    return align_up(rows, FRACTAL) * align_up(columns, c0) * problem.dtype.size_bytes


def compute_slab_a_bytes(problem: GemmProblem, base_m: int, k_l1: int) -> int:
    """SA: L1 bytes of `base_m` rows of A over `k_l1` columns of K."""
    if problem.trans_a:
        return compute_stored_bytes(problem, k_l1, base_m)
    return compute_stored_bytes(problem, base_m, k_l1)


def compute_slab_b_bytes(problem: GemmProblem, base_n: int, k_l1: int) -> int:
    """SB: L1 bytes of `base_n` columns of B over `k_l1` rows of K."""
    if problem.trans_b:
        return compute_stored_bytes(problem, base_n, k_l1)
    return compute_stored_bytes(problem, k_l1, base_n)


def compute_bias_slots_bytes(problem: GemmProblem, plan: KernelPlan) -> int:
    """BI: L1 bytes of the bias: all of it under a B full load, else of two tiles."""
    if plan.template is Template.B_FULL:
        return align_up(problem.n, FRACTAL) * problem.bias_bytes
    return DOUBLE_BUFFER * plan.base_n * problem.bias_bytes


def compute_resident_a_bytes(problem: GemmProblem) -> int:
    """L1 bytes of the whole of A, as an A full load keeps it."""
    return align_up(problem.m, FRACTAL) * align_up(problem.k, FRACTAL) * problem.dtype.size_bytes


def compute_resident_b_bytes(problem: GemmProblem) -> int:
    """L1 bytes of the whole of B, as a B full load keeps it."""
    return align_up(problem.n, FRACTAL) * align_up(problem.k, FRACTAL) * problem.dtype.size_bytes


def compute_k_slabs(problem: GemmProblem, plan: KernelPlan) -> int:
    """Ks: L1 steps over the whole K."""
    return ceil_div(problem.k, plan.k_l1(problem))


def compute_l1_bytes(problem: GemmProblem, plan: KernelPlan) -> int:
    """L1 bytes of one core under the plan's template (plan.md, "Legality", column L1)."""
    k_l1 = plan.k_l1(problem)
    slab_a = compute_slab_a_bytes(problem, plan.base_m, k_l1)
    slab_b = compute_slab_b_bytes(problem, plan.base_n, k_l1)
    streamed = DOUBLE_BUFFER * (slab_a + slab_b)
    resident = plan.resident_slabs
    match plan.template:
        case Template.A_FULL:
            operands = compute_resident_a_bytes(problem) + plan.l1_buffer_num * slab_b
        case Template.B_FULL:
            operands = compute_resident_b_bytes(problem) + plan.l1_buffer_num * slab_a
        case Template.A_PARTIAL:
            operands = (resident + DOUBLE_BUFFER) * slab_a + plan.l1_buffer_num * slab_b
        case Template.B_PARTIAL:
            operands = (resident + DOUBLE_BUFFER) * slab_b + plan.l1_buffer_num * slab_a
        case Template.A_PANEL if resident >= compute_k_slabs(problem, plan):
            operands = resident * slab_a + DOUBLE_BUFFER * slab_b
        case Template.B_PANEL if resident >= compute_k_slabs(problem, plan):
            operands = resident * slab_b + DOUBLE_BUFFER * slab_a
        case Template.A_PANEL:
            operands = resident * slab_a + streamed
        case Template.B_PANEL:
            operands = resident * slab_b + streamed
        case _:
            operands = streamed
    return operands + compute_bias_slots_bytes(problem, plan)


def compute_l0a_bytes(problem: GemmProblem, plan: KernelPlan) -> int:
    """L0A bytes: two halves of base_m by base_k."""
    columns = align_up(plan.base_k, problem.dtype.c0_elements)
    return DOUBLE_BUFFER * align_up(plan.base_m, FRACTAL) * columns * problem.dtype.size_bytes


def compute_l0b_bytes(problem: GemmProblem, plan: KernelPlan) -> int:
    """L0B bytes: two halves of base_k by base_n."""
    columns = align_up(plan.base_k, problem.dtype.c0_elements)
    return DOUBLE_BUFFER * align_up(plan.base_n, FRACTAL) * columns * problem.dtype.size_bytes


def compute_l0c_bytes(plan: KernelPlan) -> int:
    """L0C bytes: db_l0c tiles of base_m by base_n accumulators."""
    tile = align_up(plan.base_m, FRACTAL) * align_up(plan.base_n, FRACTAL)
    return plan.db_l0c * tile * L0C_ELEMENT_BYTES


def compute_ub_bytes(problem: GemmProblem, plan: KernelPlan) -> int:
    """UB bytes of one vector core under the fixpipe output; both share a tile of 32-bit C."""
    c_bytes = problem.out_dtype.size_bytes
    rows = ceil_div(plan.base_m, 2) if c_bytes == L0C_ELEMENT_BYTES else plan.base_m
    return plan.ub_db * rows * align_up(plan.base_n * c_bytes, UB_BLOCK_BYTES)
