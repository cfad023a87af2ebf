"""One core: how far its loads, MTE1, CUBE and stores have come.

MTE1 and CUBE need no events: they go on as far as they can whenever a load or a store of the core
is complete (docs/emulator.md, section 3, "MTE1 and CUBE").
"""

from collections import deque
from dataclasses import dataclass, field

from hwmodel.emulator.constants import TICKS_PER_CYCLE, EmulatorConstants
from hwmodel.emulator.reference.slabs import Request
from hwmodel.emulator.reference.work import CoreWork, L0Step

HAND_OVER_TICKS = 4 * TICKS_PER_CYCLE
"""G: a 512-byte grain at 128 bytes a cycle (section 3)."""

L0_HALVES = 2
"""Halves of L0A and L0B (specification: kernels.md, "Base kernel")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedTile:
    """A tile whose last L0 step runs from `start` to `end`, in ticks."""

    item: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Start and end of a fixpipe, in ticks."""

    start: int
    end: int


UNUSED_HALF = Interval(start=-HAND_OVER_TICKS, end=-HAND_OVER_TICKS)
"""Stands for the fixpipe of an L0C half that was never used."""


@dataclass(slots=True, kw_only=True)
class Core:
    """State of one core; times in ticks, lists grow as the core goes on.

    Attributes:
        work: what it has to do.
        db_l0c: L0C halves.
        l1_buffer_num: L1 slots.
        tile_ticks: gap before a tile's first multiplication.
        free_ub_slots: UB slots that no tile is in.
        next_request: number of its next load.
        loads_done: by L1 step, loads of it that are complete.
        loaded_at: by L1 step, when all of them were.
        read_at: by L1 step, when MTE1 has finished with it.
        mte1_ends: by L0 step.
        cube_ends: by L0 step.
        fixpipes: by item, when its fixpipe ran.
        tiles: tiles that wait for the fixpipe.
        ub_tiles: items whose tile waits in UB.
    """

    work: CoreWork
    db_l0c: int
    l1_buffer_num: int
    tile_ticks: int
    free_ub_slots: int
    next_request: int = 0
    loads_done: dict[int, int] = field(default_factory=dict)
    loaded_at: dict[int, int] = field(default_factory=dict)
    read_at: list[int] = field(default_factory=list)
    mte1_ends: list[int] = field(default_factory=list)
    cube_ends: list[int] = field(default_factory=list)
    fixpipes: list[Interval] = field(default_factory=list)
    tiles: deque[QueuedTile] = field(default_factory=deque)
    ub_tiles: deque[int] = field(default_factory=deque)
    mte1_ticks: int = 0
    cube_ticks: int = 0

    def take_request(self) -> tuple[Request, int] | None:
        """The next load with its slot-free time; None if there is none or that is not known."""
        if self.next_request == len(self.work.requests):
            return None
        request = self.work.requests[self.next_request]
        slot_free = self._slot_free(request)
        if slot_free is None:
            return None
        self.next_request += 1
        return request, slot_free

    def finish_load(self, request: Request, now: int) -> None:
        """A load is complete."""
        step = request.step
        if step is None:
            return
        self.loads_done[step] = self.loads_done.get(step, 0) + 1
        if self.loads_done[step] == self.work.l1_steps[step].request_count:
            self.loaded_at[step] = now

    def advance(self) -> None:
        """MTE1 and CUBE go on as far as they can."""
        while self._run_mte1() or self._run_cube():
            pass

    def _slot_free(self, request: Request) -> int | None:
        if request.step is None:
            return 0
        awaited = [request.step - self.l1_buffer_num]
        also = self.work.l1_steps[request.step].waits_for
        if also is not None:
            awaited.append(also)
        if max(awaited) >= len(self.read_at):
            return None
        return max(self.read_at[step] if step >= 0 else 0 for step in awaited)

    def _run_mte1(self) -> bool:
        """Run MTE1's next L0 step; False if it has to wait."""
        number = len(self.mte1_ends)
        if number == len(self.work.l0_steps):
            return False
        step = self.work.l0_steps[number]
        start = self.mte1_ends[-1] if self.mte1_ends else 0
        if step.is_first_of_l1_step:
            if step.l1_step not in self.loaded_at:
                return False
            start = max(start, self.loaded_at[step.l1_step])
        if number >= L0_HALVES:
            if number - L0_HALVES >= len(self.cube_ends):
                return False
            start = max(start, self.cube_ends[number - L0_HALVES])
        end = start + step.mte1_ticks
        self.mte1_ends.append(end)
        self.mte1_ticks += step.mte1_ticks
        if step.is_last_of_l1_step:
            self.read_at.append(end)
        return True

    def _run_cube(self) -> bool:
        """Run CUBE's next L0 step; False if it has to wait."""
        number = len(self.cube_ends)
        if number == len(self.mte1_ends):
            return False
        step = self.work.l0_steps[number]
        start = max(self.cube_ends[-1] if self.cube_ends else 0, self.mte1_ends[number])
        end = start + step.cube_ticks
        if step.is_first_of_item:
            before = self._previous_fixpipe(step)
            if before is None:
                return False
            start = max(start + self.tile_ticks, before.start + HAND_OVER_TICKS)
            end = max(start + step.cube_ticks, before.end + HAND_OVER_TICKS)
        self.cube_ends.append(end)
        self.cube_ticks += step.cube_ticks
        if step.is_last_of_item:
            self.tiles.append(QueuedTile(item=step.item, start=start, end=end))
        return True

    def _previous_fixpipe(self, step: L0Step) -> Interval | None:
        """Fixpipe of the item that used the L0C half before; None if it is not complete."""
        previous = step.item - self.db_l0c
        if previous < 0:
            return UNUSED_HALF
        return self.fixpipes[previous] if previous < len(self.fixpipes) else None


def make_core(
    work: CoreWork, *, db_l0c: int, l1_buffer_num: int, ub_slots: int, constants: EmulatorConstants
) -> Core:
    """A core that has done nothing yet."""
    return Core(
        work=work,
        db_l0c=db_l0c,
        l1_buffer_num=l1_buffer_num,
        tile_ticks=constants.tile_ticks,
        free_ub_slots=ub_slots,
    )
