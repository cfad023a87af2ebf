"""`autotune tune`: one shape searched here and now; ends with the best plan, ready to paste."""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from autotune.cli.arguments import add_hardware_arguments
from autotune.cli.model_arguments import add_evaluator_argument, load_evaluator
from autotune.cli.problem_arguments import add_shape_arguments, build_problem
from autotune.cli.study import EFFORTS, STRATEGIES
from hwmodel.errors import EXIT_DONE, InputError

if TYPE_CHECKING:
    from studies.search import SearchOptions

NAME = "tune"
HELP = "search the best plan for one shape, and print it in the operator's field names"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; None means not given."""
    add_shape_arguments(parser)
    search = parser.add_argument_group("the search")
    search.add_argument(
        "--strategy",
        choices=STRATEGIES,
        help="how it is searched (default: cascade; at effort quick exhaustive)",
    )
    add_evaluator_argument(search, default="pipeline; of a cascade the judge, emulator")
    search.add_argument(
        "--effort", choices=EFFORTS, help="how much of the space (default: standard)"
    )
    search.add_argument(
        "--trials", type=int, metavar="N", help="evaluations of a sampling strategy"
    )
    search.add_argument(
        "--seed", type=int, metavar="N", help="seed of a sampling strategy (default: 0)"
    )
    add_hardware_arguments(search)
    parser.add_argument("--format", choices=("table", "json"), help="(default: table)")


def run(args: argparse.Namespace) -> int:
    """Search and print the answer.

    Raises:
        InputError: options that cannot be used, or the operator rejects the problem.
    """
    from autotune.cli.tune_text import build_document, format_tuning
    from autotune.tuning import tune_shape
    from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware, require_dav_3510

    problem = build_problem(args)
    options = _build_options(args)
    spec = load_hardware(args.hw or DEFAULT_HARDWARE, base=args.hw_base)
    require_dav_3510(spec, bool(args.as_950))
    load_evaluator(args, options.evaluator, spec)
    tuning = tune_shape(problem, spec, options, sys.stderr)
    if args.format == "json":
        text = json.dumps(build_document(tuning), indent=2)
    else:
        text = format_tuning(tuning)
    sys.stdout.write(text + "\n")
    return EXIT_DONE


def _build_options(args: argparse.Namespace) -> "SearchOptions":
    """What decides the search, with the defaults of a study.

    Raises:
        InputError: an option is out of range or contradicts another.
    """
    from studies.search import (
        COVERING_NAMES,
        Effort,
        SearchOptions,
        check_options,
        resolve_search,
    )

    for option, least in (("trials", 1), ("seed", 0)):
        value = getattr(args, option)
        if value is not None and value < least:
            raise InputError(f"--{option} {value}: must be {least} or more")
    names = ("trials", "seed")
    given = {name: value for name in names if (value := getattr(args, name)) is not None}
    effort = Effort(args.effort or Effort.STANDARD)
    strategy, evaluator = resolve_search(args.strategy, args.evaluator, effort)
    options = SearchOptions(strategy=strategy, evaluator=evaluator, effort=effort, **given)
    if args.trials is not None and strategy in COVERING_NAMES:
        raise InputError(
            f"--trials: the strategy {strategy} covers the whole space; leave it out, or name a "
            "sampling strategy with --strategy"
        )
    check_options(options)
    return options
