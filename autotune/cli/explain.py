"""`autotune explain`: why the winners of a run win."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Final

from autotune.cli.arguments import parse_directory
from autotune.cli.kernel_arguments import say
from autotune.cli.model_arguments import add_evaluator_argument, load_evaluator
from autotune.cli.output import escape_for
from hwmodel.errors import EXIT_DONE, InputError

if TYPE_CHECKING:
    from autotune.report.run_files import RunFiles
    from autotune.results import ResultRow
    from autotune.run_explanation import ExplainedRow

NAME = "explain"
HELP = "say why the best plan of a run wins: breakdowns side by side, pipes, bytes, and its costs"

_LARGEST: Final = 5
"""Shapes that are explained when none is asked for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "directory", metavar="RUN", type=parse_directory, help="run directory of `autotune study`"
    )
    parser.add_argument(
        "--shape",
        metavar="NAME",
        help="shape by its name, its size like 2048x4096x704 (M x K x N), or its number in the "
        f"report (default: the {_LARGEST} with the largest gaps)",
    )
    parser.add_argument(
        "--vs",
        metavar="baseline|expressible|JSON|FILE",
        default="baseline",
        help="what the best plan is compared with: the operator's plan, the best that its tiling "
        "data can carry, or fields that differ from the operator's plan (default: baseline)",
    )
    add_evaluator_argument(parser, default="the run's")
    parser.add_argument("--format", choices=("table", "json"), help="(default: table)")


def run(args: argparse.Namespace) -> int:
    """Print the explanations.

    Raises:
        RunDirectoryError: not a run, one of another schema, or one without results.
        InputError: no such shape, or no plan to compare with.
    """
    from autotune.cli.explain_text import build_document, format_explanations
    from autotune.search_runs import load_search_run

    files = load_search_run(args.directory)
    model = args.evaluator or files.manifest.options.evaluator
    explained = _explain(args, files, model)
    if args.evaluator in {None, files.manifest.options.evaluator}:
        _compare_versions(args, model, explained)
    if args.format == "json":
        text = json.dumps(build_document(files, model, args.vs, explained), indent=2)
    else:
        text = format_explanations(files, model, explained, is_single=args.shape is not None)
    sys.stdout.write(escape_for(sys.stdout, text + "\n"))
    return EXIT_DONE


def _explain(args: argparse.Namespace, files: "RunFiles", model: str) -> "list[ExplainedRow]":
    """The shape that was asked for, or those with the largest gaps."""
    from autotune.plan_fields import BASELINE
    from autotune.run_explanation import EXPRESSIBLE, explain_row, find_row, select_largest

    rows: tuple[ResultRow, ...]
    if args.shape is not None:
        rows = (find_row(files.rows, args.shape),)
    elif args.vs in {BASELINE, EXPRESSIBLE}:
        rows = select_largest(files.rows, _LARGEST)
    else:
        raise InputError("--vs with a plan is for one shape; name it with --shape")
    evaluator = load_evaluator(args, model, files.spec)
    return [explain_row(row, args.vs, evaluator, files.spec) for row in rows]


def _compare_versions(
    args: argparse.Namespace, model: str, explained: "list[ExplainedRow]"
) -> None:
    """Say so where the run was made by another version of the model."""
    from autotune.report.text import format_us, short_name

    for one in explained:
        if not one.matches_run:
            say(
                args,
                f"{short_name(one.row.name)}: the run's {model} model said "
                f"{format_us(one.compared.best.predicted_us)} us for the best plan, this version "
                f"says {format_us(one.comparison.second.cost.task_duration_us)} us; the figures "
                "are this version's",
            )
