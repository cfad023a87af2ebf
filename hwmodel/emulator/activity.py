"""What the pipes of a core did with their time: work, waiting and for what, nothing left to do.

The log (docs/emulator.md) holds when a pipe worked. The time between two pieces of a pipe's work
is a stall; its reason is the condition of section 3 of that page that was met last. All time until
the launch is over is the launch, and after a pipe's last piece of work it is idle. So busy, stalls
and idle time of a pipe add up to the makespan.

| pipe | reason | it waits |
|---|---|---|
| all | `launch` | for the kernel to start |
| MTE2 | `l1_slot` | for MTE1 to free the L1 slot that the next step is loaded into |
| MTE2 | `latency` | for the first bytes: the latency of L2, and of HBM on a miss |
| MTE1 | `loads` | for MTE2 to complete the slabs of the step |
| MTE1 | `l0_half` | for the cube to free a half of L0A and L0B |
| CUBE | `operands` | for MTE1 to fill a half of L0A and L0B |
| CUBE | `tile_start` | the gap before each tile's first multiplication |
| CUBE | `l0c` | for the fixpipe to empty L0C, also within a tile's first step |
| FIXPIPE | `tile` | for the cube to finish a tile |
| FIXPIPE | `ub_slot` | for MTE3 to empty a slot of UB |
| MTE3 | `tile` | for the fixpipe to fill a slot of UB |

What a miss waits beside the write-back in addition (busy_latency) counts as the wait for the slot.

On a vector core:

| pipe | reason | it waits |
|---|---|---|
| MTE2 | `ub_slot` | for V to free the half of UB that the next step is loaded into |
| VECTOR | `loads` | for MTE2 to complete the inputs of the step |
| VECTOR | `ub_slot` | for MTE3 to store the tile before from its one place in UB |
| MTE3 | `tile` | for V to finish a tile |
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hwmodel.emulator import layout
from hwmodel.emulator.compute import GRAIN_TICKS, L0_HALVES
from hwmodel.emulator.constants import TICKS_PER_CYCLE, EmulatorConstants
from hwmodel.emulator.engine import EventLog
from hwmodel.emulator.geometry import Vector
from hwmodel.emulator.memory import Matrix
from hwmodel.emulator.result import CoreActivity, EmulationResult
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, L0cOutput, Template

Flags = NDArray[np.bool_]


class Pipe(StrEnum):
    """The pipes of a core, in the order of the log's numbers."""

    MTE2 = "MTE2"
    MTE1 = "MTE1"
    CUBE = "CUBE"
    FIXPIPE = "FIXPIPE"
    VECTOR = "VECTOR"
    MTE3 = "MTE3"


PIPES = tuple(Pipe)
"""Number of a pipe in the log -> pipe."""


class Stall(StrEnum):
    """What a pipe waits for; see the table above."""

    LAUNCH = "launch"
    L1_SLOT = "l1_slot"
    LATENCY = "latency"
    LOADS = "loads"
    L0_HALF = "l0_half"
    OPERANDS = "operands"
    TILE_START = "tile_start"
    L0C = "l0c"
    TILE = "tile"
    UB_SLOT = "ub_slot"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipeActivity:
    """One pipe of one core, or the mean of several; cycles.

    Attributes:
        busy_cycles: time at work; for the cube the multiplications alone.
        stalls_cycles: time waiting by reason, only reasons that occur on the pipe.
        idle_cycles: time after the pipe's last piece of work.
    """

    busy_cycles: float
    stalls_cycles: Mapping[Stall, float]
    idle_cycles: float

    @property
    def stall_cycles(self) -> float:
        """Time waiting, whatever for."""
        return sum(self.stalls_cycles.values())


def find_busiest_core(result: EmulationResult) -> int:
    """The core whose last store is the last one of all; the lowest number of several."""
    ends = [core.end_ticks for core in result.cores]
    return ends.index(max(ends))


def compute_launch_ticks(plan: KernelPlan, constants: EmulatorConstants) -> int:
    """When a core may issue its first request (docs/emulator.md, section 5)."""
    extra = constants.mixed_kernel_extra_ticks if _stores_through_ub(plan) else 0
    return constants.launch_ticks + extra


def _stores_through_ub(plan: KernelPlan) -> bool:
    """Whether the tiles go through UB and MTE3."""
    return plan.l0c_output is L0cOutput.FIXPIPE and plan.template in CUBE_TEMPLATES - {
        Template.STREAM_K
    }


def compute_activities(
    result: EmulationResult,
    log: EventLog,
    plan: KernelPlan,
    constants: EmulatorConstants,
    core: int,
) -> dict[Pipe, PipeActivity]:
    """What each pipe of a core did; without MTE3 where a cube kernel does not use it.

    Args:
        result: the run's result.
        log: its log.
        plan: the plan that ran.
        constants: the constants it ran with.
        core: number of the core.
    """
    rows = log.rows[log.rows[:, layout.LOG_CORE] == core]
    pieces = [rows[rows[:, layout.LOG_PIPE] == number] for number in range(len(PIPES))]
    launch = compute_launch_ticks(plan, constants)
    if plan.template in CUBE_TEMPLATES:
        stalls = _cube_core_stalls(pieces, result.cores[core], plan, launch, constants)
    else:
        stalls = _vector_core_stalls(pieces, launch, constants)
    return {
        pipe: _describe(result.makespan_ticks, pieces[number], stalls[pipe])
        for number, pipe in enumerate(PIPES)
        if pipe in stalls
    }


def _cube_core_stalls(
    pieces: list[Matrix],
    activity: CoreActivity,
    plan: KernelPlan,
    launch: int,
    constants: EmulatorConstants,
) -> dict[Pipe, dict[Stall, int]]:
    """Stalls of the pipes that a cube kernel uses."""
    mte2, mte1, cube, fixpipe, _, mte3 = pieces
    uses_ub = _stores_through_ub(plan)
    stalls = {
        Pipe.MTE2: _mte2_stalls(mte2, launch, constants, Stall.L1_SLOT),
        Pipe.MTE1: _mte1_stalls(mte1, cube, launch),
        Pipe.CUBE: _cube_stalls(cube, mte1, activity, launch, constants.tile_ticks),
        Pipe.FIXPIPE: _fixpipe_stalls(fixpipe, cube, launch, uses_ub=uses_ub),
    }
    if uses_ub:
        stalls[Pipe.MTE3] = _mte3_stalls(mte3, launch)
    return stalls


def _vector_core_stalls(
    pieces: list[Matrix], launch: int, constants: EmulatorConstants
) -> dict[Pipe, dict[Stall, int]]:
    """Stalls of the pipes of a vector core."""
    mte2, _, _, _, vector, mte3 = pieces
    return {
        Pipe.MTE2: _mte2_stalls(mte2, launch, constants, Stall.UB_SLOT),
        Pipe.VECTOR: _vector_stalls(vector, launch),
        Pipe.MTE3: _mte3_stalls(mte3, launch),
    }


def compute_mean_activities(
    result: EmulationResult, log: EventLog, plan: KernelPlan, constants: EmulatorConstants
) -> dict[Pipe, PipeActivity]:
    """The mean over all cores of `compute_activities`."""
    cores = [
        compute_activities(result, log, plan, constants, core) for core in range(len(result.cores))
    ]
    return {pipe: _mean([core[pipe] for core in cores]) for pipe in cores[0]}


def _mean(pipes: list[PipeActivity]) -> PipeActivity:
    """The mean of the same pipe on several cores."""
    count = len(pipes)
    return PipeActivity(
        busy_cycles=sum(pipe.busy_cycles for pipe in pipes) / count,
        stalls_cycles={
            reason: sum(pipe.stalls_cycles[reason] for pipe in pipes) / count
            for reason in pipes[0].stalls_cycles
        },
        idle_cycles=sum(pipe.idle_cycles for pipe in pipes) / count,
    )


def _describe(makespan: int, rows: Matrix, stalls: Mapping[Stall, int]) -> PipeActivity:
    """Ticks as cycles; what is neither a stall nor idle is work."""
    last = int(rows[-1, layout.LOG_END]) if len(rows) else 0
    busy = last - sum(stalls.values())
    return PipeActivity(
        busy_cycles=busy / TICKS_PER_CYCLE,
        stalls_cycles={reason: ticks / TICKS_PER_CYCLE for reason, ticks in stalls.items()},
        idle_cycles=(makespan - last) / TICKS_PER_CYCLE,
    )


def _split_launch(rows: Matrix, launch: int) -> tuple[Vector, Vector]:
    """When a pipe was free before each piece of its work, and how long it then waited.

    The time up to the end of the launch is left out.
    """
    ends = np.concatenate([[0], rows[:-1, layout.LOG_END]]) if len(rows) else rows[:, 0]
    free = np.maximum(ends, np.minimum(launch, rows[:, layout.LOG_START]))
    return free, rows[:, layout.LOG_START] - free


def _with_launch(rows: Matrix, launch: int) -> dict[Stall, int]:
    """The stall before the launch is over."""
    first = int(rows[0, layout.LOG_START]) if len(rows) else 0
    return {Stall.LAUNCH: min(first, launch)}


def _mte3_stalls(rows: Matrix, launch: int) -> dict[Stall, int]:
    """MTE3 waits for tiles alone."""
    _, waits = _split_launch(rows, launch)
    return _with_launch(rows, launch) | {Stall.TILE: int(waits.sum())}


def _vector_stalls(rows: Matrix, launch: int) -> dict[Stall, int]:
    """A step waits for its inputs, the end of a tile for the place of C in UB."""
    _, waits = _split_launch(rows, launch)
    is_end = rows[:, layout.LOG_DETAIL] == layout.V_FINISH
    return _with_launch(rows, launch) | {
        Stall.LOADS: int(waits[~is_end].sum()),
        Stall.UB_SLOT: int(waits[is_end].sum()),
    }


def _mte2_stalls(
    rows: Matrix, launch: int, constants: EmulatorConstants, slot: Stall
) -> dict[Stall, int]:
    """The end of a wait is the request's latency, what is before it the wait for `slot`."""
    _, waits = _split_launch(rows, launch)
    kinds = rows[:, layout.LOG_DETAIL] % layout.LOG_OPERAND
    latency = constants.l2_latency_ticks + np.where(
        kinds >= layout.LEADER, constants.hbm_latency_ticks, 0
    )
    in_latency = int(np.minimum(waits, latency).sum())
    return _with_launch(rows, launch) | {
        slot: int(waits.sum()) - in_latency,
        Stall.LATENCY: in_latency,
    }


def _mte1_stalls(rows: Matrix, cube: Matrix, launch: int) -> dict[Stall, int]:
    """A step that starts when the cube frees its half waited for that, else for its loads."""
    _, waits = _split_launch(rows, launch)
    half_free = np.concatenate([np.zeros(L0_HALVES, dtype=np.int64), cube[:, layout.LOG_END]])
    is_half = rows[:, layout.LOG_START] == half_free[: len(rows)]
    return _with_launch(rows, launch) | {
        Stall.LOADS: int(waits[~is_half].sum()),
        Stall.L0_HALF: int(waits[is_half].sum()),
    }


def _cube_stalls(
    rows: Matrix, mte1: Matrix, activity: CoreActivity, launch: int, tile_ticks: int
) -> dict[Stall, int]:
    """First the operands, then at a tile's begin the gap, then L0C."""
    free, waits = _split_launch(rows, launch)
    operands = np.clip(mte1[:, layout.LOG_END] - free, 0, waits)
    is_first = np.diff(rows[:, layout.LOG_ITEM], prepend=-1) > 0
    gap = np.where(is_first, np.minimum(waits - operands, tile_ticks), 0)
    spans = int((rows[:, layout.LOG_END] - rows[:, layout.LOG_START]).sum())
    within = spans - activity.cube_ticks
    return _with_launch(rows, launch) | {
        Stall.OPERANDS: int(operands.sum()),
        Stall.TILE_START: int(gap.sum()),
        Stall.L0C: int((waits - operands - gap).sum()) + within,
    }


def _fixpipe_stalls(rows: Matrix, cube: Matrix, launch: int, *, uses_ub: bool) -> dict[Stall, int]:
    """A tile can be taken soon after its last L0 step has started; what is beyond is UB."""
    free, waits = _split_launch(rows, launch)
    stalls = _with_launch(rows, launch)
    if not uses_ub:
        return stalls | {Stall.TILE: int(waits.sum())}
    is_last = np.diff(cube[:, layout.LOG_ITEM], append=-1) != 0
    ready = cube[is_last, layout.LOG_START] + GRAIN_TICKS
    for_tile = np.clip(ready - free, 0, waits)
    return stalls | {
        Stall.TILE: int(for_tile.sum()),
        Stall.UB_SLOT: int((waits - for_tile).sum()),
    }
