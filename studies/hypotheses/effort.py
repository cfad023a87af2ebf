"""How much a run does at each effort: draws of the hardware, plans judged, rows of domain lists.

On the 206 bundled shapes and the domain lists, two cores need one or two minutes at `quick`; at
`full` most of the time goes into the whole space for OPT and the fits of H5 (c).
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
        cascade: of a space, the selector's best plans that the judge sees for OPT (studies.md,
            64 at full).
        covers_templates: that space is the whole one, else that of ASWT and the operator's full
            load.
        restricts_space: that space has the quick preset's restrictions.
        list_step: every how many rows of a domain list are taken.
        refits: the emulator is fitted with and without sharing for H5 (c): minutes.
        shape_seconds: rough time of a shape on one core, all studies together; measured.
    """

    pipeline_draws: int
    emulator_draws: int
    rescored: int
    judged_tiles: int
    cascade: int
    covers_templates: bool
    restricts_space: bool
    list_step: int
    refits: bool
    shape_seconds: float

    def describe(self) -> str:
        """What the effort does, in one sentence."""
        space = "the whole space" if self.covers_templates else "the space of tiles"
        rows = "every row" if self.list_step == 1 else f"one row in {self.list_step}"
        return (
            f"{self.pipeline_draws} draws of the hardware for the selector, "
            f"{self.emulator_draws} for the judge; {self.cascade} plans a shape of "
            f"{space} judged for OPT; "
            f"{rows} of the domain lists"
            + ("; the emulator fitted with and without sharing" if self.refits else "")
        )


DEPTHS: Mapping[str, Depth] = {
    Effort.QUICK: Depth(
        pipeline_draws=8,
        emulator_draws=4,
        rescored=64,
        judged_tiles=4,
        cascade=4,
        covers_templates=False,
        restricts_space=True,
        list_step=4,
        refits=False,
        shape_seconds=0.6,
    ),
    Effort.STANDARD: Depth(
        pipeline_draws=16,
        emulator_draws=8,
        rescored=64,
        judged_tiles=8,
        cascade=16,
        covers_templates=False,
        restricts_space=False,
        list_step=1,
        refits=False,
        shape_seconds=2.0,
    ),
    Effort.FULL: Depth(
        pipeline_draws=64,
        emulator_draws=16,
        rescored=64,
        judged_tiles=16,
        cascade=64,
        covers_templates=True,
        restricts_space=False,
        list_step=1,
        refits=True,
        shape_seconds=8.0,
    ),
}
"""By the name of the effort."""
