"""What the closed form of a walk is evaluated for, and what a panel keeps from item to item."""

from typing import NamedTuple

from hwmodel.cost.residency import Grid, WalkPlan, last_tile
from hwmodel.cost.store import WORKSPACE_BYTES, WayOut, keep_row_ends
from hwmodel.cost.straddle import ANYWHERE, straddle_share
from hwmodel.cost.stream_k import StreamKPlan
from hwmodel.cost.terms import ChipRates, ProblemTerms
from hwmodel.cost.tile import L1_SLOTS, TilePlan, TileSize, with_slabs, with_straddles
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


class LastCut(NamedTuple):
    """How the tiles of the last, partial round are cut into items.

    Attributes:
        items: items of the round on all cores, of one slice of K.
        per_core: items of the busiest core, of all slices of K.
        size: size and company of an item.
        way_out: how an item leaves L0C.
    """

    items: float
    per_core: float
    size: TileSize
    way_out: WayOut


@inline
def cut_last_round(case: WalkCase, grid: Grid) -> LastCut:
    """The items of the partial round: split tiles, or stream-K's pieces of K."""
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
    return LastCut(items=items, per_core=per_core, size=size, way_out=way_out)


@inline
def with_row_ends(case: WalkCase, grid: Grid) -> WalkCase:
    """The case with the places in a line at which the busiest core's rows of A, B and C end.

    Where the window divides the cores, a core stays in its block row to the end of the window, and
    its columns may keep their place in a line.
    """
    columns = case.walk.cores / grid.window
    keeps = columns == floor(columns)
    way_out = case.way_out
    if keeps and case.terms.is_transposed:
        way_out = keep_row_ends(case.terms, case.chip, way_out, 0.0, grid.m_tiles)
    elif keeps:
        way_out = keep_row_ends(case.terms, case.chip, way_out, columns, grid.n_tiles)
    return WalkCase(
        terms=case.terms,
        chip=case.chip,
        plan=find_straddles(case, grid, keeps, columns),
        walk=case.walk,
        way_out=way_out,
        launch=case.launch,
        k_slices=case.k_slices,
        resident_slabs=case.resident_slabs,
        stream_k=case.stream_k,
    )


@inline
def find_straddles(case: WalkCase, grid: Grid, keeps: bool, columns: float) -> TilePlan:
    """The plan with the shares of rows of A and B that straddle lines."""
    plan, terms = case.plan, case.terms
    down, across = ANYWHERE, ANYWHERE
    if keeps and grid.windows < 2.0:
        down, across = 0.0, columns
    elif keeps:
        down = grid.window
        # The next window begins in another column unless the rounds end with the window.
        passes = grid.n_tiles / columns
        across = columns if passes == floor(passes) and not case.walk.serpentine else ANYWHERE
    if grid.rounds == 1.0:
        down, across = 0.0, 0.0
    return with_straddles(
        plan,
        straddle_share(terms, terms.a, grid.m, plan.base_m_bit, grid.m_tiles, down),
        straddle_share(terms, terms.b, grid.n, plan.base_n_bit, grid.n_tiles, across),
    )


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
    return with_slabs(plan, plan.k_l1, plan.k_l1_bit, slots)
