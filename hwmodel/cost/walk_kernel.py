"""Closed form of the kernels that walk a grid of blocks: ASWT, BASE, panels and stream-K.

    time = launch + first access
         + sum over the kinds of rounds of (rounds of the kind) * (time of a round of the kind)
         + exposed first slab or exposed last multiplication
         + last store, and for stream-K barrier and reduction

A round's time is that of a full tile on all cores, from `tile.py`, with the first touches of its
kind, from `residency.py`. Once L2 is full, the C of a round also takes its time at the HBM's
write rate. The last round has its own, smaller tiles when it is split.

B_PANEL is A_PANEL on the transposed problem.
"""

from dataclasses import dataclass

import numpy as np

from hwmodel.cost.kernel_costs import KernelCosts
from hwmodel.cost.residency import Grid, Traffic, WalkPlan, build_grid, build_traffic
from hwmodel.cost.terms import ChipRates, Column, ProblemTerms
from hwmodel.cost.tile import (
    WORKSPACE_BYTES,
    Round,
    Tile,
    TilePlan,
    UbStore,
    build_tile,
    fractal_up,
    overlap_cycles,
    round_cycles,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamKPlan:
    """Stream-K's columns.

    Attributes:
        piece_k: K columns of one piece.
        after_piece: data-parallel tiles that a core runs after its piece: as many as fit the
            order, capped by how many there are.
    """

    piece_k: Column
    after_piece: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastRound:
    """The last, partial round: whether there is one, its tile and its time."""

    exists: Column
    tile: Tile
    round: Round
    cycles: Column


def estimate_walk(
    terms: ProblemTerms,
    chip: ChipRates,
    plan: TilePlan,
    walk: WalkPlan,
    *,
    k_pieces: int = 1,
    resident_slabs: Column | None = None,
    stream_k: StreamKPlan | None = None,
    through_ub: UbStore | None = None,
) -> KernelCosts:
    """Costs of the kernel for each plan.

    Args:
        terms: the problem, transposed for a B panel.
        chip: the chip.
        plan: the plan's tile columns.
        walk: its walk columns.
        k_pieces: fp32 split-K: pieces of K, each stored on its own.
        resident_slabs: panels: L1 slabs of the current block row that stay resident.
        stream_k: stream-K's columns; the last round is then made of pieces of K.
        through_ub: the store through UB, None for the direct store.
    """
    grid = build_grid(terms, plan, walk)
    traffic = build_traffic(terms, chip, plan, walk, grid)
    length = terms.k / k_pieces
    tile = build_tile(
        terms,
        chip,
        plan,
        grid.m,
        grid.n,
        length,
        walk.cores,
        a_loaded=_loaded_share(terms, plan, walk, grid, resident_slabs),
        element_bytes=terms.output_bytes,
        through_ub=through_ub,
    )
    edge = _edge_share(walk, grid)
    full_first = np.minimum(traffic.first_rounds, grid.full_rounds)
    full_later = grid.full_rounds - full_first
    full_burst = np.minimum(traffic.burst_rounds, full_later)
    kinds = (
        (full_first, np.maximum(traffic.first_a, traffic.again_a), traffic.first_b),
        (full_burst, np.maximum(traffic.burst_a, traffic.again_a), traffic.again_b),
        (full_later - full_burst, traffic.again_a, traffic.again_b),
    )
    write_back = tile.output_bytes * (walk.cores * (1 / chip.hbm_write_total))
    rounds = [
        round_cycles(chip, tile, a / k_pieces, b / k_pieces, is_cold=kind == 0)
        for kind, (_, a, b) in enumerate(kinds)
    ]
    cycles = [
        _phase_mean(chip, grid, tile, one, edge, write_back / k_pieces, traffic.kept_ratio)
        * k_pieces
        for one in rounds
    ]
    last = _estimate_last_round(
        terms, chip, plan, walk, grid, traffic, k_pieces, stream_k, through_ub
    )
    total_rounds = last.cycles * last.exists
    mte2 = last.round.load * (last.exists * k_pieces)
    for (count, _, _), one, time in zip(kinds, rounds, cycles, strict=True):
        total_rounds = total_rounds + count * time
        mte2 = mte2 + count * (one.load * k_pieces)
    prologue = _exposed_ends(grid, tile, full_later, rounds, cycles, last, k_pieces)
    is_last_store = last.exists if stream_k is None else last.exists * (grid.full_rounds == 0)
    store = np.where(is_last_store > 0, last.tile.store, tile.store)
    epilogue = store
    if stream_k is not None:
        epilogue = _stream_k_epilogue(terms, chip, grid, stream_k, store, last, cycles[-1])
    full_count, last_count = grid.full_rounds * k_pieces, last.exists * k_pieces
    return KernelCosts(
        launch=np.full_like(prologue, chip.launch_cycles),
        prologue=prologue,
        rounds=total_rounds,
        epilogue=epilogue,
        cube_busy=full_count * tile.mmad + last_count * last.tile.mmad,
        mte2_busy=mte2,
        mte1_busy=full_count * tile.mte1 + last_count * last.tile.mte1,
        fixpipe_busy=full_count
        * np.maximum(tile.store, write_back * (1 - traffic.kept_ratio) / k_pieces)
        + last_count * last.tile.store,
        vector_busy=np.zeros_like(prologue),
        hbm_read_bytes=traffic.hbm_read_bytes,
        read_bytes=walk.cores * full_count * tile.read_bytes
        + last_count * grid.rest * last.tile.read_bytes,
        write_bytes=np.broadcast_to(terms.output_total_bytes, prologue.shape),
        round_count=grid.rounds,
    )


def _loaded_share(
    terms: ProblemTerms,
    plan: TilePlan,
    walk: WalkPlan,
    grid: Grid,
    resident_slabs: Column | None,
) -> Column | float:
    """Share of A that an item loads on average; below 1 for panels only.

    A core keeps its block row from one item to the next inside a window when the window divides
    the cores evenly (specification: plan.md, "How the proposed templates run").
    """
    if resident_slabs is None:
        return 1.0
    slabs = np.ceil(terms.k / np.minimum(plan.k_l1, terms.k))
    in_step = walk.cores % grid.window == 0
    kept_items = np.maximum(1 - walk.cores / (grid.window * grid.n_tiles), 0) * in_step
    share: Column = 1 - kept_items * np.minimum(resident_slabs / slabs, 1)
    return share


def _edge_share(walk: WalkPlan, grid: Grid) -> Column | None:
    """Share of its items that every core spends on the narrow last column; None when none does.

    The walk deals columns out in a cycle. A core meets them all alike, the narrow one too, when
    the columns that a round advances have no factor in common with the number of columns.
    """
    turns = np.floor(grid.rounds / grid.n_tiles)
    if not np.any(turns > 0):
        return None
    advance = np.maximum(walk.cores / grid.window, 1).astype(np.int64)
    is_even = np.gcd(advance, grid.n_tiles.astype(np.int64)) == 1
    share: Column = is_even * turns / np.maximum(grid.rounds, 1)
    return share


def _phase_mean(
    chip: ChipRates,
    grid: Grid,
    tile: Tile,
    one: Round,
    edge: Column | None,
    write_back: Column,
    kept_ratio: Column,
) -> Column:
    """A round's time, averaged over edge tiles and the phases before and after L2 is full."""
    full = overlap_cycles(chip, one.cycles, one.hbm + write_back)
    mean: Column = full + kept_ratio * (one.cycles - full)
    if edge is None:
        return mean
    width = grid.edge_n / grid.n
    narrow = np.maximum(
        np.maximum(
            tile.chain * (fractal_up(grid.edge_n) / fractal_up(grid.n)),
            one.a_load + one.b_load * width,
        ),
        mean * width,
    )
    averaged: Column = mean - edge * np.maximum(mean - narrow, 0)
    return averaged


def _estimate_last_round(
    terms: ProblemTerms,
    chip: ChipRates,
    plan: TilePlan,
    walk: WalkPlan,
    grid: Grid,
    traffic: Traffic,
    k_pieces: int,
    stream_k: StreamKPlan | None,
    through_ub: UbStore | None,
) -> _LastRound:
    """The partial round: split tiles, or stream-K's pieces of K."""
    m_cut, n_cut = np.minimum(walk.m_pieces, grid.m), np.minimum(walk.n_pieces, grid.n)
    items = grid.rest * m_cut * n_cut
    length: Column = terms.k / k_pieces
    if stream_k is not None:
        pieces = np.ceil(terms.k / stream_k.piece_k)
        items = grid.rest * pieces
        length = np.minimum(stream_k.piece_k, terms.k)
        m_cut = n_cut = np.ones_like(grid.m)
    tile = build_tile(
        terms,
        chip,
        plan,
        np.ceil(grid.m / m_cut),
        np.ceil(grid.n / n_cut),
        length,
        np.minimum(items, walk.cores),
        element_bytes=terms.output_bytes if stream_k is None else WORKSPACE_BYTES,
        through_ub=through_ub,
    )
    # Share of a whole round's first touches: all of them if it is the only round.
    first_share = np.clip(traffic.first_rounds - grid.full_rounds, 0, 1)
    is_every_row_new = grid.window * grid.n_tiles <= walk.cores
    part = grid.rest / walk.cores
    later_a = is_every_row_new * traffic.burst_a * part
    a_bytes = np.where(first_share > 0, traffic.first_a * first_share, later_a)
    b_bytes = np.where(first_share > 0, traffic.first_b * first_share, traffic.again_b * part)
    one = round_cycles(chip, tile, a_bytes / k_pieces, b_bytes / k_pieces, is_cold=True)
    round_bytes = grid.rest * grid.m * grid.n * (terms.output_bytes / k_pieces)
    flows_back = traffic.kept_ratio < 1
    write_back = flows_back * round_bytes * (1 / chip.hbm_write_total)
    # More pieces than cores break a rule of the vendor's, but such a plan gets a time too.
    turns = np.ceil(np.maximum(items / walk.cores, 1)) * k_pieces
    cycles = np.maximum(one.cycles * turns, (one.hbm + write_back) * k_pieces)
    return _LastRound(exists=np.minimum(grid.rest, 1), tile=tile, round=one, cycles=cycles)


def _exposed_ends(
    grid: Grid,
    tile: Tile,
    full_later: Column,
    rounds: list[Round],
    cycles: list[Column],
    last: _LastRound,
    k_pieces: int,
) -> Column:
    """Time that no round covers: the first slab's load or the last L1 step's multiplication.

    Where the cube decides, it starts a slab late; where the loads decide, it ends a step late.
    Of the two ends only the longer one is exposed.
    """
    has_full = grid.full_rounds > 0
    first_tile_chain = np.where(has_full, tile.chain, last.tile.chain)
    first_slab = np.where(
        has_full, rounds[0].load * tile.step_share, last.round.load * last.tile.step_share
    )
    first_cycles = np.where(has_full, cycles[0], last.cycles) * (1 / k_pieces)
    start = first_slab + first_tile_chain - first_cycles
    has_last = last.exists > 0
    steady = full_later > 0
    full_load = np.where(steady, rounds[-1].load, rounds[0].load)
    full_cycles = np.where(steady, cycles[-1], cycles[0])
    end_load = np.where(has_last, last.round.load, full_load)
    end_chain = np.where(has_last, last.tile.step_chain, tile.step_chain)
    end_cycles = np.where(has_last, last.cycles, full_cycles) * (1 / k_pieces)
    exposed: Column = np.maximum(np.maximum(start, end_load + end_chain - end_cycles), 0)
    return exposed


def _stream_k_epilogue(
    terms: ProblemTerms,
    chip: ChipRates,
    grid: Grid,
    stream_k: StreamKPlan,
    store: Column,
    last: _LastRound,
    tile_cycles: Column,
) -> Column:
    """Last store, or barrier and reduction where they outlast the tiles after the piece.

    Two vector cores share each slot's band: each copies its band from all slots of the tile, adds
    them one after the other, casts and writes (specification: kernels.md, "StreamK").
    """
    pieces = np.ceil(terms.k / stream_k.piece_k)
    band = np.ceil(grid.m / (2 * pieces)) * grid.n
    reduction = (
        band * pieces * (WORKSPACE_BYTES / chip.aiv_ub_to_l2)
        + band * (pieces / chip.vector_lanes)
        + band * (terms.output_bytes / chip.aiv_ub_to_l2)
    )
    after = np.minimum(stream_k.after_piece, grid.full_rounds) * tile_cycles
    outlast = last.tile.store + chip.barrier_cycles + reduction - after
    epilogue: Column = np.where(last.exists > 0, np.maximum(store, outlast), store)
    return epilogue
