"""BASIC_STREAM_K: K is split so that idle cores help (host-tiling.md, section 7)."""

from dataclasses import dataclass
from typing import Final

from baseline.cube_tiling import ACCUMULATOR_BYTES, START_BASE, CubeTiling
from baseline.l1_tiling import compute_step_k
from baseline.platform import Platform
from baseline.steps import Recorder, StepValue
from baseline.tiling_key import ApiLevel, L0cOut, Model, TilingKey
from hwmodel.dtypes import DType, Format
from hwmodel.integers import FRACTAL, align_up, ceil_div
from hwmodel.problem import GemmProblem

MAX_DETERMINISTIC_LEVEL: Final = 1
"""Above this level the split of K is refused."""

LONG_K_BYTES: Final = 8192
"""K must be at least this long, in bytes, for a split."""

K_UNIT: Final = 256
"""K columns per core that a split needs, and the rounding of K in that test."""

DP_K_UNIT: Final = 128
"""The same for the variant with full rounds before the split one."""

FP32_UNIT: Final = 32
"""Block edge of the test for plain fp32, in elements."""

L0_BYTES: Final = 65536
"""Size of an L0 buffer; a literal in the original, whatever the chip has."""

K_RUN_BYTES: Final = 128
"""Alignment of base_k when K is a contiguous axis."""

NARROWEST_TILE_SHARE: Final = 3
"""Blocks of one axis between a third and half of the cores become half of the cores."""

BIAS_STEPS: Final = 3
"""L0 steps of an L1 step with a bias and more blocks than cores."""

SPLIT_K_LENGTH: Final = 2048
"""From this K on, plain fp32 pieces are split once more inside the kernel."""

MIN_FIXPIPE_N: Final = 64
MIN_FIXPIPE_M: Final = 2
MIN_FIXPIPE_ELEMENTS: Final = 256
"""C must exceed these N and M and reach these elements to leave through the vector cores."""

NZ_NARROW_ALIGN: Final = 8
"""K alignment of a piece of fp32 B in NZ, transposed."""

BASE_WORKSPACE_BYTES: Final = 20 * 2**20
"""Workspace of every strategy, 20 MiB."""


def find_stream_k_obstacle(problem: GemmProblem, platform: Platform) -> str:
    """Why stream-K is refused, as a phrase; empty when the operator chooses it."""
    if problem.deterministic_level > MAX_DETERMINISTIC_LEVEL:
        return "the determinism level is above 1"
    if platform.aiv_num != 2 * platform.aic_num:
        return "there are not two vector cores per cube core"
    if _splits_all(problem, platform) or _splits_last_round(problem, platform):
        return ""
    return "neither are the blocks few and K long, nor does a short last round follow full ones"


def stream_k_figures(problem: GemmProblem, platform: Platform) -> dict[str, StepValue]:
    """The numbers behind `find_stream_k_obstacle`, for an explanation."""
    element_bytes = problem.dtype.size_bytes
    unit = FP32_UNIT if problem.is_plain_fp32 else START_BASE
    return {
        "deterministic_level": problem.deterministic_level,
        "aic_num": platform.aic_num,
        "aiv_num": platform.aiv_num,
        "k": problem.k,
        "least_k_to_split_all": max(LONG_K_BYTES, platform.aic_num * K_UNIT) // element_bytes,
        "least_k_to_split_last": max(LONG_K_BYTES, platform.aic_num * DP_K_UNIT) // element_bytes,
        "blocks_to_split_all": -(-problem.m // unit) * -(-problem.n // unit),
        "most_blocks_to_split": platform.aic_num // 2,
        "blocks_256": -(-problem.m // START_BASE) * -(-problem.n // START_BASE),
    }


def _splits_all(problem: GemmProblem, platform: Platform) -> bool:
    """SK: at most half the cores would get a block, and K is long."""
    element_bytes = problem.dtype.size_bytes
    aic_num = platform.aic_num
    k_rounded = -(-problem.k // K_UNIT) * K_UNIT
    if k_rounded < max(LONG_K_BYTES, aic_num * K_UNIT) // element_bytes:
        return False
    unit = FP32_UNIT if problem.is_plain_fp32 else START_BASE
    return -(-problem.m // unit) * -(-problem.n // unit) <= aic_num // 2


def _splits_last_round(problem: GemmProblem, platform: Platform) -> bool:
    """DPSK: full rounds of whole 256 x 256 blocks, then a round that is at most half full."""
    aic_num = platform.aic_num
    m, n = problem.m, problem.n
    if m % START_BASE or n % START_BASE:
        return False
    if problem.k < max(LONG_K_BYTES, aic_num * DP_K_UNIT) // problem.dtype.size_bytes:
        return False
    blocks = (m // START_BASE) * (n // START_BASE)
    return blocks >= aic_num and 0 < blocks % aic_num <= aic_num // 2


def compute_stream_k(
    problem: GemmProblem, platform: Platform, allows_tensor_api: bool, recorder: Recorder | None
) -> tuple[CubeTiling, TilingKey]:
    """Tiling and kernel of stream-K, for a problem that `find_stream_k_obstacle` lets pass."""
    split = _split_blocks(problem, platform.aic_num)
    base_m, base_n, single_core_k = split.base_m, split.base_n, split.single_core_k
    base_k = min(single_core_k, _longest_base_k(problem, base_m, base_n))
    step_k = compute_step_k(problem, platform, base_m, base_n, base_k, recorder)
    depth = 2 * step_k
    if split.blocks > platform.aic_num and problem.bias_dtype is not None:
        step_k = BIAS_STEPS
    splits_again = single_core_k >= SPLIT_K_LENGTH and problem.is_plain_fp32 and allows_tensor_api
    tiling = CubeTiling(
        used_core_num=platform.aic_num,
        single_core_m=base_m,
        single_core_n=base_n,
        single_core_k=single_core_k,
        base_m=base_m,
        base_n=base_n,
        base_k=base_k,
        step_ka=step_k,
        step_kb=step_k,
        depth_a1=depth,
        depth_b1=depth,
        k_tail_cnt=split.k_cnt,
    )
    if recorder is not None:
        _record_split(recorder, split, tiling, splits_again)
    key = TilingKey(
        api_level=ApiLevel.TENSOR if allows_tensor_api else ApiLevel.BASIC,
        trans_a=problem.trans_a,
        trans_b=problem.trans_b,
        model=Model.SK_SPLIT_K if splits_again else Model.STREAM_K,
        l0c_out=split.l0c_out,
    )
    return tiling, key


def stream_k_workspace_bytes(platform: Platform) -> int:
    """Workspace: one 256 x 256 fp32 tile for each cube core besides the usual 20 MiB."""
    return platform.aic_num * START_BASE * START_BASE * ACCUMULATOR_BYTES + BASE_WORKSPACE_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """How the blocks of C and their K are shared out.

    Attributes:
        base_m: rows of a block.
        base_n: columns of a block.
        blocks: blocks of C.
        split_blocks: those whose K is cut, all or the last round's.
        k_cnt: pieces of K.
        single_core_k: K columns of a piece.
        l0c_out: the way out of L0C.
    """

    base_m: int
    base_n: int
    blocks: int
    split_blocks: int
    k_cnt: int
    single_core_k: int
    l0c_out: L0cOut


def _split_blocks(problem: GemmProblem, aic_num: int) -> _Split:
    """SK, where all blocks get at most half the cores, else DPSK.

    SK takes the number of pieces before a piece is lengthened for B in NZ, DPSK counts the pieces
    that K really has before that: as in the original.
    """
    m, k, n = problem.m, problem.k, problem.n
    m_cnt, n_cnt = -(-m // START_BASE), -(-n // START_BASE)
    blocks = m_cnt * n_cnt
    if blocks > aic_num // 2:
        split_blocks = blocks % aic_num
        single_core_k = -(-k // (aic_num // split_blocks))
        return _Split(
            base_m=START_BASE,
            base_n=START_BASE,
            blocks=blocks,
            split_blocks=split_blocks,
            k_cnt=-(-k // single_core_k),
            single_core_k=_align_piece(problem, single_core_k),
            l0c_out=L0cOut.ON_THE_FLY,
        )
    m_cnt, n_cnt = _widen(m_cnt, aic_num), _widen(n_cnt, aic_num)
    blocks = m_cnt * n_cnt
    k_cnt = aic_num // blocks
    is_wide = n > MIN_FIXPIPE_N and m > MIN_FIXPIPE_M and m * n >= MIN_FIXPIPE_ELEMENTS
    return _Split(
        base_m=align_up(ceil_div(m, m_cnt), FRACTAL),
        base_n=align_up(ceil_div(n, n_cnt), FRACTAL),
        blocks=blocks,
        split_blocks=blocks,
        k_cnt=k_cnt,
        single_core_k=_align_piece(problem, -(-k // k_cnt)),
        l0c_out=L0cOut.ND_FIXPIPE_1_2 if is_wide and n % FRACTAL else L0cOut.ON_THE_FLY,
    )


def _record_split(
    recorder: Recorder, split: _Split, tiling: CubeTiling, splits_again: bool
) -> None:
    """Note how the blocks are split."""
    recorder.add(
        "stream-K split",
        f"blocks of {split.base_m} x {split.base_n}: {split.blocks}, of which"
        f" {split.split_blocks} have their K cut into {split.k_cnt} pieces of"
        f" {split.single_core_k}",
        blocks=split.blocks,
        split_blocks=split.split_blocks,
        k_pieces=split.k_cnt,
        single_core_k=split.single_core_k,
        base_k=tiling.base_k,
        step_k=tiling.step_ka,
        splits_again=splits_again,
    )


def _widen(count: int, aic_num: int) -> int:
    """Half the cores where the blocks of one axis number between a third and half of them."""
    return aic_num // 2 if aic_num // NARROWEST_TILE_SHARE < count < aic_num // 2 else count


def _align_piece(problem: GemmProblem, single_core_k: int) -> int:
    """A piece of K ends on a whole block of B in NZ."""
    if problem.format_b is Format.ND:
        return single_core_k
    is_wide = problem.dtype is not DType.FP32 or not problem.trans_b
    unit = FRACTAL if is_wide else NZ_NARROW_ALIGN
    return -(-single_core_k // unit) * unit


def _longest_base_k(problem: GemmProblem, base_m: int, base_n: int) -> int:
    """Most K columns that half an L0 buffer takes, in whole runs."""
    element_bytes = problem.dtype.size_bytes
    k_is_inner = not problem.trans_a or problem.trans_b
    unit = K_RUN_BYTES // element_bytes if k_is_inner else FRACTAL
    return L0_BYTES // 2 // element_bytes // max(base_m, base_n) // unit * unit
