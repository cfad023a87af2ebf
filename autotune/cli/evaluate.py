"""`autotune evaluate`: the predicted time of one plan by any model, and where it goes."""

import argparse
import json
import sys
from typing import Final

from autotune.cli.kernel_arguments import (
    Kernel,
    add_kernel_arguments,
    build_kernel,
    resolve_kernel,
)
from autotune.cli.model_arguments import add_evaluator_argument, load_evaluator
from hwmodel.errors import EXIT_DONE

NAME = "evaluate"
HELP = "predict the time of one plan by any model, and show where it goes"

_VS: Final = "--vs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_kernel_arguments(parser)
    add_evaluator_argument(parser)
    parser.add_argument(
        _VS,
        metavar="baseline|JSON|FILE",
        help="compare with the operator's own plan, or with one given as with --plan",
    )
    parser.add_argument("--format", choices=("table", "json"), help="(default: table)")


def run(args: argparse.Namespace) -> int:
    """Print the prediction.

    Raises:
        InputError: options or a plan that cannot be used.
    """
    from autotune.cli.evaluate_text import Evaluation, build_document, format_evaluation

    kernel = resolve_kernel(args)
    reference = _resolve_reference(args, kernel)
    model = load_evaluator(args, args.evaluator or "pipeline", kernel.spec)
    kernels = (kernel,) if reference is None else (reference, kernel)
    evaluation = Evaluation(
        model=model.name,
        model_version=model.version,
        kernels=kernels,
        costs=tuple(model.evaluate(one.problem, one.spec, one.plan) for one in kernels),
    )
    if args.format == "json":
        text = json.dumps(build_document(evaluation), indent=2)
    else:
        text = format_evaluation(evaluation)
    sys.stdout.write(text + "\n")
    return EXIT_DONE


def _resolve_reference(args: argparse.Namespace, kernel: Kernel) -> Kernel | None:
    """The kernel to compare with, if there is one."""
    if args.vs is None:
        return None
    from autotune.plan_fields import load_reference

    problem, spec, baseline = kernel.problem, kernel.spec, kernel.baseline
    plan = load_reference(args.vs, _VS, problem, spec, baseline)
    return build_kernel(args, problem, spec, plan, baseline, name=f"the plan of {_VS}")
