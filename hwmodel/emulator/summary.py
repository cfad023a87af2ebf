"""The emulated kernel in the columns of msprof's op_summary, and what it moved.

Names are msprof's in snake_case (`aic_mac_time(us)` is `aic_mac_time_us`). As in msprof, cycles
are summed over the cores that ran the kernel, a time is the cycles divided by their number and
the clock, and a ratio is relative to `aic_total_cycles`.
"""

from dataclasses import dataclass

from hwmodel.cost.breakdown import Bound
from hwmodel.emulator.activity import find_busiest_core
from hwmodel.emulator.constants import TICKS_PER_CYCLE, EmulatorConstants
from hwmodel.emulator.result import EmulationResult
from hwmodel.spec import HardwareSpec

PERCENT = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSummary:
    """One row of op_summary; microseconds, cycles, ratios 0..1, the last one in percent.

    Attributes:
        task_duration_us: `Task Duration(us)`, from the launch to the end of the kernel.
        block_num: `Block Num`, cube cores that the kernel is launched on.
        aicore_time_us: mean time of a core from its first request to its last store.
        aic_total_cycles: the same in cycles, summed over the cores.
        aic_mac_time_us: mean time at work of the cube.
        aic_mac_ratio: its share.
        aic_mte1_time_us: of the loads from L1 to L0.
        aic_mte1_ratio: its share.
        aic_mte2_time_us: of the loads from global memory.
        aic_mte2_ratio: its share.
        aic_fixpipe_time_us: of the way out of L0C.
        aic_fixpipe_ratio: its share.
        cube_utilization_percent: `cube_utilization(%)`, aic_total_cycles over those that all cube
            cores of the chip had in task_duration_us.
    """

    task_duration_us: float
    block_num: int
    aicore_time_us: float
    aic_total_cycles: int
    aic_mac_time_us: float
    aic_mac_ratio: float
    aic_mte1_time_us: float
    aic_mte1_ratio: float
    aic_mte2_time_us: float
    aic_mte2_ratio: float
    aic_fixpipe_time_us: float
    aic_fixpipe_ratio: float
    cube_utilization_percent: float


def compute_summary(
    result: EmulationResult, spec: HardwareSpec, constants: EmulatorConstants
) -> ProfileSummary:
    """The row of the kernel."""
    count = len(result.cores)
    total = sum(max(0, core.end_ticks - constants.launch_ticks) for core in result.cores)

    def mean_us(ticks: int) -> float:
        return spec.cycles_to_us(ticks / TICKS_PER_CYCLE / count)

    mac = sum(core.cube_ticks for core in result.cores)
    mte1 = sum(core.mte1_ticks for core in result.cores)
    mte2 = sum(core.mte2_ticks for core in result.cores)
    fixpipe = sum(core.fixpipe_ticks for core in result.cores)
    return ProfileSummary(
        task_duration_us=spec.cycles_to_us(result.makespan_ticks / TICKS_PER_CYCLE),
        block_num=count,
        aicore_time_us=mean_us(total),
        aic_total_cycles=round(total / TICKS_PER_CYCLE),
        aic_mac_time_us=mean_us(mac),
        aic_mac_ratio=mac / total,
        aic_mte1_time_us=mean_us(mte1),
        aic_mte1_ratio=mte1 / total,
        aic_mte2_time_us=mean_us(mte2),
        aic_mte2_ratio=mte2 / total,
        aic_fixpipe_time_us=mean_us(fixpipe),
        aic_fixpipe_ratio=fixpipe / total,
        cube_utilization_percent=PERCENT * total / (result.makespan_ticks * spec.cores.aic_num),
    )


def compute_l2_hit_ratio(result: EmulationResult) -> float:
    """Loads that caused no read of HBM, of all loads: found in L2 or on their way to it."""
    return (result.hits + result.follows) / result.loads if result.loads else 0.0


def find_bound(result: EmulationResult, constants: EmulatorConstants) -> Bound:
    """What the busiest core was busy with longest; launch when that takes longer still."""
    core = result.cores[find_busiest_core(result)]
    times = {
        Bound.CUBE: core.cube_ticks,
        Bound.MTE2: core.mte2_ticks,
        Bound.MTE1: core.mte1_ticks,
        Bound.FIXPIPE: core.fixpipe_ticks,
        Bound.LAUNCH: constants.launch_ticks,
    }
    return max(times, key=lambda bound: times[bound])
