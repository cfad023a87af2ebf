"""The reference emulator: one event after the other, as docs/emulator.md, section 4, has them.

It is written for clarity and is slow; the engine computes the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from hwmodel.emulator.constants import TICKS_PER_CYCLE, EmulatorConstants, span
from hwmodel.emulator.reference.channels import Activity, Channel, Pipe
from hwmodel.emulator.reference.core import HAND_OVER_TICKS, Core, Interval, make_core
from hwmodel.emulator.reference.memory import Hbm, L2Cache, SharedResource, State
from hwmodel.emulator.reference.slabs import NO_PIECE, ObjectName, Operand, Request
from hwmodel.emulator.reference.work import (
    ACCUMULATOR_BYTES,
    Store,
    WayOut,
    WorkBuilder,
    is_through_ub,
)
from hwmodel.emulator.result import CoreActivity, EmulationResult
from hwmodel.errors import InputError
from hwmodel.integers import align_up, ceil_div
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.walk import Schedule, walk

WORKSPACE_PITCH = 32
"""Elements to which the fixpipe output aligns a workspace row (specification: swizzle.md,
section 2)."""


@dataclass(slots=True, kw_only=True)
class Counts:
    """What is counted over the whole chip (section 5, "What is counted")."""

    loads: int = 0
    stores: int = 0
    hits: int = 0
    follows: int = 0
    load_bytes: int = 0
    hbm_read_bytes: int = 0
    store_bytes: int = 0
    last_store_ticks: int = 0
    last_workspace_store_ticks: int = 0


@dataclass(slots=True, kw_only=True)
class Kernel:
    """The whole chip while one kernel runs.

    Attributes:
        constants: the chip's figures.
        launch_ticks: launch, with what a mixed kernel adds.
        cores: the cores.
        channels: MTE2 of all cores, FIX of all cores, MTE3 of all cores.
        now: time in ticks.
    """

    constants: EmulatorConstants
    launch_ticks: int
    cores: list[Core]
    channels: list[Channel]
    l2_cache: L2Cache
    l2: SharedResource
    hbm: Hbm
    counts: Counts = field(default_factory=Counts)
    now: int = 0

    def run(self) -> None:
        """Run to the completion of the last store."""
        for core in range(len(self.cores)):
            self._issue_load(core)
        while any(channel.activity is not Activity.IDLE for channel in self.channels):
            self._step()

    def _step(self) -> None:
        """One pass of section 4."""
        then = min(self._candidates())
        for resource in (self.hbm, self.l2):
            resource.advance(then - self.now)
        self.now = then
        for number in self.hbm.pop_served():
            self._release_share(number)
        for number in self.hbm.pop_reached():
            self.channels[number].awaits_watch = False
            self._try_finish(number)
        for number in self.l2.pop_served():
            self._release_share(number)
        for channel in self.channels:
            if channel.timer == self.now:
                self._handle(channel)

    def _candidates(self) -> Iterator[int]:
        """Times at which the next thing may happen."""
        for channel in self.channels:
            if channel.timer is not None:
                yield channel.timer
        for resource in (self.hbm, self.l2):
            foreseen = resource.foresee(self.now)
            if foreseen is not None:
                yield foreseen

    def _release_share(self, number: int) -> None:
        self.channels[number].shares -= 1
        self._try_finish(number)

    def _try_finish(self, number: int) -> None:
        """Set the timer of a channel in data if nothing but time is left to wait for."""
        channel = self.channels[number]
        if channel.activity is Activity.IN_DATA and channel.is_served():
            channel.timer = max(self.now, channel.earliest_end)

    def _handle(self, channel: Channel) -> None:
        """A timer is due."""
        channel.timer = None
        if channel.activity is Activity.ISSUED:
            channel.activity = Activity.IN_DATA
            channel.begin = self.now
            if channel.pipe is Pipe.MTE2:
                self._begin_load(channel)
            else:
                self._begin_store(channel)
            self._try_finish(channel.number)
            return
        channel.activity = Activity.IDLE
        channel.busy_ticks += self.now - channel.begin
        if channel.pipe is Pipe.MTE2:
            self._end_load(channel)
        elif channel.pipe is Pipe.FIX:
            self._end_fixpipe(channel)
        else:
            self._end_mte3(channel)
        core = channel.core
        self.cores[core].advance()
        self._start_fixpipe(core)
        self._start_mte3(core)
        self._issue_load(core)

    # Loads

    def _issue_load(self, core: int) -> None:
        """An idle MTE2 issues its core's next request if its slot-free time is known."""
        channel = self.channels[core]
        if channel.activity is not Activity.IDLE:
            return
        taken = self.cores[core].take_request()
        if taken is None:
            return
        request, slot_free = taken
        channel.issue(request)
        self._settle(channel, request)
        latency = self.constants.l2_latency_ticks
        if channel.leads:
            latency += self.constants.hbm_latency_ticks
            if self.hbm.is_writing_back and not self.hbm.writes_alone:
                latency += self.constants.busy_latency_ticks
        channel.timer = max(self.now, max(slot_free, self.launch_ticks) + latency)

    def _settle(self, channel: Channel, request: Request) -> None:
        """What a request finds in L2."""
        if request.bypasses:
            channel.leads = True
            return
        cache = self.l2_cache
        name = request.own if cache.state(request.block) is None else request.block
        channel.name = name
        state = cache.state(name)
        if state is State.RESIDENT:
            cache.touch(name)
            self.counts.hits += 1
        elif state is None:
            channel.leads = True
            evicted = cache.begin_load(name, request.slab_bytes)
            channel.awaits_watch = self.hbm.write_back(channel.number, evicted)
        else:
            channel.awaits_leader = True
            self.counts.follows += 1

    def _begin_load(self, channel: Channel) -> None:
        request = channel.get_request()
        channel.earliest_end = self.now + request.port_ticks
        self._take_l2_share(channel, request.request_bytes)
        if channel.leads:
            self.hbm.add(channel.number, request.hbm_bytes)
            channel.shares += 1

    def _end_load(self, channel: Channel) -> None:
        request = channel.get_request()
        counts = self.counts
        counts.loads += 1
        counts.load_bytes += request.request_bytes
        if channel.leads:
            counts.hbm_read_bytes += request.hbm_bytes
        if channel.leads and channel.name is not None:
            self.l2_cache.end_load(channel.name)
            for other in self.channels:
                if other.awaits_leader and other.name == channel.name:
                    other.awaits_leader = False
                    self._try_finish(other.number)
        self.cores[channel.core].finish_load(request, self.now)

    # Stores

    def _start_fixpipe(self, number: int) -> None:
        """An idle FIX takes the next tile, if UB has room for it."""
        core, channel = self.cores[number], self.channels[len(self.cores) + number]
        if channel.activity is not Activity.IDLE or not core.tiles:
            return
        if core.work.stores[core.tiles[0].item].way is WayOut.UB:
            if core.free_ub_slots == 0:
                return
            core.free_ub_slots -= 1
        tile = core.tiles.popleft()
        channel.issue(None, item=tile.item)
        channel.earliest_end = tile.end + HAND_OVER_TICKS
        channel.timer = max(self.now, tile.start + HAND_OVER_TICKS)

    def _start_mte3(self, number: int) -> None:
        """An idle MTE3 takes the next full slot of UB."""
        core, channel = self.cores[number], self.channels[2 * len(self.cores) + number]
        if channel.activity is Activity.IDLE and core.ub_tiles:
            channel.issue(None, item=core.ub_tiles.popleft())
            channel.earliest_end = 0
            channel.timer = self.now

    def _begin_store(self, channel: Channel) -> None:
        store = self._store_of(channel)
        is_fixpipe = channel.pipe is Pipe.FIX
        least_ticks = store.fixpipe_ticks if is_fixpipe else store.mte3_ticks
        channel.earliest_end = max(channel.earliest_end, self.now + least_ticks)
        if is_fixpipe and store.way is WayOut.UB:
            return
        if store.way is not WayOut.WORKSPACE:
            name: ObjectName = (Operand.C, *store.block, NO_PIECE)
            new_bytes = 0 if store.is_later_slice else store.store_bytes
            evicted = self.l2_cache.write(name, store.store_bytes, new_bytes)
            channel.awaits_watch = self.hbm.write_back(channel.number, evicted)
        self._take_l2_share(channel, store.store_bytes)

    def _end_fixpipe(self, channel: Channel) -> None:
        core = self.cores[channel.core]
        core.fixpipes.append(Interval(start=channel.begin, end=self.now))
        if self._store_of(channel).way is WayOut.UB:
            core.ub_tiles.append(channel.item)
        else:
            self._count_store(channel)

    def _end_mte3(self, channel: Channel) -> None:
        self.cores[channel.core].free_ub_slots += 1
        self._count_store(channel)

    def _count_store(self, channel: Channel) -> None:
        """A tile has reached memory."""
        store, counts = self._store_of(channel), self.counts
        counts.stores += 1
        counts.store_bytes += store.store_bytes
        channel.last_store_ticks = counts.last_store_ticks = self.now
        if store.way is WayOut.WORKSPACE:
            counts.last_workspace_store_ticks = self.now

    def _take_l2_share(self, channel: Channel, size_bytes: int) -> None:
        self.l2.add(channel.number, size_bytes)
        channel.shares += 1

    def _store_of(self, channel: Channel) -> Store:
        return self.cores[channel.core].work.stores[channel.item]


def emulate_reference(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants
) -> EmulationResult:
    """Emulate one kernel of a cube template, slowly.

    Raises:
        InputError: the template is none of the cube cores', or cannot compute the problem.
    """
    if plan.template not in CUBE_TEMPLATES:
        raise InputError(
            f"reference emulator: template {plan.template}: runs on vector cores; use a cube one"
        )
    schedule = walk(problem, plan)
    kernel = _make_kernel(problem, plan, constants, schedule)
    kernel.run()
    counts, size = kernel.counts, len(kernel.cores)
    mte2, fix, mte3 = (kernel.channels[at * size : (at + 1) * size] for at in range(len(Pipe)))
    makespan_ticks = counts.last_store_ticks
    if plan.template is Template.STREAM_K:
        begin = counts.last_workspace_store_ticks + constants.barrier_ticks
        reduction = _longest_reduction(problem, plan, constants, schedule)
        makespan_ticks = max(makespan_ticks, begin + reduction)
    return EmulationResult(
        makespan_ticks=makespan_ticks,
        events=counts.loads + counts.stores,
        loads=counts.loads,
        hits=counts.hits,
        follows=counts.follows,
        load_bytes=counts.load_bytes,
        hbm_read_bytes=counts.hbm_read_bytes,
        hbm_write_bytes=kernel.hbm.written_bytes,
        store_bytes=counts.store_bytes,
        cores=tuple(
            CoreActivity(
                mte2_ticks=mte2[p].busy_ticks,
                mte1_ticks=core.mte1_ticks,
                cube_ticks=core.cube_ticks,
                fixpipe_ticks=fix[p].busy_ticks,
                end_ticks=max(fix[p].last_store_ticks, mte3[p].last_store_ticks),
            )
            for p, core in enumerate(kernel.cores)
        ),
    )


def _make_kernel(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants, schedule: Schedule
) -> Kernel:
    """The chip at the launch."""
    count = plan.used_core_num
    builder = WorkBuilder(problem, plan, constants)
    extra = constants.mixed_kernel_extra_ticks if is_through_ub(plan) else 0
    pipes = [(pipe, core) for pipe in Pipe for core in range(count)]
    return Kernel(
        constants=constants,
        launch_ticks=constants.launch_ticks + extra,
        cores=[
            make_core(
                builder.build(schedule, core),
                db_l0c=plan.db_l0c,
                l1_buffer_num=plan.l1_buffer_num,
                ub_slots=plan.ub_db if plan.template is Template.B_FULL else 1,
                constants=constants,
            )
            for core in range(count)
        ],
        channels=[
            Channel(number=number, pipe=pipe, core=core)
            for number, (pipe, core) in enumerate(pipes)
        ],
        l2_cache=L2Cache(capacity_bytes=constants.l2_capacity_bytes),
        l2=SharedResource(grains=constants.l2_grains),
        hbm=Hbm(
            grains=constants.hbm_grains,
            write_cost_f=constants.hbm_write_cost_f,
            writes_alone=bool(constants.hbm_writes_alone),
            write_back_shares=constants.write_back_shares,
            slack_bytes=constants.write_back_slack_bytes,
        ),
    )


def _longest_reduction(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants, schedule: Schedule
) -> int:
    """Ticks of stream-K's longest reduction (section 5)."""
    slots = plan.k_pieces(problem)
    longest = 0
    for position in range(schedule.whole_slots, schedule.rows.count * schedule.cols.count):
        tile = schedule.tile(position)
        width = tile.blk_n
        if plan.l0c_output is L0cOutput.FIXPIPE:
            width = align_up(width, WORKSPACE_PITCH)
        band = align_up(ceil_div(tile.blk_m, 2 * slots), ceil_div(WORKSPACE_PITCH, width))
        elements = min(tile.blk_m, band) * width
        element_bytes = ACCUMULATOR_BYTES * slots + problem.out_dtype.size_bytes
        vector_cycles = slots * ceil_div(elements, constants.vector_lanes)
        longest = max(
            longest,
            span(elements * element_bytes, constants.aiv_reduce_q)
            + vector_cycles * TICKS_PER_CYCLE,
        )
    return longest
