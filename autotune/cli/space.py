"""`autotune space`: how many plans a search has to choose from, and what rules out the others."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Final

from autotune.cli.arguments import add_hardware_arguments
from autotune.cli.problem_arguments import add_shape_arguments, build_problem
from hwmodel.errors import EXIT_DONE, InputError

if TYPE_CHECKING:
    from hwmodel.spec import HardwareSpec

NAME = "space"
HELP = "count the plans of the design space: size, legal plans, what rules out the others"

SPACES: Final = ("all", "tiles")
EFFORTS: Final = ("quick", "standard", "full")
_QUICK: Final = "quick"
_SHAPE_OPTIONS: Final = (
    "m",
    "k",
    "n",
    "trans_a",
    "trans_b",
    "dtype",
    "out_dtype",
    "bias",
    "format_b",
    "mode",
    "deterministic",
)
"""Options that a file of shapes has no use for: its rows say it all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; None means not given."""
    add_shape_arguments(parser)
    parser.add_argument(
        "--shapes", metavar="FILE", help="CSV of shapes, or a bundled list: a row a shape instead"
    )
    parser.add_argument(
        "--space", choices=SPACES, help="whole space, or ASWT and the full load (default: all)"
    )
    parser.add_argument(
        "--effort",
        choices=EFFORTS,
        help="quick leaves much out, standard and full do not (default: standard)",
    )
    add_hardware_arguments(parser)
    parser.add_argument("--format", choices=("text", "json"), help="(default: text)")


def run(args: argparse.Namespace) -> int:
    """Print the counts.

    Raises:
        InputError: options that cannot be used, or the operator rejects the problem.
    """
    from autotune.cli.space_text import (
        build_document,
        build_list_document,
        format_list,
        format_space,
    )
    from autotune.space_summary import summarise_shapes, summarise_space
    from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware, require_dav_3510

    _check_options(args)
    spec: HardwareSpec = load_hardware(args.hw or DEFAULT_HARDWARE, base=args.hw_base)
    require_dav_3510(spec, bool(args.as_950))
    name, quick = args.space or SPACES[0], args.effort == _QUICK
    if args.shapes is not None:
        listed = summarise_shapes(args.shapes, spec, name, quick=quick)
        if listed.bundled:
            _say(f"{args.shapes} is not a file here: using the bundled list {listed.file_name}")
        if args.format == "json":
            text = json.dumps(build_list_document(listed), indent=2)
        else:
            text = format_list(listed)
    else:
        summary = summarise_space(build_problem(args), spec, name, quick=quick)
        if args.format == "json":
            text = json.dumps(build_document(summary), indent=2)
        else:
            text = format_space(summary)
    sys.stdout.write(text + "\n")
    return EXIT_DONE


def _check_options(args: argparse.Namespace) -> None:
    """Refuse what contradicts itself.

    Raises:
        InputError: neither a problem nor a file, or both, or an empty name.
    """
    given = [name for name in _SHAPE_OPTIONS if getattr(args, name) is not None]
    if args.shapes is None and not given:
        raise InputError("--m, --k and --n are missing; give them, or --shapes FILE")
    if args.shapes == "":
        raise InputError("--shapes: the name is empty; give a file or a bundled list")
    if args.shapes is not None and given:
        option = "--" + given[0].replace("_", "-")
        raise InputError(f"{option} does not go with --shapes: its rows say it all; leave it out")
    if args.hw_base is not None and args.hw is None:
        raise InputError("--hw-base completes a platform file; name that with --hw FILE.ini")


def _say(message: str) -> None:
    """A line on stderr."""
    sys.stderr.write(f"autotune space: {message}\n")
