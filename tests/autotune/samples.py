"""Result rows and inputs for tests of files, tables and run directories."""

from dataclasses import replace

from autotune.results import ComparedPlans, Coverage, PlanResult, ResultRow, RowStatus
from autotune.run_inputs import ResolvedOptions, RunInputs
from hwmodel.dtypes import DType, Format
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from studies.search import Effort, SearchOptions
from studies.shape_rows import ShapeRow

PLAN = KernelPlan(
    template=Template.ASWT,
    base_m=256,
    base_n=256,
    base_k=64,
    step_k=4,
    window_len=4,
    single_core_k=4096,
    used_core_num=32,
)
BETTER_PLAN = replace(PLAN, base_m=128, window_len=8, serpentine=False, db_l0c=2)
EXPRESSIBLE_PLAN = replace(PLAN, base_m=128, db_l0c=2)


def compared_plans() -> ComparedPlans:
    return ComparedPlans(
        strategy="BASIC_ASWT",
        baseline=PlanResult(plan=PLAN, predicted_us=110.0, bound="mte2", roofline_ratio=0.5),
        best=PlanResult(
            plan=BETTER_PLAN, predicted_us=100.0, bound="cube", roofline_ratio=0.1 + 0.2
        ),
        best_expressible=PlanResult(
            plan=EXPRESSIBLE_PLAN, predicted_us=104.0, bound="cube", roofline_ratio=0.25
        ),
        best_inexpressible_field="window_len",
        gap_ratio=0.1,
        expressible_gap_ratio=0.05,
        resolved=True,
        exceeds_p90=False,
        error_class="read_bound",
        best_error_class="compute_bound",
        coverage=Coverage.TRANSPOSED,
        roofline_us=55.0,
        ties_within_1pct=7,
        evaluations=1234,
        regret_ratio=0.0,
        violations=("l1: 600000 > 524288", "l0a: 70000 > 65536"),
        rejected={"l1": 3, "l0c": 12},
        certificate="every legal point was covered",
    )


def result_row(name: str = "square", index: int = 0) -> ResultRow:
    return ResultRow(
        index=index,
        name=name,
        problem=GemmProblem(m=4096, k=4096, n=4096, format_b=Format.NZ, bias_dtype=DType.FP32),
        weight=0.25,
        tag="",
        model="Llama",
        layer="qkv",
        phase="prefill",
        tp=8,
        tokens=2048,
        measured_us=None,
        status=RowStatus.OK,
        message="",
        compared=compared_plans(),
    )


def rejected_row(index: int = 1) -> ResultRow:
    return replace(
        result_row(index=index),
        name="refused",
        tp=None,
        measured_us=12.5,
        status=RowStatus.REJECTED,
        message="dtype_combination (ValidateDtype): not this type",
        compared=None,
    )


def fixpipe_plan() -> KernelPlan:
    return replace(
        PLAN, template=Template.B_FULL, l0c_output=L0cOutput.FIXPIPE, window_len=1, step_k=1
    )


def run_inputs(*, seed: int = 0, m: int = 64) -> RunInputs:
    problems = (GemmProblem(m=m, k=64, n=64), GemmProblem(m=32, k=64, n=64))
    return RunInputs(
        rows=tuple(
            ShapeRow(index=index, name=f"shape {index}", problem=problems[index % 2])
            for index in range(3)
        ),
        spec=load_hardware("ascend950pr-9589"),
        options=SearchOptions(strategy="random", effort=Effort.QUICK, trials=10, seed=seed),
        as_950=False,
        model_version="1",
    )


def resolved_options(*, seed: int = 0) -> ResolvedOptions:
    return ResolvedOptions(
        shapes="dir/some shapes.csv",
        hw="ascend950pr-9589",
        as_950=False,
        study="tiles",
        strategy="random",
        evaluator="pipeline",
        effort="quick",
        trials=10,
        seed=seed,
    )
