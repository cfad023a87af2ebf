"""H1 to H6: domains, and alternatives that are legal, distinct and what the claim says."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baseline.decision import decide
from baseline.what_if import WhatIf
from hwmodel.dtypes import DType
from hwmodel.legality import check
from hwmodel.plan import KernelPlan, L0cOutput, Template, canonical_plan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from studies.hypotheses.case import build_case
from studies.hypotheses.h1_tile_score import list_tile_plans, list_tiles
from studies.hypotheses.h3_residency import (
    PANEL_TEMPLATES,
    PARTIAL_TEMPLATES,
    build_resident,
    count_slabs,
    iterate_resident,
)
from studies.hypotheses.h5_sharing import compute_hbm_share, measure_shared_bandwidth
from studies.hypotheses.registry import HYPOTHESES
from studies.protocol import Case, Hypothesis

SPEC = load_hardware("ascend950pr-9589")
BY_ID = {item.statement.id: item for item in HYPOTHESES}


def case_of(m: int, k: int, n: int, **fields: object) -> Case:
    return build_case(GemmProblem(m=m, k=k, n=n, **fields), SPEC)  # type: ignore[arg-type]


def plans_of(batch: PlanBatch | None) -> list[KernelPlan]:
    return [] if batch is None else [batch.plan(row) for row in range(len(batch))]


def test_every_claim_is_stated_in_full_and_in_order() -> None:
    assert list(BY_ID) == ["h1", "h2", "h3", "h4", "h5", "h6"]
    for hypothesis in HYPOTHESES:
        statement = hypothesis.statement
        for name in ("title", "claim", "domain", "control", "treatment", "falsifier"):
            assert getattr(statement, name)


@pytest.mark.parametrize("hypothesis", HYPOTHESES, ids=list(BY_ID))
@settings(derandomize=True, deadline=None, max_examples=15)
@given(
    m=st.integers(1, 700),
    k=st.integers(1, 600),
    n=st.integers(1, 700),
    trans_a=st.booleans(),
    trans_b=st.booleans(),
    dtype=st.sampled_from([DType.BF16, DType.FP32]),
)
def test_alternatives_are_legal_distinct_and_not_the_control(
    hypothesis: Hypothesis, m: int, k: int, n: int, trans_a: bool, trans_b: bool, dtype: DType
) -> None:
    case = case_of(m, k, n, trans_a=trans_a, trans_b=trans_b, dtype=dtype, out_dtype=dtype)
    if not hypothesis.in_domain(case):
        return
    plans = plans_of(hypothesis.alternatives(case))
    assert len(set(plans)) == len(plans)
    assert case.baseline not in plans
    for plan in plans:
        assert check(case.problem, SPEC, plan) == ()
        assert canonical_plan(case.problem, plan) == plan


def test_h1_is_about_aswt_and_tries_every_pair_of_the_loop() -> None:
    hypothesis = BY_ID["h1"]
    assert not hypothesis.in_domain(case_of(16, 7168, 1536))
    case = case_of(1021, 2039, 4093)
    assert hypothesis.in_domain(case)
    tiles = {(min(1024, base_m), min(4096, base_n)) for base_m, base_n in list_tiles(case)}
    found = {(plan.base_m, plan.base_n) for plan in list_tile_plans(case)}
    assert found <= tiles
    assert (case.baseline.base_m, case.baseline.base_n) in found


def test_h1_with_the_full_load_frozen_keeps_it() -> None:
    case = case_of(16, 4096, 6144)
    load = case.decision.key.full_load
    assert {plan.template for plan in list_tile_plans(case, full_load=load)} == {Template.ASWT}
    free = {plan.template for plan in list_tile_plans(case)}
    assert free == {Template.ASWT, Template.A_FULL}


def test_h2_changes_nothing_but_the_window() -> None:
    hypothesis = BY_ID["h2"]
    assert not hypothesis.in_domain(case_of(64, 4096, 6144))
    assert not hypothesis.in_domain(case_of(16, 4096, 28672))
    case = case_of(4096, 4096, 4096)
    assert hypothesis.in_domain(case)
    plans = plans_of(hypothesis.alternatives(case))
    same = {replace(plan, window_len=4, serpentine=True) for plan in plans}
    assert same == {case.baseline}
    assert {plan.window_len for plan in plans} >= {1, 2, 3, 5, 6, 7, 8, 9}


def test_h3_keeps_the_base_tile_and_fills_l1() -> None:
    hypothesis = BY_ID["h3"]
    assert not hypothesis.in_domain(case_of(4096, 128, 4112))  # through UB
    assert not hypothesis.in_domain(case_of(32768, 512, 256))  # B full load
    fp32 = {"dtype": DType.FP32, "out_dtype": DType.FP32}
    assert not hypothesis.in_domain(case_of(2048, 2048, 2048, **fp32))  # split-K
    case = case_of(2048, 1024, 2048)
    assert hypothesis.in_domain(case)
    plans = plans_of(hypothesis.alternatives(case))
    tile = {(plan.base_m, plan.base_n, plan.base_k, plan.db_l0c) for plan in plans}
    own = case.baseline
    assert tile == {(own.base_m, own.base_n, own.base_k, own.db_l0c)}
    assert {plan.template for plan in plans} == {*PARTIAL_TEMPLATES, *PANEL_TEMPLATES}


@settings(derandomize=True, deadline=None, max_examples=25)
@given(
    m=st.integers(16, 2000),
    k=st.integers(16, 3000),
    n=st.integers(16, 2000),
    trans_a=st.booleans(),
    trans_b=st.booleans(),
    template=st.sampled_from([*PARTIAL_TEMPLATES, *PANEL_TEMPLATES]),
)
def test_h3_lists_exactly_the_slab_counts_that_fit(
    m: int, k: int, n: int, trans_a: bool, trans_b: bool, template: Template
) -> None:
    case = case_of(m, k, n, trans_a=trans_a, trans_b=trans_b)
    problem, plan = case.problem, case.baseline
    if plan.template is not Template.ASWT or plan.l0c_output is not L0cOutput.ON_THE_FLY:
        return
    listed = set(iterate_resident(case, plan, template))
    for step_k in {1, 2, 3}:
        if plan.base_k * (step_k - 1) >= k:
            continue
        first = build_resident(problem, SPEC, plan, template, step_k, 1)
        for slabs in range(1, min(count_slabs(problem, first), 40) + 2):
            resident = canonical_plan(
                problem, build_resident(problem, SPEC, plan, template, step_k, slabs)
            )
            assert (resident in listed) == (check(problem, SPEC, resident) == ())


def test_h4_offers_the_other_way_out() -> None:
    hypothesis = BY_ID["h4"]
    assert not hypothesis.in_domain(case_of(16, 4096, 28672))  # A full load
    direct = case_of(1021, 2039, 4093)
    (plan,) = plans_of(hypothesis.alternatives(direct))
    assert (direct.baseline.l0c_output, plan.l0c_output) == ("on_the_fly", "fixpipe")
    through_ub = case_of(4096, 128, 4112)
    (plan,) = plans_of(hypothesis.alternatives(through_ub))
    assert (through_ub.baseline.l0c_output, plan.l0c_output) == ("fixpipe", "on_the_fly")


def test_h5_takes_the_share_of_the_reads() -> None:
    hypothesis = BY_ID["h5"]
    assert not hypothesis.in_domain(case_of(4096, 4096, 4096))
    small = case_of(4096, 128, 4096)
    assert hypothesis.in_domain(small)
    assert compute_hbm_share(small) == (2 * 4096 * 128 * 2, 0, 1.0)
    assert not measure_shared_bandwidth(small).changes_decision
    large = case_of(16384, 1000, 16384)
    reads = 2 * 16384 * 1000 * 2
    writes = 16384 * 16384 * 2 - SPEC.buffers.l2_bytes
    assert compute_hbm_share(large) == (reads, writes, reads / (reads + writes))
    effect = measure_shared_bandwidth(large)
    given_share = decide(large.problem, SPEC, what_if=WhatIf(hbm_share=effect.hbm_share))
    assert effect.changes_decision == (given_share.plan != large.decision.plan)
    assert effect.c_over_l2 == 4.0


def test_h6_is_about_16_bit_vectors_on_the_cube() -> None:
    hypothesis = BY_ID["h6"]
    assert not hypothesis.in_domain(case_of(16, 4096, 4096))
    fp32 = {"dtype": DType.FP32, "out_dtype": DType.FP32}
    assert not hypothesis.in_domain(case_of(1, 4096, 4096, **fp32))
    for case in (case_of(1, 4096, 6144), case_of(6144, 4096, 1)):
        assert hypothesis.in_domain(case)
        (plan,) = plans_of(hypothesis.alternatives(case))
        assert plan.template is Template.VECTOR
        assert plan.used_core_num == SPEC.cores.aiv_num
