"""Search strategies: interchangeable ways through the numbered points of a space."""

from studies.space import TileSpace
from studies.strategies.exhaustive import ExhaustiveStrategy
from studies.strategies.protocol import Strategy
from studies.strategies.random_search import RandomStrategy

EXHAUSTIVE = "exhaustive"
"""Name of the strategy that covers everything and certifies the optimum."""
STRATEGY_NAMES = (EXHAUSTIVE, "random", "tpe")
"""What `--strategy` takes."""


def build_strategy(name: str, space: TileSpace, seed: int) -> Strategy:
    """A strategy of STRATEGY_NAMES over `space`; `seed` is in 0 .. 2^32 - 1.

    Raises:
        ValueError: no strategy has this name.
    """
    match name:
        case "exhaustive":
            return ExhaustiveStrategy(len(space))
        case "random":
            return RandomStrategy(len(space), seed)
        case "tpe":
            # Optuna takes a noticeable part of a second to import: only who uses it waits for it.
            from studies.strategies.tpe import TpeStrategy

            return TpeStrategy(space, seed)
    raise ValueError(f"strategy {name!r} is unknown; one of {', '.join(STRATEGY_NAMES)}")
