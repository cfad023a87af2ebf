"""`autotune baseline`: the operator's own decision for one problem, or for many in JSON lines."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Final

from autotune.cli.arguments import add_hardware_arguments
from autotune.cli.batch import run_batch
from autotune.cli.problem_arguments import PROBLEM_OPTIONS, add_problem_arguments, build_request
from hwmodel.errors import EXIT_DONE, InputError

if TYPE_CHECKING:
    from hwmodel.spec import HardwareSpec

NAME = "baseline"
HELP = "show the operator's own tiling decision for a GEMM, and the steps that led to it"

_SHAPE_OPTIONS: Final = (*PROBLEM_OPTIONS, "format")
"""Options that a batch has no use for: every line is a whole request."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; None means not given, so that `--batch` can refuse them."""
    add_problem_arguments(parser)
    parser.add_argument(
        "--batch",
        metavar="FILE|-",
        help="answer requests in JSON lines instead, one a line; - reads standard input",
    )
    add_hardware_arguments(parser)
    parser.add_argument("--format", choices=("table", "json"), help="(default: table)")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show the steps that led to the decision, and defects of the operator that it meets",
    )


def run(args: argparse.Namespace) -> int:
    """Print the decision, or the answers of a batch.

    Raises:
        InputError: options that do not go together, an unreadable file, or a problem that the
            operator rejects.
    """
    from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware, require_dav_3510

    if args.batch is not None:
        _refuse_shape_options(args)
    spec = load_hardware(args.hw or DEFAULT_HARDWARE, base=args.hw_base)
    require_dav_3510(spec, bool(args.as_950))
    if args.batch is not None:
        return _run_batch(args.batch, spec)
    return _run_single(args, spec)


def _refuse_shape_options(args: argparse.Namespace) -> None:
    given = [name for name in _SHAPE_OPTIONS if getattr(args, name) is not None]
    if args.explain:
        given.append("explain")
    if given:
        option = "--" + given[0].replace("_", "-")
        raise InputError(f"{option} does not go with --batch: each line says it all; leave it out")


def _run_batch(name: str, spec: "HardwareSpec") -> int:
    from baseline.batch import answer_line
    from baseline.platform import Platform

    platform = Platform.from_spec(spec)
    return run_batch(name, lambda line: answer_line(line, platform))


def _run_single(args: argparse.Namespace, spec: "HardwareSpec") -> int:
    """Decide one problem and print it."""
    from autotune.cli.baseline_text import build_document, format_decision
    from baseline.decision import decide_request
    from baseline.platform import Platform

    request = build_request(args, otherwise=", or --batch")
    decision = decide_request(request, Platform.from_spec(spec), explain=args.explain)
    if args.format == "json":
        document = build_document(request, spec, decision, explain=args.explain)
        text = json.dumps(document, indent=2)
    else:
        text = format_decision(request, spec, decision, explain=args.explain)
    sys.stdout.write(text + "\n")
    return EXIT_DONE
