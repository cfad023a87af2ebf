"""Cascade: one model chooses among all plans, another one judges the few that it chose.

The pipeline model covers the space and chooses K plans; the emulator, thousands of times slower,
judges these, the best plan that the operator's tiling data can express, and the operator's own.
The answer is the judge's best of them: never worse than the operator's plan by the judge.
(Specification: studies.md, "Search".)

Half of the K plans are the selector's certified best K/2. They are mostly one tile with other
steps and windows, among which the selector cannot tell. So the other half come from the K/2 next
best groups that are not among them: template, base_m, base_n and output of L0C set groups apart,
each is represented by its best plan, and they are taken in the order of these plans. Both halves
are exact, those that evaluating every point would give (`studies.branch_and_bound`); a space with
fewer groups gives fewer plans.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hwmodel.errors import InputError
from hwmodel.plan import KernelPlan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.branch_and_bound import cover_space
from studies.evaluation_log import EvaluationLog
from studies.exhaustive_search import search_exhaustively
from studies.journal import Journal
from studies.objective import Objective
from studies.outcome import EvaluatedPlan, Selection, ShapeOutcome
from studies.ranking import order_plans, rank_times, tie_limit
from studies.setting import SearchSetting, build_setting
from studies.space import build_space
from studies.space_axes import ALL

CASCADE = "cascade"
"""Name of the strategy, as `--strategy` takes it."""
SELECTOR = "pipeline"
"""The model that chooses (specification: studies.md, "Evaluators")."""
JUDGE = "emulator"
"""The model that judges (specification: studies.md, "Evaluators")."""
CORRELATION_DIGITS = 6
"""Digits to which correlations are kept, so that the last bits never matter."""


def cascade_candidates(
    problem: GemmProblem,
    spec: HardwareSpec,
    objective: Objective,
    count: int,
    *,
    quick: bool = False,
    space: str = ALL,
) -> tuple[KernelPlan, ...]:
    """The `count` plans of a space and the operator's that a judge is to see, best first.

    The module says which they are.

    Raises:
        RejectedError: the operator rejects the problem.
    """
    setting = build_setting(problem, spec, objective, quick=quick, space=space)
    plans = build_space(problem, spec, setting.baseline.plan, quick=quick, name=space)
    best_count, group_count = split_count(count)
    covered = cover_space(
        plans,
        objective,
        setting.baseline,
        count=best_count,
        expressible_count=1,
        group_count=group_count,
    )
    return (*covered.best.plans(), *covered.further)


def split_count(count: int) -> tuple[int, int]:
    """How many of `count` plans are the best of all, and how many the best of further groups."""
    return count - count // 2, count // 2


def search_by_cascade(
    setting: SearchSetting, judge: Objective, count: int, journal: Journal
) -> ShapeOutcome:
    """The judge's best of `count` plans that the selector chooses and the operator's.

    The journal holds the selector's certificate and one evaluation by the judge for each plan.

    Args:
        setting: of the selector.
        judge: predicts the times of the outcome.
        count: plans that the selector chooses.
        journal: where a search that was interrupted goes on.

    Raises:
        InputError: the judge cannot run the operator's own plan.
    """
    best_count, group_count = split_count(count)
    selected = search_exhaustively(setting, journal, count=best_count, group_count=group_count)
    sides = {
        item.plan: item.cost.task_duration_us
        for item in (*selected.top, selected.best_expressible, selected.baseline)
    }
    baseline_plan = selected.baseline.plan
    log = EvaluationLog(judge, journal)
    log.evaluate([baseline_plan])
    unjudged = [plan for plan in sides if plan != baseline_plan and not _can_judge(log, plan)]
    judged = log.evaluated
    order = _order(judged, [item.cost.task_duration_us for item in judged], baseline_plan)
    top = [judged[row] for row in order]
    judged_setting = replace(setting, objective=judge, baseline=judged[0])
    ranks = rank_times(np.array([item.cost.task_duration_us for item in top]))
    return judged_setting.outcome(
        top=top,
        best_expressible=next(item for item in top if not setting.new_field(item.plan)),
        ties_within_1pct=int((ranks <= tie_limit(int(ranks[0]))).sum()),
        evaluations=selected.evaluations,
        rejected=selected.rejected,
        certificate=selected.certificate,
        selection=_compare_orders(
            setting, judge, top, [sides[item.plan] for item in top], len(unjudged)
        ),
    )


def _can_judge(log: EvaluationLog, plan: KernelPlan) -> bool:
    """Evaluate the plan; False where the judge cannot run it."""
    try:
        log.evaluate([plan])
    except InputError:
        return False
    return True


def _order(
    items: Sequence[EvaluatedPlan], times_us: Sequence[float], baseline: KernelPlan
) -> list[int]:
    """Row numbers from best to worst by the given times."""
    plans = PlanBatch.from_plans([item.plan for item in items])
    rows: list[int] = order_plans(plans, rank_times(np.array(times_us)), baseline).tolist()
    return rows


def _compare_orders(
    setting: SearchSetting,
    judge: Objective,
    top: Sequence[EvaluatedPlan],
    selector_us: Sequence[float],
    unjudged: int,
) -> Selection:
    """What the selector says of the plans that the judge put in this order."""
    by_selector = _order(top, selector_us, setting.baseline.plan)
    places = {row: place for place, row in enumerate(by_selector, start=1)}
    judge_ranks = rank_times(np.array([item.cost.task_duration_us for item in top]))
    selector_ranks = rank_times(np.array(selector_us))
    return Selection(
        selector=setting.objective.evaluator_name,
        judge=judge.evaluator_name,
        unjudged=unjudged,
        selector_us=tuple(selector_us),
        selector_places=tuple(places[row] for row in range(len(top))),
        baseline_us=setting.baseline.cost.task_duration_us,
        kendall=_correlate("kendalltau", selector_ranks, judge_ranks),
        spearman=_correlate("spearmanr", selector_ranks, judge_ranks),
    )


def _correlate(name: str, selector_ranks: np.ndarray, judge_ranks: np.ndarray) -> float | None:
    """A rank correlation; None where one of the two holds all plans for equal."""
    if min(len(set(selector_ranks.tolist())), len(set(judge_ranks.tolist()))) < 2:
        return None
    # SciPy's statistics take long to import.
    from scipy import stats

    correlation = getattr(stats, name)(selector_ranks, judge_ranks).statistic
    return round(float(correlation), CORRELATION_DIGITS)
