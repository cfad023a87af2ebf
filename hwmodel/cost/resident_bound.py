"""Lower bound of the pipeline model for kernels that keep A in L1, over all plans of a box.

The model mixes blocks whose steps find A in L1, blocks that stream it and blocks that touch it
first, in proportion to the share x of A that is streamed. Each of the three is bounded by itself;
slabs, loads and shares s as in `walk_bound`:

- An item takes at least its chain, store and L2 time, and its loads but for what the next item's
  first slab is shorter. From a block's first item to the others that is slab_new - slab_again; the
  edge item's slab is none longer, as it has fewer rows.
- The kernel's first slab and the first item together take at least load_new + slab_again, and
  slab_again covers what the last item, with finish >= load - slab, lacks of its loads.

With x the bound is a line plus the load of the resident part, a maximum of lines that fall with x
and of the HBM's time. Its least value is at an end of the box's range or where the two meet.
"""

from typing import NamedTuple

from hwmodel.cost.resident_kernel import (
    Layout,
    ResidentCase,
    build_layout,
    resident_row_cycles,
    with_row_ends,
)
from hwmodel.cost.tile import TileSize
from hwmodel.cost.tile_bound import (
    BoxLimits,
    TileBound,
    bound_flooded,
    bound_load,
    bound_memory,
    bound_rest,
    bound_slab,
    bound_tile,
)
from hwmodel.cost.whole import ceil, floor
from hwmodel.jit import inline, jit

ROUNDING = 1e-9
"""More than the relative error of any sum of the model in double precision."""


class BlockBound(NamedTuple):
    """Least times of a block.

    Attributes:
        cycles: when another follows.
        finish: when none does.
        start: with the kernel's first slab, when another follows.
        alone: with the kernel's first slab, when none does.
        tail: what is left of its last store.
    """

    cycles: float
    finish: float
    start: float
    alone: float
    tail: float


@jit
def bound_resident(case: ResidentCase, limits: BoxLimits) -> float:
    """Least cycles of the box; `case` has its longest slab and largest base_k."""
    layout = build_bound_layout(case, limits)
    case = with_row_ends(case, layout)
    kept = bound_blocks(case, limits, layout, 0.0)
    least, most = 1.0 - limits.kept_most, 1.0 - limits.kept_least
    if case.is_full:
        return case.launch + bound_resident_load(case, layout, 0.0) + kept
    streamed = bound_blocks(case, limits, layout, 1.0)
    meeting = min(max(find_meeting(case, layout), least), most)
    total = bound_mix(case, layout, kept, streamed, least)
    total = min(total, bound_mix(case, layout, kept, streamed, meeting))
    return case.launch + min(total, bound_mix(case, layout, kept, streamed, most))


@inline
def build_bound_layout(case: ResidentCase, limits: BoxLimits) -> Layout:
    """The model's layout with nothing streamed, but for what stays in L2: more than in the box."""
    terms, cores = case.terms, case.walk.cores
    layout = build_layout(case)
    streamed = 0.0 if case.is_full else 1.0 - limits.kept_most
    again = cores * layout.n * terms.k * terms.input_bytes + terms.a.total_bytes * streamed
    return Layout(
        m=layout.m,
        n=layout.n,
        edge_m=layout.edge_m,
        edge_n=layout.edge_n,
        m_tiles=layout.m_tiles,
        blocks=layout.blocks,
        streamed=0.0,
        kept_ratio=layout.kept_ratio,
        fits=1.0 if again * (1.0 - ROUNDING) <= case.chip.l2_bytes else 0.0,
        a_lines=layout.a_lines,
        b_lines=layout.b_lines,
        keeps_bias=layout.keeps_bias,
    )


@inline
def bound_mix(
    case: ResidentCase, layout: Layout, kept: float, streamed: float, share: float
) -> float:
    """Load of the resident part and blocks with that share streamed."""
    return bound_resident_load(case, layout, share) + kept + share * (streamed - kept)


@inline
def bound_resident_load(case: ResidentCase, layout: Layout, streamed: float) -> float:
    """The least of the model's load of the resident part."""
    terms, chip = case.terms, case.chip
    resident_bytes = terms.a.total_bytes * (1.0 - streamed)
    if layout.keeps_bias:
        resident_bytes += terms.bias_total_bytes
    rows = resident_row_cycles(case, layout) * (1.0 - streamed)
    hbm = terms.a.total_bytes * layout.a_lines * chip.hbm_read_per_byte
    return max(max(resident_bytes * chip.port_per_byte, rows), hbm)


@inline
def find_meeting(case: ResidentCase, layout: Layout) -> float:
    """Streamed share from which the HBM decides about the load of the resident part."""
    terms, chip = case.terms, case.chip
    port = max(terms.a.total_bytes * chip.port_per_byte, resident_row_cycles(case, layout))
    return 1.0 - terms.a.total_bytes * layout.a_lines * chip.hbm_read_per_byte / port


@inline
def bound_blocks(case: ResidentCase, limits: BoxLimits, layout: Layout, a_loaded: float) -> float:
    """First slab, all blocks and the last store, if all items stream A, or none does."""
    cores = case.walk.cores
    full_rounds = floor(layout.blocks / cores)
    rest = layout.blocks - full_rounds * cores
    width = layout.edge_n if rest == 1.0 else layout.n
    cut = min(case.walk.n_pieces, width)
    pieces = rest * cut
    last_rounds = ceil(pieces / cores)
    active, last_active = min(cores, layout.blocks), max(min(pieces, cores), 1.0)
    last_width = ceil(width / cut)
    if full_rounds == 0.0:
        last = mix_first(case, limits, layout, last_rounds, last_width, last_active, a_loaded)
        return (last_rounds - 1.0) * last.cycles + last.alone + last.tail
    full = mix_first(case, limits, layout, full_rounds, layout.n, active, a_loaded)
    if last_rounds == 0.0:
        return (full_rounds - 1.0) * full.cycles + full.alone + full.tail
    last = bound_block(case, limits, layout, last_width, last_active, a_loaded, 0.0)
    others = (full_rounds - 1.0) * full.cycles + (last_rounds - 1.0) * last.cycles
    return full.start + others + last.finish + last.tail


@inline
def mix_first(
    case: ResidentCase,
    limits: BoxLimits,
    layout: Layout,
    rounds: float,
    width: float,
    active: float,
    a_loaded: float,
) -> BlockBound:
    """Mean block of the kernel's first kind of rounds; the first of them touches streamed A."""
    one = bound_block(case, limits, layout, width, active, a_loaded, 0.0)
    if a_loaded == 0.0:
        return one
    new = bound_block(case, limits, layout, width, active, a_loaded, 1.0)
    share = 1.0 / rounds
    return BlockBound(
        cycles=one.cycles + share * (new.cycles - one.cycles),
        finish=one.finish + share * (new.finish - one.finish),
        start=one.start + share * (new.start - one.start),
        alone=one.alone + share * (new.alone - one.alone),
        tail=one.tail,
    )


@jit
def bound_block(
    case: ResidentCase,
    limits: BoxLimits,
    layout: Layout,
    width: float,
    active: float,
    a_loaded: float,
    a_new: float,
) -> BlockBound:
    """The least of `resident_kernel.estimate_blocks`."""
    chip, terms = case.chip, case.terms
    bias_loaded = 0.0 if layout.keeps_bias else 1.0
    size = TileSize(layout.m, width, terms.k, active, a_loaded, bias_loaded)
    tile = bound_tile(terms, chip, case.plan, limits, size, case.way_out)
    columns = layout.m if terms.is_transposed else active * width
    line = terms.k * terms.input_bytes
    touched = active * width * line * layout.b_lines + bias_loaded * columns * terms.bias_bytes
    a_touched = layout.m * line * layout.a_lines * a_new
    again_touched = touched * (1.0 - layout.fits)
    new = bound_load(chip, tile, a_touched, touched)
    slab = bound_slab(tile, new.load, tile.share_least)
    cycles = max(tile.floor, new.load)
    finish = max(tile.chain, bound_rest(tile, new.load, tile.share_most))
    start, alone, tail = slab + cycles, max(slab + tile.chain, new.load), tile.tail
    if layout.m_tiles > 1.0:
        again = bound_load(chip, tile, a_touched, again_touched)
        edge_size = TileSize(layout.edge_m, width, terms.k, active, a_loaded, bias_loaded)
        edge_tile = bound_tile(terms, chip, case.plan, limits, edge_size, case.way_out)
        edge = bound_load(chip, edge_tile, a_touched, again_touched)
        rest = bound_rest(tile, new.load, tile.share_most)
        new_cycles = max(tile.floor, rest + bound_slab(tile, again.load, tile.share_most))
        again_slab = bound_slab(tile, again.load, tile.share_least)
        between = (layout.m_tiles - 2.0) * max(tile.floor, again.load)
        edge_cycles = max(edge_tile.floor, edge.load)
        edge_finish = bound_edge_finish(edge_tile, edge.load)
        first = max(slab + new_cycles, new.load + again_slab)
        cycles = new_cycles + between + edge_cycles
        finish = new_cycles + between + edge_finish
        start = first + between + edge_cycles
        loads = new.load + max(again_slab + edge_tile.chain, edge.load)
        alone = between + max(slab + new_cycles + edge_finish, loads)
        tail = edge_tile.tail
    stored = layout.m_tiles * tile.output_bytes * active * chip.hbm_write_per_byte
    kept = layout.kept_ratio
    cycles = bound_flooded(chip, cycles, bound_memory(chip, new.hbm, stored), kept)
    memory = bound_memory(chip, new.hbm * (1.0 - tile.share_most), stored)
    finish = bound_flooded(chip, finish, memory, kept)
    return BlockBound(
        cycles=cycles,
        finish=min(cycles, finish),
        start=max(start, slab + cycles),
        alone=min(slab + cycles, max(alone, slab + finish)),
        tail=tail,
    )


@inline
def bound_edge_finish(tile: TileBound, load: float) -> float:
    """Time of a block's last item when nothing follows."""
    return max(tile.chain, bound_rest(tile, load, tile.share_most))
