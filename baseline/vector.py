"""The strategies that run on the vector cores (specification: host-tiling.md, section 9)."""

from dataclasses import dataclass
from typing import Final

from baseline.platform import Platform
from baseline.steps import Recorder
from hwmodel.dtypes import DType, OpImplMode
from hwmodel.integers import ceil_div
from hwmodel.problem import GemmProblem

BASE_MN: Final = 128
"""Most outputs of a TO_MUL tile whose matrix lies along them."""

BASE_K: Final = 128
"""Fewest K columns of a TO_MUL step whose matrix lies along K."""

ALIGN: Final = 8
"""fp32 elements of a 32-byte block, the unit of vector copies."""

UB_ARRAYS: Final = 5
"""Arrays of base_mn * base_k that TO_MUL keeps in UB."""

ELEMENT_BYTES: Final = 4
"""Bytes of an fp32 element."""

BASE: Final = 64
"""Edge of a TO_MULTI_MUL tile and length of its K step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToMulTiling:
    """TO_MUL: one operand is a vector; sizes in elements."""

    used_core_num: int
    tile_num: int
    base_mn: int
    tail_mn: int
    base_k: int
    tail_k: int
    loop_k: int
    copy_mode: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToMultiMulTiling:
    """TO_MULTI_MUL: small tiles of dot products; sizes in elements."""

    used_core_num: int
    base_m: int
    base_n: int
    base_k: int = BASE


def find_to_mul_obstacle(problem: GemmProblem) -> str:
    """Why TO_MUL is refused, as a phrase; empty when the operator chooses it."""
    if problem.op_impl_mode != OpImplMode.HIGH_PRECISION:
        return "not the high precision mode"
    if problem.m != 1 and problem.n != 1:
        return "neither M nor N is 1"
    return "" if problem.dtype is DType.FP32 else "the inputs are not fp32"


def find_to_multi_mul_obstacle(problem: GemmProblem) -> str:
    """Why TO_MULTI_MUL is refused, as a phrase; empty when the operator chooses it."""
    if problem.op_impl_mode != OpImplMode.HIGH_PRECISION:
        return "not the high precision mode"
    if problem.trans_a or not problem.trans_b:
        return "K is not the contiguous axis of both operands"
    if problem.bias_dtype is not None:
        return "there is a bias"
    return "" if problem.dtype is DType.FP32 else "the inputs are not fp32"


def compute_to_mul(
    problem: GemmProblem, platform: Platform, recorder: Recorder | None
) -> ToMulTiling:
    """Tiles of outputs and steps of K that fill UB with `UB_ARRAYS` arrays.

    In copy mode the outputs are the contiguous axis of the matrix, else K is.
    """
    m, k, n = problem.m, problem.k, problem.n
    outputs = m * n
    ub = platform.ub_bytes // ELEMENT_BYTES
    has_bias = problem.bias_dtype is not None
    copy_mode = (m == 1 and not problem.trans_b) or (n == 1 and problem.trans_a)
    per_core = ceil_div(outputs, platform.aiv_num)
    if copy_mode:
        base_mn = min(-(-per_core // ALIGN) * ALIGN, BASE_MN)
        bias_elements = base_mn if has_bias else 0
        base_k = (ub - base_mn - bias_elements) // UB_ARRAYS // base_mn
    else:
        taken = per_core + (per_core if has_bias else 0)
        longest = 0 if ub <= taken else (ub - taken) // UB_ARRAYS // per_core
        base_k = max(longest // ALIGN * ALIGN, BASE_K)
        base_mn = min(per_core, ub // (UB_ARRAYS * base_k + int(has_bias) + 1))
    tiles = -(-outputs // base_mn)
    tiling = ToMulTiling(
        used_core_num=min(tiles, platform.aiv_num),
        tile_num=tiles,
        base_mn=base_mn,
        tail_mn=outputs % base_mn,
        base_k=base_k,
        tail_k=k % base_k,
        loop_k=-(-k // base_k),
        copy_mode=copy_mode,
    )
    if recorder is not None:
        recorder.add(
            "vector tile",
            f"{tiles} tiles of {base_mn} outputs, K in {tiling.loop_k} steps of {base_k}",
            outputs_per_core=per_core,
            ub_elements=ub,
            copy_mode=copy_mode,
            used_core_num=tiling.used_core_num,
        )
    return tiling


def compute_to_multi_mul(
    problem: GemmProblem, platform: Platform, recorder: Recorder | None
) -> ToMultiMulTiling:
    """Tiles of at most 64 x 64, made smaller and squarer when there are fewer than cores."""
    m, n = problem.m, problem.n
    cores = platform.aiv_num
    base_m = base_n = BASE
    if -(-m // BASE) * -(-n // BASE) < cores:
        base_m, base_n = _balance_tiles(m, n, cores)
    blocks = -(-m // base_m) * -(-n // base_n)
    tiling = ToMultiMulTiling(used_core_num=min(blocks, cores), base_m=base_m, base_n=base_n)
    if recorder is not None:
        recorder.add(
            "vector tile",
            f"{blocks} tiles of {base_m} x {base_n}, K in steps of {BASE}",
            used_core_num=tiling.used_core_num,
        )
    return tiling


def _balance_tiles(m: int, n: int, cores: int) -> tuple[int, int]:
    """Rows and columns of a tile when 64 x 64 tiles leave cores idle."""
    m_cnt, n_cnt = -(-m // BASE), -(-n // BASE)
    if m_cnt <= n_cnt:
        base_m = -(-m // m_cnt)
        m_cnt = -(-m // base_m)
        n_cnt = cores // m_cnt
        base_n = -(-n // n_cnt)
    else:
        base_n = -(-n // n_cnt)
        n_cnt = -(-n // base_n)
        m_cnt = cores // n_cnt
        base_m = -(-m // m_cnt)
    while base_n >= 2 * base_m and 0 < n_cnt < cores // 2:
        n_cnt *= 2
        m_cnt = cores // n_cnt
        base_m, base_n = -(-m // m_cnt), -(-n // n_cnt)
        m_cnt, n_cnt = -(-m // base_m), -(-n // base_n)
    while base_m >= 2 * base_n and 0 < m_cnt < cores // 2:
        m_cnt *= 2
        n_cnt = cores // m_cnt
        base_m, base_n = -(-m // m_cnt), -(-n // n_cnt)
        m_cnt, n_cnt = -(-m // base_m), -(-n // base_n)
    return base_m, base_n
