"""`autotune report`: write the report of a run again, without searching."""

import argparse
import sys
from pathlib import Path

from hwmodel.errors import EXIT_DONE

NAME = "report"
HELP = "Write report.html, report.md and the figures of a finished run again, without searching."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommand's options."""
    parser.add_argument(
        "directory", metavar="RUN", type=Path, help="run directory of `autotune study`"
    )


def run(args: argparse.Namespace) -> int:
    """Render the report and print the path of its page.

    Raises:
        RunDirectoryError: not a run, a run of another schema, or one that is not finished.
    """
    from autotune.report.render import REPORT_HTML_NAME, write_report

    directory: Path = args.directory
    write_report(directory)
    sys.stdout.write(f"{directory / REPORT_HTML_NAME}\n")
    return EXIT_DONE
