"""`autotune emulate`: one kernel in time, and what its pipes did."""

import argparse
import json
import sys

from autotune.cli.kernel_arguments import add_kernel_arguments, emulate_kernel, resolve_kernel
from hwmodel.errors import EXIT_DONE

NAME = "emulate"
HELP = "run one kernel on the emulated chip: its time, traffic, and what each pipe waited for"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_kernel_arguments(parser)
    parser.add_argument("--format", choices=("table", "json"), help="(default: table)")


def run(args: argparse.Namespace) -> int:
    """Print the result.

    Raises:
        InputError: options or a plan that cannot be used.
    """
    from autotune.cli.emulate_text import build_document, format_emulation

    kernel = resolve_kernel(args)
    emulation = emulate_kernel(args, kernel)
    if args.format == "json":
        text = json.dumps(build_document(kernel, emulation), indent=2)
    else:
        text = format_emulation(kernel, emulation)
    sys.stdout.write(text + "\n")
    return EXIT_DONE
