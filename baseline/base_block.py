"""Rebalancing the base block (specification: host-tiling.md, section 4).

The heuristic looks for the rows and columns of an L0C tile that trade arithmetic intensity against
load balance over the cores.

Notation: `param` = 1/base_m + 1/base_n, the bytes a tile needs per multiply-accumulate up to a
factor; `edge` = the param below which a tile is bound by the cube and not by memory; `rate` = load
balance, the share of the core time that does useful work, at most 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from baseline.base_block_search import SearchGrid, SearchTrace, search_base_block
from baseline.base_k import choose_base_k
from baseline.cube_tiling import ACCUMULATOR_BYTES, START_BASE, START_BASE_K_BYTES
from baseline.platform import Platform
from baseline.steps import Recorder
from baseline.what_if import AS_IT_IS, WhatIf
from hwmodel.integers import FRACTAL
from hwmodel.problem import GemmProblem

MHZ_PER_GHZ: Final = 1000.0
GB_PER_TB: Final = 1024
POWER_PER_GHZ: Final = 8
"""The heuristic's compute power of one core per GHz, 16-bit and HF32."""

FP32_POWER_DIVISOR: Final = 16
"""Plain fp32 computes that many times slower."""

MEMORY_BOUND_INNER_BYTES: Final = 128
"""Alignment of a contiguous axis when memory is the bound."""

CUBE_BOUND_INNER_BYTES: Final = 64
"""The same when the cube is the bound."""

FIXPIPE_BOUND_INNER_BYTES: Final = 256
"""Alignment of N when writing C is the bound."""

CUBE_BOUND_SLICE_BYTES: Final = 128
"""Smallest K slice in L0 when the cube is the bound (memory bound: 16 elements)."""

MEMORY_BOUND_K_UNIT_BYTES: Final = 256
"""Smallest K slice in L1 along a contiguous axis when memory is the bound."""

CUBE_BOUND_K_UNIT_BYTES: Final = 512
"""The same when the cube is the bound."""

BIAS_ELEMENT_BYTES: Final = 4
"""Bytes of one bias element in the bias table."""

EDGE_SHARE: Final = 0.85
"""Part of the edge that the search uses."""

U64_MASK: Final = 2**64 - 1
"""The byte count under the L2 term is a 64-bit product in the original and wraps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseBlock:
    """Result of the rebalancing; `param` and `edge` as the search left them, before clipping."""

    base_m: int
    base_n: int
    base_k: int
    param: float
    edge: float
    used_core_num: int
    db_l0c: int
    ub_db: int

    @property
    def memory_bound(self) -> bool:
        """The tile needs more memory traffic than the cube can hide."""
        return self.param > self.edge


def rebalance_block(
    problem: GemmProblem,
    platform: Platform,
    recorder: Recorder | None,
    what_if: WhatIf = AS_IT_IS,
) -> BaseBlock:
    """The base block that the vendor's `rebalance_block` chooses."""
    edge, fixpipe_edge = compute_roofline_edges(problem, platform, what_if.hbm_share)
    grid = select_search_grid(problem, platform, edge, fixpipe_edge, recorder)
    trace = SearchTrace() if recorder is not None else None
    if what_if.base_tile is None:
        found_m, found_n, param, left_edge = search_base_block(
            problem, platform.aic_num, grid, edge * EDGE_SHARE, trace
        )
    else:
        found_m, found_n = what_if.base_tile
        param = 1 / found_m + 1 / found_n
        # As after a cube win of this tile, or after none (specification: studies.md, H1).
        left_edge = min(param, edge * EDGE_SHARE)
    m, n = problem.m, problem.n
    base_m = min(-(-m // FRACTAL) * FRACTAL, found_m)
    base_n = min(-(-n // FRACTAL) * FRACTAL, found_n)
    start_k = START_BASE_K_BYTES // problem.dtype.size_bytes
    tile_bytes = base_m * base_n * ACCUMULATOR_BYTES
    block = BaseBlock(
        base_m=base_m,
        base_n=base_n,
        base_k=choose_base_k(problem, platform, base_m, base_n, start_k),
        param=param,
        edge=left_edge,
        used_core_num=min(-(-m // base_m) * -(-n // base_n), platform.aic_num),
        db_l0c=2 if tile_bytes * 2 <= platform.l0c_bytes else 1,
        ub_db=2 if tile_bytes <= platform.ub_bytes else 1,
    )
    if recorder is not None and trace is not None:
        _record_search(recorder, trace, grid, block, edge)
    return block


def iterate_search_tiles(problem: GemmProblem, platform: Platform) -> Iterator[tuple[int, int]]:
    """The (base_m, base_n) that the search's loop visits, in its order, pruned ones included."""
    grid = select_search_grid(problem, platform, *compute_roofline_edges(problem, platform), None)
    for cur_m in range(grid.max_m, 0, -grid.m_align):
        for cur_n in range(grid.first_n(cur_m), 0, -grid.n_align):
            yield cur_m, cur_n


def compute_roofline_edges(
    problem: GemmProblem, platform: Platform, hbm_share: float = 1.0
) -> tuple[float, float]:
    """(edge, fixpipe edge): param and K below which the cube, and above which not C, is the bound.

    The order of the operations is the vendor's: cancelling the core count would change last bits.
    `hbm_share` is the part of the HBM bandwidth that the heuristic counts on; the vendor's is 1.
    """
    m, k, n = problem.m, problem.k, problem.n
    freq = platform.clock_mhz / MHZ_PER_GHZ
    hbm_bw = freq * platform.ai_core_cnt * platform.ddr_rate / GB_PER_TB * hbm_share
    l2_bw = freq * platform.ai_core_cnt * platform.l2_rate / GB_PER_TB
    single_power = freq * POWER_PER_GHZ
    if problem.is_plain_fp32:
        single_power /= FP32_POWER_DIVISOR
    power = single_power * platform.aic_num
    cmr = (float(m) + n) / (float(m) * n)
    input_bytes = (m + n) * k * problem.dtype.size_bytes & U64_MASK
    l2_usage = max(float(input_bytes) / platform.l2_bytes, 1.0)
    bw_ratio = l2_bw / hbm_bw
    edge = l2_bw / power + l2_usage * (1 - bw_ratio) * cmr - (1 + bw_ratio) / k
    fixpipe_edge = (m * n * hbm_bw) / ((m + n) * l2_bw)
    return edge, fixpipe_edge


def select_search_grid(
    problem: GemmProblem,
    platform: Platform,
    edge: float,
    fixpipe_edge: float,
    recorder: Recorder | None,
) -> SearchGrid:
    """Upper bounds and steps of the search, from what bounds the best conceivable tile."""
    element_bytes = problem.dtype.size_bytes
    tile_elements = platform.l0c_bytes // ACCUMULATOR_BYTES
    m_best = min(-(-problem.m // FRACTAL) * FRACTAL, START_BASE)
    n_best = max(
        FRACTAL,
        min(-(-problem.n // FRACTAL) * FRACTAL, tile_elements // m_best // FRACTAL * FRACTAL),
    )
    memory_bound = 1.0 / m_best + 1.0 / n_best > edge
    inner_align = (
        MEMORY_BOUND_INNER_BYTES if memory_bound else CUBE_BOUND_INNER_BYTES
    ) // element_bytes
    m_align = inner_align if problem.trans_a else FRACTAL
    if problem.k < fixpipe_edge:
        n_align = FIXPIPE_BOUND_INNER_BYTES // element_bytes
    else:
        n_align = FRACTAL if problem.trans_b else inner_align
    bound = _compute_buffer_bound(problem, platform, memory_bound)
    n_bound = bound
    if problem.bias_dtype is not None:
        n_bound = min(bound, platform.bias_table_bytes // 2 // BIAS_ELEMENT_BYTES)
    grid = SearchGrid(
        max_m=_fit_bound(bound, problem.m, m_align),
        max_n=_fit_bound(n_bound, problem.n, n_align),
        m_align=m_align,
        n_align=n_align,
        tile_elements=tile_elements,
    )
    if recorder is not None:
        recorder.add(
            "roofline edge",
            f"the best conceivable tile {m_best} x {n_best} is bound by"
            f" {'memory' if memory_bound else 'the cube'};"
            f" K is {'below' if problem.k < fixpipe_edge else 'above'} the fixpipe edge",
            edge=edge,
            best_param=1.0 / m_best + 1.0 / n_best,
            fixpipe_edge=fixpipe_edge,
            m_align=m_align,
            n_align=n_align,
            max_m=grid.max_m,
            max_n=grid.max_n,
        )
    return grid


def _compute_buffer_bound(problem: GemmProblem, platform: Platform, memory_bound: bool) -> int:
    """Rows or columns that L0, L0C and L1 take with the smallest sensible K slice.

    The vendor uses L0A, A's type and both transposes as they stand for either matrix.
    """
    element_bytes = problem.dtype.size_bytes
    k16 = -(-problem.k // FRACTAL) * FRACTAL
    least_slice = FRACTAL if memory_bound else CUBE_BOUND_SLICE_BYTES // element_bytes
    slice_bytes = min(least_slice, k16) * element_bytes
    if not problem.trans_a or problem.trans_b:
        k_unit = (
            MEMORY_BOUND_K_UNIT_BYTES if memory_bound else CUBE_BOUND_K_UNIT_BYTES
        ) // element_bytes
    else:
        k_unit = FRACTAL
    return min(
        platform.l0a_bytes // 2 // slice_bytes,
        platform.l0c_bytes // ACCUMULATOR_BYTES // FRACTAL,
        # two slots of two operands share L1
        platform.l1_bytes // (2 * 2 * element_bytes * min(k_unit, k16)),
    )


def _fit_bound(bound: int, shape: int, align: int) -> int:
    """The bound cut to the shape and to whole steps; 0 where not even one step fits."""
    fitted = min(-(-shape // align) * align, bound // align * align)
    if shape < align:
        fitted = min(fitted, -(-shape // FRACTAL) * FRACTAL)
    return fitted


def _record_search(
    recorder: Recorder, trace: SearchTrace, grid: SearchGrid, block: BaseBlock, edge: float
) -> None:
    """Note what the search visited, each candidate that took the lead, and the winner."""
    candidates = grid.count_candidates()
    recorder.add(
        "base block search",
        f"{candidates} candidates, {trace.visited} visited,"
        f" {candidates - trace.visited} proven unable to win and left out",
        candidates=candidates,
        visited=trace.visited,
        pruned=candidates - trace.visited,
        search_edge=edge * EDGE_SHARE,
    )
    for lead in trace.leads:
        recorder.add(
            "base block candidate",
            f"{lead.base_m} x {lead.base_n} takes the lead: {lead.reason}",
            param=lead.param,
            balance_rate=lead.rate,
        )
    recorder.add(
        "base block",
        f"{block.base_m} x {block.base_n} x {block.base_k}, bound by"
        f" {'memory' if block.memory_bound else 'the cube'}",
        param=block.param,
        edge=block.edge,
        used_core_num=block.used_core_num,
        db_l0c=block.db_l0c,
        ub_db=block.ub_db,
    )
