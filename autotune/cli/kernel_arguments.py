"""Options of one kernel: a problem, a chip, and a plan that may differ from the operator's."""

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from autotune.cli.arguments import add_hardware_arguments
from autotune.cli.problem_arguments import add_problem_arguments, build_request
from hwmodel.errors import InputError

if TYPE_CHECKING:
    from autotune.emulation import Emulation
    from hwmodel.plan import KernelPlan
    from hwmodel.problem import GemmProblem
    from hwmodel.spec import HardwareSpec

_OPTION: Final = "--plan"
_MAX_PLAN_BYTES: Final = 1 << 20
"""A plan has some twenty fields."""

_TAIL_RULE: Final = "tail_product"
_TAILS: Final = ("m_tail_cnt", "n_tail_cnt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """What is to be emulated.

    Attributes:
        problem: the problem.
        spec: the chip.
        plan: the plan.
        is_baseline: it is the operator's own.
        warnings: legality rules that the plan breaks, a sentence each.
    """

    problem: "GemmProblem"
    spec: "HardwareSpec"
    plan: "KernelPlan"
    is_baseline: bool
    warnings: tuple[str, ...]


def add_kernel_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a problem, a plan and a chip."""
    add_problem_arguments(parser)
    parser.add_argument(
        _OPTION,
        metavar="JSON|FILE",
        help="fields of the plan that differ from the operator's, e.g. '{\"base_n\": 192}'",
    )
    add_hardware_arguments(parser)


def resolve_kernel(args: argparse.Namespace) -> Kernel:
    """The kernel that the options describe; rules that it breaks are written to stderr, too.

    Raises:
        InputError: an option or a field of the plan is wrong, or the operator rejects the problem.
    """
    from baseline.decision import decide_request
    from baseline.platform import Platform
    from hwmodel.legality import check
    from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware, require_dav_3510

    request = build_request(args)
    fields = {} if args.plan is None else load_fields(args.plan)
    spec = load_hardware(args.hw or DEFAULT_HARDWARE, base=args.hw_base)
    require_dav_3510(spec, bool(args.as_950))
    problem = request.to_problem()
    baseline = decide_request(request, Platform.from_spec(spec)).plan
    plan = change_plan(problem, spec, baseline, fields)
    warnings = tuple(violation.sentence for violation in check(problem, spec, plan))
    for warning in warnings:
        _say(args, f"warning: the plan is not legal: {warning}")
    return Kernel(
        problem=problem,
        spec=spec,
        plan=plan,
        is_baseline=plan == baseline,
        warnings=warnings,
    )


def emulate_kernel(args: argparse.Namespace, kernel: Kernel) -> "Emulation":
    """Run it; says so when the emulator must be compiled first.

    Raises:
        InputError: the plan is none that the emulator takes.
    """
    from autotune.emulation import needs_compiling, run_emulation

    if needs_compiling(kernel.plan):
        _say(args, "compiling the emulator, once; this takes about fifteen seconds")
    return run_emulation(kernel.problem, kernel.spec, kernel.plan)


def load_fields(text: str) -> dict[str, Any]:
    """The object of `--plan`: JSON itself when it begins with a brace, else a file of it.

    Raises:
        InputError: an unreadable file, or not one JSON object.
    """
    where = _OPTION
    if not text.lstrip().startswith("{"):
        where = f"{_OPTION} {text}"
        text = _read_file(text)
    try:
        fields = json.loads(text, object_pairs_hook=_refuse_repeated)
    except (ValueError, RecursionError) as error:
        # Behind a semicolon Python says how to lift its limit of digits: not for a plan.
        reason = str(error).partition(";")[0]
        raise InputError(f'{where}: not JSON: {reason}; write {{"base_n": 192}}') from None
    if not isinstance(fields, dict):
        raise InputError(f'{where}: no JSON object; write {{"base_n": 192}}')
    return fields


def change_plan(
    problem: "GemmProblem",
    spec: "HardwareSpec",
    baseline: "KernelPlan",
    fields: dict[str, Any],
) -> "KernelPlan":
    """The baseline's plan with these fields.

    What follows from them is adjusted unless it is given, too: the cores that get work, the K of
    a work item that does not split K, and the tail split where the baseline's is impossible.

    Raises:
        InputError: an unknown field, or a value that no plan can have.
    """
    from dataclasses import fields as list_fields

    from autotune.plain_data import from_plain, to_plain
    from hwmodel.derived import compute_used_core_num
    from hwmodel.legality import check
    from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, Template
    from hwmodel.problem import MAX_DIM

    if not fields:
        return baseline
    known = [field.name for field in list_fields(KernelPlan)]
    for name, value in fields.items():
        if name not in known:
            raise InputError(f"{_OPTION}: {name!r} is no field; use some of {', '.join(known)}")
        low = 0 if name == "resident_slabs" else 1
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if is_number and not low <= value <= MAX_DIM:
            raise InputError(f"{_OPTION}: {name} = {value}: must be in {low}..{MAX_DIM}")
    merged = {name: fields.get(name, value) for name, value in _as_object(to_plain(baseline))}
    plan = from_plain(KernelPlan, merged, _OPTION)
    if plan.template not in CUBE_TEMPLATES:
        return plan
    following: dict[str, int] = {}
    if plan.template is not Template.STREAM_K:
        following["single_core_k"] = problem.k
    following["used_core_num"] = compute_used_core_num(problem, spec, plan)
    plan = _follow(plan, following, fields)
    if any(violation.rule == _TAIL_RULE for violation in check(problem, spec, plan)):
        plan = _follow(plan, dict.fromkeys(_TAILS, 1), fields)
    return plan


def _follow(plan: "KernelPlan", values: dict[str, Any], fields: dict[str, Any]) -> "KernelPlan":
    """The plan with those of the values that were not given."""
    from dataclasses import replace

    return replace(plan, **{name: v for name, v in values.items() if name not in fields})


def _as_object(value: object) -> list[tuple[str, object]]:
    """Members of what `to_plain` makes of a dataclass."""
    assert isinstance(value, dict)
    return list(value.items())


def _read_file(name: str) -> str:
    """The text of a file of bounded size."""
    try:
        with Path(name).open("rb") as stream:
            data = stream.read(_MAX_PLAN_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(
            f"{_OPTION} {name}: cannot be read ({error.strerror}); give JSON or a file of it"
        ) from error
    except ValueError as error:
        raise InputError(f"{_OPTION} {name}: not UTF-8; give a file of JSON") from error
    if len(data) > _MAX_PLAN_BYTES:
        raise InputError(f"{_OPTION} {name}: longer than a plan can be; give a file of JSON")
    return text


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object; of a field given twice nobody knows which value is meant."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a field is given twice")
    return members


def _say(args: argparse.Namespace, text: str) -> None:
    """A line on stderr."""
    sys.stderr.write(f"autotune {args.command}: {text}\n")
