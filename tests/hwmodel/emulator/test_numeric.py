"""The numbers of a kernel: order of additions, rounding of inputs and output, error bounds."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hwmodel.dtypes import DType, Format
from hwmodel.emulator.numeric import (
    NumericResult,
    cast_output,
    compute_numeric,
    round_to,
    round_to_bf16,
)
from hwmodel.errors import InputError
from hwmodel.plan import KernelPlan, L0cOutput, StreamKOrder, Template
from hwmodel.problem import GemmProblem
from hwmodel.walk import walk
from tests.hwmodel.emulator.random_cases import TEMPLATES, make_case

Array = NDArray[np.floating[Any]]

UNIT = 2.0**-24
"""Unit roundoff of fp32."""

MANTISSA_BITS = {DType.FP16: 10, DType.BF16: 7, DType.FP32: 23}
LEAST_EXPONENT = {DType.FP16: -14, DType.BF16: -126, DType.FP32: -126}

PROBLEM = GemmProblem(m=40, k=200, n=56)

PLAN = KernelPlan(
    template=Template.ASWT,
    base_m=32,
    base_n=32,
    base_k=16,
    step_k=2,
    single_core_k=200,
    used_core_num=4,
)


def make_inputs(problem: GemmProblem, seed: int = 0) -> tuple[Array, Array, Array | None]:
    """Operands as they are stored, and the bias, with magnitudes far apart."""
    rng = np.random.default_rng(seed)

    def numbers(*shape: int) -> Array:
        scaled: Array = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 6, shape)
        return scaled

    a = numbers(problem.k, problem.m) if problem.trans_a else numbers(problem.m, problem.k)
    b = numbers(problem.n, problem.k) if problem.trans_b else numbers(problem.k, problem.n)
    return a, b, numbers(problem.n) if problem.bias_dtype is not None else None


def run(problem: GemmProblem, plan: KernelPlan, seed: int = 0) -> NumericResult:
    a, b, bias = make_inputs(problem, seed)
    return compute_numeric(problem, plan, a, b, bias)


def exact(problem: GemmProblem, seed: int = 0) -> tuple[Array, Array]:
    """C of the rounded inputs, and the sum of magnitudes, both in float64."""
    a, b, bias = make_inputs(problem, seed)
    left = round_to(a, problem.dtype).astype(np.float64)
    right = round_to(b, problem.dtype).astype(np.float64)
    left = left.T if problem.trans_a else left
    right = right.T if problem.trans_b else right
    c, magnitude = left @ right, np.abs(left) @ np.abs(right)
    if bias is not None and problem.bias_dtype is not None:
        added = round_to(bias, problem.bias_dtype).astype(np.float64)
        c, magnitude = c + added, magnitude + np.abs(added)
    return c, magnitude


def one_ulp(values: Array, dtype: DType) -> Array:
    exponent = np.maximum(np.frexp(values)[1] - 1, LEAST_EXPONENT[dtype])
    ulps: Array = 2.0 ** (exponent - MANTISSA_BITS[dtype])
    return ulps


def check_errors(problem: GemmProblem, result: NumericResult, seed: int = 0) -> None:
    c, magnitude = exact(problem, seed)
    bound = problem.k * UNIT * magnitude
    assert (np.abs(result.accumulated - c) <= bound).all()
    limit = bound + one_ulp(c, problem.out_dtype)
    assert (np.abs(result.c.astype(np.float64) - c) <= limit).all()


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("seed", range(6))
def test_error_is_bounded(template: Template, seed: int) -> None:
    problem, plan, _ = make_case(template, 5000 + seed)
    check_errors(problem, run(problem, plan, seed), seed)


def add_in_order(problem: GemmProblem, bounds: list[tuple[int, int]]) -> Array:
    """C added up element by element: each range of K on its own, the sums in order."""
    a, b, bias = make_inputs(problem)
    left, right = round_to(a, problem.dtype), round_to(b, problem.dtype)
    left = left.T if problem.trans_a else left
    right = right.T if problem.trans_b else right
    total = None
    for first, last in bounds:
        part = np.zeros((problem.m, problem.n), np.float32)
        if first == 0 and bias is not None and problem.bias_dtype is not None:
            part = part + round_to(bias, problem.bias_dtype)
        for k in range(first, last):
            part = part + np.outer(left[:, k], right[k])
        total = part if total is None else total + part
    assert total is not None
    assert total.dtype == np.float32
    return total


@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("bias_dtype", [None, DType.FP32, DType.BF16])
def test_k_is_added_up_in_order(trans_a: bool, trans_b: bool, bias_dtype: DType | None) -> None:
    problem = replace(PROBLEM, trans_a=trans_a, trans_b=trans_b, bias_dtype=bias_dtype)
    result = run(problem, PLAN)
    assert np.array_equal(result.accumulated, add_in_order(problem, [(0, 200)]))
    assert np.array_equal(result.c, round_to_bf16(result.accumulated))


SAME_K_ORDER = [
    replace(PLAN, base_m=16, base_n=48),
    replace(PLAN, base_k=64, step_k=1),
    replace(PLAN, window_len=1, serpentine=False, used_core_num=3),
    replace(PLAN, base_m=48, base_n=48, m_tail_cnt=2),
    replace(PLAN, l0c_output=L0cOutput.FIXPIPE),
    replace(PLAN, template=Template.BASE),
    replace(PLAN, template=Template.A_FULL, used_core_num=2),
    replace(PLAN, template=Template.B_FULL, used_core_num=2),
    replace(PLAN, template=Template.A_PARTIAL, resident_slabs=3, used_core_num=2),
    replace(PLAN, template=Template.B_PARTIAL, resident_slabs=3, used_core_num=2),
    replace(PLAN, template=Template.A_PANEL, resident_slabs=2),
    replace(PLAN, template=Template.B_PANEL, resident_slabs=2),
]


@pytest.mark.parametrize("plan", SAME_K_ORDER, ids=lambda plan: str(plan.template))
@pytest.mark.parametrize("dtype", DType)
def test_same_k_order_gives_the_same_bits(plan: KernelPlan, dtype: DType) -> None:
    problem = replace(PROBLEM, dtype=dtype, out_dtype=dtype, bias_dtype=DType.FP32)
    expected, found = run(problem, PLAN), run(problem, plan)
    assert np.array_equal(expected.accumulated, found.accumulated)
    assert np.array_equal(expected.c, found.c)


@pytest.mark.parametrize("sk_order", StreamKOrder)
@pytest.mark.parametrize("l0c_output", L0cOutput)
def test_stream_k_adds_its_slots_in_order(sk_order: StreamKOrder, l0c_output: L0cOutput) -> None:
    # 2 x 2 tiles on 3 cores: three whole ones, then the fourth in three pieces of K.
    problem = replace(PROBLEM, bias_dtype=DType.FP16)
    plan = replace(
        PLAN,
        template=Template.STREAM_K,
        used_core_num=3,
        single_core_k=80,
        sk_order=sk_order,
        l0c_output=l0c_output,
    )
    schedule = walk(problem, plan)
    result = run(problem, plan).accumulated
    whole = add_in_order(problem, [(0, 200)])
    split = add_in_order(problem, [(0, 80), (80, 160), (160, 200)])
    tile = schedule.tile(3)
    rows = slice(tile.m_off, tile.m_off + tile.blk_m)
    columns = slice(tile.n_off, tile.n_off + tile.blk_n)
    expected = whole.copy()
    expected[rows, columns] = split[rows, columns]
    assert np.array_equal(result, expected)
    # The order of additions is seen in the numbers at all.
    assert not np.array_equal(whole[rows, columns], split[rows, columns])


FP32 = GemmProblem(
    m=20, k=3000, n=24, dtype=DType.FP32, out_dtype=DType.FP32, bias_dtype=DType.FP32
)


def test_fp32_slices_are_added_in_c() -> None:
    # 1024 + 1976: a slice is 1024 long, the last one takes the rest.
    plan = replace(PLAN, base_k=64, step_k=4, single_core_k=3000, used_core_num=1)
    result = run(FP32, plan)
    slices = add_in_order(FP32, [(0, 1024), (1024, 3000)])
    assert np.array_equal(result.accumulated, slices)
    assert np.array_equal(result.c, slices)
    in_one = run(FP32, replace(plan, template=Template.A_FULL)).c
    assert np.array_equal(in_one, add_in_order(FP32, [(0, 3000)]))
    assert not np.array_equal(in_one, slices)
    check_errors(FP32, result)


def test_base_cuts_k_evenly_for_an_fp32_result() -> None:
    problem = GemmProblem(m=16, k=9000, n=16, out_dtype=DType.FP32)
    plan = replace(PLAN, template=Template.BASE, base_k=256, single_core_k=9000, used_core_num=1)
    expected = add_in_order(problem, [(0, 4544), (4544, 9000)])
    assert np.array_equal(run(problem, plan).c, expected)


def test_stream_k_slices_are_added_in_their_slot() -> None:
    problem = replace(FP32, k=5000)
    plan = replace(
        PLAN, template=Template.STREAM_K, base_k=64, step_k=4, single_core_k=2500, used_core_num=2
    )
    # Slices of each piece first, then the two slots.
    a, b, bias = make_inputs(problem)
    assert bias is not None
    result = compute_numeric(problem, plan, a, b, bias)
    halves = [
        compute_numeric(
            replace(problem, k=2500, bias_dtype=None if at else DType.FP32),
            replace(plan, template=Template.ASWT, used_core_num=1),
            a[:, at : at + 2500],
            b[:, at : at + 2500],
            None if at else bias,
        ).c
        for at in (0, 2500)
    ]
    assert np.array_equal(result.c, halves[0] + halves[1])
    check_errors(problem, result)


def test_nz_holds_the_same_numbers() -> None:
    nz = replace(PROBLEM, format_b=Format.NZ)
    plan = replace(PLAN, base_n=48, n_tail_cnt=2, used_core_num=3)
    assert np.array_equal(run(nz, plan).c, run(PROBLEM, PLAN).c)


def test_bf16_rounds_half_to_even() -> None:
    one, up = 1.0, 2.0**-7
    cases = {
        one + up / 2: one,
        one + up * 1.5: one + 2 * up,
        one + up * 0.501: one + up,
        -(one + up / 2): -one,
        3.4e38: np.inf,
        -np.inf: -np.inf,
        1e-45: 0.0,
        0.0: 0.0,
    }
    rounded = round_to_bf16(np.array(list(cases), np.float32))
    assert rounded.tolist() == list(cases.values())
    # A NaN with low bits only stays a NaN.
    nan = np.array([0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    assert np.isnan(round_to_bf16(nan)).all()


def test_bf16_rounds_to_the_nearest_everywhere() -> None:
    bits = np.random.default_rng(1).integers(0, 0x7F000000, 20000, dtype=np.uint32)
    values = bits.view(np.float32)
    rounded = round_to_bf16(values).view(np.uint32)
    assert (rounded & np.uint32(0xFFFF) == 0).all()
    low, high = bits & np.uint32(0xFFFF0000), (bits | np.uint32(0xFFFF)) + np.uint32(1)
    down, up = bits - low, high - bits
    expected = np.where(down < up, low, np.where(up < down, high, rounded))
    assert np.array_equal(rounded, expected)


def test_output_types() -> None:
    values = np.array([1e6, 1.0 + 2.0**-11, 1.0 + 3 * 2.0**-11], np.float32)
    half = cast_output(values, DType.FP16)
    assert half.dtype == np.float16
    assert half.tolist() == [np.inf, 1.0, 1.0 + 2.0**-9]
    single = cast_output(values, DType.FP32)
    assert single.dtype == np.float32
    assert single is not values
    assert np.array_equal(single, values)


def test_overflow_is_no_warning() -> None:
    problem = GemmProblem(m=1, k=2, n=1, dtype=DType.FP32, out_dtype=DType.FP32)
    plan = replace(PLAN, single_core_k=2, used_core_num=1)
    huge = np.full((1, 2), 3e38)
    result = compute_numeric(problem, plan, huge, np.array([[3e38, -3e38]]))
    assert np.isnan(result.c).all()


def test_wrong_input_is_refused() -> None:
    a, b, _ = make_inputs(PROBLEM)
    with pytest.raises(InputError, match=r"a has shape .*must be \(40, 200\)"):
        compute_numeric(PROBLEM, PLAN, a.T, b)
    with pytest.raises(InputError, match=r"b has shape .*must be \(56, 200\)"):
        compute_numeric(PROBLEM, PLAN, a, b[:-1])
    with pytest.raises(InputError, match="no bias"):
        compute_numeric(PROBLEM, PLAN, a, b, np.zeros(56))
    biased = replace(PROBLEM, bias_dtype=DType.FP32)
    with pytest.raises(InputError, match=r"bias has shape None: must be \(56,\)"):
        compute_numeric(biased, PLAN, a, b)
    with pytest.raises(InputError, match=r"bias has shape \(55,\)"):
        compute_numeric(biased, PLAN, a, b, np.zeros(55))
    with pytest.raises(InputError, match="vector cores"):
        compute_numeric(PROBLEM, replace(PLAN, template=Template.TO_MULTI_MUL), a, b)
