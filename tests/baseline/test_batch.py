import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baseline.batch import PLATFORM_KEYS, REQUEST_KEYS, answer_line, build_platform
from baseline.json_lines import MAX_LINE_BYTES, read_lines
from tests.baseline.platforms import ASCEND_950PR
from tests.golden_tilings import load_golden_tilings

SHAPE = {"m": 64, "k": 128, "n": 256}

DEFAULTS: dict[str, object] = {
    "transA": 0,
    "transB": 0,
    "dtypeA": "bf16",
    "dtypeC": "bf16",
    "biasDtype": "none",
    "formatB": "ND",
    "opImplMode": 0,
    "deterministicLevel": 0,
    "forcedStrategy": "auto",
    "aicNum": 32,
    "aivNum": 64,
    "freqMHz": 1650,
    "ddrRate": 31,
    "l2Rate": 100,
    "l2Size": 134217728,
    "l1Size": 524288,
    "l0aSize": 65536,
    "l0bSize": 65536,
    "l0cSize": 262144,
    "ubSize": 253952,
    "btSize": 4096,
}
"""What the specification says that an absent key means."""


def answer(request: object) -> dict[str, Any]:
    line = request if isinstance(request, bytes) else json.dumps(request).encode()
    text = answer_line(line, ASCEND_950PR)
    assert "\n" not in text
    result = json.loads(text)
    assert isinstance(result, dict)
    return result


def test_absent_keys_mean_the_defaults() -> None:
    compared = 0
    for case in load_golden_tilings()[::3]:
        request = case["in"]
        short = {key: value for key, value in request.items() if DEFAULTS.get(key, ...) != value}
        compared += len(request) - len(short)
        assert answer(short) == {"id": request["id"]} | case["out"]
    assert compared > 20000


def test_a_bandwidth_count_of_its_own() -> None:
    platform = build_platform({"aicNum": 24}, ASCEND_950PR)
    assert (platform.aic_num, platform.ai_core_cnt) == (24, 24)
    platform = build_platform({"aicNum": 24, "aiCoreCnt": 20}, ASCEND_950PR)
    assert (platform.aic_num, platform.ai_core_cnt) == (24, 20)
    assert build_platform(SHAPE, ASCEND_950PR) is ASCEND_950PR


@pytest.mark.parametrize("identity", ["x", 7, None, 1.5, ["a", {"b": "ü"}], "\ud800"])
def test_the_id_comes_first(identity: object) -> None:
    for request in (SHAPE, SHAPE | {"m": 0}, {"m": "one"}):
        result = answer({"id": identity, **request})
        assert next(iter(result.items())) == ("id", identity)
        assert len(result) > 2


@pytest.mark.parametrize(
    ("extra", "code", "where"),
    [
        ({"kB": 129}, "inner_dim_mismatch", "ValidateShape"),
        ({"biasDtype": "bf16", "biasLength": 255}, "bias_length", "ValidateShape"),
        ({"formatA": "NZ"}, "format_unsupported", "ValidateShape"),
        ({"formatC": "NZ"}, "format_unsupported", "ValidateShape"),
        ({"k": 0, "forcedStrategy": "base"}, "base_with_k_zero", "DoOpTiling"),
        ({"k": 0, "biasDtype": "bf16"}, "bias_with_k_zero", "ValidateShape"),
        ({"m": -1}, "dim_out_of_range", "ValidateShape"),
        ({"n": 10**40}, "dim_out_of_range", "ValidateShape"),
        ({"dtypeA": "fp16"}, "dtype_combination", "ValidateDtype"),
        ({"aicNum": 0}, "aic_num_zero", "GetShapeAttrsInfo"),
    ],
)
def test_rejected_requests(extra: dict[str, object], code: str, where: str) -> None:
    assert answer({"id": 1} | SHAPE | extra) == {"id": 1, "error": code, "errorFunc": where}


def test_optional_keys_that_agree_change_nothing() -> None:
    agreeing = {"kB": 128, "formatA": "ND", "formatC": "ND", "biasLength": 9, "offsetX": 0}
    assert answer(SHAPE | agreeing) == answer(SHAPE)
    biased = SHAPE | {"biasDtype": "fp32"}
    assert answer(biased | {"biasLength": 256}) == answer(biased)
    assert answer(SHAPE | {"offsetX": 128})["apiLevel"] == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "not JSON"),
        (b"m=1", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"m":NaN,"k":1,"n":1}', "NaN is no number"),
        (b'{"m":1e999,"k":1,"n":1}', "1e999 is out of range"),
        (b'{"m":' + b"9" * 5000 + b',"k":1,"n":1}', "value has 5000 digits; give one"),
        (b"[1, 2]", "not a JSON object: [1, 2]"),
        (b"null", "not a JSON object: null"),
        (b'{"m":1,"k":1,"n":1,"m":2}', 'key "m" is given twice'),
        (b'{"m":1,"k":1,"n":1,"id":{"a":1,"b":2,"a":1}}', 'key "a" is given twice'),
        (b'{"id":' + b" " * MAX_LINE_BYTES + b"}", "the line is longer than 1048576 bytes"),
        ({}, "key m is missing"),
        ({"m": 1, "k": 1}, "key n is missing"),
        (SHAPE | {"m": 1.0}, "m = 1.0: must be an integer"),
        (SHAPE | {"m": True}, "m = true: must be an integer"),
        (SHAPE | {"m": None}, "m = null: must be an integer"),
        (SHAPE | {"m": "8" * 100}, 'm = "' + "8" * 39 + "...: must be an integer"),
        (SHAPE | {"transA": True}, "transA = true: must be one of 0, 1"),
        (SHAPE | {"transA": 2}, "transA = 2"),
        (SHAPE | {"transA": 1.0}, "transA = 1.0"),
        (SHAPE | {"dtypeA": "int8"}, 'dtypeA = "int8": must be one of fp16, bf16, fp32'),
        (SHAPE | {"dtypeA": ["fp16"]}, 'dtypeA = ["fp16"]'),
        (SHAPE | {"biasDtype": None}, "biasDtype = null: must be one of none, fp16"),
        (SHAPE | {"opImplMode": 1}, "opImplMode = 1: must be one of 0, 4, 64"),
        (SHAPE | {"deterministicLevel": 4}, "deterministicLevel = 4"),
        (SHAPE | {"forcedStrategy": "aswt"}, 'forcedStrategy = "aswt": must be one of auto, base'),
        (SHAPE | {"kB": "8"}, 'kB = "8": must be an integer'),
        (SHAPE | {"transa": 1}, 'unknown key "transa"; did you mean transA?'),
        (SHAPE | {"zzzzzz": 1}, 'unknown key "zzzzzz"; leave it out'),
        (SHAPE | {"aicNum": -1}, "aic_num = -1"),
        (SHAPE | {"l0cSize": 2**60}, "l0c_bytes = 1152921504606846976"),
        (SHAPE | {"l1Size": 1.5}, "l1Size = 1.5: must be an integer"),
    ],
)
def test_lines_that_are_no_request(line: object, message: str) -> None:
    result = answer(line)
    assert result["error"] == "bad_input"
    assert message in result["message"]


@pytest.mark.parametrize("excess", [-1, 0, 1, MAX_LINE_BYTES, MAX_LINE_BYTES + 1])
@pytest.mark.parametrize("filler", [b"x", b" "])
def test_a_line_is_read_up_to_its_limit(excess: int, filler: bytes) -> None:
    line = filler * (MAX_LINE_BYTES - 1 + excess) + b"\n"
    lines = list(read_lines(io.BytesIO(b"first\n \r\n" + line + b"\nlast")))
    if filler == b" " and excess <= 0:
        assert lines == [b"first\n", b"last"]
    else:
        assert lines == [b"first\n", line[: MAX_LINE_BYTES + 1], b"last"]


def test_nesting_is_answered_at_every_depth() -> None:
    for depth in range(400, 1200, 7):
        nested = b"[" * depth + b"]" * depth
        for key in (b'"id"', b'"m"'):
            line = b'{"k":1,"n":1,"m":1,' + key + b":" + nested + b"}"
            result = json.loads(answer_line(line, ASCEND_950PR))
            assert "strategy" in result or result["error"] == "bad_input"


json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=True),
        st.text(max_size=8),
        st.sampled_from(["fp16", "bf16", "fp32", "none", "ND", "NZ", "auto", "base"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner)),
    max_leaves=4,
)
known_keys = st.sampled_from([*REQUEST_KEYS, *PLATFORM_KEYS])


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.dictionaries(st.one_of(known_keys, st.text(max_size=5)), json_values), st.booleans())
def test_any_object_is_answered(fields: dict[str, object], complete: bool) -> None:
    result = answer((SHAPE if complete else {}) | fields)
    assert "strategy" in result or "error" in result


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_answered(line: bytes) -> None:
    assert "error" in json.loads(answer_line(line, ASCEND_950PR))
