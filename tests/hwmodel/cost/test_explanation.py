"""A breakdown explains the very time that decides: parts, waste and critical pipe."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from hwmodel.cost.breakdown import Bound, CostBreakdown
from hwmodel.cost.constants import PipelineConstants
from hwmodel.cost.pipeline import PipelineEvaluator
from hwmodel.plan import KernelPlan, Template
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import load_hardware
from tests.hwmodel.cost.plain import plain_pipeline
from tests.hwmodel.cost.random_plans import problems_with_plans

SPEC = load_hardware("ascend950pr-9589")
PLAIN_SPEC = replace(SPEC, calibrations={})
PIPELINE = PipelineEvaluator(PipelineConstants())

WASTE = (
    "padding_us",
    "tail_us",
    "wait_us",
    "exposed_load_us",
    "exposed_store_us",
    "launch_us",
)


def split(cost: CostBreakdown) -> list[float]:
    return [cost.useful_us, *(getattr(cost, name) for name in WASTE)]


def plan_for(problem: GemmProblem, **fields: object) -> KernelPlan:
    plan = KernelPlan(
        template=Template.ASWT,
        base_m=256,
        base_n=256,
        base_k=64,
        step_k=4,
        single_core_k=problem.k,
        used_core_num=32,
    )
    return replace(plan, **fields)  # type: ignore[arg-type]


@given(case=problems_with_plans())
@settings(derandomize=True, deadline=None, max_examples=300)
def test_waste_and_useful_work_sum_to_the_time_that_decides(
    case: tuple[GemmProblem, tuple[KernelPlan, ...]],
) -> None:
    problem, plans = case
    cost = PIPELINE.evaluate(problem, SPEC, plans[0])
    decides = PIPELINE.estimate_us(problem, SPEC, PlanBatch.from_plans(plans))[0]
    assert cost.task_duration_us == decides
    assert sum(split(cost)) == pytest.approx(decides, rel=1e-9)
    assert min(split(cost)) >= -1e-9 * decides
    assert cost.critical_pipe is not None
    assert cost.mte2_bytes >= cost.l2_read_bytes


COMPUTE_BOUND = GemmProblem(m=8192, k=8192, n=8192)
STORE_BOUND = GemmProblem(m=8192, k=64, n=8192)
READ_BOUND = GemmProblem(m=16, k=8192, n=16384)


def slower(pipe: Bound, factor: float) -> HardwareSpec:
    """The chip with that pipe's rate divided by the factor."""
    rates, compute = PLAIN_SPEC.rates, PLAIN_SPEC.compute
    names: tuple[str, ...]
    match pipe:
        case Bound.CUBE:
            macs = round(compute.macs_per_cycle_16bit / factor)
            return replace(PLAIN_SPEC, compute=replace(compute, macs_per_cycle_16bit=macs))
        case Bound.MTE2:
            names = ("hbm_read_total_bytes_per_cycle", "mte2_port_bytes_per_cycle")
        case Bound.MTE1:
            names = ("l1_to_l0a_bytes_per_cycle", "l1_to_l0b_bytes_per_cycle")
        case _:
            names = ("fixpipe_bytes_per_cycle",)
    changed = {name: getattr(rates, name) / factor for name in names}
    return replace(PLAIN_SPEC, rates=replace(rates, **changed))


@pytest.mark.parametrize(
    ("problem", "plan", "pipe", "idle"),
    [
        (COMPUTE_BOUND, plan_for(COMPUTE_BOUND), Bound.CUBE, Bound.MTE1),
        (STORE_BOUND, plan_for(STORE_BOUND), Bound.FIXPIPE, Bound.MTE1),
        (READ_BOUND, plan_for(READ_BOUND, base_m=16), Bound.MTE2, Bound.FIXPIPE),
    ],
)
def test_the_named_pipe_decides_and_one_far_from_critical_does_not(
    problem: GemmProblem, plan: KernelPlan, pipe: Bound, idle: Bound
) -> None:
    def time_us(spec: HardwareSpec) -> float:
        return float(PIPELINE.estimate_us(problem, spec, PlanBatch.from_plans((plan,)))[0])

    cost = PIPELINE.evaluate(problem, PLAIN_SPEC, plan)
    assert cost.critical_pipe is pipe
    assert time_us(slower(pipe, 1.25)) > 1.1 * cost.task_duration_us
    assert time_us(slower(idle, 0.8)) == pytest.approx(cost.task_duration_us, rel=0.01)


def test_padding_and_tail_are_named() -> None:
    whole = GemmProblem(m=4096, k=4096, n=4096)
    cut = replace(whole, n=4096 + 2)
    before, after = (PIPELINE.evaluate(one, SPEC, plan_for(one)) for one in (whole, cut))
    assert before.padding_us < 0.01 * before.task_duration_us
    assert before.tail_us == pytest.approx(0.0, abs=1e-6)
    assert after.tail_us > 0.03 * after.task_duration_us
    # A tile of 17 rows is run as one of 32.
    low = GemmProblem(m=17, k=8192, n=8192)
    slow = replace(SPEC, compute=replace(SPEC.compute, macs_per_cycle_16bit=64))
    cost = PIPELINE.evaluate(low, slow, plan_for(low))
    assert cost.critical_pipe is Bound.CUBE
    assert cost.padding_us == pytest.approx(15 / 17 * cost.useful_us, rel=0.01)


@given(case=problems_with_plans(count=3))
@settings(derandomize=True, deadline=None, max_examples=120)
def test_compiled_and_plain_are_equal(
    case: tuple[GemmProblem, tuple[KernelPlan, ...]],
) -> None:
    problem, plans = case
    if problem.k == 0:
        return
    batch = PlanBatch.from_plans(plans)
    compiled = PIPELINE.estimate_us(problem, SPEC, batch)
    with plain_pipeline() as module:
        plain = module.PipelineEvaluator(PipelineConstants())
        times = plain.estimate_us(problem, SPEC, batch)
        cost = plain.evaluate(problem, SPEC, plans[0])
    assert np.allclose(times, compiled, rtol=1e-12, atol=0)
    assert cost.task_duration_us == pytest.approx(compiled[0], rel=1e-12)
