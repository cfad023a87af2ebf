import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodel.cost.breakdown import Bound, CostBreakdown
from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.plan import KernelPlan, L0cOutput, StreamKOrder, Template
from hwmodel.problem import GemmProblem
from studies.outcome import Certificate, EvaluatedPlan, Selection, ShapeOutcome
from studies.outcome_json import (
    cost_from_json,
    cost_to_json,
    outcome_from_json,
    outcome_to_json,
)

integers = st.integers(0, 2**60)
floats = st.floats(allow_nan=False, allow_infinity=False)
costs = st.builds(
    CostBreakdown,
    bound=st.sampled_from(Bound),
    rounds=integers,
    **dict.fromkeys(
        (
            "task_duration_us",
            "launch_us",
            "prologue_us",
            "rounds_us",
            "epilogue_us",
            "cube_time_us",
            "mte2_time_us",
            "mte1_time_us",
            "fixpipe_time_us",
            "hbm_read_bytes",
            "l2_read_bytes",
            "write_bytes",
        ),
        floats,
    ),
)
plans = st.builds(
    KernelPlan,
    template=st.sampled_from(Template),
    l0c_output=st.sampled_from(L0cOutput),
    sk_order=st.sampled_from(StreamKOrder),
    serpentine=st.booleans(),
    **dict.fromkeys(
        ("base_m", "base_n", "base_k", "step_k", "single_core_k", "used_core_num", "window_len"),
        integers,
    ),
)
problems = st.builds(
    GemmProblem,
    m=st.integers(1, 2**31 - 1),
    k=st.integers(0, 2**31 - 1),
    n=st.integers(1, 2**31 - 1),
    trans_a=st.booleans(),
    dtype=st.sampled_from(DType),
    bias_dtype=st.none() | st.sampled_from(DType),
    format_b=st.sampled_from(Format),
    op_impl_mode=st.sampled_from(OpImplMode),
)
evaluated = st.builds(EvaluatedPlan, plan=plans, cost=costs)
certificates = st.builds(
    Certificate,
    space=st.text(),
    restriction=st.text(),
    evaluator=st.text(),
    cartesian=integers,
    evaluated=integers,
    pruned=integers,
    pruned_by=st.dictionaries(st.text(), integers, max_size=2),
    best_us=floats,
)
selections = st.builds(
    Selection,
    selector=st.text(),
    judge=st.text(),
    unjudged=integers,
    selector_us=st.lists(floats, max_size=3).map(tuple),
    selector_places=st.lists(integers, max_size=3).map(tuple),
    baseline_us=floats,
    kendall=st.none() | floats,
    spearman=st.none() | floats,
)
outcomes = st.builds(
    ShapeOutcome,
    problem=problems,
    baseline=evaluated,
    baseline_strategy=st.text(),
    baseline_violations=st.lists(st.text(), max_size=2).map(tuple),
    best=evaluated,
    best_expressible=evaluated,
    top=st.lists(evaluated, max_size=2).map(tuple),
    ties_within_1pct=integers,
    evaluations=integers,
    rejected=st.dictionaries(st.text(), integers, max_size=2),
    certificate=st.none() | certificates,
    roofline_us=floats,
    history_us=st.lists(floats, max_size=3).map(tuple),
    selection=st.none() | selections,
)
repeatable = settings(derandomize=True, deadline=None, max_examples=60)


def through_text(record: object) -> object:
    return json.loads(json.dumps(record, allow_nan=False))


@given(cost=costs, outcome=outcomes)
@repeatable
def test_reading_gives_back_what_was_written(cost: CostBreakdown, outcome: ShapeOutcome) -> None:
    assert cost_from_json(through_text(cost_to_json(cost))) == cost
    again = outcome_from_json(through_text(outcome_to_json(outcome)))
    assert again == outcome
    assert isinstance(again.top, tuple)
    assert isinstance(again.baseline.plan.template, Template)


PLAN = KernelPlan(
    template=Template.ASWT,
    base_m=16,
    base_n=16,
    base_k=16,
    step_k=1,
    single_core_k=16,
    used_core_num=1,
)
COST = CostBreakdown(
    **dict.fromkeys(
        (
            "task_duration_us",
            "launch_us",
            "prologue_us",
            "rounds_us",
            "epilogue_us",
            "cube_time_us",
            "mte2_time_us",
            "mte1_time_us",
            "fixpipe_time_us",
            "hbm_read_bytes",
            "l2_read_bytes",
            "write_bytes",
        ),
        1.5,
    ),
    rounds=1,
    bound=Bound.CUBE,
    critical_pipe=Bound.CUBE,
)
ONLY = EvaluatedPlan(plan=PLAN, cost=COST)
OUTCOME = ShapeOutcome(
    problem=GemmProblem(m=1, k=1, n=1),
    baseline=ONLY,
    baseline_strategy="BASIC_ASWT",
    baseline_violations=(),
    best=ONLY,
    best_expressible=ONLY,
    top=(ONLY,),
    ties_within_1pct=1,
    evaluations=1,
    rejected={},
    certificate=None,
    roofline_us=1.0,
)


def with_best_plan(plan: object) -> dict[str, Any]:
    """The record of `OUTCOME` with another record in the place of the best plan's."""
    record = outcome_to_json(OUTCOME)
    return {**record, "best": {**record["best"], "plan": plan}}


@pytest.mark.parametrize(
    "change",
    [
        {"base_m": "16"},
        {"base_m": 16.0},
        {"base_m": True},
        {"base_m": None},
        {"serpentine": 1},
        {"template": "unknown"},
        {"template": None},
        {"more": 1},
    ],
)
def test_what_is_not_exactly_a_plan_is_refused(change: dict[str, Any]) -> None:
    plan = outcome_to_json(OUTCOME)["best"]["plan"]
    assert outcome_from_json(with_best_plan(plan)) == OUTCOME
    with pytest.raises(ValueError, match=r".+"):
        outcome_from_json(with_best_plan({**plan, **change}))


@pytest.mark.parametrize("record", [None, [], "plan", 3, {}, {"base_m": 16}])
def test_what_is_no_object_is_refused(record: object) -> None:
    with pytest.raises(ValueError, match="KernelPlan: an object"):
        outcome_from_json(with_best_plan(record))
    with pytest.raises(ValueError, match="ShapeOutcome: an object"):
        outcome_from_json(record)


@pytest.mark.parametrize(
    "change",
    [
        {"top": {}},
        {"top": [None]},
        {"rejected": []},
        {"rejected": {"l1_capacity": "many"}},
        {"certificate": 3},
        {"history_us": [1]},
        {"problem": None},
    ],
)
def test_damaged_parts_of_an_outcome_are_refused(change: dict[str, Any]) -> None:
    assert outcome_from_json(outcome_to_json(OUTCOME)) == OUTCOME
    with pytest.raises(ValueError, match=r".+"):
        outcome_from_json({**outcome_to_json(OUTCOME), **change})
