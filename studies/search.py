"""One shape, one search: baseline first, then the strategy, then the outcome."""

from dataclasses import dataclass
from enum import StrEnum

from hwmodel.cost.evaluators import SLOW_EVALUATORS
from hwmodel.errors import InputError
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.exhaustive_search import search_exhaustively
from studies.journal import Journal, JsonRecord
from studies.objective import build_objective
from studies.outcome import ShapeOutcome
from studies.sampling_search import search_by_sampling
from studies.setting import build_setting
from studies.space import SPACE_NAME
from studies.strategies import EXHAUSTIVE, STRATEGY_NAMES, check_strategy

__all__ = ["Effort", "Journal", "JsonRecord", "SearchOptions", "check_options", "search_shape"]


class Effort(StrEnum):
    """Presets: how much of the space is covered."""

    QUICK = "quick"
    STANDARD = "standard"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """What decides the result of a search, besides problem and hardware.

    Attributes:
        study: name of the study, e.g. `tiles`.
        strategy: one of `studies.strategies.STRATEGY_NAMES`.
        evaluator: name of the objective, e.g. `pipeline`.
        effort: preset of the space; `full` covers what `standard` does.
        trials: evaluations of a sampling strategy, the baseline included.
        seed: seed of a sampling strategy; each shape derives its own from it and the problem.
    """

    study: str = "tiles"
    strategy: str = "exhaustive"
    evaluator: str = "pipeline"
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
    objective = build_objective(problem, spec, options.evaluator)
    setting = build_setting(problem, spec, objective, quick=options.effort is Effort.QUICK)
    if options.strategy == EXHAUSTIVE:
        return search_exhaustively(setting, journal)
    return search_by_sampling(setting, options.strategy, options.trials, options.seed, journal)


def check_options(options: SearchOptions) -> None:
    """Refuse what no search could do.

    Raises:
        InputError: an option has an unknown or impossible value.
    """
    if options.study != SPACE_NAME:
        raise InputError(f"study {options.study!r} is unknown; use {SPACE_NAME}")
    if options.strategy not in STRATEGY_NAMES:
        known = ", ".join(STRATEGY_NAMES)
        raise InputError(f"strategy {options.strategy!r} is unknown; use one of {known}")
    check_strategy(options.strategy)
    if options.strategy == EXHAUSTIVE and options.evaluator in SLOW_EVALUATORS:
        sampling = " or ".join(name for name in STRATEGY_NAMES if name != EXHAUSTIVE)
        raise InputError(
            f"the {options.evaluator} is too slow to search exhaustively; use --strategy "
            f"{sampling} with it, or --evaluator pipeline"
        )
    if options.trials < 1:
        raise InputError(f"trials = {options.trials}: must be at least 1")
