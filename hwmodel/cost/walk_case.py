"""What the closed form of a walk is evaluated for, and what a panel keeps from item to item."""

from typing import NamedTuple

from hwmodel.cost.residency import Grid, WalkPlan
from hwmodel.cost.store import WayOut, keep_row_ends
from hwmodel.cost.straddle import ANYWHERE, straddle_share
from hwmodel.cost.stream_k import StreamKPlan
from hwmodel.cost.terms import ChipRates, ProblemTerms
from hwmodel.cost.tile import L1_SLOTS, TilePlan
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
        plan=with_straddles(case, grid, keeps, columns),
        walk=case.walk,
        way_out=way_out,
        launch=case.launch,
        k_slices=case.k_slices,
        resident_slabs=case.resident_slabs,
        stream_k=case.stream_k,
    )


@inline
def with_straddles(case: WalkCase, grid: Grid, keeps: bool, columns: float) -> TilePlan:
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
    return TilePlan(
        base_m=plan.base_m,
        base_n=plan.base_n,
        base_k=plan.base_k,
        k_l1=plan.k_l1,
        base_m_bit=plan.base_m_bit,
        base_n_bit=plan.base_n_bit,
        k_l1_bit=plan.k_l1_bit,
        single_l0c=plan.single_l0c,
        slots=plan.slots,
        a_straddles=straddle_share(terms, terms.a, grid.m, plan.base_m_bit, grid.m_tiles, down),
        b_straddles=straddle_share(terms, terms.b, grid.n, plan.base_n_bit, grid.n_tiles, across),
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
        a_straddles=plan.a_straddles,
        b_straddles=plan.b_straddles,
    )
