"""The vendor's work lists: every golden case, and requests that are wrong."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from baseline.swizzle import MAX_CORES, parse_request
from baseline.swizzle_record import (
    MAX_ITEMS,
    MAX_LISTED_FIXPIPE_RECORDS,
    MAX_LISTED_ITEMS,
    build_record,
)
from hwmodel.errors import InputError
from hwmodel.problem import MAX_DIM
from hwmodel.walk import build_schedule

GOLDEN = Path(__file__).parents[1] / "golden"
KINDS = (
    *("aswt", "aswt_a_full", "aswt_b_full", "streamk", "asw_base"),
    *("to_mul", "to_multi_mul", "k_eq_zero"),
)
GOLDEN_CASES = {"swizzle.jsonl.gz": 800, "swizzle_vector.jsonl.gz": 150}

ASWT: dict[str, Any] = {
    "kind": "aswt",
    "m": 100,
    "n": 100,
    "k": 64,
    "usedCoreNum": 4,
    "mL1": 32,
    "nL1": 32,
    "dtype": "bf16",
}
TO_MUL: dict[str, Any] = {
    "kind": "to_mul",
    "m": 1,
    "n": 98,
    "k": 64,
    "usedCoreNum": 4,
    "baseMN": 20,
    "dtype": "fp32",
}


def load_cases(name: str) -> list[dict[str, Any]]:
    with gzip.open(GOLDEN / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    return build_record(build_schedule(parse_request(request)))


@pytest.mark.parametrize(("name", "count"), GOLDEN_CASES.items())
def test_golden_cases(name: str, count: int) -> None:
    cases = load_cases(name)
    assert len(cases) == count
    wrong = [
        case["id"]
        for case in cases
        if list(answer(case["input"]).items()) != list(case["output"].items())
    ]
    assert wrong == []


def test_golden_files_hold_every_kind_and_both_lengths() -> None:
    cases = [case for name in GOLDEN_CASES for case in load_cases(name)]
    assert {case["input"]["kind"] for case in cases} == set(KINDS)
    assert {"items" in case["output"] for case in cases} == {True, False}


def test_fixed_parameters_of_the_vendor() -> None:
    params = parse_request(ASWT)
    assert (params.window_len, params.serpentine) == (4, True)
    base = ASWT | {"kind": "asw_base", "baseM": 32, "baseN": 32, "windowLen": 6}
    assert parse_request(base).window_len == 6


def test_listing_limits_are_those_of_the_golden_files() -> None:
    assert (MAX_LISTED_ITEMS, MAX_LISTED_FIXPIPE_RECORDS) == (400, 160)
    # 20 x 20 items are listed, 20 x 21 are not.
    square = ASWT | {"m": 640, "n": 640}
    assert "items" in answer(square)
    longer = answer(square | {"n": 641})
    assert "items" not in longer
    assert len(longer["first"]) == len(longer["last"]) == 5


def test_last_items_come_from_several_cores() -> None:
    # Core 0 has three of the 401 blocks, the other cores two.
    few_each = ASWT | {"m": 32 * 401, "n": 32, "usedCoreNum": 200}
    record = answer(few_each)
    assert [row[0] for row in record["last"]] == [197, 198, 198, 199, 199]
    assert sum(record["per_core"]) == record["count"] == 401


def test_fixpipe_records_are_listed_up_to_their_limit() -> None:
    request = ASWT | {"l0c2out": 2, "cDtype": "fp32", "n": 32, "mL1": 32}
    short = answer(request | {"m": 32 * 80})
    assert short["aiv_count"] == len(short["aiv"]) == MAX_LISTED_FIXPIPE_RECORDS
    assert "aiv" not in answer(request | {"m": 32 * 81})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "aswt2"}, 'kind = "aswt2": must be one of aswt, '),
        ({"kind": ["aswt"]}, "kind = "),
        ({"kind": None}, "kind = null: must be one of"),
        ({"m": 0}, r"m = 0: must be in 1\.\."),
        ({"m": 2.0}, "m = 2.0: must be an integer"),
        ({"m": True}, "m = true: must be an integer"),
        ({"n": 2**31}, "n = 2147483648"),
        ({"k": 0}, "k = 0"),
        ({"k": -1}, r"k = -1: must be in 0\.\."),
        ({"usedCoreNum": MAX_CORES + 1}, "usedCoreNum = 65537"),
        ({"mL1": None}, "mL1 = null: must be an integer"),
        ({"mL1": "x" * 500}, 'mL1 = "xxx'),
        ({"transA": 2}, "transA = 2: must be one of 0, 1"),
        ({"transA": "no"}, 'transA = "no"'),
        ({"layoutB": "NHWC"}, 'layoutB = "NHWC": must be one of ND, NZ'),
        ({"dtype": "int8"}, 'dtype = "int8"'),
        ({"cDtype": "int8"}, 'cDtype = "int8"'),
        ({"l0c2out": 3}, r"l0c2out = 3: must be in 0\.\.2"),
        ({"mTailCnt": 5}, "m_tail_cnt"),
        ({"mBaseTailSplitCnt": 9, "mTailMain": 16}, "m_base_tail_split_cnt = 9"),
    ],
)
def test_wrong_requests_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        parse_request(ASWT | change)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 250


@pytest.mark.parametrize("key", ["kind", "k", "dtype", "usedCoreNum", "mL1"])
def test_missing_keys_are_named(key: str) -> None:
    request = {name: value for name, value in ASWT.items() if name != key}
    with pytest.raises(InputError, match=f"key {key} is missing"):
        parse_request(request)


def test_a_schedule_too_long_to_hash_is_refused_before_it_is_walked() -> None:
    with pytest.raises(InputError, match=f"4503599627370496 work items: at most {MAX_ITEMS}"):
        answer(ASWT | {"m": MAX_DIM, "n": MAX_DIM})


@pytest.mark.parametrize("change", [{"tileNum": 4}, {"tailMN": 0}])
def test_to_mul_tiles_must_agree(change: dict[str, int]) -> None:
    assert answer(TO_MUL | {"tileNum": 5, "tailMN": 18})["count"] == 5
    with pytest.raises(InputError, match="baseMN = 20 makes it"):
        parse_request(TO_MUL | change)
