"""First and last items of a core, stream-K's workspace, bias, and neighbours of a shape."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodel.cost.breakdown import CostBreakdown
from hwmodel.cost.pipeline import PipelineEvaluator
from hwmodel.dtypes import DType
from hwmodel.integers import FRACTAL, ceil_div
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware

SPEC = load_hardware("ascend950pr-9589")
PIPELINE = PipelineEvaluator()
CORES = SPEC.cores.aic_num
SAME_GRID_TOLERANCE = 0.06
EXTRA_STEP = 0.25
LARGEST_DROP = 0.05


def plan_of(problem: GemmProblem, **fields: object) -> KernelPlan:
    plan = KernelPlan(
        template=Template.ASWT,
        base_m=256,
        base_n=256,
        base_k=64,
        step_k=4,
        single_core_k=problem.k,
        used_core_num=CORES,
    )
    plan = replace(plan, **fields)  # type: ignore[arg-type]
    return replace(plan, used_core_num=min(CORES, plan.m_tiles(problem) * plan.n_tiles(problem)))


def evaluate(problem: GemmProblem, plan: KernelPlan) -> CostBreakdown:
    return PIPELINE.evaluate(problem, SPEC, plan)


def predict_us(problem: GemmProblem, plan: KernelPlan) -> float:
    return evaluate(problem, plan).task_duration_us


class TestLastStore:
    """A store is on the time line once: exposed between two items, or after the last one."""

    def test_of_one_round(self) -> None:
        problem = GemmProblem(m=1536, k=64, n=521)
        cost = evaluate(problem, plan_of(problem, base_n=128))
        assert cost.task_duration_us < cost.launch_us + 1.2 * cost.fixpipe_time_us

    @pytest.mark.parametrize("rounds", [1, 2, 3])
    def test_of_several_rounds(self, rounds: int) -> None:
        problem = GemmProblem(m=256 * CORES * rounds, k=64, n=255)
        cost = evaluate(problem, plan_of(problem))
        assert cost.rounds == rounds
        assert cost.task_duration_us < cost.launch_us + cost.fixpipe_time_us + 1.5

    def test_of_a_split_last_round(self) -> None:
        problem = GemmProblem(m=256 * (CORES + 1), k=64, n=255)
        cost = evaluate(problem, plan_of(problem, m_tail_cnt=4))
        assert cost.task_duration_us < cost.launch_us + cost.fixpipe_time_us + 1.5

    @pytest.mark.parametrize("columns", [2, 2 * CORES])
    def test_of_resident_blocks(self, columns: int) -> None:
        problem = GemmProblem(m=256, k=64, n=255 * columns)
        plan = plan_of(problem, template=Template.A_FULL, base_m=128, base_n=255)
        cost = evaluate(problem, plan)
        assert cost.task_duration_us < cost.launch_us + cost.fixpipe_time_us + 1.5

    def test_a_short_last_round_does_not_end_before_the_store_of_the_others(self) -> None:
        without = GemmProblem(m=256 * CORES, k=64, n=255)
        with_one_row = replace(without, m=without.m + 1)
        assert predict_us(with_one_row, plan_of(with_one_row)) >= predict_us(
            without, plan_of(without)
        )


class TestStreamKWorkspace:
    @pytest.mark.parametrize("template_output", tuple(L0cOutput))
    def test_an_odd_width_costs_next_to_nothing(self, template_output: L0cOutput) -> None:
        times = []
        for n in (254, 255, 256):
            problem = GemmProblem(m=256, k=16384, n=n)
            plan = plan_of(problem, template=Template.STREAM_K, l0c_output=template_output)
            times.append(predict_us(problem, replace(plan, single_core_k=512, used_core_num=32)))
        assert max(times) < 1.01 * min(times)

    def test_a_slot_is_one_run(self) -> None:
        problem = GemmProblem(m=512, k=4096, n=1, trans_b=False)
        plan = plan_of(problem, template=Template.STREAM_K, base_n=16)
        cost = evaluate(problem, replace(plan, single_core_k=256, used_core_num=32))
        assert cost.fixpipe_time_us < 0.1


class TestBias:
    PROBLEM = GemmProblem(m=4096, k=64, n=4096)

    @pytest.mark.parametrize(
        "template", [Template.ASWT, Template.A_FULL, Template.B_FULL, Template.B_PANEL]
    )
    def test_every_template_loads_it(self, template: Template) -> None:
        plan = plan_of(self.PROBLEM, template=template, base_m=128, base_n=128, resident_slabs=1)
        without, bias = (
            evaluate(replace(self.PROBLEM, bias_dtype=dtype), plan) for dtype in (None, DType.FP32)
        )
        assert bias.task_duration_us > without.task_duration_us
        assert bias.task_duration_us < 1.1 * without.task_duration_us
        assert bias.hbm_read_bytes == pytest.approx(without.hbm_read_bytes + 4 * self.PROBLEM.n)

    def test_a_full_load_of_b_keeps_it(self) -> None:
        plan = plan_of(self.PROBLEM, template=Template.B_FULL, base_m=128)
        without, bias = (
            evaluate(replace(self.PROBLEM, bias_dtype=dtype), plan) for dtype in (None, DType.FP32)
        )
        more_bytes = plan.used_core_num * 4 * self.PROBLEM.n
        assert bias.l2_read_bytes + bias.hbm_read_bytes == pytest.approx(
            without.l2_read_bytes + without.hbm_read_bytes + more_bytes
        )

    def test_a_vector_kernel_loads_it(self) -> None:
        row = GemmProblem(m=1, k=512, n=4096, dtype=DType.FP32, out_dtype=DType.FP32)
        plan = plan_of(row, template=Template.VECTOR, base_n=64, used_core_num=64)
        assert predict_us(replace(row, bias_dtype=DType.FP32), plan) > predict_us(row, plan)


class TestLastRound:
    def test_a_narrow_last_column_makes_a_short_last_round(self) -> None:
        full = GemmProblem(m=256, k=4096, n=256 * (CORES + 1))
        narrow = replace(full, n=256 * CORES + 16)
        plan = plan_of(full)
        extra = predict_us(narrow, plan) - predict_us(replace(full, n=256 * CORES), plan)
        whole = predict_us(full, plan) - predict_us(replace(full, n=256 * CORES), plan)
        assert 0 < extra < 0.7 * whole

    def test_a_walk_that_ends_on_the_left_ends_with_a_whole_block(self) -> None:
        # Windows of four and five block rows; the second runs backwards, serpentine. The last
        # round has three of 99 blocks.
        problem = GemmProblem(m=256 * 9, k=4096, n=256 * 10 + 16)
        plan = plan_of(problem, window_len=4)
        forward = replace(plan, serpentine=False)
        assert predict_us(problem, forward) < predict_us(problem, plan)

    def test_more_pieces_than_cores_share_the_first_touches(self) -> None:
        problem = GemmProblem(m=16, k=8192, n=256 * (CORES - 1))
        plan = plan_of(problem, template=Template.STREAM_K, base_m=16)
        plan = replace(plan, used_core_num=CORES)
        whole, pieces = (
            predict_us(problem, replace(plan, single_core_k=length)) for length in (8192, 1024)
        )
        assert pieces < 1.05 * whole


def count_fractals(problem: GemmProblem) -> tuple[int, int]:
    """Fractals of a row and of a column of C."""
    return ceil_div(problem.m, FRACTAL), ceil_div(problem.n, FRACTAL)


odd = st.integers(8, 2000).map(lambda half: 2 * half + 1)


@given(
    m=st.integers(1, 4000),
    k=odd,
    n=odd,
    base=st.sampled_from(((256, 256), (128, 256), (256, 128), (128, 128), (64, 128))),
    axis=st.sampled_from("mkn"),
    stream=st.booleans(),
)
@settings(derandomize=True, deadline=None, max_examples=250)
def test_a_neighbour_takes_about_as_long(
    m: int, k: int, n: int, base: tuple[int, int], axis: str, stream: bool
) -> None:
    """One row or two columns more (so that alignment stays): no drop, and no jump but by a step.

    Within one grid of blocks, fractals and steps the time is almost the same; a further step may
    cost a latency; a further block row or column may cost an item on every core that has one.
    """
    problem = GemmProblem(m=m, k=k, n=n)
    more = {"m": 1, "k": 0, "n": 0} if axis == "m" else {"m": 0, "k": 0, "n": 0, axis: 2}
    neighbour = GemmProblem(m=m + more["m"], k=k + more["k"], n=n + more["n"])
    before, after = (
        evaluate(
            one,
            plan_of(
                one,
                base_m=base[0],
                base_n=base[1],
                template=Template.STREAM_K if stream else Template.ASWT,
                single_core_k=-(-one.k // 4) if stream else one.k,
            ),
        )
        for one in (problem, neighbour)
    )
    ratio = after.task_duration_us / before.task_duration_us
    plan = plan_of(problem, base_m=base[0], base_n=base[1])
    is_same = all(
        count(problem) == count(neighbour)
        for count in (plan.m_tiles, plan.n_tiles, count_fractals, lambda one: -(-one.k // 64))
    )
    if is_same:
        assert abs(ratio - 1) <= SAME_GRID_TOLERANCE
    elif axis == "k":
        assert 1 - SAME_GRID_TOLERANCE <= ratio <= 1 + EXTRA_STEP
    else:
        assert 1 - LARGEST_DROP <= ratio <= 1 + after.rounds / before.rounds
