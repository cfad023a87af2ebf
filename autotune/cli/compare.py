"""`autotune compare`: one run against another, as a gate for changes of models and searches."""

import argparse
import json
import sys

from autotune.cli.arguments import parse_directory
from autotune.cli.kernel_arguments import say
from autotune.cli.output import escape_for
from hwmodel.errors import EXIT_DONE, EXIT_FAIL_IF_MET

NAME = "compare"
HELP = "compare two runs shape by shape: times, gaps, and what was asked otherwise"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    for name, what in (("RUN_A", "run to compare with"), ("RUN_B", "run to judge")):
        parser.add_argument(name.lower(), metavar=name, type=parse_directory, help=what)
    parser.add_argument(
        "--fail-if",
        metavar="CONDITION",
        help="'worse>1%%': exit with code 4 when the best plan of a shape takes over 1 %% longer "
        "in RUN_B, or has no answer there any more",
    )
    parser.add_argument("--format", choices=("table", "json"), help="(default: table)")


def run(args: argparse.Namespace) -> int:
    """Print the comparison; the exit code is that of `--fail-if` when its condition is met.

    Raises:
        RunDirectoryError: not a run, one of another schema, or one without results.
        InputError: a condition that does not parse, or runs without a shape in common.
    """
    from autotune.cli.compare_text import build_document, describe_failure, format_comparison
    from autotune.fail_condition import parse_fail_condition
    from autotune.run_comparison import DEFAULT_THRESHOLD_RATIO, compare_runs
    from autotune.search_runs import load_search_results

    condition = None if args.fail_if is None else parse_fail_condition(args.fail_if)
    threshold_ratio = DEFAULT_THRESHOLD_RATIO if condition is None else condition.worse_ratio
    first, second = load_search_results(args.run_a), load_search_results(args.run_b)
    comparison = compare_runs(first, second, threshold_ratio)
    if args.format == "json":
        document = build_document(first, second, comparison, condition)
        text = json.dumps(document, indent=2)
    else:
        text = format_comparison(first, second, comparison)
    sys.stdout.write(escape_for(sys.stdout, text + "\n"))
    if condition is None or not comparison.is_worse:
        return EXIT_DONE
    say(args, describe_failure(comparison, condition))
    return EXIT_FAIL_IF_MET
