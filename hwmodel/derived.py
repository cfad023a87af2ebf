"""Counts and choices that follow from problem, hardware and plan.

(Specification: plan.md, "Legality", column P, and host-tiling.md, sections 6 to 8.)
"""

from hwmodel.dtypes import DType, Format
from hwmodel.integers import FRACTAL, ceil_div
from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec

FP32_SPLIT_K_MIN_K = 2048
"""Least K that the fp32 split-K kernels take (specification: host-tiling.md, sections 7 and 8)."""
TAIL_RUN_BYTES = 128
"""Run of a transposed operand above which the vendor splits a tail block once more (host-
tiling.md, section 6)."""

A_BLOCK_TEMPLATES = frozenset({Template.A_FULL, Template.A_PARTIAL})
"""Templates whose block is the whole M by base_n."""
B_BLOCK_TEMPLATES = frozenset({Template.B_FULL, Template.B_PARTIAL})
"""Templates whose block is base_m by the whole N."""


def compute_block_count(problem: GemmProblem, plan: KernelPlan) -> int:
    """Blocks dealt out to the cores: tiles; under a full or partial load lines of tiles."""
    if plan.template in A_BLOCK_TEMPLATES:
        return plan.n_tiles(problem)
    if plan.template in B_BLOCK_TEMPLATES:
        return plan.m_tiles(problem)
    if plan.template is Template.VECTOR:
        return ceil_div(problem.m * problem.n, compute_vector_tile(problem, plan))
    return plan.m_tiles(problem) * plan.n_tiles(problem)


def compute_used_core_num(problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan) -> int:
    """P: the cores that get work (specification: plan.md, "Legality", column P)."""
    blocks = compute_block_count(problem, plan)
    if plan.template is Template.STREAM_K:
        return spec.cores.aic_num
    if plan.template in {Template.VECTOR, Template.TO_MULTI_MUL}:
        return min(blocks, spec.cores.aiv_num)
    if plan.template is Template.K_EQUAL_ZERO:
        return spec.cores.aiv_num
    return min(blocks, spec.cores.aic_num)


def compute_vector_tile(problem: GemmProblem, plan: KernelPlan) -> int:
    """Outputs of one tile of the vector kernel: base_n when M = 1, else base_m."""
    return plan.base_n if problem.m == 1 else plan.base_m


def runs_fp32_split_k(problem: GemmProblem, plan: KernelPlan) -> bool:
    """The fp32 split-K kernel would run: plain fp32, a long K and, but for stream-K, B in ND."""
    if not problem.is_plain_fp32:
        return False
    if plan.template is Template.STREAM_K:
        return plan.single_core_k >= FP32_SPLIT_K_MIN_K
    return problem.format_b is Format.ND and problem.k >= FP32_SPLIT_K_MIN_K


def compute_base_k_unit(problem: GemmProblem) -> int:
    """Unit of base_k: C0, but 16 for fp32 when K is the outer axis of a stored operand."""
    k_outer = problem.trans_a or not problem.trans_b
    if problem.dtype is DType.FP32 and k_outer:
        return FRACTAL
    return problem.dtype.c0_elements


def compute_tail_reach(base: int, inner: bool, element_bytes: int) -> int | None:
    """Largest piece count that the vendor's loop reaches along one axis; None without a limit.

    The loop goes from c to c + 1 pieces only while ceil(base, c)*element_bytes > 128, if the
    axis is the operand's contiguous (`inner`) one; ceil(base, c) > L is base > L*c, so the last
    c that passes is (base - 1) // L. (Specification: host-tiling.md, section 6.)
    """
    if not inner:
        return None
    return (base - 1) // (TAIL_RUN_BYTES // element_bytes) + 1
