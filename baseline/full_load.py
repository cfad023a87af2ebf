"""A or B full load: one operand stays whole in L1 (specification: host-tiling.md, section 8).

The two cases are mirror images except where the original is not: both read the alignment of the
streamed operand's contiguous axis off B's type (the same as A's), and only B's recomputes ub_db.

Notation: the kept operand (A in A_FULL) lies whole in L1; the other is streamed through 2 or 4
slots.
"""

from dataclasses import dataclass
from typing import Final

from baseline.base_block import BaseBlock
from baseline.cube_tiling import ACCUMULATOR_BYTES, CubeTiling
from baseline.l1_tiling import EFFICIENT_TRANSFER_BYTES, MEDIUM_RUN_BYTES, SHORT_RUN_BYTES
from baseline.platform import Platform
from baseline.steps import Recorder
from hwmodel.integers import FRACTAL, align_down, ceil_div, floor_div
from hwmodel.problem import GemmProblem

KEPT_SHARE: Final = (3, 4)
"""The kept operand may fill three quarters of L1."""

NARROW_K: Final = 128
"""With K up to this and more than one row of blocks, A is not kept."""

MAX_STEP_K: Final = 4
"""Most L0 steps in an L1 step of the streamed operand."""

WIDE_BASE_K: Final = 256
"""The streamed slab's K columns should be a multiple of this when K is its contiguous axis."""

FULL_LOAD_SLOTS: Final = 4
"""L1 slots of the streamed operand where they fit; else 2."""

CUBE_BOUND: Final = "the base block is not bound by memory"
NOT_ON_THE_FLY: Final = "C leaves L0C through UB"
TOO_BIG: Final = "the operand and the bias take more than three quarters of L1"


def keeps_a(
    problem: GemmProblem,
    platform: Platform,
    block: BaseBlock,
    on_the_fly: bool,
    recorder: Recorder | None,
) -> bool:
    """A full load is chosen: memory bound, more columns of blocks than cores, and A fits L1."""
    bias_bytes = block.base_n * 2 * problem.bias_bytes
    candidate = _Candidate(
        operand="A",
        lines="columns",
        line_count=-(-problem.n // block.base_n),
        kept_bytes=_kept_bytes(problem, problem.m) + bias_bytes,
        is_ruled_out=problem.k <= NARROW_K and problem.m > block.base_m,
    )
    obstacle = _find_obstacle(candidate, platform, block) if on_the_fly else NOT_ON_THE_FLY
    if recorder is not None:
        _record_choice(recorder, candidate, platform, block, obstacle)
    return not obstacle


def keeps_b(
    problem: GemmProblem, platform: Platform, block: BaseBlock, recorder: Recorder | None
) -> bool:
    """B full load is chosen: memory bound, more rows of blocks than cores, and B fits L1."""
    n16 = -(-problem.n // FRACTAL) * FRACTAL
    candidate = _Candidate(
        operand="B",
        lines="rows",
        line_count=-(-problem.m // block.base_m),
        kept_bytes=_kept_bytes(problem, problem.n) + n16 * problem.bias_bytes,
    )
    obstacle = _find_obstacle(candidate, platform, block)
    if recorder is not None:
        _record_choice(recorder, candidate, platform, block, obstacle)
    return not obstacle


def compute_a_full(
    problem: GemmProblem, platform: Platform, block: BaseBlock, recorder: Recorder | None
) -> CubeTiling:
    """The tiling with A kept: blocks are the whole M by base_n."""
    operands = _Operands(
        kept_base=block.base_m,
        streamed_base=block.base_n,
        streamed_size=problem.n,
        k_is_inner=problem.trans_b,
        kept_bytes=_kept_bytes(problem, problem.m),
        bias_bytes=block.base_n * 2 * problem.bias_bytes,
        kept_l0_bytes=platform.l0a_bytes,
        streamed_l0_bytes=platform.l0b_bytes,
    )
    stream = _stream_other(operands, problem, platform, block.base_k)
    step_m = _count_steps(problem.m, block.base_m)
    step_ka = _count_steps(problem.k, stream.base_k)
    tiling = CubeTiling(
        used_core_num=min(ceil_div(problem.n, stream.base), platform.aic_num),
        single_core_m=problem.m,
        single_core_n=stream.base,
        single_core_k=problem.k,
        base_m=block.base_m,
        base_n=stream.base,
        base_k=stream.base_k,
        step_ka=step_ka,
        step_kb=stream.step_k,
        depth_a1=step_m * step_ka,
        depth_b1=2 * stream.step_k,
        step_m=step_m,
        db_l0c=_compute_db_l0c(platform, block.base_m, stream.base),
        ub_db=block.ub_db,
        l1_buffer_num=stream.l1_buffer_num,
        cube_bound_param=block.param,
        cube_bound_edge=block.edge,
        n_tail_cnt=_compute_tail_count(operands, problem, platform, stream.base, recorder),
    )
    if recorder is not None:
        _record_stream(recorder, "A", stream)
    return tiling


def compute_b_full(
    problem: GemmProblem, platform: Platform, block: BaseBlock, recorder: Recorder | None
) -> CubeTiling:
    """The tiling with B kept: blocks are base_m by the whole N."""
    n16 = -(-problem.n // FRACTAL) * FRACTAL
    operands = _Operands(
        kept_base=block.base_n,
        streamed_base=block.base_m,
        streamed_size=problem.m,
        k_is_inner=not problem.trans_a,
        kept_bytes=_kept_bytes(problem, problem.n),
        bias_bytes=n16 * problem.bias_bytes,
        kept_l0_bytes=platform.l0b_bytes,
        streamed_l0_bytes=platform.l0a_bytes,
    )
    stream = _stream_other(operands, problem, platform, block.base_k)
    step_n = _count_steps(problem.n, block.base_n)
    step_kb = _count_steps(problem.k, stream.base_k)
    tile_bytes = stream.base * block.base_n * ACCUMULATOR_BYTES
    tiling = CubeTiling(
        used_core_num=min(ceil_div(problem.m, stream.base), platform.aic_num),
        single_core_m=stream.base,
        single_core_n=problem.n,
        single_core_k=problem.k,
        base_m=stream.base,
        base_n=block.base_n,
        base_k=stream.base_k,
        step_ka=stream.step_k,
        step_kb=step_kb,
        depth_a1=2 * stream.step_k,
        depth_b1=step_n * step_kb,
        step_n=step_n,
        db_l0c=_compute_db_l0c(platform, stream.base, block.base_n),
        ub_db=2 if tile_bytes <= platform.ub_bytes else 1,
        l1_buffer_num=stream.l1_buffer_num,
        cube_bound_param=block.param,
        cube_bound_edge=block.edge,
        m_tail_cnt=_compute_tail_count(operands, problem, platform, stream.base, recorder),
    )
    if recorder is not None:
        _record_stream(recorder, "B", stream)
    return tiling


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A full load to be decided on.

    Attributes:
        operand: the one that would be kept, A or B.
        lines: what the blocks form past it, columns or rows.
        line_count: how many.
        kept_bytes: the operand and the bias in L1.
        is_ruled_out: K is short and there is more than one row of blocks (A only).
    """

    operand: str
    lines: str
    line_count: int
    kept_bytes: int
    is_ruled_out: bool = False


def _find_obstacle(candidate: _Candidate, platform: Platform, block: BaseBlock) -> str:
    """Why the full load is refused, as a phrase; empty when it is chosen."""
    if not block.memory_bound:
        return CUBE_BOUND
    if candidate.line_count <= platform.aic_num:
        return f"there are no more {candidate.lines} of blocks than cores"
    if candidate.is_ruled_out:
        return "K is short and there is more than one row of blocks"
    return "" if candidate.kept_bytes <= _kept_limit(platform) else TOO_BIG


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operands:
    """The kept and the streamed operand: tile edges and size in elements, buffers in bytes."""

    kept_base: int
    streamed_base: int
    streamed_size: int
    k_is_inner: bool
    kept_bytes: int
    bias_bytes: int
    kept_l0_bytes: int
    streamed_l0_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stream:
    """How the other operand is streamed: its tile edge, base_k, L0 steps and L1 slots."""

    base: int
    base_k: int
    step_k: int
    l1_buffer_num: int
    rest_bytes: int


def _stream_other(
    operands: _Operands, problem: GemmProblem, platform: Platform, base_k: int
) -> _Stream:
    """Fit the streamed operand's tile and steps into what the kept one leaves of L1.

    max_step is not recomputed after base_k doubles, nor is the tile edge aligned again: as in the
    original.
    """
    element_bytes = problem.dtype.size_bytes
    aic_num = platform.aic_num
    kept_and_bias = operands.kept_bytes + operands.bias_bytes
    rest = platform.l1_bytes - kept_and_bias
    cap = min(
        floor_div(rest, base_k * element_bytes * 2),
        floor_div(platform.l0c_bytes, operands.kept_base * ACCUMULATOR_BYTES * 2),
    )
    per_core = ceil_div(operands.streamed_size, aic_num)
    base = min(operands.streamed_base, align_down(cap, FRACTAL), -(-per_core // FRACTAL) * FRACTAL)
    run = SHORT_RUN_BYTES // element_bytes
    if not operands.k_is_inner and base > run:
        base = align_down(base, run)
    limit = floor_div(rest, base_k * base * 2 * element_bytes)
    max_step = min(ceil_div(problem.k, base_k), limit, MAX_STEP_K)
    if (
        operands.k_is_inner
        and max_step == limit
        and max_step * base_k % WIDE_BASE_K != 0
        and 2 * base_k * operands.kept_base * element_bytes * 2 <= operands.kept_l0_bytes
    ):
        base_k *= 2
        base = min(base, floor_div(operands.streamed_l0_bytes, base_k * element_bytes * 2))
    step_k = _choose_step(base * element_bytes, base_k, max_step, element_bytes, operands)
    slots_bytes = base_k * step_k * base * element_bytes * FULL_LOAD_SLOTS
    bias_bytes = operands.bias_bytes // 2 * FULL_LOAD_SLOTS
    needed = slots_bytes + operands.kept_bytes + bias_bytes
    return _Stream(
        base=base,
        base_k=base_k,
        step_k=step_k,
        l1_buffer_num=2 if needed > platform.l1_bytes else FULL_LOAD_SLOTS,
        rest_bytes=rest,
    )


def _choose_step(
    column_bytes: int, base_k: int, max_step: int, element_bytes: int, operands: _Operands
) -> int:
    """The fewest L0 steps that make an efficient transfer, `max_step` (at least 1) if none do."""
    medium_run = MEDIUM_RUN_BYTES // element_bytes
    for step in range(1, max_step):
        if column_bytes * base_k * step >= EFFICIENT_TRANSFER_BYTES and (
            not operands.k_is_inner or base_k * step % medium_run == 0
        ):
            return step
    return max(1, max_step)


def _compute_tail_count(
    operands: _Operands,
    problem: GemmProblem,
    platform: Platform,
    base: int,
    recorder: Recorder | None,
) -> int:
    """Pieces that each block of the last, unfilled round is cut into along the streamed axis."""
    aic_num = platform.aic_num
    blocks = ceil_div(operands.streamed_size, base)
    tail = blocks % aic_num if blocks > aic_num else 0
    count = 1
    if tail:
        element_bytes = problem.dtype.size_bytes
        while (count + 1) * tail <= aic_num and (
            operands.k_is_inner or ceil_div(base, count) * element_bytes > SHORT_RUN_BYTES
        ):
            count += 1
    if recorder is not None:
        recorder.add(
            "tail split",
            f"{tail} blocks are left for the last round, each cut into {count} pieces"
            if tail
            else "no unfilled last round after a full one, nothing is cut",
            blocks=blocks,
            blocks_in_last_round=tail,
            pieces=count,
        )
    return count


def _kept_bytes(problem: GemmProblem, size: int) -> int:
    """Bytes of an operand of `size` rows or columns by K, padded to whole fractals."""
    size16 = -(-size // FRACTAL) * FRACTAL
    k16 = -(-problem.k // FRACTAL) * FRACTAL
    return size16 * k16 * problem.dtype.size_bytes


def _count_steps(size: int, base: int) -> int:
    """Base blocks along an axis that is padded to whole fractals."""
    return ceil_div(-(-size // FRACTAL) * FRACTAL, base)


def _kept_limit(platform: Platform) -> int:
    """Most bytes of L1 that the kept operand and the bias may take."""
    share, of = KEPT_SHARE
    return platform.l1_bytes * share // of


def _compute_db_l0c(platform: Platform, base_m: int, base_n: int) -> int:
    """2 when L0C holds two tiles."""
    return 2 if base_m * base_n * ACCUMULATOR_BYTES * 2 <= platform.l0c_bytes else 1


def _record_choice(
    recorder: Recorder,
    candidate: _Candidate,
    platform: Platform,
    block: BaseBlock,
    obstacle: str,
) -> None:
    """Note whether the full load is chosen, and the numbers that it depends on."""
    recorder.add(
        f"{candidate.operand} full load",
        f"refused: {obstacle}" if obstacle else "chosen",
        param=block.param,
        edge=block.edge,
        kept_bytes=candidate.kept_bytes,
        limit_bytes=_kept_limit(platform),
        **{f"block_{candidate.lines}": candidate.line_count},
    )


def _record_stream(recorder: Recorder, kept: str, stream: _Stream) -> None:
    """Note how the other operand is streamed past the kept one."""
    recorder.add(
        f"{kept} full load tile",
        f"{kept} stays in L1; the other operand is streamed in blocks of {stream.base} through"
        f" {stream.l1_buffer_num} slots",
        rest_bytes=stream.rest_bytes,
        base=stream.base,
        base_k=stream.base_k,
        step_k=stream.step_k,
        l1_buffer_num=stream.l1_buffer_num,
    )
