"""Batches in lanes: every row gets the time of its own plan, however the rows are mixed."""

import numpy as np
import pytest

from hwmodel.cost.constants import PipelineConstants
from hwmodel.cost.pipeline import PipelineEvaluator
from hwmodel.cost.plan_lanes import LANES
from hwmodel.plan import KernelPlan, Template
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from tests.hwmodel.cost.plain import plain_pipeline

SPEC = load_hardware("ascend950pr-9589")
PROBLEM = GemmProblem(m=333, k=2056, n=1040)


def draw_plans(count: int) -> tuple[KernelPlan, ...]:
    """Plans of all templates, legal or not, in random order."""
    random = np.random.default_rng(7)
    templates = tuple(Template)

    def draw(least: int, most: int) -> int:
        return int(random.integers(least, most + 1))

    return tuple(
        KernelPlan(
            template=templates[draw(0, len(templates) - 1)],
            base_m=16 * draw(1, 16),
            base_n=16 * draw(1, 16),
            base_k=16 * draw(1, 8),
            step_k=draw(1, 8),
            db_l0c=draw(1, 2),
            resident_slabs=draw(1, 9),
            window_len=draw(1, 8),
            m_tail_cnt=draw(1, 2),
            single_core_k=draw(1, PROBLEM.k),
            used_core_num=draw(1, 32),
        )
        for _ in range(count)
    )


def test_rows_of_full_and_part_filled_lanes_are_those_of_single_plans() -> None:
    plans = draw_plans(12 * LANES)
    evaluator = PipelineEvaluator(PipelineConstants())
    times = evaluator.estimate_us(PROBLEM, SPEC, PlanBatch.from_plans(plans))
    single = [evaluator.evaluate(PROBLEM, SPEC, plan).task_duration_us for plan in plans]
    assert times == pytest.approx(single, rel=1e-12)


def test_batch_in_plain_python_fills_lanes_alike() -> None:
    plans = PlanBatch.from_plans(draw_plans(4 * LANES))
    compiled = PipelineEvaluator(PipelineConstants()).estimate_us(PROBLEM, SPEC, plans)
    with plain_pipeline() as module:
        plain = module.PipelineEvaluator(module.PipelineConstants())
        with np.errstate(all="ignore"):
            times = plain.estimate_us(PROBLEM, SPEC, plans)
    assert times == pytest.approx(compiled, rel=1e-12)
