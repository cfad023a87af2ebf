"""Channels: the pipes that move data and wait for shared resources.

Source: docs/emulator.md, section 4.
"""

from dataclasses import dataclass
from enum import StrEnum

from hwmodel.emulator.reference.slabs import ObjectName, Request


class Pipe(StrEnum):
    """Pipes that have a channel, in the order in which due timers are handled."""

    MTE2 = "mte2"
    FIX = "fix"
    MTE3 = "mte3"


class Activity(StrEnum):
    """What a channel does."""

    IDLE = "idle"
    ISSUED = "issued"
    IN_DATA = "in_data"


@dataclass(slots=True, kw_only=True)
class Channel:
    """One pipe of one core, with the load or store it is at.

    Attributes:
        number: place in the order of channels.
        timer: time at which it is handled next, None if something else has to happen first.
        request: the load.
        item: the store's item.
        name: L2 object that the load reads, None when it bypasses L2.
        leads: the load goes to HBM.
        shares: shares that are not served yet.
        awaits_watch: the write-back has not come far enough.
        awaits_leader: another core's load of the object is not complete.
        begin: begin of the data phase.
        earliest_end: time before which it is not complete.
    """

    number: int
    pipe: Pipe
    core: int
    activity: Activity = Activity.IDLE
    timer: int | None = None
    request: Request | None = None
    item: int = 0
    name: ObjectName | None = None
    leads: bool = False
    shares: int = 0
    awaits_watch: bool = False
    awaits_leader: bool = False
    begin: int = 0
    earliest_end: int = 0
    busy_ticks: int = 0
    last_store_ticks: int = 0

    def issue(self, request: Request | None, *, item: int = 0) -> None:
        """Begin with a load or with the store of an item's tile."""
        self.activity = Activity.ISSUED
        self.request, self.item = request, item
        self.name, self.leads = None, False

    def get_request(self) -> Request:
        """The load that is under way."""
        assert self.request is not None, "MTE2 works on a load only"
        return self.request

    def is_served(self) -> bool:
        """Whether nothing but time is left to wait for."""
        return self.shares == 0 and not self.awaits_watch and not self.awaits_leader
