"""Options of one kernel: a problem, a chip, and a plan that may differ from the operator's."""

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from autotune.cli.arguments import add_hardware_arguments
from autotune.cli.problem_arguments import add_problem_arguments, build_request

if TYPE_CHECKING:
    from autotune.emulation import Emulation
    from hwmodel.plan import KernelPlan
    from hwmodel.problem import GemmProblem
    from hwmodel.spec import HardwareSpec

PLAN_OPTION: Final = "--plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """What is to be emulated or evaluated.

    Attributes:
        problem: the problem.
        spec: the chip.
        plan: the plan.
        baseline: the operator's own plan.
        is_baseline: it is the operator's own.
        warnings: legality rules that the plan breaks, a sentence each.
    """

    problem: "GemmProblem"
    spec: "HardwareSpec"
    plan: "KernelPlan"
    baseline: "KernelPlan"
    is_baseline: bool
    warnings: tuple[str, ...]


def add_kernel_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a problem, a plan and a chip."""
    add_problem_arguments(parser)
    parser.add_argument(
        PLAN_OPTION,
        metavar="JSON|FILE",
        help=(
            "fields of the plan that differ from the operator's, by either name, e.g. "
            "'{\"base_n\": 192}' or '{\"baseN\": 192}' (default: the operator's plan)"
        ),
    )
    add_hardware_arguments(parser)


def resolve_kernel(args: argparse.Namespace) -> Kernel:
    """The kernel that the options describe; rules that it breaks are written to stderr, too.

    Raises:
        InputError: an option or a field of the plan is wrong, or the operator rejects the problem.
    """
    from autotune.plan_fields import change_plan, load_fields
    from baseline.decision import decide_request
    from baseline.platform import Platform
    from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware, require_dav_3510

    request = build_request(args)
    fields = {} if args.plan is None else load_fields(args.plan, PLAN_OPTION)
    spec = load_hardware(args.hw or DEFAULT_HARDWARE, base=args.hw_base)
    require_dav_3510(spec, bool(args.as_950))
    problem = request.to_problem()
    baseline = decide_request(request, Platform.from_spec(spec)).plan
    plan = change_plan(problem, spec, baseline, fields, PLAN_OPTION)
    return build_kernel(args, problem, spec, plan, baseline)


def build_kernel(
    args: argparse.Namespace,
    problem: "GemmProblem",
    spec: "HardwareSpec",
    plan: "KernelPlan",
    baseline: "KernelPlan",
    *,
    name: str = "the plan",
) -> Kernel:
    """The kernel of a plan; rules that it breaks are written to stderr, too, under its name."""
    from hwmodel.legality import check

    warnings = tuple(violation.sentence for violation in check(problem, spec, plan))
    for warning in warnings:
        say(args, f"warning: {name} is not legal: {warning}")
    return Kernel(
        problem=problem,
        spec=spec,
        plan=plan,
        baseline=baseline,
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
        say(args, "compiling the emulator, once; this takes about fifteen seconds")
    return run_emulation(kernel.problem, kernel.spec, kernel.plan)


def say(args: argparse.Namespace, text: str) -> None:
    """A line on stderr, under the name of the command."""
    sys.stderr.write(f"autotune {args.command}: {text}\n")
