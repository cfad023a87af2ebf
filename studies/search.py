"""One shape, one search: baseline first, then the strategy, then the outcome."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

JsonRecord = Mapping[str, object]
"""One line of a journal."""


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
        strategy: `exhaustive`, `random` or `tpe`.
        evaluator: name of the objective, e.g. `pipeline`.
        effort: preset of the exhaustive search's space.
        trials: evaluations of a sampling strategy, the baseline included.
        seed: seed of a sampling strategy; each shape derives its own from it and the problem.
    """

    study: str = "tiles"
    strategy: str = "exhaustive"
    evaluator: str = "pipeline"
    effort: Effort = Effort.STANDARD
    trials: int = 200
    seed: int = 0


class Journal(Protocol):
    """Append-only record of one shape's finished evaluations; the run directory implements it."""

    def read(self) -> Sequence[JsonRecord]:
        """Records of an earlier, interrupted search, oldest first; empty on a fresh start."""

    def append(self, records: Sequence[JsonRecord]) -> None:
        """Write records durably (one synced write per call)."""
