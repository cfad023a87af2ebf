"""From a plan to the parameters of its walk."""

from dataclasses import replace

from hwmodel.dtypes import DType, Format
from hwmodel.errors import InputError
from hwmodel.integers import FRACTAL, align_up, ceil_div
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.walk.params import A_RESIDENT, B_RESIDENT, KSplit, WalkParams

STREAM_K_SPLIT_MIN_K = 2048
"""Shortest stream-K piece with sliced fp32 items (specification: swizzle.md, section 2)."""

_SLICED_IN_FP32 = frozenset({Template.ASWT, Template.A_PANEL, Template.B_PANEL})


def walk_params(problem: GemmProblem, plan: KernelPlan) -> WalkParams:
    """The parameters of the plan's walk on the problem.

    Raises:
        InputError: the plan's template cannot compute the problem, or its counts do not fit.
    """
    if plan.template is Template.K_EQUAL_ZERO:
        return _clear_params(problem, plan)
    if problem.k == 0:
        raise InputError(f"walk: k = 0: only k_equal_zero computes it, not {plan.template}")
    params = WalkParams(
        template=plan.template,
        m=problem.m,
        n=problem.n,
        k=problem.k,
        used_core_num=plan.used_core_num,
        block_m=align_up(problem.m, FRACTAL) if plan.template in A_RESIDENT else plan.base_m,
        block_n=align_up(problem.n, FRACTAL) if plan.template in B_RESIDENT else plan.base_n,
        base_m=plan.base_m,
        base_n=plan.base_n,
        window_len=plan.window_len,
        serpentine=plan.serpentine,
        transposed=plan.template is Template.B_PANEL,
        m_tail_cnt=plan.m_tail_cnt,
        n_tail_cnt=plan.n_tail_cnt,
        n_piece_align=_piece_align(problem),
        single_core_k=plan.single_core_k,
        sk_order=plan.sk_order,
        k_split=select_k_split(problem, plan),
        is_fixpipe=plan.l0c_output is L0cOutput.FIXPIPE,
        is_fp32_output=problem.out_dtype is DType.FP32,
    )
    if plan.template is Template.TO_MULTI_MUL:
        # Row-major: windows of one row, all in the same direction.
        return replace(params, window_len=1, serpentine=False)
    if plan.template is Template.VECTOR:
        return _vector_params(problem, params)
    return params


def select_k_split(problem: GemmProblem, plan: KernelPlan) -> KSplit:
    """How the template cuts a block's K (specification: swizzle.md, "fp32 split-K", section 3)."""
    is_nd = problem.format_b is Format.ND
    is_sliced = False
    if plan.template in _SLICED_IN_FP32:
        is_direct = plan.l0c_output is L0cOutput.ON_THE_FLY
        is_sliced = problem.is_plain_fp32 and is_nd and is_direct
    elif plan.template is Template.STREAM_K:
        is_sliced = problem.is_plain_fp32 and plan.single_core_k >= STREAM_K_SPLIT_MIN_K
    elif plan.template is Template.BASE and is_nd and not problem.is_hf32:
        # The type of C decides here, not that of A and B.
        return KSplit.EVEN if problem.out_dtype is DType.FP32 else KSplit.NONE
    return KSplit.THRESHOLD if is_sliced else KSplit.NONE


def _piece_align(problem: GemmProblem) -> int:
    """Unit of a piece's columns: B in fractal format can only be cut between fractals."""
    if problem.format_b is Format.ND:
        return 1
    return FRACTAL if problem.trans_b else problem.dtype.c0_elements


def _vector_params(problem: GemmProblem, params: WalkParams) -> WalkParams:
    """The row or column of C in tiles of base_mn (specification: swizzle.md, TO_MUL)."""
    if problem.m > 1 and problem.n > 1:
        raise InputError(f"walk: {problem.label()}: the vector template needs m = 1 or n = 1")
    if problem.m == 1:
        return replace(params, block_m=1)
    return replace(params, block_n=1)


def _clear_params(problem: GemmProblem, plan: KernelPlan) -> WalkParams:
    """C as one row of m*n elements in equal shares (specification: swizzle.md, K_EQUAL_ZERO).

    K is written as 1 so that no item is empty; nothing is multiplied.
    """
    if problem.k != 0:
        raise InputError(f"walk: k = {problem.k}: k_equal_zero only clears C, it needs k = 0")
    if plan.used_core_num < 1:
        raise InputError(f"walk: used_core_num = {plan.used_core_num}: must be at least 1")
    share = ceil_div(problem.m * problem.n, plan.used_core_num)
    return WalkParams(
        template=plan.template,
        m=1,
        n=problem.m * problem.n,
        k=1,
        used_core_num=plan.used_core_num,
        block_m=1,
        block_n=share,
        base_m=1,
        base_n=share,
        single_core_k=1,
    )
