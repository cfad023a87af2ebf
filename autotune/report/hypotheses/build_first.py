"""What to build first, in sentences made by rules from the priorities."""

from collections.abc import Sequence

from autotune.hypothesis_table import VERDICT_WORDS
from autotune.report.hypotheses.host_steps import STEPS, Work
from autotune.report.hypotheses.maintainer import format_share, name_form
from autotune.report.hypotheses.priorities import (
    NEW_KERNEL_WEIGHT,
    WORTH_BUILDING,
    BuildOption,
    Form,
    Grade,
    Priority,
)
from autotune.report.hypotheses.verdict_words import count_draws, format_signed
from autotune.report.hypotheses.view import OPT, RunView
from autotune.report.text import format_count, format_percent, format_us
from studies.hypotheses.verdicts import Verdict

HOW_RANKED = (
    "How this order is made: a hypothesis stands for its best form (a constant, a condition that "
    "the host checks, the model run at every launch, or once per shape), host cost taken off; "
    "savings are over all shapes, also those that chose a condition. "
    "Build: supported or mixed, robust, confirmed on shapes that did not choose the rule, and at "
    f"least {format_percent(WORTH_BUILDING)} of a pass saved. Build if its shapes matter: the "
    "same, but the models of the list hardly have such shapes. Measure first: a gain, but the "
    "verdict depends on hardware figures that are not known, or too few shapes tested it. Leave: "
    "refuted, or no gain left. Within a grade, forms without large losses come first, then the "
    f"greater saving; a new kernel counts {format_percent(NEW_KERNEL_WEIGHT)} of what it saves."
)
"""Stands below the table of priorities."""


def describe_first(view: RunView, priorities: Sequence[Priority]) -> tuple[str, ...]:
    """What to build first and why, what then, and what to leave."""
    if not priorities:
        return ()
    first = priorities[0]
    sentences = [_describe_top(view, first)]
    if first.grade is not Grade.LEAVE:
        sentences.append(_describe_cheapest(priorities))
    sentences.append(_list_others(view, priorities[1:]))
    left = [one for one in priorities if one.grade is Grade.LEAVE]
    if left and first.grade is not Grade.LEAVE:
        sentences.append(f"Leave {', '.join(_name_left(view, one) for one in left)}.")
    sentences.append(_describe_rest(view))
    return tuple(sentence for sentence in sentences if sentence)


def _describe_top(view: RunView, first: Priority) -> str:
    """The first one with its reasons."""
    verdict = view.verdicts[first.study]
    name = f"{first.study.upper()}, {verdict.statement.title}"
    best = first.best
    if first.grade is Grade.LEAVE or best is None:
        return (
            "Build none of them on this evidence: no improvement that was tested keeps a gain "
            "after its host cost, on shapes that did not choose it."
        )
    reason = describe_reason(view, first)
    match first.grade:
        case Grade.BUILD:
            return f"Build {name} first: {reason}."
        case Grade.FOR_ITS_SHAPES:
            return (
                f"Nothing pays for the shapes of this list as a whole; build {name} first if "
                f"shapes of its domain matter: {reason}."
            )
        case _:
            return (
                f"No improvement is sure enough to be built blindly. Measure {name} first: "
                f"{reason}."
            )


def describe_reason(view: RunView, priority: Priority) -> str:
    """Gain, host cost, robustness and work of the form that stands for a hypothesis."""
    best = priority.best
    verdict = view.verdicts[priority.study]
    if best is None:
        return "there is no form of it to build"
    parts = [
        f"{_name_best(best)} saves {format_percent(best.saved_ratio)} of a pass, mean of all "
        "passes"
    ]
    if best.unseen.shapes:
        parts.append(
            f"gains {format_signed(best.unseen.geomean)} on "
            f"{format_count(best.unseen.shapes, 'unseen shape')} ("
            f"{format_count(best.unseen.wins, 'win')}, "
            f"{format_count(best.unseen.losses, 'loss', 'losses')})"
        )
    parts.append(
        f"the selector's choices gain {format_signed(verdict.summary.geomean)} on its domain"
    )
    parts.append(_describe_launch(view, priority))
    robust = verdict.robustness.is_robust
    if robust is not None:
        parts.append(f"its verdict is {'' if robust else 'not '}robust ({count_draws(verdict)})")
    if best.large_losses:
        verb = "loses" if best.large_losses == 1 else "lose"
        parts.append(
            f"{format_count(best.large_losses, 'shape')} of its domain {verb} more than 5 %"
        )
    parts.append(f"it needs {STEPS[priority.study].work.value}")
    return "; ".join(parts)


def _name_best(best: BuildOption) -> str:
    match best.form:
        case Form.CONSTANT | Form.CONDITION:
            return f"as a {name_form(best)} it"
        case Form.SCORING:
            return "scored by the model at every launch it"
        case _:
            where = f" where {' and '.join(best.conditions)}" if best.conditions else ""
            return f"scored by the model once per shape{where}, the answer kept, it"


def _describe_launch(view: RunView, priority: Priority) -> str:
    """The host cost of the chosen form, and why not the dearer one."""
    best = priority.best
    cost = view.verdicts[priority.study].host_cost
    if best is None or best.form in {Form.CONSTANT, Form.CONDITION} or cost is None:
        return "it costs a launch nothing to speak of"
    if best.form is Form.SCORING:
        return f"each launch pays {format_us(best.launch_us)} µs of host time for it, counted here"
    paid = next(one for one in priority.options if one.form is Form.SCORING)
    left = (
        "more than it saves"
        if paid.saved_ratio <= 0.0
        else f"which leaves {format_percent(paid.saved_ratio)} of a pass"
    )
    return f"at every launch the scoring would cost {format_us(cost.launch_cost_us)} µs, {left}"


def _describe_cheapest(priorities: Sequence[Priority]) -> str:
    """What to do where only the host tiling may change, if that is another one than the first."""
    if STEPS[priorities[0].study].work is Work.HOST_ONLY:
        return ""
    found = [
        (one.best.saved_ratio, one.study, one.best)
        for one in priorities[1:]
        if one.grade is not Grade.LEAVE
        and STEPS[one.study].work is Work.HOST_ONLY
        and one.best is not None
        and format_share(one.best.saved_ratio) != format_share(0.0)
    ]
    if not found:
        return ""
    saved_ratio, study, best = max(found, key=lambda item: item[0])
    return (
        f"If only the host tiling may change, begin with {study.upper()} ({name_form(best)}, "
        f"{format_share(saved_ratio)} of a pass)."
    )


def _list_others(view: RunView, others: Sequence[Priority]) -> str:
    """The rest in order, without those to leave."""
    kept = [one for one in others if one.grade is not Grade.LEAVE and one.best is not None]
    if not kept:
        return ""
    told = ", ".join(
        f"{one.study.upper()} ({one.grade.value}: {_describe_short(view, one)})" for one in kept
    )
    return f"Then, in this order: {told}."


def _describe_short(view: RunView, one: Priority) -> str:
    best = one.best
    share = "" if best is None else f"{format_share(best.saved_ratio)} of a pass"
    robust = view.verdicts[one.study].robustness.is_robust
    tail = "" if robust is None else f", {'robust' if robust else 'not robust'}"
    return f"{share}{tail}"


def _name_left(view: RunView, one: Priority) -> str:
    verdict = view.verdicts[one.study].summary.verdict
    word = VERDICT_WORDS[verdict]
    if verdict is Verdict.REFUTED:
        return f"{one.study.upper()} ({word})"
    return f"{one.study.upper()} ({word}, no gain left on unseen shapes or in a pass)"


def _describe_rest(view: RunView) -> str:
    """What the best known says about all of it."""
    if OPT not in view.verdicts or not view.verdicts[OPT].summary.shapes:
        return ""
    best = view.verdicts[OPT].summary
    joint = view.verdicts.get("joint")
    if joint is None:
        return ""
    return (
        f"All six together (JOINT) gain {format_signed(joint.summary.geomean)} on the mean of "
        f"{format_count(joint.summary.shapes, 'shape')}; the best plans known (OPT) gain "
        f"{format_signed(best.geomean)}, so most of what is left lies "
        f"{'beyond' if _mostly_beyond(joint.summary.geomean, best.geomean) else 'within'} these "
        "six."
    )


def _mostly_beyond(joint: float, best: float) -> bool:
    return joint - 1.0 < (best - 1.0) / 2
