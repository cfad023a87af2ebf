"""The vector kernels in plain Python, written from docs/emulator.md, section 8."""

from collections import deque
from dataclasses import dataclass, field, replace

from hwmodel.dtypes import DType
from hwmodel.emulator.constants import TICKS_PER_CYCLE, EmulatorConstants, span
from hwmodel.emulator.reference.memory import Hbm, L2Cache, SharedResource, State
from hwmodel.emulator.reference.slabs import NO_PIECE, ObjectName, Operand, Request, SlabMaker
from hwmodel.emulator.result import CoreActivity, EmulationResult
from hwmodel.errors import InputError
from hwmodel.integers import align_up, ceil_div
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, Template
from hwmodel.problem import GemmProblem
from hwmodel.walk import walk

PASS_START_CYCLES = 20
PIECE_BYTES = 131072
UB_BLOCK_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """Rows and columns of C that are computed, and stored, at once."""

    rows: range
    cols: range
    number: int

    @property
    def outputs(self) -> int:
        """Elements of the tile."""
        return len(self.rows) * len(self.cols)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One request: what it is if it goes to HBM, and if it does not.

    `object_name` is None for the matrix, which is looked up nowhere.
    """

    object_name: ObjectName | None
    from_hbm: Request
    from_l2: Request


@dataclass(slots=True, kw_only=True)
class Transfer:
    """A load or store under way.

    Attributes:
        size_bytes: bytes through L2.
        hbm_bytes: bytes from HBM.
        least_ticks: shortest data phase.
        waits: what it waits for besides the time.
        leads: L2 object that it brings in.
        begin: begin of the data phase, None before.
    """

    size_bytes: int
    hbm_bytes: int = 0
    least_ticks: int
    waits: set[str] = field(default_factory=set)
    leads: ObjectName | None = None
    follows: ObjectName | None = None
    begin: int | None = None


@dataclass(slots=True, kw_only=True)
class Port:
    """A channel: MTE2 or MTE3 of a core."""

    number: int
    timer: int | None = None
    transfer: Transfer | None = None
    busy_ticks: int = 0


@dataclass(slots=True, kw_only=True)
class VectorCore:
    """What a core has still to do and what it has done."""

    loads: deque[Load]
    tiles: list[Tile]
    loaded_at: list[int] = field(default_factory=list)
    step_ends: list[int] = field(default_factory=list)
    free_at: int = 0
    finished: list[int] = field(default_factory=list)
    stored_at: list[int] = field(default_factory=list)
    stores_taken: int = 0
    vector_ticks: int = 0


class VectorKernel:
    """The chip's vector cores while one kernel runs."""

    def __init__(
        self, problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants
    ) -> None:
        """The state at the launch."""
        self.problem, self.constants = problem, constants
        # One L1 step of the slab maker is a step here.
        self.plan = replace(plan, step_k=1)
        self.is_clearing = plan.template is Template.K_EQUAL_ZERO
        self.hbm = Hbm(
            grains=constants.hbm_grains,
            write_cost_f=constants.hbm_write_cost_f,
            writes_alone=bool(constants.hbm_writes_alone),
            write_back_shares=constants.write_back_shares,
            slack_bytes=constants.write_back_slack_bytes,
        )
        self.l2 = SharedResource(grains=constants.l2_grains)
        self.cache = L2Cache(capacity_bytes=constants.l2_capacity_bytes)
        self.now = 0
        self.totals = dict.fromkeys(
            ("loads", "hits", "follows", "load_bytes", "hbm_read_bytes", "store_bytes"), 0
        )
        self.cores = [self._make_core(p) for p in range(plan.used_core_num)]
        self.ports = [Port(number=number) for number in range(2 * plan.used_core_num)]

    def _make_core(self, p: int) -> VectorCore:
        tiles = []
        for item in walk(self.problem, self.plan).items(p):
            length = item.blk_n
            if self.is_clearing:
                length = PIECE_BYTES // self.problem.out_dtype.size_bytes
            tiles += [
                Tile(
                    rows=range(item.m_off, item.m_off + item.blk_m),
                    cols=range(start, min(start + length, item.n_off + item.blk_n)),
                    number=number,
                )
                for number, start in enumerate(
                    range(item.n_off, item.n_off + item.blk_n, max(1, length))
                )
            ]
        if self.is_clearing:
            ready = [self.constants.launch_ticks] * len(tiles)
            return VectorCore(loads=deque(), tiles=tiles, finished=ready)
        return VectorCore(loads=deque(self._list_loads(tiles)), tiles=tiles)

    @property
    def step_columns(self) -> int:
        """Columns of K of a whole step."""
        return min(self.plan.base_k, self.problem.k)

    @property
    def steps(self) -> int:
        """Steps of a tile."""
        return ceil_div(self.problem.k, self.step_columns)

    def _list_loads(self, tiles: list[Tile]) -> list[Load]:
        problem, constants = self.problem, self.constants
        plain = replace(constants, straddle_ticks=0)
        far = SlabMaker(problem, self.plan, replace(plain, port_q=constants.aiv_hbm_q))
        near = SlabMaker(problem, self.plan, replace(plain, port_q=constants.aiv_l2_q))
        order = (Operand.A, Operand.B)
        matrix = None
        if self.plan.template is Template.VECTOR:
            matrix = Operand.A if problem.n == 1 else Operand.B
            order = (Operand.B, Operand.A) if problem.n == 1 else order
        loads = []
        for tile in tiles:
            for k0 in range(0, problem.k, self.step_columns):
                for operand in order:
                    side = tile.rows if operand is Operand.A else tile.cols
                    takes_bias = operand is order[1] and k0 == 0
                    bias_bytes = len(tile.cols) * problem.bias_bytes if takes_bias else 0
                    outer = (side.start, len(side))
                    inner = (k0, min(self.step_columns, problem.k - k0))
                    made, kept = (
                        maker.make(operand, outer=outer, inner=inner, bias_bytes=bias_bytes)
                        for maker in (far, near)
                    )
                    loads.append(
                        Load(
                            object_name=None if operand is matrix else made.block,
                            from_hbm=made,
                            from_l2=kept,
                        )
                    )
        return loads

    # Time

    def run(self) -> None:
        """From the launch to the last store."""
        for p in range(len(self.cores)):
            self._go_on(p)
        while True:
            times = [port.timer for port in self.ports if port.timer is not None]
            foreseen = (resource.foresee(self.now) for resource in (self.hbm, self.l2))
            times += [time for time in foreseen if time is not None]
            if not times:
                return
            self._pass(min(times))

    def _pass(self, then: int) -> None:
        self.hbm.advance(then - self.now)
        self.l2.advance(then - self.now)
        self.now = then
        for reason, numbers in (
            ("hbm", self.hbm.pop_served()),
            ("watch", self.hbm.pop_reached()),
            ("l2", self.l2.pop_served()),
        ):
            for number in numbers:
                self._stop_waiting(self.ports[number], reason)
        for port in self.ports:
            if port.timer == then:
                port.timer = None
                self._serve(port)

    def _stop_waiting(self, port: Port, reason: str) -> None:
        assert port.transfer is not None, "an idle channel waits for nothing"
        port.transfer.waits.discard(reason)
        self._set_end(port, port.transfer)

    def _set_end(self, port: Port, transfer: Transfer) -> None:
        if not transfer.waits and transfer.begin is not None:
            port.timer = max(self.now, transfer.begin + transfer.least_ticks)

    def _serve(self, port: Port) -> None:
        transfer = port.transfer
        assert transfer is not None, "an idle channel has no timer"
        p = port.number % len(self.cores)
        is_load = port.number == p
        if transfer.begin is None:
            transfer.begin = self.now
            if not is_load:
                self._write(port, transfer, p)
            transfer.waits.add("l2")
            self.l2.add(port.number, transfer.size_bytes)
            if transfer.hbm_bytes:
                transfer.waits.add("hbm")
                self.hbm.add(port.number, transfer.hbm_bytes)
            return
        port.busy_ticks += self.now - transfer.begin
        port.transfer = None
        if is_load:
            self._end_load(transfer, self.cores[p])
        else:
            self.totals["store_bytes"] += transfer.size_bytes
            self.cores[p].stored_at.append(self.now)
        self._compute(self.cores[p])
        self._go_on(p)

    # Stores

    def _write(self, port: Port, transfer: Transfer, p: int) -> None:
        tile = self.cores[p].tiles[self.cores[p].stores_taken - 1]
        name = (Operand.C, tile.rows.start, tile.cols.start, NO_PIECE)
        evicted = self.cache.write(name, transfer.size_bytes, transfer.size_bytes)
        if self.hbm.write_back(port.number, evicted):
            transfer.waits.add("watch")

    def _take_tile(self, port: Port, core: VectorCore) -> None:
        if port.transfer is not None or core.stores_taken == len(core.finished):
            return
        tile, ready = core.tiles[core.stores_taken], core.finished[core.stores_taken]
        core.stores_taken += 1
        size_bytes = tile.outputs * self.problem.out_dtype.size_bytes
        # Whole rows of C follow each other in memory.
        runs = 1 if len(tile.cols) == self.problem.n else len(tile.rows)
        in_ub = runs * align_up(size_bytes // runs, UB_BLOCK_BYTES)
        port.transfer = Transfer(
            size_bytes=size_bytes, least_ticks=span(in_ub, self.constants.aiv_store_q)
        )
        port.timer = max(self.now, ready)

    # Loads

    def _go_on(self, p: int) -> None:
        core, size = self.cores[p], len(self.cores)
        self._take_tile(self.ports[size + p], core)
        port = self.ports[p]
        step = len(core.loaded_at)
        if port.transfer is not None or not core.loads or len(core.step_ends) < step - 1:
            return
        slot_free = core.step_ends[step - 2] if step > 1 else 0
        load = core.loads.popleft()
        transfer = self._look_up(port, load)
        port.transfer = transfer
        latency = self.constants.l2_latency_ticks
        if transfer.hbm_bytes:
            latency += self.constants.hbm_latency_ticks
            if self.hbm.is_writing_back and not self.hbm.writes_alone:
                latency += self.constants.busy_latency_ticks
        begin = max(slot_free, self.constants.launch_ticks) + latency
        port.timer = max(self.now, begin)

    def _look_up(self, port: Port, load: Load) -> Transfer:
        name, near, far = load.object_name, load.from_l2, load.from_hbm
        found = None if name is None else self.cache.state(name)
        if name is None or found is None:
            transfer = Transfer(
                size_bytes=far.request_bytes,
                hbm_bytes=far.hbm_bytes,
                least_ticks=far.port_ticks,
                leads=name,
            )
            if name is not None:
                evicted = self.cache.begin_load(name, far.slab_bytes)
                if self.hbm.write_back(port.number, evicted):
                    transfer.waits.add("watch")
            return transfer
        transfer = Transfer(size_bytes=near.request_bytes, least_ticks=near.port_ticks)
        if found is State.RESIDENT:
            self.cache.touch(name)
            self.totals["hits"] += 1
        else:
            transfer.follows = name
            transfer.waits.add("leader")
            self.totals["follows"] += 1
        return transfer

    def _end_load(self, transfer: Transfer, core: VectorCore) -> None:
        self.totals["loads"] += 1
        self.totals["load_bytes"] += transfer.size_bytes
        self.totals["hbm_read_bytes"] += transfer.hbm_bytes
        if transfer.leads is not None:
            self.cache.end_load(transfer.leads)
            for port in self.ports:
                if port.transfer is not None and port.transfer.follows == transfer.leads:
                    port.transfer.follows = None
                    self._stop_waiting(port, "leader")
        # Two loads a step; the next one is not taken yet.
        if len(core.loads) % 2 == 0:
            core.loaded_at.append(self.now)

    # V

    def _compute(self, core: VectorCore) -> None:
        """V goes on as far as it can."""
        while not self.is_clearing:
            done = len(core.step_ends)
            if done == self.steps * (len(core.finished) + 1):
                if len(core.stored_at) < len(core.finished):
                    return
                before = max([core.free_at, *core.stored_at[-1:]])
                ticks = self._finish_ticks(core.tiles[len(core.finished)])
                core.free_at = before + ticks
                core.finished.append(core.free_at)
                core.vector_ticks += ticks
            elif done < len(core.loaded_at):
                ticks = self._step_ticks(core.tiles[len(core.finished)])
                core.free_at = max(core.free_at, core.loaded_at[done]) + ticks
                core.step_ends.append(core.free_at)
                core.vector_ticks += ticks
            else:
                return

    def _work_cycles(self, tile: Tile) -> int:
        plan, lanes = self.plan, self.constants.vector_lanes
        if plan.template is Template.TO_MULTI_MUL:
            return tile.outputs * ceil_div(plan.base_k, lanes)
        base_mn = plan.base_n if self.problem.m == 1 else plan.base_m
        outputs = min(base_mn, self.problem.m * self.problem.n)
        return ceil_div(outputs * self.step_columns, lanes)

    def _step_ticks(self, tile: Tile) -> int:
        passes = 2 if self.problem.dtype is DType.FP32 else 4
        return passes * (self._work_cycles(tile) + PASS_START_CYCLES) * TICKS_PER_CYCLE

    def _finish_ticks(self, tile: Tile) -> int:
        sums = 2 if self.plan.template is Template.TO_MULTI_MUL else 1
        cycles = sums * (self._work_cycles(tile) + PASS_START_CYCLES)
        short = ceil_div(tile.outputs, self.constants.vector_lanes) + PASS_START_CYCLES
        if self.problem.bias_dtype is not None:
            cycles += short
        if self.problem.out_dtype is not DType.FP32:
            cycles += short
        return cycles * TICKS_PER_CYCLE


def emulate_vector_reference(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants
) -> EmulationResult:
    """Emulate one kernel of the vector cores, slowly.

    Raises:
        InputError: the template is a cube one, or cannot compute the problem.
    """
    if plan.template in CUBE_TEMPLATES:
        raise InputError(
            f"reference emulator: template {plan.template}: runs on cube cores; use a vector one"
        )
    kernel = VectorKernel(problem, plan, constants)
    kernel.run()
    size = len(kernel.cores)
    stores = sum(len(core.stored_at) for core in kernel.cores)
    ends = [max(core.stored_at, default=0) for core in kernel.cores]
    return EmulationResult(
        makespan_ticks=max(ends),
        events=kernel.totals["loads"] + stores,
        hbm_write_bytes=kernel.hbm.written_bytes,
        cores=tuple(
            CoreActivity(
                mte2_ticks=kernel.ports[p].busy_ticks,
                mte1_ticks=0,
                cube_ticks=0,
                fixpipe_ticks=kernel.ports[size + p].busy_ticks,
                end_ticks=ends[p],
                vector_ticks=core.vector_ticks,
            )
            for p, core in enumerate(kernel.cores)
        ),
        **kernel.totals,
    )
