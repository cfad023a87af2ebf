"""BASIC_ASWT and the older BASE template (specification: host-tiling.md, section 8)."""

from typing import Final

from baseline.base_block import BaseBlock, rebalance_block
from baseline.cube_tiling import CubeTiling
from baseline.full_load import compute_a_full, compute_b_full, keeps_a, keeps_b
from baseline.l1_tiling import compute_step_k, compute_tail_split
from baseline.platform import Platform
from baseline.steps import Recorder
from baseline.tiling_key import ApiLevel, FullLoad, L0cOut, Model, TilingKey
from baseline.what_if import AS_IT_IS, WhatIf
from hwmodel.dtypes import DType, Format
from hwmodel.integers import floor_div
from hwmodel.plan import L0cOutput
from hwmodel.problem import GemmProblem

FIXPIPE_MAX_K: Final = 256
FIXPIPE_MIN_M: Final = 256
FIXPIPE_MIN_ROW_BYTES: Final = 256
"""C leaves through the vector cores up to this K, from this M, with rows of C longer than this."""

LINE_BYTES: Final = 128
"""... and rows of C that are not whole lines of this many bytes."""

BIAS_RESERVE_BYTES: Final = 1024
"""L1 left to the bias."""

SPLIT_K_LENGTH: Final = 2048
"""From this K on, plain fp32 is split along K inside the kernel."""


def compute_base(
    problem: GemmProblem, platform: Platform, recorder: Recorder | None
) -> tuple[CubeTiling, TilingKey]:
    """Tiling and kernel of the older template."""
    block = rebalance_block(problem, platform, recorder)
    tails = compute_tail_split(problem, platform, block.base_m, block.base_n, recorder)
    step_k = compute_step_k(problem, platform, block.base_m, block.base_n, block.base_k, recorder)
    key = TilingKey(
        api_level=ApiLevel.HIGH,
        trans_a=problem.trans_a,
        trans_b=problem.trans_b,
        l0c_out=_select_l0c_out(problem, platform, block, recorder, AS_IT_IS),
    )
    return _build_tiling(problem, block, tails, step_k), key


def compute_aswt(
    problem: GemmProblem,
    platform: Platform,
    allows_tensor_api: bool,
    recorder: Recorder | None,
    what_if: WhatIf = AS_IT_IS,
) -> tuple[CubeTiling, TilingKey]:
    """Tiling and kernel of the operator's default: full load of A, of B, or neither."""
    block = rebalance_block(problem, platform, recorder, what_if)
    l0c_out = _select_l0c_out(problem, platform, block, recorder, what_if)
    on_the_fly = l0c_out is L0cOut.ON_THE_FLY
    model, full_load = Model.BASIC, what_if.full_load
    if full_load is None:
        full_load = _select_full_load(problem, platform, block, on_the_fly, recorder)
    if full_load is FullLoad.A:
        tiling = compute_a_full(problem, platform, block, recorder)
    elif full_load is FullLoad.B:
        tiling = compute_b_full(problem, platform, block, recorder)
    else:
        tails = compute_tail_split(problem, platform, block.base_m, block.base_n, recorder)
        if on_the_fly:
            step_k = _fill_l1(problem, platform, block, recorder)
            if _splits_k(problem):
                model = Model.BASIC_SPLIT_K
        else:
            step_k = compute_step_k(
                problem, platform, block.base_m, block.base_n, block.base_k, recorder
            )
        tiling = _build_tiling(problem, block, tails, step_k)
    key = TilingKey(
        api_level=ApiLevel.TENSOR if allows_tensor_api else ApiLevel.BASIC,
        trans_a=problem.trans_a,
        trans_b=problem.trans_b,
        model=model,
        full_load=full_load,
        l0c_out=l0c_out,
    )
    return tiling, key


def _select_full_load(
    problem: GemmProblem,
    platform: Platform,
    block: BaseBlock,
    on_the_fly: bool,
    recorder: Recorder | None,
) -> FullLoad:
    """The operand that stays whole in L1; A is asked first."""
    if keeps_a(problem, platform, block, on_the_fly, recorder):
        return FullLoad.A
    return FullLoad.B if keeps_b(problem, platform, block, recorder) else FullLoad.NONE


def _select_l0c_out(
    problem: GemmProblem,
    platform: Platform,
    block: BaseBlock,
    recorder: Recorder | None,
    what_if: WhatIf,
) -> L0cOut:
    """Through UB and the vector cores when K is short and rows of C are not whole lines."""
    m, n = problem.m, problem.n
    row_bytes = n * problem.out_dtype.size_bytes
    blocks = -(-m // block.base_m) * -(-n // block.base_n)
    l0c_out = L0cOut.ON_THE_FLY
    through_ub = what_if.l0c_output is L0cOutput.FIXPIPE
    if what_if.l0c_output is None:
        through_ub = (
            problem.k <= FIXPIPE_MAX_K
            and m >= FIXPIPE_MIN_M
            and blocks > platform.aic_num
            and row_bytes % LINE_BYTES != 0
            and row_bytes > FIXPIPE_MIN_ROW_BYTES
            and platform.aiv_num == 2 * platform.aic_num
        )
    if through_ub:
        is_fp32 = problem.dtype is DType.FP32
        l0c_out = L0cOut.ND_FIXPIPE_1_2 if is_fp32 else L0cOut.ND_FIXPIPE_1_1
    if recorder is not None:
        recorder.add(
            "L0C output",
            f"{l0c_out.name}: C leaves L0C"
            f" {'directly' if l0c_out is L0cOut.ON_THE_FLY else 'through UB'}",
            k=problem.k,
            c_row_bytes=row_bytes,
            c_row_odd_bytes=row_bytes % LINE_BYTES,
            blocks=blocks,
        )
    return l0c_out


def _fill_l1(
    problem: GemmProblem, platform: Platform, block: BaseBlock, recorder: Recorder | None
) -> int:
    """L0 steps in an L1 step that fill half of L1, however long K is."""
    l1_bytes = platform.l1_bytes
    room = l1_bytes - BIAS_RESERVE_BYTES if problem.bias_dtype is not None else l1_bytes
    step_elements = (block.base_m + block.base_n) * block.base_k
    step_k = floor_div(room // 2, step_elements) // problem.dtype.size_bytes
    if recorder is not None:
        recorder.add(
            "L1 tile",
            f"{step_k} L0 steps of {block.base_k} K columns fill half of L1",
            step_k=step_k,
            room_bytes=room,
        )
    return step_k


def _splits_k(problem: GemmProblem) -> bool:
    """Plain fp32 with a long K is split along K inside the kernel."""
    return problem.is_plain_fp32 and problem.format_b is Format.ND and problem.k >= SPLIT_K_LENGTH


def _build_tiling(
    problem: GemmProblem, block: BaseBlock, tails: tuple[int, int], step_k: int
) -> CubeTiling:
    """The tiling without a full load: blocks are base tiles, both operands are streamed alike."""
    return CubeTiling(
        used_core_num=block.used_core_num,
        single_core_m=block.base_m,
        single_core_n=block.base_n,
        single_core_k=problem.k,
        base_m=block.base_m,
        base_n=block.base_n,
        base_k=block.base_k,
        step_ka=step_k,
        step_kb=step_k,
        depth_a1=2 * step_k,
        depth_b1=2 * step_k,
        db_l0c=block.db_l0c,
        ub_db=block.ub_db,
        cube_bound_param=block.param,
        cube_bound_edge=block.edge,
        m_tail_cnt=tails[0],
        n_tail_cnt=tails[1],
    )
