"""`python -m autotune` and the console script `autotune`."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import cast

from autotune.cli.command import Command
from hwmodel.errors import EXIT_BAD_INPUT, EXIT_INTERRUPTED, AutotuneError

DISTRIBUTION = "npu-gemm-autotune"
COMMAND_MODULES = ("study", "report", "baseline", "schedule", "hw", "validate")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line, one subparser per module of `autotune.cli`."""
    parser = argparse.ArgumentParser(
        prog="autotune",
        description=(
            "How far is the Ascend 950 MatMulV3 tiling from the best, and what would be better?"
        ),
    )
    parser.add_argument("--version", action="version", version=metadata.version(DISTRIBUTION))
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module_name in COMMAND_MODULES:
        command = cast(Command, importlib.import_module(f"autotune.cli.{module_name}"))
        subparser = subparsers.add_parser(
            command.NAME, help=command.HELP, description=command.HELP
        )
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (see `hwmodel.errors`)."""
    args = build_parser().parse_args(argv)
    try:
        return int(args.run(args))
    except AutotuneError as error:
        print(f"autotune {args.command}: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    except BrokenPipeError:
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print("autotune: interrupted", file=sys.stderr)  # noqa: T201
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
