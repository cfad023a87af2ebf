from dataclasses import replace
from typing import Any

import pytest

from hwmodel.cost.breakdown import Bound, CostBreakdown
from hwmodel.dtypes import DType, Format
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec import Calibration, ClassError, HardwareSpec
from hwmodel.spec_io import load_hardware
from hwmodel.validation.measured import load_measured
from studies.gap import (
    Coverage,
    judge_gap,
    measured_templates,
    measured_tiles,
    select_coverage,
    shortest_measured_us,
)
from studies.outcome import EvaluatedPlan, ShapeOutcome

MEASURED_SOC = "Ascend950PR_9589"
READ_BOUND = GemmProblem(m=128, k=8192, n=8192, trans_b=False)
PLAN = KernelPlan(
    template=Template.ASWT,
    base_m=256,
    base_n=256,
    base_k=64,
    step_k=4,
    single_core_k=8192,
    used_core_num=32,
)


def make_spec(**changes: Any) -> HardwareSpec:
    calibration = Calibration(
        model="pipeline",
        measured_on=MEASURED_SOC,
        date="2026-01-01",
        data_digest="",
        rows=99,
        constants={},
        errors={
            "all": ClassError(n=99, median_ape=0.001, p90_ape=0.1),
            "read_bound": ClassError(n=6, median_ape=0.04, p90_ape=0.1),
            "small": ClassError(n=12, median_ape=0.10, p90_ape=0.2),
        },
    )
    spec = load_hardware("ascend950pr-9589")
    return replace(spec, calibrations={"pipeline": replace(calibration, **changes)})


def evaluated(plan: KernelPlan, time_us: float) -> EvaluatedPlan:
    cost = CostBreakdown(
        task_duration_us=time_us,
        launch_us=0.0,
        prologue_us=0.0,
        rounds_us=time_us,
        epilogue_us=0.0,
        cube_time_us=0.0,
        mte2_time_us=0.0,
        mte1_time_us=0.0,
        fixpipe_time_us=0.0,
        hbm_read_bytes=0.0,
        l2_read_bytes=0.0,
        write_bytes=0.0,
        rounds=1,
        bound=Bound.MTE2,
    )
    return EvaluatedPlan(plan=plan, cost=cost)


def make_outcome(
    gap_ratio: float,
    *,
    problem: GemmProblem = READ_BOUND,
    baseline: KernelPlan = PLAN,
    best: KernelPlan = PLAN,
    baseline_us: float = 100.0,
) -> ShapeOutcome:
    winner = evaluated(best, baseline_us / (1 + gap_ratio))
    return ShapeOutcome(
        problem=problem,
        baseline=evaluated(baseline, baseline_us),
        baseline_strategy="BASIC_ASWT",
        baseline_violations=(),
        best=winner,
        best_expressible=winner,
        top=(winner,),
        ties_within_1pct=1,
        evaluations=2,
        rejected={},
        certificate=None,
        roofline_us=1.0,
    )


def resolves(outcome: ShapeOutcome, **changes: Any) -> bool:
    return judge_gap(outcome, make_spec(**changes), "pipeline").resolved


@pytest.mark.parametrize(
    ("gap_ratio", "baseline_us", "resolved"),
    [
        (0.079, 100.0, False),
        (0.081, 100.0, True),
        (0.081, 14.0, False),
        (0.19, 14.0, False),
        (0.21, 14.0, True),
        (0.0, 100.0, False),
    ],
)
def test_a_gap_must_exceed_twice_the_error_of_the_baselines_class(
    gap_ratio: float, baseline_us: float, resolved: bool
) -> None:
    outcome = make_outcome(gap_ratio, baseline_us=baseline_us)
    assert resolves(outcome) is resolved


def test_the_worse_of_the_two_classes_decides() -> None:
    short = replace(READ_BOUND, k=512)
    crossing = make_outcome(0.15, problem=short, baseline_us=16.0)
    verdict = judge_gap(crossing, make_spec(), "pipeline")
    assert (verdict.baseline_class, verdict.best_class) == ("read_bound", "small")
    assert not verdict.resolved, "twice the error of the baseline's class alone is less"
    assert resolves(make_outcome(0.21, problem=short, baseline_us=16.0))
    other_way = make_outcome(0.3, baseline=replace(PLAN, template=Template.STREAM_K))
    assert not resolves(other_way), "the baseline's class has no measured kernel"


def test_the_tail_of_the_error_is_a_second_hurdle() -> None:
    verdicts = [judge_gap(make_outcome(gap), make_spec(), "pipeline") for gap in (0.07, 0.1, 0.21)]
    assert [verdict.resolved for verdict in verdicts] == [False, True, True]
    assert [verdict.exceeds_p90 for verdict in verdicts] == [False, False, True]


def test_nothing_shorter_than_the_shortest_measured_kernel_is_resolved() -> None:
    shortest = min(row.duration_us for row in load_measured())
    assert shortest_measured_us() == shortest
    assert resolves(make_outcome(0.5, baseline_us=shortest * 1.51))
    assert not resolves(make_outcome(0.5, baseline_us=shortest * 1.49))
    assert not resolves(make_outcome(0.5, baseline_us=shortest * 0.9))


def test_without_evidence_no_gap_is_resolved() -> None:
    outcome = make_outcome(9.0)
    assert resolves(outcome)
    assert not judge_gap(outcome, make_spec(), "formula").resolved
    assert not resolves(outcome, measured_on="Ascend950DT_9582")
    assert not resolves(outcome, errors={})


@pytest.mark.parametrize("side", ["baseline", "best"])
@pytest.mark.parametrize("template", [Template.A_FULL, Template.A_PANEL, Template.VECTOR])
def test_templates_that_were_not_measured_resolve_nothing(side: str, template: Template) -> None:
    assert template not in measured_templates()
    changes: Any = {side: replace(PLAN, template=template)}
    assert not resolves(make_outcome(9.0, **changes))


def test_stream_k_was_measured() -> None:
    assert measured_templates() == {Template.ASWT, Template.STREAM_K}
    assert len({(base_m, base_n) for base_m, base_n, _, _ in measured_tiles()}) == 14
    assert {step_k for _, _, _, step_k in measured_tiles()} == {4}


@pytest.mark.parametrize(
    ("changes", "coverage"),
    [
        ({}, Coverage.INSIDE),
        ({"trans_a": True}, Coverage.TRANSPOSED),
        ({"trans_b": True}, Coverage.TRANSPOSED),
        ({"dtype": DType.FP16, "out_dtype": DType.FP16}, Coverage.EXTRAPOLATED),
        ({"out_dtype": DType.FP32}, Coverage.EXTRAPOLATED),
        ({"bias_dtype": DType.BF16}, Coverage.EXTRAPOLATED),
        ({"format_b": Format.NZ, "trans_b": True}, Coverage.EXTRAPOLATED),
    ],
)
def test_coverage_by_the_problem(changes: Any, coverage: Coverage) -> None:
    problem = replace(READ_BOUND, **changes)
    assert select_coverage(make_outcome(0.1, problem=problem)) is coverage


@pytest.mark.parametrize("side", ["baseline", "best"])
@pytest.mark.parametrize(
    "changes",
    [
        {"base_m": 80, "base_n": 80},
        {"base_k": 32},
        {"step_k": 2},
        {"l0c_output": L0cOutput.FIXPIPE},
        {"template": Template.B_FULL},
        {"window_len": 2},
        {"serpentine": False},
    ],
)
def test_coverage_by_the_plans(side: str, changes: Any) -> None:
    problem = replace(READ_BOUND, m=8192)
    sides: Any = {side: replace(PLAN, **changes)}
    assert select_coverage(make_outcome(0.1, problem=problem)) is Coverage.INSIDE
    assert select_coverage(make_outcome(0.1, problem=problem, **sides)) is Coverage.EXTRAPOLATED


def test_a_slab_that_a_short_k_cuts_is_seen_as_the_vendors() -> None:
    short_k = replace(READ_BOUND, k=2 * PLAN.base_k)
    cut = replace(PLAN, step_k=2)
    assert select_coverage(make_outcome(0.1, problem=short_k, best=cut)) is Coverage.INSIDE


def test_a_window_that_walks_like_the_vendors_is_seen() -> None:
    few_rows = replace(READ_BOUND, m=512)
    same_order = replace(PLAN, window_len=2)
    assert select_coverage(make_outcome(0.1, problem=few_rows, best=same_order)) is Coverage.INSIDE
