"""Which kernels to time first: their order, the fields to change, and the reasons."""

from dataclasses import replace

import pytest

from autotune.report.aggregates import CountedRow
from autotune.report.changes import describe_change, explain_gain
from autotune.report.first_tests import build_first_tests, select_first_tests
from autotune.report.landscape import compute_tile_map
from autotune.report.text import TIMES
from autotune.results import ResultRow
from hwmodel.cost.breakdown import Bound, CostBreakdown
from hwmodel.cost.evaluators import select_evaluator
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec import ClassError
from studies.space import tile_landscape
from tests.autotune.report_runs import make_compared, make_plan, make_row, make_spec

ERRORS = {"read_bound": ClassError(n=10, median_ape=0.02, p90_ape=0.1)}
MB = 1_000_000.0


def names(items: tuple[CountedRow, ...]) -> list[int]:
    return [item.row.index for item in items]


def make_cost(**changes: object) -> CostBreakdown:
    cost = CostBreakdown(
        task_duration_us=100.0,
        launch_us=3.0,
        prologue_us=2.0,
        rounds_us=90.0,
        epilogue_us=5.0,
        cube_time_us=40.0,
        mte2_time_us=60.0,
        mte1_time_us=30.0,
        fixpipe_time_us=20.0,
        hbm_read_bytes=210 * MB,
        l2_read_bytes=500 * MB,
        write_bytes=30 * MB,
        rounds=5,
        bound=Bound.MTE2,
    )
    return replace(cost, **changes)  # type: ignore[arg-type]


def test_the_greatest_saving_in_a_pass_comes_first() -> None:
    rows = (
        make_row(0, make_compared(0.5, best_us=10.0, resolved=True), weight=1.0),
        make_row(1, make_compared(0.1, best_us=10.0, resolved=True), weight=80.0),
        make_row(2, make_compared(0.9, best_us=10.0), weight=99.0),
        make_row(3, make_compared(0.9, resolved=True), tag="grouped", weight=99.0),
        make_row(4, make_compared(0.9, resolved=True), weight=0.0),
    )
    assert names(select_first_tests(rows, ERRORS, 10)) == [1, 0]
    assert names(select_first_tests(rows, ERRORS, 1)) == [1]


def test_rows_of_one_problem_are_one_kernel() -> None:
    problem = GemmProblem(m=64, k=4096, n=6144)
    rows = tuple(
        make_row(index, make_compared(0.1, resolved=True), weight=weight, problem=problem)
        for index, weight in enumerate((1.0, 3.0, 2.0))
    )
    assert names(select_first_tests(rows, ERRORS, 10)) == [1]


@pytest.mark.parametrize(("left", "expected"), [(0.05, [0]), (0.03, []), (0.0, [])])
def test_only_what_the_tiling_data_can_carry_counts(left: float, expected: list[int]) -> None:
    compared = make_compared(0.3, resolved=True, expressible_gap_ratio=left)
    assert names(select_first_tests((make_row(0, compared),), ERRORS, 10)) == expected
    assert names(select_first_tests((make_row(0, compared),), {}, 10)) == []


def test_the_lines_say_what_to_change_and_what_it_saves() -> None:
    spec = make_spec()
    row: ResultRow = make_row(0, make_compared(0.25, best_us=40.0, resolved=True), weight=1200.0)
    (line,) = build_first_tests((row,), spec, "pipeline")
    assert line.changes == ("baseM 256 → 128",)
    assert (line.times, line.gap, line.saved) == ("50.0 → 40.0", "+25.0 %", "12,000")
    assert line.calls == "1,200"
    assert line.reason
    bare = replace(spec, calibrations={})
    assert build_first_tests((), bare, "formula") == ()


@pytest.mark.parametrize(
    ("strategy", "baseline", "best", "expected"),
    [
        (
            "BASIC_ASWT",
            make_plan(256, 192, m_tail_cnt=2),
            make_plan(256, 128, step_k=2, db_l0c=2, used_core_num=20, window_len=1),
            (
                "baseN 192 → 128",
                "stepKa = stepKb 4 → 2",
                "l0cDB 1 → 2",
                "mTailCnt 2 → 1",
                "usedCoreNum 32 → 20",
            ),
        ),
        (
            "BASIC_STREAM_K",
            make_plan(64, 256, template=Template.STREAM_K, single_core_k=1024),
            make_plan(64, 64),
            ("strategy BASIC_STREAM_K → BASIC_ASWT", "baseN 256 → 64"),
        ),
        (
            "BASIC_ASWT",
            make_plan(64, 64),
            make_plan(64, 64, template=Template.STREAM_K, single_core_k=1024),
            ("strategy BASIC_ASWT → BASIC_STREAM_K", "skSingleCoreK 4096 → 1024"),
        ),
        (
            "BASIC_ASWT",
            make_plan(64, 64, template=Template.A_FULL, l1_buffer_num=4),
            make_plan(64, 64, l0c_output=L0cOutput.FIXPIPE),
            ("kernel A full load → ASWT", "l1BufferNum 4 → 2", "output direct → via UB"),
        ),
        (
            "TO_MUL",
            make_plan(1, 64, template=Template.VECTOR),
            make_plan(16, 64),
            ("strategy TO_MUL → BASIC_ASWT", f"16{TIMES}64{TIMES}64, step 4, W 4"),
        ),
    ],
)
def test_changes_are_in_the_vendors_names(
    strategy: str, baseline: KernelPlan, best: KernelPlan, expected: tuple[str, ...]
) -> None:
    assert describe_change(baseline, best, strategy) == expected


@pytest.mark.parametrize(
    ("plans", "before", "after", "expected"),
    [
        ({}, {}, {"launch_us": 1.0}, "cheaper launch: 3.00 → 1.00 µs"),
        ({}, {}, {"prologue_us": 0.5}, "shorter wait for the first loads: 2.00 → 0.50 µs"),
        ({}, {}, {"epilogue_us": 1.0}, "C is stored faster: end of the kernel 5.00 → 1.00 µs"),
        (
            {"template": Template.STREAM_K},
            {},
            {"epilogue_us": 1.0},
            "no partial sums to reduce: end of the kernel 5.00 → 1.00 µs",
        ),
        ({"used_core_num": 20}, {}, {"rounds_us": 60.0}, "20 of 32 cores busy → 32"),
        ({}, {}, {"rounds_us": 60.0, "rounds": 4}, "5 rounds → 4"),
        (
            {},
            {},
            {"rounds_us": 60.0, "hbm_read_bytes": 180 * MB},
            "less HBM reading: 210 → 180 MB",
        ),
        (
            {},
            {},
            {"rounds_us": 60.0, "l2_read_bytes": 400 * MB},
            "less L2 reading: 500 → 400 MB",
        ),
        (
            {},
            {"bound": Bound.CUBE},
            {"rounds_us": 60.0, "cube_time_us": 20.0, "bound": Bound.MTE2},
            "the cube is busy for less: 40.0 → 20.0 µs; bound by cube → mte2",
        ),
        (
            {},
            {},
            {"rounds_us": 60.0, "cube_time_us": 39.0},
            "loads, cube and output overlap better: 90.0 → 60.0 µs",
        ),
    ],
)
def test_the_reason_is_the_part_of_the_time_that_shrinks_most(
    plans: dict[str, object], before: dict[str, object], after: dict[str, object], expected: str
) -> None:
    baseline, best = make_plan(256, 256, **plans), make_plan(128, 256)
    reason = explain_gain((baseline, best), (make_cost(**before), make_cost(**after)), 32)
    assert reason == expected


@pytest.mark.parametrize("quick", [True, False])
def test_the_tile_map_covers_the_space_that_was_searched(quick: bool) -> None:
    spec, problem = make_spec(), GemmProblem(m=64, k=256, n=512)
    row = make_row(0, make_compared(0.2), problem=problem)
    item = CountedRow(row=row, compared=row.compared or make_compared(0.0), share=1.0)
    choice = compute_tile_map((item,), spec, "pipeline", quick=quick)
    assert choice.map is not None
    assert choice.map.quick is quick
    fastest = choice.map.best_us[choice.map.best_us == choice.map.best_us].min()
    assert fastest > 0.0
    if not quick:
        coarse = tile_landscape(problem, spec, select_evaluator("pipeline")).best_us
        assert fastest <= coarse[coarse == coarse].min()
