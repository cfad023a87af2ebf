"""Closed form of the kernels that walk a grid of blocks: ASWT, BASE, panels and stream-K.

    time = launch + first access
         + load of the first slab
         + sum over the items of the busiest core of the time from one's first mmad to the next
           one's, for the last item to its last mmad
         + what is left of its store, and for stream-K barrier and reduction

An item's time is that of a full tile on all cores, from `walk_rounds`, with the first touches of
its kind of round, from `residency`. Once L2 is full, the C of a round also takes its time at the
HBM's write rate. The last round has its own tiles: smaller when it is split, and the narrow last
ones where the walk ends there.

B_PANEL is A_PANEL on the transposed problem.
"""

from typing import NamedTuple

import numpy as np

from hwmodel.cost.kernel_costs import KernelCosts
from hwmodel.cost.residency import (
    Grid,
    Traffic,
    build_grid,
    build_traffic,
    last_tile,
)
from hwmodel.cost.stream_k import reduction_cycles
from hwmodel.cost.tile import Tile, build_tile
from hwmodel.cost.tile_round import Round, hbm_cycles, item_cycles, round_cycles
from hwmodel.cost.walk_case import WalkCase, cut_last_round, with_row_ends
from hwmodel.cost.walk_rounds import FullRounds, estimate_full_rounds
from hwmodel.jit import inline


class LastRound(NamedTuple):
    """The last, partial round.

    Attributes:
        exists: 1 where there is one, else 0.
        tile: its tile.
        one: one item.
        cycles: time of the whole round, if an item followed on its core.
        saved: what it takes less when none does.
        items: items of the round, on all cores and of all slices of K.
    """

    exists: float
    tile: Tile
    one: Round
    cycles: float
    saved: float
    items: float


class Timeline(NamedTuple):
    """How the rounds of the busiest core end.

    Attributes:
        rounds: from the first mmad to the last one.
        full: the same of a core without an item in the last round; negative where all have one.
        after: time of the data-parallel tiles after a stream-K piece.
        ends_full: the last item is of a full round.
    """

    rounds: float
    full: float
    after: float
    ends_full: bool


@inline
def estimate_walk(case: WalkCase) -> KernelCosts:
    """Costs of the kernel."""
    grid = build_grid(case.terms, case.plan, case.walk)
    case = with_row_ends(case, grid)
    traffic = build_traffic(case.terms, case.chip, case.plan, case.walk, grid)
    full = estimate_full_rounds(case, grid, traffic)
    last = LastRound(0.0, full.tile, full.first, 0.0, 0.0, 0.0)
    if grid.rest > 0.0:
        last = estimate_last_round(case, grid, traffic)
    line = build_timeline(case, grid, full, last)
    mte2 = (
        last.one.load * last.exists
        + full.first_count * full.first.load
        + full.burst_count * full.burst.load
        + full.steady_count * full.steady.load
    )
    full_items, last_items = grid.full_rounds * case.k_slices, last.exists * case.k_slices
    flow_back = full.write_back * ((1.0 - traffic.kept_ratio) / case.k_slices)
    prologue = full.first.slab if grid.full_rounds > 0.0 else last.one.slab
    epilogue = estimate_epilogue(case, grid, full, last, line)
    tile = full.tile
    all_full = case.walk.cores * full_items
    cube_busy = full_items * tile.mmad + last_items * last.tile.mmad
    cube_total = all_full * tile.mmad + last.items * last.tile.mmad
    return KernelCosts(
        launch=case.launch,
        prologue=prologue,
        rounds=line.rounds,
        epilogue=epilogue,
        cube_busy=cube_busy,
        mte2_busy=mte2 * case.k_slices,
        mte1_busy=full_items * tile.mte1 + last_items * last.tile.mte1,
        fixpipe_busy=full_items * max(tile.store, flow_back) + last_items * last.tile.store,
        vector_busy=0.0,
        hbm_read_bytes=traffic.hbm_read_bytes,
        read_bytes=all_full * tile.read_bytes + last.items * last.tile.read_bytes,
        write_bytes=case.terms.output_total_bytes,
        mte1_bytes=all_full * tile.mte1_bytes + last.items * last.tile.mte1_bytes,
        fixpipe_bytes=all_full * tile.l0c_bytes + last.items * last.tile.l0c_bytes,
        balance_ratio=min(cube_total / (case.walk.cores * cube_busy), 1.0),
        round_count=grid.rounds,
        total=case.launch + prologue + line.rounds + epilogue,
    )


@inline
def estimate_last_round(case: WalkCase, grid: Grid, traffic: Traffic) -> LastRound:
    """The partial round: split tiles, or stream-K's pieces of K."""
    cut = cut_last_round(case, grid)
    size, per_core = cut.size, cut.per_core
    tile = build_tile(case.terms, case.chip, case.plan, size, cut.way_out)
    a_bytes, b_bytes = last_round_touches(grid, traffic, case.walk.cores)
    one = round_cycles(case.chip, tile, a_bytes / per_core, b_bytes / per_core, 1.0)
    # What L2 held before the round stays there at its end if all of it fits.
    round_bytes = grid.rest * size.m * size.n * case.terms.output_bytes
    write_back = min(round_bytes, traffic.overflow_bytes) * case.chip.hbm_write_per_byte
    item = item_cycles(tile, one, one.slab)
    cycles = max(item * per_core, hbm_cycles(case.chip, one.hbm * per_core, write_back))
    # The round's first slab came while the full rounds ran, or is exposed before it.
    memory = hbm_cycles(case.chip, one.hbm * (per_core - tile.step_share), write_back)
    finish = max(item * (per_core - 1.0) + one.finish, memory)
    return LastRound(
        exists=min(grid.rest, 1.0),
        tile=tile,
        one=one,
        cycles=cycles,
        saved=max(cycles - finish, 0.0),
        items=cut.items * case.k_slices,
    )


@inline
def last_round_touches(grid: Grid, traffic: Traffic, cores: float) -> tuple[float, float]:
    """HBM bytes of A and B in the last round: of its kind, by its share of a whole round."""
    # All first touches are left to it if it is the only round.
    first_share = min(max(traffic.first_rounds - grid.full_rounds, 0.0), 1.0)
    if first_share > 0.0:
        return traffic.first_a * first_share, traffic.first_b * first_share
    part = grid.rest * grid.per_core
    a_bytes = 0.0
    if grid.window * grid.n_tiles <= cores:
        a_bytes = traffic.burst_a * part
    return a_bytes, traffic.again_b * part


@inline
def build_timeline(case: WalkCase, grid: Grid, full: FullRounds, last: LastRound) -> Timeline:
    """Time from the first mmad of the busiest core to its last one, and when others end."""
    to_later, to_last = slab_changes(full, last)
    full_total = (
        full.first_count * full.first_cycles
        + full.burst_count * full.burst_cycles
        + full.steady_count * full.steady_cycles
        - to_later
    )
    has_full = grid.full_rounds > 0.0
    after, ends_full = 0.0, last.exists == 0.0
    if case.stream_k.is_used:
        tiles_after = min(case.stream_k.after_piece, grid.full_rounds)
        if tiles_after > 0.0:
            ends_full = True
            after = tiles_after * full.steady_cycles - full.saved
    saved = last.saved
    if ends_full:
        saved = full.saved
    elif has_full:
        saved = last.saved + to_last
    return Timeline(
        rounds=full_total + last.exists * last.cycles - saved,
        full=full_total - full.saved if has_full else -np.inf,
        after=after,
        ends_full=ends_full,
    )


@inline
def slab_changes(full: FullRounds, last: LastRound) -> tuple[float, float]:
    """What the hand-overs from first to later rounds and to the last round take less than others.

    Where the loads decide, an item ends with the next one's first slab, which comes faster when it
    is smaller or no longer a first touch.
    """
    to_later = 0.0
    if full.first_count > 0.0:
        if full.burst_count > 0.0:
            to_later = slab_change(full.tile, full.first, full.burst.slab)
        elif full.steady_count > 0.0:
            to_later = slab_change(full.tile, full.first, full.steady.slab)
    if last.exists == 0.0:
        return to_later, 0.0
    if full.steady_count > 0.0:
        return to_later, slab_change(full.tile, full.steady, last.one.slab)
    if full.burst_count > 0.0:
        return to_later, slab_change(full.tile, full.burst, last.one.slab)
    return to_later, slab_change(full.tile, full.first, last.one.slab)


@inline
def slab_change(tile: Tile, one: Round, next_slab: float) -> float:
    """What an item takes less if the next one's first slab takes that long instead of its own."""
    if next_slab >= one.slab:
        return 0.0
    return item_cycles(tile, one, one.slab) - item_cycles(tile, one, next_slab)


@inline
def estimate_epilogue(
    case: WalkCase, grid: Grid, full: FullRounds, last: LastRound, line: Timeline
) -> float:
    """What is left of the last store; for stream-K barrier and reduction where they outlast it."""
    own = full.tile.tail if line.ends_full else last.tile.tail
    # A core without an item in the last round may still be busy with a larger store.
    epilogue = max(own, line.full + full.tile.tail - line.rounds)
    if not case.stream_k.is_used or last.exists == 0.0:
        return epilogue
    m, n = last_tile(case.walk, grid)
    reduction = reduction_cycles(case.terms, case.chip, case.stream_k, m, n)
    return max(epilogue, last.tile.tail + case.chip.barrier_cycles + reduction - line.after)
