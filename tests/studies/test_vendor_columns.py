from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baseline.aswt import compute_aswt
from baseline.base_k import choose_base_k as choose_base_k_scalar
from baseline.decision import decide
from baseline.l1_tiling import compute_step_k, compute_tail_split
from baseline.platform import Platform
from hwmodel.dtypes import DType
from hwmodel.errors import RejectedError
from hwmodel.footprint import compute_resident_a_bytes, compute_resident_b_bytes
from hwmodel.plan import KernelPlan, L0cOutput, Template, canonical_plan
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from studies.vendor_columns import (
    Tiles,
    choose_base_k,
    choose_db_l0c,
    choose_fixpipe,
    choose_full_load_k,
    choose_step_k,
    choose_tails,
    choose_ub_db,
    compute_blocks,
)

SPEC = load_hardware("ascend950pr-9589")
PLATFORM = Platform.from_spec(SPEC)
SIDES = [16, 48, 64, 128, 208, 256, 304, 512, 1024]
STEPS_STATED = 4


def all_tiles(template: Template = Template.ASWT) -> Tiles:
    base_m, base_n = (side.ravel() for side in np.meshgrid(SIDES, SIDES))
    return Tiles(template, base_m.astype(np.int64), base_n.astype(np.int64))


def one_tile(plan: KernelPlan) -> Tiles:
    return Tiles(plan.template, np.array([plan.base_m]), np.array([plan.base_n]))


problems = st.builds(
    lambda m, k, n, trans_a, trans_b, dtype, bias: GemmProblem(
        m=m,
        k=k,
        n=n,
        trans_a=trans_a,
        trans_b=trans_b,
        dtype=dtype,
        out_dtype=dtype,
        bias_dtype=dtype if bias else None,
    ),
    m=st.integers(1, 20000),
    k=st.integers(1, 5000),
    n=st.integers(1, 20000),
    trans_a=st.booleans(),
    trans_b=st.booleans(),
    dtype=st.sampled_from([DType.BF16, DType.FP32]),
    bias=st.booleans(),
)
repeatable = settings(derandomize=True, deadline=None, max_examples=60)


@given(problem=problems)
@repeatable
def test_base_k_and_tails_equal_the_scalar_rules(problem: GemmProblem) -> None:
    tiles = all_tiles()
    base_k = choose_base_k(problem, SPEC, tiles)
    m_tail, n_tail = choose_tails(problem, SPEC, tiles)
    start = 128 // problem.dtype.size_bytes
    for row, (m, n) in enumerate(zip(tiles.base_m, tiles.base_n, strict=True)):
        scalar = choose_base_k_scalar(problem, PLATFORM, int(m), int(n), start)
        assert base_k[row] == max(scalar, 16)
        tails = compute_tail_split(problem, PLATFORM, int(m), int(n), None)
        assert (m_tail[row], n_tail[row]) == tails


@given(problem=problems)
@repeatable
def test_steps_under_fixpipe_equal_the_scalar_rule(problem: GemmProblem) -> None:
    tiles = all_tiles()
    base_k = choose_base_k(problem, SPEC, tiles)
    everywhere = np.ones(len(tiles), dtype=np.bool_)
    steps = choose_step_k(problem, SPEC, tiles, base_k, everywhere)
    for row, (m, n) in enumerate(zip(tiles.base_m, tiles.base_n, strict=True)):
        scalar = compute_step_k(problem, PLATFORM, int(m), int(n), int(base_k[row]), None)
        assert steps[row] == min(scalar, STEPS_STATED)


@given(problem=problems)
@settings(derandomize=True, deadline=None, max_examples=300)
def test_the_vendors_own_tile_gets_the_vendors_own_plan(problem: GemmProblem) -> None:
    try:
        plan = canonical_plan(problem, decide(problem, SPEC).plan)
    except RejectedError:
        return
    if plan.template is not Template.ASWT:
        return
    tile = one_tile(plan)
    fixpipe = choose_fixpipe(problem, SPEC, tile)
    base_k = choose_base_k(problem, SPEC, tile)
    steps = choose_step_k(problem, SPEC, tile, base_k, fixpipe)
    (m_tail,), (n_tail,) = choose_tails(problem, SPEC, tile)
    all_steps = -(-problem.k // 16) * 16 // int(base_k[0])
    uses_ub = plan.l0c_output is L0cOutput.FIXPIPE
    assert bool(fixpipe[0]) == uses_ub
    assert base_k[0] == plan.base_k
    assert min(int(steps[0]), max(1, all_steps + 1)) >= plan.step_k
    assert choose_db_l0c(SPEC, tile)[0] == plan.db_l0c
    assert (m_tail, n_tail) == (plan.m_tail_cnt, plan.n_tail_cnt)
    if uses_ub:
        assert choose_ub_db(SPEC, tile)[0] == plan.ub_db


@pytest.mark.parametrize(
    "problem",
    [
        GemmProblem(m=16, k=4096, n=20000),
        GemmProblem(m=16, k=1024, n=152064, trans_b=False),
        GemmProblem(m=64, k=1024, n=30000),
        GemmProblem(m=40, k=777, n=30000, bias_dtype=DType.BF16),
        GemmProblem(m=28096, k=64, n=1792),
        GemmProblem(m=60000, k=1024, n=48, trans_a=True),
        GemmProblem(m=60000, k=320, n=200, bias_dtype=DType.FP32),
    ],
)
def test_full_load_rule_equals_the_vendors_where_the_tile_is_the_vendors(
    problem: GemmProblem,
) -> None:
    plan = canonical_plan(problem, decide(problem, SPEC).plan)
    assert plan.template in {Template.A_FULL, Template.B_FULL}
    tile = one_tile(plan)
    (m_tail,), (n_tail,) = choose_tails(problem, SPEC, tile)
    assert (m_tail, n_tail) == (plan.m_tail_cnt, plan.n_tail_cnt)
    resident = (
        compute_resident_a_bytes(problem)
        if plan.template is Template.A_FULL
        else compute_resident_b_bytes(problem)
    )
    base_k = np.array([plan.base_k])
    same_k, steps = choose_full_load_k(problem, SPEC, tile, base_k, resident)
    half_k, half_steps = choose_full_load_k(problem, SPEC, tile, base_k // 2, resident)
    assert (plan.base_k, plan.step_k) in {
        (int(same_k[0]), int(steps[0])),
        (int(half_k[0]), int(half_steps[0])),
    }


def test_blocks_by_template() -> None:
    problem = GemmProblem(m=100, k=64, n=1000)
    tile = Tiles(Template.ASWT, np.array([16]), np.array([64]))
    assert compute_blocks(problem, tile).tolist() == [112]
    assert compute_blocks(problem, replace(tile, template=Template.A_FULL)).tolist() == [16]
    assert compute_blocks(problem, replace(tile, template=Template.B_FULL)).tolist() == [7]


def test_a_full_load_never_goes_through_ub() -> None:
    problem = GemmProblem(m=4096, k=128, n=1000)
    tile = Tiles(Template.ASWT, np.array([128]), np.array([128]))
    _, key = compute_aswt(problem, PLATFORM, allows_tensor_api=True, recorder=None)
    assert key.l0c_out
    assert choose_fixpipe(problem, SPEC, tile).tolist() == [True]
    assert choose_fixpipe(problem, SPEC, replace(tile, template=Template.A_FULL)).tolist() == [
        False
    ]


def test_base_k_doubles_up_to_256_columns_under_a_full_load() -> None:
    problem = GemmProblem(m=16, k=1024, n=20000)
    tile = Tiles(Template.A_FULL, np.array([16]), np.array([64]))
    resident = SPEC.buffers.l1_bytes - 40_000
    doubled, steps = choose_full_load_k(problem, SPEC, tile, np.array([128]), resident)
    assert (doubled.tolist(), steps.tolist()) == ([256], [1])
    kept, steps = choose_full_load_k(
        replace(problem, trans_b=False), SPEC, tile, np.array([128]), resident
    )
    assert (kept.tolist(), steps.tolist()) == ([128], [1])
