"""How `autotune tune` words its answer: as text for people, as a document for programs."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from autotune.cli.breakdown_text import describe_costs
from autotune.cli.paragraph import wrap_entry, wrap_json, wrap_paragraph
from autotune.explanation import Comparison, describe_chip, describe_plan, explain
from autotune.explanation_reasons import BOUND_NAMES, ExplainedKernel
from autotune.gap_wording import describe_coverage, describe_resolved
from autotune.plain_data import to_plain
from autotune.report.text import (
    TIMES,
    describe_field,
    describe_problem,
    format_count,
    format_gap,
    format_percent,
    format_us,
    group_digits,
)
from autotune.tuning import Tuning
from hwmodel.spec_io import DAV_3510
from studies.cascade import CASCADE, SELECTOR
from studies.outcome import Certificate, EvaluatedPlan
from studies.search import COVERING_NAMES, Effort, SearchOptions

_SMALLER: Final = " (a smaller space: the gap is a lower bound)"


def build_document(tuning: Tuning) -> dict[str, object]:
    """The answer as one JSON document.

    `kernel` is the best plan that the operator's tiling data can carry, in its names;
    `inexpressible_field` is the first field of the best plan that they cannot carry, or null.
    """
    outcome, compared, options = tuning.outcome, tuning.compared, tuning.options
    certificate = outcome.certificate
    return {
        "problem": asdict(tuning.problem),
        "hardware": tuning.spec.name,
        "as_950": tuning.spec.npu_arch != DAV_3510,
        "search": asdict(options),
        "baseline": {
            "strategy": outcome.baseline_strategy,
            "violations": list(outcome.baseline_violations),
            **_describe_evaluated(outcome.baseline),
        },
        "best": _describe_evaluated(outcome.best),
        "best_expressible": _describe_evaluated(outcome.best_expressible),
        "inexpressible_field": compared.best_inexpressible_field or None,
        "gap_ratio": outcome.gap_ratio,
        "expressible_gap_ratio": outcome.expressible_gap_ratio,
        "resolved": compared.resolved,
        "exceeds_p90": compared.exceeds_p90,
        "error_class": compared.error_class,
        "best_error_class": compared.best_error_class,
        "coverage": compared.coverage.value,
        "roofline_us": outcome.roofline_us,
        "ties_within_1pct": outcome.ties_within_1pct,
        "evaluations": outcome.evaluations,
        "rejected": dict(outcome.rejected),
        "certificate": None if certificate is None else asdict(certificate),
        "regret_ratio": outcome.regret_ratio,
        "selection": None if outcome.selection is None else asdict(outcome.selection),
        "explanation": explain(_compare(tuning)),
        "kernel": tuning.vendor_kernel(),
    }


def _describe_evaluated(evaluated: EvaluatedPlan) -> dict[str, object]:
    """A plan and its cost as plain data."""
    return {"plan": asdict(evaluated.plan), "cost": describe_costs([evaluated.cost])[0]}


def _compare(tuning: Tuning) -> Comparison:
    """The best plan against the operator's."""
    outcome = tuning.outcome
    first, second = (
        ExplainedKernel(name=name, plan=side.plan, cost=side.cost)
        for name, side in (
            ("the operator's plan", outcome.baseline),
            ("the best plan", outcome.best),
        )
    )
    return Comparison(problem=tuning.problem, spec=tuning.spec, first=first, second=second)


def format_tuning(tuning: Tuning) -> str:
    """The answer as text; the last lines are the plan to paste."""
    return "\n".join((*_format_head(tuning), "", *_format_plans(tuning)))


def _format_head(tuning: Tuning) -> Iterator[str]:
    """What was found, and what it is worth."""
    outcome, compared = tuning.outcome, tuning.compared
    yield _describe_question(tuning)
    yield ""
    for label, side in (("operator's plan", outcome.baseline), ("best plan", outcome.best)):
        yield wrap_entry(
            label,
            f"{format_us(side.cost.task_duration_us)} us: {describe_plan(side.plan)}; "
            f"{BOUND_NAMES[side.cost.bound]} decides",
        )
    for violation in outcome.baseline_violations:
        yield wrap_entry("", f"the operator's plan breaks a rule: {violation}")
    gap = format_gap(outcome.gap_ratio)
    yield wrap_entry("gap", f"{gap}, {describe_resolved(compared)}")
    yield wrap_entry("coverage", describe_coverage(compared.coverage))
    reached = outcome.roofline_us / outcome.best.cost.task_duration_us
    yield wrap_entry(
        "roofline",
        f"{format_us(outcome.roofline_us)} us, the least time of any plan; the best plan reaches "
        f"it to {format_percent(reached)}",
    )
    yield wrap_entry("certificate", _describe_certificate(tuning))
    if compared.judgement:
        yield wrap_entry("judged", compared.judgement)
    regret = outcome.regret_ratio
    yield wrap_entry("regret", _describe_regret(regret, outcome.certificate))
    plans = format_count(outcome.ties_within_1pct, "plan")
    among = " of the judged" if compared.judgement else ""
    yield wrap_entry("ties", f"{plans}{among} within 1 % of the best, itself included")
    yield wrap_entry("why", explain(_compare(tuning)))


def _describe_question(tuning: Tuning) -> str:
    """Shape, chip and way to search, in one line."""
    options = tuning.options
    details = describe_problem(tuning.problem).replace(TIMES, "x")
    sampling = (
        ""
        if options.strategy in COVERING_NAMES
        else f", {format_count(options.trials, 'trial')}, seed {options.seed}"
    )
    smaller = _SMALLER if options.effort is Effort.QUICK else ""
    return (
        f"{tuning.problem.label()}{f' ({details})' if details else ''} on "
        f"{describe_chip(tuning.spec)}, {_describe_models(options)}: {options.strategy}"
        f"{sampling}, effort {options.effort}{smaller}"
    )


def _describe_models(options: SearchOptions) -> str:
    """Who decides."""
    if options.strategy == CASCADE:
        return f"chosen by the {SELECTOR} model, judged by the {options.evaluator}"
    return f"by the {options.evaluator} model"


def _describe_regret(regret_ratio: float | None, certificate: Certificate | None) -> str:
    """How far the best plan is from the certified optimum."""
    if regret_ratio is None or certificate is None:
        return "not known: no certificate"
    return (
        f"{format_percent(regret_ratio)} above the certified optimum, "
        f"{format_us(certificate.best_us)} us by the {certificate.evaluator} model"
    )


def _describe_certificate(tuning: Tuning) -> str:
    """What is proven of the best plan."""
    if tuning.compared.certificate:
        return group_digits(tuning.compared.certificate)
    plans = format_count(tuning.outcome.evaluations, "plan")
    return (
        f"none: {tuning.options.strategy} evaluated {plans}, so that a better one may be left; "
        "the exhaustive strategy gives one"
    )


def _format_plans(tuning: Tuning) -> Iterator[str]:
    """The best plan to paste, or what keeps it from being expressed and the next best."""
    outcome = tuning.outcome
    field = tuning.compared.best_inexpressible_field
    if field:
        changed = tuning.changed_fields(outcome.best.plan)
        value = json.dumps(to_plain(getattr(outcome.best.plan, field)))
        meaning = describe_field(field)
        words = f" ({meaning})" if meaning != field else ""
        yield wrap_paragraph(
            f"The operator's tiling data cannot carry {field} = {value}{words} of the best plan. "
            "Its fields that differ from the operator's plan, as --plan takes them:"
        )
        yield wrap_json(changed)
        yield ""
    us = format_us(outcome.best_expressible.cost.task_duration_us)
    gap = format_gap(outcome.expressible_gap_ratio)
    which = (
        f"The best plan that they can carry, {us} us (gap {gap})," if field else "The best plan"
    )
    if outcome.best_expressible.plan == outcome.baseline.plan:
        which = f"{which} is the operator's own;"
    yield wrap_paragraph(f"{which} in the operator's names, ready to paste:")
    yield wrap_json(tuning.vendor_kernel())
