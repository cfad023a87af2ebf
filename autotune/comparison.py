"""From the answer to a problem to the rows of the shapes file that asked it."""

from collections.abc import Mapping, Sequence

from autotune.parallel import Answer, AnswerKind
from autotune.results import ComparedPlans, PlanResult, ResultRow, RowStatus
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.expressible import find_new_field
from studies.gap import judge_gap, select_coverage
from studies.outcome import Certificate, EvaluatedPlan, Selection, ShapeOutcome
from studies.shape_rows import ShapeRow

_STATUS_OF_KIND = {
    AnswerKind.FOUND: RowStatus.OK,
    AnswerKind.REJECTED: RowStatus.REJECTED,
    AnswerKind.NO_LEGAL_PLAN: RowStatus.NO_LEGAL_PLAN,
}


def make_result_rows(
    rows: Sequence[ShapeRow],
    answers: Mapping[GemmProblem, Answer],
    spec: HardwareSpec,
    evaluator: str,
) -> tuple[ResultRow, ...]:
    """One row per line of the shapes file, in its order; equal problems share an answer.

    Args:
        rows: the shapes file.
        answers: by problem; none of them `failed`.
        spec: the chip.
        evaluator: name of the model that chose, whose error decides what is resolved.
    """
    compared = {
        problem: compare_plans(answer.outcome, spec, evaluator)
        for problem, answer in answers.items()
        if answer.outcome is not None
    }
    return tuple(
        ResultRow(
            index=row.index,
            name=row.name,
            problem=row.problem,
            weight=row.weight,
            tag=row.tag,
            model=row.model,
            layer=row.layer,
            phase=row.phase,
            tp=row.tp,
            tokens=row.tokens,
            measured_us=row.measured_us,
            status=_STATUS_OF_KIND[answers[row.problem].kind],
            message=answers[row.problem].message,
            compared=compared.get(row.problem),
        )
        for row in rows
    )


def compare_plans(outcome: ShapeOutcome, spec: HardwareSpec, evaluator: str) -> ComparedPlans:
    """Baseline against best of one search."""
    baseline, certificate = outcome.baseline, outcome.certificate
    verdict = judge_gap(outcome, spec, evaluator)
    return ComparedPlans(
        strategy=outcome.baseline_strategy,
        baseline=_plan_result(baseline, outcome.roofline_us),
        best=_plan_result(outcome.best, outcome.roofline_us),
        best_expressible=_plan_result(outcome.best_expressible, outcome.roofline_us),
        best_inexpressible_field=find_new_field(outcome.problem, outcome.best.plan, baseline.plan),
        gap_ratio=outcome.gap_ratio,
        expressible_gap_ratio=outcome.expressible_gap_ratio,
        resolved=verdict.resolved,
        exceeds_p90=verdict.exceeds_p90,
        error_class=verdict.baseline_class.value,
        best_error_class=verdict.best_class.value,
        coverage=select_coverage(outcome),
        roofline_us=outcome.roofline_us,
        ties_within_1pct=outcome.ties_within_1pct,
        evaluations=outcome.evaluations,
        regret_ratio=outcome.regret_ratio,
        violations=outcome.baseline_violations,
        rejected=outcome.rejected,
        certificate="" if certificate is None else describe_certificate(certificate),
        judgement="" if outcome.selection is None else describe_selection(outcome.selection),
    )


def describe_certificate(certificate: Certificate) -> str:
    """The certificate in one sentence."""
    restriction = f" ({certificate.restriction})" if certificate.restriction else ""
    return (
        f"every legal point of the space {certificate.space}{restriction} was covered by the "
        f"{certificate.evaluator} model: {certificate.evaluated} evaluated, "
        f"{certificate.pruned} skipped by a proven bound{_describe_bounds(certificate)}, of "
        f"{certificate.cartesian} before the legality rules"
    )


def _describe_bounds(certificate: Certificate) -> str:
    """Which bounds skipped how many points."""
    if not certificate.pruned_by:
        return ""
    parts = (f"{name} {count}" for name, count in certificate.pruned_by.items())
    return f" ({', '.join(parts)})"


def describe_selection(selection: Selection) -> str:
    """Who chose, who judged, and how far the two agree, in one or two sentences."""
    selector, judge = selection.selector, selection.judge
    found = "both have the same best"
    if selection.judge_place_of_first > 1:
        found = (
            f"the {judge}'s best is number {selection.selector_places[0]} by the {selector} "
            f"model, whose best is number {selection.judge_place_of_first} by the {judge}"
        )
    agreement = ""
    if selection.kendall is not None and selection.spearman is not None:
        agreement = (
            f"; their orders correlate with Kendall {selection.kendall:.2f}, Spearman "
            f"{selection.spearman:.2f}"
        )
    unjudged = ""
    if selection.unjudged:
        unjudged = f"; {selection.unjudged} more could not be judged"
    return (
        f"the {selector} model chose, the {judge} judged {len(selection.selector_us)} plans, the "
        f"operator's among them: {found}{agreement}{unjudged}"
    )


def _plan_result(evaluated: EvaluatedPlan, roofline_us: float) -> PlanResult:
    return PlanResult(
        plan=evaluated.plan,
        predicted_us=evaluated.cost.task_duration_us,
        bound=evaluated.cost.bound,
        roofline_ratio=roofline_us / evaluated.cost.task_duration_us,
    )
