"""Lower bound of the pipeline model for kernels that walk a grid, over all plans of a box.

The grid, the traffic, the edges and the way out are the model's own, for the box's longest slab:
of the traffic only the bytes of whole lines depend on the slab, and they are least there. Items,
loads and ends come from `tile_bound`.

Notation: f, n, k the kinds of rounds that come first, next and last of the full ones; L the last,
partial round; load_x and slab_x MTE2's time for an item and for its first slab. With a share s of
K in a slab, slab_x = (load_x - bias)*s + bias. The model's time is

    launch + slab_f + (sum of full items) - to_later - to_last + min(cycles_L, finish_L) + tail

- to_later and to_last: an item's time is a maximum of sums in which the next slab occurs at most
  once with a factor of at most 1, so it falls by no more than the slab does:
  to_later <= max(slab_f - slab_n, 0), to_last <= max(slab_k - slab_L, 0).
- If no kind touches more than the first (`is_falling`), slab_f >= slab_k and slab_n >= slab_k, so
  slab_f - to_later - to_last >= min(slab_k, slab_L). Together with finish_L >= load_L - slab_L:
  at least load_L, or slab_k + load_L - slab_L where slab_L is the longer slab. Both grow with
  each load, so the least loads give a bound; the second is linear in s, so it is least at an end.
- Without a partial round the last full item's time m_k is replaced by min(m_k, finish_k). Where
  the last kind has less than one item, the first kind's items make up for it: m_f >= m_k.

Where `is_falling` does not hold, there is no bound, and the box is looked into.
"""

from typing import NamedTuple

import numpy as np

from hwmodel.cost.residency import (
    Grid,
    Traffic,
    build_grid,
    build_traffic,
    last_tile,
)
from hwmodel.cost.stream_k import reduction_cycles
from hwmodel.cost.terms import ChipRates
from hwmodel.cost.tile import TileSize, fractal_up
from hwmodel.cost.tile_bound import (
    BoxLimits,
    LoadBound,
    TileBound,
    bound_flooded,
    bound_load,
    bound_memory,
    bound_rest,
    bound_slab,
    bound_tile,
)
from hwmodel.cost.walk_case import WalkCase, cut_last_round, kept_items, with_row_ends
from hwmodel.cost.walk_kernel import last_round_touches
from hwmodel.cost.walk_rounds import Edges, edge_shares
from hwmodel.jit import inline


class FullBound(NamedTuple):
    """Least times of the full rounds.

    Attributes:
        tile: their tile.
        last: loads of the last kind.
        last_item: time of an item of the last kind.
        others: time of all full items but one; of the last kind, or of the first where the last
            kind has less than one.
        without_after: time of the full items that do not follow a stream-K piece.
        finish: of the last item when nothing follows; what HBM and chain make of it.
        is_falling: the first kind touches at least what the last one does.
        is_bounded: the other figures hold where the kernel ends with a full round.
    """

    tile: TileBound
    last: LoadBound
    last_item: float
    others: float
    without_after: float
    finish: float
    is_falling: bool
    is_bounded: bool


class LastBound(NamedTuple):
    """Least times of the partial round.

    Attributes:
        tile: its tile.
        load: load of an item.
        before: its items before the last one.
        cycles: time of the round if an item followed.
        memory: the HBM's time.
    """

    tile: TileBound
    load: float
    before: float
    cycles: float
    memory: float


@inline
def bound_walk(case: WalkCase, limits: BoxLimits) -> float:
    """Least cycles of the box; `case` has its longest slab and largest base_k."""
    grid = build_grid(case.terms, case.plan, case.walk)
    case = with_row_ends(case, grid)
    traffic = build_traffic(case.terms, case.chip, case.plan, case.walk, grid)
    if grid.full_rounds == 0.0:
        return case.launch + bound_single_round(case, limits, grid, traffic)
    full = bound_full_rounds(case, limits, grid, traffic)
    if grid.rest == 0.0:
        return case.launch + full.others + bound_even_end(full) if full.is_bounded else 0.0
    last = bound_last_round(case, limits, grid, traffic)
    if case.stream_k.is_used and case.stream_k.after_piece > 0.0:
        if not full.is_bounded:
            return 0.0
        ends_full = full.others + last.cycles + bound_even_end(full)
        slab = bound_slab(full.tile, full.last.load, full.tile.share_least)
        end = last.cycles + bound_reduction(case, grid, last)
        return case.launch + max(ends_full, slab + full.without_after + end)
    if not full.is_falling:
        return 0.0
    end = bound_last_end(case, limits, grid, full, last)
    return case.launch + full.others + full.last_item + end


@inline
def bound_full_rounds(
    case: WalkCase, limits: BoxLimits, grid: Grid, traffic: Traffic
) -> FullBound:
    """The least of `walk_rounds.estimate_full_rounds`."""
    chip, share = case.chip, 1.0 / case.k_slices
    a_loaded = 1.0
    if limits.kept_most > 0.0:
        a_loaded = 1.0 - kept_items(case, grid) * limits.kept_most
    size = TileSize(
        m=grid.m,
        n=grid.n,
        length=case.terms.k * share,
        active=case.walk.cores,
        a_loaded=a_loaded,
        bias_loaded=share,
    )
    tile = bound_tile(case.terms, chip, case.plan, limits, size, case.way_out)
    first_count = min(traffic.first_rounds, grid.full_rounds)
    later = grid.full_rounds - first_count
    burst_count = min(traffic.burst_rounds, later)
    steady_count = later - burst_count
    first_a = max(traffic.first_a, traffic.again_a)
    burst_a = max(traffic.burst_a, traffic.again_a)
    edges = edge_shares(case.walk, grid)
    flow = tile.output_bytes * case.walk.cores * chip.hbm_write_per_byte * share
    kept = traffic.kept_ratio
    first = bound_load(chip, tile, first_a * share, traffic.first_b * share)
    first_item = bound_item(chip, grid, tile, first, edges, flow, kept)
    last, last_item, last_count = first, first_item, first_count
    total = first_count * first_item
    # A steady round's A, again_a, is part of every kind's; the others' grow alike with the lines.
    is_falling, last_late = True, traffic.late.first
    if burst_count > 0.0:
        last = bound_load(chip, tile, burst_a * share, traffic.again_b * share)
        last_item = bound_item(chip, grid, tile, last, edges, flow, kept)
        last_count, last_late = burst_count, traffic.late.burst
        is_falling = traffic.first_a >= traffic.burst_a and traffic.first_b >= traffic.again_b
        total += last_count * last_item
    if steady_count > 0.0:
        last = bound_load(chip, tile, traffic.again_a * share, traffic.again_b * share)
        last_item = bound_item(chip, grid, tile, last, edges, flow, kept)
        last_count, last_late = steady_count, traffic.late.again
        is_falling = traffic.first_b >= traffic.again_b
        total += last_count * last_item
    is_whole = last_count * case.k_slices >= 1.0
    removed = last_item if is_whole else first_item
    after = min(case.stream_k.after_piece, grid.full_rounds)
    # The model gives the tiles after a piece the time of steady ones.
    without_after = -np.inf
    if steady_count >= after or burst_count + steady_count == 0.0:
        without_after = total - after * last_item
    # What is left of the last item's loads is added by `bound_even_end`.
    memory = bound_memory(chip, last.hbm * (1.0 - tile.share_most), flow)
    return FullBound(
        tile=tile,
        last=last,
        last_item=last_item,
        others=total * case.k_slices - removed,
        without_after=without_after,
        finish=bound_flooded(chip, tile.chain, memory, kept),
        is_falling=is_falling,
        is_bounded=is_falling and (is_whole or traffic.late.first >= last_late),
    )


@inline
def bound_item(
    chip: ChipRates,
    grid: Grid,
    tile: TileBound,
    one: LoadBound,
    edges: Edges,
    write_back: float,
    kept_ratio: float,
) -> float:
    """The least of `walk_rounds.mean_cycles`.

    It takes the mean of whole and edge items with weights 1 - narrow - low, narrow and low, none
    below 0 as narrow <= 1/Nt and low <= 1/Mt; an edge item takes at least what its chain, its
    loads and its share of a whole one do.
    """
    whole = max(tile.floor, one.load)
    memory = bound_memory(chip, one.hbm, write_back)
    mean = bound_flooded(chip, whole, memory, kept_ratio)
    saved = 0.0
    if edges.narrow > 0.0:
        width = fractal_up(grid.edge_n) / fractal_up(grid.n)
        load = one.a_load + one.b_load * (grid.edge_n / grid.n)
        part = max(max(tile.chain * width, load), mean * width)
        saved += edges.narrow * max(mean - part, 0.0)
    if edges.low > 0.0:
        height = fractal_up(grid.edge_m) / fractal_up(grid.m)
        load = one.a_load * (grid.edge_m / grid.m) + one.b_load
        part = max(max(tile.chain * height, load), mean * height)
        saved += edges.low * max(mean - part, 0.0)
    return mean - saved


@inline
def bound_even_end(full: FullBound) -> float:
    """First slab, last full item and what is left of its store."""
    tile, load = full.tile, full.last.load
    slab = bound_slab(tile, load, tile.share_least)
    return min(full.last_item + slab, max(full.finish + slab, load)) + tile.tail


@inline
def bound_last_round(case: WalkCase, limits: BoxLimits, grid: Grid, traffic: Traffic) -> LastBound:
    """The least of `walk_kernel.estimate_last_round`."""
    cut = cut_last_round(case, grid)
    size, per_core = cut.size, cut.per_core
    tile = bound_tile(case.terms, case.chip, case.plan, limits, size, cut.way_out)
    a_bytes, b_bytes = last_round_touches(grid, traffic, case.walk.cores)
    one = bound_load(case.chip, tile, a_bytes / per_core, b_bytes / per_core)
    round_bytes = grid.rest * size.m * size.n * case.terms.output_bytes
    write_back = min(round_bytes, traffic.overflow_bytes) * case.chip.hbm_write_per_byte
    item = max(tile.floor, one.load)
    memory = bound_memory(case.chip, one.hbm * per_core, write_back)
    left = bound_memory(case.chip, one.hbm * (per_core - tile.share_most), write_back)
    return LastBound(
        tile=tile,
        load=one.load,
        before=item * (per_core - 1.0),
        cycles=max(item * per_core, memory),
        memory=left,
    )


@inline
def bound_single_round(case: WalkCase, limits: BoxLimits, grid: Grid, traffic: Traffic) -> float:
    """The partial round is the only one: first slab, items, store."""
    last = bound_last_round(case, limits, grid, traffic)
    tile = last.tile
    slab = bound_slab(tile, last.load, tile.share_least)
    finish = max(last.before + max(tile.chain + slab, last.load), last.memory + slab)
    return min(last.cycles + slab, finish) + bound_tail(case, grid, last)


@inline
def bound_last_end(
    case: WalkCase, limits: BoxLimits, grid: Grid, full: FullBound, last: LastBound
) -> float:
    """The partial round after full ones: first slab of the kernel, items of the round, store."""
    tile, load = full.tile, full.last.load
    least = bound_slab(tile, load, tile.share_least)
    most = bound_slab(tile, load, tile.share_most)
    slab = min(least, bound_slab(last.tile, last.load, last.tile.share_least))
    by_load = least + bound_rest(last.tile, last.load, last.tile.share_most)
    if not case.stream_k.is_used:
        # Both kinds of items have the same share of K in a slab.
        by_load = min(
            least + bound_rest(last.tile, last.load, last.tile.share_least),
            most + bound_rest(last.tile, last.load, last.tile.share_most),
        )
    one = max(last.tile.chain + slab, min(last.load, by_load))
    finish = max(last.before + one, last.memory + slab)
    return min(last.cycles + slab, finish) + bound_tail(case, grid, last)


@inline
def bound_tail(case: WalkCase, grid: Grid, last: LastBound) -> float:
    """What is left of the last store, and of stream-K with no tile after its piece."""
    return bound_reduction(case, grid, last) if case.stream_k.is_used else last.tile.tail


@inline
def bound_reduction(case: WalkCase, grid: Grid, last: LastBound) -> float:
    """Store, barrier and reduction of a stream-K piece."""
    m, n = last_tile(case.walk, grid)
    reduction = reduction_cycles(case.terms, case.chip, case.stream_k, m, n)
    return last.tile.tail + case.chip.barrier_cycles + reduction
