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
- L2: reads and writes of all cores share one rate, writes have a lower one of their own.
"""

from dataclasses import dataclass

import numpy as np

from hwmodel.cost.store import WayOut
from hwmodel.cost.terms import ChipRates, Column, IntColumn, OperandTerms, ProblemTerms
from hwmodel.integers import FRACTAL

L1_SLOTS = 2
"""Slots of an L1 slab but under a full or partial load; a slot is taken from the request of its
load to the last read of MTE1."""

L0_HALVES = 2
"""L0A and L0B are used in two halves: MTE1 runs that many L0 steps ahead (kernels.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TilePlan:
    """The plan's columns that a tile needs, rows and columns as the terms have them.

    Attributes:
        base_m, base_n, base_k: base tile, elements.
        k_l1: K columns of an L1 slab.
        base_m_bit, base_n_bit, k_l1_bit: greatest power of two that divides their bytes.
        base_c_bit: the same of a row of a tile of C.
        single_l0c: 1 where L0C holds one tile, 0 where it holds two.
        slots: L1 slots of the streamed operands.
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
    slots: Column | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A tile in a round, ready for `round_cycles`; cycles and bytes of one core.

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
        read_bytes: bytes it reads, whole lines.
    """

    mmad: Column
    chain: Column
    mte1: Column
    a_port: Column
    b_port: Column
    bias_port: Column | float
    l2_load: Column
    floor: Column
    stall: Column
    step_chain: Column
    last_chain: Column
    step_count: Column
    step_share: Column
    last_share: Column
    slack: Column
    contended: Column
    store: Column
    tail: Column
    output_bytes: Column
    read_bytes: Column
    slots: Column | float


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


def _port_cycles(
    chip: ChipRates,
    terms: ProblemTerms,
    operand: OperandTerms,
    outer: Column,
    steps: Column,
    length: Column,
) -> Column:
    """Time to load a tile's part of one operand at the core's port; every row has a least time."""
    by_bytes = outer * length * (terms.input_bytes / chip.mte2_port)
    if operand.is_padded:
        return by_bytes
    # A slab that is one contiguous run counts as one row.
    if operand.run_along_k:
        rows = outer * steps * (length / steps < terms.k)
    else:
        rows = length * (outer < operand.outer)
    by_rows = rows * chip.row_cycles
    return np.maximum(by_bytes, by_rows)


def fractal_up(length: Column) -> Column:
    """Length rounded up to whole fractals."""
    rounded: Column = np.ceil(length * (1 / FRACTAL)) * FRACTAL
    return rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class TileSize:
    """Size of a tile and company: m x n over `length` columns of K, on `active` cores at once.

    `a_loaded` is the share of the tile's part of A that is loaded, 0 where it is resident in L1;
    `bias_loaded` that of its part of the bias.
    """

    m: Column
    n: Column
    length: Column
    active: Column
    a_loaded: Column | float = 1.0
    bias_loaded: float = 1.0


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loads:
    """The tile's loads: bytes of all, and times at the port of A, B and bias."""

    read_bytes: Column
    a_port: Column
    b_port: Column
    bias_port: Column | float


def _build_loads(terms: ProblemTerms, chip: ChipRates, size: TileSize, steps: _Steps) -> _Loads:
    """The parts of A, B and bias that are loaded."""
    a_port, b_port = (
        _port_cycles(chip, terms, operand, outer, steps.step_count, size.length)
        for operand, outer in ((terms.a, size.m), (terms.b, size.n))
    )
    columns = size.m if terms.is_transposed else size.n
    bias = size.bias_loaded * columns * terms.bias_bytes if terms.bias_bytes else 0.0
    outer = size.a_loaded * size.m + size.n
    return _Loads(
        read_bytes=outer * size.length * terms.input_bytes + bias,
        a_port=size.a_loaded * a_port,
        b_port=b_port,
        bias_port=bias * (1 / chip.mte2_port),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Store:
    """The tile's store: alone, its tail, the least time of an item before another one."""

    alone: Column
    tail: Column
    floor: Column
    stall: Column


def _build_store(
    chip: ChipRates,
    plan: TilePlan,
    size: TileSize,
    steps: _Steps,
    way_out: Column,
    output_bytes: Column,
    read_bytes: Column,
    chain: Column,
) -> _Store:
    """How the store meets the cube and the loads."""
    first_cube = steps.cube_per_k * steps.first_l0
    last_cube = steps.cube_per_k * steps.last_l0
    slab_bytes = read_bytes * steps.step_share
    # What MTE2 can load of the next slab between the slot's release and the start of the store.
    head_start = np.maximum(steps.has_previous * first_cube - steps.mte1_per_k * steps.last_l0, 0)
    competing = np.minimum(np.maximum(slab_bytes - chip.mte2_port * head_start, 0), output_bytes)
    all_l2 = size.active * (1 / chip.l2_total)
    alone = np.maximum(way_out, output_bytes * all_l2)
    fixpipe = np.maximum(alone, (output_bytes + competing) * all_l2)
    hidden = np.minimum(first_cube + last_cube, chain) + chip.tile_cycles
    stall = plan.single_l0c * np.maximum(fixpipe - hidden, 0)
    exposed = np.maximum(fixpipe, chain + chip.tile_cycles + stall)
    l2_cycles = (read_bytes + output_bytes) * all_l2
    return _Store(
        alone=alone,
        tail=np.maximum(alone - last_cube, 0),
        floor=np.maximum(exposed, l2_cycles),
        stall=stall,
    )


def build_tile(
    terms: ProblemTerms, chip: ChipRates, plan: TilePlan, size: TileSize, way_out: WayOut
) -> Tile:
    """The tile of that size and way out, ready for `round_cycles`."""
    steps = _build_steps(terms, chip, plan, size)
    loads = _build_loads(terms, chip, size, steps)
    read_bytes = loads.read_bytes
    output_bytes = size.m * size.n * way_out.element_bytes
    length_up = np.ceil(size.length * (1 / terms.k_fractal)) * terms.k_fractal
    chain = steps.cube_per_k * length_up
    alone = way_out.cycles(chip, terms, plan.base_c_bit, size.m, size.n)
    store = _build_store(chip, plan, size, steps, alone, output_bytes, read_bytes, chain)
    all_l2 = size.active * (1 / chip.l2_total)
    return Tile(
        mmad=steps.mmad_per_k * length_up,
        chain=chain,
        mte1=steps.mte1_per_k * size.length,
        a_port=loads.a_port,
        b_port=loads.b_port,
        bias_port=loads.bias_port,
        l2_load=read_bytes * all_l2,
        floor=store.floor,
        stall=store.stall,
        step_chain=chain * steps.step_share,
        last_chain=chain * steps.last_share,
        step_count=steps.step_count,
        step_share=steps.step_share,
        last_share=steps.last_share,
        slack=steps.has_previous
        * L0_HALVES
        * (steps.cube_per_k - steps.mte1_per_k)
        * steps.first_l0,
        contended=(read_bytes * steps.step_share + output_bytes) * all_l2,
        store=store.alone,
        tail=store.tail,
        output_bytes=output_bytes,
        read_bytes=read_bytes,
        slots=plan.slots,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Times of one item in a round, cycles of a core.

    Attributes:
        cycles: from its first mmad to that of the core's next item.
        unloaded: the same as far as the cube and the store decide it.
        finish: from its first to its last mmad when no other item follows.
        slab: load of its first slab, with the bias.
        load: MTE2's busy time.
        a_load: its time for A.
        b_load: its time for B and bias.
        waiting: what the latencies of its loads add to them and the chain, spread over the slots.
        hbm: time of the round's first touches at the HBM rate.
    """

    cycles: Column
    unloaded: Column
    finish: Column
    slab: Column
    load: Column
    a_load: Column
    b_load: Column
    waiting: Column
    hbm: Column


def round_cycles(
    chip: ChipRates,
    tile: Tile,
    a_hbm_bytes: Column,
    b_hbm_bytes: Column,
    *,
    late_share: Column | float = 1.0,
) -> Round:
    """Times of a tile in a round that touches the given bytes of A and B, of all cores, first.

    `late_share` is the share of the cores that wait for first touches; the others come later.
    """
    a_hbm = a_hbm_bytes * (1 / chip.hbm_read_total)
    b_hbm = b_hbm_bytes * (1 / chip.hbm_read_total)
    a_load = np.maximum(tile.a_port, a_hbm)
    b_load = np.maximum(tile.b_port + tile.bias_port, b_hbm)
    load = np.maximum(a_load + b_load, tile.l2_load)
    spread = load - tile.bias_port
    later_slab = spread * tile.step_share
    slab = later_slab + tile.bias_port
    wait = later_slab - tile.slack
    last_wait = spread * tile.last_share - tile.slack
    next_wait = np.maximum(slab, tile.contended) - tile.slack
    inner = (tile.step_count - 2) * np.maximum(tile.step_chain, wait) + np.maximum(
        tile.step_chain, last_wait
    )
    late = (a_hbm + b_hbm > 0) * ((chip.hbm_latency - chip.l2_latency) / tile.slots)
    hidden = chip.l2_latency - tile.slack
    in_flight = (tile.step_count - 1) * hidden + load + tile.chain
    ahead = np.minimum(tile.stall, np.maximum(wait - tile.step_chain, 0))
    to_next = tile.last_chain + chip.tile_cycles + tile.stall - ahead
    by_steps = inner + np.maximum(to_next, next_wait)
    last_step = inner + tile.last_chain
    if isinstance(tile.slots, np.ndarray):
        # With more slots than two the loads run so far ahead that single steps do not matter.
        is_double = tile.slots <= L1_SLOTS
        by_steps, last_step = by_steps * is_double, np.maximum(last_step * is_double, tile.chain)
    # With as many steps as slots, or a multiple, the same slot always holds the short last step.
    turns = tile.step_count / tile.slots
    uneven = (
        (turns == np.floor(turns)) * (tile.step_share - tile.last_share) * (spread + tile.chain)
    )
    between = (in_flight + hidden + chip.tile_cycles + tile.stall + uneven) / tile.slots
    steps = _blend(by_steps, between, late * tile.step_count, late_share)
    alone = _blend(
        last_step, in_flight / tile.slots - slab, late * (tile.step_count - 1), late_share
    )
    # MTE2 never pauses: the last slab comes when all are loaded, and may find the cube behind.
    behind = np.maximum(tile.step_chain - spread * tile.last_share, 0) * (tile.step_count > 1)
    unloaded = np.maximum(steps, tile.floor)
    return Round(
        cycles=np.maximum(unloaded, load),
        unloaded=unloaded,
        finish=np.maximum(alone, load - slab + behind + tile.last_chain),
        slab=slab,
        load=load,
        a_load=a_load,
        b_load=b_load,
        waiting=tile.step_count * (hidden / tile.slots + late * late_share),
        hbm=a_hbm + b_hbm,
    )


def _blend(others: Column, in_flight: Column, late: Column, share: Column | float) -> Column:
    """Mean time of the cores that wait for first touches, a share of all, and of the others."""
    soon = np.maximum(others, in_flight)
    late_cycles = np.maximum(soon, in_flight + late)
    mean: Column = soon + share * (late_cycles - soon)
    return mean


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
