"""What the figures of hypotheses share: marks of wins, ties and losses, axes of ratios and sizes.

A win is an upright triangle, a loss one that stands on its tip, a tie a small dot: shape and
colour say the same, so that neither colour vision nor a grey printer matters.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D

from autotune.report.figures.style import (
    BASELINE,
    BEST,
    FAINT,
    INK,
    MUTED,
    PAPER,
    SMALL_FONT_SIZE,
)
from autotune.report.figures.ticks import round_values, thin_out
from studies.hypotheses.statistics import WIN

WIN_LABEL = "gains more than 1 %"
TIE_LABEL = "within 1 %"
LOSS_LABEL = "loses more than 1 %"

LEAST_LIMIT = 0.005
"""Least room beyond the gains of an axis, as a logarithm: less would magnify nothing."""
_LEAST_AREA = 22.0
_MOST_AREA = 95.0
_FULL_SIZE = math.log(1.5)
"""A ratio of 1.5, or its reciprocal, and all beyond are drawn at full size."""
_TIE_AREA = 11.0
_STEPS = (1.0, 2.0, 3.0, 5.0)
_PERCENT = 100.0
_SMALLEST_STEP = 0.001
_SIZE_ROOM = 1.35
_MANY_POWERS = 8
"""Longer axes of sizes show every other power of two."""


def draw_outcomes(
    axes: Axes, x: Sequence[float], y: Sequence[float], ratios: Sequence[float]
) -> None:
    """A mark for each shape at (x, y): its kind and its size by the ratio r."""
    kinds: tuple[tuple[Callable[[float], bool], str, str], ...] = (
        (lambda ratio: 1 / WIN <= ratio <= WIN, "o", MUTED),
        (lambda ratio: ratio > WIN, "^", BEST),
        (lambda ratio: ratio < 1 / WIN, "v", BASELINE),
    )
    for belongs, marker, colour in kinds:
        places = [place for place, ratio in enumerate(ratios) if belongs(ratio)]
        if not places:
            continue
        style: Any = {"marker": marker, "color": colour, "edgecolor": PAPER, "linewidth": 0.6}
        axes.scatter(
            [x[place] for place in places],
            [y[place] for place in places],
            s=[compute_area(ratios[place]) for place in places],
            zorder=2 if marker == "o" else 3,
            clip_on=False,
            **style,
        )


def compute_area(ratio: float) -> float:
    """Area of a mark in square points: larger for more, either way."""
    if 1 / WIN <= ratio <= WIN:
        return _TIE_AREA
    share = min(1.0, abs(math.log(ratio)) / _FULL_SIZE)
    return _LEAST_AREA + (_MOST_AREA - _LEAST_AREA) * share


def list_outcome_handles() -> list[Artist]:
    """Legend of `draw_outcomes`."""
    return [
        Line2D([], [], linestyle="none", marker=marker, color=colour, markersize=size, label=label)
        for marker, colour, size, label in (
            ("^", BEST, 7.0, WIN_LABEL),
            ("o", MUTED, 4.0, TIE_LABEL),
            ("v", BASELINE, 7.0, LOSS_LABEL),
        )
    ]


def format_step(ratio: float) -> str:
    """A gain on an axis: `+5 %`, `0`, `-20 %`."""
    percent = round((ratio - 1.0) * _PERCENT, 1)
    return f"{percent:+,.12g} %" if percent else "0"


def set_ratio_axis(
    axis: Axis, ratios: Iterable[float], place: Callable[[float], float], room: float = 1.15
) -> tuple[float, float]:
    """A logarithmic axis of ratios r with ticks at round gains; returns its ends.

    Args:
        axis: x or y axis, already in its axes.
        ratios: values to be shown; 1 always is.
        place: place of a ratio on the axis in points, once the limits are set.
        room: how much longer the axis is than the data, as a factor of the logarithm, either way.
    """
    logs = [0.0, *(math.log(ratio) for ratio in ratios)]
    margin = max(LEAST_LIMIT, (max(logs) - min(logs)) * (room - 1.0))
    low, high = math.exp(min(logs) - margin), math.exp(max(logs) + margin)
    _set_log(axis, low, high)
    ticks = thin_out(_round_gains(low, high), format_step, lambda tick: float(place(tick)))
    axis.set_ticks(list(ticks), list(ticks.values()))
    axis.set_ticks([], minor=True)
    return low, high


def _set_log(axis: Axis, low: float, high: float) -> None:
    """A logarithmic scale from low to high."""
    axes = axis.axes
    if axis is axes.xaxis:
        axes.set(xscale="log", xlim=(low, high))
    else:
        axes.set(yscale="log", ylim=(low, high))


def _round_gains(low: float, high: float) -> list[float]:
    """Ratios at round gains within [low, high]: 0 first, then the large ones."""
    gains = round_values(_SMALLEST_STEP, max(high - 1.0, _SMALLEST_STEP), _STEPS)
    losses = [loss for loss in round_values(_SMALLEST_STEP, 0.99, _STEPS) if loss <= 1.0 - low]
    span = math.log(high / low)
    fitting = [1.0]
    for step in sorted({*gains, *losses}, reverse=True):
        fitting += [1.0 + step] if step in gains else []
        fitting += [1.0 - step] if step in losses else []
    return [ratio for ratio in fitting if ratio == 1.0 or abs(math.log(ratio)) > span / 25.0]


def set_size_axis(
    axis: Axis, values: Iterable[float], place: Callable[[float], float], room: float = _SIZE_ROOM
) -> None:
    """A logarithmic axis of sizes with powers of two as ticks.

    Args:
        axis: x or y axis.
        values: sizes to be shown, above 0; none gives an axis around 1.
        place: place of a size on the axis in points, once the limits are set.
        room: factor by which the axis goes beyond the sizes at either end.
    """
    shown = list(values) or [1.0]
    low, high = min(shown) / room, max(shown) * room
    _set_log(axis, low, high)
    powers = range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)
    if len(powers) > _MANY_POWERS:
        powers = range(powers[0] + powers[0] % 2, powers[-1] + 1, 2)
    ordered = sorted(powers, key=lambda power: (power % 4 != 0, power % 2 != 0, power))
    ticks = thin_out(
        [2.0**power for power in ordered],
        lambda tick: f"{tick:,.12g}",
        lambda tick: float(place(tick)),
    )
    axis.set_ticks(list(ticks), list(ticks.values()))
    axis.set_ticks([], minor=True)


def place_on_x(axes: Axes) -> Callable[[float], float]:
    """Place of a value on the x axis in points."""
    return lambda value: float(axes.transData.transform((value, axes.get_ylim()[0]))[0])


def place_on_y(axes: Axes) -> Callable[[float], float]:
    """Place of a value on the y axis in points, stretched: labels lie beside, not behind it."""
    return lambda value: 2.0 * float(axes.transData.transform((axes.get_xlim()[0], value))[1])


def write_note(axes: Axes, text: str, x: float = 0.5, y: float = 0.5, **style: Any) -> None:
    """A small text at (x, y), in parts of the axes."""
    given: Any = {"ha": "center", "va": "center", "color": MUTED, **style}
    axes.text(x, y, text, transform=axes.transAxes, fontsize=SMALL_FONT_SIZE, **given)


def write_title(axes: Axes, text: str, size: float = SMALL_FONT_SIZE) -> None:
    """A bold title above the left end of a panel."""
    axes.set_title(text, loc="left", fontsize=size, fontweight="bold", color=INK, pad=6.0)


def draw_unity(axes: Axes, *, vertical: bool) -> None:
    """The line of no difference."""
    line = axes.axvline if vertical else axes.axhline
    line(1.0, color=FAINT, linewidth=1.0, zorder=1.5)
