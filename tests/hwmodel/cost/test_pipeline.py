"""The pipeline model: one implementation, parts that sum up, and directions that must hold."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodel.cost.breakdown import Bound
from hwmodel.cost.pipeline import PipelineEvaluator
from hwmodel.cost.roofline import compute_roofline_us
from hwmodel.dtypes import DType
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, L0cOutput, StreamKOrder, Template
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import hardware_names, load_hardware
from tests.hwmodel.cost.random_plans import problems_with_plans

SPEC = load_hardware("ascend950pr-9589")
PIPELINE = PipelineEvaluator()
EXAMPLES = settings(derandomize=True, deadline=None, max_examples=120)


def predict_us(problem: GemmProblem, plan: KernelPlan, spec: HardwareSpec = SPEC) -> float:
    return PIPELINE.evaluate(problem, spec, plan).task_duration_us


def aswt(problem: GemmProblem, **fields: object) -> KernelPlan:
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


def with_hbm_factor(factor: float) -> HardwareSpec:
    rates = SPEC.rates
    return replace(
        SPEC,
        rates=replace(
            rates,
            hbm_read_total_bytes_per_cycle=rates.hbm_read_total_bytes_per_cycle * factor,
            hbm_write_total_bytes_per_cycle=rates.hbm_write_total_bytes_per_cycle * factor,
        ),
    )


@given(case=problems_with_plans(count=4))
@EXAMPLES
def test_batch_equals_scalar(case: tuple[GemmProblem, tuple[KernelPlan, ...]]) -> None:
    problem, plans = case
    batch = PIPELINE.estimate_us(problem, SPEC, PlanBatch.from_plans(plans))
    assert np.array_equal(batch, [predict_us(problem, plan) for plan in plans])


@given(case=problems_with_plans())
@EXAMPLES
def test_parts_sum_to_a_finite_positive_time(
    case: tuple[GemmProblem, tuple[KernelPlan, ...]],
) -> None:
    problem, (plan,) = case
    cost = PIPELINE.evaluate(problem, SPEC, plan)
    parts = (cost.launch_us, cost.prologue_us, cost.rounds_us, cost.epilogue_us)
    assert all(np.isfinite(part) and part >= 0 for part in parts)
    assert sum(parts) == pytest.approx(cost.task_duration_us, rel=1e-12)
    assert cost.launch_us > 1
    assert cost.rounds >= 1
    assert cost.write_bytes == pytest.approx(problem.c_total_bytes)
    assert cost.l2_read_bytes >= 0


@given(case=problems_with_plans(), factor=st.floats(1.0, 4.0))
@EXAMPLES
def test_more_hbm_bandwidth_is_never_slower(
    case: tuple[GemmProblem, tuple[KernelPlan, ...]], factor: float
) -> None:
    problem, (plan,) = case
    faster = predict_us(problem, plan, with_hbm_factor(factor))
    assert faster <= predict_us(problem, plan) * (1 + 1e-9)


@given(case=problems_with_plans())
@EXAMPLES
def test_no_prediction_of_a_cube_kernel_beats_the_roofline(
    case: tuple[GemmProblem, tuple[KernelPlan, ...]],
) -> None:
    problem, (plan,) = case
    if plan.template not in CUBE_TEMPLATES or problem.k == 0:
        return
    plan = replace(plan, used_core_num=min(plan.used_core_num, SPEC.cores.aic_num))
    assert predict_us(problem, plan) > compute_roofline_us(problem, SPEC)


@given(case=problems_with_plans())
@EXAMPLES
def test_more_macs_per_cycle_are_never_slower_in_long_kernels(
    case: tuple[GemmProblem, tuple[KernelPlan, ...]],
) -> None:
    problem, (plan,) = case
    compute = replace(SPEC.compute, macs_per_cycle_16bit=2 * SPEC.compute.macs_per_cycle_16bit)
    time = predict_us(problem, plan)
    # A shorter L0 step hides less of a store; that is all a faster cube can lose.
    assert predict_us(problem, plan, replace(SPEC, compute=compute)) <= 1.5 * time


@pytest.mark.parametrize("name", hardware_names())
def test_every_chip_gets_a_time(name: str) -> None:
    problem = GemmProblem(m=4096, k=4096, n=4096)
    spec = load_hardware(name)
    plan = aswt(problem, used_core_num=spec.cores.aic_num, base_n=128)
    assert predict_us(problem, plan, spec) > 0.97 * compute_roofline_us(problem, spec)


def test_a_long_batch_of_mixed_templates() -> None:
    problem = GemmProblem(m=300, k=700, n=500)
    plans = [
        aswt(problem, base_m=16 * (1 + number % 16), template=template, single_core_k=350)
        for number in range(30)
        for template in (Template.ASWT, Template.STREAM_K)
    ]
    few = PlanBatch.from_plans(plans)
    many = few.select(np.arange(10_001) % len(plans))
    times = PIPELINE.estimate_us(problem, SPEC, many)
    expected = PIPELINE.estimate_us(problem, SPEC, few)
    assert np.array_equal(times, np.resize(expected, len(many)))


def test_an_empty_batch_has_no_times() -> None:
    problem = GemmProblem(m=16, k=16, n=16)
    empty = PlanBatch.from_plans((aswt(problem),)).select(np.zeros(1, dtype=np.bool_))
    assert PIPELINE.estimate_us(problem, SPEC, empty).shape == (0,)


def test_the_same_call_gives_the_same_bits() -> None:
    problem = GemmProblem(m=1000, k=3000, n=2000)
    assert PIPELINE.evaluate(problem, SPEC, aswt(problem)) == PIPELINE.evaluate(
        problem, SPEC, aswt(problem)
    )


def test_a_compute_bound_kernel_runs_at_the_cubes_pace() -> None:
    problem = GemmProblem(m=8192, k=8192, n=8192)
    cost = PIPELINE.evaluate(problem, SPEC, aswt(problem))
    assert cost.bound is Bound.CUBE
    assert cost.rounds == 32
    assert 1 < cost.task_duration_us / compute_roofline_us(problem, SPEC) < 1.02


def test_a_decode_kernel_is_bound_by_hbm() -> None:
    problem = GemmProblem(m=1, k=4096, n=16384, trans_b=False)
    cost = PIPELINE.evaluate(problem, SPEC, aswt(problem, base_m=16, db_l0c=2))
    assert cost.bound is Bound.MTE2
    assert cost.task_duration_us / compute_roofline_us(problem, SPEC) < 1.1


def test_serpentine_keeps_a_part_of_b_in_l2() -> None:
    problem = GemmProblem(m=8192, k=16384, n=16384)
    with_turns = PIPELINE.evaluate(problem, SPEC, aswt(problem))
    without = PIPELINE.evaluate(problem, SPEC, aswt(problem, serpentine=False))
    assert with_turns.hbm_read_bytes < without.hbm_read_bytes
    assert with_turns.task_duration_us <= without.task_duration_us


def test_a_small_window_reads_a_large_b_more_often() -> None:
    problem = GemmProblem(m=8192, k=8192, n=28672)
    read = [
        PIPELINE.evaluate(problem, SPEC, aswt(problem, window_len=length)).hbm_read_bytes
        for length in (1, 4, 16)
    ]
    assert read[0] > read[1] > read[2]


def test_output_beyond_l2_costs_hbm_writes() -> None:
    small = GemmProblem(m=8192, k=64, n=4096)
    large = replace(small, m=8 * small.m)
    ratio = predict_us(large, aswt(large)) / predict_us(small, aswt(small))
    assert ratio > 10


def test_a_last_round_is_shorter_when_it_is_split() -> None:
    problem = GemmProblem(m=256 * 33, k=2048, n=256)
    whole = predict_us(problem, aswt(problem))
    split = predict_us(problem, aswt(problem, m_tail_cnt=8, n_tail_cnt=4))
    assert split < 0.8 * whole


def test_a_second_l0c_tile_hides_the_store() -> None:
    problem = GemmProblem(m=8192, k=64, n=8192)
    one, two = (aswt(problem, base_m=128, base_k=16, step_k=4, db_l0c=count) for count in (1, 2))
    assert predict_us(problem, two) < predict_us(problem, one)


def test_unaligned_rows_of_c_cost_the_fixpipe() -> None:
    aligned = GemmProblem(m=8192, k=128, n=2048)
    unaligned = replace(aligned, n=2040)
    times = [
        PIPELINE.evaluate(problem, SPEC, aswt(problem)).fixpipe_time_us
        for problem in (aligned, unaligned)
    ]
    assert times[1] > 2 * times[0]


def test_the_way_through_ub_avoids_partial_lines_but_costs_a_launch() -> None:
    problem = GemmProblem(m=65536, k=64, n=1000)
    direct = PIPELINE.evaluate(problem, SPEC, aswt(problem))
    through_ub = PIPELINE.evaluate(
        problem, SPEC, aswt(problem, l0c_output=L0cOutput.FIXPIPE, ub_db=2)
    )
    assert through_ub.launch_us == pytest.approx(
        direct.launch_us + SPEC.fixed.mixed_kernel_extra_us
    )
    assert through_ub.fixpipe_time_us < direct.fixpipe_time_us


def test_fp32_split_k_stores_every_piece() -> None:
    problem = GemmProblem(
        m=4096, k=2048, n=4096, dtype=DType.FP32, out_dtype=DType.FP32, trans_b=False
    )
    plan = aswt(problem, base_m=128, base_n=128, base_k=32)
    shorter = replace(problem, k=1024)
    twice = 2 * PIPELINE.evaluate(shorter, SPEC, plan).fixpipe_time_us
    assert PIPELINE.evaluate(problem, SPEC, plan).fixpipe_time_us == pytest.approx(twice)


def test_base_splits_a_long_k_of_an_fp32_c() -> None:
    problem = GemmProblem(m=512, k=16384, n=512, out_dtype=DType.FP32)
    plan = aswt(problem, template=Template.BASE)
    fixpipe = PIPELINE.evaluate(problem, SPEC, plan).fixpipe_time_us
    assert fixpipe == pytest.approx(
        2 * PIPELINE.evaluate(replace(problem, k=8192), SPEC, plan).fixpipe_time_us
    )


class TestStreamK:
    PROBLEM = GemmProblem(m=1024, k=4096, n=4608)

    def plan(self, order: StreamKOrder) -> KernelPlan:
        return aswt(self.PROBLEM, template=Template.STREAM_K, single_core_k=1024, sk_order=order)

    def test_pieces_are_shorter_than_a_whole_round(self) -> None:
        whole = predict_us(self.PROBLEM, aswt(self.PROBLEM))
        assert predict_us(self.PROBLEM, self.plan(StreamKOrder.VENDOR)) < 0.85 * whole

    def test_a_reduction_hides_behind_the_tiles_after_the_piece(self) -> None:
        epilogues = [
            PIPELINE.evaluate(self.PROBLEM, SPEC, self.plan(order)).epilogue_us
            for order in (StreamKOrder.FIRST, StreamKOrder.VENDOR, StreamKOrder.LAST)
        ]
        assert epilogues[0] == epilogues[1] < epilogues[2]

    def test_the_barrier_is_exposed_without_data_parallel_tiles(self) -> None:
        problem = GemmProblem(m=16, k=8192, n=1024)
        plan = aswt(problem, template=Template.STREAM_K, base_m=16, single_core_k=1024)
        assert PIPELINE.evaluate(problem, SPEC, plan).epilogue_us > SPEC.fixed.stream_k_barrier_us


class TestResidentOperands:
    PROBLEM = GemmProblem(m=64, k=1024, n=65536)

    def plan(self, template: Template, **fields: object) -> KernelPlan:
        plan = aswt(self.PROBLEM, template=template, base_m=64, base_n=128, base_k=64, step_k=2)
        return replace(plan, **fields)  # type: ignore[arg-type]

    def test_a_resident_a_is_loaded_once_per_core(self) -> None:
        streamed = PIPELINE.evaluate(self.PROBLEM, SPEC, self.plan(Template.ASWT))
        resident = PIPELINE.evaluate(self.PROBLEM, SPEC, self.plan(Template.A_FULL))
        assert resident.l2_read_bytes < streamed.l2_read_bytes

    def test_all_slabs_of_a_partial_load_are_a_full_load(self) -> None:
        full = predict_us(self.PROBLEM, self.plan(Template.A_FULL))
        partial = self.plan(Template.A_PARTIAL, resident_slabs=8)
        assert predict_us(self.PROBLEM, partial) == full

    def test_b_templates_mirror_a_templates(self) -> None:
        mirrored = replace(
            self.PROBLEM, m=65536, n=64, trans_a=False, trans_b=True, dtype=DType.BF16
        )
        for a_side, b_side in (
            (Template.A_FULL, Template.B_FULL),
            (Template.A_PARTIAL, Template.B_PARTIAL),
            (Template.A_PANEL, Template.B_PANEL),
        ):
            plan = self.plan(a_side, resident_slabs=3, n_tail_cnt=2)
            mirror = replace(
                plan, template=b_side, base_m=128, base_n=64, m_tail_cnt=2, n_tail_cnt=1
            )
            assert predict_us(mirrored, mirror) == pytest.approx(
                predict_us(self.PROBLEM, plan), rel=1e-9
            )

    def test_four_slots_are_never_slower_than_two(self) -> None:
        two = predict_us(self.PROBLEM, self.plan(Template.A_FULL))
        four = predict_us(self.PROBLEM, self.plan(Template.A_FULL, l1_buffer_num=4))
        assert four <= two

    def test_a_panel_reads_less_of_a(self) -> None:
        problem = GemmProblem(m=8192, k=2048, n=16384)
        plan = aswt(problem, base_m=256, base_n=128, step_k=1)
        panel = replace(plan, template=Template.A_PANEL, resident_slabs=4)
        out_of_step = replace(panel, window_len=3)
        reads = [
            PIPELINE.evaluate(problem, SPEC, one).l2_read_bytes
            for one in (plan, panel, out_of_step)
        ]
        assert reads[1] < 0.95 * reads[0]
        assert reads[2] == pytest.approx(reads[0], rel=0.02)


class TestVectorKernels:
    def test_a_vector_kernel_streams_the_matrix_from_hbm(self) -> None:
        problem = GemmProblem(m=1, k=4096, n=8192, dtype=DType.FP32, out_dtype=DType.FP32)
        plan = aswt(problem, template=Template.VECTOR, base_n=128, base_k=96, used_core_num=64)
        cost = PIPELINE.evaluate(problem, SPEC, plan)
        assert cost.bound in (Bound.MTE2, Bound.VECTOR)
        assert cost.task_duration_us > compute_roofline_us(problem, SPEC) * 0.5
        assert cost.rounds == 1

    def test_sixteen_bit_inputs_need_more_passes(self) -> None:
        fp32 = GemmProblem(m=4096, k=4096, n=1, dtype=DType.FP32, out_dtype=DType.FP32)
        plan = aswt(fp32, template=Template.VECTOR, base_m=64, base_k=128, used_core_num=64)
        bf16 = replace(fp32, dtype=DType.BF16, out_dtype=DType.BF16)
        slow = replace(SPEC, compute=replace(SPEC.compute, vector_lanes_per_cycle=4))
        assert predict_us(bf16, plan, slow) > 1.2 * predict_us(fp32, plan, slow)

    def test_dot_products_are_vector_bound(self) -> None:
        problem = GemmProblem(m=512, k=4096, n=512, dtype=DType.FP32, out_dtype=DType.FP32)
        plan = aswt(problem, template=Template.TO_MULTI_MUL, base_m=64, base_n=64, base_k=64)
        assert PIPELINE.evaluate(problem, SPEC, plan).bound is Bound.VECTOR

    def test_clearing_takes_as_long_as_the_writes(self) -> None:
        problem = GemmProblem(m=65536, k=0, n=16384)
        plan = aswt(problem, template=Template.K_EQUAL_ZERO, used_core_num=64)
        cost = PIPELINE.evaluate(problem, replace(SPEC, calibrations={}), plan)
        beyond = problem.c_total_bytes - SPEC.buffers.l2_bytes
        write_us = SPEC.cycles_to_us(beyond / SPEC.rates.hbm_write_total_bytes_per_cycle)
        assert cost.rounds_us == pytest.approx(write_us, rel=1e-3)


def test_narrow_last_columns_save_time_when_all_cores_meet_them() -> None:
    # Three block columns, the last one narrow: eight columns a round, so every core meets it.
    narrow = GemmProblem(m=24576, k=4096, n=576)
    wide = replace(narrow, n=768)
    assert predict_us(narrow, aswt(narrow)) < 0.95 * predict_us(wide, aswt(wide))
