"""Closed form of the kernels that keep A in L1: A full load and A partial load.

A block is the whole M by base_n; its items walk m. Each item streams the block's part of B again,
and the slabs of A that are not resident. B full and partial loads are the same on the transposed
problem. (Specification: kernels.md, "A full load, B full load"; plan.md, "How the proposed
templates run".)

    time = launch + first access + load of the resident part and of the first slab
         + rounds of blocks * (first item, which touches its B first, + the other items)
         + what is left of the last store

Times of items go from one's first mmad to the next one's, that of a core's last item to its last
mmad, as in `walk_kernel`. The bias stays with a B that is loaded in full, else it comes with every
tile.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.kernel_costs import KernelCosts
from hwmodel.cost.residency import WalkPlan
from hwmodel.cost.store import WayOut
from hwmodel.cost.terms import ChipRates, Column, ProblemTerms
from hwmodel.cost.tile import (
    Tile,
    TilePlan,
    TileSize,
    build_tile,
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
        way_out: how C leaves L0C.
        resident_slabs: slabs of A that are kept, None for all of them.
    """

    terms: ProblemTerms
    chip: ChipRates
    plan: TilePlan
    walk: WalkPlan
    way_out: WayOut
    resident_slabs: Column | None = None

    @property
    def keeps_bias(self) -> bool:
        """A full load of B keeps the bias with it."""
        return self.terms.is_transposed and self.resident_slabs is None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Counts and sizes; blocks are columns of tiles.

    Attributes:
        m, n: rows and columns of a tile that is not cut.
        edge_m: rows of a block's last tile.
        edge_n: columns of the last block.
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
    edge_n: Column
    m_tiles: Column
    blocks: Column
    streamed: Column
    a_bytes: Column
    kept_ratio: Column
    fits: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blocks:
    """Rounds of equal blocks; times of a block are cycles of a core.

    Attributes:
        count: rounds.
        active: cores at work.
        tile: the tile.
        read_bytes: bytes that an item reads.
        cycles: from a block's first mmad to that of the next block.
        saved: what it takes less when no block follows.
        tail: what is left of its last store then.
        slab: load of its first slab.
        load: MTE2's busy time.
    """

    count: Column
    active: Column
    tile: Tile
    read_bytes: Column
    cycles: Column
    saved: Column
    tail: Column
    slab: Column
    load: Column


def estimate_resident(case: ResidentCase) -> KernelCosts:
    """Costs of the kernel for each plan."""
    terms, chip, cores = case.terms, case.chip, case.walk.cores
    layout = _build_layout(case)
    full_rounds = np.floor(layout.blocks / cores)
    rest = layout.blocks - full_rounds * cores
    width = np.where(rest == 1, layout.edge_n, layout.n)
    cut = np.minimum(case.walk.n_pieces, width)
    pieces = rest * cut
    has_full = full_rounds > 0
    full = _mix_blocks(
        case, layout, full_rounds, layout.n, np.minimum(cores, layout.blocks), has_full
    )
    last = _mix_blocks(
        case,
        layout,
        np.ceil(pieces / cores),
        np.ceil(width / cut),
        np.minimum(pieces, cores),
        ~has_full,
    )
    full_total = full.count * full.cycles
    has_last, none = last.count > 0, np.zeros_like(layout.m)
    rounds = full_total + last.count * last.cycles - np.where(has_last, last.saved, full.saved)
    # A core without a block in the last round may still be busy with a larger store.
    others = (full.count > 0) * (full_total - full.saved + full.tail)
    epilogue = np.maximum(np.where(has_last, last.tail, full.tail), others - rounds)
    resident_bytes = layout.a_bytes * (1 - layout.streamed)
    if case.keeps_bias:
        resident_bytes = resident_bytes + terms.bias_total_bytes
    # All cores load the same A at once: the HBM moves it once, every port its own copy.
    resident = np.maximum(
        np.maximum(resident_bytes * (1 / chip.mte2_port), _resident_row_cycles(case, layout)),
        layout.a_bytes * (1 / chip.hbm_read_total),
    )
    full_items, last_items = full.count * layout.m_tiles, last.count * layout.m_tiles
    return KernelCosts(
        launch=none + chip.launch_cycles,
        prologue=resident + np.where(full.count > 0, full.slab, last.slab),
        rounds=rounds,
        epilogue=epilogue,
        cube_busy=full_items * full.tile.mmad + last_items * last.tile.mmad,
        mte2_busy=resident + full.count * full.load + last.count * last.load,
        mte1_busy=full_items * full.tile.mte1 + last_items * last.tile.mte1,
        fixpipe_busy=full_items * full.tile.store + last_items * last.tile.store,
        vector_busy=none,
        hbm_read_bytes=none + terms.input_total_bytes,
        read_bytes=full_items * full.active * full.read_bytes
        + last_items * last.active * last.read_bytes
        + cores * resident_bytes,
        write_bytes=none + terms.output_total_bytes,
        round_count=full_rounds + np.minimum(rest, 1),
    )


def _build_layout(case: ResidentCase) -> _Layout:
    """Counts and sizes of the plan on the problem."""
    terms, l2_bytes = case.terms, case.chip.l2_bytes
    rows, columns = terms.a.outer, terms.b.outer
    m, n = np.minimum(case.plan.base_m, rows), np.minimum(case.plan.base_n, columns)
    m_tiles, blocks = np.ceil(rows / m), np.ceil(columns / n)
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
        edge_n=columns - (blocks - 1) * n,
        m_tiles=m_tiles,
        blocks=blocks,
        streamed=streamed,
        a_bytes=a_bytes,
        kept_ratio=np.minimum(l2_bytes / total_bytes, 1),
        fits=fits.astype(np.float64),
    )


def _resident_row_cycles(case: ResidentCase, layout: _Layout) -> Column:
    """Least time of the rows of the resident part at a core's port."""
    terms = case.terms
    steps = np.ceil(terms.k / np.minimum(case.plan.k_l1, terms.k))
    if terms.a.run_along_k:
        rows = terms.a.outer * steps * (steps > 1)
    else:
        rows = terms.k * layout.m_tiles * (layout.m_tiles > 1)
    cycles: Column = (
        (1 - layout.streamed) * rows * (0 if terms.a.is_padded else case.chip.row_cycles)
    )
    return cycles


def _mix_blocks(
    case: ResidentCase,
    layout: _Layout,
    count: Column,
    width: Column,
    active: Column,
    is_first: NDArray[np.bool_],
) -> _Blocks:
    """Rounds of blocks of that width: steps that find their A in L1, and steps that stream it.

    `is_first` says that they are the first rounds of the kernel, which touch the streamed A first.
    """
    rounds = _Rounds(count=count, width=width, active=active)
    kept = _estimate_blocks(case, layout, rounds, a_loaded=0.0, a_new=0.0)
    if case.resident_slabs is None:
        return kept
    streams = _estimate_blocks(case, layout, rounds, a_loaded=1.0, a_new=0.0)
    touches = _estimate_blocks(case, layout, rounds, a_loaded=1.0, a_new=1.0)
    first = is_first / np.maximum(count, 1)
    return _mix(kept, _mix(streams, touches, first), layout.streamed)


def _mix(one: _Blocks, other: _Blocks, share: Column) -> _Blocks:
    """Mean of two kinds of steps."""

    def mean(first: Column, second: Column) -> Column:
        mixed: Column = first + share * (second - first)
        return mixed

    return _Blocks(
        count=one.count,
        active=one.active,
        tile=one.tile,
        read_bytes=mean(one.read_bytes, other.read_bytes),
        cycles=mean(one.cycles, other.cycles),
        saved=mean(one.saved, other.saved),
        tail=one.tail,
        slab=mean(one.slab, other.slab),
        load=mean(one.load, other.load),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rounds:
    """How many rounds, of blocks how wide, on how many cores."""

    count: Column
    width: Column
    active: Column


def _estimate_blocks(
    case: ResidentCase, layout: _Layout, rounds: _Rounds, *, a_loaded: float, a_new: float
) -> _Blocks:
    """Rounds whose blocks' first items touch their B first.

    `a_loaded` is 1 where items stream A, `a_new` where no core has touched that A before.
    """
    chip, terms = case.chip, case.terms
    width, active = rounds.width, rounds.active
    size = TileSize(
        m=layout.m,
        n=width,
        length=terms.k + np.zeros_like(width),
        active=active,
        a_loaded=a_loaded,
        bias_loaded=0.0 if case.keeps_bias else 1.0,
    )
    tile = build_tile(terms, chip, case.plan, size, case.way_out)
    touched = active * width * terms.k * terms.input_bytes
    a_touched = layout.m * terms.k * (terms.input_bytes * a_new)
    new = round_cycles(chip, tile, a_touched, touched)
    again = round_cycles(chip, tile, a_touched, touched * (1 - layout.fits))
    others = layout.m_tiles - 1
    has_others = others > 0
    edge_tile = build_tile(terms, chip, case.plan, replace(size, m=layout.edge_m), case.way_out)
    last = round_cycles(chip, edge_tile, a_touched, touched * (1 - layout.fits))
    edge, edge_finish = last.cycles, last.finish
    block = new.cycles + np.maximum(others - 1, 0) * again.cycles + has_others * edge
    saved = np.where(has_others, edge - edge_finish, new.cycles - new.finish)
    finish = np.minimum(block - saved, block)
    memory = new.hbm + layout.m_tiles * tile.output_bytes * active * (1 / chip.hbm_write_total)
    flooded, flooded_finish = (
        overlap_cycles(chip, block, memory),
        overlap_cycles(chip, finish, memory - new.hbm * tile.step_share),
    )
    cycles = flooded + layout.kept_ratio * (block - flooded)
    finish = flooded_finish + layout.kept_ratio * (finish - flooded_finish)
    return _Blocks(
        count=rounds.count,
        active=active,
        tile=tile,
        read_bytes=tile.read_bytes,
        cycles=cycles,
        saved=np.maximum(cycles - finish, 0),
        tail=edge_tile.tail,
        slab=new.slab,
        load=new.load + others * again.load,
    )
