"""The paragraph that says why one kernel beats another, and the rows of its table."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autotune.breakdown_rows import Unit, build_breakdown_rows, format_bytes
from autotune.explanation import PARTS, Comparison, describe_plan, explain
from autotune.explanation_reasons import ExplainedKernel, Pair, count_loads, find_reasons
from baseline.decision import decide
from hwmodel.cost.breakdown import Bound, CostBreakdown
from hwmodel.cost.evaluators import select_evaluator
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from tests.autotune.report_runs import make_plan

SPEC = load_hardware("ascend950pr-9589")
PROBLEM = GemmProblem(m=2048, k=4096, n=2048)
PLAN = make_plan(256, 256)
COST = CostBreakdown(
    task_duration_us=50.0,
    launch_us=2.0,
    prologue_us=3.0,
    rounds_us=40.0,
    epilogue_us=5.0,
    cube_time_us=25.0,
    mte2_time_us=38.0,
    mte1_time_us=8.0,
    fixpipe_time_us=4.0,
    hbm_read_bytes=24e6,
    l2_read_bytes=80e6,
    write_bytes=8e6,
    rounds=2,
    bound=Bound.MTE2,
)


def make_cost(**changes: object) -> CostBreakdown:
    """A breakdown whose time is the sum of its parts."""
    cost = replace(COST, **changes)  # type: ignore[arg-type]
    return replace(cost, task_duration_us=sum(getattr(cost, name) for name in PARTS))


def tell(
    second: KernelPlan,
    second_cost: CostBreakdown,
    first: KernelPlan = PLAN,
    first_cost: CostBreakdown = COST,
    problem: GemmProblem = PROBLEM,
) -> str:
    return explain(
        Comparison(
            problem=problem,
            spec=SPEC,
            first=ExplainedKernel(name="the operator's plan", plan=first, cost=first_cost),
            second=ExplainedKernel(name="the best plan", plan=second, cost=second_cost),
        )
    )


def test_a_win_by_loads_that_costs_at_the_store() -> None:
    tall = make_plan(512, 128)
    cost = make_cost(
        rounds_us=30.0, mte2_time_us=28.5, epilogue_us=6.1, hbm_read_bytes=13e6, bound=Bound.CUBE
    )
    assert tell(tall, cost) == (
        "The best plan wins 8.90 us over the operator's plan: 41.1 us instead of 50.0 (+21.7 %). "
        "It saves 10.0 us in the rounds of blocks: MTE2 is busy 9.50 us less (B is loaded 4 times "
        "instead of 8 times, 13.0 MB from HBM instead of 24.0 MB). "
        "It pays 1.10 us more after the last multiplication. It costs nothing elsewhere. "
        "In the operator's plan MTE2 decides, in the best plan the cube."
    )


def test_a_plan_that_loses_is_explained_from_the_winners_side() -> None:
    text = tell(make_plan(128, 128), make_cost(rounds_us=60.0, mte2_time_us=58.0))
    assert text.startswith("The operator's plan wins 20.0 us over the best plan: 50.0 us instead")
    assert "A is loaded 8 times instead of 16 times" in text


def test_equal_plans_and_equal_times() -> None:
    assert tell(PLAN, COST) == ("The best plan is the operator's plan: 256x256x64, step 4, W 4.")
    assert tell(make_plan(128, 256), COST) == (
        "The best plan and the operator's plan take the same time, 50.0 us."
    )


def test_times_that_three_digits_do_not_tell_apart() -> None:
    long = make_cost(rounds_us=400.0)
    text = tell(make_plan(128, 256), make_cost(rounds_us=399.9), first_cost=long)
    assert "409.900 us instead of 410.000" in text


def test_cores_and_rounds() -> None:
    cost = make_cost(rounds_us=20.0, rounds=1)
    text = tell(make_plan(128, 256), cost, first=make_plan(256, 256, used_core_num=16))
    assert "32 cores instead of 16 have work" in text
    assert "the blocks take 1 round instead of 2" in text


def test_waits_are_told_with_what_bears_on_them() -> None:
    other = make_plan(256, 256, step_k=2, base_k=128, db_l0c=2, window_len=8)
    slow = make_cost(mte2_time_us=20.0)
    cost = make_cost(rounds_us=27.0, mte2_time_us=20.0)
    text = tell(other, cost, first_cost=slow)
    assert (
        "the cube, its busiest pipe, waits 2.00 us for the others instead of 15.0 "
        "(L0 steps in columns of K: 128 instead of 64; tiles in L0C: 2 instead of 1; block rows "
        "in a window: 8 instead of 4)"
    ) in text
    assert "L1 steps" not in text
    plain = tell(make_plan(128, 256), cost, first_cost=slow)
    assert "waits 2.00 us for the others instead of 15.0." in plain


def test_no_reason_is_made_up() -> None:
    """The rounds take less although no pipe is busy for less and none waits less."""
    busy = make_cost(mte2_time_us=45.0)
    text = tell(make_plan(128, 256), make_cost(rounds_us=39.0, mte2_time_us=45.0), first_cost=busy)
    assert "It saves 1.00 us in the rounds of blocks." in text


def test_a_pipe_that_hardly_works_is_no_reason() -> None:
    before = make_cost(fixpipe_time_us=9.0)
    text = tell(
        make_plan(128, 256), make_cost(rounds_us=38.0, fixpipe_time_us=1.0), first_cost=before
    )
    assert "the fixpipe is busy" not in text


def reasons(
    part: str, this: KernelPlan, other: KernelPlan, *, less: bool = True
) -> tuple[str, ...]:
    return find_reasons(
        part,
        Pair(
            problem=PROBLEM,
            spec=SPEC,
            this=ExplainedKernel(name="this", plan=this, cost=COST),
            other=ExplainedKernel(name="other", plan=other, cost=COST),
            takes_less=less,
        ),
    )


def test_reasons_of_the_launch() -> None:
    via_ub = make_plan(256, 256, l0c_output=L0cOutput.FIXPIPE)
    assert reasons("launch_us", PLAN, via_ub) == ("it is the ASWT kernel instead of ASWT via UB",)
    assert reasons("launch_us", PLAN, make_plan(128, 256)) == ()


def test_reasons_of_the_prologue() -> None:
    short = make_plan(256, 256, step_k=2)
    expected = "the first slabs of A and B hold 131 KB a core instead of 262 KB"
    assert reasons("prologue_us", short, PLAN) == (expected,)
    assert reasons("prologue_us", PLAN, short) == ()
    assert reasons("prologue_us", PLAN, short, less=False) == (
        "the first slabs of A and B hold 262 KB a core instead of 131 KB",
    )
    full = make_plan(256, 256, template=Template.A_FULL, step_k=2)
    assert reasons("prologue_us", full, PLAN) == ()


def test_reasons_of_the_epilogue() -> None:
    stream_k = make_plan(256, 256, template=Template.STREAM_K)
    assert reasons("epilogue_us", PLAN, stream_k) == ("there are no partial sums to add up",)
    assert reasons("epilogue_us", stream_k, PLAN, less=False) == ("partial sums are added up",)
    ragged = make_plan(256, 176)
    assert reasons("epilogue_us", PLAN, ragged) == (
        "the rows that a tile stores are whole 128-byte lines of C",
    )
    assert reasons("epilogue_us", ragged, PLAN, less=False) == (
        "the rows that a tile stores are not whole 128-byte lines of C",
    )
    assert reasons("epilogue_us", ragged, PLAN) == (
        "the last tile of a core has 90.1 KB of C instead of 131 KB",
    )
    assert reasons("epilogue_us", PLAN, PLAN) == ()


def test_runs_of_a_load() -> None:
    other = make_plan(256, 256, step_k=8)
    text = tell(other, make_cost(rounds_us=30.0, mte2_time_us=28.0))
    assert (
        "MTE2 is busy 10.0 us less (a load takes 1024 bytes of a row of K instead of 512)" in text
    )
    columns = GemmProblem(m=2048, k=4096, n=2048, trans_a=True, trans_b=False)
    text = tell(other, make_cost(rounds_us=30.0, mte2_time_us=28.0), problem=columns)
    assert "a row of K" not in text


def test_resident_operands_are_not_counted_as_loads() -> None:
    full = make_plan(256, 128, template=Template.B_FULL)
    cost = make_cost(rounds_us=30.0, mte2_time_us=28.0, l2_read_bytes=0.0)
    text = tell(full, cost)
    assert "is loaded" not in text
    assert "none from L2 instead of 80.0 MB" in text


def test_costs_are_told_once() -> None:
    cost = make_cost(
        prologue_us=0.5,
        rounds_us=40.4,
        epilogue_us=0.0,
        mte2_time_us=38.4,
        mte1_time_us=9.0,
        l2_read_bytes=90e6,
        write_bytes=9e6,
    )
    text = tell(make_plan(128, 256), cost)
    assert text.count("MTE2 is busy 0.40 us longer") == 1
    assert (
        "Elsewhere: MTE1 is busy 1.00 us longer, it reads 10.0 MB more from L2, it writes "
        "1.00 MB more of C."
    ) in text


def test_loads_are_a_block_column_and_a_block_row() -> None:
    assert count_loads(GemmProblem(m=1000, k=64, n=300), make_plan(128, 256)) == (2, 8)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    problem=st.builds(
        GemmProblem,
        m=st.integers(1, 5000),
        k=st.integers(1, 5000),
        n=st.integers(1, 5000),
        trans_a=st.booleans(),
        trans_b=st.booleans(),
    ),
    base_m=st.sampled_from([16, 128, 256]),
    base_n=st.sampled_from([16, 128, 256]),
    name=st.sampled_from(["pipeline", "formula"]),
)
def test_every_pair_has_one_line_that_names_the_difference(
    problem: GemmProblem, base_m: int, base_n: int, name: str
) -> None:
    baseline = decide(problem, SPEC).plan
    plan = make_plan(base_m, base_n, single_core_k=problem.k, db_l0c=2)
    model = select_evaluator(name)
    costs = [model.evaluate(problem, SPEC, one) for one in (baseline, plan)]
    text = tell(plan, costs[1], first=baseline, first_cost=costs[0], problem=problem)
    assert "\n" not in text
    text.encode("ascii")
    times = [cost.task_duration_us for cost in costs]
    if abs(times[0] / times[1] - 1.0) > 1e-6:
        winner = "The best plan" if times[1] < times[0] else "The operator's plan"
        assert text.startswith(f"{winner} wins ")


def test_rows_show_every_figure_of_a_breakdown() -> None:
    rows = build_breakdown_rows((COST, make_cost(rounds_us=30.0, bound=Bound.CUBE)))
    by_name = {row.name: row for row in rows}
    assert set(by_name) == set(CostBreakdown.__dataclass_fields__)
    assert rows[0].name == "task_duration_us"
    assert by_name["rounds_us"].difference() == "-10.0"
    assert by_name["launch_us"].difference() == "0"
    assert by_name["hbm_read_bytes"].unit is Unit.MB
    assert by_name["hbm_read_bytes"].cells() == ("24.0", "24.0")
    assert by_name["bound"].cells() == ("mte2", "cube")
    assert by_name["bound"].difference() == ""
    assert by_name["rounds"].cells() == ("2", "2")
    longer = build_breakdown_rows((COST, make_cost(launch_us=3.5)))
    assert {row.name: row for row in longer}["launch_us"].difference() == "+1.50"


@pytest.mark.parametrize(
    ("count", "text"), [(13e6, "13.0 MB"), (1e6, "1.00 MB"), (131072, "131 KB"), (0, "0 KB")]
)
def test_sizes(count: float, text: str) -> None:
    assert format_bytes(count) == text


def test_plans_are_ascii() -> None:
    assert describe_plan(make_plan(256, 128, m_tail_cnt=2)) == "256x128x64, step 4, W 4, tail 2x1"


def test_a_size_that_changes_little_does_not_explain_much() -> None:
    narrow = make_plan(240, 256)
    before = make_cost(epilogue_us=5.0)
    text = tell(narrow, make_cost(prologue_us=1.0, epilogue_us=1.0), first_cost=before)
    assert "It saves 2.00 us before the first multiplication." in text
    assert "It saves 4.00 us after the last multiplication." in text
    text = tell(narrow, make_cost(prologue_us=2.9))
    assert "It saves 0.10 us before the first multiplication: the first slabs" in text


def test_nothing_is_said_to_cost_0_00_us() -> None:
    text = tell(make_plan(128, 256), make_cost(rounds_us=39.98, mte1_time_us=8.004))
    assert "0.00 us" not in text
    assert "It costs nothing elsewhere." in text
