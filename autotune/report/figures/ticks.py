"""Ticks of an axis whose range is not known beforehand: round values whose labels do not touch."""

import math
from collections.abc import Callable, Iterable

import numpy as np
from matplotlib.ticker import MaxNLocator

from autotune.report.figures.style import SMALL_FONT_SIZE

_DECADE = 10.0
_CHARACTER_WIDTH = 0.64 * SMALL_FONT_SIZE
"""Width of a digit of DejaVu Sans, in points."""

_SPACE = 8.0
"""Least distance of two labels, in points."""


def round_values(low: float, high: float, leading: Iterable[float]) -> list[float]:
    """All values `leading` x 10^i within [low, high], roundest (1, then 2 and 5) first.

    Args:
        low: left end, above 0.
        high: right end.
        leading: numbers in [1, 10).
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [(_roughness(lead), lead * _DECADE**power) for lead in leading for power in powers]
    return [value for _, value in sorted(values) if low <= value <= high]


def even_values(high: float, most: int, *, integer: bool = False) -> list[float]:
    """At most about `most` round, evenly spaced values in [0, high]."""
    locator = MaxNLocator(most, integer=integer, min_n_ticks=1)
    return [value for value in np.asarray(locator.tick_values(0.0, high)) if 0.0 <= value <= high]


def thin_out(
    values: Iterable[float], label: Callable[[float], str], place: Callable[[float], float]
) -> dict[float, str]:
    """Those values, with their labels, whose labels have room beside those of earlier values.

    Args:
        values: most important first.
        label: text of a value.
        place: its place on the axis, in points.
    """
    kept: dict[float, str] = {}
    for value in values:
        text = label(value)
        if all(
            abs(place(value) - place(other))
            >= (len(text) + len(other_text)) / 2.0 * _CHARACTER_WIDTH + _SPACE
            for other, other_text in kept.items()
        ):
            kept[value] = text
    return dict(sorted(kept.items()))


def _roughness(leading: float) -> int:
    """0 for 1, 1 for 2 and 5, 2 for the rest."""
    return 0 if leading == 1.0 else 1 if leading in {2.0, 5.0} else 2
