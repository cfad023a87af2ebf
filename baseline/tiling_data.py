"""What is handed to the kernel: tiling data records and the run info (host-tiling.md, section 10).

Records are in the vendor's names and order, as the kernels read them.
"""

import math
from collections.abc import Mapping
from typing import Final

from baseline.cube_tiling import CubeTiling
from baseline.platform import Platform
from baseline.vector import ToMulTiling, ToMultiMulTiling
from hwmodel.integers import FRACTAL
from hwmodel.problem import GemmProblem
from hwmodel.vendor_tiling import (
    MAX_VENDOR_STEP_K,
    build_tiling_data,
    compute_l2_cache_disable,
)

BASIC_STRUCT: Final = "MatMulV3BasicTilingData"
BASE_STRUCT: Final = "MatMulV3TilingData"
TO_MUL_STRUCT: Final = "MatMulToMulBasicTilingData"
TO_MULTI_MUL_STRUCT: Final = "MatMulToVectorBasicTilingData"
K_EQUAL_ZERO_STRUCT: Final = "MatMulV3KEqZeroBasicTilingData"

U32: Final = 2**32
"""The element count of K_EQUAL_ZERO's record is 32 bits wide and wraps."""

RunInfo = Mapping[str, int | float]
"""The host's own view of the tiling, by vendor name."""


def build_basic_tiling_data(
    problem: GemmProblem, platform: Platform, tiling: CubeTiling
) -> dict[str, int]:
    """The record of ASWT, the full loads and stream-K."""
    base_m, base_n, base_k = tiling.base_m, tiling.base_n, tiling.base_k
    m_l1 = min(-(-problem.m // FRACTAL) * FRACTAL, base_m * tiling.step_m)
    n_l1 = min(-(-problem.n // FRACTAL) * FRACTAL, base_n * tiling.step_n)
    k_l1 = base_k * min(MAX_VENDOR_STEP_K, tiling.step_ka, tiling.step_kb)
    return build_tiling_data(
        problem,
        used_core_num=tiling.used_core_num,
        l1_tile=(m_l1, n_l1, k_l1),
        base=(base_m, base_n, base_k),
        single_core_k=tiling.single_core_k,
        tail_counts=(tiling.m_tail_cnt, tiling.n_tail_cnt),
        l1_buffer_num=tiling.l1_buffer_num,
        db_l0c=tiling.db_l0c,
        ub_db=tiling.ub_db,
        l2_cache_disable=_cache_mode(
            problem,
            platform,
            tiling,
            a_inner_tile=m_l1 if problem.trans_a else k_l1,
            b_inner_tile=k_l1 if problem.trans_b else n_l1,
        ),
    )


def build_base_tiling_data(
    problem: GemmProblem, platform: Platform, tiling: CubeTiling
) -> dict[str, int | Mapping[str, int]]:
    """The record of the older BASE template."""
    cube = {
        "usedCoreNum": tiling.used_core_num,
        "singleCoreM": tiling.single_core_m,
        "singleCoreN": tiling.single_core_n,
        "singleCoreK": tiling.single_core_k,
        "baseM": tiling.base_m,
        "baseN": tiling.base_n,
        "baseK": tiling.base_k,
        "depthA1": tiling.depth_a1,
        "depthB1": tiling.depth_b1,
        "stepM": tiling.step_m,
        "stepN": tiling.step_n,
        "stepKa": tiling.step_ka,
        "stepKb": tiling.step_kb,
        "iterateOrder": 0,
        "dbL0C": tiling.db_l0c,
        "BatchNum": 0,
    }
    k_l1 = tiling.base_k * tiling.step_ka
    return {
        "tCubeTiling": cube,
        "mTailCnt": tiling.m_tail_cnt,
        "nTailCnt": tiling.n_tail_cnt,
        "kTailCnt": 1,
        "mBaseTailSplitCnt": 1,
        "nBaseTailSplitCnt": 1,
        "mTailMain": 0,
        "nTailMain": 0,
        "mmadParam": int(problem.is_hf32),
        "aswWindowLen": compute_asw_window_len(platform.aic_num),
        "l2CacheDisable": _cache_mode(
            problem,
            platform,
            tiling,
            a_inner_tile=tiling.base_m * tiling.step_m if problem.trans_a else k_l1,
            b_inner_tile=k_l1 if problem.trans_b else tiling.base_n * tiling.step_n,
        ),
    }


def compute_asw_window_len(aic_num: int) -> int:
    """Window length of BASE: the largest factor of the core count up to its square root."""
    length = math.isqrt(aic_num)
    while aic_num % length:
        length -= 1
    return length


def build_to_mul_tiling_data(problem: GemmProblem, tiling: ToMulTiling) -> dict[str, int]:
    """The record of TO_MUL."""
    return {
        "usedCoreNum": tiling.used_core_num,
        "tileNum": tiling.tile_num,
        "m": problem.m,
        "n": problem.n,
        "k": problem.k,
        "baseMN": tiling.base_mn,
        "tailMN": tiling.tail_mn,
        "baseK": tiling.base_k,
        "tailK": tiling.tail_k,
        "loopK": tiling.loop_k,
        "dataCopyMode": int(tiling.copy_mode),
    }


def build_to_multi_mul_tiling_data(
    problem: GemmProblem, tiling: ToMultiMulTiling
) -> dict[str, int]:
    """The record of TO_MULTI_MUL."""
    return {
        "usedCoreNum": tiling.used_core_num,
        "m": problem.m,
        "n": problem.n,
        "k": problem.k,
        "baseM": tiling.base_m,
        "baseN": tiling.base_n,
        "baseK": tiling.base_k,
    }


def build_k_equal_zero_tiling_data(problem: GemmProblem, platform: Platform) -> dict[str, int]:
    """The record of K_EQUAL_ZERO; the element count wraps at 32 bits."""
    return {"totalDataAmount": problem.m * problem.n % U32, "aivNum": platform.aiv_num}


def build_cube_run_info(tiling: CubeTiling) -> RunInfo:
    """The run info of a cube strategy."""
    return {
        "usedCoreNum": tiling.used_core_num,
        "singleCoreM": tiling.single_core_m,
        "singleCoreN": tiling.single_core_n,
        "singleCoreK": tiling.single_core_k,
        "baseM": tiling.base_m,
        "baseN": tiling.base_n,
        "baseK": tiling.base_k,
        "stepKa": tiling.step_ka,
        "stepKb": tiling.step_kb,
        "depthA1": tiling.depth_a1,
        "depthB1": tiling.depth_b1,
        "stepM": tiling.step_m,
        "stepN": tiling.step_n,
        "dbL0C": tiling.db_l0c,
        "l1BufferNum": tiling.l1_buffer_num,
        "cubeBoundParam": tiling.cube_bound_param,
        "cubeBoundEdge": tiling.cube_bound_edge,
        "mCnt": tiling.m_tail_cnt,
        "nCnt": tiling.n_tail_cnt,
        "kCnt": tiling.k_tail_cnt,
        "ubDB": tiling.ub_db,
    }


def build_vector_run_info(tiling_data: Mapping[str, int]) -> RunInfo:
    """The run info of TO_MUL and TO_MULTI_MUL: their record without the problem."""
    return {name: value for name, value in tiling_data.items() if name not in ("m", "n", "k")}


def _cache_mode(
    problem: GemmProblem,
    platform: Platform,
    tiling: CubeTiling,
    *,
    a_inner_tile: int,
    b_inner_tile: int,
) -> int:
    """Which operands bypass L2 under this tiling."""
    return compute_l2_cache_disable(
        problem,
        l2_bytes=platform.l2_bytes,
        a_in_one_block=tiling.base_n >= problem.n and tiling.n_tail_cnt <= 1,
        b_in_one_block=tiling.base_m >= problem.m and tiling.m_tail_cnt <= 1,
        a_inner_tile=a_inner_tile,
        b_inner_tile=b_inner_tile,
    )
