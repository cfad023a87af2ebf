"""One work item of a cube core: an L0C tile over its whole K, in a round of such items.

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
- L2: reads and writes of all cores share one rate, writes have a lower one of their own.
"""

from dataclasses import dataclass

import numpy as np

from hwmodel.cost.terms import ChipRates, Column, IntColumn, OperandTerms, ProblemTerms
from hwmodel.integers import FRACTAL

L0_HALVES = 2
"""L0A and L0B are used in two halves: MTE1 runs that many L0 steps ahead (kernels.md)."""

L1_SLOTS = 2
"""Slots of an L1 slab: a slot is taken from the request of its load to the last read of MTE1."""

UB_BLOCK_BYTES = 32
"""Rows in UB are whole blocks of this size (kernels.md, "Fixpipe optimisation")."""

WORKSPACE_BYTES = 4
"""Bytes of an element of a stream-K partial sum (fp32, specification: kernels.md, "StreamK")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TilePlan:
    """The plan's columns that a tile needs, rows and columns as the terms have them.

    Attributes:
        base_m, base_n, base_k: base tile, elements.
        k_l1: K columns of an L1 slab.
        base_m_bit, base_n_bit, k_l1_bit: greatest power of two that divides their bytes.
        base_c_bit: the same of a row of a tile of C.
        single_l0c: 1 where L0C holds one tile, 0 where it holds two.
        deep_l1: 1 where the streamed operand has four L1 slots and loads run far ahead, else 0;
            None where no plan has.
    """

    base_m: Column
    base_n: Column
    base_k: Column
    k_l1: Column
    base_m_bit: IntColumn
    base_n_bit: IntColumn
    k_l1_bit: IntColumn
    base_c_bit: IntColumn
    single_l0c: Column
    deep_l1: Column | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A tile in a round, ready for `round_cycles`; cycles and bytes of one core.

    Attributes:
        mmad: the cube's busy time for the tile.
        chain: the time of its L0 steps, each the longer of mmad and MTE1.
        mte1: MTE1's busy time for it.
        a_port, b_port: time to load the tile's part of A and of B at the core's port.
        floor: least time of an item whatever the loads: chain, exposed fixpipe, L2.
        step_chain, last_chain: the cube's time of a full and of the last L1 step.
        step_count: L1 steps.
        step_share, last_share: share of the tile's K in a full and in the last L1 step.
        slack: head start of a load.
        contended: time of a slab's load while all cores store their tile.
        store: time of the fixpipe when no load competes.
        output_bytes: bytes of C, or of partial sums, that the tile writes.
        read_bytes: bytes it reads, whole lines.
    """

    mmad: Column
    chain: Column
    mte1: Column
    a_port: Column
    b_port: Column
    floor: Column
    step_chain: Column
    last_chain: Column
    step_count: Column
    step_share: Column
    last_share: Column
    slack: Column
    contended: Column
    store: Column
    output_bytes: Column
    read_bytes: Column
    deep_l1: Column | None


def line_waste_bytes(
    chip: ChipRates, operand: OperandTerms, start_bit: IntColumn
) -> Column | float:
    """Bytes that a run costs beyond its own because memory moves whole lines, on average.

    A run starts at a multiple of g, the greatest power of two in the pitch of the runs and in the
    distance between the tiles' starts: it touches its own bytes + line - g.
    """
    if operand.is_padded:
        return 0.0
    grain = np.minimum(np.minimum(operand.pitch_bit, start_bit), chip.line_bytes)
    waste: Column = chip.line_bytes - grain
    return waste


def _part_bytes(
    chip: ChipRates,
    terms: ProblemTerms,
    operand: OperandTerms,
    outer: Column,
    steps: Column,
    length: Column,
    start_bits: tuple[IntColumn, IntColumn],
) -> Column:
    """Bytes of a tile's part of one operand, in whole lines.

    The start bits are those of the steps along K and of the tiles along the outer dimension.
    """
    along_k, along_outer = start_bits
    if operand.run_along_k:
        return outer * (
            length * terms.input_bytes + steps * line_waste_bytes(chip, operand, along_k)
        )
    return length * (outer * terms.input_bytes + line_waste_bytes(chip, operand, along_outer))


def fractal_up(length: Column) -> Column:
    """Length rounded up to whole fractals."""
    rounded: Column = np.ceil(length * (1 / FRACTAL)) * FRACTAL
    return rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class TileSize:
    """Size of a tile and company: m x n over `length` columns of K, on `active` cores at once."""

    m: Column
    n: Column
    length: Column
    active: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class _Steps:
    """How a tile's K is run, and what the cube and MTE1 take for a column of K."""

    mmad_per_k: Column
    mte1_per_k: Column
    cube_per_k: Column
    step_count: Column
    step_share: Column
    last_share: Column
    first_l0: Column
    last_l0: Column
    has_previous: Column


def _build_steps(terms: ProblemTerms, chip: ChipRates, plan: TilePlan, size: TileSize) -> _Steps:
    """L1 steps, L0 steps and times per column of K."""
    m_up, n_up = fractal_up(size.m), fractal_up(size.n)
    mmad_per_k = m_up * n_up * (1 / chip.macs_per_cycle)
    mte1_per_k = m_up * (terms.input_bytes / chip.l1_to_l0a) + n_up * (
        terms.input_bytes / chip.l1_to_l0b
    )
    step_share = np.minimum(plan.k_l1, size.length) * (1 / size.length)
    step_count = np.ceil(size.length / np.minimum(plan.k_l1, size.length))
    first_l0 = np.minimum(plan.base_k, size.length)
    l0_count = np.ceil(size.length / plan.base_k)
    return _Steps(
        mmad_per_k=mmad_per_k,
        mte1_per_k=mte1_per_k,
        cube_per_k=np.maximum(mmad_per_k, mte1_per_k),
        step_count=step_count,
        step_share=step_share,
        last_share=1 - (step_count - 1) * step_share,
        first_l0=first_l0,
        last_l0=size.length - (l0_count - 1) * first_l0,
        has_previous=np.minimum(l0_count - 1, 1),
    )


def build_tile(
    terms: ProblemTerms,
    chip: ChipRates,
    plan: TilePlan,
    size: TileSize,
    *,
    a_loaded: Column | float = 1.0,
    element_bytes: int,
    through_ub: "UbStore | None" = None,
) -> Tile:
    """The tile of that size, ready for `round_cycles`.

    Args:
        terms: the problem.
        chip: the chip.
        plan: the plan's columns.
        size: the tile's own size.
        a_loaded: share of the tile's part of A that is loaded, 0 where it is resident in L1.
        element_bytes: bytes of an element that the tile writes.
        through_ub: the vector cores' part of the store, None for a direct store.
    """
    steps = _build_steps(terms, chip, plan, size)
    a_bytes = a_loaded * _part_bytes(
        chip,
        terms,
        terms.a,
        size.m,
        steps.step_count,
        size.length,
        (plan.k_l1_bit, plan.base_m_bit),
    )
    b_bytes = _part_bytes(
        chip,
        terms,
        terms.b,
        size.n,
        steps.step_count,
        size.length,
        (plan.k_l1_bit, plan.base_n_bit),
    )
    read_bytes, output_bytes = a_bytes + b_bytes, size.m * size.n * element_bytes
    length_up = np.ceil(size.length * (1 / terms.k_fractal)) * terms.k_fractal
    chain = steps.cube_per_k * length_up
    first_cube = steps.cube_per_k * steps.first_l0
    slab_bytes = read_bytes * steps.step_share
    # What MTE2 can load of the next slab between the slot's release and the start of the store.
    head_start = np.maximum(steps.has_previous * first_cube - steps.mte1_per_k * steps.last_l0, 0)
    competing = np.minimum(np.maximum(slab_bytes - chip.mte2_port * head_start, 0), output_bytes)

    all_l2 = size.active * (1 / chip.l2_total)
    write_cycles = output_bytes * (size.active * (1 / chip.l2_write_total))
    way_out = _way_out_cycles(terms, chip, plan, size, element_bytes, through_ub)
    store = np.maximum(way_out, write_cycles)
    fixpipe = np.maximum(store, (output_bytes + competing) * all_l2)
    hidden = np.minimum(first_cube + steps.cube_per_k * steps.last_l0, chain)
    exposed = fixpipe + plan.single_l0c * (chain - hidden)
    l2_cycles = np.maximum(write_cycles, (read_bytes + output_bytes) * all_l2)
    return Tile(
        mmad=steps.mmad_per_k * length_up,
        chain=chain,
        mte1=steps.mte1_per_k * size.length,
        a_port=a_bytes * (1 / chip.mte2_port),
        b_port=b_bytes * (1 / chip.mte2_port),
        floor=np.maximum(np.maximum(exposed, chain), l2_cycles),
        step_chain=chain * steps.step_share,
        last_chain=chain * steps.last_share,
        step_count=steps.step_count,
        step_share=steps.step_share,
        last_share=steps.last_share,
        slack=steps.has_previous * L0_HALVES * (first_cube - steps.mte1_per_k * steps.first_l0),
        contended=(slab_bytes + output_bytes) * all_l2,
        store=store,
        output_bytes=output_bytes,
        read_bytes=read_bytes,
        deep_l1=plan.deep_l1,
    )


def _way_out_cycles(
    terms: ProblemTerms,
    chip: ChipRates,
    plan: TilePlan,
    size: TileSize,
    element_bytes: int,
    through_ub: "UbStore | None",
) -> Column:
    """Time of the tile's way out of L0C when nothing else moves."""
    rows, columns = (size.n, size.m) if terms.is_transposed else (size.m, size.n)
    if through_ub is None:
        return _direct_store_cycles(terms, chip, plan, rows, rows * columns * element_bytes)
    return through_ub.cycles(chip, rows, columns * element_bytes)


def _direct_store_cycles(
    terms: ProblemTerms,
    chip: ChipRates,
    plan: TilePlan,
    rows: Column,
    output_bytes: Column,
) -> Column:
    """The fixpipe's time to GM: its bytes, and a fixed cost for every partial line of C.

    Each end of a row's run is off a line with the probability 1 - g/line (see line_waste_bytes).
    """
    grain = np.minimum(np.minimum(terms.c_pitch_bit, plan.base_c_bit), chip.line_bytes)
    partial_per_row = 2 - (2 / chip.line_bytes) * grain
    cycles: Column = (
        output_bytes * (1 / chip.fixpipe) + rows * partial_per_row * chip.partial_line_cycles
    )
    return cycles


@dataclass(frozen=True, slots=True, kw_only=True)
class UbStore:
    """The store through UB: fixpipe into UB, then a vector core writes the rows to GM.

    Attributes:
        rows_share: share of the tile's rows that one vector core writes: 1, or half for fp32.
        is_double: UB holds two tiles and the two movements overlap.
    """

    rows_share: float
    is_double: Column

    def cycles(self, chip: ChipRates, rows: Column, row_bytes: Column) -> Column:
        """Cycles from one tile to the next that the way out takes; UB rows are whole blocks."""
        into_ub = rows * row_bytes * (1 / chip.fixpipe)
        padded = rows * np.ceil(row_bytes * (1 / UB_BLOCK_BYTES)) * UB_BLOCK_BYTES
        out_of_ub = padded * (self.rows_share / chip.aiv_ub_to_hbm)
        overlapped = np.maximum(into_ub, out_of_ub)
        cycles: Column = overlapped + (1 - self.is_double) * np.minimum(into_ub, out_of_ub)
        return cycles


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Time of one item in a round, cycles of a core.

    Attributes:
        cycles: from one item to the next.
        load: MTE2's busy time.
        a_load: its time for A.
        b_load: its time for B.
        hbm: time of the round's first touches at the HBM rate.
    """

    cycles: Column
    load: Column
    a_load: Column
    b_load: Column
    hbm: Column


def round_cycles(
    chip: ChipRates, tile: Tile, a_hbm_bytes: Column, b_hbm_bytes: Column, *, is_cold: bool = False
) -> Round:
    """Time of a tile in a round that touches the given bytes of A and B, of all cores, first."""
    a_hbm = a_hbm_bytes * (1 / chip.hbm_read_total)
    b_hbm = b_hbm_bytes * (1 / chip.hbm_read_total)
    a_load = np.maximum(tile.a_port, a_hbm)
    b_load = np.maximum(tile.b_port, b_hbm)
    load = a_load + b_load
    wait = load * tile.step_share - tile.slack
    last_wait = load * tile.last_share - tile.slack
    next_wait = np.maximum(wait, tile.contended - tile.slack)
    steps = (
        (tile.step_count - 2) * np.maximum(tile.step_chain, wait)
        + np.maximum(tile.step_chain, last_wait)
        + np.maximum(tile.last_chain, next_wait)
    )
    latency = chip.l2_latency + (a_hbm + b_hbm > 0) * (chip.hbm_latency - chip.l2_latency)
    waits = tile.step_count - is_cold
    in_flight = waits * (latency - tile.slack) + load + tile.chain
    steps = np.maximum(steps, in_flight * (1 / L1_SLOTS))
    if tile.deep_l1 is not None:
        steps = steps * (1 - tile.deep_l1)
    cycles = np.maximum(np.maximum(steps, load), tile.floor)
    return Round(cycles=cycles, load=load, a_load=a_load, b_load=b_load, hbm=a_hbm + b_hbm)


def overlap_cycles(chip: ChipRates, first: Column, second: Column) -> Column:
    """Time of two streams of work that run at once: the longer one, and more if they are close.

    Bursts of one stream meet those of the other; the fuller both are, the more of the bursts
    cannot be moved out of the way. The loss falls with the fourth power of the shorter one.
    """
    longer, shorter = np.maximum(first, second), np.minimum(first, second)
    fullness = shorter / longer
    fullness *= fullness
    fullness *= fullness
    cycles: Column = longer * (1 + chip.overlap_loss_ratio * fullness)
    return cycles
