"""Requests in JSON lines: one in, one answer out (keys in the vendor's names).

A request is an object with m, k, n and any of the optional keys of `REQUEST_KEYS` and
`PLATFORM_KEYS`; an `id` is given back. An answer is the decision's record, the operator's
rejection, or `bad_input` for a line that is no request.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final

from baseline import json_lines
from baseline.decision import decide_request
from baseline.json_lines import FLAGS, Fields, read_choice, read_int, require, show
from baseline.platform import Platform
from baseline.request import RequestedStrategy, TilingRequest
from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.errors import InputError

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

_KNOWN_KEYS: Final = frozenset(REQUEST_KEYS) | frozenset(PLATFORM_KEYS)
_LOWER_KEYS: Final = {key.lower(): key for key in (*REQUEST_KEYS, *PLATFORM_KEYS)}
_DTYPES: Final[dict[object, DType]] = {dtype.value: dtype for dtype in DType}
_BIAS_DTYPES: Final[dict[object, DType | None]] = {NO_BIAS: None, **_DTYPES}
_FORMATS: Final = {format_.value: format_ for format_ in Format}
_MODES: Final = {mode.value: mode for mode in OpImplMode}
_STRATEGIES: Final = {strategy.value: strategy for strategy in RequestedStrategy}
_LEVELS: Final = {level: level for level in range(MAX_DETERMINISTIC_LEVEL + 1)}


def answer_line(line: bytes, default_platform: Platform) -> str:
    """The answer to one request line, as one line of JSON without the line end.

    Never raises for what the line says: whatever is wrong with it is in the answer.

    Args:
        line: the request, UTF-8; a byte order mark is skipped.
        default_platform: figures that the request does not give.
    """

    def decide(fields: Fields) -> Mapping[str, object]:
        request = build_request(fields)
        return decide_request(request, build_platform(fields, default_platform)).to_record()

    return json_lines.answer_line(line, decide)


def build_request(fields: Fields) -> TilingRequest:
    """The request of a decoded line.

    Raises:
        InputError: a key is unknown or missing, or has a value of another kind.
    """
    for key in fields:
        if key not in _KNOWN_KEYS:
            close = get_close_matches(key.lower(), _LOWER_KEYS, 1)
            hint = f"; did you mean {_LOWER_KEYS[close[0]]}?" if close else "; leave it out"
            raise InputError(f"unknown key {show(key)}{hint}")
    require(fields, REQUIRED_KEYS)
    return TilingRequest(
        m=read_int(fields, "m"),
        k=read_int(fields, "k"),
        n=read_int(fields, "n"),
        trans_a=read_choice(fields, "transA", FLAGS, False),
        trans_b=read_choice(fields, "transB", FLAGS, False),
        dtype=read_choice(fields, "dtypeA", _DTYPES, DType.BF16),
        out_dtype=read_choice(fields, "dtypeC", _DTYPES, DType.BF16),
        bias_dtype=read_choice(fields, "biasDtype", _BIAS_DTYPES, None),
        format_a=read_choice(fields, "formatA", _FORMATS, Format.ND),
        format_b=read_choice(fields, "formatB", _FORMATS, Format.ND),
        format_c=read_choice(fields, "formatC", _FORMATS, Format.ND),
        op_impl_mode=read_choice(fields, "opImplMode", _MODES, OpImplMode.DEFAULT),
        deterministic_level=read_choice(fields, "deterministicLevel", _LEVELS, 0),
        k_b=read_int(fields, "kB") if "kB" in fields else None,
        bias_length=read_int(fields, "biasLength") if "biasLength" in fields else None,
        offset_x=read_int(fields, "offsetX") if "offsetX" in fields else 0,
        strategy=read_choice(fields, "forcedStrategy", _STRATEGIES, RequestedStrategy.AUTO),
    )


def build_platform(fields: Fields, default: Platform) -> Platform:
    """The platform of a decoded line: `default` with the figures that the line gives.

    The bandwidths scale with aicNum, unless the line has an aiCoreCnt of its own.

    Raises:
        InputError: a figure is no integer or out of its range.
    """
    given = {name: read_int(fields, key) for key, name in PLATFORM_KEYS.items() if key in fields}
    if not given:
        return default
    figures: dict[str, Any] = {
        name: getattr(default, name) for name in PLATFORM_KEYS.values()
    } | given
    if "aic_num" in given and "ai_core_cnt" not in given:
        # Without cube cores the request is rejected before the count is used.
        figures["ai_core_cnt"] = max(1, given["aic_num"])
    return Platform(**figures)
