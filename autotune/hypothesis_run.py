"""A run of hypotheses: every distinct problem through them, then the verdicts."""

from collections.abc import Mapping, Sequence
from typing import TextIO

from autotune.hypothesis_results_io import load_hypotheses, write_hypotheses
from autotune.parallel import Answer
from autotune.run_inputs import RunInputs, distinct_problems
from autotune.runs import (
    REPORT_NAME,
    RESULTS_CSV_NAME,
    RESULTS_JSON_NAME,
    RunDirectory,
    require_results,
)
from autotune.study_run import execute_run
from hwmodel.cost.evaluators import select_evaluator
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.hypotheses.lists import add_domain_lists, list_sources, study_of_source
from studies.hypotheses.models import JUDGE, SELECTOR
from studies.hypotheses.verdicts import StudyResults
from studies.search import SearchOptions
from studies.shape_rows import ShapeRow


def make_hypothesis_inputs(
    rows: Sequence[ShapeRow], spec: HardwareSpec, options: SearchOptions, *, as_950: bool
) -> RunInputs:
    """The question: the rows of the shapes file, the domain lists, and what is asked about each.

    Args:
        rows: the shapes file.
        spec: the chip.
        options: `study` and `effort` count.
        as_950: the chip is another one, treated as a 950 on request.
    """
    study, effort = options.study, options.effort
    all_rows = add_domain_lists(rows, study, effort)
    sources = list_sources(all_rows, study, effort)
    versions = [select_evaluator(name).version for name in (SELECTOR, JUDGE)]
    return RunInputs(
        rows=all_rows,
        spec=spec,
        options=options,
        as_950=as_950,
        model_version=" ".join(versions),
        studies=tuple(study_of_source(source, study) for source in sources),
    )


def execute_hypotheses(
    run: RunDirectory, inputs: RunInputs, *, jobs: int, stream: TextIO
) -> StudyResults:
    """Put every problem through the hypotheses, or go on, and leave a finished run.

    Args:
        run: a new or interrupted run of this question.
        inputs: the question.
        jobs: processes.
        stream: where progress is shown.

    Raises:
        InterruptedRunError: Ctrl-C or SIGTERM; the run can be resumed.
        AutotuneError: a problem failed or a file could not be written.
    """

    def finish(answers: Mapping[GemmProblem, Answer]) -> StudyResults:
        return _write_results(run, inputs, answers, jobs)

    return execute_run(
        run, inputs, finish=finish, render=render_hypotheses, jobs=jobs, stream=stream
    )


def reuse_hypotheses(run: RunDirectory) -> StudyResults:
    """The results of a finished run; its report is rendered when it is not there.

    Raises:
        RunDirectoryError: they are missing, changed or cannot be read.
    """
    results = load_hypotheses(require_results(run.path, run.manifest))
    if not (run.path / REPORT_NAME).exists():
        render_hypotheses(run)
    return results


def render_hypotheses(run: RunDirectory) -> None:
    """Write report and figures from what is in the run directory."""
    from autotune.report.hypotheses.render import write_hypothesis_report

    write_hypothesis_report(run.path)


def _write_results(
    run: RunDirectory, inputs: RunInputs, answers: Mapping[GemmProblem, Answer], jobs: int
) -> StudyResults:
    """Results and concatenated journals into the run directory."""
    from studies.hypotheses.results import build_results  # the statistics take a second to import

    results = build_results(
        inputs.rows,
        {
            problem: answer.hypotheses
            for problem, answer in answers.items()
            if answer.hypotheses is not None
        },
        {problem: answer.message for problem, answer in answers.items() if answer.message},
        inputs.options,
        inputs.spec,
        jobs=jobs,
    )
    run.write_trials([run.journal_path(row) for row in distinct_problems(inputs.rows)])
    write_hypotheses(results, run.path / RESULTS_JSON_NAME, run.path / RESULTS_CSV_NAME)
    return results
