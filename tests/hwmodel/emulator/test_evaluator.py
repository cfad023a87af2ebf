"""The evaluator `emulator`: parts that sum, batches like single plans, clear refusals."""

from dataclasses import replace

import pytest

from hwmodel.cost.breakdown import Bound
from hwmodel.dtypes import DType
from hwmodel.emulator import evaluator as evaluator_module
from hwmodel.emulator.constants import TICKS_PER_CYCLE
from hwmodel.emulator.engine import emulate
from hwmodel.emulator.evaluator import EmulatorEvaluator, compile_engines, needs_compiling
from hwmodel.emulator.extrapolation import emulate_long
from hwmodel.emulator.spec_constants import constants_from_spec
from hwmodel.emulator.summary import find_bound
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware

SPEC = load_hardware("ascend950pr-9589")
EVALUATOR = EmulatorEvaluator()
PROBLEM = GemmProblem(m=512, k=256, n=1024, dtype=DType.BF16, out_dtype=DType.BF16)
PLAN = KernelPlan(
    template=Template.ASWT,
    base_m=128,
    base_n=128,
    base_k=64,
    step_k=2,
    used_core_num=32,
    window_len=4,
    single_core_k=256,
)
STREAM_K = replace(
    PLAN,
    template=Template.STREAM_K,
    base_m=256,
    base_n=256,
    single_core_k=128,
    used_core_num=16,
)


@pytest.mark.parametrize(
    "plan",
    [
        PLAN,
        replace(PLAN, used_core_num=8),
        replace(PLAN, l0c_output=L0cOutput.FIXPIPE),
        STREAM_K,
        replace(STREAM_K, l0c_output=L0cOutput.FIXPIPE),
    ],
)
def test_the_parts_sum_to_the_makespan(plan: KernelPlan) -> None:
    cost = EVALUATOR.evaluate(PROBLEM, SPEC, plan)
    parts = (cost.launch_us, cost.prologue_us, cost.rounds_us, cost.epilogue_us)
    assert all(part > 0 for part in parts)
    assert sum(parts) == pytest.approx(cost.task_duration_us, rel=1e-12)
    result = emulate(PROBLEM, plan, constants_from_spec(SPEC))
    cycles = result.makespan_ticks / TICKS_PER_CYCLE
    assert cost.task_duration_us == SPEC.cycles_to_us(cycles)
    assert cost.hbm_read_bytes + cost.l2_read_bytes == result.load_bytes
    assert cost.write_bytes == result.store_bytes


def test_rounds_and_bound_are_those_of_the_busiest_core() -> None:
    assert EVALUATOR.evaluate(PROBLEM, SPEC, PLAN).rounds == 1
    assert EVALUATOR.evaluate(PROBLEM, SPEC, replace(PLAN, used_core_num=8)).rounds == 4
    tiny = GemmProblem(m=16, k=16, n=16, dtype=DType.BF16, out_dtype=DType.BF16)
    plan = replace(PLAN, base_m=16, base_n=16, used_core_num=1, single_core_k=16)
    assert EVALUATOR.evaluate(tiny, SPEC, plan).bound is Bound.LAUNCH
    deep = replace(PROBLEM, k=8192)
    bound = EVALUATOR.evaluate(deep, SPEC, replace(PLAN, single_core_k=8192)).bound
    assert bound is Bound.MTE2
    # `autotune emulate` decides by the same rule.
    constants = constants_from_spec(SPEC)
    for plan in (PLAN, STREAM_K, replace(PLAN, l0c_output=L0cOutput.FIXPIPE)):
        result = emulate(PROBLEM, plan, constants)
        bound = find_bound(result, plan, constants)
        assert EVALUATOR.evaluate(PROBLEM, SPEC, plan).bound is bound


def test_a_batch_is_as_its_plans_and_equal_ones_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    alike = replace(PLAN, ub_db=2)  # ub_db counts only with the fixpipe output
    plans = [PLAN, alike, replace(PLAN, base_m=64), STREAM_K]
    runs: list[KernelPlan] = []

    def count(problem: GemmProblem, plan: KernelPlan, constants: object) -> object:
        runs.append(plan)
        return emulate_long(problem, plan, constants)  # type: ignore[arg-type]

    monkeypatch.setattr(evaluator_module, "emulate_long", count)
    times = EVALUATOR.estimate_us(PROBLEM, SPEC, PlanBatch.from_plans(plans))
    assert len(runs) == len(plans) - 1
    assert times.tolist() == [
        EVALUATOR.evaluate(PROBLEM, SPEC, plan).task_duration_us for plan in plans
    ]


@pytest.mark.parametrize(
    ("problem", "template"),
    [
        (GemmProblem(m=1, k=64, n=4096, dtype=DType.BF16, out_dtype=DType.BF16), Template.VECTOR),
        (replace(PROBLEM, k=0), Template.K_EQUAL_ZERO),
    ],
)
def test_kernels_of_the_vector_cores(problem: GemmProblem, template: Template) -> None:
    plan = replace(PLAN, template=template, base_m=1, base_n=64, base_k=64, used_core_num=64)
    cost = EVALUATOR.evaluate(problem, SPEC, plan)
    assert cost.launch_us + cost.rounds_us == pytest.approx(cost.task_duration_us, rel=1e-12)
    assert cost.prologue_us == cost.epilogue_us == cost.cube_time_us == 0
    batch = EVALUATOR.estimate_us(problem, SPEC, PlanBatch.from_plans((plan,)))
    assert batch.tolist() == [cost.task_duration_us]


def test_the_engines_are_compiled_once() -> None:
    compile_engines(SPEC)
    assert not needs_compiling()


def test_a_kernel_too_long_for_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = EVALUATOR.evaluate(PROBLEM, SPEC, replace(PLAN, used_core_num=8))
    monkeypatch.setattr(evaluator_module, "LONG_EVENTS", 10)
    long = EVALUATOR.evaluate(PROBLEM, SPEC, replace(PLAN, used_core_num=8))
    assert long.task_duration_us == exact.task_duration_us
    assert long.launch_us + long.rounds_us == pytest.approx(long.task_duration_us, rel=1e-12)
    assert long.rounds == exact.rounds
    assert long.launch_us == exact.launch_us
