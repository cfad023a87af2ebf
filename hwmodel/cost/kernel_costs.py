"""KernelCosts: the result of every closed form of the pipeline model, one value per plan."""

from dataclasses import dataclass

from hwmodel.cost.breakdown import Bound, CostBreakdown
from hwmodel.cost.terms import Column
from hwmodel.spec import HardwareSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCosts:
    """Parts of the time and what explains them; cycles of a core and bytes of the chip.

    `launch + prologue + rounds + epilogue` is the predicted time. The busy times are those of the
    busiest core.
    """

    launch: Column
    prologue: Column
    rounds: Column
    epilogue: Column
    cube_busy: Column
    mte2_busy: Column
    mte1_busy: Column
    fixpipe_busy: Column
    vector_busy: Column
    hbm_read_bytes: Column
    read_bytes: Column
    write_bytes: Column
    round_count: Column

    @property
    def total(self) -> Column:
        """Predicted time, cycles."""
        return self.launch + self.prologue + self.rounds + self.epilogue


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
    """The breakdown of the first plan of the costs."""

    def first(name: str) -> float:
        return float(getattr(costs, name)[0])

    def first_us(name: str) -> float:
        return spec.cycles_to_us(first(name))

    bound = max(_BUSY, key=lambda entry: first(entry[1]))[0]
    return CostBreakdown(
        task_duration_us=float(costs.total[0] * (1 / spec.cores.clock_mhz)),
        launch_us=first_us("launch"),
        prologue_us=first_us("prologue"),
        rounds_us=first_us("rounds"),
        epilogue_us=first_us("epilogue"),
        cube_time_us=first_us("cube_busy"),
        mte2_time_us=first_us("mte2_busy"),
        mte1_time_us=first_us("mte1_busy"),
        fixpipe_time_us=first_us("fixpipe_busy"),
        hbm_read_bytes=first("hbm_read_bytes"),
        l2_read_bytes=max(0.0, first("read_bytes") - first("hbm_read_bytes")),
        write_bytes=first("write_bytes"),
        rounds=int(first("round_count")),
        bound=bound,
    )
