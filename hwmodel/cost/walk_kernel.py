"""Closed form of the kernels that walk a grid of blocks: ASWT, BASE, panels and stream-K.

    time = launch + first access
         + load of the first slab
         + sum over the items of the busiest core of the time from one's first mmad to the next
           one's, for the last item to its last mmad
         + what is left of its store, and for stream-K barrier and reduction

An item's time is that of a full tile on all cores, from `tile.py`, with the first touches of its
kind of round, from `residency.py`. Once L2 is full, the C of a round also takes its time at the
HBM's write rate. The last round has its own tiles: smaller when it is split, and the narrow last
ones where the walk ends there.

B_PANEL is A_PANEL on the transposed problem.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.kernel_costs import KernelCosts
from hwmodel.cost.residency import (
    Grid,
    Traffic,
    WalkPlan,
    build_grid,
    build_traffic,
    last_tile,
)
from hwmodel.cost.store import TO_WORKSPACE, WayOut
from hwmodel.cost.stream_k import StreamKPlan, reduction_cycles
from hwmodel.cost.terms import ChipRates, Column, ProblemTerms
from hwmodel.cost.tile import (
    L1_SLOTS,
    Round,
    Tile,
    TilePlan,
    TileSize,
    build_tile,
    fractal_up,
    overlap_cycles,
    round_cycles,
)


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
        way_out: how C leaves L0C.
        stream_k: stream-K's columns; the last round is then made of pieces of K.
    """

    terms: ProblemTerms
    chip: ChipRates
    plan: TilePlan
    walk: WalkPlan
    way_out: WayOut
    k_pieces: int = 1
    resident_slabs: Column | None = None
    stream_k: StreamKPlan | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _FullRounds:
    """The rounds in which every core has a block, by kind: first, burst, steady.

    Attributes:
        tile: the tile of all of them.
        counts: rounds of each kind.
        rounds: one item of each kind.
        cycles: time of a whole round of each kind, all pieces of K.
        saved: what the last of them takes less when no item follows on its core.
        write_back: time of a round's C at the HBM's write rate.
    """

    tile: Tile
    counts: tuple[Column, ...]
    rounds: tuple[Round, ...]
    cycles: tuple[Column, ...]
    saved: Column
    write_back: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastRound:
    """The last, partial round.

    Attributes:
        exists: 1 where there is one, else 0.
        tile: its tile.
        round: one item.
        cycles: time of the whole round, if an item followed on its core.
        saved: what it takes less when none does.
    """

    exists: Column
    tile: Tile
    round: Round
    cycles: Column
    saved: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timeline:
    """How the rounds of the busiest core end.

    Attributes:
        rounds: from the first mmad to the last one.
        full: the same of a core without an item in the last round; negative where all have one.
        after: time of the data-parallel tiles after a stream-K piece.
        ends_full: where the last item is of a full round.
    """

    rounds: Column
    full: Column
    after: Column
    ends_full: NDArray[np.bool_]


def estimate_walk(case: WalkCase) -> KernelCosts:
    """Costs of the kernel for each plan."""
    grid = build_grid(case.terms, case.plan, case.walk)
    traffic = build_traffic(case.terms, case.chip, case.plan, case.walk, grid)
    full = _estimate_full_rounds(case, grid, traffic)
    last = _estimate_last_round(case, grid, traffic)
    line = _build_timeline(case, grid, full, last)
    mte2 = last.round.load * last.exists
    for count, one in zip(full.counts, full.rounds, strict=True):
        mte2 = mte2 + count * one.load
    full_items, last_items = grid.full_rounds * case.k_pieces, last.exists * case.k_pieces
    flow_back = full.write_back * ((1 - traffic.kept_ratio) / case.k_pieces)
    tile, none = full.tile, np.zeros_like(line.rounds)
    return KernelCosts(
        launch=none + case.chip.launch_cycles,
        prologue=_first_slab(grid, full, last),
        rounds=line.rounds,
        epilogue=_estimate_epilogue(case, grid, full, last, line),
        cube_busy=full_items * tile.mmad + last_items * last.tile.mmad,
        mte2_busy=mte2 * case.k_pieces,
        mte1_busy=full_items * tile.mte1 + last_items * last.tile.mte1,
        fixpipe_busy=full_items * np.maximum(tile.store, flow_back) + last_items * last.tile.store,
        vector_busy=none,
        hbm_read_bytes=traffic.hbm_read_bytes,
        read_bytes=case.walk.cores * full_items * tile.read_bytes
        + last_items * grid.rest * last.tile.read_bytes,
        write_bytes=none + case.terms.output_total_bytes,
        round_count=grid.rounds,
    )


def _estimate_full_rounds(case: WalkCase, grid: Grid, traffic: Traffic) -> _FullRounds:
    """The full rounds by kind."""
    chip, share = case.chip, 1 / case.k_pieces
    size = TileSize(
        m=grid.m,
        n=grid.n,
        length=case.terms.k * share,
        active=case.walk.cores,
        a_loaded=_loaded_share(case, grid),
        bias_loaded=share,
    )
    tile = build_tile(case.terms, chip, _with_slots(case, grid), size, case.way_out)
    first = np.minimum(traffic.first_rounds, grid.full_rounds)
    later = grid.full_rounds - first
    burst = np.minimum(traffic.burst_rounds, later)
    touched = (
        (np.maximum(traffic.first_a, traffic.again_a), traffic.first_b),
        (np.maximum(traffic.burst_a, traffic.again_a), traffic.again_b),
        (traffic.again_a, traffic.again_b),
    )
    rounds = tuple(
        round_cycles(chip, tile, a * share, b * share, late_share=late)
        for (a, b), late in zip(
            touched, (traffic.late.first, traffic.late.burst, traffic.late.again), strict=True
        )
    )
    write_back = tile.output_bytes * (case.walk.cores * (1 / chip.hbm_write_total))
    edge = _edge_share(case.walk, grid)
    flow = write_back * share
    item_cycles = tuple(
        _mean_cycles(chip, grid, tile, one, edge, flow, traffic.kept_ratio) for one in rounds
    )
    counts = (first, burst, later - burst)
    last_cycles, finish, hbm = (
        _of_last_kind(counts, values)
        for values in (
            item_cycles,
            tuple(one.finish for one in rounds),
            tuple(one.hbm for one in rounds),
        )
    )
    # The last item's first slab came while the item before it ran.
    memory = hbm * (1 - tile.step_share) + flow
    finish = _flooded(chip, finish, memory, traffic.kept_ratio)
    return _FullRounds(
        tile=tile,
        counts=counts,
        rounds=rounds,
        cycles=tuple(cycles * case.k_pieces for cycles in item_cycles),
        saved=np.maximum(last_cycles - finish, 0),
        write_back=write_back,
    )


def _of_last_kind(counts: tuple[Column, ...], values: tuple[Column, ...]) -> Column:
    """Of one value for each kind of round that of the kind which comes last."""
    first, burst, steady = values
    last: Column = np.where(counts[2] > 0, steady, np.where(counts[1] > 0, burst, first))
    return last


def _flooded(chip: ChipRates, cycles: Column, memory: Column, kept_ratio: Column) -> Column:
    """Mean of the time before and after L2 is full; then it overlaps that of the memory."""
    full = overlap_cycles(chip, cycles, memory)
    mean: Column = full + kept_ratio * (cycles - full)
    return mean


def _loaded_share(case: WalkCase, grid: Grid) -> Column | float:
    """Share of A that an item loads on average; below 1 for panels only.

    A core keeps its block row from one item to the next inside a window when the window divides
    the cores evenly (specification: plan.md, "How the proposed templates run").
    """
    if case.resident_slabs is None:
        return 1.0
    share: Column = 1 - _kept_items(case, grid) * np.minimum(
        case.resident_slabs / _slab_count(case), 1
    )
    return share


def _kept_items(case: WalkCase, grid: Grid) -> Column:
    """Share of the items that follow one of the same block row on their core."""
    cores = case.walk.cores
    in_step = cores % grid.window == 0
    share: Column = np.maximum(1 - cores / (grid.window * grid.n_tiles), 0) * in_step
    return share


def _slab_count(case: WalkCase) -> Column:
    """L1 slabs of a tile."""
    count: Column = np.ceil(case.terms.k / np.minimum(case.plan.k_l1, case.terms.k))
    return count


def _with_slots(case: WalkCase, grid: Grid) -> TilePlan:
    """The plan with the slots that a panel leaves: one where its only slab is replaced."""
    if case.resident_slabs is None:
        return case.plan
    is_only = _slab_count(case) == 1
    slots = np.where(is_only, 1 / (1 - 0.5 * _kept_items(case, grid)), L1_SLOTS)
    return replace(case.plan, slots=slots)


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
    """An item's time, averaged over edge tiles and the phases before and after L2 is full."""
    mean = _flooded(chip, one.cycles, one.hbm + write_back, kept_ratio)
    if edge is None:
        return mean
    width = grid.edge_n / grid.n
    chain = tile.chain * (fractal_up(grid.edge_n) / fractal_up(grid.n))
    load = one.a_load + one.b_load * width
    in_flight = one.waiting + (load + chain) / tile.slots
    narrow = np.maximum(np.maximum(chain, load), np.maximum(in_flight, mean * width))
    averaged: Column = mean - edge * np.maximum(mean - narrow, 0)
    return averaged


def _estimate_last_round(case: WalkCase, grid: Grid, traffic: Traffic) -> _LastRound:
    """The partial round: split tiles, or stream-K's pieces of K."""
    cores, k = case.walk.cores, case.terms.k
    m, n = last_tile(case.walk, grid)
    if case.stream_k is None:
        m_cut, n_cut = np.minimum(case.walk.m_pieces, m), np.minimum(case.walk.n_pieces, n)
        items = grid.rest * m_cut * n_cut
        m, n, length = np.ceil(m / m_cut), np.ceil(n / n_cut), k / case.k_pieces
        way_out = case.way_out
    else:
        items = grid.rest * np.ceil(k / case.stream_k.piece_k)
        length, way_out = np.minimum(case.stream_k.piece_k, k), TO_WORKSPACE
    # More pieces than cores break a rule of the vendor's, but such a plan gets a time too.
    per_core = np.ceil(np.maximum(items / cores, 1)) * case.k_pieces
    size = TileSize(
        m=m,
        n=n,
        length=length,
        active=np.minimum(items, cores),
        bias_loaded=1 / case.k_pieces,
    )
    tile = build_tile(case.terms, case.chip, case.plan, size, way_out)
    a_bytes, b_bytes = _last_round_touches(grid, traffic, cores)
    one = round_cycles(case.chip, tile, a_bytes / per_core, b_bytes / per_core)
    # What L2 held before the round stays there at its end if all of it fits.
    round_bytes = grid.rest * m * n * case.terms.output_bytes
    write_back = np.minimum(round_bytes, traffic.overflow_bytes) * (1 / case.chip.hbm_write_total)
    cycles = np.maximum(one.cycles * per_core, one.hbm * per_core + write_back)
    # The round's first slab came while the full rounds ran, or is exposed before it.
    memory = one.hbm * (per_core - tile.step_share) + write_back
    finish = np.maximum(one.cycles * (per_core - 1) + one.finish, memory)
    return _LastRound(
        exists=np.minimum(grid.rest, 1),
        tile=tile,
        round=one,
        cycles=cycles,
        saved=np.maximum(cycles - finish, 0),
    )


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


def _build_timeline(case: WalkCase, grid: Grid, full: _FullRounds, last: _LastRound) -> _Timeline:
    """Time from the first mmad of the busiest core to its last one, and when others end."""
    full_total = np.zeros_like(grid.rest)
    for count, cycles in zip(full.counts, full.cycles, strict=True):
        full_total = full_total + count * cycles
    has_full = grid.full_rounds > 0
    after, ends_full = np.zeros_like(full_total), last.exists == 0
    if case.stream_k is not None:
        tiles_after = np.minimum(case.stream_k.after_piece, grid.full_rounds)
        ends_full = ends_full | (tiles_after > 0)
        after = tiles_after * full.cycles[-1] - (tiles_after > 0) * full.saved
    to_later, to_last = _slab_changes(full, last)
    full_total = full_total - to_later
    saved = np.where(ends_full, full.saved, last.saved + has_full * to_last)
    return _Timeline(
        rounds=full_total + last.exists * last.cycles - saved,
        full=np.where(has_full, full_total - full.saved, -np.inf),
        after=after,
        ends_full=ends_full,
    )


def _slab_changes(full: _FullRounds, last: _LastRound) -> tuple[Column, Column]:
    """What the hand-overs from first to later rounds and to the last round take less than others.

    Where the loads decide, an item ends with the next one's first slab, which comes faster when it
    is smaller or no longer a first touch.
    """
    first, burst, steady = full.rounds
    has_burst = full.counts[1] > 0
    is_followed = (full.counts[0] > 0) & (has_burst | (full.counts[2] > 0))
    to_later = is_followed * _slab_change(first, np.where(has_burst, burst.slab, steady.slab))
    changes = tuple(_slab_change(one, last.round.slab) for one in full.rounds)
    return to_later, last.exists * _of_last_kind(full.counts, changes)


def _slab_change(one: Round, next_slab: Column) -> Column:
    """What an item takes less if the next one's first slab takes that long instead of its own."""
    by_loads = np.maximum(one.cycles - one.unloaded, 0)
    change: Column = np.minimum(by_loads, np.maximum(one.slab - next_slab, 0))
    return change


def _first_slab(grid: Grid, full: _FullRounds, last: _LastRound) -> Column:
    """Load of the busiest core's first slab, which no mmad covers."""
    slab: Column = np.where(grid.full_rounds > 0, full.rounds[0].slab, last.round.slab)
    return slab


def _estimate_epilogue(
    case: WalkCase, grid: Grid, full: _FullRounds, last: _LastRound, line: _Timeline
) -> Column:
    """What is left of the last store; for stream-K barrier and reduction where they outlast it."""
    own = np.where(line.ends_full, full.tile.tail, last.tile.tail)
    # A core without an item in the last round may still be busy with a larger store.
    others = line.full + full.tile.tail - line.rounds
    epilogue: Column = np.maximum(own, others)
    if case.stream_k is None:
        return epilogue
    reduction = reduction_cycles(
        case.terms, case.chip, case.plan, case.stream_k, last_tile(case.walk, grid)
    )
    reduced = last.tile.tail + case.chip.barrier_cycles + reduction
    outlast: Column = np.maximum(epilogue, last.exists * (reduced - line.after))
    return outlast
