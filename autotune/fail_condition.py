"""The condition of `--fail-if`: when a command that compares exits with a code of its own."""

import re
from dataclasses import dataclass
from typing import Final

from hwmodel.errors import InputError

_PATTERN: Final = re.compile(r"\s*worse\s*>\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*%\s*")
_PERCENT: Final = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FailCondition:
    """Met when something takes longer by more than a ratio.

    Attributes:
        text: as the user wrote it, without blanks.
        worse_ratio: by how much longer, 0.01 for `worse>1%`.
    """

    text: str
    worse_ratio: float


def parse_fail_condition(text: str) -> FailCondition:
    """The condition of a text like `worse>1%` or `worse>0.5%`.

    Raises:
        InputError: it is written otherwise.
    """
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise InputError(f"--fail-if {text!r}: write worse> and a percentage, e.g. 'worse>1%'")
    return FailCondition(text="".join(text.split()), worse_ratio=float(match[1]) / _PERCENT)
