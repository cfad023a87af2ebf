"""What the closed form of a walk is evaluated for, and what a panel keeps from item to item."""

from typing import NamedTuple

from hwmodel.cost.residency import Grid, WalkPlan
from hwmodel.cost.store import WayOut, keep_row_ends
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
