"""The rounds of a walk in which every core has a block, by kind, and the tiles at C's edges.

The kinds, `first`, `burst` and `steady`, are those of `residency`.
"""

from typing import NamedTuple

from hwmodel.cost.residency import Grid, Traffic, WalkPlan, common_divisor
from hwmodel.cost.terms import ChipRates
from hwmodel.cost.tile import Tile, TileSize, build_tile, fractal_up
from hwmodel.cost.tile_round import Round, hbm_cycles, item_cycles, overlap_cycles, round_cycles
from hwmodel.cost.walk_case import WalkCase, loaded_share, with_slots
from hwmodel.cost.whole import floor
from hwmodel.jit import inline


class FullRounds(NamedTuple):
    """The rounds in which every core has a block, by kind: first, burst, steady.

    Attributes:
        tile: the tile of all of them.
        first_count, burst_count, steady_count: rounds of each kind.
        first, burst, steady: one item of each kind.
        first_cycles, burst_cycles, steady_cycles: time of a round of each kind, all slices of K.
        saved: what the last of them takes less when no item follows on its core.
        write_back: time of a round's C at the HBM's write rate.
    """

    tile: Tile
    first_count: float
    burst_count: float
    steady_count: float
    first: Round
    burst: Round
    steady: Round
    first_cycles: float
    burst_cycles: float
    steady_cycles: float
    saved: float
    write_back: float


class Edges(NamedTuple):
    """Items with fewer rows or columns that even the busiest core has, as shares of its items."""

    narrow: float
    low: float


@inline
def estimate_full_rounds(case: WalkCase, grid: Grid, traffic: Traffic) -> FullRounds:
    """The full rounds by kind."""
    chip, share = case.chip, 1.0 / case.k_slices
    size = TileSize(
        m=grid.m,
        n=grid.n,
        length=case.terms.k * share,
        active=case.walk.cores,
        a_loaded=loaded_share(case, grid),
        bias_loaded=share,
    )
    tile = build_tile(case.terms, chip, with_slots(case, grid), size, case.way_out)
    first_count = min(traffic.first_rounds, grid.full_rounds)
    later = grid.full_rounds - first_count
    burst_count = min(traffic.burst_rounds, later)
    steady_count = later - burst_count
    late = traffic.late
    first_a = max(traffic.first_a, traffic.again_a)
    burst_a = max(traffic.burst_a, traffic.again_a)
    first = round_cycles(chip, tile, first_a * share, traffic.first_b * share, late.first)
    # Kinds that do not occur are left out: the others cost most of the model's time.
    burst = steady = first
    if burst_count > 0.0:
        burst = round_cycles(chip, tile, burst_a * share, traffic.again_b * share, late.burst)
    if steady_count > 0.0:
        again_a, again_b = traffic.again_a * share, traffic.again_b * share
        steady = round_cycles(chip, tile, again_a, again_b, late.again)
    write_back = tile.output_bytes * case.walk.cores * chip.hbm_write_per_byte
    edges = edge_shares(case.walk, grid)
    flow = write_back * share
    kept = traffic.kept_ratio
    first_cycles = mean_cycles(chip, grid, tile, first, edges, flow, kept)
    burst_cycles = steady_cycles = first_cycles
    if burst_count > 0.0:
        burst_cycles = mean_cycles(chip, grid, tile, burst, edges, flow, kept)
    if steady_count > 0.0:
        steady_cycles = mean_cycles(chip, grid, tile, steady, edges, flow, kept)
    if steady_count > 0.0:
        last_cycles, finish, hbm = steady_cycles, steady.finish, steady.hbm
    elif burst_count > 0.0:
        last_cycles, finish, hbm = burst_cycles, burst.finish, burst.hbm
    else:
        last_cycles, finish, hbm = first_cycles, first.finish, first.hbm
    # The last item's first slab came while the item before it ran.
    finish = flooded(chip, finish, hbm_cycles(chip, hbm * (1.0 - tile.step_share), flow), kept)
    return FullRounds(
        tile=tile,
        first_count=first_count,
        burst_count=burst_count,
        steady_count=steady_count,
        first=first,
        burst=burst,
        steady=steady,
        first_cycles=first_cycles * case.k_slices,
        burst_cycles=burst_cycles * case.k_slices,
        steady_cycles=steady_cycles * case.k_slices,
        saved=max(last_cycles - finish, 0.0),
        write_back=write_back,
    )


@inline
def flooded(chip: ChipRates, cycles: float, memory: float, kept_ratio: float) -> float:
    """Mean of the time before and after L2 is full; then it overlaps that of the memory."""
    full = overlap_cycles(chip, cycles, memory)
    return full + kept_ratio * (cycles - full)


@inline
def edge_shares(walk: WalkPlan, grid: Grid) -> Edges:
    """Which of its items every core spends on the narrow last column and on the low last row.

    A core takes every P-th block: in a window of W rows and Nt columns it meets the blocks of one
    class modulo gcd(P, W * Nt), and in each class floor(W / gcd) of them are in the last column.
    The last row is one of the rows of the last window; its cores meet all rows alike if P and the
    number of its rows have no common factor.
    """
    # Looked up whether used or not: a look-up under a condition keeps loops from using vectors.
    per_window = grid.window * grid.n_tiles
    common = common_divisor(per_window, walk.cores)
    met = floor(grid.window / common) * common / per_window
    narrow = floor(grid.rounds * met) / grid.rounds if grid.edge_n < grid.n else 0.0
    is_met = grid.edge_m < grid.m and common_divisor(grid.last_window, walk.cores) == 1.0
    low = floor(grid.n_tiles * grid.per_core) / grid.rounds if is_met else 0.0
    return Edges(narrow, low)


@inline
def mean_cycles(
    chip: ChipRates,
    grid: Grid,
    tile: Tile,
    one: Round,
    edges: Edges,
    write_back: float,
    kept_ratio: float,
) -> float:
    """An item's time, averaged over edge tiles and the phases before and after L2 is full."""
    whole = item_cycles(tile, one, one.slab)
    mean = flooded(chip, whole, hbm_cycles(chip, one.hbm, write_back), kept_ratio)
    saved = 0.0
    if edges.narrow > 0.0:
        width = fractal_up(grid.edge_n) / fractal_up(grid.n)
        load = one.a_load + one.b_load * (grid.edge_n / grid.n)
        saved += edges.narrow * max(mean - part_cycles(tile, one, mean, width, load), 0.0)
    if edges.low > 0.0:
        height = fractal_up(grid.edge_m) / fractal_up(grid.m)
        load = one.a_load * (grid.edge_m / grid.m) + one.b_load
        saved += edges.low * max(mean - part_cycles(tile, one, mean, height, load), 0.0)
    return mean - saved


@inline
def part_cycles(tile: Tile, one: Round, mean: float, share: float, load: float) -> float:
    """Time of an item at the edge, with that share of a whole tile and that much to load."""
    chain = tile.chain * share
    in_flight = one.waiting + (load + chain) / tile.slots
    return max(max(chain, load), max(in_flight, mean * share))
