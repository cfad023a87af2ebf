"""Frozen dataclasses as JSON objects in the names of their fields, and back, exactly.

One codec driven by the type annotations serves results and manifests alike, so that a field added
to a dataclass is in its file at once. It knows what those classes hold: dataclasses, enums, tuples
of one type, string-keyed mappings, optional values, text, numbers and truth values. Floats survive
exactly (`repr` round-trips).
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from hwmodel.errors import InputError

T = TypeVar("T")


def to_plain(value: object) -> object:
    """What `json.dumps` takes: dicts, lists, text, numbers, truth values and None."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: type[T], value: object, where: str) -> T:
    """The inverse of `to_plain` for a value of type `kind`.

    Args:
        kind: the dataclass to build.
        value: parsed JSON.
        where: path of the value for messages, e.g. `results.json: rows[3]`.

    Raises:
        InputError: a missing, unknown or ill-typed entry, named by its path.
    """
    built: T = _decode(kind, value, where)
    return built


def compute_digest(value: object) -> str:
    """Hex sha256 of the canonical JSON form of `value`; the same on any machine."""
    text = json.dumps(to_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache
def _field_types(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _decode(kind: Any, value: object, where: str) -> Any:
    origin = get_origin(kind)
    if origin is UnionType:
        return _decode_optional(kind, value, where)
    if origin is tuple:
        return _decode_tuple(get_args(kind)[0], value, where)
    if origin is not None:
        return _decode_mapping(get_args(kind)[1], value, where)
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(kind, value, where)
    if issubclass(kind, Enum):
        return _decode_enum(kind, value, where)
    accepted = (int, float) if kind is float else kind
    is_bool_as_number = isinstance(value, bool) and kind is not bool
    if not isinstance(value, accepted) or is_bool_as_number:
        raise _type_error(kind.__name__, value, where)
    return value


def _decode_optional(kind: Any, value: object, where: str) -> Any:
    if value is None:
        return None
    (present,) = (member for member in get_args(kind) if member is not NoneType)
    return _decode(present, value, where)


def _decode_tuple(item_kind: Any, value: object, where: str) -> Any:
    if not isinstance(value, list):
        raise _type_error("a list", value, where)
    return tuple(
        _decode(item_kind, item, f"{where}[{position}]") for position, item in enumerate(value)
    )


def _decode_mapping(item_kind: Any, value: object, where: str) -> Any:
    if not isinstance(value, dict):
        raise _type_error("an object", value, where)
    return {key: _decode(item_kind, item, f"{where}.{key}") for key, item in value.items()}


def _decode_enum(kind: Any, value: object, where: str) -> Any:
    try:
        return kind(value)
    except ValueError as error:
        known = ", ".join(str(member.value) for member in kind)
        raise InputError(f"{where}: {value!r} is not one of {known}") from error


def _decode_dataclass(kind: Any, value: object, where: str) -> Any:
    if not isinstance(value, dict):
        raise _type_error("an object", value, where)
    types = _field_types(kind)
    names = {field.name for field in dataclasses.fields(kind)}
    for name in sorted(names.symmetric_difference(value)):
        problem = "missing" if name in names else "unknown"
        raise InputError(f"{where}.{name}: {problem} entry")
    members = {name: _decode(types[name], value[name], f"{where}.{name}") for name in names}
    try:
        return kind(**members)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _type_error(expected: str, value: object, where: str) -> InputError:
    return InputError(f"{where}: expected {expected}, found {type(value).__name__}")
