"""What to build first, by rules from the numbers: gain in a pass, robustness, host cost, risk.

Every hypothesis can be built in up to four forms: a constant (H2's window), a condition that the
host tiling checks, the selector's model run at every launch, or run once per shape with its answer
kept. The simplest form that saves nearly as much of a pass as the best one, host cost included,
stands for the hypothesis.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import fsum

from autotune.report.hypotheses.host_steps import STEPS, Work
from autotune.report.hypotheses.view import IMPROVEMENTS, RunView
from hwmodel.problem import GemmProblem
from studies.hypotheses.domain import list_counted
from studies.hypotheses.host_cost import compute_launch_us
from studies.hypotheses.registry import find_entry
from studies.hypotheses.rules import Rule, forced_ratio, window_ratio
from studies.hypotheses.statistics import REFUTED_HIGH
from studies.hypotheses.verdicts import RatioSummary, Verdict

WORTH_BUILDING = REFUTED_HIGH - 1.0
"""Part of a pass that a change must save: the mean gain below which a hypothesis is refuted
(specification: studies.md, "Hypotheses")."""


NEW_KERNEL_WEIGHT = 0.5
"""A change that needs a new kernel must save twice as much as one that does not to come first."""
NO_MODEL_NEEDED = frozenset({"h4", "h5", "h6"})
"""Hypotheses with one alternative, or a formula for it: a condition alone decides the plan."""
NEARLY = 0.8
"""Part of the best form's saving that a simpler form must keep to be preferred."""


class Form(StrEnum):
    """How a change enters the host tiling, simplest first."""

    CONSTANT = "constant"
    CONDITION = "condition"
    SCORING = "scoring at every launch"
    CACHED = "scoring once per shape"


class Grade(StrEnum):
    """What to do about a hypothesis, most urgent first."""

    BUILD = "build"
    FOR_ITS_SHAPES = "build if its shapes matter"
    MEASURE = "measure first"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOption:
    """One form of one hypothesis.

    Attributes:
        form: how it enters the host tiling.
        conditions: in words; empty where the selector's model decides.
        saved_ratio: part of a pass saved by the judge, host cost included, mean of the passes.
        unseen: the same change on the shapes that did not choose it.
        large_losses: shapes that lose more than 5 % under it, of the whole domain.
        launch_us: host time added to a launch, median over the domain.
    """

    form: Form
    conditions: tuple[str, ...]
    saved_ratio: float
    unseen: RatioSummary
    large_losses: int
    launch_us: float

    @property
    def is_confirmed(self) -> bool:
        """Unseen shapes gain on the mean, and none loses more than 5 %."""
        return self.unseen.geomean > 1.0 and self.unseen.large_losses == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Priority:
    """A hypothesis with its grade and all its forms.

    Attributes:
        study: the hypothesis.
        grade: what to do about it.
        best: the form that saves most among the confirmed ones, else among all; None without one.
        options: every form.
    """

    study: str
    grade: Grade
    best: BuildOption | None
    options: tuple[BuildOption, ...]


def rank_priorities(view: RunView) -> tuple[Priority, ...]:
    """H1 to H6 as far as they were asked for, what to build first in front.

    Within a grade, forms without a loss of more than 5 % come first, then the greater saving in a
    pass (half of it where a new kernel is needed), then the greater gain on unseen shapes.
    """
    found = [_grade(view, study) for study in IMPROVEMENTS if study in view.verdicts]
    return tuple(sorted(found, key=_priority_key))


def _priority_key(priority: Priority) -> tuple[int, bool, float, float, str]:
    """Grade, then no large loss, then saving of a pass, then gain on unseen shapes."""
    best = priority.best
    place = list(Grade).index(priority.grade)
    if best is None:
        return place, True, 0.0, 0.0, priority.study
    weight = NEW_KERNEL_WEIGHT if STEPS[priority.study].work is Work.NEW_KERNEL else 1.0
    return (
        place,
        best.large_losses > 0,
        -best.saved_ratio * weight,
        -best.unseen.geomean,
        priority.study,
    )


def list_options(view: RunView, study: str) -> tuple[BuildOption, ...]:
    """The forms that a hypothesis has."""
    options: list[BuildOption] = []
    rule = view.rules.get(study)
    if study == "h2" and view.window_rule is not None:
        options.append(_window_option(view, view.window_rule))
    if rule is not None and study in NO_MODEL_NEEDED:
        options.append(_condition_option(view, study, rule))
    if find_entry(study).scores_candidates and view.domains[study]:
        options.append(_scoring_option(view, study, Form.SCORING))
        options.append(_scoring_option(view, study, Form.CACHED))
        if rule is not None and rule.conditions and study not in NO_MODEL_NEEDED:
            restricted = _condition_option(view, study, rule)
            options.append(replace(restricted, form=Form.CACHED))
    return tuple(options)


def mean_saved_ratio(view: RunView, saved_us: Mapping[GemmProblem, float]) -> float:
    """Part of a pass that is saved, mean over the passes of the shapes file, each alike.

    Args:
        view: the run; rows without model and phase are one pass.
        saved_us: time saved at each call by problem; others save nothing.
    """
    totals: dict[tuple[str, int | None, str, int | None], list[tuple[float, float]]] = {}
    for row, answer in list_counted(view.results.rows, view.answers):
        key = (row.model, row.tp, row.phase, row.tokens)
        pair = (
            row.weight * answer.baseline.judge_us,
            row.weight * saved_us.get(row.problem, 0.0),
        )
        totals.setdefault(key, []).append(pair)
    shares = []
    for pairs in totals.values():
        whole = fsum(pair[0] for pair in pairs)
        if whole > 0.0:
            shares.append(fsum(pair[1] for pair in pairs) / whole)
    return fsum(shares) / len(shares) if shares else 0.0


def _condition_option(view: RunView, study: str, rule: Rule) -> BuildOption:
    members = set(rule.members)
    saved = {
        shape.row.problem: shape.answer.baseline.judge_us * (1 - 1 / forced_ratio(study, shape))
        for shape in view.domains[study]
        if shape.row.problem in members
    }
    return BuildOption(
        form=Form.CONDITION,
        conditions=rule.conditions,
        saved_ratio=mean_saved_ratio(view, saved),
        unseen=rule.held_out,
        large_losses=rule.choosing.large_losses + rule.held_out.large_losses,
        launch_us=0.0,
    )


def _window_option(view: RunView, rule: Rule) -> BuildOption:
    window = int(rule.conditions[0].removeprefix("W = "))
    saved = {
        shape.row.problem: shape.answer.baseline.judge_us
        * (1 - 1 / window_ratio(shape.answer.h2, window))
        for shape in view.domains["h2"]
    }
    return BuildOption(
        form=Form.CONSTANT,
        conditions=rule.conditions,
        saved_ratio=mean_saved_ratio(view, saved),
        unseen=rule.held_out,
        large_losses=rule.choosing.large_losses + rule.held_out.large_losses,
        launch_us=0.0,
    )


def _scoring_option(view: RunView, study: str, form: Form) -> BuildOption:
    """The selector's choices; at every launch its cost is taken off, once per shape it is none."""
    pays = form is Form.SCORING
    saved = {
        shape.row.problem: shape.comparison.control.judge_us
        - shape.comparison.treatment.judge_us
        - (compute_launch_us(shape.comparison.candidates) if pays else 0.0)
        for shape in view.domains[study]
    }
    cost = view.verdicts[study].host_cost if pays else None
    return BuildOption(
        form=form,
        conditions=(),
        saved_ratio=mean_saved_ratio(view, saved),
        unseen=view.held_out(study),
        large_losses=view.verdicts[study].summary.large_losses,
        launch_us=cost.launch_cost_us if cost is not None else 0.0,
    )


def _grade(view: RunView, study: str) -> Priority:
    """The rules: see `Grade` and `describe_grades`."""
    verdict = view.verdicts[study]
    options = list_options(view, study)
    best = _select_option(options)
    return Priority(
        study=study,
        grade=_select_grade(verdict.summary, verdict.robustness.is_robust, best),
        best=best,
        options=options,
    )


def _select_option(options: Sequence[BuildOption]) -> BuildOption | None:
    """The simplest form that saves nearly what the best one does; None without a form.

    Only confirmed forms count where there are any, and of these only those without a loss of more
    than 5 % where there are any.
    """
    confirmed = [option for option in options if option.is_confirmed]
    harmless = [option for option in confirmed if not option.large_losses]
    pool = harmless or confirmed or list(options)
    if not pool:
        return None
    most = max(option.saved_ratio for option in pool)
    if most <= 0.0:
        return max(pool, key=lambda option: (option.saved_ratio, option.unseen.geomean))
    return next(option for option in pool if option.saved_ratio >= NEARLY * most)


def _select_grade(
    summary: RatioSummary, is_robust: bool | None, best: BuildOption | None
) -> Grade:
    """What to do, from the verdict and the form that stands for the hypothesis."""
    verdict = summary.verdict
    if best is None or verdict is Verdict.REFUTED or not best.is_confirmed:
        return Grade.LEAVE
    in_models = best.saved_ratio >= WORTH_BUILDING
    gain = max(best.unseen.geomean, summary.geomean) - 1.0
    on_shapes = gain >= WORTH_BUILDING and best.saved_ratio >= 0.0
    if not in_models and not on_shapes:
        return Grade.LEAVE
    if verdict is Verdict.NOT_TESTED or not is_robust:
        return Grade.MEASURE
    return Grade.BUILD if in_models else Grade.FOR_ITS_SHAPES
