"""How much a run does at each effort: draws of the hardware, plans judged, rows of domain lists.

Rough cost on two cores, all studies, the 206 bundled shapes and the three domain lists: see
`estimate_minutes`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Effort(StrEnum):
    """The presets."""

    QUICK = "quick"
    STANDARD = "standard"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """What an effort stands for.

    Attributes:
        pipeline_draws: chips for the selector's model (specification: studies.md, 64 at full).
        emulator_draws: chips for the judge (specification: studies.md, 16 at full).
        rescored: nominal best plans that are scored again at each draw (studies.md).
        judged_tiles: of H1's candidates, how many of the selector's best the judge sees.
        cascade: plans of the whole space that the judge sees for OPT (studies.md, 64 at full).
        list_step: every how many rows of a domain list are taken.
        sweeps: windows of typical shapes are judged one by one.
        shape_seconds: rough time of a shape on one core, all studies together; measured.
    """

    pipeline_draws: int
    emulator_draws: int
    rescored: int
    judged_tiles: int
    cascade: int
    list_step: int
    sweeps: bool
    shape_seconds: float

    def describe(self) -> str:
        """What the effort does, in one sentence."""
        rows = "every row" if self.list_step == 1 else f"one row in {self.list_step}"
        return (
            f"{self.pipeline_draws} draws of the hardware for the selector, "
            f"{self.emulator_draws} for the judge; {self.cascade} plans a shape judged for OPT; "
            f"{rows} of the domain lists"
        )


DEPTHS: Mapping[str, Depth] = {
    Effort.QUICK: Depth(
        pipeline_draws=8,
        emulator_draws=4,
        rescored=64,
        judged_tiles=4,
        cascade=4,
        list_step=4,
        sweeps=True,
        shape_seconds=1.0,
    ),
    Effort.STANDARD: Depth(
        pipeline_draws=16,
        emulator_draws=8,
        rescored=64,
        judged_tiles=8,
        cascade=16,
        list_step=1,
        sweeps=True,
        shape_seconds=2.0,
    ),
    Effort.FULL: Depth(
        pipeline_draws=64,
        emulator_draws=16,
        rescored=64,
        judged_tiles=16,
        cascade=64,
        list_step=1,
        sweeps=True,
        shape_seconds=4.0,
    ),
}
"""By the name of the effort."""
