from dataclasses import fields, replace

import pytest

from hwmodel.dtypes import DType
from hwmodel.errors import InputError
from hwmodel.plan import KernelPlan, L0cOutput, StreamKOrder, Template
from hwmodel.problem import GemmProblem
from hwmodel.vendor_tiling import (
    VENDOR_NAMES,
    find_inexpressible_field,
    plan_from_tiling_data,
    tiling_data_from_plan,
    to_vendor_names,
)
from tests.golden_tilings import golden_problem, load_golden_tilings

L2_BYTES = 128 * 2**20
FULL_LOADS = {0: Template.ASWT, 1: Template.A_FULL, 2: Template.B_FULL}
PROBLEM = GemmProblem(m=4096, k=4096, n=4096)
PLAN = KernelPlan(
    template=Template.ASWT,
    base_m=256,
    base_n=256,
    base_k=64,
    step_k=4,
    single_core_k=4096,
    used_core_num=32,
)


def test_plan_and_back_gives_every_golden_record() -> None:
    compared = 0
    for case in load_golden_tilings():
        out = case["out"]
        if out.get("tilingStruct") != "MatMulV3BasicTilingData":
            continue
        template = (
            Template.STREAM_K
            if out["strategy"] == "BASIC_STREAM_K"
            else FULL_LOADS[out["fullLoad"]]
        )
        problem = golden_problem(case["in"])
        plan = plan_from_tiling_data(problem, template, out["tilingData"])
        assert find_inexpressible_field(problem, plan) is None
        record = tiling_data_from_plan(problem, plan, l2_bytes=case["in"]["l2Size"])
        assert list(record.items()) == list(out["tilingData"].items()), case["in"]["id"]
        assert plan_from_tiling_data(problem, template, record) == plan
        compared += 1
    assert compared == 4366


def test_names_cover_the_record_in_order() -> None:
    record = tiling_data_from_plan(PROBLEM, PLAN, l2_bytes=L2_BYTES)
    assert tuple(VENDOR_NAMES.values()) == tuple(record)
    measured = {"used_core_num": 32, "k_l1": 256, "db_l0c": 1, "duration_us": 5}
    assert to_vendor_names(measured) == {"usedCoreNum": 32, "kL1": 256, "l0cDB": 1}


def test_absent_fields_take_canonical_values() -> None:
    record = {"usedCoreNum": 32, "kL1": 256, "baseM": 256, "baseN": 256, "baseK": 64}
    assert plan_from_tiling_data(PROBLEM, Template.ASWT, record) == PLAN
    full = plan_from_tiling_data(PROBLEM, Template.A_FULL, record, l0c_output=L0cOutput.ON_THE_FLY)
    assert full.window_len == 1
    with pytest.raises(InputError, match="kL1 is missing"):
        plan_from_tiling_data(PROBLEM, Template.ASWT, {"baseK": 64, "baseM": 16, "baseN": 16})
    with pytest.raises(InputError, match="template vector"):
        plan_from_tiling_data(PROBLEM, Template.VECTOR, record)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"template": Template.A_PANEL}, "template"),
        ({"template": Template.VECTOR}, "template"),
        ({"resident_slabs": 1}, "resident_slabs"),
        ({"window_len": 2}, "window_len"),
        ({"serpentine": False}, "serpentine"),
        ({"step_k": 5}, "step_k"),
        ({"template": Template.STREAM_K, "sk_order": StreamKOrder.FIRST}, "sk_order"),
        ({}, None),
        ({"base_m": 1024, "window_len": 7}, None),
        ({"base_m": 4096, "serpentine": False}, None),
        ({"template": Template.A_FULL, "window_len": 9}, None),
    ],
)
def test_a_plan_the_vendor_cannot_express_names_the_field(
    change: dict[str, object], field: str | None
) -> None:
    values = {name.name: getattr(PLAN, name.name) for name in fields(KernelPlan)} | change
    plan = KernelPlan(**values)
    assert find_inexpressible_field(PROBLEM, plan) == field
    if field is not None:
        with pytest.raises(InputError, match=field):
            tiling_data_from_plan(PROBLEM, plan, l2_bytes=L2_BYTES)


def test_steps_beyond_k_are_expressible() -> None:
    short = replace(PROBLEM, k=250)
    plan = replace(PLAN, step_k=9, single_core_k=250)
    assert find_inexpressible_field(short, plan) is None
    assert tiling_data_from_plan(short, plan, l2_bytes=L2_BYTES)["kL1"] == 4 * 64


@pytest.mark.parametrize(
    ("m", "n", "k", "expected"),
    [(256, 128, 2**20, 3), (256, 512, 2**20, 2), (512, 128, 2**20, 1), (256, 128, 4096, 0)],
)
def test_l2_bypass_needs_one_reader_and_whole_lines(m: int, n: int, k: int, expected: int) -> None:
    problem = GemmProblem(m=m, n=n, k=k, dtype=DType.BF16)
    plan = replace(PLAN, base_m=256, base_n=128, single_core_k=k, used_core_num=1)
    assert tiling_data_from_plan(problem, plan, l2_bytes=L2_BYTES)["l2CacheDisable"] == expected
