"""From the costs of a plan to its CostBreakdown: pipes, bytes, and where the time goes."""

from hwmodel.cost.breakdown import Bound, CostBreakdown
from hwmodel.cost.kernel_costs import KernelCosts
from hwmodel.cost.plan_costs import Model
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan
from hwmodel.spec import HardwareSpec

_PIPES = (
    (Bound.CUBE, "cube_busy"),
    (Bound.MTE2, "mte2_busy"),
    (Bound.MTE1, "mte1_busy"),
    (Bound.FIXPIPE, "fixpipe_busy"),
    (Bound.VECTOR, "vector_busy"),
)
"""The pipes and their busy times; the first maximum is the critical one."""


def _useful_cycles(model: Model, costs: KernelCosts, pipe: Bound, cores: int) -> float:
    """Time of the pipe's work without padding, dealt out evenly to all cores.

    The cube: the products of the problem. MTE2: the bytes that the tiles read at the port, or the
    inputs from HBM, whichever takes longer. MTE1 and the fixpipe: bytes and elements of the tiles
    that are not padding. The vector unit: what it does.
    """
    terms, chip = model.terms, model.chip
    m, k, n = terms.a.outer, terms.k, terms.b.outer
    match pipe:
        case Bound.CUBE:
            return m * k * n * chip.cycles_per_mac / cores
        case Bound.MTE2:
            inputs = terms.a.total_bytes + terms.b.total_bytes + terms.bias_total_bytes
            by_port = costs.read_bytes * chip.port_per_byte / cores
            return max(by_port, inputs * chip.hbm_read_per_byte)
        case Bound.FIXPIPE:
            return m * n * chip.fixpipe_per_element / cores
        case _:
            busy = costs.mte1_busy if pipe is Bound.MTE1 else costs.vector_busy
            return busy * costs.balance_ratio


def build_breakdown(
    model: Model, costs: KernelCosts, plan: KernelPlan, spec: HardwareSpec
) -> CostBreakdown:
    """The breakdown of the costs.

    Useful work, padding, tail, waits, exposed loads and stores, and launch sum to the total: the
    critical pipe's busy time is cut into the work it would have if all cores shared it evenly
    (useful and padding) and the rest (tail); what of the time it does not work is exposed before
    the first or after the last multiplication, or waiting in between.
    """
    per_us = 1 / spec.cores.clock_mhz

    def us(cycles: float) -> float:
        return float(cycles * per_us)

    pipe, name = max(_PIPES, key=lambda entry: float(getattr(costs, entry[1])))
    cores = spec.cores.aic_num if plan.template in CUBE_TEMPLATES else spec.cores.aiv_num
    # The critical pipe itself works in what is exposed of its own.
    loads = 0.0 if pipe is Bound.MTE2 else costs.prologue
    stores = 0.0 if pipe is Bound.FIXPIPE else costs.epilogue
    window = costs.total - costs.launch - loads - stores
    busy = min(float(getattr(costs, name)), window)
    even = busy * min(costs.balance_ratio * plan.used_core_num / cores, 1.0)
    useful = min(_useful_cycles(model, costs, pipe, cores), even)
    is_launch = costs.launch > float(getattr(costs, name))
    return CostBreakdown(
        task_duration_us=us(costs.total),
        launch_us=us(costs.launch),
        prologue_us=us(costs.prologue),
        rounds_us=us(costs.rounds),
        epilogue_us=us(costs.epilogue),
        cube_time_us=us(costs.cube_busy),
        mte2_time_us=us(costs.mte2_busy),
        mte1_time_us=us(costs.mte1_busy),
        fixpipe_time_us=us(costs.fixpipe_busy),
        vector_time_us=us(costs.vector_busy),
        hbm_read_bytes=float(costs.hbm_read_bytes),
        l2_read_bytes=max(0.0, float(costs.read_bytes - costs.hbm_read_bytes)),
        write_bytes=float(costs.write_bytes),
        mte2_bytes=float(costs.read_bytes),
        mte1_bytes=float(costs.mte1_bytes),
        fixpipe_bytes=float(costs.fixpipe_bytes),
        rounds=int(costs.round_count),
        bound=Bound.LAUNCH if is_launch else pipe,
        critical_pipe=pipe,
        useful_us=us(useful),
        padding_us=us(even - useful),
        tail_us=us(busy - even),
        wait_us=us(window - busy),
        exposed_load_us=us(loads),
        exposed_store_us=us(stores),
    )
