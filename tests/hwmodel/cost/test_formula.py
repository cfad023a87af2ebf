"""The vendor's model: its error table on the measured kernels, and its quirks."""

import numpy as np
import pytest
from hypothesis import given, settings

from hwmodel.cost.breakdown import Bound
from hwmodel.cost.formula import FormulaEvaluator
from hwmodel.plan import KernelPlan, Template
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from hwmodel.validation.classes import ErrorClass
from hwmodel.validation.errors_report import compute_error_report
from hwmodel.validation.measured import load_measured
from tests.hwmodel.cost.random_plans import problems_with_plans

SPEC = load_hardware("ascend950pr-9589")
FORMULA = FormulaEvaluator()

# n, median and 90th percentile in percent (specification: hardware.md, "Measured kernels").
SPECIFIED_CLASSES = {
    ErrorClass.COMPUTE_BOUND: (25, 2.4, 11.2),
    ErrorClass.READ_BOUND: (6, 35.6, 40.9),
    ErrorClass.OUTPUT_HEAVY: (33, 10.4, 41.9),
    ErrorClass.SMALL: (12, 56.2, 80.3),
    ErrorClass.STREAM_K: (23, 8.0, 45.1),
}
TENTH = 0.1


def make_plan(base_m: int, base_n: int, base_k: int, k: int) -> KernelPlan:
    return KernelPlan(
        template=Template.ASWT,
        base_m=base_m,
        base_n=base_n,
        base_k=base_k,
        step_k=4,
        single_core_k=k,
        used_core_num=32,
    )


def test_error_table_of_the_specification() -> None:
    report = compute_error_report(FORMULA, SPEC, load_measured())
    assert len(report.rows) == 99
    figures = (report.median_ape, report.mean_ape, report.bias, report.p90_ape)
    assert [100 * figure for figure in figures] == pytest.approx(
        [10.4, 20.5, -10.4, 48.5], abs=TENTH
    )
    assert set(report.classes) == set(SPECIFIED_CLASSES)
    for name, (n, median, p90) in SPECIFIED_CLASSES.items():
        error = report.classes[name]
        assert error.n == n
        assert 100 * error.median_ape == pytest.approx(median, abs=TENTH)
        assert 100 * error.p90_ape == pytest.approx(p90, abs=TENTH)


def test_hand_computed_pipes() -> None:
    problem = GemmProblem(m=512, k=1024, n=256, trans_b=False)
    cost = FORMULA.evaluate(problem, SPEC, make_plan(128, 256, 64, 1024))
    cycles = 1650
    assert cost.cube_time_us == pytest.approx(512 * 1024 * 256 / (4096 * 32) / cycles)
    ddr = (512 + 256) * 1024 * 2
    l2 = (512 * 256 / 256 + 256 * 512 / 128) * 1024 * 2 - ddr
    assert cost.mte2_time_us == pytest.approx((ddr / (31 * 32) + l2 / 3200) / cycles)
    assert cost.mte1_time_us == pytest.approx(16 * (128 + 256) * 64 * 2 / 256 / cycles)
    assert cost.fixpipe_time_us == pytest.approx(512 * 256 * 2 / (128 * 32) / cycles)
    assert cost.bound is Bound.MTE1
    assert cost.task_duration_us == cost.rounds_us == cost.mte1_time_us
    assert cost.rounds == 1


def test_l2_bytes_of_an_oversize_tile_are_not_clamped() -> None:
    problem = GemmProblem(m=16, k=64, n=16)
    assert FORMULA.evaluate(problem, SPEC, make_plan(32, 32, 64, 64)).l2_read_bytes < 0


def test_first_maximum_names_the_bound() -> None:
    # Without a K dimension only the store takes time; with none of the four, the cube is first.
    problem = GemmProblem(m=16, k=0, n=16)
    assert FORMULA.evaluate(problem, SPEC, make_plan(16, 16, 16, 0)).bound is Bound.FIXPIPE


@given(case=problems_with_plans(count=3))
@settings(derandomize=True, deadline=None, max_examples=50)
def test_batch_equals_scalar(case: tuple[GemmProblem, tuple[KernelPlan, ...]]) -> None:
    problem, plans = case
    batch = FORMULA.estimate_us(problem, SPEC, PlanBatch.from_plans(plans))
    single = [FORMULA.evaluate(problem, SPEC, plan).task_duration_us for plan in plans]
    assert np.array_equal(batch, single)
