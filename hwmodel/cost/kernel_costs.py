"""KernelCosts: the result of every closed form of the pipeline model."""

from typing import NamedTuple

from hwmodel.cost.breakdown import Bound, CostBreakdown
from hwmodel.spec import HardwareSpec


class KernelCosts(NamedTuple):
    """Parts of the time and what explains them; cycles of a core and bytes of the chip.

    `launch + prologue + rounds + epilogue` is the predicted time. The busy times are those of the
    busiest core.
    """

    launch: float
    prologue: float
    rounds: float
    epilogue: float
    cube_busy: float
    mte2_busy: float
    mte1_busy: float
    fixpipe_busy: float
    vector_busy: float
    hbm_read_bytes: float
    read_bytes: float
    write_bytes: float
    round_count: float
    total: float


_BUSY = (
    (Bound.CUBE, "cube_busy"),
    (Bound.MTE2, "mte2_busy"),
    (Bound.MTE1, "mte1_busy"),
    (Bound.FIXPIPE, "fixpipe_busy"),
    (Bound.VECTOR, "vector_busy"),
    (Bound.LAUNCH, "launch"),
)
"""What can bound a kernel, and its busy time; the first maximum names the bound."""


def build_breakdown(costs: KernelCosts, spec: HardwareSpec) -> CostBreakdown:
    """The breakdown of the costs."""

    def us(name: str) -> float:
        return float(getattr(costs, name) * (1 / spec.cores.clock_mhz))

    bound = max(_BUSY, key=lambda entry: float(getattr(costs, entry[1])))[0]
    return CostBreakdown(
        task_duration_us=us("total"),
        launch_us=us("launch"),
        prologue_us=us("prologue"),
        rounds_us=us("rounds"),
        epilogue_us=us("epilogue"),
        cube_time_us=us("cube_busy"),
        mte2_time_us=us("mte2_busy"),
        mte1_time_us=us("mte1_busy"),
        fixpipe_time_us=us("fixpipe_busy"),
        hbm_read_bytes=float(costs.hbm_read_bytes),
        l2_read_bytes=max(0.0, float(costs.read_bytes - costs.hbm_read_bytes)),
        write_bytes=float(costs.write_bytes),
        rounds=int(costs.round_count),
        bound=bound,
    )
