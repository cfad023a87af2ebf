"""`python -m autotune` and the console script `autotune`.

Everything but the definitions below is imported inside `run_program`'s try block, so that Ctrl-C
is met there at any moment.
"""

import sys

TYPE_CHECKING = False
"""As in `typing`, whose import takes longer than Ctrl-C may take."""
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

DISTRIBUTION = "npu-gemm-autotune"
COMMAND_MODULES = (
    "study",
    "tune",
    "report",
    "baseline",
    "space",
    "schedule",
    "evaluate",
    "explain",
    "compare",
    "emulate",
    "trace",
    "hw",
    "validate",
    "calibrate",
)

EXIT_BROKEN_PIPE = 141
"""128 + SIGPIPE, as the shell reports other programs whose reader has gone."""


def run_program() -> int:
    """Be a whole process: `main`, with Ctrl-C at any moment and standard streams that are closed.

    Once the exit code is known, Ctrl-C is ignored: what is left is the interpreter's own end.

    Returns:
        the exit code.
    """
    try:
        try:
            _replace_closed_streams()
            code = main()
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else 0
        finally:
            _ignore_interrupts()
    except KeyboardInterrupt:
        _ignore_interrupts()
        return _report_interrupt()
    return code


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run the command line; returns the exit code (see `hwmodel.errors`).

    Raises:
        SystemExit: after `--help` and `--version`, and for options that do not parse.
    """
    name = "autotune"
    try:
        from contextlib import redirect_stdout
        from typing import TextIO, cast

        from autotune.cli.output import Output
        from hwmodel.errors import AutotuneError

        try:
            if sys.stdout is None:
                raise AutotuneError("cannot write stdout: it is closed; redirect it to /dev/null")
            with redirect_stdout(cast(TextIO, Output(sys.stdout))) as output:
                try:
                    args = build_parser().parse_args(argv)
                    name = f"autotune {args.command}"
                    return int(args.run(args))
                finally:
                    output.flush()
        except AutotuneError as error:
            _complain(f"{name}: {error}")
            return error.exit_code
        except BrokenPipeError:
            return EXIT_BROKEN_PIPE
    except KeyboardInterrupt:
        return _report_interrupt()


def build_parser() -> "argparse.ArgumentParser":
    """The parser of the whole command line, one subparser per module of `autotune.cli`."""
    import argparse
    import importlib
    from importlib import metadata
    from typing import cast

    from autotune.cli.command import Command

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


def _replace_closed_streams() -> None:
    """Open stdin and stderr that the caller closed (`<&-`, `2>&-`) on the null device.

    Otherwise their descriptors would go to files of the run, and messages into these. stdin stays
    None for those who would read it.
    """
    import os

    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    if sys.stderr is None and sys.stdout is not None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - open until the process ends


def _ignore_interrupts() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _report_interrupt() -> int:
    from hwmodel.errors import EXIT_INTERRUPTED

    _complain("autotune: interrupted")
    return EXIT_INTERRUPTED


def _complain(message: str) -> None:
    """A line on stderr, where there is one."""
    from autotune.cli.output import discard

    if sys.stderr is not None:
        try:
            print(message, file=sys.stderr, flush=True)  # noqa: T201
        except OSError:
            discard(sys.stderr)


if __name__ == "__main__":
    sys.exit(run_program())
