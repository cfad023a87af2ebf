"""A request for bytes of a slab: what it finds in L2, what it takes, and when it goes off.

The loads of cube and vector cores alike (docs/emulator.md, sections 2 and 3).
"""

from hwmodel.emulator.geometry import Vector, line_bytes
from hwmodel.emulator.layout import (
    BUSY_LATENCY,
    BYPASS,
    BYPASS_A,
    FOLLOWER,
    FOLLOWERS,
    HBM_BYTES,
    HBM_LATENCY,
    HIT,
    IN_FLIGHT,
    ISSUED,
    KIND,
    L2_BYTES,
    L2_LATENCY,
    LAUNCH,
    LEADER,
    LINE_WASTE,
    LIST_BYTES,
    NEED,
    NO_SLOT,
    NOW,
    O_LEADER,
    O_STATE,
    RESIDENT_OBJECT,
    SLOT,
    STATE,
    TRACKS_SIZES,
    WAITS_FOR,
    WRITES_BACK,
)
from hwmodel.emulator.memory import (
    SHARE_SHIFT,
    Links,
    Matrix,
    Slots,
    evict,
    move_front,
    push_front,
    set_timer,
    take_slot,
)
from hwmodel.jit import inline


@inline
def settle(
    par: Vector,
    glob: Vector,
    core: Matrix,
    chan: Matrix,
    link: Links,
    slots: Slots,
    watch: Matrix,
    p: int,
    which: int,
    size: int,
) -> None:
    """What the request finds in L2 now."""
    slot = slots[which]
    if slot == NO_SLOT:
        slot = take_slot(glob, link, slots, which, IN_FLIGHT, size)
        chan[p, KIND] = LEADER
        chan[p, SLOT] = slot
        link[slot, O_LEADER] = p
        if par[TRACKS_SIZES]:
            glob[LIST_BYTES] += size
            push_front(glob, link, slot)
            evict(par, glob, chan, link, slots, watch, p)
    elif link[slot, O_STATE] == RESIDENT_OBJECT:
        chan[p, KIND] = HIT
        if par[TRACKS_SIZES]:
            move_front(glob, link, slot)
    else:
        chan[p, KIND] = FOLLOWER
        chan[p, WAITS_FOR] = slot
        chan[p, NEED] += 1
        chan[link[slot, O_LEADER], FOLLOWERS] += 1


@inline
def find_latency(par: Vector, glob: Vector, kind: int) -> int:
    """Time from the release of the slot to the first data of a request that is issued now."""
    latency = par[L2_LATENCY]
    if kind >= LEADER:
        latency += par[HBM_LATENCY]
        if glob[WRITES_BACK]:
            latency += par[BUSY_LATENCY]
    return int(latency)


@inline
def find_kind(
    par: Vector,
    glob: Vector,
    core: Matrix,
    chan: Matrix,
    link: Links,
    slots: Slots,
    watch: Matrix,
    p: int,
    operand: int,
    which: int,
    size: int,
) -> None:
    """Begin a request: where its bytes of the object `which` come from."""
    chan[p, NEED] = 0
    chan[p, WAITS_FOR] = NO_SLOT
    chan[p, FOLLOWERS] = 0
    if par[BYPASS_A + operand]:
        chan[p, KIND] = BYPASS
    else:
        settle(par, glob, core, chan, link, slots, watch, p, which, size)


@inline
def count_bytes(
    par: Vector, chan: Matrix, p: int, slab: tuple[int, int, int, int], bias: int
) -> None:
    """Bytes that the request takes from L2 and from the HBM, there with whole lines."""
    rows, run, pitch, start = slab
    size = rows * run
    chan[p, L2_BYTES] = size + bias
    chan[p, HBM_BYTES] = 0
    if chan[p, KIND] >= LEADER:
        waste = line_bytes(rows, run, pitch, start) - size
        chan[p, HBM_BYTES] = size + ((waste * par[LINE_WASTE]) >> SHARE_SHIFT) + bias


@inline
def issue(par: Vector, glob: Vector, chan: Matrix, timers: Vector, p: int, free: int) -> None:
    """The request is on its way; its slot has been free since `free`."""
    chan[p, STATE] = ISSUED
    begin = max(glob[NOW], max(free, par[LAUNCH]) + find_latency(par, glob, chan[p, KIND]))
    set_timer(par, glob, timers, p, begin)
