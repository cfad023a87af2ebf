"""What holds for every walk: the whole product once, nothing empty, counts without walking."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodel.dtypes import DType, Format
from hwmodel.errors import InputError
from hwmodel.plan import KernelPlan, L0cOutput, StreamKOrder, Template
from hwmodel.problem import MAX_DIM, GemmProblem
from hwmodel.walk import AIV_PER_AIC, KSplit, WalkItem, build_schedule, walk, walk_params
from hwmodel.walk.pieces import compute_k_slices, cut_items
from tests.hwmodel.walk_cases import (
    any_walk,
    assert_covers_once,
    count_cover,
    flatten,
    grid_walks,
    list_cores,
    make_plan,
    stream_k_walks,
)

EXAMPLES = settings(derandomize=True, deadline=None, max_examples=300)
Case = tuple[GemmProblem, KernelPlan]


@EXAMPLES
@given(any_walk)
def test_every_multiply_accumulate_once(case: Case) -> None:
    problem, plan = case
    assert_covers_once(flatten(walk(problem, plan)), problem.m, problem.n, problem.k)


@EXAMPLES
@given(any_walk)
def test_counts_agree_with_the_items(case: Case) -> None:
    schedule = walk(*case)
    cores = list_cores(schedule)
    assert [schedule.item_count(core) for core in range(schedule.block_num)] == [
        len(items) for items in cores
    ]
    assert schedule.count == sum(map(len, cores))
    assert schedule.slots <= schedule.rounds * schedule.block_num
    for core, items in enumerate(cores):
        blocks = list(schedule.blocks(core))
        cut = [item for block in blocks for item in cut_items(schedule.params, block)]
        assert cut == items
        assert len(list(schedule.workspace_slots(core))) == len(items)


@EXAMPLES
@given(any_walk)
def test_equal_plans_give_equal_schedules(case: Case) -> None:
    problem, plan = case
    assert walk(problem, plan) == walk(problem, replace(plan, base_k=64, step_k=4, db_l0c=2))


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 80))
def test_clear_covers_c_once(m: int, n: int, cores: int) -> None:
    problem = GemmProblem(m=m, n=n, k=0)
    schedule = walk(problem, make_plan(Template.K_EQUAL_ZERO, used_core_num=cores))
    assert_covers_once(flatten(schedule), 1, m * n, 1)


@st.composite
def merged_tail_walks(draw: st.DrawFn) -> tuple[Case, dict[str, int]]:
    problem, plan = draw(grid_walks((Template.ASWT, Template.BASE)))
    fields: dict[str, int] = {}
    for name, length, block in (
        ("m", problem.m, plan.base_m),
        ("n", problem.n, plan.base_n),
    ):
        blocks = -(-length // block)
        merged = draw(st.integers(1, blocks))
        shared = length - (blocks - merged) * block
        main = -(-shared // merged)
        if merged > 1 and (merged - 1) * main < shared:
            fields |= {f"{name}_base_tail_split_cnt": merged, f"{name}_tail_main": main}
    return (problem, plan), fields


@EXAMPLES
@given(merged_tail_walks())
def test_merged_tails_cover_once(case: tuple[Case, dict[str, int]]) -> None:
    (problem, plan), fields = case
    schedule = build_schedule(replace(walk_params(problem, plan), **fields))  # type: ignore[arg-type]
    assert_covers_once(flatten(schedule), problem.m, problem.n, problem.k)


@EXAMPLES
@given(grid_walks((Template.ASWT, Template.B_FULL, Template.BASE)))
def test_vector_cores_write_c_once_with_the_fixpipe_output(case: Case) -> None:
    problem, plan = case
    schedule = walk(problem, replace(plan, l0c_output=L0cOutput.FIXPIPE))
    aivs = range(AIV_PER_AIC * schedule.block_num)
    records = [record for aiv in aivs for record in schedule.vector_records(aiv)]
    # BASE adds K slices up in C, every slice is written.
    slices = Counter(item.k_off for item in flatten(schedule))
    boxes = [((record.m_off, record.rows), (record.n_off, record.cols)) for record in records]
    assert (count_cover(boxes, (problem.m, problem.n)) == len(slices)).all()
    if problem.out_dtype is not DType.FP32:
        assert all(record.aiv % AIV_PER_AIC == 0 for record in records)


@EXAMPLES
@given(stream_k_walks())
def test_stream_k_reduction_writes_the_tiles_of_the_last_round_once(case: Case) -> None:
    problem, plan = case
    schedule = walk(problem, plan)
    boxes, workspace = [], []
    for aiv in range(AIV_PER_AIC * schedule.block_num):
        for record in schedule.vector_records(aiv):
            boxes.append(((record.m_off, record.rows), (record.n_off, record.cols)))
            pitch = record.cols
            if plan.l0c_output is L0cOutput.FIXPIPE:
                pitch = -(-pitch // 32) * 32
            assert record.slots == plan.k_pieces(problem)
            start = record.workspace_off
            workspace += [(start, start + record.rows * pitch)]
    for core in range(schedule.block_num):
        slots = schedule.workspace_slots(core)
        for item, slot in zip(schedule.items(core), slots, strict=True):
            assert slot in (-1, core)
            if slot == -1 and item.k_off == 0:
                boxes.append(((item.m_off, item.blk_m), (item.n_off, item.blk_n)))
    assert (count_cover(boxes, (problem.m, problem.n)) == 1).all()
    workspace.sort()
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(workspace))


@EXAMPLES
@given(stream_k_walks())
def test_stream_k_orders_move_only_the_piece(case: Case) -> None:
    problem, plan = case
    by_order = {order: walk(problem, replace(plan, sk_order=order)) for order in StreamKOrder}
    for core in range(plan.used_core_num):
        blocks = {order: list(schedule.blocks(core)) for order, schedule in by_order.items()}
        whole = [block for block in blocks[StreamKOrder.LAST] if block.blk_k == problem.k]
        piece = [block for block in blocks[StreamKOrder.LAST] if block.blk_k < problem.k]
        assert len(piece) <= 1
        assert blocks[StreamKOrder.FIRST] == piece + whole
        assert blocks[StreamKOrder.LAST] == whole + piece
        assert blocks[StreamKOrder.VENDOR] == whole[:-1] + piece + whole[-1:]


@EXAMPLES
@given(grid_walks((Template.ASWT,)))
def test_b_panel_is_the_mirror_image_of_aswt(case: Case) -> None:
    problem, plan = case
    problem = replace(problem, format_b=Format.ND)
    mirrored = replace(problem, m=problem.n, n=problem.m)
    panel = replace(
        plan,
        template=Template.B_PANEL,
        base_m=plan.base_n,
        base_n=plan.base_m,
        m_tail_cnt=plan.n_tail_cnt,
        n_tail_cnt=plan.m_tail_cnt,
    )
    swapped = [
        [
            WalkItem(
                m_idx=item.n_idx,
                n_idx=item.m_idx,
                k_idx=item.k_idx,
                m_off=item.n_off,
                n_off=item.m_off,
                k_off=item.k_off,
                blk_m=item.blk_n,
                blk_n=item.blk_m,
                blk_k=item.blk_k,
            )
            for item in items
        ]
        for items in list_cores(walk(mirrored, panel))
    ]
    assert swapped == list_cores(walk(problem, plan))


@pytest.mark.parametrize(
    ("template", "twin"),
    [
        (Template.A_PARTIAL, Template.A_FULL),
        (Template.B_PARTIAL, Template.B_FULL),
        (Template.A_PANEL, Template.ASWT),
    ],
)
def test_proposed_templates_keep_the_walk_they_improve(template: Template, twin: Template) -> None:
    problem = GemmProblem(m=200, n=330, k=128)
    plan = make_plan(template, base_m=48, base_n=64, resident_slabs=2, used_core_num=3)
    assert list_cores(walk(problem, plan)) == list_cores(
        walk(problem, replace(plan, template=twin, resident_slabs=0))
    )


@pytest.mark.parametrize(("window_len", "percent"), [(4, 88), (2, 76), (8, 94), (3, 6), (6, 0)])
def test_share_of_items_that_keep_their_row(window_len: int, percent: int) -> None:
    # The figures of the specification (plan.md, A_PANEL) for 64 x 64 blocks on 32 cores.
    problem = GemmProblem(m=8192, n=8192, k=64)
    plan = make_plan(
        Template.A_PANEL, base_m=128, base_n=128, window_len=window_len, used_core_num=32
    )
    kept = [
        first.m_idx == second.m_idx
        for items in list_cores(walk(problem, plan))
        for first, second in itertools.pairwise(items)
    ]
    assert round(100 * sum(kept) / len(kept)) == percent


def test_a_huge_schedule_costs_nothing_until_it_is_walked() -> None:
    problem = GemmProblem(m=MAX_DIM, n=MAX_DIM, k=64)
    schedule = walk(problem, make_plan(Template.ASWT, used_core_num=32))
    tiles = -(-MAX_DIM // 16)
    assert schedule.count == tiles * tiles
    assert next(schedule.items(31)) == WalkItem(3, 7, 0, 48, 112, 0, 16, 16, 64)


def test_items_become_an_array() -> None:
    schedule = walk(GemmProblem(m=64, n=64, k=64), make_plan(Template.ASWT))
    rows = np.array(list(schedule.items(0)), dtype=np.int64)
    assert rows.shape == (schedule.item_count(0), len(WalkItem._fields))


def test_kernels_without_mixed_cores_have_no_vector_records() -> None:
    schedule = walk(GemmProblem(m=64, n=64, k=64), make_plan(Template.ASWT))
    assert list(schedule.vector_records(0)) == []


@pytest.mark.parametrize(
    ("problem", "plan", "message"),
    [
        (GemmProblem(m=8, n=8, k=0), make_plan(Template.ASWT), "k = 0"),
        (GemmProblem(m=8, n=8, k=8), make_plan(Template.K_EQUAL_ZERO), "needs k = 0"),
        (
            GemmProblem(m=8, n=8, k=0),
            make_plan(Template.K_EQUAL_ZERO, used_core_num=0),
            "used_core_num = 0",
        ),
        (GemmProblem(m=8, n=8, k=8), make_plan(Template.VECTOR), "m = 1 or n = 1"),
        (GemmProblem(m=8, n=8, k=8), make_plan(Template.ASWT, base_m=0), "block_m = 0"),
        (GemmProblem(m=8, n=8, k=8), make_plan(Template.ASWT, window_len=0), "window_len = 0"),
        (GemmProblem(m=64, n=64, k=8), make_plan(Template.ASWT, m_tail_cnt=2), "0 blocks"),
        (GemmProblem(m=48, n=16, k=8), make_plan(Template.ASWT, m_tail_cnt=2), "3 blocks"),
        (GemmProblem(m=48, n=16, k=8), make_plan(Template.A_FULL, m_tail_cnt=2), "A stays"),
        (GemmProblem(m=16, n=48, k=8), make_plan(Template.B_FULL, n_tail_cnt=2), "B stays"),
        (GemmProblem(m=48, n=16, k=64), make_plan(Template.STREAM_K), "1 K pieces"),
        (
            GemmProblem(m=48, n=16, k=64),
            make_plan(Template.STREAM_K, single_core_k=32),
            "3 blocks",
        ),
        (
            GemmProblem(m=16, n=16, k=64),
            make_plan(Template.STREAM_K, single_core_k=32, n_tail_cnt=2),
            "no tail split",
        ),
    ],
)
def test_impossible_walks_are_named(problem: GemmProblem, plan: KernelPlan, message: str) -> None:
    with pytest.raises(InputError, match=message):
        walk(problem, plan)


@pytest.mark.parametrize(
    ("count", "main"), [(2, 0), (4, 8), (2, 24)], ids=["no_size", "too_many", "nothing_left"]
)
def test_merged_tails_that_do_not_fit_are_named(count: int, main: int) -> None:
    params = walk_params(GemmProblem(m=40, n=16, k=8), make_plan(Template.ASWT))
    with pytest.raises(InputError, match="merged blocks"):
        replace(params, m_base_tail_split_cnt=count, m_tail_main=main)


@pytest.mark.parametrize(
    ("k_split", "length", "slices"),
    [
        (KSplit.NONE, 100_000, (100_000, 1)),
        (KSplit.THRESHOLD, 1024, (1024, 1)),
        (KSplit.THRESHOLD, 2047, (1024, 1)),
        (KSplit.THRESHOLD, 2048, (1024, 2)),
        (KSplit.THRESHOLD, 268_435_456, (1024, 262_144)),
        (KSplit.THRESHOLD, 268_435_457, (8192, 32_768)),
        (KSplit.EVEN, 8192, (8192, 1)),
        (KSplit.EVEN, 8193, (4160, 2)),
    ],
)
def test_k_slices(k_split: KSplit, length: int, slices: tuple[int, int]) -> None:
    assert compute_k_slices(k_split, length) == slices


@pytest.mark.parametrize(
    ("single_core_k", "expected"), [(2047, KSplit.NONE), (2048, KSplit.THRESHOLD)]
)
def test_fp32_stream_k_is_sliced_from_2048(single_core_k: int, expected: KSplit) -> None:
    problem = GemmProblem(m=16, n=16, k=4000, dtype=DType.FP32, out_dtype=DType.FP32)
    plan = make_plan(Template.STREAM_K, single_core_k=single_core_k)
    assert walk_params(problem, plan).k_split is expected
