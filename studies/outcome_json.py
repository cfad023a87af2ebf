"""Plans, breakdowns and outcomes as JSON objects and back, without loss.

An object has the names of the dataclass's fields; enums are their values, tuples lists. Floats go
through their shortest exact decimal form, so reading gives back the very same bits.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from hwmodel.cost.breakdown import CostBreakdown
from hwmodel.plan import KernelPlan
from hwmodel.problem import GemmProblem
from studies.outcome import ShapeOutcome

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

JsonObject = dict[str, Any]
"""What `json.dumps` takes and `json.loads` gives."""

_T = TypeVar("_T")


def problem_to_json(problem: GemmProblem) -> JsonObject:
    """The problem as a JSON object."""
    return _encode_fields(problem)


def plan_to_json(plan: KernelPlan) -> JsonObject:
    """The plan as a JSON object."""
    return _encode_fields(plan)


def cost_to_json(cost: CostBreakdown) -> JsonObject:
    """The breakdown as a JSON object."""
    return _encode_fields(cost)


def cost_from_json(record: object) -> CostBreakdown:
    """The breakdown of a JSON object.

    Raises:
        ValueError: it is not exactly a breakdown.
    """
    return _decode(CostBreakdown, record)


def outcome_to_json(outcome: ShapeOutcome) -> JsonObject:
    """The outcome as a JSON object."""
    return _encode_fields(outcome)


def outcome_from_json(record: object) -> ShapeOutcome:
    """The outcome of a JSON object.

    Raises:
        ValueError: it is not exactly an outcome.
    """
    return _decode(ShapeOutcome, record)


def to_json(value: "DataclassInstance") -> JsonObject:
    """Any dataclass of numbers, text, plans, tuples, mappings and optional values as an object."""
    return _encode_fields(value)


def from_json(kind: type[_T], record: object) -> _T:
    """The value of type `kind` of a JSON object that `to_json` gave.

    Raises:
        ValueError: it is not exactly that.
    """
    return _decode(kind, record)


def _encode_fields(value: Any) -> JsonObject:
    return {field.name: _encode(getattr(value, field.name)) for field in fields(value)}


def _encode(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return _encode_fields(value)
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _encode(item) for key, item in value.items()}
    return value


def _decode(kind: type[_T], record: object) -> _T:
    """An instance of a dataclass from a JSON object with exactly its fields."""
    hints = get_type_hints(kind)
    if not isinstance(record, dict) or set(record) != set(hints):
        raise ValueError(f"{kind.__name__}: an object with exactly its fields is needed")
    return kind(**{name: _decode_value(hint, record[name]) for name, hint in hints.items()})


def _decode_value(hint: Any, value: Any) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is UnionType:
        if value is None and NoneType in arguments:
            return None
        (hint,) = (argument for argument in arguments if argument is not NoneType)
        return _decode_value(hint, value)
    if origin is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{value!r} is no list")
        return tuple(_decode_value(arguments[0], item) for item in value)
    if origin is not None and isinstance(value, dict):
        return {key: _decode_value(arguments[1], item) for key, item in value.items()}
    if isinstance(hint, type):
        if is_dataclass(hint):
            return _decode(hint, value)
        if issubclass(hint, Enum):
            return hint(value)
        if type(value) is hint:
            return value
    raise ValueError(f"{value!r} is no {hint}")
