"""Exhaustive search: every legal point of the space covered, the optimum certified."""

from collections.abc import Iterable

from hwmodel.plan import KernelPlan
from studies.branch_and_bound import Coverage, cover_space
from studies.journal import CERTIFICATE_KIND, Journal, read_by_key
from studies.outcome import Certificate, EvaluatedPlan, ShapeOutcome
from studies.outcome_json import outcome_from_json, outcome_to_json, plan_to_json
from studies.ranking import rank_time
from studies.setting import TOP_COUNT, SearchSetting
from studies.space import SPACE_VERSION, PlanSpace, build_space

CERTIFICATE_VERSION = "3"
"""Changes whenever what an outcome or its certificate says may; part of a certificate's key."""


def search_exhaustively(
    setting: SearchSetting, journal: Journal, *, count: int = TOP_COUNT, group_count: int = 0
) -> ShapeOutcome:
    """The certified best of the space and the baseline; served from the journal if it is there.

    The journal holds one record: the outcome, under a key over problem, chip, model, space,
    baseline, `count` and `group_count`.

    Args:
        setting: of the search.
        journal: where a finished search is kept.
        count: best plans to find.
        group_count: further groups (`studies.best_groups`) whose best plans follow these in `top`.
    """
    key = _certificate_key(setting, count, group_count)
    record = read_by_key(journal, CERTIFICATE_KIND).get(key)
    if record is not None:
        try:
            return outcome_from_json(record.get("outcome"))
        except ValueError:
            pass  # A damaged record is as good as none: the search is repeated.
    outcome = _search(setting, count, group_count)
    journal.append([{"kind": CERTIFICATE_KIND, "key": key, "outcome": outcome_to_json(outcome)}])
    return outcome


def _certificate_key(setting: SearchSetting, count: int, group_count: int) -> str:
    return setting.objective.key_of(
        {
            "certificate_version": CERTIFICATE_VERSION,
            "space": setting.space,
            "space_version": SPACE_VERSION,
            "quick": setting.quick,
            "count": count,
            "group_count": group_count,
            "baseline": plan_to_json(setting.baseline.plan),
        }
    )


def _search(setting: SearchSetting, count: int, group_count: int) -> ShapeOutcome:
    baseline = setting.baseline
    space = build_space(
        setting.problem, setting.spec, baseline.plan, quick=setting.quick, name=setting.space
    )
    covered = cover_space(
        space,
        setting.objective,
        baseline,
        count=count,
        expressible_count=1,
        group_count=group_count,
    )
    top = evaluate_top(setting, (*covered.best.plans(), *covered.further))
    return setting.outcome(
        top=top,
        best_expressible=evaluate_top(setting, covered.expressible.plans())[0],
        ties_within_1pct=covered.best.ties,
        evaluations=covered.evaluated + (space.index_of(baseline.plan) is None),
        rejected=space.rejected,
        certificate=_certify(setting, space, covered, top[0]),
    )


def evaluate_top(setting: SearchSetting, plans: Iterable[KernelPlan]) -> list[EvaluatedPlan]:
    """The plans with their breakdowns; the order is that of the scalar model's times."""
    baseline = setting.baseline
    top = [
        baseline if plan == baseline.plan else setting.objective.evaluate(plan) for plan in plans
    ]
    return sorted(top, key=lambda item: rank_time(item.cost.task_duration_us))


def _certify(
    setting: SearchSetting, space: PlanSpace, covered: Coverage, best: EvaluatedPlan
) -> Certificate:
    """The certificate; `best_us` is the winner's time, the least of all to six digits."""
    return Certificate(
        space=space.name,
        restriction=space.restriction,
        evaluator=setting.objective.evaluator_name,
        cartesian=space.cartesian,
        evaluated=covered.evaluated,
        pruned=sum(covered.pruned_by.values()),
        pruned_by=covered.pruned_by,
        best_us=best.cost.task_duration_us,
    )
