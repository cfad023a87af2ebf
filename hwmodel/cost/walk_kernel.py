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

from typing import NamedTuple

import numpy as np

from hwmodel.cost.kernel_costs import KernelCosts
from hwmodel.cost.residency import (
    Grid,
    Traffic,
    WalkPlan,
    build_grid,
    build_traffic,
    common_divisor,
    last_tile,
)
from hwmodel.cost.store import WORKSPACE_BYTES, WayOut, keep_row_ends
from hwmodel.cost.stream_k import StreamKPlan, reduction_cycles
from hwmodel.cost.terms import ChipRates, ProblemTerms
from hwmodel.cost.tile import (
    L1_SLOTS,
    Round,
    Tile,
    TilePlan,
    TileSize,
    build_tile,
    fractal_up,
    hbm_cycles,
    item_cycles,
    overlap_cycles,
    round_cycles,
)
from hwmodel.cost.whole import ceil, floor
from hwmodel.jit import inline


class WalkCase(NamedTuple):
    """What the closed form is evaluated for.

    Attributes:
        terms: the problem, transposed for a B panel.
        chip: the chip.
        plan: the plan's tile figures.
        walk: its walk figures.
        way_out: how C leaves L0C.
        launch: launch and first access.
        k_slices: fp32 split-K: slices of K, each stored on its own.
        resident_slabs: panels: L1 slabs of the current block row that stay resident; else 0.
        stream_k: stream-K's figures.
    """

    terms: ProblemTerms
    chip: ChipRates
    plan: TilePlan
    walk: WalkPlan
    way_out: WayOut
    launch: float
    k_slices: float
    resident_slabs: float
    stream_k: StreamKPlan


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
def with_row_ends(case: WalkCase, grid: Grid) -> WalkCase:
    """The case with the row ends of the core that has most of them off a line.

    Where the window divides the cores, a core's columns keep their place in a line of C.
    """
    columns = case.walk.cores / grid.window
    if columns != floor(columns):
        return case
    if case.terms.is_transposed:
        columns, tiles = 0.0, grid.m_tiles
    else:
        tiles = grid.n_tiles
    return WalkCase(
        terms=case.terms,
        chip=case.chip,
        plan=case.plan,
        walk=case.walk,
        way_out=keep_row_ends(case.terms, case.chip, case.way_out, columns, tiles),
        launch=case.launch,
        k_slices=case.k_slices,
        resident_slabs=case.resident_slabs,
        stream_k=case.stream_k,
    )


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
def loaded_share(case: WalkCase, grid: Grid) -> float:
    """Share of A that an item loads on average; below 1 for panels only.

    A core keeps its block row from one item to the next inside a window when the window divides
    the cores evenly (specification: plan.md, "How the proposed templates run").
    """
    if case.resident_slabs == 0.0:
        return 1.0
    return 1.0 - kept_items(case, grid) * min(case.resident_slabs / slab_count(case), 1.0)


@inline
def kept_items(case: WalkCase, grid: Grid) -> float:
    """Share of the items that follow one of the same block row on their core."""
    rest = grid.last_window / grid.m_tiles
    main = kept_in_window(case.walk, grid, grid.window)
    return main + rest * (kept_in_window(case.walk, grid, grid.last_window) - main)


@inline
def kept_in_window(walk: WalkPlan, grid: Grid, height: float) -> float:
    """The same in a window of that many block rows."""
    columns = walk.cores / height
    if columns != floor(columns):
        return 0.0
    return max(1.0 - columns / grid.n_tiles, 0.0)


@inline
def slab_count(case: WalkCase) -> float:
    """L1 slabs of a tile."""
    return ceil(case.terms.k / min(case.plan.k_l1, case.terms.k))


@inline
def with_slots(case: WalkCase, grid: Grid) -> TilePlan:
    """The plan with the slots that a panel leaves: one where its only slab is replaced."""
    plan = case.plan
    slots = L1_SLOTS
    if case.resident_slabs > 0.0 and slab_count(case) == 1.0:
        slots = 1.0 / (1.0 - 0.5 * kept_items(case, grid))
    return TilePlan(
        base_m=plan.base_m,
        base_n=plan.base_n,
        base_k=plan.base_k,
        k_l1=plan.k_l1,
        base_m_bit=plan.base_m_bit,
        base_n_bit=plan.base_n_bit,
        k_l1_bit=plan.k_l1_bit,
        single_l0c=plan.single_l0c,
        slots=slots,
    )


class Edges(NamedTuple):
    """Items with fewer rows or columns that even the busiest core has, as shares of its items."""

    narrow: float
    low: float


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


@inline
def estimate_last_round(case: WalkCase, grid: Grid, traffic: Traffic) -> LastRound:
    """The partial round: split tiles, or stream-K's pieces of K."""
    cores, k = case.walk.cores, case.terms.k
    m, n = last_tile(case.walk, grid)
    if case.stream_k.is_used:
        items = grid.rest * ceil(k / case.stream_k.piece_k)
        length = min(case.stream_k.piece_k, k)
    else:
        m_cut, n_cut = min(case.walk.m_pieces, m), min(case.walk.n_pieces, n)
        items = grid.rest * m_cut * n_cut
        m, n, length = ceil(m / m_cut), ceil(n / n_cut), k / case.k_slices
    way_out = WayOut(
        element_bytes=WORKSPACE_BYTES if case.stream_k.is_used else case.way_out.element_bytes,
        in_one_run=case.stream_k.is_used,
        through_ub=case.way_out.through_ub,
        base_bytes=case.way_out.base_bytes,
        is_double=case.way_out.is_double,
        end_cycles=case.way_out.end_cycles,
    )
    # More pieces than cores break a rule of the vendor's, but such a plan gets a time too.
    per_core = ceil(max(items * grid.per_core, 1.0)) * case.k_slices
    size = TileSize(
        m=m,
        n=n,
        length=length,
        active=max(min(items, cores), 1.0),
        a_loaded=1.0,
        bias_loaded=1.0 / case.k_slices,
    )
    tile = build_tile(case.terms, case.chip, case.plan, size, way_out)
    a_bytes, b_bytes = last_round_touches(grid, traffic, cores)
    one = round_cycles(case.chip, tile, a_bytes / per_core, b_bytes / per_core, 1.0)
    # What L2 held before the round stays there at its end if all of it fits.
    round_bytes = grid.rest * m * n * case.terms.output_bytes
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
        items=items * case.k_slices,
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
