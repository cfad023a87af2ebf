"""JSON lines: one request in, one answer out, in constant memory and in strict JSON.

What every command that answers a batch shares: lines of bounded length, a parser that takes
nothing JSON does not have and no key twice, and answers whose first key is the request's `id`.
Whatever is wrong with a line is said in its answer, and the next line is read.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, Final, TypeVar

from hwmodel.errors import InputError, RejectedError

MAX_LINE_BYTES: Final = 2**20
"""Longest request line, its end included; the longest sensible one has less than a hundredth."""

MAX_SHOWN: Final = 40
"""Characters of a wrong value that a message repeats."""

FLAGS: Final[Mapping[int, bool]] = {0: False, 1: True}
"""Truth values as the golden files write them."""

_NESTED: Final = "nested too deep; give plain values"

_Choice = TypeVar("_Choice")

Fields = Mapping[str, Any]
"""A decoded request."""


def read_lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines that are not blank; of an overlong one the first `MAX_LINE_BYTES` + 1 bytes.

    Raises:
        OSError: the stream cannot be read.
    """
    while line := stream.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES or not line.isspace():
            yield line
        while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE_BYTES + 1)


def answer_line(line: bytes, compute: Callable[[Fields], Mapping[str, object]]) -> str:
    """The answer to one request line, as one line of JSON without the line end.

    Never raises for what the line says.

    Args:
        line: the request, UTF-8; a byte order mark is skipped.
        compute: makes the answer's keys out of the request's. Its RejectedError is answered as
            `{"error": code, "errorFunc": where}`, its InputError as `bad_input`.
    """
    try:
        return _answer(line, compute)
    except RecursionError:
        return _encode(_bad_input(_NESTED))


def require(fields: Fields, keys: tuple[str, ...]) -> None:
    """Pass a request that has all of the keys.

    Raises:
        InputError: the first key that is missing.
    """
    for key in keys:
        if key not in fields:
            raise InputError(f"key {key} is missing; required are {', '.join(keys)}")


def read_int(fields: Fields, key: str) -> int:
    """The integer under `key`; a boolean is none.

    Raises:
        InputError: it is another kind of value.
    """
    value = fields[key]
    if type(value) is not int:
        raise InputError(f"{key} = {show(value)}: must be an integer")
    return value


def read_choice(
    fields: Fields, key: str, choices: Mapping[Any, _Choice], default: _Choice
) -> _Choice:
    """What the value under `key` stands for; `default` without the key.

    Raises:
        InputError: it is none of the choices.
    """
    if key not in fields:
        return default
    value = fields[key]
    if type(value) in (int, str) and value in choices:
        return choices[value]
    allowed = ", ".join(str(choice) for choice in choices)
    raise InputError(f"{key} = {show(value)}: must be one of {allowed}")


def show(value: object) -> str:
    """A wrong value as JSON has it, with quotes around a text, cut to a readable length."""
    return _shorten(json.dumps(value))


def _answer(line: bytes, compute: Callable[[Fields], Mapping[str, object]]) -> str:
    head: dict[str, object] = {}
    try:
        fields = _parse_object(line)
        if "id" in fields:
            head["id"] = fields["id"]
        return _encode({**head, **compute(fields)})
    except RejectedError as error:
        return _encode(head | {"error": error.code, "errorFunc": error.where})
    except InputError as error:
        return _encode(head | _bad_input(str(error)))


def _bad_input(message: str) -> dict[str, object]:
    return {"error": "bad_input", "message": message}


def _encode(answer: Mapping[str, object]) -> str:
    """One line of JSON, as the golden files have it."""
    return json.dumps(answer, separators=(",", ":"), allow_nan=False)


def _parse_object(line: bytes) -> dict[str, Any]:
    """The object that the line holds.

    Raises:
        InputError: the line is not one JSON object of bounded length.
    """
    if len(line) > MAX_LINE_BYTES:
        raise InputError(f"the line is longer than {MAX_LINE_BYTES} bytes; give a shorter one")
    try:
        value = json.loads(
            line.decode("utf-8-sig"),
            parse_constant=_refuse_constant,
            parse_float=_read_float,
            object_pairs_hook=_build_object,
        )
    except ValueError as error:
        # Behind a semicolon Python says how to lift its limit of digits: not for a request.
        reason = str(error).partition(";")[0]
        raise InputError(f"not JSON: {reason}; give one object a line") from None
    if not isinstance(value, dict):
        raise InputError(f"not a JSON object: {show(value)}; give one object a line")
    return value


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these members; of a key given twice nobody knows which value is meant."""
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InputError(f"key {show(key)} is given twice; give it once")
            seen.add(key)
    return members


def _refuse_constant(text: str) -> object:
    """NaN and Infinity are no JSON."""
    raise ValueError(f"{text} is no number")


def _read_float(text: str) -> float:
    """A number that an answer can repeat in an `id`; no other key takes one."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{_shorten(text)} is out of range")
    return value


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."
