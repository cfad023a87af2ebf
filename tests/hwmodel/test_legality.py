from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baseline.decision import decide
from hwmodel.derived import (
    compute_base_k_unit,
    compute_block_count,
    compute_tail_reach,
    compute_used_core_num,
    runs_fp32_split_k,
)
from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.errors import RejectedError
from hwmodel.footprint import compute_l1_bytes, compute_slab_a_bytes, compute_slab_b_bytes
from hwmodel.legality import check
from hwmodel.plan import KernelPlan, L0cOutput, StreamKOrder, Template, canonical_plan
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import load_hardware
from hwmodel.violation import RULE_SENTENCES, Violation

SPEC = load_hardware("ascend950pr-9589")
BIG = GemmProblem(m=4096, k=4096, n=4096)
ODD = GemmProblem(m=1000, k=600, n=520)
WIDE = GemmProblem(m=64, k=256, n=8192)
TALL = GemmProblem(m=8192, k=256, n=64)
SHORT_K = GemmProblem(m=4096, k=128, n=1000)
THIN = GemmProblem(m=512, k=8192, n=512)
ROW = GemmProblem(m=1, k=512, n=777, dtype=DType.FP32, out_dtype=DType.FP32)
FP32 = GemmProblem(m=1024, k=4096, n=1024, dtype=DType.FP32, out_dtype=DType.FP32)


def aswt(**changes: Any) -> KernelPlan:
    plan = KernelPlan(
        template=Template.ASWT,
        base_m=256,
        base_n=256,
        base_k=64,
        step_k=4,
        single_core_k=4096,
        used_core_num=32,
    )
    return replace(plan, **changes)


def a_full(**changes: Any) -> KernelPlan:
    plan = aswt(
        template=Template.A_FULL,
        base_m=64,
        base_n=128,
        base_k=128,
        step_k=2,
        l1_buffer_num=4,
        window_len=1,
        single_core_k=256,
    )
    return replace(plan, **changes)


def b_full(**changes: Any) -> KernelPlan:
    return replace(a_full(template=Template.B_FULL, base_m=128, base_n=64), **changes)


def stream_k(**changes: Any) -> KernelPlan:
    plan = aswt(template=Template.STREAM_K, single_core_k=1024, base_m=256, base_n=256)
    return replace(plan, **changes)


def vector(**changes: Any) -> KernelPlan:
    plan = KernelPlan(
        template=Template.VECTOR,
        base_m=1,
        base_n=13,
        base_k=64,
        step_k=1,
        window_len=1,
        single_core_k=512,
        used_core_num=60,
    )
    return replace(plan, **changes)


def rules(problem: GemmProblem, plan: KernelPlan, spec: HardwareSpec = SPEC) -> list[str]:
    return [violation.rule for violation in check(problem, spec, plan)]


def with_buffers(**sizes: int) -> HardwareSpec:
    return replace(SPEC, buffers=replace(SPEC.buffers, **sizes))


def with_cores(**counts: int) -> HardwareSpec:
    return replace(SPEC, cores=replace(SPEC.cores, **counts))


@pytest.mark.parametrize(
    ("problem", "plan"),
    [
        (BIG, aswt()),
        (BIG, aswt(base_m=128, db_l0c=2, window_len=7, serpentine=False)),
        (WIDE, a_full()),
        (TALL, b_full()),
        (SHORT_K, aswt(single_core_k=128, step_k=2, l0c_output=L0cOutput.FIXPIPE)),
        (THIN, stream_k()),
        (THIN, stream_k(sk_order=StreamKOrder.FIRST, l0c_output=L0cOutput.FIXPIPE)),
        (WIDE, a_full(template=Template.A_PARTIAL, base_m=16, resident_slabs=3)),
        (TALL, b_full(template=Template.B_PARTIAL, base_n=16, resident_slabs=3)),
        (BIG, aswt(template=Template.A_PANEL, base_k=16, resident_slabs=8)),
        (BIG, aswt(template=Template.B_PANEL, base_k=16, resident_slabs=8)),
        (ROW, vector()),
        (replace(BIG, k=0), aswt(template=Template.K_EQUAL_ZERO, single_core_k=0)),
        (BIG, aswt(template=Template.TO_MULTI_MUL, base_m=512, base_n=512, used_core_num=64)),
        (BIG, aswt(template=Template.BASE)),
    ],
)
def test_legal_plans_break_no_rule(problem: GemmProblem, plan: KernelPlan) -> None:
    assert check(problem, SPEC, plan) == ()


@pytest.mark.parametrize(
    ("problem", "plan", "violations"),
    [
        (replace(BIG, k=0), aswt(single_core_k=0), {"k_nonzero": (0, 1)}),
        (BIG, aswt(step_k=0), {"positive_fields": (0, 1)}),
        (BIG, aswt(base_m=100), {"base_m_multiple": (100, 16)}),
        (BIG, aswt(base_n=250), {"base_n_multiple": (250, 16)}),
        (
            GemmProblem(m=17, k=4096, n=4096),
            aswt(base_m=48, used_core_num=16),
            {"base_m_limit": (48, 32)},
        ),
        (
            GemmProblem(m=4096, k=4096, n=3),
            aswt(base_n=32, used_core_num=16),
            {"base_n_limit": (32, 16)},
        ),
        (BIG, aswt(base_k=24), {"base_k_multiple": (24, 16)}),
        (BIG, aswt(l1_buffer_num=3), {"l1_slots": (3, 2), "unused_fields": (1, 0)}),
        (
            BIG,
            aswt(base_m=64, base_n=64, db_l0c=3),
            {"l0c_tiles": (3, 2)},
        ),
        (BIG, aswt(base_m=64, base_n=64, ub_db=3), {"ub_tiles": (3, 2)}),
        (
            BIG,
            aswt(resident_slabs=1, single_core_k=64, sk_order=StreamKOrder.LAST),
            {"unused_fields": (3, 0)},
        ),
        (WIDE, a_full(m_tail_cnt=2), {"unused_fields": (1, 0), "tail_product": (2, 1)}),
        (TALL, b_full(n_tail_cnt=2), {"unused_fields": (1, 0), "tail_product": (2, 1)}),
        (BIG, aswt(db_l0c=2), {"l0c_capacity": (524288, 262144)}),
        (
            replace(BIG, bias_dtype=DType.FP32),
            aswt(base_n=528, base_m=64, base_k=16),
            {"bias_table": (2112, 2048)},
        ),
        (
            WIDE,
            a_full(l0c_output=L0cOutput.FIXPIPE),
            {"fixpipe_template": (1, 0)},
        ),
        (
            replace(FP32, op_impl_mode=OpImplMode.DEFAULT),
            aswt(
                base_m=128,
                base_n=128,
                base_k=32,
                l0c_output=L0cOutput.FIXPIPE,
            ),
            {"fixpipe_fp32_split_k": (1, 0)},
        ),
        (BIG, aswt(base_k=80, base_n=16, base_m=256), {"l0a_capacity": (81920, 65536)}),
        (BIG, aswt(base_k=80, base_m=16), {"l0b_capacity": (81920, 65536)}),
        (BIG, aswt(step_k=5), {"l1_capacity": (655360, 524288)}),
        (WIDE, a_full(base_m=128), {"base_m_limit": (128, 64)}),
        (
            BIG,
            aswt(template=Template.A_PANEL, base_k=16, resident_slabs=0),
            {"resident_slabs": (0, 1)},
        ),
        (
            GemmProblem(m=4096, k=256, n=4096),
            aswt(template=Template.A_PANEL, single_core_k=256, resident_slabs=2),
            {"resident_slabs": (2, 1)},
        ),
        (
            WIDE,
            a_full(template=Template.A_PARTIAL, resident_slabs=1),
            {"resident_slabs": (1, 0)},
        ),
        (
            replace(TALL, k=512),
            b_full(template=Template.B_PARTIAL, single_core_k=512, resident_slabs=2),
            {"resident_slabs": (2, 1)},
        ),
        (
            FP32,
            aswt(
                template=Template.B_PANEL,
                base_m=128,
                base_n=128,
                base_k=16,
                resident_slabs=2,
            ),
            {"resident_fp32_split_k": (1, 0)},
        ),
        (
            replace(BIG, k=8192),
            stream_k(base_m=128),
            {"stream_k_rest": (0, 1)},
        ),
        (THIN, stream_k(single_core_k=8192), {"stream_k_pieces": (1, 2)}),
        (THIN, stream_k(single_core_k=800), {"stream_k_cores": (44, 32)}),
        (
            GemmProblem(m=512, k=8192, n=16),
            stream_k(base_m=512, base_n=16, base_k=32, db_l0c=2),
            {"stream_k_single_l0c": (2, 1)},
        ),
        (
            replace(THIN, deterministic_level=2),
            stream_k(),
            {"stream_k_determinism": (2, 1)},
        ),
        (
            THIN,
            stream_k(m_tail_cnt=2),
            {"unused_fields": (1, 0)},
        ),
        (replace(ROW, m=2), vector(base_m=26), {"vector_dims": (2, 1)}),
        (ROW, vector(base_k=1000), {"vector_ub": (65013, 63488)}),
        (
            replace(ROW, bias_dtype=DType.FP32),
            vector(base_k=1000),
            {"vector_ub": (65026, 63488)},
        ),
        (BIG, aswt(template=Template.K_EQUAL_ZERO), {"k_equal_zero": (4096, 0)}),
        (BIG, aswt(used_core_num=31), {"used_core_num": (31, 32)}),
        (ODD, aswt(single_core_k=600, used_core_num=12, m_tail_cnt=2), {"tail_product": (2, 1)}),
        (
            GemmProblem(m=5120, k=4096, n=512, trans_a=True),
            aswt(base_m=144, m_tail_cnt=4, base_n=256),
            {"tail_m_reachable": (4, 3)},
        ),
        (
            GemmProblem(m=512, k=4096, n=5120, trans_b=False),
            aswt(base_n=144, n_tail_cnt=4),
            {"tail_n_reachable": (4, 3)},
        ),
    ],
)
def test_each_rule_names_what_it_counts(
    problem: GemmProblem, plan: KernelPlan, violations: Mapping[str, tuple[int, int]]
) -> None:
    expected = tuple(
        Violation(rule=rule, used=used, limit=limit) for rule, (used, limit) in violations.items()
    )
    assert check(problem, SPEC, plan) == expected


def test_fixpipe_output_needs_two_vector_cores_per_cube_core_and_room_in_ub() -> None:
    plan = aswt(single_core_k=128, step_k=2, l0c_output=L0cOutput.FIXPIPE)
    assert rules(SHORT_K, plan, with_cores(aiv_num=32)) == ["fixpipe_cores"]
    assert rules(SHORT_K, plan, with_buffers(ub_bytes=131072)) == []
    assert rules(SHORT_K, plan, with_buffers(ub_bytes=131071)) == ["ub_capacity"]
    fp32_out = replace(SHORT_K, out_dtype=DType.FP32)
    assert rules(fp32_out, plan, with_buffers(ub_bytes=131072)) == []
    assert rules(fp32_out, replace(plan, ub_db=2), with_buffers(ub_bytes=262143)) == [
        "ub_capacity"
    ]


def test_stream_k_needs_vector_cores_and_a_workspace_slot() -> None:
    assert rules(THIN, stream_k(), with_cores(aiv_num=32)) == ["stream_k_vector_cores"]
    wide_tile = stream_k(base_m=272, base_n=256, base_k=32)
    spec = with_buffers(l0c_bytes=2**20)
    assert rules(THIN, wide_tile, spec) == ["stream_k_workspace"]
    narrow = stream_k(base_m=2048, base_n=16, base_k=16, step_k=1)
    spec = with_buffers(l0c_bytes=2**20, l0a_bytes=2**18)
    assert rules(GemmProblem(m=2048, k=8192, n=16), narrow, spec) == []
    assert rules(GemmProblem(m=2064, k=8192, n=16), replace(narrow, base_m=2064), spec) == [
        "stream_k_workspace"
    ]


@pytest.mark.parametrize(
    ("pieces", "broken"), [((1, 1), []), ((4, 2), []), ((3, 3), ["tail_product"])]
)
def test_pieces_of_the_last_round_fit_the_cores(
    pieces: tuple[int, int], broken: list[str]
) -> None:
    four_left = GemmProblem(m=256 * 6, k=4096, n=256 * 6)
    m_tail_cnt, n_tail_cnt = pieces
    plan = aswt(m_tail_cnt=m_tail_cnt, n_tail_cnt=n_tail_cnt)
    assert rules(four_left, plan) == broken


def test_fp32_split_k_follows_k_format_and_piece() -> None:
    plan = aswt(
        template=Template.A_PANEL,
        base_m=128,
        base_n=128,
        base_k=16,
        resident_slabs=2,
        single_core_k=2047,
    )
    assert rules(replace(FP32, k=2047), plan) == []
    plan = replace(plan, single_core_k=2048)
    assert rules(replace(FP32, k=2048), plan) == ["resident_fp32_split_k"]
    assert rules(replace(FP32, k=2048, format_b=Format.NZ), plan) == []
    assert rules(replace(FP32, k=2048, op_impl_mode=OpImplMode.HF32), plan) == []


def test_fp32_split_k_of_stream_k_follows_the_piece() -> None:
    plan = stream_k(base_m=128, base_n=128, base_k=32, single_core_k=2048)
    assert runs_fp32_split_k(FP32, plan)
    assert runs_fp32_split_k(replace(FP32, format_b=Format.NZ), plan)
    assert not runs_fp32_split_k(FP32, replace(plan, single_core_k=2047))
    assert not runs_fp32_split_k(BIG, plan)


def test_l1_counts_slots_and_bias_by_template() -> None:
    biased = replace(WIDE, bias_dtype=DType.FP32)
    slab_a, slab_b = 64 * 256 * 2, 128 * 256 * 2
    assert compute_l1_bytes(biased, a_full()) == slab_a + 4 * slab_b + 2 * 128 * 4
    mirrored = replace(TALL, bias_dtype=DType.FP32)
    assert compute_l1_bytes(mirrored, b_full()) == slab_a + 4 * slab_b + 64 * 4
    partial = a_full(template=Template.A_PARTIAL, base_m=16, resident_slabs=3)
    assert compute_l1_bytes(WIDE, partial) == 5 * 16 * 256 * 2 + 4 * slab_b
    partial = b_full(template=Template.B_PARTIAL, base_n=16, resident_slabs=3)
    assert compute_l1_bytes(TALL, partial) == 5 * 16 * 256 * 2 + 4 * slab_b
    panel = aswt(template=Template.A_PANEL, base_m=16, base_n=64, resident_slabs=4)
    assert compute_l1_bytes(BIG, panel) == (4 + 2) * 16 * 256 * 2 + 2 * 64 * 256 * 2
    panel = aswt(template=Template.B_PANEL, base_m=64, base_n=16, resident_slabs=4)
    assert compute_l1_bytes(BIG, panel) == (4 + 2) * 16 * 256 * 2 + 2 * 64 * 256 * 2


def test_a_panel_that_is_resident_as_a_whole_has_no_streaming_slots() -> None:
    problem = GemmProblem(m=4096, k=1024, n=4096)
    plan = aswt(
        template=Template.A_PANEL, base_m=64, base_n=64, resident_slabs=4, single_core_k=1024
    )
    assert compute_l1_bytes(problem, plan) == 4 * 64 * 256 * 2 + 2 * 64 * 256 * 2
    plan = replace(plan, template=Template.B_PANEL)
    assert compute_l1_bytes(problem, plan) == 4 * 64 * 256 * 2 + 2 * 64 * 256 * 2


@pytest.mark.parametrize(
    ("trans_a", "trans_b", "dtype", "slab_a", "slab_b"),
    [
        (False, True, DType.BF16, 32 * 48 * 2, 32 * 48 * 2),
        (True, False, DType.BF16, 48 * 32 * 2, 48 * 32 * 2),
        (False, True, DType.FP32, 32 * 40 * 4, 32 * 40 * 4),
        (True, False, DType.FP32, 48 * 24 * 4, 48 * 24 * 4),
    ],
)
def test_slabs_are_padded_as_they_are_stored(
    trans_a: bool, trans_b: bool, dtype: DType, slab_a: int, slab_b: int
) -> None:
    problem = GemmProblem(m=99, k=99, n=99, trans_a=trans_a, trans_b=trans_b, dtype=dtype)
    assert compute_slab_a_bytes(problem, 20, 40) == slab_a
    assert compute_slab_b_bytes(problem, 20, 40) == slab_b


@pytest.mark.parametrize(
    ("dtype", "trans_a", "trans_b", "unit"),
    [
        (DType.BF16, True, False, 16),
        (DType.FP32, False, True, 8),
        (DType.FP32, True, True, 16),
        (DType.FP32, False, False, 16),
    ],
)
def test_unit_of_base_k(dtype: DType, trans_a: bool, trans_b: bool, unit: int) -> None:
    problem = GemmProblem(m=9, k=9, n=9, dtype=dtype, trans_a=trans_a, trans_b=trans_b)
    assert compute_base_k_unit(problem) == unit


@given(base=st.integers(1, 64).map(lambda tiles: 16 * tiles), size=st.sampled_from([2, 4]))
@settings(derandomize=True, deadline=None)
def test_tail_reach_is_where_the_vendors_loop_stops(base: int, size: int) -> None:
    count = 1
    while -(-base // count) * size > 128:
        count += 1
    assert compute_tail_reach(base, inner=True, element_bytes=size) == count
    assert compute_tail_reach(base, inner=False, element_bytes=size) is None


def test_blocks_and_cores_by_template() -> None:
    assert compute_block_count(WIDE, a_full()) == 64
    assert compute_block_count(TALL, b_full()) == 64
    assert compute_block_count(ROW, vector()) == 60
    column = replace(ROW, m=777, n=1)
    assert compute_block_count(column, vector(base_m=13, base_n=1)) == 60
    assert compute_used_core_num(ROW, SPEC, vector(base_n=1)) == 64
    assert compute_used_core_num(BIG, SPEC, aswt(template=Template.K_EQUAL_ZERO)) == 64
    assert compute_used_core_num(THIN, SPEC, stream_k()) == 32
    assert compute_used_core_num(THIN, SPEC, aswt()) == 4


def test_every_rule_has_a_sentence_with_its_figures() -> None:
    (violation,) = check(BIG, SPEC, aswt(step_k=5))
    assert violation.sentence == ("bytes of slabs and bias must fit L1 (655360 against 524288)")
    assert all(sentence for sentence in RULE_SENTENCES.values())


@given(
    m=st.integers(1, 9000),
    k=st.integers(1, 40000),
    n=st.integers(1, 9000),
    trans_a=st.booleans(),
    trans_b=st.booleans(),
    dtype=st.sampled_from(DType),
    bias=st.booleans(),
)
@settings(derandomize=True, deadline=None, max_examples=300)
def test_vendor_plans_break_only_the_rules_they_are_known_to_break(
    m: int, k: int, n: int, trans_a: bool, trans_b: bool, dtype: DType, bias: bool
) -> None:
    problem = GemmProblem(
        m=m,
        k=k,
        n=n,
        trans_a=trans_a,
        trans_b=trans_b,
        dtype=dtype,
        out_dtype=dtype,
        bias_dtype=dtype if bias else None,
    )
    try:
        plan = canonical_plan(problem, decide(problem, SPEC).plan)
    except RejectedError:
        return
    broken = set(rules(problem, plan))
    known = {"base_k_multiple", "l1_capacity"} if plan.template is Template.STREAM_K else set()
    assert broken <= known, plan
