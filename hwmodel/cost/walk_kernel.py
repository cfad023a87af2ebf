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
    TileSize,
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
class WalkCase:
    """What the closed form is evaluated for.

    Attributes:
        terms: the problem, transposed for a B panel.
        chip: the chip.
        plan: the plan's tile columns.
        walk: its walk columns.
        k_pieces: fp32 split-K: pieces of K, each stored on its own.
        resident_slabs: panels: L1 slabs of the current block row that stay resident.
        stream_k: stream-K's columns; the last round is then made of pieces of K.
        through_ub: the store through UB, None for the direct store.
    """

    terms: ProblemTerms
    chip: ChipRates
    plan: TilePlan
    walk: WalkPlan
    k_pieces: int = 1
    resident_slabs: Column | None = None
    stream_k: StreamKPlan | None = None
    through_ub: UbStore | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _FullRounds:
    """The rounds in which every core has a block, by kind: first, burst, steady.

    Attributes:
        tile: the tile of all of them.
        counts: rounds of each kind.
        rounds: one item of each kind.
        cycles: time of a whole round of each kind, all pieces of K.
        write_back: time of a round's C at the HBM's write rate.
    """

    tile: Tile
    counts: tuple[Column, ...]
    rounds: tuple[Round, ...]
    cycles: tuple[Column, ...]
    write_back: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastRound:
    """The last, partial round: whether there is one, its tile, an item and the whole round."""

    exists: Column
    tile: Tile
    round: Round
    cycles: Column


def estimate_walk(case: WalkCase) -> KernelCosts:
    """Costs of the kernel for each plan."""
    grid = build_grid(case.terms, case.plan, case.walk)
    traffic = build_traffic(case.terms, case.chip, case.plan, case.walk, grid)
    full = _estimate_full_rounds(case, grid, traffic)
    last = _estimate_last_round(case, grid, traffic)
    rounds = last.cycles * last.exists
    mte2 = last.round.load * last.exists
    for count, one, cycles in zip(full.counts, full.rounds, full.cycles, strict=True):
        rounds = rounds + count * cycles
        mte2 = mte2 + count * one.load
    prologue = _exposed_ends(grid, full, last, case.k_pieces)
    full_items, last_items = grid.full_rounds * case.k_pieces, last.exists * case.k_pieces
    flow_back = full.write_back * ((1 - traffic.kept_ratio) / case.k_pieces)
    tile = full.tile
    return KernelCosts(
        launch=np.full_like(prologue, case.chip.launch_cycles),
        prologue=prologue,
        rounds=rounds,
        epilogue=_estimate_epilogue(case, grid, full, last),
        cube_busy=full_items * tile.mmad + last_items * last.tile.mmad,
        mte2_busy=mte2 * case.k_pieces,
        mte1_busy=full_items * tile.mte1 + last_items * last.tile.mte1,
        fixpipe_busy=full_items * np.maximum(tile.store, flow_back) + last_items * last.tile.store,
        vector_busy=np.zeros_like(prologue),
        hbm_read_bytes=traffic.hbm_read_bytes,
        read_bytes=case.walk.cores * full_items * tile.read_bytes
        + last_items * grid.rest * last.tile.read_bytes,
        write_bytes=np.broadcast_to(case.terms.output_total_bytes, prologue.shape),
        round_count=grid.rounds,
    )


def _estimate_full_rounds(case: WalkCase, grid: Grid, traffic: Traffic) -> _FullRounds:
    """The full rounds by kind."""
    tile = build_tile(
        case.terms,
        case.chip,
        case.plan,
        TileSize(m=grid.m, n=grid.n, length=case.terms.k / case.k_pieces, active=case.walk.cores),
        a_loaded=_loaded_share(case, grid),
        element_bytes=case.terms.output_bytes,
        through_ub=case.through_ub,
    )
    first = np.minimum(traffic.first_rounds, grid.full_rounds)
    later = grid.full_rounds - first
    burst = np.minimum(traffic.burst_rounds, later)
    touched = (
        (np.maximum(traffic.first_a, traffic.again_a), traffic.first_b),
        (np.maximum(traffic.burst_a, traffic.again_a), traffic.again_b),
        (traffic.again_a, traffic.again_b),
    )
    share = 1 / case.k_pieces
    rounds = tuple(
        round_cycles(case.chip, tile, a * share, b * share, is_cold=kind == 0)
        for kind, (a, b) in enumerate(touched)
    )
    write_back = tile.output_bytes * (case.walk.cores * (1 / case.chip.hbm_write_total))
    edge = _edge_share(case.walk, grid)
    cycles = tuple(
        _mean_cycles(case.chip, grid, tile, one, edge, write_back * share, traffic.kept_ratio)
        * case.k_pieces
        for one in rounds
    )
    return _FullRounds(
        tile=tile,
        counts=(first, burst, later - burst),
        rounds=rounds,
        cycles=cycles,
        write_back=write_back,
    )


def _loaded_share(case: WalkCase, grid: Grid) -> Column | float:
    """Share of A that an item loads on average; below 1 for panels only.

    A core keeps its block row from one item to the next inside a window when the window divides
    the cores evenly (specification: plan.md, "How the proposed templates run").
    """
    if case.resident_slabs is None:
        return 1.0
    cores = case.walk.cores
    slabs = np.ceil(case.terms.k / np.minimum(case.plan.k_l1, case.terms.k))
    in_step = cores % grid.window == 0
    kept_items = np.maximum(1 - cores / (grid.window * grid.n_tiles), 0) * in_step
    share: Column = 1 - kept_items * np.minimum(case.resident_slabs / slabs, 1)
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


def _mean_cycles(
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


def _estimate_last_round(case: WalkCase, grid: Grid, traffic: Traffic) -> _LastRound:
    """The partial round: split tiles, or stream-K's pieces of K."""
    cores, k = case.walk.cores, case.terms.k
    if case.stream_k is None:
        m_cut = np.minimum(case.walk.m_pieces, grid.m)
        n_cut = np.minimum(case.walk.n_pieces, grid.n)
        items = grid.rest * m_cut * n_cut
        m, n, length = np.ceil(grid.m / m_cut), np.ceil(grid.n / n_cut), k / case.k_pieces
        element_bytes = case.terms.output_bytes
    else:
        items = grid.rest * np.ceil(k / case.stream_k.piece_k)
        m, n, length = grid.m, grid.n, np.minimum(case.stream_k.piece_k, k)
        element_bytes = WORKSPACE_BYTES
    tile = build_tile(
        case.terms,
        case.chip,
        case.plan,
        TileSize(m=m, n=n, length=length, active=np.minimum(items, cores)),
        element_bytes=element_bytes,
        through_ub=case.through_ub,
    )
    a_bytes, b_bytes = _last_round_touches(grid, traffic, cores)
    share = 1 / case.k_pieces
    one = round_cycles(case.chip, tile, a_bytes * share, b_bytes * share, is_cold=True)
    round_bytes = grid.rest * grid.m * grid.n * case.terms.output_bytes
    flows_back = traffic.kept_ratio < 1
    write_back = flows_back * round_bytes * (1 / case.chip.hbm_write_total)
    # More pieces than cores break a rule of the vendor's, but such a plan gets a time too.
    turns = np.ceil(np.maximum(items / cores, 1)) * case.k_pieces
    cycles = np.maximum(one.cycles * turns, one.hbm * case.k_pieces + write_back)
    return _LastRound(exists=np.minimum(grid.rest, 1), tile=tile, round=one, cycles=cycles)


def _last_round_touches(grid: Grid, traffic: Traffic, cores: Column) -> tuple[Column, Column]:
    """HBM bytes of A and B in the last round: of its kind, by its share of a whole round."""
    # All first touches are left to it if it is the only round.
    first_share = np.clip(traffic.first_rounds - grid.full_rounds, 0, 1)
    is_first = first_share > 0
    part = grid.rest / cores
    is_every_row_new = grid.window * grid.n_tiles <= cores
    later_a = is_every_row_new * traffic.burst_a * part
    a_bytes = np.where(is_first, traffic.first_a * first_share, later_a)
    b_bytes = np.where(is_first, traffic.first_b * first_share, traffic.again_b * part)
    return a_bytes, b_bytes


def _exposed_ends(grid: Grid, full: _FullRounds, last: _LastRound, k_pieces: int) -> Column:
    """Time that no round covers: the first slab's load or the last L1 step's multiplication.

    Where the cube decides, it starts a slab late; where the loads decide, it ends a step late.
    Of the two ends only the longer one is exposed.
    """
    per_item = 1 / k_pieces
    tile, has_full, has_last = full.tile, grid.full_rounds > 0, last.exists > 0
    start = np.where(
        has_full,
        full.rounds[0].load * tile.step_share + tile.chain - full.cycles[0] * per_item,
        last.round.load * last.tile.step_share + last.tile.chain - last.cycles * per_item,
    )
    is_steady = grid.full_rounds > full.counts[0]
    full_end = tile.step_chain + np.where(
        is_steady,
        full.rounds[-1].load - full.cycles[-1] * per_item,
        full.rounds[0].load - full.cycles[0] * per_item,
    )
    last_end = last.tile.step_chain + last.round.load - last.cycles * per_item
    exposed: Column = np.maximum(np.maximum(start, np.where(has_last, last_end, full_end)), 0)
    return exposed


def _estimate_epilogue(case: WalkCase, grid: Grid, full: _FullRounds, last: _LastRound) -> Column:
    """The last store; for stream-K barrier and reduction where they outlast it.

    Two vector cores share each slot's band: each copies its band from all slots of the tile, adds
    them one after the other, casts and writes (specification: kernels.md, "StreamK"). That hides
    behind the data-parallel tiles that the cores run after their piece.
    """
    if case.stream_k is None:
        store: Column = np.where(last.exists > 0, last.tile.store, full.tile.store)
        return store
    chip = case.chip
    pieces = np.ceil(case.terms.k / case.stream_k.piece_k)
    band = np.ceil(grid.m / (2 * pieces)) * grid.n
    reduction = (
        band * pieces * (WORKSPACE_BYTES / chip.aiv_ub_to_l2)
        + band * (pieces / chip.vector_lanes)
        + band * (case.terms.output_bytes / chip.aiv_ub_to_l2)
    )
    after = np.minimum(case.stream_k.after_piece, grid.full_rounds) * full.cycles[-1]
    outlast = last.tile.store + chip.barrier_cycles + reduction - after
    tile_store = np.where(grid.full_rounds > 0, full.tile.store, last.tile.store)
    epilogue: Column = np.maximum(tile_store, np.where(last.exists > 0, outlast, 0))
    return epilogue
