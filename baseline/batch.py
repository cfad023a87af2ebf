"""Requests in JSON lines: one in, one answer out (keys in the vendor's names).

A request is an object with m, k, n and any of the optional keys of `REQUEST_KEYS` and
`PLATFORM_KEYS`; an `id` is given back. An answer is the decision's record, the operator's
rejection, or `bad_input` for a line that is no request.
"""

import json
import math
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from baseline.decision import decide_request
from baseline.platform import Platform
from baseline.request import RequestedStrategy, TilingRequest
from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.errors import InputError, RejectedError

REQUIRED_KEYS: Final = ("m", "k", "n")

REQUEST_KEYS: Final = (
    *REQUIRED_KEYS,
    "id",
    "transA",
    "transB",
    "dtypeA",
    "dtypeC",
    "biasDtype",
    "formatA",
    "formatB",
    "formatC",
    "opImplMode",
    "deterministicLevel",
    "forcedStrategy",
    "kB",
    "biasLength",
    "offsetX",
)
"""Keys of the problem; absent ones mean not transposed, bf16, no bias, ND, modes 0, auto."""

PLATFORM_KEYS: Final[Mapping[str, str]] = {
    "aicNum": "aic_num",
    "aivNum": "aiv_num",
    "aiCoreCnt": "ai_core_cnt",
    "freqMHz": "clock_mhz",
    "ddrRate": "ddr_rate",
    "l2Rate": "l2_rate",
    "l2Size": "l2_bytes",
    "l1Size": "l1_bytes",
    "l0aSize": "l0a_bytes",
    "l0bSize": "l0b_bytes",
    "l0cSize": "l0c_bytes",
    "ubSize": "ub_bytes",
    "btSize": "bias_table_bytes",
}
"""Keys of the platform and the figures they override."""

NO_BIAS: Final = "none"

MAX_DETERMINISTIC_LEVEL: Final = 3

MAX_SHOWN: Final = 40
"""Characters of a wrong value that a message repeats."""

_KNOWN_KEYS: Final = frozenset(REQUEST_KEYS) | frozenset(PLATFORM_KEYS)
_LOWER_KEYS: Final = {key.lower(): key for key in (*REQUEST_KEYS, *PLATFORM_KEYS)}
_FLAGS: Final = {0: False, 1: True}
_DTYPES: Final[dict[object, DType]] = {dtype.value: dtype for dtype in DType}
_BIAS_DTYPES: Final[dict[object, DType | None]] = {NO_BIAS: None, **_DTYPES}
_FORMATS: Final = {format_.value: format_ for format_ in Format}
_MODES: Final = {mode.value: mode for mode in OpImplMode}
_STRATEGIES: Final = {strategy.value: strategy for strategy in RequestedStrategy}
_LEVELS: Final = {level: level for level in range(MAX_DETERMINISTIC_LEVEL + 1)}

_Choice = TypeVar("_Choice")


def answer_line(line: bytes, default_platform: Platform) -> str:
    """The answer to one request line, as one line of JSON without the line end.

    Never raises for what the line says: whatever is wrong with it is in the answer.

    Args:
        line: the request, UTF-8; a byte order mark is skipped.
        default_platform: figures that the request does not give.
    """
    answer: dict[str, object] = {}
    try:
        fields = _parse_object(line)
        if "id" in fields:
            answer["id"] = fields["id"]
        request = build_request(fields)
        platform = build_platform(fields, default_platform)
        answer |= decide_request(request, platform).to_record()
        return _encode(answer)
    except RejectedError as error:
        return _encode(answer | {"error": error.code, "errorFunc": error.where})
    except InputError as error:
        return _encode(answer | {"error": "bad_input", "message": str(error)})
    except RecursionError:
        return _encode({"error": "bad_input", "message": "nested too deep; give plain values"})


def build_request(fields: Mapping[str, Any]) -> TilingRequest:
    """The request of a decoded line.

    Raises:
        InputError: a key is unknown or missing, or has a value of another kind.
    """
    for key in fields:
        if key not in _KNOWN_KEYS:
            close = get_close_matches(key.lower(), _LOWER_KEYS, 1)
            hint = f"; did you mean {_LOWER_KEYS[close[0]]}?" if close else "; leave it out"
            raise InputError(f"unknown key {_show(key)}{hint}")
    for key in REQUIRED_KEYS:
        if key not in fields:
            raise InputError(f"key {key} is missing; m, k and n are required")
    return TilingRequest(
        m=_read_int(fields, "m"),
        k=_read_int(fields, "k"),
        n=_read_int(fields, "n"),
        trans_a=_read_choice(fields, "transA", _FLAGS, False),
        trans_b=_read_choice(fields, "transB", _FLAGS, False),
        dtype=_read_choice(fields, "dtypeA", _DTYPES, DType.BF16),
        out_dtype=_read_choice(fields, "dtypeC", _DTYPES, DType.BF16),
        bias_dtype=_read_choice(fields, "biasDtype", _BIAS_DTYPES, None),
        format_a=_read_choice(fields, "formatA", _FORMATS, Format.ND),
        format_b=_read_choice(fields, "formatB", _FORMATS, Format.ND),
        format_c=_read_choice(fields, "formatC", _FORMATS, Format.ND),
        op_impl_mode=_read_choice(fields, "opImplMode", _MODES, OpImplMode.DEFAULT),
        deterministic_level=_read_choice(fields, "deterministicLevel", _LEVELS, 0),
        k_b=_read_int(fields, "kB") if "kB" in fields else None,
        bias_length=_read_int(fields, "biasLength") if "biasLength" in fields else None,
        offset_x=_read_int(fields, "offsetX") if "offsetX" in fields else 0,
        strategy=_read_choice(fields, "forcedStrategy", _STRATEGIES, RequestedStrategy.AUTO),
    )


def build_platform(fields: Mapping[str, Any], default: Platform) -> Platform:
    """The platform of a decoded line: `default` with the figures that the line gives.

    The bandwidths scale with aicNum, unless the line has an aiCoreCnt of its own.

    Raises:
        InputError: a figure is no integer or out of its range.
    """
    given = {name: _read_int(fields, key) for key, name in PLATFORM_KEYS.items() if key in fields}
    if not given:
        return default
    figures: dict[str, Any] = {
        name: getattr(default, name) for name in PLATFORM_KEYS.values()
    } | given
    if "aic_num" in given and "ai_core_cnt" not in given:
        # Without cube cores the request is rejected before the count is used.
        figures["ai_core_cnt"] = max(1, given["aic_num"])
    return Platform(**figures)


def _parse_object(line: bytes) -> dict[str, Any]:
    """The object that the line holds.

    Raises:
        InputError: the line is not one JSON object.
    """
    try:
        value = json.loads(
            line.decode("utf-8-sig"),
            parse_constant=_refuse_constant,
            parse_float=_read_float,
        )
    except ValueError as error:
        raise InputError(f"not JSON: {_show(error)}; give one object a line") from None
    if not isinstance(value, dict):
        raise InputError(f"the line is a JSON {type(value).__name__}; give an object")
    return value


def _refuse_constant(text: str) -> object:
    """NaN and Infinity are no JSON."""
    raise ValueError(f"{text} is no number")


def _read_float(text: str) -> float:
    """A number that an answer can repeat in an `id`; no other key takes one."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:MAX_SHOWN]} is out of range")
    return value


def _read_int(fields: Mapping[str, Any], key: str) -> int:
    """The integer under `key`; a boolean is none."""
    value = fields[key]
    if type(value) is not int:
        raise InputError(f"{key} = {_show(value)}: must be an integer")
    return value


def _read_choice(
    fields: Mapping[str, Any], key: str, choices: Mapping[Any, _Choice], default: _Choice
) -> _Choice:
    """What the value under `key` stands for."""
    if key not in fields:
        return default
    value = fields[key]
    if type(value) in (int, str) and value in choices:
        return choices[value]
    allowed = ", ".join(str(choice) for choice in choices)
    raise InputError(f"{key} = {_show(value)}: must be one of {allowed}")


def _show(value: object) -> str:
    """A wrong value, cut to a readable length."""
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."


def _encode(answer: Mapping[str, object]) -> str:
    """One line of JSON, as the golden files have it."""
    return json.dumps(answer, separators=(",", ":"))
