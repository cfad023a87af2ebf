"""CostBreakdown: what an evaluator says about one plan, and why."""

from dataclasses import dataclass
from enum import StrEnum


class Bound(StrEnum):
    """The resource that decides a kernel's time."""

    CUBE = "cube"
    MTE2 = "mte2"
    MTE1 = "mte1"
    FIXPIPE = "fixpipe"
    VECTOR = "vector"
    LAUNCH = "launch"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBreakdown:
    """Predicted time of one plan and its parts; microseconds and bytes over all cores.

    `launch_us + prologue_us + rounds_us + epilogue_us == task_duration_us`, up to float rounding.
    The `*_time_us` of the pipes are their busy times on the busiest core, which overlap, so they
    do not sum to anything.

    Attributes:
        task_duration_us: predicted time (msprof's `Task Duration(us)`).
        launch_us: launch and first access.
        prologue_us: exposed first loads.
        rounds_us: the rounds of blocks.
        epilogue_us: exposed last store, barriers and reductions.
        cube_time_us: busy time of the cube.
        mte2_time_us: busy time of the loads from global memory.
        mte1_time_us: busy time of the loads from L1 to L0.
        fixpipe_time_us: busy time of the way out of L0C.
        hbm_read_bytes: bytes read from HBM.
        l2_read_bytes: bytes read from L2 (hits).
        write_bytes: bytes of C written.
        rounds: rounds of blocks over the cores.
        bound: what decides.
    """

    task_duration_us: float
    launch_us: float
    prologue_us: float
    rounds_us: float
    epilogue_us: float
    cube_time_us: float
    mte2_time_us: float
    mte1_time_us: float
    fixpipe_time_us: float
    hbm_read_bytes: float
    l2_read_bytes: float
    write_bytes: float
    rounds: int
    bound: Bound
