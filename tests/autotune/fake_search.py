"""A search that is quick, knows every failure, and keeps its journal as the real one must."""

import os
import signal
import time
from collections.abc import Sequence
from unittest import mock

from autotune import parallel
from autotune.parallel import Answer, SearchTask
from hwmodel.cost.breakdown import Bound, CostBreakdown
from hwmodel.errors import AutotuneError, NoLegalPlanError, RejectedError
from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.journal import Journal, JsonRecord
from studies.outcome import Certificate, EvaluatedPlan, ShapeOutcome
from studies.search import SearchOptions

K_REJECTED = 13
K_WITHOUT_PLAN = 17
K_DEFECT = 19
K_WORKER_DIES = 23
K_KNOWN_FAILURE = 29
BATCH = 4
DELAY_VARIABLE = "FAKE_SEARCH_DELAY_S"


def fake_plan(trial: int) -> KernelPlan:
    return KernelPlan(
        template=Template.ASWT,
        base_m=16 * (trial % 16 + 1),
        base_n=128,
        base_k=64,
        step_k=4,
        single_core_k=256,
        used_core_num=32,
    )


def fake_cost(duration_us: float) -> CostBreakdown:
    return CostBreakdown(
        task_duration_us=duration_us,
        launch_us=1.4,
        prologue_us=1.0,
        rounds_us=duration_us - 2.9,
        epilogue_us=0.5,
        cube_time_us=duration_us / 2,
        mte2_time_us=duration_us - 3,
        mte1_time_us=duration_us / 3,
        fixpipe_time_us=duration_us / 4,
        hbm_read_bytes=1e6,
        l2_read_bytes=2e6,
        write_bytes=1e5,
        rounds=3,
        bound=Bound.MTE2,
    )


def fake_outcome(
    problem: GemmProblem, times_us: Sequence[float], certificate: Certificate | None = None
) -> ShapeOutcome:
    evaluated = [
        EvaluatedPlan(plan=fake_plan(trial), cost=fake_cost(time_us))
        for trial, time_us in enumerate(times_us)
    ]
    best = min(evaluated, key=lambda item: item.cost.task_duration_us)
    return ShapeOutcome(
        problem=problem,
        baseline=evaluated[0],
        baseline_strategy="BASIC_ASWT",
        baseline_violations=("l1: 600000 > 524288",),
        best=best,
        best_expressible=best,
        top=(best,),
        ties_within_1pct=1,
        evaluations=len(evaluated),
        rejected={"l0c": 12, "l1": 3},
        certificate=certificate,
        roofline_us=min(times_us) / 2,
    )


def fake_search(
    problem: GemmProblem, spec: HardwareSpec, options: SearchOptions, journal: Journal
) -> ShapeOutcome:
    """Trials of pseudo-random times that depend on nothing but problem, seed and trial."""
    _fail_on_purpose(problem)
    records: list[JsonRecord] = list(journal.read())
    while len(records) < options.trials:
        time.sleep(float(os.environ.get(DELAY_VARIABLE, "0")))
        size = min(BATCH, options.trials - len(records))
        batch = [_record(problem, options, len(records) + step) for step in range(size)]
        journal.append(batch)
        records.extend(batch)
    times_us = [record["us"] for record in records]
    return fake_outcome(problem, [time_us for time_us in times_us if isinstance(time_us, float)])


def answer_with_fake(task: SearchTask) -> Answer:
    """`parallel.answer_task` with the fake search, also in a worker process."""
    with mock.patch.object(parallel, "search_shape", fake_search):
        return REAL_ANSWER_TASK(task)


REAL_ANSWER_TASK = parallel.answer_task


def _record(problem: GemmProblem, options: SearchOptions, trial: int) -> JsonRecord:
    scattered = (problem.m + 7 * problem.n + options.seed + trial * 37) % 50
    return {"trial": trial, "us": 100.0 + scattered / 3}


def _fail_on_purpose(problem: GemmProblem) -> None:
    if problem.k == K_REJECTED:
        raise RejectedError("dtype_combination", "ValidateDtype", "not this type")
    if problem.k == K_WITHOUT_PLAN:
        raise NoLegalPlanError("nothing fits")
    if problem.k == K_DEFECT:
        raise ZeroDivisionError("a defect")
    if problem.k == K_KNOWN_FAILURE:
        raise AutotuneError("cannot write it: disk full")
    if problem.k == K_WORKER_DIES:
        os.kill(os.getpid(), signal.SIGKILL)
