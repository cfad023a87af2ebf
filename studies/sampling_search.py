"""Search by a sampling strategy: batches of points, every evaluation journalled.

Resuming is replaying: the strategy starts from its seed again and finished evaluations are served
from the journal by their keys, so the interrupted search and the uninterrupted one end alike.
"""

import hashlib
import json

import numpy as np

from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from studies.evaluation_log import EvaluationLog
from studies.journal import Journal
from studies.objective import build_objective
from studies.outcome import ShapeOutcome
from studies.outcome_json import problem_to_json
from studies.ranking import order_plans, rank_times, tie_limit
from studies.setting import TOP_COUNT, SearchSetting
from studies.space import PlanSpace, build_space
from studies.strategies import PRIOR, build_strategy
from studies.strategies.plan_points import PlanPoints
from studies.strategies.points import FloatArray

BATCH = 10
"""Points asked at once; fixed, so that the course of a search depends on its seed alone."""
PRIOR_BATCH = 1
"""The same for `prior`, which makes the most of every single evaluation."""
RANKING_EVALUATOR = "pipeline"
"""Model whose ranking `prior` starts from when another one is searched."""
RANKING_CHUNK = 1 << 16
"""Points ranked at once."""
SEED_BYTES = 4
"""A strategy's seed is a 32-bit number."""


def search_by_sampling(
    setting: SearchSetting, strategy: str, trials: int, seed: int, journal: Journal
) -> ShapeOutcome:
    """The best of `trials` evaluations, the baseline first; fewer when the space is exhausted."""
    space = build_space(
        setting.problem,
        setting.spec,
        setting.baseline.plan,
        quick=setting.quick,
        name=setting.space,
    )
    log = EvaluationLog(setting.objective, journal, setting.baseline)
    log.evaluate([setting.baseline.plan])
    if len(space):
        ranking = rank_points(setting, space) if strategy == PRIOR else None
        _sample(space, strategy, derive_seed(seed, setting.problem), trials, log, ranking)
    evaluated = log.evaluated
    times_us = np.array([item.cost.task_duration_us for item in evaluated])
    ranks = rank_times(times_us)
    plans = PlanBatch.from_plans([item.plan for item in evaluated])
    order = order_plans(plans, ranks, setting.baseline.plan)
    return setting.outcome(
        top=[evaluated[row] for row in order[:TOP_COUNT]],
        best_expressible=next(
            evaluated[row] for row in order if not setting.new_field(evaluated[row].plan)
        ),
        ties_within_1pct=int((ranks <= tie_limit(int(ranks[order[0]]))).sum()),
        evaluations=len(evaluated),
        rejected=space.rejected,
        history_us=tuple(float(best_us) for best_us in np.minimum.accumulate(times_us)),
    )


def rank_points(setting: SearchSetting, space: PlanSpace) -> FloatArray | None:
    """The pipeline model's time of every point, microseconds; None when it is what is searched."""
    if setting.objective.evaluator_name == RANKING_EVALUATOR:
        return None
    model = build_objective(setting.problem, setting.spec, RANKING_EVALUATOR)
    starts = range(0, len(space), RANKING_CHUNK)
    return np.concatenate(
        [
            model.estimate_us(
                space.plans(np.arange(start, min(start + RANKING_CHUNK, len(space))))
            )
            for start in starts
        ]
    )


def _sample(
    space: PlanSpace,
    strategy_name: str,
    seed: int,
    trials: int,
    log: EvaluationLog,
    ranking: FloatArray | None,
) -> None:
    """Evaluate the strategy's points until there are `trials` evaluations or no points left."""
    strategy = build_strategy(strategy_name, PlanPoints(space), seed, ranking)
    size = PRIOR_BATCH if strategy_name == PRIOR else BATCH
    baseline = log.evaluated[0]
    baseline_index = space.index_of(baseline.plan)
    if baseline_index is not None:
        strategy.observe(baseline_index, baseline.cost.task_duration_us)
    while (open_trials := trials - len(log.evaluated)) > 0:
        batch = strategy.ask(min(size, open_trials))
        if len(batch) == 0:
            return
        plans = space.plans(batch)
        strategy.tell(log.evaluate([plans.plan(row) for row in range(len(plans))]))


def derive_seed(seed: int, problem: GemmProblem) -> int:
    """The seed of one shape's strategy: it depends on the run's seed and the problem alone."""
    text = json.dumps([seed, problem_to_json(problem)], sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:SEED_BYTES], "big")
