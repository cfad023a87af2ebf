"""The steps of a decision, recorded only when somebody asks for them.

Every function that decides something takes `recorder: Recorder | None`. With None nothing is built
or formatted; with a recorder the same code runs and notes what it found, so the explained path is
the deciding path.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

StepValue = int | float | str | bool
"""What a step states about one quantity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a decision.

    Attributes:
        topic: what the step is about, e.g. `tail split`.
        text: what was found, one sentence.
        values: the numbers behind it, by name (snake_case, unit as suffix where there is one).
    """

    topic: str
    text: str
    values: Mapping[str, StepValue]


@dataclass(slots=True)
class Recorder:
    """Collects the steps of one decision in their order."""

    steps: list[Step] = field(default_factory=list)

    def add(self, topic: str, text: str, **values: StepValue) -> None:
        """Note one step."""
        self.steps.append(Step(topic=topic, text=text, values=values))
