"""Exhaustive search: every legal point of the space evaluated, the optimum certified."""

from studies.expressible import mark_expressible
from studies.journal import CERTIFICATE_KIND, Journal, read_by_key
from studies.outcome import Certificate, EvaluatedPlan, ShapeOutcome
from studies.outcome_json import outcome_from_json, outcome_to_json, plan_to_json
from studies.ranking import BestPlans, rank_time
from studies.setting import TOP_COUNT, SearchSetting
from studies.space import SPACE_VERSION, PlanSpace, build_space
from studies.strategies.exhaustive import ExhaustiveStrategy

CHUNK = 1 << 16
"""Points evaluated at once: enough to hide the cost of a call, little enough for the caches."""


def search_exhaustively(setting: SearchSetting, journal: Journal) -> ShapeOutcome:
    """The certified best of the space and the baseline; served from the journal if it is there.

    The journal holds one record: the outcome, under a key over problem, chip, model, space and
    baseline.
    """
    key = _certificate_key(setting)
    record = read_by_key(journal, CERTIFICATE_KIND).get(key)
    if record is not None:
        try:
            return outcome_from_json(record.get("outcome"))
        except ValueError:
            pass  # A damaged record is as good as none: the search is repeated.
    outcome = _search(setting)
    journal.append([{"kind": CERTIFICATE_KIND, "key": key, "outcome": outcome_to_json(outcome)}])
    return outcome


def _certificate_key(setting: SearchSetting) -> str:
    return setting.objective.key_of(
        {
            "space": setting.space,
            "space_version": SPACE_VERSION,
            "quick": setting.quick,
            "baseline": plan_to_json(setting.baseline.plan),
        }
    )


def _search(setting: SearchSetting) -> ShapeOutcome:
    baseline = setting.baseline
    space = build_space(
        setting.problem, setting.spec, baseline.plan, quick=setting.quick, name=setting.space
    )
    best, expressible = BestPlans(TOP_COUNT, baseline.plan), BestPlans(1, baseline.plan)
    for kept in (best, expressible):
        kept.add_one(baseline.plan, baseline.cost.task_duration_us)
    strategy = ExhaustiveStrategy(len(space))
    baseline_index = space.index_of(baseline.plan)
    if baseline_index is not None:
        strategy.observe(baseline_index, baseline.cost.task_duration_us)
    while len(batch := strategy.ask(CHUNK)):
        plans = space.plans(batch)
        times_us = setting.objective.estimate_us(plans)
        best.add(plans, times_us)
        rows = mark_expressible(setting.problem, plans)
        expressible.add(plans.select(rows), times_us[rows])
        strategy.tell(times_us)
    top = _evaluate_top(setting, best)
    return setting.outcome(
        top=top,
        best_expressible=_evaluate_top(setting, expressible)[0],
        ties_within_1pct=best.ties,
        evaluations=len(space) + (baseline_index is None),
        rejected=space.rejected,
        certificate=_certify(setting, space, top[0]),
    )


def _evaluate_top(setting: SearchSetting, best: BestPlans) -> list[EvaluatedPlan]:
    """The best plans with their breakdowns; the order is that of the scalar model's times."""
    baseline = setting.baseline
    top = [
        baseline if plan == baseline.plan else setting.objective.evaluate(plan)
        for plan in best.plans()
    ]
    return sorted(top, key=lambda item: rank_time(item.cost.task_duration_us))


def _certify(setting: SearchSetting, space: PlanSpace, best: EvaluatedPlan) -> Certificate:
    """The certificate; `best_us` is the winner's time, the least of all to six digits."""
    return Certificate(
        space=space.name,
        restriction=space.restriction,
        evaluator=setting.objective.evaluator_name,
        cartesian=space.cartesian,
        evaluated=len(space),
        pruned=0,
        best_us=best.cost.task_duration_us,
    )
