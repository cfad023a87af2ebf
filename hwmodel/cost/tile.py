"""One work item of a cube core: an L0C tile over its whole K, in a round of such items.

The time of an item is that from its first mmad to the first mmad of the core's next item; of the
core's last item, to its last mmad.

Notation: a tile of m rows and n columns (its own size, not the plan's); K its length, run in L1
steps of kL columns and L0 steps of base_k columns; d the cube's time of one L0 step; P' the cores
that work in the round, in step with each other. Times are core cycles.

What decides the time of an item (specification: kernels.md, "Base kernel"; effects.md):

- chain: every L0 step takes the longer of mmad and MTE1, whose two L0 halves alternate.
- steps: the load of an L1 step must be done when the previous step has been multiplied. It may
  start when MTE1 has read the slot, two L0 steps earlier; that head start is the slack. A short
  last step leaves the next tile's first slab the least time, and that slab competes with the
  tile's own store for L2.
- MTE2 moves A, then B, in order; each at the rate of the core's port, or, where it is first
  touched, of the HBM that all cores share.
- fixpipe: the next tile's mmads trail it grain by grain. What it takes beyond the last L0 step
  of this tile and the first of the next one is exposed; with two L0C tiles only what exceeds the
  whole chain. It shares L2 with whatever of the next slab is still to come.
- L2: reads and writes of all cores share one rate.
"""

from typing import NamedTuple

from hwmodel.cost.store import WayOut, store_cycles
from hwmodel.cost.terms import ChipRates, OperandTerms, ProblemTerms
from hwmodel.cost.whole import ceil
from hwmodel.emulator.constants import LINE_BYTES
from hwmodel.footprint import L0C_ELEMENT_BYTES
from hwmodel.integers import FRACTAL
from hwmodel.jit import inline

L1_SLOTS = 2.0
"""Slots of an L1 slab but under a full or partial load; a slot is taken from the request of its
load to the last read of MTE1."""

L0_HALVES = 2.0
"""L0A and L0B are used in two halves: MTE1 runs that many L0 steps ahead (kernels.md)."""

PER_FRACTAL = 1 / FRACTAL


class TilePlan(NamedTuple):
    """The plan's figures that a tile needs, rows and columns as the terms have them.

    Attributes:
        base_m, base_n, base_k: base tile, elements.
        k_l1: K columns of an L1 slab.
        base_m_bit, base_n_bit, k_l1_bit: greatest power of two that divides their bytes.
        single_l0c: L0C holds one tile.
        slots: L1 slots of the streamed operands.
        a_straddles, b_straddles: share of the rows of A and B that straddle lines (`straddle`).
    """

    base_m: float
    base_n: float
    base_k: float
    k_l1: float
    base_m_bit: int
    base_n_bit: int
    k_l1_bit: int
    single_l0c: bool
    slots: float
    a_straddles: float
    b_straddles: float


@inline
def with_straddles(plan: TilePlan, a_straddles: float, b_straddles: float) -> TilePlan:
    """The figures with these shares of rows that straddle lines."""
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
        a_straddles=a_straddles,
        b_straddles=b_straddles,
    )


@inline
def with_slabs(plan: TilePlan, k_l1: float, k_l1_bit: int, slots: float) -> TilePlan:
    """The figures with these slabs and slots."""
    return TilePlan(
        base_m=plan.base_m,
        base_n=plan.base_n,
        base_k=plan.base_k,
        k_l1=k_l1,
        base_m_bit=plan.base_m_bit,
        base_n_bit=plan.base_n_bit,
        k_l1_bit=k_l1_bit,
        single_l0c=plan.single_l0c,
        slots=slots,
        a_straddles=plan.a_straddles,
        b_straddles=plan.b_straddles,
    )


class TileSize(NamedTuple):
    """Size of a tile and company: m x n over `length` columns of K, on `active` cores at once.

    `a_loaded` is the share of the tile's part of A that is loaded, 0 where it is resident in L1;
    `bias_loaded` that of its part of the bias.
    """

    m: float
    n: float
    length: float
    active: float
    a_loaded: float
    bias_loaded: float


class Steps(NamedTuple):
    """How a tile's K is run, and what the cube and MTE1 take for a column of K.

    Attributes:
        mmad_per_k, mte1_per_k, cube_per_k: the cube's, MTE1's and the longer time.
        step_count: L1 steps.
        step_share, last_share: share of K in a full and in the last L1 step.
        first_l0, last_l0: columns of the first and of the last L0 step.
        has_previous: 1 where the last L0 step is not the first, else 0.
    """

    mmad_per_k: float
    mte1_per_k: float
    cube_per_k: float
    step_count: float
    step_share: float
    last_share: float
    first_l0: float
    last_l0: float
    has_previous: float


class Tile(NamedTuple):
    """A tile in a round, ready for `tile_round.round_cycles`; cycles and bytes of one core.

    Attributes:
        mmad: the cube's busy time for the tile.
        chain: the time of its L0 steps, each the longer of mmad and MTE1.
        mte1: MTE1's busy time for it.
        a_port, b_port: time to load the tile's part of A and of B at the core's port.
        bias_port: the same of its part of the bias.
        l2_load: time of all its loads at the L2 rate that the cores share.
        floor: least time of an item before another one, whatever the loads: chain, exposed
            fixpipe, L2.
        stall: what of the store keeps the cube from the next tile.
        step_chain, last_chain: the cube's time of a full and of the last L1 step.
        step_count: L1 steps.
        step_share, last_share: share of the tile's K in a full and in the last L1 step.
        slack: head start of a load.
        contended: time of a slab's load while all cores store their tile.
        store: time of the fixpipe when no load competes.
        tail: what is left of it after the tile's last mmad.
        output_bytes: bytes of C, or of partial sums, that the tile writes.
        read_bytes: bytes it reads.
        mte1_bytes: bytes that MTE1 moves for it, in whole fractals.
        l0c_bytes: bytes of the tile in L0C.
        slots: L1 slots.
    """

    mmad: float
    chain: float
    mte1: float
    a_port: float
    b_port: float
    bias_port: float
    l2_load: float
    floor: float
    stall: float
    step_chain: float
    last_chain: float
    step_count: float
    step_share: float
    last_share: float
    slack: float
    contended: float
    store: float
    tail: float
    output_bytes: float
    read_bytes: float
    mte1_bytes: float
    l0c_bytes: float
    slots: float


@inline
def line_waste_bytes(operand: OperandTerms, start_bit: int) -> float:
    """Bytes that a run costs beyond its own because memory moves whole lines, on average.

    A run starts at a multiple of g, the greatest power of two in the pitch of the runs and in the
    distance between the tiles' starts: it touches its own bytes + line - g.
    """
    return operand.waste_ratio * (LINE_BYTES - min(operand.pitch_bit, start_bit))


@inline
def fractal_up(length: float) -> float:
    """Length rounded up to whole fractals."""
    return ceil(length * PER_FRACTAL) * FRACTAL


@inline
def port_cycles(
    terms: ProblemTerms,
    chip: ChipRates,
    operand: OperandTerms,
    outer: float,
    straddles: float,
    steps: Steps,
    length: float,
) -> float:
    """Time to load a tile's part of one operand at the core's port.

    Every row has a least time; the share of them that straddles lines takes longer.
    """
    by_bytes = outer * length * (terms.input_bytes * chip.port_per_byte)
    # A slab that is one contiguous run counts as one row.
    if operand.run_along_k > 0.0:
        rows = outer * steps.step_count if length < terms.k * steps.step_count else 0.0
    else:
        rows = length if outer < operand.outer else 0.0
    straddling = rows * straddles * operand.straddle_cycles
    return max(by_bytes, rows * operand.row_cycles) + straddling


@inline
def build_steps(terms: ProblemTerms, chip: ChipRates, plan: TilePlan, size: TileSize) -> Steps:
    """L1 steps, L0 steps and times per column of K."""
    m_up, n_up = fractal_up(size.m), fractal_up(size.n)
    mmad_per_k = m_up * n_up * chip.cycles_per_mac
    mte1_per_k = m_up * terms.a.l0_per_row + n_up * terms.b.l0_per_row
    per_length = 1.0 / size.length
    step = min(plan.k_l1, size.length)
    step_share = step * per_length
    step_count = ceil(size.length / step)
    first_l0 = min(plan.base_k, size.length)
    l0_count = ceil(size.length / plan.base_k)
    return Steps(
        mmad_per_k=mmad_per_k,
        mte1_per_k=mte1_per_k,
        cube_per_k=max(mmad_per_k, mte1_per_k),
        step_count=step_count,
        step_share=step_share,
        last_share=1.0 - (step_count - 1.0) * step_share,
        first_l0=first_l0,
        last_l0=size.length - (l0_count - 1.0) * first_l0,
        has_previous=min(l0_count - 1.0, 1.0),
    )


class Store(NamedTuple):
    """The tile's store: alone, its tail, the least time of an item before another one."""

    alone: float
    tail: float
    floor: float
    stall: float


@inline
def build_store(
    chip: ChipRates,
    plan: TilePlan,
    size: TileSize,
    steps: Steps,
    way_out: float,
    output_bytes: float,
    read_bytes: float,
    chain: float,
) -> Store:
    """How the store meets the cube and the loads."""
    first_cube = steps.cube_per_k * steps.first_l0
    last_cube = steps.cube_per_k * steps.last_l0
    slab_bytes = read_bytes * steps.step_share
    # What MTE2 can load of the next slab between the slot's release and the start of the store.
    head_start = max(steps.has_previous * first_cube - steps.mte1_per_k * steps.last_l0, 0.0)
    competing = min(max(slab_bytes - chip.port_bytes_per_cycle * head_start, 0.0), output_bytes)
    all_l2 = size.active * chip.l2_per_byte
    alone = max(way_out, output_bytes * all_l2)
    fixpipe = max(alone, (output_bytes + competing) * all_l2)
    hidden = min(first_cube + last_cube, chain) + chip.tile_cycles
    stall = max(fixpipe - hidden, 0.0) if plan.single_l0c else 0.0
    exposed = max(fixpipe, chain + chip.tile_cycles + stall)
    return Store(
        alone=alone,
        tail=max(alone - last_cube, 0.0),
        floor=max(exposed, (read_bytes + output_bytes) * all_l2),
        stall=stall,
    )


@inline
def build_tile(
    terms: ProblemTerms, chip: ChipRates, plan: TilePlan, size: TileSize, way_out: WayOut
) -> Tile:
    """The tile of that size and way out, ready for `tile_round.round_cycles`."""
    steps = build_steps(terms, chip, plan, size)
    columns = size.m if terms.is_transposed else size.n
    bias = size.bias_loaded * columns * terms.bias_bytes
    read_bytes = (size.a_loaded * size.m + size.n) * size.length * terms.input_bytes + bias
    output_bytes = size.m * size.n * way_out.element_bytes
    length_up = ceil(size.length / terms.k_fractal) * terms.k_fractal
    chain = steps.cube_per_k * length_up
    alone = store_cycles(terms, chip, way_out, size.m, size.n)
    store = build_store(chip, plan, size, steps, alone, output_bytes, read_bytes, chain)
    all_l2 = size.active * chip.l2_per_byte
    slack = steps.has_previous * L0_HALVES * (steps.cube_per_k - steps.mte1_per_k) * steps.first_l0
    return Tile(
        mmad=steps.mmad_per_k * length_up,
        chain=chain,
        mte1=steps.mte1_per_k * size.length,
        a_port=size.a_loaded
        * port_cycles(terms, chip, terms.a, size.m, plan.a_straddles, steps, size.length),
        b_port=port_cycles(terms, chip, terms.b, size.n, plan.b_straddles, steps, size.length),
        bias_port=bias * chip.port_per_byte,
        l2_load=read_bytes * all_l2,
        floor=store.floor,
        stall=store.stall,
        step_chain=chain * steps.step_share,
        last_chain=chain * steps.last_share,
        step_count=steps.step_count,
        step_share=steps.step_share,
        last_share=steps.last_share,
        slack=slack,
        contended=(read_bytes * steps.step_share + output_bytes) * all_l2,
        store=store.alone,
        tail=store.tail,
        output_bytes=output_bytes,
        read_bytes=read_bytes,
        mte1_bytes=(fractal_up(size.m) + fractal_up(size.n)) * length_up * terms.input_bytes,
        l0c_bytes=size.m * size.n * L0C_ELEMENT_BYTES,
        slots=plan.slots,
    )
