"""The closed form of the vector kernels: by hand, in its limits, and against the emulator."""

from dataclasses import replace

import numpy as np
import pytest

from hwmodel.cost.pipeline import PipelineEvaluator
from hwmodel.dtypes import DType
from hwmodel.emulator.constants import TICKS_PER_CYCLE
from hwmodel.emulator.spec_constants import constants_from_spec
from hwmodel.emulator.vector_engine import emulate_vector
from hwmodel.plan import KernelPlan, Template
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from tests.bench.agreement_vector import vector_samples

SPEC = load_hardware("ascend950pr-9589")
BARE = replace(SPEC, calibrations={})
"""The figures of the spec as they stand: 1650 MHz, launch 1.4 us, latency of the HBM 1980 cycles;
a vector core 16 B/cycle from HBM, 40 to memory; 64 lanes; HBM 992 B/cycle."""

PIPELINE = PipelineEvaluator()

MEDIAN_ERROR, TAIL_ERROR, TAIL_PERCENTILE = 0.03, 0.10, 95
"""What the closed form is allowed beside the emulator, half of the plans and nearly all."""


def vector_plan(problem: GemmProblem, base_mn: int, base_k: int, cores: int) -> KernelPlan:
    one_row = problem.m == 1
    return KernelPlan(
        template=Template.VECTOR,
        base_m=1 if one_row else base_mn,
        base_n=base_mn if one_row else 1,
        base_k=base_k,
        step_k=1,
        single_core_k=problem.k,
        used_core_num=cores,
    )


def emulate_us(problem: GemmProblem, plan: KernelPlan) -> float:
    ticks = emulate_vector(problem, plan, constants_from_spec(SPEC)).makespan_ticks
    return SPEC.cycles_to_us(ticks / TICKS_PER_CYCLE)


def predict_us(problem: GemmProblem, plan: KernelPlan) -> float:
    return PIPELINE.evaluate(problem, SPEC, plan).task_duration_us


def test_a_tile_of_one_step_by_hand() -> None:
    """Launch, latency, vector, matrix, four passes, sum and cast, store; one after the other."""
    problem = GemmProblem(m=1, k=128, n=64, trans_b=True)
    cost = PIPELINE.evaluate(problem, BARE, vector_plan(problem, 64, 128, 1))
    loads = 128 * 2 / 16 + 64 * 128 * 2 / 16
    passes = 4 * (64 * 128 / 64 + 20)
    finish = (64 * 128 / 64 + 20) + (64 / 64 + 20)
    expected = 1.4 * 1650 + 1980 + loads + passes + finish + 64 * 2 / 40
    assert 1650 * cost.task_duration_us == pytest.approx(expected, rel=1e-9)


def test_two_short_steps_cost_a_latency() -> None:
    """A step's data come a latency after V has finished the step before the previous one."""
    problem = GemmProblem(m=1, k=64 * 200, n=64, trans_b=True)
    longer = replace(problem, k=64 * 400)
    more = 1650 * (
        PIPELINE.evaluate(longer, BARE, vector_plan(longer, 1, 64, 64)).task_duration_us
        - PIPELINE.evaluate(problem, BARE, vector_plan(problem, 1, 64, 64)).task_duration_us
    )
    vector, matrix, work = 64 * 2 / 16, 64 * 64 * 2 / 992, 4 * (1 + 20)
    assert more == pytest.approx(200 * (1980 + vector + matrix + work) / 2, rel=1e-3)


def test_a_core_with_a_whole_tile_decides() -> None:
    """Two tiles, the second short: as long as one whole tile, not as the mean of both."""
    problem = GemmProblem(m=1, k=2192, n=1280, trans_b=True)
    plan = vector_plan(problem, 1081, 6, 2)
    alone = replace(problem, n=1081)
    assert predict_us(problem, plan) == pytest.approx(predict_us(alone, plan), rel=0.01)


@pytest.mark.parametrize("tiles", [1, 2, 7, 8, 60])
def test_equal_tiles_are_continued_exactly(tiles: int) -> None:
    problem = GemmProblem(m=1, k=256, n=64 * 64 * tiles, trans_b=True)
    plan = vector_plan(problem, 64, 128, 64)
    assert predict_us(problem, plan) == pytest.approx(emulate_us(problem, plan), rel=0.01)


def test_a_vector_beyond_l2_is_read_anew() -> None:
    small = replace(BARE, buffers=replace(BARE.buffers, l2_bytes=4096))
    problem = GemmProblem(m=1, k=8192, n=128 * 64, dtype=DType.FP32, out_dtype=DType.FP32)
    plan = vector_plan(problem, 64, 64, 64)
    cold, kept = (PIPELINE.evaluate(problem, spec, plan) for spec in (small, BARE))
    assert cold.task_duration_us > kept.task_duration_us


def test_outputs_beyond_l2_are_written_back() -> None:
    problem = GemmProblem(m=1, k=1, n=1 << 28, dtype=DType.FP32, out_dtype=DType.FP32)
    cost = PIPELINE.evaluate(problem, BARE, vector_plan(problem, 8000, 1, 64))
    reads, writes = problem.n * 4 / 992, (problem.n * 4 - BARE.buffers.l2_bytes) / 921
    assert 1650 * cost.task_duration_us > reads + writes


@pytest.mark.parametrize(("group", "plans"), [("vector", 50), ("to_multi_mul", 30)])
def test_it_agrees_with_the_emulator(group: str, plans: int) -> None:
    errors: list[float] = []
    for sample in vector_samples(SPEC, group, plans=plans, seed=3):
        predicted = PIPELINE.estimate_us(sample.problem, SPEC, PlanBatch.from_plans(sample.plans))
        emulated = [emulate_us(sample.problem, plan) for plan in sample.plans]
        errors += list(np.abs(predicted / np.array(emulated) - 1))
    assert np.median(errors) < MEDIAN_ERROR
    assert np.percentile(errors, TAIL_PERCENTILE) < TAIL_ERROR


def test_clearing_has_no_latency() -> None:
    problem = GemmProblem(m=512, k=0, n=512)
    plan = replace(vector_plan(replace(problem, m=1), 1, 1, 64), template=Template.K_EQUAL_ZERO)
    assert predict_us(problem, plan) == pytest.approx(emulate_us(problem, plan), rel=0.01)
