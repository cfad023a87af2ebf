"""The emulated kernel in the columns of msprof's op_summary, and what bounds it.

Names are msprof's in snake_case (`aic_mac_time(us)` is `aic_mac_time_us`). As in msprof, cycles
are summed over the cores that ran the kernel, a time is the cycles divided by their number and
the clock, and a ratio is relative to the total cycles.

| column | meaning |
|---|---|
| task_duration_us | from the launch to the end of the kernel |
| block_num | cores that the kernel is launched on |
| aicore_time_us, aiv_time_us | mean time of a core from the end of the launch to its last store |
| aic_total_cycles, aiv_total_cycles | the same in cycles, summed over the cores |
| aic_PIPE_time_us, aiv_PIPE_time_us | mean time of a pipe at work, in its data phase for a load |
| aic_PIPE_ratio, aiv_PIPE_ratio | its share of the total cycles |
| cube_utilization_percent | aic_total_cycles over those that all cube cores of the chip had |
"""

from hwmodel.cost.breakdown import Bound
from hwmodel.emulator.activity import compute_launch_ticks, find_busiest_core
from hwmodel.emulator.constants import TICKS_PER_CYCLE, EmulatorConstants
from hwmodel.emulator.result import EmulationResult
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan
from hwmodel.spec import HardwareSpec

PERCENT = 100.0


def compute_summary(
    result: EmulationResult, plan: KernelPlan, spec: HardwareSpec, constants: EmulatorConstants
) -> dict[str, float]:
    """The row of the kernel: `aic_` columns of cube kernels, `aiv_` columns of vector kernels."""
    cores = result.cores
    launch = compute_launch_ticks(plan, constants)
    total = max(1, sum(core.end_ticks - launch for core in cores if core.end_ticks))
    is_cube = plan.template in CUBE_TEMPLATES
    prefix = "aic" if is_cube else "aiv"
    pipes = {
        "mac": [core.cube_ticks for core in cores],
        "mte1": [core.mte1_ticks for core in cores],
        "mte2": [core.mte2_ticks for core in cores],
        "fixpipe": [core.fixpipe_ticks for core in cores],
    }
    if not is_cube:
        # The vector cores' way out is counted as the fixpipe's.
        vector = [core.vector_ticks for core in cores]
        pipes = {"vec": vector, "mte2": pipes["mte2"], "mte3": pipes["fixpipe"]}

    def mean_us(ticks: int) -> float:
        return spec.cycles_to_us(ticks / TICKS_PER_CYCLE / len(cores))

    summary: dict[str, float] = {
        "task_duration_us": spec.cycles_to_us(result.makespan_ticks / TICKS_PER_CYCLE),
        "block_num": len(cores),
        "aicore_time_us" if is_cube else "aiv_time_us": mean_us(total),
        f"{prefix}_total_cycles": round(total / TICKS_PER_CYCLE),
    }
    for pipe, ticks in pipes.items():
        summary[f"{prefix}_{pipe}_time_us"] = mean_us(sum(ticks))
        summary[f"{prefix}_{pipe}_ratio"] = sum(ticks) / total
    if is_cube:
        whole = result.makespan_ticks * spec.cores.aic_num
        summary["cube_utilization_percent"] = PERCENT * total / whole
    return summary


def compute_l2_hit_ratio(result: EmulationResult) -> float:
    """Loads that caused no read of HBM, of all loads: found in L2 or on their way to it."""
    return (result.hits + result.follows) / result.loads if result.loads else 0.0


def find_bound(result: EmulationResult, plan: KernelPlan, constants: EmulatorConstants) -> Bound:
    """What the busiest core was busy with longest; launch when that takes longer still."""
    core = result.cores[find_busiest_core(result)]
    times = {
        Bound.CUBE: core.cube_ticks,
        Bound.VECTOR: core.vector_ticks,
        Bound.MTE2: core.mte2_ticks,
        Bound.MTE1: core.mte1_ticks,
        Bound.FIXPIPE: core.fixpipe_ticks,
        Bound.LAUNCH: compute_launch_ticks(plan, constants),
    }
    return max(times, key=lambda bound: times[bound])
