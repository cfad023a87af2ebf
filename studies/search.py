"""One shape, one search: baseline first, then the strategy, then the outcome."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from hwmodel.cost.evaluators import SLOW_EVALUATORS
from hwmodel.errors import InputError
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.cascade import CASCADE, JUDGE, SELECTOR, search_by_cascade
from studies.exhaustive_search import search_exhaustively
from studies.journal import Journal, JsonRecord
from studies.objective import build_objective
from studies.outcome import ShapeOutcome
from studies.sampling_search import search_by_sampling
from studies.setting import build_setting
from studies.space import SPACE_NAME
from studies.space_axes import ALL, TILES
from studies.strategies import EXHAUSTIVE, STRATEGY_NAMES, check_strategy

__all__ = [
    "CASCADE",
    "CASCADE_COUNTS",
    "SEARCH_NAMES",
    "Effort",
    "Journal",
    "JsonRecord",
    "SearchOptions",
    "check_options",
    "list_evaluators",
    "resolve_search",
    "search_shape",
]

SEARCH_NAMES = (CASCADE, *STRATEGY_NAMES)
"""What `--strategy` takes."""
COVERING_NAMES = (CASCADE, EXHAUSTIVE)
"""Strategies that cover a whole space; they take no number of trials."""


class Effort(StrEnum):
    """Presets: how much of the space is covered."""

    QUICK = "quick"
    STANDARD = "standard"
    FULL = "full"


CASCADE_COUNTS: Mapping[Effort, int] = {
    Effort.QUICK: 4,
    Effort.STANDARD: 16,
    Effort.FULL: 64,
}
"""Plans that a cascade's selector hands to its judge (specification: studies.md, "Search")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """What decides the result of a search, besides problem and hardware.

    Attributes:
        study: name of the study, e.g. `tiles`.
        strategy: one of `SEARCH_NAMES`.
        evaluator: name of the model that decides; of a cascade the judge.
        effort: preset of the space and of the plans that a cascade judges.
        trials: evaluations of a sampling strategy, the baseline included.
        seed: seed of a sampling strategy; each shape derives its own from it and the problem.
    """

    study: str = "tiles"
    strategy: str = CASCADE
    evaluator: str = JUDGE
    effort: Effort = Effort.STANDARD
    trials: int = 200
    seed: int = 0


def search_shape(
    problem: GemmProblem, spec: HardwareSpec, options: SearchOptions, journal: Journal
) -> ShapeOutcome:
    """The vendor's plan and the best plan of the space for one problem.

    Raises:
        InputError: an option has an unknown or impossible value.
        RejectedError: the operator rejects the problem.
    """
    check_options(options)
    quick = options.effort is Effort.QUICK
    space = TILES if quick else ALL
    if options.strategy == CASCADE:
        selector = build_objective(problem, spec, SELECTOR)
        judge = build_objective(problem, spec, options.evaluator)
        setting = build_setting(problem, spec, selector, quick=quick, space=space)
        return search_by_cascade(setting, judge, CASCADE_COUNTS[options.effort], journal)
    objective = build_objective(problem, spec, options.evaluator)
    setting = build_setting(problem, spec, objective, quick=quick, space=space)
    if options.strategy == EXHAUSTIVE:
        return search_exhaustively(setting, journal)
    found = search_by_sampling(setting, options.strategy, options.trials, options.seed, journal)
    if not objective.has_bounds:
        return found
    return replace(found, certificate=search_exhaustively(setting, journal).certificate)


def resolve_search(strategy: str | None, evaluator: str | None, effort: Effort) -> tuple[str, str]:
    """Strategy and evaluator where one or both are not given.

    Without either, quick covers its space by the selector, the others are cascades
    (specification: studies.md, "Search"). A cascade's evaluator is the judge; who names another
    evaluator alone has it searched exhaustively.
    """
    if strategy is None:
        names_judge = evaluator in {None, JUDGE} and (evaluator or effort is not Effort.QUICK)
        strategy = CASCADE if names_judge else EXHAUSTIVE
    return strategy, evaluator or (JUDGE if strategy == CASCADE else SELECTOR)


def list_evaluators(options: SearchOptions) -> tuple[str, ...]:
    """The models that take part."""
    if options.strategy == CASCADE:
        return SELECTOR, options.evaluator
    return (options.evaluator,)


def check_options(options: SearchOptions) -> None:
    """Refuse what no search could do.

    Raises:
        InputError: an option has an unknown or impossible value.
    """
    if options.study != SPACE_NAME:
        raise InputError(f"study {options.study!r} is unknown; use {SPACE_NAME}")
    if options.strategy not in SEARCH_NAMES:
        known = ", ".join(SEARCH_NAMES)
        raise InputError(f"strategy {options.strategy!r} is unknown; use one of {known}")
    check_strategy(options.strategy)
    if options.strategy == CASCADE and options.evaluator != JUDGE:
        raise InputError(
            f"cascade: the {SELECTOR} model chooses and the {JUDGE} judges; leave the evaluator "
            f"out, or search by the {options.evaluator} model with --strategy {EXHAUSTIVE}"
        )
    if options.strategy == EXHAUSTIVE and options.evaluator in SLOW_EVALUATORS:
        sampling = " or ".join(name for name in STRATEGY_NAMES if name != EXHAUSTIVE)
        raise InputError(
            f"the {options.evaluator} is too slow to search exhaustively; use --strategy "
            f"{CASCADE} or {sampling} with it, or --evaluator {SELECTOR}"
        )
    if options.trials < 1:
        raise InputError(f"trials = {options.trials}: must be at least 1")
