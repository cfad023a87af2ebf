"""`autotune study`: the main job, from a shapes file to a table, a report and a run directory."""

import argparse
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from autotune.cli.arguments import add_hardware_arguments, parse_directory
from hwmodel.errors import EXIT_DONE, EXIT_NO_LEGAL_PLAN, InputError, RunDirectoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autotune.results import ResultRow
    from autotune.run_inputs import ResolvedOptions, RunInputs
    from autotune.runs import RunDirectory
    from studies.hypotheses.verdicts import StudyResults

NAME = "study"
HELP = "compare the operator's tiling with the best one for every shape of a file"

SEARCH = "tiles"
"""The study that searches the space; the others put shapes through hypotheses."""
STUDIES = (SEARCH, "h1", "h2", "h3", "h4", "h5", "h6", "joint", "all")
STRATEGIES = ("cascade", "exhaustive", "random", "tpe", "nsga2", "cmaes", "prior")
EVALUATORS = ("pipeline", "formula", "emulator")
EFFORTS = ("quick", "standard", "full")
VERDICTS = "verdicts"
"""Form of the answer that `studies/expected` holds; of hypotheses only."""
FORMATS = ("table", "json", "csv", VERDICTS)

_QUESTION_OPTIONS = ("study", "strategy", "evaluator", "effort", "trials", "seed")
"""Options that go into the search as they are; None means not given."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; None means not given, so that `--resume` can fill in the run's own."""
    question = parser.add_argument_group("the question")
    question.add_argument("--shapes", metavar="FILE", help="CSV of shapes, or a bundled list")
    add_hardware_arguments(question)
    question.add_argument(
        "--study",
        choices=STUDIES,
        help="search the space of tiles (default), or test a hypothesis, all together, or all",
    )
    question.add_argument(
        "--list", action="store_true", help="show what the hypotheses claim, and stop"
    )
    question.add_argument(
        "--strategy",
        choices=STRATEGIES,
        help="how it is searched (default: cascade; at effort quick exhaustive)",
    )
    question.add_argument(
        "--evaluator",
        choices=EVALUATORS,
        help="model that decides (default: pipeline; of a cascade the judge, emulator)",
    )
    question.add_argument(
        "--effort", choices=EFFORTS, help="how much of the space (default: standard)"
    )
    question.add_argument(
        "--trials", type=int, metavar="N", help="evaluations a shape of a strategy that samples"
    )
    question.add_argument(
        "--seed", type=int, metavar="N", help="seed of a search that samples (default: 0)"
    )
    work = parser.add_argument_group("the work")
    work.add_argument("--jobs", type=int, metavar="N", help="processes (default: all cores)")
    place = work.add_mutually_exclusive_group()
    place.add_argument(
        "--out", type=parse_directory, metavar="DIR", help="run directory (default: in runs/)"
    )
    place.add_argument(
        "--resume", type=parse_directory, metavar="DIR", help="continue the run in DIR"
    )
    work.add_argument(
        "--new", action="store_true", help="start afresh although an interrupted run would fit"
    )
    work.add_argument(
        "--format", choices=FORMATS, default="table", help="form of the answer on stdout"
    )


def run(args: argparse.Namespace) -> int:
    """Answer the question, or the part of it that an interrupted run left.

    The exit code is that of "no legal plan" when no shape at all could be compared.

    Raises:
        InputError: wrong options, shapes, hardware or run directory.
        InterruptedRunError: Ctrl-C or SIGTERM.
        AutotuneError: the run failed.
    """
    if args.list:
        return _show_claims()
    _check_options(args)
    options = _resolve_options(args)
    shapes_file = _find_shapes(args, options)
    inputs = _load_inputs(args, options, shapes_file)
    directory = _select_run(args, inputs, options, shapes_file)
    if options.study == SEARCH:
        return _run_search(args, directory, inputs)
    return _run_hypotheses(args, directory, inputs)


def _run_search(args: argparse.Namespace, directory: "RunDirectory", inputs: "RunInputs") -> int:
    """Search the space for every shape."""
    from autotune.runs import REPORT_NAME
    from autotune.study_run import execute_study, reuse_study
    from autotune.study_table import format_summary
    from hwmodel.cost.evaluators import prepare_evaluator

    if directory.has_answers():
        rows = reuse_study(directory)
    else:
        jobs = _count_jobs(args)
        prepare_evaluator(inputs.options.evaluator, inputs.spec, _say)
        rows = execute_study(directory, inputs, jobs=jobs, stream=sys.stderr)
    try:
        _show(rows, args.format)
    finally:  # the answer is in the run directory even where stdout takes nothing
        _say(format_summary(rows, inputs.options.evaluator, inputs.spec))
        _say(f"run directory {directory.path}; report {directory.path / REPORT_NAME}")
    return EXIT_DONE if any(row.compared for row in rows) else EXIT_NO_LEGAL_PLAN


def _run_hypotheses(
    args: argparse.Namespace, directory: "RunDirectory", inputs: "RunInputs"
) -> int:
    """Put every shape through the hypotheses."""
    from autotune.hypothesis_results_io import format_hypotheses_csv, format_hypotheses_json
    from autotune.hypothesis_run import execute_hypotheses, reuse_hypotheses
    from autotune.hypothesis_table import describe_budget, describe_results, format_verdicts
    from autotune.run_inputs import distinct_problems
    from autotune.runs import REPORT_NAME
    from hwmodel.cost.evaluators import prepare_evaluator
    from studies.hypotheses.effort import DEPTHS
    from studies.hypotheses.expected import format_expected
    from studies.hypotheses.models import JUDGE, SELECTOR

    if directory.has_answers():
        results = reuse_hypotheses(directory)
    else:
        jobs = _count_jobs(args)
        depth = DEPTHS[inputs.options.effort]
        _say(describe_budget(len(distinct_problems(inputs.rows)), depth, jobs))
        for name in (SELECTOR, JUDGE):
            prepare_evaluator(name, inputs.spec, _say)
        results = execute_hypotheses(directory, inputs, jobs=jobs, stream=sys.stderr)
    options = directory.manifest.options
    command = (
        f"python -m autotune study --shapes {options.shapes} --study {options.study} --effort "
        f"{options.effort}"
    )
    formats: dict[str, Callable[[StudyResults], str]] = {
        "table": format_verdicts,
        "json": format_hypotheses_json,
        "csv": format_hypotheses_csv,
        VERDICTS: partial(format_expected, command=command),
    }
    try:
        _write_out(formats[args.format](results))
    finally:
        for line in describe_results(results):
            _say(line)
        _say(f"run directory {directory.path}; report {directory.path / REPORT_NAME}")
    return EXIT_DONE if results.answers else EXIT_NO_LEGAL_PLAN


def _show_claims() -> int:
    """What the hypotheses claim."""
    from autotune.hypothesis_table import format_claims

    _write_out(format_claims())
    return EXIT_DONE


def _count_jobs(args: argparse.Namespace) -> int:
    """Processes to work with."""
    import joblib

    jobs: int = joblib.cpu_count() if args.jobs is None else args.jobs
    return jobs


def _check_options(args: argparse.Namespace) -> None:
    """Refuse what no run could mean.

    Raises:
        InputError: an option out of range, or two that contradict each other.
    """
    for option, least in (("jobs", 1), ("trials", 1), ("seed", 0)):
        value = getattr(args, option)
        if value is not None and value < least:
            raise InputError(f"--{option} {value}: must be {least} or more")
    if args.shapes is None and args.resume is None:
        raise InputError("--shapes FILE is missing (or --resume DIR to continue a run)")
    if args.shapes == "":
        raise InputError("--shapes: the name is empty; give a file or a bundled list")
    if args.new and args.resume is not None:
        raise InputError("--new and --resume contradict each other; leave one out")
    if args.hw_base is not None and args.hw is None:
        raise InputError("--hw-base completes a platform file; name that with --hw FILE.ini")


def _resolve_options(args: argparse.Namespace) -> "ResolvedOptions":
    """The options with defaults filled in: of the run to resume, else of a plain search.

    Raises:
        RunDirectoryError: there is no run to resume.
        InputError: --trials without a strategy that samples.
    """
    from autotune.run_inputs import ResolvedOptions
    from autotune.runs import open_run
    from hwmodel.spec_io import DEFAULT_HARDWARE
    from studies.search import COVERING_NAMES, Effort, SearchOptions, resolve_search

    given = {
        name: value
        for name in (*_QUESTION_OPTIONS, "shapes", "hw", "as_950")
        if (value := getattr(args, name)) is not None
    }
    if args.resume is not None:
        options = replace(open_run(args.resume).manifest.options, **given)
    else:
        plain = SearchOptions()
        defaults = {name: getattr(plain, name) for name in _QUESTION_OPTIONS}
        effort = Effort(given.get("effort", plain.effort))
        strategy, evaluator = resolve_search(args.strategy, args.evaluator, effort)
        chosen = {"strategy": strategy, "evaluator": evaluator, "effort": effort.value}
        fixed = {"hw": DEFAULT_HARDWARE, "as_950": False}
        options = ResolvedOptions(**{**defaults, **fixed, **given, **chosen})
    if args.trials is not None and options.strategy in COVERING_NAMES:
        raise InputError(
            f"--trials: the strategy {options.strategy} covers the whole space; leave it out, or "
            "name a sampling strategy with --strategy"
        )
    _check_fixed(args, options.study)
    if options.study == SEARCH and args.format == VERDICTS:
        raise InputError(
            f"--format {VERDICTS}: only hypotheses have verdicts; name one with --study"
        )
    return options


def _check_fixed(args: argparse.Namespace, study: str) -> None:
    """Refuse options that a hypothesis fixes.

    Raises:
        InputError: one is given.
    """
    for option in ("strategy", "evaluator", "trials", "seed"):
        if study != SEARCH and getattr(args, option) is not None:
            raise InputError(
                f"--{option}: a hypothesis fixes who chooses, who judges and what is tried; leave "
                f"it out with --study {study}"
            )


def _find_shapes(args: argparse.Namespace, options: "ResolvedOptions") -> Path:
    """The shapes file: as named, bundled, or the copy in the run to resume.

    Raises:
        InputError: there is none.
    """
    from autotune.runs import SHAPES_NAME
    from studies.shape_rows import find_shapes_file

    if args.shapes is None:
        return Path(args.resume) / SHAPES_NAME
    found = find_shapes_file(options.shapes)
    if found.bundled:
        _say(f"{options.shapes} is not a file here: using the bundled list {found.path.name}")
    return found.path


def _load_inputs(
    args: argparse.Namespace, options: "ResolvedOptions", shapes_file: Path
) -> "RunInputs":
    """The question itself.

    Raises:
        InputError: shapes, hardware or the way to search cannot be used.
    """
    from autotune.hypothesis_run import make_hypothesis_inputs
    from autotune.run_inputs import RunInputs
    from autotune.runs import HARDWARE_NAME
    from hwmodel.cost.evaluators import select_evaluator
    from hwmodel.spec_io import load_hardware, require_dav_3510
    from studies.search import Effort, SearchOptions, check_options, list_evaluators
    from studies.shape_rows import load_shapes

    hardware = options.hw
    if args.resume is not None and args.hw is None:
        hardware = os.fspath(args.resume / HARDWARE_NAME)
    search = {name: getattr(options, name) for name in _QUESTION_OPTIONS}
    search_options = SearchOptions(**{**search, "effort": Effort(options.effort)})
    if options.study == SEARCH:
        check_options(search_options)
    spec = load_hardware(hardware, base=args.hw_base)
    require_dav_3510(spec, as_950=options.as_950)
    rows = load_shapes(shapes_file)
    if options.study != SEARCH:
        return make_hypothesis_inputs(rows, spec, search_options, as_950=options.as_950)
    return RunInputs(
        rows=rows,
        spec=spec,
        options=search_options,
        as_950=options.as_950,
        model_version=" ".join(
            select_evaluator(name).version for name in list_evaluators(search_options)
        ),
    )


def _select_run(
    args: argparse.Namespace, inputs: "RunInputs", options: "ResolvedOptions", shapes_file: Path
) -> "RunDirectory":
    """The run to continue or to show, or a new one.

    Raises:
        RunDirectoryError: the directory holds something else, or another question's run.
    """
    from autotune.runs import (
        create_run,
        find_interrupted,
        is_free,
        open_run,
        require_same_question,
    )

    existing: RunDirectory | None = None
    if args.resume is not None:
        existing = open_run(args.resume)
    elif args.out is None:
        existing = None if args.new else find_interrupted(inputs.digests())
    elif not is_free(args.out):
        existing = open_run(args.out)
        if args.new:
            raise RunDirectoryError(
                f"{args.out} holds a run already; name another directory with --out"
            )
    if existing is None:
        return create_run(args.out, shapes_file, inputs, options, tuple(sys.argv[1:]))
    require_same_question(existing, inputs.digests())
    if existing.has_answers():
        _say(f"{existing.path} is finished already: showing its results")
    else:
        _say(f"continuing the run {existing.path}; what it has finished is not computed again")
    return existing


def _show(rows: "Sequence[ResultRow]", form: str) -> None:
    """Print the answer; what the terminal cannot encode is escaped."""
    from autotune.results_io import format_results_csv, format_results_json
    from autotune.study_table import describe_marks, format_table

    formats = {
        "table": format_table,
        "json": format_results_json,
        "csv": format_results_csv,
    }
    _write_out(formats[form](rows))
    if form == "table":
        for line in describe_marks(rows):
            _say(line)


def _write_out(text: str) -> None:
    """Text on stdout; what the terminal cannot encode is escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def _say(message: str) -> None:
    """A line on stderr."""
    sys.stderr.write(f"autotune study: {message}\n")
