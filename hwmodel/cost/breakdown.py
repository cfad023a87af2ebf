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

    A model that knows it also says where the time of the critical pipe goes:
    `useful_us + padding_us + tail_us + wait_us + exposed_load_us + exposed_store_us + launch_us ==
    task_duration_us`, up to float rounding. All of them but `useful_us` are waste.

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
        vector_time_us: busy time of the vector unit.
        mte2_bytes: bytes that all cores load into L1, hits and misses.
        mte1_bytes: bytes that all cores load from L1 to L0, in whole fractals.
        fixpipe_bytes: bytes that leave L0C.
        critical_pipe: the pipe with the longest busy time; None: the model does not say.
        useful_us: its work without padding, dealt out evenly to all cores of the chip.
        padding_us: its work on padding: fractals, whole lines, least times of rows.
        tail_us: what the busiest core works more than the mean of all cores.
        wait_us: waits of the critical pipe between the first and the last multiplication.
        exposed_load_us: first loads, which nothing hides; 0 where MTE2 is the critical pipe.
        exposed_store_us: last store, barrier and reduction; 0 where the fixpipe is critical.
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
    vector_time_us: float = 0.0
    mte2_bytes: float = 0.0
    mte1_bytes: float = 0.0
    fixpipe_bytes: float = 0.0
    critical_pipe: Bound | None = None
    useful_us: float = 0.0
    padding_us: float = 0.0
    tail_us: float = 0.0
    wait_us: float = 0.0
    exposed_load_us: float = 0.0
    exposed_store_us: float = 0.0
