"""Timers, shares of HBM and L2, and the L2 list (docs/emulator.md, sections 3 and 4)."""

import numpy as np
from numpy.typing import NDArray

from hwmodel.emulator.constants import GRAINS_PER_BYTE
from hwmodel.emulator.geometry import Vector
from hwmodel.emulator.layout import (
    CAPACITY,
    CHANNEL,
    CHANNEL_BITS,
    CLOCK,
    CORES,
    EARLIEST,
    EVICTED_IN_FLIGHT,
    FREE_SLOT,
    HBM,
    HBM_WRITE_BYTES,
    IN_DATA,
    IN_FLIGHT,
    LIST_BYTES,
    LIST_HEAD,
    LIST_TAIL,
    MIN_MTE2,
    MIN_OUT,
    NEED,
    NO_OBJECT,
    NO_SLOT,
    NOW,
    O_DIRTY,
    O_NEXT,
    O_NUMBER,
    O_PREV,
    O_SIZE,
    O_STATE,
    PASS,
    RESIDENT_OBJECT,
    SHARE_HEAD,
    SHARE_ROOM,
    SHARE_TAIL,
    STATE,
    TARGET,
    TIME_SHIFT,
    TRACKS_SIZES,
    UNTIL,
    USED_SLOTS,
    WATCH_HEAD,
    WATCH_TAIL,
    WHO,
    WRITE_COST,
    WRITE_SLACK,
    WRITE_SPEED,
    WRITES_ALONE,
    WRITES_BACK,
)
from hwmodel.jit import inline, jit

Matrix = NDArray[np.int64]
Cube = NDArray[np.int64]
Links = NDArray[np.int32]
Slots = NDArray[np.int32]

SHARE_SHIFT = 12
"""Fixed-point position of a share, as a power of two."""


@inline
def set_timer(par: Vector, glob: Vector, timers: Vector, channel: int, time: int) -> None:
    """Wake the channel at `time`, in another pass when its turn at this time is over."""
    turn = 0
    if time == glob[NOW]:
        turn = glob[PASS] + (1 if channel <= glob[CHANNEL] else 0)
    timer = (time << TIME_SHIFT) | (turn << CHANNEL_BITS) | channel
    timers[channel] = timer
    least = MIN_MTE2 if channel < par[CORES] else MIN_OUT
    if timer < glob[least]:
        glob[least] = timer


@inline
def meet(par: Vector, glob: Vector, chan: Matrix, timers: Vector, channel: int) -> None:
    """One condition of the channel's load or store has fallen."""
    chan[channel, NEED] -= 1
    if chan[channel, NEED] == 0 and chan[channel, STATE] == IN_DATA:
        time = max(glob[NOW], chan[channel, EARLIEST])
        set_timer(par, glob, timers, channel, time)


@inline
def take_share(glob: Vector, share: Cube, resource: int, channel: int, size: int) -> None:
    """A share of HBM or L2 until `size` bytes are served."""
    head, tail = glob[SHARE_HEAD + resource], glob[SHARE_TAIL + resource]
    if tail == SHARE_ROOM:
        for index in range(tail - head):
            share[resource, TARGET, index] = share[resource, TARGET, head + index]
            share[resource, WHO, index] = share[resource, WHO, head + index]
        tail -= head
        head = 0
        glob[SHARE_HEAD + resource] = 0
    target = glob[CLOCK + resource] + size * GRAINS_PER_BYTE
    at = tail
    while at > head and share[resource, TARGET, at - 1] > target:
        share[resource, TARGET, at] = share[resource, TARGET, at - 1]
        share[resource, WHO, at] = share[resource, WHO, at - 1]
        at -= 1
    share[resource, TARGET, at] = target
    share[resource, WHO, at] = channel
    glob[SHARE_TAIL + resource] = tail + 1


@inline
def release_shares(
    par: Vector, glob: Vector, chan: Matrix, timers: Vector, share: Cube, resource: int
) -> None:
    """Shares whose target the clock has reached."""
    head = glob[SHARE_HEAD + resource]
    tail, clock = glob[SHARE_TAIL + resource], glob[CLOCK + resource]
    while head < tail and share[resource, TARGET, head] <= clock:
        meet(par, glob, chan, timers, share[resource, WHO, head])
        head += 1
    glob[SHARE_HEAD + resource] = head


@inline
def write_back_clock(par: Vector, glob: Vector) -> int:
    """What the write-back's end counts on: HBM's clock, or the time where it has HBM to itself."""
    if par[WRITES_ALONE]:
        return int(glob[NOW])
    return int(glob[CLOCK + HBM])


@jit
def release_watches(
    par: Vector, glob: Vector, chan: Matrix, timers: Vector, watch: Matrix
) -> None:
    """Watches that the write-back has reached, then its end."""
    clock = write_back_clock(par, glob)
    room = watch.shape[1]
    while glob[WATCH_HEAD] < glob[WATCH_TAIL]:
        at = glob[WATCH_HEAD] % room
        if watch[TARGET, at] > clock:
            break
        meet(par, glob, chan, timers, watch[WHO, at])
        glob[WATCH_HEAD] += 1
    if glob[WRITES_BACK] and glob[UNTIL] <= clock:
        glob[WRITES_BACK] = 0


@inline
def take_slot(glob: Vector, link: Links, slots: Slots, which: int, state: int, size: int) -> int:
    """A row for an object that was absent."""
    slot = int(glob[FREE_SLOT])
    if slot != NO_SLOT:
        glob[FREE_SLOT] = link[slot, O_NEXT]
    else:
        glob[USED_SLOTS] += 1
        slot = int(glob[USED_SLOTS])
    slots[which] = slot
    link[slot, O_NUMBER] = which
    link[slot, O_STATE] = state
    link[slot, O_SIZE] = size
    link[slot, O_DIRTY] = 0
    return slot


@inline
def free_slot(glob: Vector, link: Links, slots: Slots, slot: int) -> None:
    """The object becomes absent."""
    slots[link[slot, O_NUMBER]] = NO_SLOT
    link[slot, O_NEXT] = glob[FREE_SLOT]
    glob[FREE_SLOT] = slot


@inline
def push_front(glob: Vector, link: Links, which: int) -> None:
    """Put an unlisted object in front."""
    head = glob[LIST_HEAD]
    link[which, O_PREV] = NO_OBJECT
    link[which, O_NEXT] = head
    if head == NO_OBJECT:
        glob[LIST_TAIL] = which
    else:
        link[head, O_PREV] = which
    glob[LIST_HEAD] = which


@inline
def move_front(glob: Vector, link: Links, which: int) -> None:
    """Put a listed object in front."""
    if glob[LIST_HEAD] == which:
        return
    before, after = link[which, O_PREV], link[which, O_NEXT]
    link[before, O_NEXT] = after
    if after == NO_OBJECT:
        glob[LIST_TAIL] = before
    else:
        link[after, O_PREV] = before
    push_front(glob, link, which)


@jit
def evict(
    par: Vector,
    glob: Vector,
    chan: Matrix,
    link: Links,
    slots: Slots,
    watch: Matrix,
    channel: int,
) -> None:
    """Drop the objects that do not fit; the channel waits when too much is to be written back."""
    dirty_bytes = 0
    while glob[LIST_BYTES] > par[CAPACITY] and glob[LIST_TAIL] != glob[LIST_HEAD]:
        last = glob[LIST_TAIL]
        before = link[last, O_PREV]
        glob[LIST_TAIL] = before
        link[before, O_NEXT] = NO_OBJECT
        glob[LIST_BYTES] -= link[last, O_SIZE]
        if link[last, O_DIRTY]:
            dirty_bytes += int(link[last, O_SIZE])
        if link[last, O_STATE] == IN_FLIGHT:
            link[last, O_STATE] = EVICTED_IN_FLIGHT
        else:
            free_slot(glob, link, slots, last)
    if dirty_bytes == 0:
        return
    glob[HBM_WRITE_BYTES] += dirty_bytes
    clock = write_back_clock(par, glob)
    if not glob[WRITES_BACK]:
        glob[WRITES_BACK] = 1
        glob[UNTIL] = clock
    cost = (dirty_bytes * par[WRITE_COST]) >> SHARE_SHIFT
    glob[UNTIL] += cost * GRAINS_PER_BYTE // par[WRITE_SPEED]
    target = glob[UNTIL] - par[WRITE_SLACK]
    if target > clock:
        at = glob[WATCH_TAIL] % watch.shape[1]
        watch[TARGET, at] = target
        watch[WHO, at] = channel
        glob[WATCH_TAIL] += 1
        chan[channel, NEED] += 1


@jit
def write_object(
    par: Vector,
    glob: Vector,
    chan: Matrix,
    link: Links,
    slots: Slots,
    watch: Matrix,
    channel: int,
    which: int,
    size: int,
    is_in_place: bool,
) -> None:
    """A store of `size` bytes enters its C object in L2, or is added to what is there."""
    if not par[TRACKS_SIZES] or which == NO_OBJECT:
        return
    slot = slots[which]
    if slot == NO_SLOT:
        slot = take_slot(glob, link, slots, which, RESIDENT_OBJECT, size)
        push_front(glob, link, slot)
    else:
        move_front(glob, link, slot)
        if is_in_place:
            size = 0
        link[slot, O_SIZE] += size
    link[slot, O_DIRTY] = 1
    glob[LIST_BYTES] += size
    evict(par, glob, chan, link, slots, watch, channel)
