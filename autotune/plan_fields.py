"""Plans as users write them: fields that differ from the operator's own plan, by either name.

What is taken, as JSON or as a file of it:

- fields of the plan by this project's names, e.g. `{"base_n": 192, "window_len": 2}`;
- fields of the tiling data by the vendor's names, e.g. `{"baseN": 192, "kL1": 256}`, up to the
  whole record;
- a whole decision with `tilingKey` and `tilingData`, as `autotune baseline --batch` and
  `autotune tune` write it.

What follows from a plan (the L1 tile, say) may be given, too, but must be what does follow.
"""

import json
from collections.abc import Mapping
from dataclasses import fields as list_fields
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from autotune.plain_data import from_plain, to_plain
from baseline.tiling_data import BASIC_STRUCT
from baseline.vendor_kernel import plan_from_vendor_kernel
from hwmodel.derived import compute_used_core_num
from hwmodel.errors import InputError
from hwmodel.legality import check
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, Template
from hwmodel.problem import MAX_DIM, GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.vendor_tiling import VENDOR_NAMES, tiling_data_from_plan

BASELINE: Final = "baseline"
"""The operator's own plan, where a plan may be given."""

_MAX_PLAN_BYTES: Final = 1 << 20
"""A plan has some twenty fields."""

_TAIL_RULE: Final = "tail_product"
_TAILS: Final = ("m_tail_cnt", "n_tail_cnt")
_PLAN_FIELDS: Final = tuple(field.name for field in list_fields(KernelPlan))
_PROJECT_NAMES: Final[Mapping[str, str]] = {
    vendor: name for name, vendor in VENDOR_NAMES.items() if name in _PLAN_FIELDS
}
"""Vendor name to plan field, of the fields that are the same number under both names."""

_K_L1: Final = VENDOR_NAMES["k_l1"]
_BASE_K: Final = VENDOR_NAMES["base_k"]
_ANY_VENDOR_NAME: Final = frozenset(VENDOR_NAMES.values())
_KEY: Final = "tilingKey"
_DATA: Final = "tilingData"
_STRUCT: Final = "tilingStruct"
_EXAMPLE: Final = '{"base_n": 192}'

Members = dict[str, Any]
"""Members of the user's JSON object."""


def load_reference(
    text: str, option: str, problem: GemmProblem, spec: HardwareSpec, baseline: KernelPlan
) -> KernelPlan:
    """The plan to compare with: the operator's own by the word `baseline`, else as `load_plan`.

    Raises:
        InputError: the text gives no plan.
    """
    if text == BASELINE:
        return baseline
    return load_plan(text, option, problem, spec, baseline)


def load_plan(
    text: str, option: str, problem: GemmProblem, spec: HardwareSpec, baseline: KernelPlan
) -> KernelPlan:
    """The plan that the user gives with an option: JSON itself, or a file of it.

    Args:
        text: JSON when it begins with a brace, else the name of a file of it.
        option: the option, for messages.
        problem: the problem.
        spec: the chip.
        baseline: the operator's plan, which gives what the user does not.

    Raises:
        InputError: an unreadable file, an unknown field, or a value that no plan can have.
    """
    return change_plan(problem, spec, baseline, load_fields(text, option), option)


def load_fields(text: str, option: str) -> Members:
    """The object that the user gives with an option.

    Raises:
        InputError: an unreadable file, or not one JSON object.
    """
    where = option
    if not text.lstrip().startswith("{"):
        where = f"{option} {text}"
        text = _read_file(text, where)
    try:
        members = json.loads(text, object_pairs_hook=_refuse_repeated)
    except (ValueError, RecursionError) as error:
        # Behind a semicolon Python says how to lift its limit of digits: not for a plan.
        reason = str(error).partition(";")[0]
        raise InputError(f"{where}: not JSON: {reason}; write {_EXAMPLE}") from None
    if not isinstance(members, dict):
        raise InputError(f"{where}: no JSON object; write {_EXAMPLE}")
    return members


def change_plan(
    problem: GemmProblem,
    spec: HardwareSpec,
    baseline: KernelPlan,
    members: Members,
    option: str,
) -> KernelPlan:
    """The baseline's plan with these fields.

    What follows from them is adjusted unless it is given, too: the cores that get work, the K of
    a work item that does not split K, and the tail split where the baseline's is impossible.

    Raises:
        InputError: an unknown field, or a value that no plan can have.
    """
    if not members:
        return baseline
    if _DATA in members:
        return _read_decision(problem, spec, members, option)
    given = _translate(members, baseline, option)
    merged = {name: given.get(name, getattr(baseline, name)) for name in _PLAN_FIELDS}
    plan = from_plain(
        KernelPlan, {name: to_plain(value) for name, value in merged.items()}, option
    )
    if plan.template in CUBE_TEMPLATES:
        plan = _adjust(problem, spec, plan, given)
    _check_record(problem, spec, plan, members, option)
    return plan


def _read_decision(
    problem: GemmProblem, spec: HardwareSpec, members: Members, option: str
) -> KernelPlan:
    """The plan of a whole decision; what it repeats of its key and record is not read."""
    struct, key, data = (members.get(name) for name in (_STRUCT, _KEY, _DATA))
    if struct not in {None, BASIC_STRUCT}:
        raise InputError(
            f"{option}: {_STRUCT} {struct}: only {BASIC_STRUCT} can be read; give fields instead"
        )
    if type(key) is not int:
        raise InputError(f"{option}: {_DATA} needs its {_KEY}, an integer; give both")
    if not isinstance(data, dict):
        raise InputError(f"{option}: {_DATA} is no object; give the record")
    for name, value in data.items():
        if name not in _ANY_VENDOR_NAME:
            raise InputError(f"{option}: {_DATA} has no field {name!r}; leave it out")
        _require_int(name, value, option)
        if name in _PROJECT_NAMES:
            _require_range(_PROJECT_NAMES[name], name, value, option)
    if {_K_L1, _BASE_K} <= data.keys():
        _require_whole_steps(data[_K_L1], data[_BASE_K], option)
    try:
        plan = plan_from_vendor_kernel(problem, key, data)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None
    _check_record(problem, spec, plan, data, option)
    return plan


def _translate(members: Members, baseline: KernelPlan, option: str) -> Members:
    """The members by the names of the plan's fields, without those that follow from others."""
    given: Members = {}
    for name, value in members.items():
        if name in _ANY_VENDOR_NAME and name not in _PLAN_FIELDS:
            _require_int(name, value, option)
        field = _PROJECT_NAMES.get(name, name)
        if field in given:
            raise InputError(f"{option}: {field} is given twice, by both of its names")
        if field in _PLAN_FIELDS:
            _require_range(field, name, value, option)
            given[field] = value
        elif name not in _ANY_VENDOR_NAME:
            raise InputError(
                f"{option}: {name!r} is no field; use some of {', '.join(_PLAN_FIELDS)}, or the "
                "vendor's names of them"
            )
    if _K_L1 in members and "step_k" not in given:  # else `_check_record` compares the two
        base_k = given.get("base_k", baseline.base_k)
        _require_whole_steps(members[_K_L1], base_k, option)
        given["step_k"] = members[_K_L1] // base_k
    return given


def _require_whole_steps(k_l1: int, base_k: object, option: str) -> None:
    """The vendor's K depth of an L1 step is a whole number of L0 steps."""
    if type(base_k) is not int or k_l1 < base_k or k_l1 % base_k:
        raise InputError(
            f"{option}: {_K_L1} = {k_l1}: must be a multiple of {_BASE_K}, which is {base_k}"
        )


def _adjust(
    problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan, given: Members
) -> KernelPlan:
    """The plan with what follows from its fields, where that is not given."""
    following: Members = {}
    if plan.template is not Template.STREAM_K:
        following["single_core_k"] = problem.k
    following["used_core_num"] = compute_used_core_num(problem, spec, plan)
    plan = _follow(plan, following, given)
    if any(violation.rule == _TAIL_RULE for violation in check(problem, spec, plan)):
        plan = _follow(plan, dict.fromkeys(_TAILS, 1), given)
    return plan


def _follow(plan: KernelPlan, values: Members, given: Members) -> KernelPlan:
    """The plan with those of the values that were not given."""
    return replace(plan, **{name: v for name, v in values.items() if name not in given})


def _check_record(
    problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan, members: Members, option: str
) -> None:
    """Fields of the record that follow from plan and problem must be what follows.

    Raises:
        InputError: one is not, or the plan has no such record.
    """
    given = {
        name: members[name] for name in _ANY_VENDOR_NAME & members.keys() - _PROJECT_NAMES.keys()
    }
    if not given:
        return
    try:
        record = tiling_data_from_plan(problem, plan, l2_bytes=spec.buffers.l2_bytes)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None
    for name in record:
        if name in given and given[name] != record[name]:
            raise InputError(
                f"{option}: {name} = {given[name]}: it follows from problem and plan, and is "
                f"{record[name]}; leave it out or change what it follows from"
            )


def _require_int(name: str, value: object, option: str) -> None:
    """Fields of the record are integers."""
    if type(value) is not int:
        raise InputError(f"{option}: {name} = {json.dumps(value)}: must be an integer")


def _require_range(field: str, name: str, value: object, option: str) -> None:
    """Numbers of a plan are positive and fit 32 bits; other kinds of values are checked later."""
    low = 0 if field == "resident_slabs" else 1
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if is_number and not low <= value <= MAX_DIM:  # type: ignore[operator]
        raise InputError(f"{option}: {name} = {value}: must be in {low}..{MAX_DIM}")


def _read_file(name: str, where: str) -> str:
    """The text of a file of bounded size."""
    try:
        with Path(name).open("rb") as stream:
            data = stream.read(_MAX_PLAN_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(
            f"{where}: cannot be read ({error.strerror}); give JSON or a file of it"
        ) from error
    except ValueError as error:
        raise InputError(f"{where}: not UTF-8; give a file of JSON") from error
    if len(data) > _MAX_PLAN_BYTES:
        raise InputError(f"{where}: longer than a plan can be; give a file of JSON")
    return text


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> Members:
    """The object; of a field given twice nobody knows which value is meant."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a field is given twice")
    return members
