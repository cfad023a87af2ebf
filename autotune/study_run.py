"""A study at work: search every distinct problem, write the answers, render the report."""

import logging
import os
import platform
import shlex
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import TextIO, TypeVar

from autotune.atomic_write import write_error
from autotune.comparison import make_result_rows
from autotune.manifest import RunStatus
from autotune.parallel import Answer, AnswerKind, SearchTask, answer_tasks
from autotune.progress import Progress
from autotune.results import ResultRow
from autotune.results_io import load_results, write_results_csv, write_results_json
from autotune.run_inputs import RunInputs, distinct_problems
from autotune.runs import (
    LOG_NAME,
    REPORT_NAME,
    RESULTS_CSV_NAME,
    RESULTS_JSON_NAME,
    RunDirectory,
    require_results,
)
from autotune.stop_signals import stoppable
from hwmodel.errors import AutotuneError, InterruptedRunError
from hwmodel.problem import GemmProblem

_LOGGER = logging.getLogger(__name__)

Results = TypeVar("Results")


def execute_study(
    run: RunDirectory, inputs: RunInputs, *, jobs: int, stream: TextIO
) -> tuple[ResultRow, ...]:
    """Search, or go on searching, and leave a finished run; `execute_run` has the details.

    Returns:
        one row per line of the shapes file.
    """

    def finish(answers: Mapping[GemmProblem, Answer]) -> tuple[ResultRow, ...]:
        return _write_answers(run, inputs, answers)

    return execute_run(run, inputs, finish=finish, render=render_report, jobs=jobs, stream=stream)


def execute_run(
    run: RunDirectory,
    inputs: RunInputs,
    *,
    finish: Callable[[Mapping[GemmProblem, Answer]], Results],
    render: Callable[[RunDirectory], None],
    jobs: int,
    stream: TextIO,
) -> Results:
    """Answer, or go on answering, every distinct problem, and leave a finished run.

    Finished evaluations come from the journals.

    Args:
        run: a new or interrupted run of this question.
        inputs: the question.
        finish: writes the results of all answers into the run and returns them.
        render: writes the report of a run.
        jobs: processes.
        stream: where progress is shown.

    Raises:
        InterruptedRunError: Ctrl-C or SIGTERM; the run can be resumed.
        RunDirectoryError: another process works in the directory.
        AutotuneError: a search failed or a file could not be written; run.log has the details.
    """
    with run.locked(), _log_into(run), stoppable() as check_stop:
        try:
            _LOGGER.info("started on %s with %d jobs", platform.node(), jobs)
            run.set_status(RunStatus.RUNNING)
            answers: dict[GemmProblem, Answer] = {}
            with closing(_answers(run, inputs, jobs, stream)) as found:
                for answer in found:
                    check_stop()
                    answers[answer.problem] = answer
            results = finish(answers)
            run.set_status(RunStatus.FINISHED)
            render(run)
            check_stop()
            _LOGGER.info("finished")
        except KeyboardInterrupt:
            _stop(run, RunStatus.INTERRUPTED, "interrupted")
            raise InterruptedRunError(f"interrupted; to go on: {resume_command(run)}") from None
        except AutotuneError as error:
            _stop(run, RunStatus.FAILED, str(error))
            raise
        except Exception as error:
            _stop(run, RunStatus.FAILED, traceback.format_exc())
            raise AutotuneError(
                f"failed: {type(error).__name__}: {error}; details in {run.path / LOG_NAME}"
            ) from error
        return results


def reuse_study(run: RunDirectory) -> tuple[ResultRow, ...]:
    """The rows of a finished run; its report is rendered when it is not there.

    Raises:
        RunDirectoryError: its results are missing, changed or cannot be read.
    """
    rows = load_results(require_results(run.path, run.manifest))
    if not (run.path / REPORT_NAME).exists():
        render_report(run)
    return rows


def render_report(run: RunDirectory) -> None:
    """Write report and figures from what is in the run directory."""
    from autotune.report.render import write_report

    write_report(run.path)


def resume_command(run: RunDirectory) -> str:
    """The command line that continues the run."""
    return f"python -m autotune study --resume {shlex.quote(os.fspath(run.path))}"


def _answers(run: RunDirectory, inputs: RunInputs, jobs: int, stream: TextIO) -> Generator[Answer]:
    """Answers to all distinct problems, in the order in which they are found.

    Raises:
        AutotuneError: a search failed.
    """
    digests = run.manifest.digests
    tasks = tuple(
        SearchTask(
            problem=row.problem,
            spec=inputs.spec,
            options=inputs.options_of(row),
            journal_path=run.journal_path(row),
            journal_header=inputs.journal_header(row.problem, digests),
        )
        for row in distinct_problems(inputs.rows)
    )
    names = {row.problem: row.name for row in distinct_problems(inputs.rows)}
    with Progress(len(tasks), stream) as progress, closing(answer_tasks(tasks, jobs)) as answers:
        for answer in answers:
            progress.advance()
            if answer.kind is AnswerKind.FAILED:
                raise _failure(run, names[answer.problem], answer)
            yield answer


def _failure(run: RunDirectory, name: str, answer: Answer) -> AutotuneError:
    """The error for a problem whose search failed; its traceback, if any, goes to the log."""
    if not answer.details:
        return AutotuneError(answer.message)
    _LOGGER.error("%s\n%s", name, answer.details)
    return AutotuneError(
        f"shape {name!r} ({answer.problem.label()}) failed: {answer.message}; "
        f"details in {run.path / LOG_NAME}"
    )


def _write_answers(
    run: RunDirectory, inputs: RunInputs, answers: Mapping[GemmProblem, Answer]
) -> tuple[ResultRow, ...]:
    rows = make_result_rows(inputs.rows, answers, inputs.spec, inputs.options.evaluator)
    run.write_trials([run.journal_path(row) for row in distinct_problems(inputs.rows)])
    write_results_json(rows, run.path / RESULTS_JSON_NAME)
    write_results_csv(rows, run.path / RESULTS_CSV_NAME)
    return rows


def _stop(run: RunDirectory, status: RunStatus, why: str) -> None:
    """Record how the run ended; what cannot be recorded must not hide why it ended."""
    _LOGGER.error("%s: %s", status, why)
    with suppress(AutotuneError):
        run.set_status(status)


class _RunLog(logging.FileHandler):
    """run.log; when the disk is full, the run itself says so."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """Print nothing."""


@contextmanager
def _log_into(run: RunDirectory) -> Iterator[None]:
    """Send the program's log to run.log while the block runs."""
    path = run.path / LOG_NAME
    try:
        handler = _RunLog(path, encoding="utf-8")
    except OSError as error:
        raise write_error(path, error) from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("autotune")
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate
        with suppress(OSError):  # a full disk: what the log lacks, stderr has said
            handler.close()
