"""Lower bounds of the pipeline model for one work item, over all base_k and step_k of a box.

What `tile.py` computes from the tile, its length of K and the chip alone is taken over as it is:
the chain of L0 steps, the bytes, the way out. What also depends on how K is cut is replaced by its
least value over the box:

- MTE2's port time grows with the number of rows, so with the number of L1 steps: the fewest.
- The store is hidden behind the first and the last L0 step: the longest ones hide most.
- The part of the next slab that competes with the store is least for the shortest slab.
- The waits of single steps, of slots and of latencies are left out: they only add.

Every formula of `tile.py` that is used here grows with each of these values, so putting the least
ones in gives a bound. `tests/hwmodel/cost/test_lower_bound.py` holds it against the model.
"""

from typing import NamedTuple

from hwmodel.cost.store import WayOut, store_cycles
from hwmodel.cost.terms import ChipRates, ProblemTerms
from hwmodel.cost.tile import TilePlan, TileSize, build_steps, port_cycles
from hwmodel.cost.tile_round import hbm_cycles, overlap_cycles
from hwmodel.cost.whole import ceil
from hwmodel.jit import inline

MONOTONE_LOSS = 1 / 3
"""Up to this overlap_loss_ratio c the time of two streams grows with both: its derivative by the
longer one is 1 - 3*c*(shorter/longer)^4."""


class BoxLimits(NamedTuple):
    """Least and greatest values over a box: K columns of an L1 slab, share of slabs kept in L1."""

    k_l1_least: float
    k_l1_most: float
    kept_least: float
    kept_most: float


class TileBound(NamedTuple):
    """Least values over the box; names are those of `tile.Tile`.

    Attributes:
        share_least, share_most: range of the share of the tile's K in a full L1 step.
    """

    chain: float
    a_port: float
    b_port: float
    bias_port: float
    l2_load: float
    floor: float
    tail: float
    output_bytes: float
    share_least: float
    share_most: float


@inline
def bound_tile(
    terms: ProblemTerms,
    chip: ChipRates,
    plan: TilePlan,
    limits: BoxLimits,
    size: TileSize,
    way_out: WayOut,
) -> TileBound:
    """The least of `tile.build_tile`; the plan has the box's largest base_k and longest slab."""
    steps = build_steps(terms, chip, plan, size)
    columns = size.m if terms.is_transposed else size.n
    bias = size.bias_loaded * columns * terms.bias_bytes
    read_bytes = (size.a_loaded * size.m + size.n) * size.length * terms.input_bytes + bias
    output_bytes = size.m * size.n * way_out.element_bytes
    chain = steps.cube_per_k * (ceil(size.length / terms.k_fractal) * terms.k_fractal)
    all_l2 = size.active * chip.l2_per_byte
    share_least = min(limits.k_l1_least, size.length) / size.length
    longest_l0 = steps.cube_per_k * steps.first_l0
    slab_bytes = read_bytes * share_least
    competing = min(max(slab_bytes - chip.port_bytes_per_cycle * longest_l0, 0.0), output_bytes)
    alone = max(store_cycles(terms, chip, way_out, size.m, size.n), output_bytes * all_l2)
    fixpipe = max(alone, (output_bytes + competing) * all_l2)
    hidden = min(2.0 * longest_l0, chain) + chip.tile_cycles
    stall = max(fixpipe - hidden, 0.0) if plan.single_l0c else 0.0
    exposed = max(fixpipe, chain + chip.tile_cycles + stall)
    return TileBound(
        chain=chain,
        a_port=size.a_loaded
        * port_cycles(terms, chip, terms.a, size.m, plan.a_straddles, steps, size.length),
        b_port=port_cycles(terms, chip, terms.b, size.n, plan.b_straddles, steps, size.length),
        bias_port=bias * chip.port_per_byte,
        l2_load=read_bytes * all_l2,
        floor=max(exposed, (read_bytes + output_bytes) * all_l2),
        tail=max(alone - longest_l0, 0.0),
        output_bytes=output_bytes,
        share_least=share_least,
        share_most=steps.step_share,
    )


class LoadBound(NamedTuple):
    """Least time of MTE2 for an item, its parts, and the HBM's for the round's first touches."""

    load: float
    a_load: float
    b_load: float
    hbm: float


@inline
def bound_load(
    chip: ChipRates, tile: TileBound, a_hbm_bytes: float, b_hbm_bytes: float
) -> LoadBound:
    """The least of `tile_round.round_cycles`' load."""
    a_hbm = a_hbm_bytes * chip.hbm_read_per_byte
    b_hbm = b_hbm_bytes * chip.hbm_read_per_byte
    a_load = max(tile.a_port, a_hbm)
    b_load = max(tile.b_port + tile.bias_port, b_hbm)
    return LoadBound(max(a_load + b_load, tile.l2_load), a_load, b_load, a_hbm + b_hbm)


@inline
def bound_slab(tile: TileBound, load: float, share: float) -> float:
    """Load of the first slab of an item whose loads take that long."""
    return (load - tile.bias_port) * share + tile.bias_port


@inline
def bound_rest(tile: TileBound, load: float, share: float) -> float:
    """Loads of an item after its first slab."""
    return (load - tile.bias_port) * (1.0 - share)


@inline
def bound_overlap(chip: ChipRates, first: float, second: float) -> float:
    """Least time of two streams of work that take at least that long each."""
    if chip.overlap_loss_ratio > MONOTONE_LOSS:
        return max(first, second)
    return overlap_cycles(chip, first, second)


@inline
def bound_flooded(chip: ChipRates, cycles: float, memory: float, kept_ratio: float) -> float:
    """The least of `walk_rounds.flooded`."""
    full = bound_overlap(chip, cycles, memory)
    return full + kept_ratio * (cycles - full)


@inline
def bound_memory(chip: ChipRates, reads: float, writes: float) -> float:
    """Time of the HBM; it grows with both."""
    return hbm_cycles(chip, reads, writes)
