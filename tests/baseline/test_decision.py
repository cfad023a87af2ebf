import json
from dataclasses import replace

import pytest
from hypothesis import given, settings

from baseline.decision import BaselineDecision, decide, decide_request
from baseline.dispatch import Strategy
from baseline.platform import Platform
from baseline.request import AVOID_TENSOR_API, RequestedStrategy, TilingRequest
from baseline.tiling_key import ApiLevel, FullLoad, L0cOut, Model, decode_tiling_key
from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.errors import InputError, RejectedError
from hwmodel.plan import L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from tests.baseline.platforms import (
    ASCEND_950PR,
    any_ints,
    dims,
    inner_dims,
    platforms,
    requests,
)

EXAMPLES = settings(max_examples=600, derandomize=True, deadline=None)
FP32 = DType.FP32
HIGH_PRECISION = OpImplMode.HIGH_PRECISION


def decide_950(request: TilingRequest, *, explain: bool = False) -> BaselineDecision:
    return decide_request(request, ASCEND_950PR, explain=explain)


@EXAMPLES
@given(request=requests(any_ints, any_ints), platform=platforms)
def test_any_request_gives_a_decision_or_a_named_error(
    request: TilingRequest, platform: Platform
) -> None:
    try:
        decision = decide_request(request, platform)
    except RejectedError:
        return
    json.dumps(decision.to_record(), allow_nan=False)


@EXAMPLES
@given(request=requests(dims, inner_dims), platform=platforms)
def test_explaining_changes_nothing_but_the_steps(
    request: TilingRequest, platform: Platform
) -> None:
    request = replace(request, dtype=FP32, out_dtype=FP32, bias_dtype=None, format_a=Format.ND)
    if request.k == 0:
        request = replace(request, strategy=RequestedStrategy.AUTO)
    plain = decide_request(request, platform)
    explained = decide_request(request, platform, explain=True)
    assert plain.steps == ()
    assert plain.warnings == ()
    assert explained.steps[-1].topic == "tiling key"
    assert replace(explained, steps=(), warnings=()) == plain
    assert decode_tiling_key(plain.tiling_key) == plain.key
    assert all(value >= 0 for value in plain.run_info.values() if isinstance(value, int))


@pytest.mark.parametrize(
    ("request_", "strategy", "template"),
    [
        (TilingRequest(m=8, k=0, n=8), Strategy.K_EQUAL_ZERO, Template.K_EQUAL_ZERO),
        (
            TilingRequest(
                m=1, k=64, n=99, dtype=FP32, out_dtype=FP32, op_impl_mode=HIGH_PRECISION
            ),
            Strategy.TO_MUL,
            Template.VECTOR,
        ),
        (
            TilingRequest(
                m=9, k=64, n=99, dtype=FP32, out_dtype=FP32, op_impl_mode=HIGH_PRECISION
            ),
            Strategy.TO_MULTI_MUL,
            Template.TO_MULTI_MUL,
        ),
        (TilingRequest(m=64, k=7168, n=2048), Strategy.BASIC_STREAM_K, Template.STREAM_K),
        (TilingRequest(m=4096, k=4096, n=4096), Strategy.BASIC_ASWT, Template.ASWT),
        (TilingRequest(m=128, k=512, n=131072), Strategy.BASIC_ASWT, Template.A_FULL),
        (TilingRequest(m=131072, k=512, n=128), Strategy.BASIC_ASWT, Template.B_FULL),
        (
            TilingRequest(m=64, k=7168, n=2048, strategy=RequestedStrategy.BASE),
            Strategy.BASE,
            Template.BASE,
        ),
    ],
)
def test_strategy_and_template(
    request_: TilingRequest, strategy: Strategy, template: Template
) -> None:
    decision = decide_950(request_, explain=True)
    assert decision.strategy is strategy
    assert decision.plan.template is template
    assert decision.plan.used_core_num == decision.num_blocks
    assert any(strategy in step.text for step in decision.steps if step.topic == "strategy")


def test_refused_strategies_say_why() -> None:
    def reasons(request: TilingRequest) -> dict[str, str]:
        steps = decide_950(request, explain=True).steps
        texts = [step.text for step in steps if " refused: " in step.text]
        pairs = [text.split(" refused: ") for text in texts]
        return {name: reason for name, reason in pairs}

    plain = TilingRequest(m=9, k=64, n=99)
    assert reasons(plain)["TO_MUL"] == "not the high precision mode"
    precise = replace(plain, op_impl_mode=HIGH_PRECISION)
    assert reasons(precise)["TO_MUL"] == "neither M nor N is 1"
    assert reasons(precise)["TO_MULTI_MUL"] == "the inputs are not fp32"
    assert reasons(replace(precise, m=1))["TO_MUL"] == "the inputs are not fp32"
    transposed = replace(precise, trans_b=False)
    assert "contiguous" in reasons(transposed)["TO_MULTI_MUL"]
    biased = replace(precise, bias_dtype=DType.BF16)
    assert reasons(biased)["TO_MULTI_MUL"] == "there is a bias"
    strict = TilingRequest(m=64, k=7168, n=2048, deterministic_level=2)
    assert reasons(strict)["BASIC_STREAM_K"] == "the determinism level is above 1"
    one_to_one = replace(ASCEND_950PR, aiv_num=32)
    steps = decide_request(replace(strict, deterministic_level=0), one_to_one, explain=True).steps
    assert any("two vector cores per cube core" in step.text for step in steps)


def test_avoiding_the_tensor_api_changes_the_kernel() -> None:
    long_k = TilingRequest(m=64, k=65536, n=64, dtype=FP32, out_dtype=FP32)
    assert decide_950(long_k).key.model is Model.SK_SPLIT_K
    avoiding = decide_950(replace(long_k, offset_x=AVOID_TENSOR_API))
    assert avoiding.key.model is Model.STREAM_K
    assert avoiding.key.api_level is ApiLevel.BASIC
    aswt = TilingRequest(m=4096, k=4096, n=4096, offset_x=AVOID_TENSOR_API)
    assert decide_950(aswt).key.api_level is ApiLevel.BASIC


def test_fixpipe_output_is_in_key_and_plan() -> None:
    request = TilingRequest(m=8192, k=256, n=1000)
    decision = decide_950(request)
    assert decision.key.l0c_out is L0cOut.ND_FIXPIPE_1_1
    assert decision.plan.l0c_output is L0cOutput.FIXPIPE
    wide = decide_950(replace(request, dtype=FP32, out_dtype=FP32))
    assert wide.key.l0c_out is L0cOut.ND_FIXPIPE_1_2
    assert decision.key.full_load is FullLoad.NONE


def test_decide_takes_problem_and_spec() -> None:
    spec = load_hardware("ascend950pr-9589")
    problem = GemmProblem(m=64, k=7168, n=2048, dtype=FP32, out_dtype=FP32)
    request = TilingRequest.from_problem(problem)
    assert decide(problem, spec) == decide_950(request)
    assert decide(problem, spec, explain=True).steps
    assert decide(problem, spec, strategy="base").strategy is Strategy.BASE
    assert decide(problem, spec, offset_x=AVOID_TENSOR_API).key.api_level is ApiLevel.BASIC
    with pytest.raises(InputError, match="strategy 'best': must be auto or base"):
        decide(problem, spec, strategy="best")
    with pytest.raises(RejectedError, match="no such kernel"):
        decide(replace(problem, out_dtype=DType.FP16), spec)


@pytest.mark.parametrize(
    ("request_", "defect"),
    [
        (TilingRequest(m=1, k=0, n=3), "defect 1"),
        (TilingRequest(m=8, k=0, n=8), None),
        (TilingRequest(m=10, k=0, n=10), "defect 1"),
        (TilingRequest(m=65536, k=0, n=65537), "defect 2"),
        (TilingRequest(m=65536, k=0, n=65535), None),
        (TilingRequest(m=32, k=32769, n=32, dtype=FP32, out_dtype=FP32), "defect 3"),
        (TilingRequest(m=32, k=32768, n=32, dtype=FP32, out_dtype=FP32), None),
        (TilingRequest(m=32, k=32769, n=32), None),
        (
            TilingRequest(
                m=16,
                k=8200,
                n=512,
                trans_b=False,
                dtype=FP32,
                out_dtype=FP32,
                format_b=Format.NZ,
            ),
            "defect 4",
        ),
        (
            TilingRequest(
                m=16,
                k=8201,
                n=512,
                trans_b=False,
                dtype=FP32,
                out_dtype=FP32,
                format_b=Format.NZ,
            ),
            None,
        ),
        (TilingRequest(m=4096, k=4096, n=4096), None),
    ],
)
def test_defects_that_a_problem_meets(request_: TilingRequest, defect: str | None) -> None:
    warnings = decide_950(request_, explain=True).warnings
    if defect is None:
        assert warnings == ()
    else:
        assert any(warning.startswith(defect) for warning in warnings)


def test_explained_numbers_of_a_balanced_case() -> None:
    steps = decide_950(TilingRequest(m=3000, k=1000, n=1700), explain=True).steps
    by_topic = {step.topic: step for step in steps}
    assert list(by_topic) == [
        "strategy",
        "roofline edge",
        "base block search",
        "base block candidate",
        "base block",
        "L0C output",
        "A full load",
        "B full load",
        "tail split",
        "L1 tile",
        "kernel's L1 slab",
        "tiling key",
    ]
    search = by_topic["base block search"].values
    assert search["candidates"] == int(search["visited"]) + int(search["pruned"])
    assert "API TENSOR" in by_topic["tiling key"].text
