"""The maintainer's page: what to change in the host tiling, what it gains, costs and risks."""

from dataclasses import dataclass

from autotune.hypothesis_table import VERDICT_WORDS
from autotune.report.hypotheses.host_steps import STEPS
from autotune.report.hypotheses.priorities import BuildOption, Form, Priority
from autotune.report.hypotheses.verdict_words import (
    count_draws,
    describe_coverage,
    format_interval,
    format_signed,
    list_losses,
)
from autotune.report.hypotheses.view import IMPROVEMENTS, JOINT, RunView
from autotune.report.text import TIMES, format_count, format_percent, format_us
from studies.hypotheses.host_cost import HEURISTIC_US
from studies.hypotheses.rules import Rule
from studies.hypotheses.verdicts import HostCost, RatioSummary, StudyVerdict, Verdict

_LOSSES_NAMED = 3
_WHOLE_TIMES = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintainerEntry:
    """One hypothesis as rows of name and text.

    Attributes:
        title: e.g. `H4: the fixpipe output by the model`.
        verdict: in one word or two.
        facts: names and texts, in order.
    """

    title: str
    verdict: str
    facts: tuple[tuple[str, str], ...]


def build_maintainer_page(
    view: RunView, priorities: tuple[Priority, ...]
) -> tuple[MaintainerEntry, ...]:
    """An entry for every supported or mixed hypothesis, in the order of the priorities.

    JOINT comes last.
    """
    by_study = {priority.study: priority for priority in priorities}
    ordered = [*by_study, JOINT]
    told = {Verdict.SUPPORTED, Verdict.MIXED}
    return tuple(
        _build_entry(view, view.verdicts[study], by_study.get(study))
        for study in ordered
        if study in view.verdicts and view.verdicts[study].summary.verdict in told
    )


def list_left_out(view: RunView) -> str:
    """Which hypotheses have no entry, and why; empty when all have."""
    parts = []
    for kind in (Verdict.REFUTED, Verdict.NOT_TESTED):
        names = [
            study.upper()
            for study in (*IMPROVEMENTS, JOINT)
            if study in view.verdicts and view.verdicts[study].summary.verdict is kind
        ]
        if names:
            parts.append(f"{', '.join(names)}: {VERDICT_WORDS[kind]}")
    return f"Without a rule: {'; '.join(parts)}." if parts else ""


def _build_entry(
    view: RunView, verdict: StudyVerdict, priority: Priority | None
) -> MaintainerEntry:
    study = verdict.study
    step = STEPS[study]
    rule = _select_rule(view, study)
    change = step.without_condition
    if rule is not None and rule.is_confirmed and rule.conditions:
        change = step.change.format(condition=" and ".join(rule.conditions))
    facts = [
        ("Step", step.step),
        ("Today", step.today),
        ("New rule", change),
        *((("As a condition", describe_rule(rule)),) if rule is not None else ()),
        ("By the model", _describe_held_out(view.held_out(study))),
        ("Host cost", _describe_cost(verdict.host_cost)),
        *((("In a pass", _describe_forms(priority.options)),) if priority else ()),
        ("Work", f"{step.work.value[0].upper()}{step.work.value[1:]}."),
        ("Risk", _describe_risk(view, verdict)),
    ]
    return MaintainerEntry(
        title=f"{study.upper()}: {verdict.statement.title}",
        verdict=VERDICT_WORDS[verdict.summary.verdict],
        facts=tuple(facts),
    )


def _select_rule(view: RunView, study: str) -> Rule | None:
    return view.window_rule or view.rules.get(study) if study == "h2" else view.rules.get(study)


def describe_rule(rule: Rule) -> str:
    """The derived condition with its score on unseen shapes."""
    where = " and ".join(rule.conditions) or "the whole domain"
    scored = rule.held_out
    held = "confirmed" if rule.is_confirmed else "not confirmed"
    return (
        f"{where}: chosen on {format_count(rule.choosing.shapes, 'shape')}, where it gains "
        f"{format_signed(rule.choosing.geomean)} on the mean; on {scored.shapes:,} unseen ones "
        f"{format_signed(scored.geomean)} ({_describe_votes(scored)}; it holds for "
        f"{rule.held_out_members:,} of them): {held}."
    )


def _describe_held_out(summary: RatioSummary) -> str:
    """The selector's own choices on the shapes that decide no rule."""
    if not summary.shapes:
        return "No shape of this run is held out, so there is no score on unseen shapes."
    interval = format_interval(summary)
    return (
        f"On {format_count(summary.shapes, 'unseen shape')} the selector's choices gain "
        f"{format_signed(summary.geomean)} on the mean"
        f"{f' ({interval})' if interval else ''}, {_describe_votes(summary)}."
    )


def _describe_votes(summary: RatioSummary) -> str:
    losses = format_count(summary.losses, "loss", "losses")
    worst = f", worst {format_signed(summary.worst)}" if summary.losses else ""
    return f"{format_count(summary.wins, 'win')}, {losses}{worst}"


def _describe_cost(cost: HostCost | None) -> str:
    """What a launch pays, and from which kernel time it is worth it."""
    if cost is None:
        return (
            f"A few more operations in the formula, beside the {HEURISTIC_US:g} µs that the "
            "heuristic takes: none to speak of."
        )
    times = cost.launch_cost_us / HEURISTIC_US
    factor = f"{times:,.0f}" if times >= _WHOLE_TIMES else f"{times:.2g}"
    pays = (
        "it never pays on the mean"
        if cost.pays_from_us is None
        else f"on the mean it pays for kernels from {format_us(cost.pays_from_us)} µs"
    )
    return (
        "A condition costs nothing to speak of. Scoring at every launch: "
        f"{cost.candidates_median:,.12g} candidates (median, at most {cost.candidates_max:,}) "
        f"{TIMES} {cost.ns_per_candidate:,.12g} ns = "
        f"{format_us(cost.launch_cost_us)} µs, {factor} times the {HEURISTIC_US:g} µs that the "
        f"heuristic takes today; {pays}, and for {cost.paying_shapes:,} of the domain's "
        "shapes the gain exceeds it. Scored once per shape and kept, it is paid once."
    )


def _describe_forms(options: tuple[BuildOption, ...]) -> str:
    """What each form saves of a pass."""
    if not options:
        return "No form of it saves anything."
    return (
        "Part of a pass saved, mean of all passes: "
        + "; ".join(
            f"{name_form(option)} {format_share(option.saved_ratio)}" for option in options
        )
        + "."
    )


def name_form(option: BuildOption) -> str:
    """The form with its condition, e.g. `condition (K <= 512)`."""
    if not option.conditions:
        return "condition (whole domain)" if option.form is Form.CONDITION else option.form.value
    return f"{option.form.value} ({' and '.join(option.conditions)})"


def format_share(ratio: float) -> str:
    """A saved part of a pass with its sign."""
    text = format_percent(ratio)
    return f"+{text}" if ratio > 0 and text != format_percent(0.0) else text


def _describe_risk(view: RunView, verdict: StudyVerdict) -> str:
    """Robustness, losses, coverage and what is special about the change."""
    study, summary = verdict.study, verdict.summary
    parts = []
    draws = count_draws(verdict)
    if draws:
        robust = "Robust" if verdict.robustness.is_robust else "Not robust"
        parts.append(f"{robust} ({draws}).")
    losses = list_losses(view, study)
    if losses:
        named = ", ".join(losses[:_LOSSES_NAMED])
        more = f" and {len(losses) - _LOSSES_NAMED} more" if len(losses) > _LOSSES_NAMED else ""
        parts.append(f"The selector's choices lose on {named}{more}.")
    else:
        parts.append("No shape of the domain loses under the selector's choices.")
    coverage = describe_coverage(view, study)
    parts.append(f"{coverage[0].upper()}{coverage[1:]}.")
    parts.append(
        f"{verdict.resolved:,} of {summary.shapes:,} differences exceed the judge's error."
    )
    parts.append(STEPS[study].danger)
    return " ".join(parts)
