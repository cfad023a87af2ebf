"""OPT: the judge's best of everything that was tried; the best known, no hypothesis.

The judge sees the selector's best plans of the whole space (the cascade), the baseline and every
treatment. What JOINT leaves on the table is the gap to it, and the fields in which the two differ.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from hwmodel.plan import KernelPlan
from hwmodel.plan_batch import PlanBatch
from studies.branch_and_bound import cover_space
from studies.hypotheses.answers import BestKnown, Comparison, JudgedPlan
from studies.hypotheses.models import CaseModels, Choice, list_changed_fields
from studies.protocol import Statement
from studies.ranking import BestPlans, rank_time
from studies.space import build_space
from studies.space_axes import ALL, TILES

OPT = "opt"
"""Id of the best known."""
BASELINE = "baseline"
CASCADE = "cascade"
OTHER = "other"
"""Where the best plan came from, besides the treatments: `other` is a plan that a study judged
beside its treatment, e.g. a window of a sweep."""

STATEMENT = Statement(
    id=OPT,
    title="the best known",
    claim="No hypothesis: what the whole space holds, as far as the judge has seen it.",
    domain="All shapes.",
    control="The operator's plan.",
    treatment=(
        "The judge's best of the pipeline model's best plans of the whole space, the operator's"
        " plan and every treatment."
    ),
    falsifier="None; a larger search may find a better plan.",
)
"""What the row means."""


def list_cascade(models: CaseModels) -> tuple[KernelPlan, ...]:
    """The selector's best plans of a space, best first, at most the depth's `cascade`."""
    case, depth = models.case, models.depth
    space = build_space(
        case.problem,
        case.spec,
        case.baseline,
        quick=depth.restricts_space,
        name=ALL if depth.covers_templates else TILES,
    )
    objective = models.selector_objective()
    baseline = objective.evaluate(case.baseline)
    covered = cover_space(space, objective, baseline, count=depth.cascade, expressible_count=1)
    return covered.best.plans()


def find_best_known(
    models: CaseModels, cascade: Iterable[KernelPlan], comparisons: Sequence[Comparison]
) -> tuple[Comparison, str]:
    """The baseline against the judge's best of all plans that it has seen, and who found that.

    Equal times to six digits fall to the baseline, then to what differs least from it.

    Args:
        models: both models; the judge has seen the treatments.
        cascade: candidates of the whole space.
        comparisons: the studies, whose treatments may be the best.
    """
    listed = set(cascade)
    for plan in sorted(listed, key=str):
        models.judge_us(plan)
    judged = models.nominally_judged
    plans = list(judged)
    best = BestPlans(1, models.case.baseline)
    best.add(PlanBatch.from_plans(plans), np.array([judged[plan] for plan in plans]))
    winner = best.plans()[0]
    choice = Choice(plan=winner, top=(winner,), candidates=len(plans))
    comparison = models.compare(OPT, choice, is_drawn=False)
    if winner == models.case.baseline:
        return comparison, BASELINE
    for item in comparisons:
        if item.treatment.plan == winner:
            return comparison, item.study
    return comparison, CASCADE if winner in listed else OTHER


def describe_best_known(best: Comparison, found_by: str, joint: JudgedPlan | None) -> BestKnown:
    """The best known, and what JOINT leaves of it; JOINT is the baseline where it was not run."""
    treatment = best.treatment
    nearest = joint or best.control
    gap_ratio = nearest.judge_us / treatment.judge_us - 1.0
    is_equal = rank_time(nearest.judge_us) == rank_time(treatment.judge_us)
    return BestKnown(
        best=treatment,
        found_by=found_by,
        judged=best.candidates,
        joint_gap_ratio=0.0 if is_equal else gap_ratio,
        joint_gap_fields=() if is_equal else list_changed_fields(nearest.plan, treatment.plan),
    )
