"""Search strategies: interchangeable ways through the numbered points of a space."""

from importlib.util import find_spec

from hwmodel.errors import InputError
from studies.strategies.exhaustive import ExhaustiveStrategy
from studies.strategies.points import FloatArray, PointSpace
from studies.strategies.protocol import Strategy
from studies.strategies.random_search import RandomStrategy

EXHAUSTIVE = "exhaustive"
"""Name of the strategy that covers everything and certifies the optimum."""
PRIOR = "prior"
"""Name of the strategy that can start from another model's ranking of the points."""
CMAES = "cmaes"
"""Name of the strategy that needs an optional package, of the same name."""
STRATEGY_NAMES = (EXHAUSTIVE, "random", "tpe", "nsga2", CMAES, PRIOR)
"""What `--strategy` takes."""


def build_strategy(
    name: str, space: PointSpace, seed: int, ranking: FloatArray | None = None
) -> Strategy:
    """A strategy of STRATEGY_NAMES over `space`; `seed` is in 0 .. 2^32 - 1.

    `ranking` is another model's prediction for every point, positive and in microseconds; only
    `prior` uses it.

    Raises:
        ValueError: no strategy has this name.
        InputError: the strategy needs a package that is not installed.
    """
    check_strategy(name)
    match name:
        case "exhaustive":
            return ExhaustiveStrategy(len(space))
        case "random":
            return RandomStrategy(len(space), seed)
    # Optuna takes a noticeable part of a second to import: only who uses it waits for it.
    from studies.strategies import optuna_strategy

    match name:
        case "tpe":
            return optuna_strategy.build_tpe(space, seed)
        case "nsga2":
            return optuna_strategy.build_nsga2(space, seed)
        case "cmaes":
            return optuna_strategy.build_cmaes(space, seed)
        case "prior":
            return optuna_strategy.PriorStrategy(space, seed, ranking)
    raise ValueError(f"strategy {name!r} is unknown; one of {', '.join(STRATEGY_NAMES)}")


def check_strategy(name: str) -> None:
    """Refuse a strategy whose package is not installed.

    Raises:
        InputError: the package is missing.
    """
    if name == CMAES and find_spec(CMAES) is None:
        raise InputError(
            "strategy cmaes needs the package cmaes: pip install 'npu-gemm-autotune[cmaes]'"
        )
