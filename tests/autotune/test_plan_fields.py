"""Plans as users write them: by this project's names, the vendor's, or as a whole decision."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autotune.plan_fields import change_plan, load_plan
from baseline.decision import BaselineDecision, decide
from hwmodel.dtypes import DType, OpImplMode
from hwmodel.errors import InputError
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from hwmodel.vendor_tiling import find_inexpressible_field

SPEC = load_hardware("ascend950pr-9589")
ASWT = GemmProblem(m=2048, k=4096, n=704)
STREAM_K = GemmProblem(m=16, k=18432, n=1024)
A_FULL = GemmProblem(m=32, k=64, n=100_000)
VECTOR = GemmProblem(
    m=1, k=448, n=1, dtype=DType.FP32, out_dtype=DType.FP32, op_impl_mode=OpImplMode(4)
)


def decide_plan(problem: GemmProblem) -> BaselineDecision:
    return decide(problem, SPEC)


def change(problem: GemmProblem, members: dict[str, Any]) -> KernelPlan:
    return change_plan(problem, SPEC, decide(problem, SPEC).plan, members, "--plan")


def complaint(problem: GemmProblem, members: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        change(problem, members)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_both_names_of_a_field_mean_the_same() -> None:
    ours = change(ASWT, {"base_m": 272, "base_n": 176, "base_k": 32, "step_k": 4, "db_l0c": 1})
    theirs = change(ASWT, {"baseM": 272, "baseN": 176, "baseK": 32, "kL1": 128, "l0cDB": 1})
    assert ours == theirs
    assert (theirs.base_m, theirs.step_k, theirs.used_core_num) == (272, 4, 32)
    assert change(ASWT, {"kL1": 128}).step_k == 128 // decide_plan(ASWT).plan.base_k


@pytest.mark.parametrize("problem", [ASWT, STREAM_K, A_FULL])
def test_the_operators_own_record_is_its_own_plan(problem: GemmProblem) -> None:
    decision = decide(problem, SPEC)
    assert find_inexpressible_field(problem, decision.plan) is None
    assert change(problem, dict(decision.tiling_data)) == decision.plan
    whole = json.loads(json.dumps({"id": "x", **decision.to_record()}))
    assert change(problem, whole) == decision.plan


def test_a_decision_brings_its_own_kernel() -> None:
    kinds = {decide(problem, SPEC).plan.template for problem in (ASWT, STREAM_K, A_FULL)}
    assert kinds == {Template.ASWT, Template.STREAM_K, Template.A_FULL}
    record = decide(GemmProblem(m=1000, k=200, n=3001), SPEC).to_record()
    plan = change(GemmProblem(m=1000, k=200, n=3001), dict(record))
    assert plan.l0c_output is L0cOutput.FIXPIPE


def test_files_hold_the_same(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text('{"baseN": 176}', encoding="utf-8")
    baseline = decide(ASWT, SPEC).plan
    plan = load_plan(str(path), "--vs", ASWT, SPEC, baseline)
    assert plan == load_plan('{"base_n": 176}', "--vs", ASWT, SPEC, baseline)
    assert plan == replace(baseline, base_n=176, m_tail_cnt=1, n_tail_cnt=1, used_core_num=32)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"baseM": "272"}, '--plan: baseM = "272": must be an integer'),
        ({"baseM": True}, "--plan: baseM = true: must be an integer"),
        ({"baseM": 0}, "--plan: baseM = 0: must be in 1..2147483647"),
        ({"base_m": 32, "baseM": 32}, "--plan: base_m is given twice, by both of its names"),
        ({"baseQ": 1}, "--plan: 'baseQ' is no field; use some of template, base_m"),
        ({"kL1": 100}, "--plan: kL1 = 100: must be a multiple of baseK, which is 32"),
        ({"kL1": 0}, "--plan: kL1 = 0: must be a multiple of baseK"),
        ({"kL1": 256, "base_k": "x"}, "--plan: kL1 = 256: must be a multiple of baseK"),
        ({"kL1": 256, "step_k": 3}, "--plan: kL1 = 256: it follows from problem and plan, and is"),
        ({"m": 16}, "--plan: m = 16: it follows from problem and plan, and is 2048; leave it out"),
        ({"nL1": 16, "baseM": 272}, "--plan: nL1 = 16: it follows from problem and plan"),
        ({"mL1": 256, "window_len": 3}, "--plan: plan field window_len = 3: the vendor's tiling"),
        ({"tilingData": {}}, "--plan: tilingData needs its tilingKey, an integer; give both"),
        ({"tilingData": [], "tilingKey": 66}, "--plan: tilingData is no object"),
        ({"tilingData": {"x": 1}, "tilingKey": 66}, "--plan: tilingData has no field 'x'"),
        ({"tilingData": {"m": 1.5}, "tilingKey": 66}, "--plan: m = 1.5: must be an integer"),
        ({"tilingData": {}, "tilingKey": 66}, "--plan: tiling data: baseK is missing"),
        (
            {"tilingData": {}, "tilingKey": 2},
            "--plan: tiling key 2: it is for trans_a 0, trans_b 0",
        ),
        (
            {"tilingData": {}, "tilingKey": 66, "tilingStruct": "MatMulV3TilingData"},
            "--plan: tilingStruct MatMulV3TilingData: only MatMulV3BasicTilingData can be read",
        ),
    ],
)
def test_what_cannot_be_a_plan_is_one_line(members: dict[str, Any], expected: str) -> None:
    assert complaint(ASWT, members).startswith(expected)


def test_a_record_of_another_problem_is_refused() -> None:
    record = dict(decide(STREAM_K, SPEC).to_record())
    assert ": it follows from problem and plan" in complaint(ASWT, record)


def test_zero_base_k_in_a_record_is_refused() -> None:
    record = dict(decide(ASWT, SPEC).tiling_data) | {"baseK": 0}
    assert complaint(ASWT, {"tilingKey": 66, "tilingData": record}) == (
        "--plan: baseK = 0: must be in 1..2147483647"
    )


def test_vector_kernels_have_no_such_record() -> None:
    assert "template" in complaint(VECTOR, {"mL1": 16})
    assert change(VECTOR, {"baseK": 32}).base_k == 32
