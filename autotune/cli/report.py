"""`autotune report`: write the report of a run again, without searching."""

import argparse
import sys
from pathlib import Path

from autotune.cli.arguments import parse_directory
from hwmodel.errors import EXIT_DONE

NAME = "report"
HELP = "Write report.html, report.md and the figures of a finished run again, without searching."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommand's options."""
    parser.add_argument(
        "directory", metavar="RUN", type=parse_directory, help="run directory of `autotune study`"
    )


def run(args: argparse.Namespace) -> int:
    """Render the report and print the path of its page.

    Raises:
        RunDirectoryError: not a run, a run of another schema, one that is not finished, or one
            whose results or hardware changed since.
    """
    from autotune.cli.study import SEARCH
    from autotune.manifest import load_manifest
    from autotune.report.render import REPORT_HTML_NAME, write_report
    from autotune.runs import SHAPES_NAME, find_changed_files

    directory: Path = args.directory
    manifest = load_manifest(directory)
    if manifest.options.study == SEARCH:
        write_report(directory)
    else:
        from autotune.report.hypotheses.render import write_hypothesis_report

        write_hypothesis_report(directory)
    if SHAPES_NAME in find_changed_files(directory, manifest):
        sys.stderr.write(
            f"autotune report: {directory / SHAPES_NAME} changed since the run read it; "
            "the report shows the results for the shapes as they were\n"
        )
    sys.stdout.write(f"{directory / REPORT_HTML_NAME}\n")
    return EXIT_DONE
