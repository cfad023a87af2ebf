"""Memory: the L2 cache's objects, and the two resources that all cores share.

Source: docs/emulator.md, section 3, "L2 eviction and write-back" and "Shared resources".
"""

from dataclasses import dataclass, field
from enum import StrEnum

from hwmodel.emulator.constants import GRAINS_PER_BYTE, SHARE_ONE
from hwmodel.emulator.reference.slabs import ObjectName
from hwmodel.integers import ceil_div


class State(StrEnum):
    """Of an L2 object; one that is not in the cache's table is absent."""

    IN_FLIGHT = "in_flight"
    RESIDENT = "resident"
    EVICTED_IN_FLIGHT = "evicted_in_flight"


@dataclass(slots=True, kw_only=True)
class CacheObject:
    """One object that is not absent."""

    state: State
    size_bytes: int
    is_dirty: bool = False


@dataclass(slots=True, kw_only=True)
class L2Cache:
    """Objects by name, and the list of those that take room, newest first."""

    capacity_bytes: int
    objects: dict[ObjectName, CacheObject] = field(default_factory=dict)
    newest_first: list[ObjectName] = field(default_factory=list)

    def state(self, name: ObjectName) -> State | None:
        """State of an object, None when it is absent."""
        found = self.objects.get(name)
        return None if found is None else found.state

    def touch(self, name: ObjectName) -> None:
        """Move a resident object to the front."""
        self.newest_first.remove(name)
        self.newest_first.insert(0, name)

    def begin_load(self, name: ObjectName, size_bytes: int) -> int:
        """An absent object is being loaded; returns the dirty bytes evicted for it."""
        self.objects[name] = CacheObject(state=State.IN_FLIGHT, size_bytes=size_bytes)
        self.newest_first.insert(0, name)
        return self._evict()

    def end_load(self, name: ObjectName) -> None:
        """The leader of an object in flight is complete."""
        if self.objects[name].state is State.IN_FLIGHT:
            self.objects[name].state = State.RESIDENT
        else:
            del self.objects[name]

    def write(self, name: ObjectName, size_bytes: int, new_bytes: int) -> int:
        """Write a part of C's object `name`; returns the dirty bytes evicted for it.

        Args:
            name: the object.
            size_bytes: its size if it was absent.
            new_bytes: what it grows by, else.
        """
        if name in self.objects:
            self.objects[name].size_bytes += new_bytes
            self.touch(name)
        else:
            self.objects[name] = CacheObject(
                state=State.RESIDENT, size_bytes=size_bytes, is_dirty=True
            )
            self.newest_first.insert(0, name)
        return self._evict()

    def _evict(self) -> int:
        dirty_bytes = 0
        while len(self.newest_first) > 1 and self._used_bytes() > self.capacity_bytes:
            name = self.newest_first.pop()
            oldest = self.objects[name]
            if oldest.is_dirty:
                dirty_bytes += oldest.size_bytes
            if oldest.state is State.IN_FLIGHT:
                oldest.state = State.EVICTED_IN_FLIGHT
            else:
                del self.objects[name]
        return dirty_bytes

    def _used_bytes(self) -> int:
        return sum(self.objects[name].size_bytes for name in self.newest_first)


@dataclass(slots=True, kw_only=True)
class SharedResource:
    """HBM or L2: a virtual clock, and the targets of the channels that hold a share.

    Attributes:
        grains: rate in grains a tick.
        clock: V, in grains.
        targets: clock at which a channel's share is served, by the channel's number.
    """

    grains: int
    clock: int = 0
    targets: dict[int, int] = field(default_factory=dict)

    def shares(self) -> int:
        """Shares that the rate is divided by, n."""
        return len(self.targets)

    def advance(self, elapsed_ticks: int) -> None:
        """Move the clock on."""
        if self.shares():
            self.clock += elapsed_ticks * self.grains // self.shares()

    def add(self, channel: int, size_bytes: int) -> None:
        """Give a channel a share until `size_bytes` have been served."""
        self.targets[channel] = self.clock + size_bytes * GRAINS_PER_BYTE

    def pop_served(self) -> list[int]:
        """Release the served shares; returns their channels in ascending order."""
        served = sorted(at for at, target in self.targets.items() if target <= self.clock)
        for channel in served:
            del self.targets[channel]
        return served

    def aims(self) -> list[int]:
        """Clock values at which something happens."""
        return list(self.targets.values())

    def foresee(self, now: int) -> int | None:
        """Time of the next aim if nothing changes before, None without one."""
        aims = self.aims()
        if not aims:
            return None
        return now + ceil_div((min(aims) - self.clock) * self.shares(), self.grains)


@dataclass(slots=True, kw_only=True)
class Hbm(SharedResource):
    """The HBM, with the write-back of evicted dirty bytes in the background.

    Attributes:
        write_cost_f: HBM time of a byte written over that of a byte read.
        write_back_shares: W, what the write-back counts for while it is active.
        slack_bytes: Q, evicted bytes that may wait without holding anybody up.
        write_back_until: clock at which the write-back ends.
        is_writing_back: the write-back is active.
        watches: clock value that a channel waits for, by the channel's number.
        written_bytes: dirty bytes written back so far.
        writes_alone: the write-back has the whole rate to itself, and so have the reads; its end
            and the watches are then times, not places on the clock.
        time: now, in ticks.
    """

    write_cost_f: int
    write_back_shares: int
    slack_bytes: int
    writes_alone: bool = False
    time: int = 0
    write_back_until: int = 0
    is_writing_back: bool = False
    watches: dict[int, int] = field(default_factory=dict)
    written_bytes: int = 0

    def shares(self) -> int:
        """Shares of the channels and of the write-back."""
        is_sharing = self.is_writing_back and not self.writes_alone
        return len(self.targets) + (self.write_back_shares if is_sharing else 0)

    def advance(self, elapsed_ticks: int) -> None:
        """Move clock and time on."""
        SharedResource.advance(self, elapsed_ticks)
        self.time += elapsed_ticks

    def aims(self) -> list[int]:
        """Targets, watches, and the end of the write-back."""
        if self.writes_alone:
            return list(self.targets.values())
        return [*self.targets.values(), *self._write_back_aims()]

    def foresee(self, now: int) -> int | None:
        """Time of the next aim if nothing changes before, None without one."""
        foreseen = SharedResource.foresee(self, now)
        times = [] if foreseen is None else [foreseen]
        if self.writes_alone:
            times += self._write_back_aims()
        return min(times, default=None)

    def _write_back_aims(self) -> list[int]:
        ends = [self.write_back_until] if self.is_writing_back else []
        return [*self.watches.values(), *ends]

    def _position(self) -> int:
        """What the end of the write-back is counted on."""
        return self.time if self.writes_alone else self.clock

    def write_back(self, channel: int, dirty_bytes: int) -> bool:
        """Take evicted bytes; returns whether the channel that evicted them has to wait."""
        if dirty_bytes == 0:
            return False
        self.written_bytes += dirty_bytes
        position = self._position()
        if not self.is_writing_back:
            self.write_back_until = position
        cost_bytes = dirty_bytes * self.write_cost_f // SHARE_ONE
        speed = self.grains if self.writes_alone else self.write_back_shares
        self.write_back_until += cost_bytes * GRAINS_PER_BYTE // speed
        self.is_writing_back = position < self.write_back_until
        slack = self.slack_bytes * GRAINS_PER_BYTE // speed
        watch = self.write_back_until - slack
        if watch <= position:
            return False
        self.watches[channel] = watch
        return True

    def pop_reached(self) -> list[int]:
        """Release the reached watches, and end the write-back if it is time."""
        reached = sorted(at for at, watch in self.watches.items() if watch <= self._position())
        for channel in reached:
            del self.watches[channel]
        if self.write_back_until <= self._position():
            self.is_writing_back = False
        return reached
