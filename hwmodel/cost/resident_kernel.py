"""Closed form of the kernels that keep A in L1: A full load and A partial load.

A block is the whole M by base_n; its items walk m. Each item streams the block's part of B again,
and the slabs of A that are not resident. B full and partial loads are the same on the transposed
problem. (Specification: kernels.md, "A full load, B full load"; plan.md, "How the proposed
templates run".)

    time = launch + first access + load of the resident part
         + rounds of blocks * (first item, which touches its B first, + the other items)
         + exposed first slab or last multiplication + last store
"""

from dataclasses import dataclass

import numpy as np

from hwmodel.cost.kernel_costs import KernelCosts
from hwmodel.cost.residency import WalkPlan
from hwmodel.cost.terms import ChipRates, Column, ProblemTerms
from hwmodel.cost.tile import (
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
class ResidentCase:
    """What the closed form is evaluated for.

    Attributes:
        terms: the problem, transposed when B is kept.
        chip: the chip.
        plan: the plan's tile columns.
        walk: its walk columns.
        resident_slabs: slabs of A that are kept, None for all of them.
        through_ub: the store through UB, None for the direct store.
    """

    terms: ProblemTerms
    chip: ChipRates
    plan: TilePlan
    walk: WalkPlan
    resident_slabs: Column | None = None
    through_ub: UbStore | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Counts and sizes; blocks are columns of tiles.

    Attributes:
        m, n: rows and columns of a tile that is not cut.
        edge_m: rows of a block's last tile.
        m_tiles: tiles of a block.
        blocks: blocks.
        streamed: share of A that is not resident.
        a_bytes: bytes of A.
        kept_ratio: share of the time in which C still fits in L2.
        fits: 1 where the parts of B that a round streams again and again stay in L2.
    """

    m: Column
    n: Column
    edge_m: Column
    m_tiles: Column
    blocks: Column
    streamed: Column
    a_bytes: Column
    kept_ratio: Column
    fits: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blocks:
    """Rounds of equal blocks: their number, the tile, and times of a block, cycles of a core."""

    count: Column
    active: Column
    tile: Tile
    cycles: Column
    load: Column
    exposed: Column


def estimate_resident(case: ResidentCase) -> KernelCosts:
    """Costs of the kernel for each plan."""
    terms, chip, cores = case.terms, case.chip, case.walk.cores
    layout = _build_layout(case)
    full_rounds = np.floor(layout.blocks / cores)
    rest = layout.blocks - full_rounds * cores
    cut = np.minimum(case.walk.n_pieces, layout.n)
    pieces = rest * cut
    parts = (
        _estimate_blocks(case, layout, full_rounds, layout.n, np.minimum(cores, layout.blocks)),
        _estimate_blocks(
            case,
            layout,
            np.ceil(pieces / cores),
            np.ceil(layout.n / cut),
            np.minimum(pieces, cores),
        ),
    )
    full, last = parts
    resident_bytes = layout.a_bytes * (1 - layout.streamed)
    # All cores load the same A at once: the HBM moves it once, every port its own copy.
    resident = np.maximum(
        resident_bytes * (1 / chip.mte2_port), layout.a_bytes * (1 / chip.hbm_read_total)
    )
    items = [part.count * layout.m_tiles for part in parts]
    streamed_bytes = sum(
        count * part.active * part.tile.read_bytes
        for count, part in zip(items, parts, strict=True)
    )
    return KernelCosts(
        launch=np.full_like(layout.m, chip.launch_cycles),
        prologue=resident
        + np.maximum(*(np.minimum(part.count, 1) * part.exposed for part in parts)),
        rounds=full.count * full.cycles + last.count * last.cycles,
        epilogue=np.where(last.count > 0, last.tile.store, full.tile.store),
        cube_busy=items[0] * full.tile.mmad + items[1] * last.tile.mmad,
        mte2_busy=resident + full.count * full.load + last.count * last.load,
        mte1_busy=items[0] * full.tile.mte1 + items[1] * last.tile.mte1,
        fixpipe_busy=items[0] * full.tile.store + items[1] * last.tile.store,
        vector_busy=np.zeros_like(layout.m),
        hbm_read_bytes=terms.input_total_bytes + np.zeros_like(layout.m),
        read_bytes=streamed_bytes + cores * resident_bytes,
        write_bytes=terms.output_total_bytes + np.zeros_like(layout.m),
        round_count=full_rounds + np.minimum(rest, 1),
    )


def _build_layout(case: ResidentCase) -> _Layout:
    """Counts and sizes of the plan on the problem."""
    terms, l2_bytes = case.terms, case.chip.l2_bytes
    rows, columns = terms.a.outer, terms.b.outer
    m, n = np.minimum(case.plan.base_m, rows), np.minimum(case.plan.base_n, columns)
    m_tiles = np.ceil(rows / m)
    line_bytes = terms.k * terms.input_bytes
    a_bytes = rows * line_bytes
    streamed = np.zeros_like(m)
    if case.resident_slabs is not None:
        slabs = m_tiles * np.ceil(terms.k / np.minimum(case.plan.k_l1, terms.k))
        streamed = 1 - np.minimum(case.resident_slabs / slabs, 1)
    fits = case.walk.cores * n * line_bytes + a_bytes * streamed <= l2_bytes
    total_bytes = terms.input_total_bytes + terms.output_total_bytes
    return _Layout(
        m=m,
        n=n,
        edge_m=rows - (m_tiles - 1) * m,
        m_tiles=m_tiles,
        blocks=np.ceil(columns / n),
        streamed=streamed,
        a_bytes=a_bytes,
        kept_ratio=np.minimum(l2_bytes / total_bytes, 1),
        fits=fits.astype(np.float64),
    )


def _estimate_blocks(
    case: ResidentCase, layout: _Layout, count: Column, width: Column, active: Column
) -> _Blocks:
    """Rounds of blocks of that width: the first item touches the block's B first."""
    chip, terms = case.chip, case.terms
    tile = build_tile(
        terms,
        chip,
        case.plan,
        TileSize(m=layout.m, n=width, length=terms.k + np.zeros_like(width), active=active),
        a_loaded=layout.streamed,
        element_bytes=terms.output_bytes,
        through_ub=case.through_ub,
    )
    touched = active * width * terms.k * terms.input_bytes
    new = round_cycles(chip, tile, np.zeros_like(width), touched)
    again = round_cycles(chip, tile, np.zeros_like(width), touched * (1 - layout.fits))
    height = layout.edge_m / layout.m
    edge = np.maximum(
        np.maximum(
            tile.chain * (fractal_up(layout.edge_m) / fractal_up(layout.m)),
            again.a_load * height + again.b_load,
        ),
        again.cycles * height,
    )
    others = layout.m_tiles - 1
    saved = np.maximum(again.cycles - edge, 0) * np.minimum(others, 1)
    block = new.cycles + others * again.cycles - saved
    write_back = tile.output_bytes * active * (1 / chip.hbm_write_total)
    flooded = overlap_cycles(chip, block, new.hbm + layout.m_tiles * write_back)
    start = new.load * tile.step_share + tile.chain - new.cycles
    end = np.where(others > 0, again.load - again.cycles, new.load - new.cycles)
    return _Blocks(
        count=count,
        active=active,
        tile=tile,
        cycles=flooded + layout.kept_ratio * (block - flooded),
        load=new.load + others * again.load,
        exposed=np.maximum(np.maximum(start, end + tile.step_chain), 0),
    )
