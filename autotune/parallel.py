"""Searches of distinct problems, in this process or in workers; the answers are the same.

A problem that cannot be searched is an answer, not a crash: rejected by the operator, without a
legal plan, or failed. Workers never see Ctrl-C; this process stops them.
"""

import signal
import traceback
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from autotune.journal import ShapeJournal
from hwmodel.errors import AutotuneError, NoLegalPlanError, RejectedError
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.hypotheses.answers import ShapeAnswer
from studies.journal import JsonRecord
from studies.outcome import ShapeOutcome
from studies.search import SearchOptions, search_shape
from studies.space import SPACE_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTask:
    """One problem to search or to put through hypotheses, with all that a worker needs."""

    problem: GemmProblem
    spec: HardwareSpec
    options: SearchOptions
    journal_path: Path
    journal_header: JsonRecord


class AnswerKind(StrEnum):
    """What became of a task."""

    FOUND = "found"
    REJECTED = "rejected"
    NO_LEGAL_PLAN = "no_legal_plan"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of one task.

    Attributes:
        problem: the GEMM.
        kind: what became of it.
        outcome: the search's outcome, None unless it is `found`.
        hypotheses: what the hypotheses say, None unless they were asked for and it is `found`.
        message: one line on why there is no outcome; empty when there is.
        details: traceback of an unexpected failure, for the log.
    """

    problem: GemmProblem
    kind: AnswerKind
    outcome: ShapeOutcome | None = None
    hypotheses: ShapeAnswer | None = None
    message: str = ""
    details: str = ""


def answer_task(task: SearchTask) -> Answer:
    """Search one problem; a failure is an answer too, so it crosses process borders safely."""
    problem = task.problem
    try:
        with ShapeJournal(task.journal_path, task.journal_header) as journal:
            return _find_answer(task, journal)
    except RejectedError as error:
        message = f"{error.code} ({error.where}): {error}"
        return Answer(problem=problem, kind=AnswerKind.REJECTED, message=message)
    except NoLegalPlanError as error:
        return Answer(problem=problem, kind=AnswerKind.NO_LEGAL_PLAN, message=str(error))
    except AutotuneError as error:
        return Answer(problem=problem, kind=AnswerKind.FAILED, message=str(error))
    except Exception as error:  # noqa: BLE001 - a defect must not hide which problem met it
        return Answer(
            problem=problem,
            kind=AnswerKind.FAILED,
            message=f"{type(error).__name__}: {error}",
            details=traceback.format_exc(),
        )


def _find_answer(task: SearchTask, journal: ShapeJournal) -> Answer:
    """Search a space, or put the problem through the hypotheses.

    Raises:
        AutotuneError: there is no answer; the kind of error says why.
    """
    problem, spec, options = task.problem, task.spec, task.options
    if options.study == SPACE_NAME:
        outcome = search_shape(problem, spec, options, journal)
        return Answer(problem=problem, kind=AnswerKind.FOUND, outcome=outcome)
    from studies.hypotheses.shape_study import study_shape  # needs SciPy and the compiler

    hypotheses = study_shape(problem, spec, options, journal)
    return Answer(problem=problem, kind=AnswerKind.FOUND, hypotheses=hypotheses)


def answer_tasks(tasks: Sequence[SearchTask], jobs: int) -> Generator[Answer]:
    """Answers in the order in which they are finished.

    Args:
        tasks: one per distinct problem.
        jobs: processes; with 1, or a single task, the work is done in this one.

    Raises:
        AutotuneError: a worker process died.
        KeyboardInterrupt: passed on after the workers have been stopped.
    """
    workers = min(jobs, len(tasks))
    if workers <= 1:
        yield from map(answer_task, tasks)
    else:
        yield from _answer_in_workers(tasks, workers)


def _answer_in_workers(tasks: Sequence[SearchTask], workers: int) -> Generator[Answer]:
    """Answers of loky worker processes with one BLAS thread each."""
    import joblib
    from joblib.externals.loky import get_reusable_executor
    from joblib.externals.loky.backend import resource_tracker
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    is_done = False
    resource_tracker.ensure_running()  # here, because its start unblocks Ctrl-C
    try:
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            parallel = joblib.Parallel(n_jobs=workers, return_as="generator_unordered")
            with _interrupt_blocked():
                answers = parallel(joblib.delayed(answer_task)(task) for task in tasks)
        with _closing_silently(answers):
            while (answer := next(answers, None)) is not None:
                yield answer
        is_done = True
    except TerminatedWorkerError as error:
        raise AutotuneError(
            "a worker process died, perhaps for want of memory; try fewer --jobs"
        ) from error
    finally:
        get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=not is_done)


@contextmanager
def _closing_silently(answers: Generator[Answer]) -> Iterator[None]:
    """Close joblib's generator without its warning that tasks are left: they are meant to be."""
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answers.close()


@contextmanager
def _interrupt_blocked() -> Iterator[None]:
    """Hold back Ctrl-C while workers, and the threads that start more of them, are made.

    Processes and threads inherit the mask. So Ctrl-C in a terminal, which reaches every process of
    the group, stops only this one, and no worker prints a traceback. What arrives meanwhile is
    delivered at the end.
    """
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)
