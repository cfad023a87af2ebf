"""Plans as the operator's kernels take them, against the golden host tilings."""

from dataclasses import replace

import pytest

from baseline.decision import decide
from baseline.tiling_key import ApiLevel, FullLoad, Model, TilingKey
from baseline.vendor_kernel import VENDOR_KERNEL_KEYS, build_vendor_kernel, plan_from_vendor_kernel
from hwmodel.errors import InputError
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from tests.baseline.platforms import ASCEND_950PR
from tests.golden_tilings import golden_problem, load_golden_tilings

PROBLEM = GemmProblem(m=2048, k=4096, n=704)


def test_the_operators_own_plans_give_its_own_decisions() -> None:
    compared = 0
    for case in load_golden_tilings():
        request, out = case["in"], case["out"]
        if out.get("tilingStruct") != "MatMulV3BasicTilingData":
            continue
        problem = golden_problem(request)
        platform = replace(ASCEND_950PR, aic_num=request["aicNum"], l2_bytes=request["l2Size"])
        plan = plan_from_vendor_kernel(problem, out["tilingKey"], out["tilingData"])
        built = build_vendor_kernel(problem, plan, platform)
        assert tuple(built) == VENDOR_KERNEL_KEYS
        assert built == {name: out[name] for name in built}, request["id"]
        compared += 1
    assert compared == 4366


def test_keys_of_other_kernels_are_refused() -> None:
    decision = decide(PROBLEM, load_hardware("ascend950pr-9589"))
    assert plan_from_vendor_kernel(PROBLEM, decision.tiling_key, decision.tiling_data) == (  # type: ignore[arg-type]
        decision.plan
    )
    vector = TilingKey(api_level=ApiLevel.BASIC, trans_b=True, model=Model.TO_MUL)
    both = TilingKey(api_level=ApiLevel.TENSOR, trans_b=True, full_load=FullLoad.AB)
    older = TilingKey(api_level=ApiLevel.HIGH, trans_b=True)
    for key in (vector, both, older):
        with pytest.raises(InputError, match="another record than MatMulV3BasicTilingData"):
            plan_from_vendor_kernel(PROBLEM, key.encode(), {})
    other = TilingKey(api_level=ApiLevel.TENSOR, trans_a=True)
    with pytest.raises(InputError, match="is for trans_a 1, trans_b 0, the problem has 0, 1"):
        plan_from_vendor_kernel(PROBLEM, other.encode(), {})
    with pytest.raises(InputError, match="must fit"):
        plan_from_vendor_kernel(PROBLEM, -1, {})
