"""One work item in a round: its loads at the round's share of the HBM, and its time.

Notation and what decides the time of an item: `tile`.
"""

from typing import NamedTuple

from hwmodel.cost.terms import ChipRates
from hwmodel.cost.tile import L1_SLOTS, Tile
from hwmodel.cost.whole import floor
from hwmodel.jit import inline


class Round(NamedTuple):
    """Times of one item in a round, cycles of a core.

    Attributes:
        inner: its L1 steps but for the last one, as the loads of single steps decide.
        to_next: from the last step to the next item as cube and store decide.
        by_slots: the item's time as far as the slots decide: each is loaded, then read.
        after_store: the same when a store holds the cube up.
        late, late_share: what waiting for first touches adds, and the share of cores that wait.
        finish: from its first to its last mmad when no other item follows.
        slab: load of its first slab, with the bias.
        load: MTE2's busy time.
        a_load: its time for A.
        b_load: its time for B and bias.
        waiting: what the latencies of its loads add to them and the chain, spread over the slots.
        hbm: time of the round's first touches at the HBM rate.
    """

    inner: float
    to_next: float
    by_slots: float
    after_store: float
    late: float
    late_share: float
    finish: float
    slab: float
    load: float
    a_load: float
    b_load: float
    waiting: float
    hbm: float


@inline
def blend(others: float, in_flight: float, late: float, share: float) -> float:
    """Mean time of the cores that wait for first touches, a share of all, and of the others."""
    soon = max(others, in_flight)
    return soon + share * (max(soon, in_flight + late) - soon)


@inline
def round_cycles(
    chip: ChipRates, tile: Tile, a_hbm_bytes: float, b_hbm_bytes: float, late_share: float
) -> Round:
    """Times of a tile in a round that touches the given bytes of A and B, of all cores, first.

    `late_share` is the share of the cores that wait for first touches; the others come later.
    """
    a_hbm = a_hbm_bytes * chip.hbm_read_per_byte
    b_hbm = b_hbm_bytes * chip.hbm_read_per_byte
    a_load = max(tile.a_port, a_hbm)
    b_load = max(tile.b_port + tile.bias_port, b_hbm)
    load = max(a_load + b_load, tile.l2_load)
    spread = load - tile.bias_port
    later_slab = spread * tile.step_share
    slab = later_slab + tile.bias_port
    wait = later_slab - tile.slack
    last_wait = spread * tile.last_share - tile.slack
    inner = (tile.step_count - 2.0) * max(tile.step_chain, wait) + max(tile.step_chain, last_wait)
    per_slot = 1.0 / tile.slots
    late = (chip.hbm_latency - chip.l2_latency) * per_slot if a_hbm + b_hbm > 0.0 else 0.0
    hidden = chip.l2_latency - tile.slack
    in_flight = (tile.step_count - 1.0) * hidden + load + tile.chain
    ahead = min(tile.stall, max(wait - tile.step_chain, 0.0))
    last_step = inner + tile.last_chain
    if tile.slots > L1_SLOTS:
        # With more slots than two the loads run so far ahead that single steps do not matter.
        last_step = tile.chain
    # With as many steps as slots, or a multiple, the same slot always holds the short last step.
    turns = tile.step_count * per_slot
    uneven = 0.0
    if turns == floor(turns):
        uneven = (tile.step_share - tile.last_share) * (spread + tile.chain)
    by_slots = (in_flight + hidden + uneven) * per_slot
    # While the store holds the cube up, the loads fill the slots; the others follow one by one.
    others = max(tile.step_count - tile.slots, 0.0)
    refill = max((hidden + later_slab + tile.step_chain) * per_slot - tile.step_chain, 0.0)
    after_store = chip.tile_cycles + tile.stall + tile.chain + others * refill
    alone = blend(
        last_step, in_flight * per_slot - slab, late * (tile.step_count - 1.0), late_share
    )
    # MTE2 never pauses: the last slab comes when all are loaded, and may find the cube behind.
    behind = max(tile.step_chain - spread * tile.last_share, 0.0) if tile.step_count > 1.0 else 0.0
    return Round(
        inner=inner,
        to_next=tile.last_chain + chip.tile_cycles + tile.stall - ahead,
        by_slots=by_slots,
        after_store=after_store,
        late=late * tile.step_count,
        late_share=late_share,
        finish=max(alone, load - slab + behind + tile.last_chain),
        slab=slab,
        load=load,
        a_load=a_load,
        b_load=b_load,
        waiting=tile.step_count * (hidden * per_slot + late * late_share),
        hbm=a_hbm + b_hbm,
    )


@inline
def item_cycles(tile: Tile, one: Round, next_slab: float) -> float:
    """Time from an item's first mmad to the next item's, whose first slab takes that long."""
    shorter = max(one.slab - next_slab, 0.0)
    by_steps = 0.0
    if tile.slots <= L1_SLOTS:
        next_wait = max(next_slab, tile.contended) - tile.slack
        by_steps = one.inner + max(one.to_next, next_wait)
    by_slots = one.by_slots - shorter / tile.slots
    steps = blend(max(by_steps, one.after_store), by_slots, one.late, one.late_share)
    return max(max(steps, tile.floor), one.load - shorter)


@inline
def hbm_cycles(chip: ChipRates, reads: float, writes: float) -> float:
    """Time of the HBM for what is read and written back meanwhile: they share its rate.

    A study asks what it would be if each had the rate to itself (`hbm_writes_alone`).
    """
    return max(reads, writes) + chip.hbm_shared * min(reads, writes)


@inline
def overlap_cycles(chip: ChipRates, first: float, second: float) -> float:
    """Time of two streams of work that run at once: the longer one, and more if they are close.

    Bursts of one stream meet those of the other; the fuller both are, the more of the bursts
    cannot be moved out of the way. The loss falls with the fourth power of the shorter one.
    """
    longer, shorter = max(first, second), min(first, second)
    fullness = shorter / longer
    fullness *= fullness
    fullness *= fullness
    return longer * (1.0 + chip.overlap_loss_ratio * fullness)
