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

from typing import NamedTuple

from hwmodel.cost.kernel_costs import KernelCosts
from hwmodel.cost.residency import WalkPlan, hbm_bytes
from hwmodel.cost.store import WayOut, keep_row_ends
from hwmodel.cost.straddle import ANYWHERE, straddle_share
from hwmodel.cost.terms import ChipRates, ProblemTerms
from hwmodel.cost.tile import TilePlan, TileSize, build_tile, with_straddles
from hwmodel.cost.tile_round import hbm_cycles, item_cycles, overlap_cycles, round_cycles
from hwmodel.cost.whole import ceil, floor
from hwmodel.jit import inline


class ResidentCase(NamedTuple):
    """What the closed form is evaluated for.

    Attributes:
        terms: the problem, transposed when B is kept.
        chip: the chip.
        plan: the plan's tile figures.
        walk: its walk figures.
        way_out: how C leaves L0C.
        launch: launch and first access.
        is_full: all slabs of A are kept.
        resident_slabs: slabs of A that are kept otherwise.
    """

    terms: ProblemTerms
    chip: ChipRates
    plan: TilePlan
    walk: WalkPlan
    way_out: WayOut
    launch: float
    is_full: bool
    resident_slabs: float


class Layout(NamedTuple):
    """Counts and sizes; blocks are columns of tiles.

    Attributes:
        m, n: rows and columns of a tile that is not cut.
        edge_m: rows of a block's last tile.
        edge_n: columns of the last block.
        m_tiles: tiles of a block.
        blocks: blocks.
        streamed: share of A that is not resident.
        kept_ratio: share of the time in which C still fits in L2.
        fits: 1 where the parts of B that a round streams again and again stay in L2, else 0.
        a_lines, b_lines: bytes of the lines that hold A and B over their own.
        keeps_bias: a full load of B keeps the bias with it.
    """

    m: float
    n: float
    edge_m: float
    edge_n: float
    m_tiles: float
    blocks: float
    streamed: float
    kept_ratio: float
    fits: float
    a_lines: float
    b_lines: float
    keeps_bias: bool


class Blocks(NamedTuple):
    """Rounds of equal blocks; times of a block are cycles of a core.

    Attributes:
        rounds: how many.
        active: cores at work.
        mmad, mte1, store: busy times of the cube, MTE1 and fixpipe for a tile.
        mte1_bytes, l0c_bytes: bytes that MTE1 moves for a tile, and of a tile in L0C.
        read_bytes: bytes that an item reads.
        cycles: from a block's first mmad to that of the next block.
        saved: what it takes less when no block follows.
        tail: what is left of its last store then.
        slab: load of its first slab.
        load: MTE2's busy time.
    """

    rounds: float
    active: float
    mmad: float
    mte1: float
    store: float
    mte1_bytes: float
    l0c_bytes: float
    read_bytes: float
    cycles: float
    saved: float
    tail: float
    slab: float
    load: float


@inline
def estimate_resident(case: ResidentCase) -> KernelCosts:
    """Costs of the kernel."""
    terms, chip, cores = case.terms, case.chip, case.walk.cores
    layout = build_layout(case)
    case = with_row_ends(case, layout)
    full_rounds = floor(layout.blocks / cores)
    rest = layout.blocks - full_rounds * cores
    width = layout.edge_n if rest == 1.0 else layout.n
    cut = min(case.walk.n_pieces, width)
    pieces = rest * cut
    has_full = full_rounds > 0.0
    full = mix_blocks(case, layout, full_rounds, layout.n, min(cores, layout.blocks), has_full)
    last = mix_blocks(
        case,
        layout,
        ceil(pieces / cores),
        ceil(width / cut),
        max(min(pieces, cores), 1.0),
        not has_full,
    )
    full_total = full.rounds * full.cycles
    has_last = last.rounds > 0.0
    rounds = full_total + last.rounds * last.cycles - (last.saved if has_last else full.saved)
    # A core without a block in the last round may still be busy with a larger store.
    others = full_total - full.saved + full.tail if has_full else 0.0
    epilogue = max(last.tail if has_last else full.tail, others - rounds)
    resident_bytes = terms.a.total_bytes * (1.0 - layout.streamed)
    if layout.keeps_bias:
        resident_bytes += terms.bias_total_bytes
    # All cores load the same A at once: the HBM moves it once, every port its own copy.
    port = max(resident_bytes * chip.port_per_byte, resident_row_cycles(case, layout))
    resident = max(
        port + resident_straddle_cycles(case, layout),
        terms.a.total_bytes * layout.a_lines * chip.hbm_read_per_byte,
    )
    full_items, last_items = full.rounds * layout.m_tiles, last.rounds * layout.m_tiles
    prologue = resident + (full.slab if has_full else last.slab)
    inputs = terms.a.total_bytes + terms.b.total_bytes + terms.bias_total_bytes
    all_full, all_last = full_items * full.active, last_items * last.active
    cube_busy = full_items * full.mmad + last_items * last.mmad
    cube_total = all_full * full.mmad + all_last * last.mmad
    return KernelCosts(
        launch=case.launch,
        prologue=prologue,
        rounds=rounds,
        epilogue=epilogue,
        cube_busy=cube_busy,
        mte2_busy=resident + full.rounds * full.load + last.rounds * last.load,
        mte1_busy=full_items * full.mte1 + last_items * last.mte1,
        fixpipe_busy=full_items * full.store + last_items * last.store,
        vector_busy=0.0,
        hbm_read_bytes=inputs
        + terms.a.total_bytes * (layout.a_lines - 1.0)
        + terms.b.total_bytes * (layout.b_lines - 1.0),
        read_bytes=all_full * full.read_bytes
        + all_last * last.read_bytes
        + cores * resident_bytes,
        write_bytes=terms.output_total_bytes,
        mte1_bytes=all_full * full.mte1_bytes + all_last * last.mte1_bytes,
        fixpipe_bytes=all_full * full.l0c_bytes + all_last * last.l0c_bytes,
        balance_ratio=min(cube_total / (cores * cube_busy), 1.0),
        round_count=full_rounds + min(rest, 1.0),
        total=case.launch + prologue + rounds + epilogue,
    )


@inline
def with_row_ends(case: ResidentCase, layout: Layout) -> ResidentCase:
    """The case with the row ends of the core that has most of them off a line.

    A core takes every P-th block, whose columns keep their place in a line of C.
    """
    way_out = case.way_out
    if not case.terms.is_transposed:
        way_out = keep_row_ends(case.terms, case.chip, way_out, case.walk.cores, layout.blocks)
    return ResidentCase(
        terms=case.terms,
        chip=case.chip,
        plan=find_straddles(case, layout),
        walk=case.walk,
        way_out=way_out,
        launch=case.launch,
        is_full=case.is_full,
        resident_slabs=case.resident_slabs,
    )


@inline
def find_straddles(case: ResidentCase, layout: Layout) -> TilePlan:
    """The plan with the shares of rows of A and B that straddle lines; all cores walk all of A."""
    plan, terms = case.plan, case.terms
    across = case.walk.cores if layout.blocks > case.walk.cores else 0.0
    return with_straddles(
        plan,
        straddle_share(terms, terms.a, layout.m, plan.base_m_bit, layout.m_tiles, ANYWHERE),
        straddle_share(terms, terms.b, layout.n, plan.base_n_bit, layout.blocks, across),
    )


@inline
def build_layout(case: ResidentCase) -> Layout:
    """Counts and sizes of the plan on the problem."""
    terms, l2_bytes = case.terms, case.chip.l2_bytes
    rows, columns = terms.a.outer, terms.b.outer
    m, n = min(case.plan.base_m, rows), min(case.plan.base_n, columns)
    m_tiles, blocks = ceil(rows / m), ceil(columns / n)
    line_bytes = terms.k * terms.input_bytes
    streamed = 0.0
    if not case.is_full:
        slabs = m_tiles * ceil(terms.k / min(case.plan.k_l1, terms.k))
        streamed = 1.0 - min(case.resident_slabs / slabs, 1.0)
    again = case.walk.cores * n * line_bytes + terms.a.total_bytes * streamed
    inputs = terms.a.total_bytes + terms.b.total_bytes + terms.bias_total_bytes
    return Layout(
        m=m,
        n=n,
        edge_m=rows - (m_tiles - 1.0) * m,
        edge_n=columns - (blocks - 1.0) * n,
        m_tiles=m_tiles,
        blocks=blocks,
        streamed=streamed,
        kept_ratio=min(l2_bytes / (inputs + terms.output_total_bytes), 1.0),
        fits=1.0 if again <= l2_bytes else 0.0,
        a_lines=hbm_bytes(terms, terms.a, m_tiles, case.plan.base_m_bit, case.plan)
        / terms.a.total_bytes,
        b_lines=hbm_bytes(terms, terms.b, blocks, case.plan.base_n_bit, case.plan)
        / terms.b.total_bytes,
        keeps_bias=terms.is_transposed and case.is_full,
    )


@inline
def resident_row_cycles(case: ResidentCase, layout: Layout) -> float:
    """Least time of the rows of the resident part at a core's port."""
    terms = case.terms
    steps = ceil(terms.k / min(case.plan.k_l1, terms.k))
    if terms.a.run_along_k > 0.0:
        rows = terms.a.outer * steps if steps > 1.0 else 0.0
    else:
        rows = terms.k * layout.m_tiles if layout.m_tiles > 1.0 else 0.0
    return (1.0 - layout.streamed) * rows * terms.a.row_cycles


@inline
def resident_straddle_cycles(case: ResidentCase, layout: Layout) -> float:
    """Port time of the resident part's rows that straddle lines; a block of all rows has none."""
    terms = case.terms
    if layout.m_tiles == 1.0:
        return 0.0
    rows = (1.0 - layout.streamed) * terms.k * layout.m_tiles
    return rows * case.plan.a_straddles * terms.a.straddle_cycles


@inline
def mix_blocks(
    case: ResidentCase,
    layout: Layout,
    rounds: float,
    width: float,
    active: float,
    is_first: bool,
) -> Blocks:
    """Rounds of blocks of that width: steps that find their A in L1, and steps that stream it.

    `is_first` says that they are the first rounds of the kernel, which touch the streamed A first.
    """
    kept = estimate_blocks(case, layout, rounds, width, active, 0.0, 0.0)
    if case.is_full:
        return kept
    streams = estimate_blocks(case, layout, rounds, width, active, 1.0, 0.0)
    if is_first and rounds > 0.0:
        touches = estimate_blocks(case, layout, rounds, width, active, 1.0, 1.0)
        streams = mix(streams, touches, 1.0 / rounds)
    return mix(kept, streams, layout.streamed)


@inline
def mix(one: Blocks, other: Blocks, share: float) -> Blocks:
    """Mean of two kinds of steps."""
    return Blocks(
        rounds=one.rounds,
        active=one.active,
        mmad=one.mmad,
        mte1=one.mte1,
        store=one.store,
        mte1_bytes=one.mte1_bytes,
        l0c_bytes=one.l0c_bytes,
        read_bytes=one.read_bytes + share * (other.read_bytes - one.read_bytes),
        cycles=one.cycles + share * (other.cycles - one.cycles),
        saved=one.saved + share * (other.saved - one.saved),
        tail=one.tail,
        slab=one.slab + share * (other.slab - one.slab),
        load=one.load + share * (other.load - one.load),
    )


@inline
def estimate_blocks(
    case: ResidentCase,
    layout: Layout,
    rounds: float,
    width: float,
    active: float,
    a_loaded: float,
    a_new: float,
) -> Blocks:
    """Rounds whose blocks' first items touch their B first.

    `a_loaded` is 1 where items stream A, `a_new` where no core has touched that A before.
    """
    chip, terms = case.chip, case.terms
    bias_loaded = 0.0 if layout.keeps_bias else 1.0
    size = TileSize(layout.m, width, terms.k, active, a_loaded, bias_loaded)
    tile = build_tile(terms, chip, case.plan, size, case.way_out)
    columns = layout.m if terms.is_transposed else active * width
    line = terms.k * terms.input_bytes
    bias_touched = bias_loaded * columns * terms.bias_bytes
    touched = active * width * line * layout.b_lines + bias_touched
    a_touched = layout.m * line * layout.a_lines * a_new
    again_touched = touched * (1.0 - layout.fits)
    new = round_cycles(chip, tile, a_touched, touched, 1.0)
    again = round_cycles(chip, tile, a_touched, again_touched, 1.0)
    new_cycles = item_cycles(tile, new, new.slab if layout.m_tiles == 1.0 else again.slab)
    again_cycles = item_cycles(tile, again, again.slab)
    others = layout.m_tiles - 1.0
    edge_size = TileSize(layout.edge_m, width, terms.k, active, a_loaded, bias_loaded)
    edge_tile = build_tile(terms, chip, case.plan, edge_size, case.way_out)
    edge = round_cycles(chip, edge_tile, a_touched, again_touched, 1.0)
    block, saved = new_cycles, new_cycles - new.finish
    if others > 0.0:
        edge_cycles = item_cycles(edge_tile, edge, new.slab)
        block += (others - 1.0) * again_cycles + edge_cycles
        saved = edge_cycles - edge.finish
    finish = min(block - saved, block)
    stored = layout.m_tiles * tile.output_bytes * active * chip.hbm_write_per_byte
    flooded = overlap_cycles(chip, block, hbm_cycles(chip, new.hbm, stored))
    memory = hbm_cycles(chip, new.hbm * (1.0 - tile.step_share), stored)
    flooded_finish = overlap_cycles(chip, finish, memory)
    cycles = flooded + layout.kept_ratio * (block - flooded)
    finish = flooded_finish + layout.kept_ratio * (finish - flooded_finish)
    return Blocks(
        rounds=rounds,
        active=active,
        mmad=tile.mmad,
        mte1=tile.mte1,
        store=tile.store,
        mte1_bytes=tile.mte1_bytes,
        l0c_bytes=tile.l0c_bytes,
        read_bytes=tile.read_bytes,
        cycles=cycles,
        saved=max(cycles - finish, 0.0),
        tail=edge_tile.tail,
        slab=new.slab,
        load=new.load + others * again.load,
    )
