"""The vendor's rules for what follows from a tile, on columns of tiles.

Each function takes int64 columns of equal length and answers for every row what the vendor's host
code would choose for that tile. The scalar originals are in `baseline`; tests hold both to the
same answers. (Specification: host-tiling.md, the section named in each function.)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baseline import full_load, l1_tiling, stream_k
from baseline.aswt import (
    BIAS_RESERVE_BYTES,
    FIXPIPE_MAX_K,
    FIXPIPE_MIN_M,
    FIXPIPE_MIN_ROW_BYTES,
    LINE_BYTES,
)
from baseline.base_k import NARROW_BASE_KS, WIDE_SLICE_BYTES
from baseline.cube_tiling import START_BASE_K_BYTES
from baseline.full_load import WIDE_BASE_K
from baseline.l1_tiling import (
    BIAS_SLOT_BYTES,
    EFFICIENT_TRANSFER_BYTES,
    LONG_RUN_BYTES,
    MEDIUM_RUN_BYTES,
)
from hwmodel.derived import A_BLOCK_TEMPLATES, B_BLOCK_TEMPLATES, TAIL_RUN_BYTES
from hwmodel.dtypes import DType, Format
from hwmodel.footprint import L0C_ELEMENT_BYTES
from hwmodel.integers import FRACTAL, align_up
from hwmodel.plan import Template
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.vendor_tiling import MAX_VENDOR_STEP_K

IntColumn = NDArray[np.int64]
BoolColumn = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Tiles:
    """Columns of tiles of one template; base_m and base_n in elements."""

    template: Template
    base_m: IntColumn
    base_n: IntColumn

    def __len__(self) -> int:
        """Number of tiles."""
        return len(self.base_m)


def ceil_columns(value: IntColumn | int, divisor: IntColumn | int) -> IntColumn:
    """Ceiling division of columns of positive integers."""
    return np.asarray(-(-value // divisor), dtype=np.int64)


def compute_blocks(problem: GemmProblem, tiles: Tiles) -> IntColumn:
    """Blocks dealt out to the cores, as `hwmodel.derived.compute_block_count`."""
    m_tiles = ceil_columns(problem.m, tiles.base_m)
    n_tiles = ceil_columns(problem.n, tiles.base_n)
    if tiles.template in A_BLOCK_TEMPLATES:
        return n_tiles
    if tiles.template in B_BLOCK_TEMPLATES:
        return m_tiles
    return m_tiles * n_tiles


def choose_base_k(problem: GemmProblem, spec: HardwareSpec, tiles: Tiles) -> IntColumn:
    """base_k of each tile (section 5); at least 16, also where that does not fit L0."""
    size = problem.dtype.size_bytes
    k16 = align_up(problem.k, FRACTAL)
    max_k = spec.buffers.l0a_bytes // 2 // size // np.maximum(tiles.base_m, tiles.base_n)
    if problem.trans_a and not problem.trans_b:
        chosen = np.maximum(max_k // FRACTAL * FRACTAL, FRACTAL)
    else:
        unit = WIDE_SLICE_BYTES // size
        fallback = np.select(
            [max_k >= value for value in NARROW_BASE_KS],
            NARROW_BASE_KS,
            START_BASE_K_BYTES // size,
        )
        chosen = np.where(max_k * size >= WIDE_SLICE_BYTES, max_k // unit * unit, fallback)
    return np.where(k16 <= max_k, k16, chosen).astype(np.int64)


def choose_db_l0c(spec: HardwareSpec, tiles: Tiles) -> IntColumn:
    """2 where two tiles fit L0C (section 4)."""
    two_tiles = 2 * tiles.base_m * tiles.base_n * L0C_ELEMENT_BYTES
    return np.where(two_tiles <= spec.buffers.l0c_bytes, 2, 1).astype(np.int64)


def choose_ub_db(spec: HardwareSpec, tiles: Tiles) -> IntColumn:
    """2 where the vendor double-buffers tiles in UB (section 4)."""
    tile = tiles.base_m * tiles.base_n * L0C_ELEMENT_BYTES
    return np.where(tile <= spec.buffers.ub_bytes, 2, 1).astype(np.int64)


def choose_fixpipe(problem: GemmProblem, spec: HardwareSpec, tiles: Tiles) -> BoolColumn:
    """Where the vendor sends the tile through UB (section 8); never under an A full load."""
    row_bytes = problem.n * problem.out_dtype.size_bytes
    serves = (
        tiles.template is not Template.A_FULL
        and problem.k <= FIXPIPE_MAX_K
        and problem.m >= FIXPIPE_MIN_M
        and row_bytes % LINE_BYTES != 0
        and row_bytes > FIXPIPE_MIN_ROW_BYTES
        and spec.cores.aiv_num == 2 * spec.cores.aic_num
    )
    many = ceil_columns(problem.m, tiles.base_m) * ceil_columns(problem.n, tiles.base_n)
    return (many > spec.cores.aic_num) & serves


def choose_tails(
    problem: GemmProblem, spec: HardwareSpec, tiles: Tiles
) -> tuple[IntColumn, IntColumn]:
    """Row and column pieces of the last round's blocks (section 6; section 8 for full loads)."""
    cores = spec.cores.aic_num
    blocks = compute_blocks(problem, tiles)
    rest = np.where(blocks <= cores, 0, blocks % cores)
    size = problem.dtype.size_bytes
    m_count, n_count = np.ones_like(rest), np.ones_like(rest)
    split_m = tiles.template not in A_BLOCK_TEMPLATES
    split_n = tiles.template not in B_BLOCK_TEMPLATES
    grown = rest > 0
    while grown.any():
        grown_m = grown_n = np.zeros_like(grown)
        if split_m:
            long_m = ceil_columns(tiles.base_m, m_count) * size > TAIL_RUN_BYTES
            fits = (m_count + 1) * n_count * rest <= cores
            grown_m = grown & fits & (long_m | (not problem.trans_a))
            m_count = m_count + grown_m
        if split_n:
            long_n = ceil_columns(tiles.base_n, n_count) * size > TAIL_RUN_BYTES
            fits = m_count * (n_count + 1) * rest <= cores
            allowed = grown_m if split_m else grown
            grown_n = allowed & fits & (long_n | problem.trans_b)
            n_count = n_count + grown_n
        grown = grown_m if split_m else grown_n
    return m_count, n_count


def choose_step_k(
    problem: GemmProblem,
    spec: HardwareSpec,
    tiles: Tiles,
    base_k: IntColumn,
    fixpipe: BoolColumn,
) -> IntColumn:
    """L0 steps in an L1 step of ASWT (section 8, cases 3 and 4); 0 where none fits.

    The tiling data passes on at most four of them (section 10).
    """
    l1_bytes, size = spec.buffers.l1_bytes, problem.dtype.size_bytes
    room = l1_bytes - BIAS_RESERVE_BYTES if problem.bias_bytes else l1_bytes
    plain = room // 2 // ((tiles.base_m + tiles.base_n) * base_k) // size
    section_6 = choose_section_6_steps(problem, spec, tiles, base_k)
    return np.minimum(np.where(fixpipe, section_6, plain), MAX_VENDOR_STEP_K)


def choose_section_6_steps(
    problem: GemmProblem, spec: HardwareSpec, tiles: Tiles, base_k: IntColumn
) -> IntColumn:
    """L0 steps in an L1 step by the rule that stream-K and the fixpipe output keep (section 6)."""
    l1_bytes, size = spec.buffers.l1_bytes, problem.dtype.size_bytes
    k_inner = not problem.trans_a or problem.trans_b
    unit = LONG_RUN_BYTES // size if k_inner else FRACTAL
    run = MEDIUM_RUN_BYTES // size
    bias_slots = 2 * tiles.base_n * BIAS_SLOT_BYTES if problem.bias_bytes else 0
    budget = l1_bytes - bias_slots
    max_step = np.minimum(ceil_columns(problem.k, base_k), l1_tiling.MAX_STEP_K)
    taken, mte = np.zeros_like(base_k), np.zeros_like(base_k)
    open_rows = np.ones(len(base_k), dtype=np.bool_)
    for step in range(1, l1_tiling.MAX_STEP_K + 1):
        k_l1 = base_k * step
        a_bytes, b_bytes = tiles.base_m * k_l1 * size, tiles.base_n * k_l1 * size
        larger = np.maximum(a_bytes, b_bytes)
        fits = ((a_bytes + b_bytes) * 2 <= budget) & (larger * 4 <= l1_bytes)
        open_rows &= fits & (step <= max_step)
        small = mte < EFFICIENT_TRANSFER_BYTES
        better = np.where(taken % unit != 0, (k_l1 % run == 0) | small, (k_l1 % unit == 0) & small)
        take = open_rows & ((taken == 0) | better)
        taken, mte = np.where(take, k_l1, taken), np.where(take, larger, mte)
    return taken // base_k


def choose_piece(problem: GemmProblem, spec: HardwareSpec, tiles: Tiles) -> IntColumn:
    """single_core_k of each tile under stream-K: as many pieces as cores (section 7).

    It is K or more where the last round's tiles need more than half of the cores, or all of them.
    """
    cores = spec.cores.aic_num
    rest = compute_blocks(problem, tiles) % cores
    piece = ceil_columns(problem.k, cores // np.maximum(rest, 1))
    if problem.format_b is not Format.ND:
        unit = select_piece_unit(problem)
        piece = ceil_columns(piece, unit) * unit
    return piece


def select_piece_unit(problem: GemmProblem) -> int:
    """K columns on whose multiples the vendor cuts B in fractal format (section 7)."""
    narrow = problem.dtype is DType.FP32 and problem.trans_b
    return stream_k.NZ_NARROW_ALIGN if narrow else FRACTAL


def choose_stream_k_k(
    problem: GemmProblem, spec: HardwareSpec, tiles: Tiles, piece: IntColumn
) -> tuple[IntColumn, IntColumn]:
    """base_k and L0 steps in an L1 step of stream-K, for pieces of K of these lengths (section 7).

    Where the vendor takes the piece itself for base_k, it is rounded up to the fractal here: the
    vendor's own value can break the rule of base_k.
    """
    size = problem.dtype.size_bytes
    k_inner = not problem.trans_a or problem.trans_b
    unit = stream_k.K_RUN_BYTES // size if k_inner else FRACTAL
    longest = stream_k.L0_BYTES // 2 // size // np.maximum(tiles.base_m, tiles.base_n)
    base_k = np.minimum(ceil_columns(piece, FRACTAL) * FRACTAL, longest // unit * unit)
    base_k = np.maximum(base_k, FRACTAL)
    step = choose_section_6_steps(problem, spec, tiles, base_k)
    if problem.bias_bytes:
        several = compute_blocks(problem, tiles) > spec.cores.aic_num
        step = np.where(several, stream_k.BIAS_STEPS, step)
    return base_k, np.minimum(step, MAX_VENDOR_STEP_K)


def choose_full_load_k(
    problem: GemmProblem,
    spec: HardwareSpec,
    tiles: Tiles,
    base_k: IntColumn,
    resident_bytes: int,
) -> tuple[IntColumn, IntColumn]:
    """base_k and L0 steps per L1 step under a full load, for tiles taken as they are (section 8).

    The vendor also shrinks the streamed side of the tile after it doubles base_k; here base_k
    is doubled only where the tile needs no shrinking. `resident_bytes` is the L1 that the full
    operand takes.
    """
    size, buffers = problem.dtype.size_bytes, spec.buffers
    if tiles.template is Template.A_FULL:
        streamed, resident, k_contiguous = tiles.base_n, tiles.base_m, problem.trans_b
        streamed_l0, resident_l0 = buffers.l0b_bytes, buffers.l0a_bytes
        bias = 2 * streamed * problem.bias_bytes
    else:
        streamed, resident, k_contiguous = tiles.base_m, tiles.base_n, not problem.trans_a
        streamed_l0, resident_l0 = buffers.l0a_bytes, buffers.l0b_bytes
        bias = np.full_like(streamed, align_up(problem.n, FRACTAL) * problem.bias_bytes)
    rest = np.maximum(buffers.l1_bytes - resident_bytes - bias, 0)
    limit = rest // (base_k * streamed * 2 * size)
    max_step = np.minimum(np.minimum(ceil_columns(problem.k, base_k), limit), full_load.MAX_STEP_K)
    run = MEDIUM_RUN_BYTES // size
    doubled = (
        k_contiguous
        & (max_step == limit)
        & (max_step * base_k % WIDE_BASE_K != 0)
        & (2 * base_k * resident * size * 2 <= resident_l0)
        & (2 * base_k * streamed * size * 2 <= streamed_l0)
    )
    base_k = np.where(doubled, 2 * base_k, base_k)
    step = np.maximum(max_step, 1)
    for candidate in range(full_load.MAX_STEP_K - 1, 0, -1):
        large = streamed * base_k * candidate * size >= EFFICIENT_TRANSFER_BYTES
        aligned = (base_k * candidate % run == 0) | (not k_contiguous)
        step = np.where((candidate < max_step) & large & aligned, candidate, step)
    return base_k, step
