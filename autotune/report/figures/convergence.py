"""Convergence of search strategies: the gap of the best so far over the number of evaluations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from autotune.report.figures.style import (
    BASELINE,
    BEST,
    FIFTH,
    FOURTH,
    INK,
    MUTED,
    THIRD,
    ReportFigure,
    new_figure,
    place_axes,
    render_svg,
)
from autotune.report.figures.ticks import round_values, thin_out
from autotune.report.text import format_count, format_gap

NAME = "convergence"
TITLE = "Convergence of the search"

_HEIGHT = 330.0
_LINEAR_UP_TO = 0.01
"""Gaps up to 1 % are drawn on a linear scale, larger ones on a logarithmic one."""
_LEAST_EDGE = 0.05
_MOST_EDGE = 10.0
"""The gaps' axis ends between these: what a search starts with does not matter for long."""
_LEADING = (1.0, 2.0, 5.0)
_BAND = (25.0, 75.0)
"""Percentiles between which the band lies."""
_EDGE_PERCENTILE = 95.0
"""The gaps' axis ends where so many of the first ones lie below."""
_BAND_ALPHA = 0.12
_LABELS_PER_ROW = 6

_LOOKS = (
    (BEST, "solid"),
    (BASELINE, (0, (5, 2))),
    (THIRD, (0, (3, 1, 1, 1))),
    (FOURTH, (0, (1, 1))),
    (FIFTH, (0, (7, 2, 1, 2))),
    (INK, (0, (2, 1))),
    (MUTED, (0, (4, 1, 1, 1, 1, 1))),
)
"""Colour and dashes of each strategy; the last serves any further ones."""

Curve = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Convergence:
    """A strategy's searches.

    Attributes:
        name: of the strategy.
        gaps: for each search, the gap of the best so far after each evaluation: 0 at the best that
            is known. A shorter search keeps its last value.
    """

    name: str
    gaps: tuple[Curve, ...]

    def percentile(self, percent: float, evaluations: int) -> Curve:
        """The percentile over the searches after 1 .. `evaluations` evaluations."""
        rows = [np.append(gap, np.full(evaluations, gap[-1]))[:evaluations] for gap in self.gaps]
        curve: Curve = np.percentile(np.stack(rows), percent, axis=0)
        return curve


def build_convergence(items: Sequence[Convergence], *, subject: str) -> ReportFigure:
    """The figure with its words.

    Args:
        items: at least one strategy with at least one search of at least one evaluation.
        subject: what gaps are measured from, e.g. `the optimum`.
    """
    longest = _longest(items)
    caption = (
        f"How far the best plan so far is from {subject}, over the number of evaluations: the "
        "median over all searches and the band of the middle half of them. Lower and further left "
        "is better."
    )
    ends = "; ".join(
        f"{item.name} {format_gap(float(item.percentile(50.0, longest)[-1]))}" for item in items
    )
    alt = (
        f"Median gap to {subject} after {format_count(longest, 'evaluation')} of "
        f"{format_count(len(items), 'strategy', 'strategies')}: {ends}."
    )
    svg = render_svg(
        lambda: draw_convergence(items, subject=subject), title=TITLE, description=alt
    )
    return ReportFigure(name=NAME, title=TITLE, caption=caption, alt=alt, svg=svg)


def draw_convergence(items: Sequence[Convergence], *, subject: str) -> Figure:
    """Draw the curves; call inside `figure_style`."""
    longest = _longest(items)
    firsts = np.concatenate([[gap[0] for gap in item.gaps] for item in items])
    edge = float(np.percentile(firsts, _EDGE_PERCENTILE))
    edge = min(max(edge, _LEAST_EDGE), _MOST_EDGE)
    figure = new_figure(_HEIGHT)
    axes = place_axes(figure, left=62.0, right=24.0, top=44.0, bottom=40.0)
    axes.set_xscale("log")
    axes.set_xlim(1.0, max(longest, 2))
    axes.set_yscale("symlog", linthresh=_LINEAR_UP_TO)
    axes.set_ylim(0.0, edge)
    _set_ticks(axes, longest, edge)
    axes.grid()
    steps = np.arange(1, longest + 1)
    for number, item in enumerate(items):
        colour, dashes = _LOOKS[min(number, len(_LOOKS) - 1)]
        low, high = (item.percentile(percent, longest) for percent in _BAND)
        axes.fill_between(
            steps, low, high, step="post", color=colour, alpha=_BAND_ALPHA, linewidth=0.0
        )
        axes.plot(
            steps,
            item.percentile(50.0, longest),
            drawstyle="steps-post",
            color=colour,
            linestyle=dashes,
            linewidth=1.6,
            label=item.name,
        )
    axes.set_xlabel("evaluations (logarithmic)")
    axes.set_ylabel(f"gap to {subject}")
    figure.legend(
        loc="upper center", bbox_to_anchor=(0.5, 1.0), ncols=min(len(items), _LABELS_PER_ROW)
    )
    return figure


def _longest(items: Sequence[Convergence]) -> int:
    return max(len(gap) for item in items for gap in item.gaps)


def _set_ticks(axes: Axes, longest: int, edge: float) -> None:
    """Counts below, percentages at the side."""
    counts = thin_out(
        round_values(1.0, float(max(longest, 2)), _LEADING),
        lambda tick: f"{tick:,.0f}",
        lambda tick: float(axes.transData.transform((tick, 0.0))[0]),
    )
    axes.set_xticks(list(counts), list(counts.values()))
    axes.set_xticks([], minor=True)
    gaps = thin_out(
        [0.0, *round_values(_LINEAR_UP_TO / 2, edge, _LEADING)],
        lambda tick: f"{tick * 100:,.12g} %",
        lambda tick: float(axes.transData.transform((1.0, tick))[1]),
    )
    axes.set_yticks(list(gaps), list(gaps.values()))
    axes.set_yticks([], minor=True)
