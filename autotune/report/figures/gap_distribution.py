"""Cumulative distribution of the gap: which share of the shapes lies within which gap."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from autotune.report.aggregates import CountedRow, gap_order
from autotune.report.figures.style import (
    BASELINE,
    BEST,
    PAPER,
    ReportFigure,
    new_figure,
    place_axes,
    render_svg,
)
from autotune.report.figures.ticks import round_values, thin_out
from autotune.report.text import format_count, format_gap, format_percent

NAME = "gap_distribution"
TITLE = "Distribution of the gap"

LEAST_SHAPES = 5
"""Fewer gaps are no distribution."""

_HEIGHT = 300.0
_LINEAR_UP_TO = 0.01
"""Gaps up to 1 % are drawn on a linear scale, larger ones on a logarithmic one."""

_LEADING = (1.0, 2.0, 5.0)
_LEAST_EDGE = 0.05
_EDGE_ROOM = 1.1
_SMALL_GAP = 0.01
_SHARE_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def build_gap_distribution(items: Sequence[CountedRow]) -> ReportFigure | None:
    """The figure with its words; None for so few shapes that their rows say it all."""
    if len(items) < LEAST_SHAPES:
        return None
    gaps = np.array([item.compared.gap_ratio for item in items])
    within = float(np.mean(gaps <= _SMALL_GAP))
    caption = (
        f"{format_percent(within)} of the shapes have a gap of at most "
        f"{format_percent(_SMALL_GAP)}: the height of the curve at a gap is the share of shapes "
        "with no larger gap. Dots are resolved gaps; the dashed curve counts each shape by its "
        "calls per forward pass, every model and phase alike."
    )
    alt = (
        f"Cumulative distribution of {format_count(len(items), 'gap')}: {format_percent(within)} "
        "of the shapes have a gap of at most 1 %, half at most "
        f"{format_gap(float(np.median(gaps)))}, the largest is {format_gap(float(gaps.max()))}."
    )
    svg = render_svg(lambda: draw_gap_distribution(items), title=TITLE, description=alt)
    return ReportFigure(name=NAME, title=TITLE, caption=caption, alt=alt, svg=svg)


def draw_gap_distribution(items: Sequence[CountedRow]) -> Figure:
    """Draw the curves; call inside `figure_style`."""
    ordered = sorted(items, key=gap_order, reverse=True)
    gaps = np.array([max(0.0, item.compared.gap_ratio) for item in ordered])
    resolved = np.array([item.compared.resolved for item in ordered], dtype=bool)
    shares = np.array([item.share for item in ordered])
    plain = np.arange(1, len(gaps) + 1) / len(gaps)
    edge = max(_LEAST_EDGE, float(gaps.max()) * _EDGE_ROOM)

    figure = new_figure(_HEIGHT)
    axes = place_axes(figure, left=56.0, right=24.0, top=34.0, bottom=40.0)
    axes.set_xscale("symlog", linthresh=_LINEAR_UP_TO)
    axes.set_xlim(0.0, edge)
    axes.set_ylim(0.0, 1.03)
    _set_ticks(axes, edge)
    axes.grid()
    _draw_steps(axes, gaps, plain, edge, colour=BEST, dashed=False, label="every shape alike")
    if shares.sum() > 0.0 and not np.allclose(shares, shares[0]):
        weighted = np.cumsum(shares) / shares.sum()
        _draw_steps(
            axes, gaps, weighted, edge, colour=BASELINE, dashed=True, label="by calls per pass"
        )
    if resolved.any():
        axes.plot(
            gaps[resolved],
            plain[resolved],
            "o",
            color=BEST,
            markersize=5.0,
            markeredgecolor=PAPER,
            markeredgewidth=0.6,
            clip_on=False,
            label="resolved gap",
            zorder=3,
        )
    axes.set_xlabel(
        f"gap (scale: linear up to {format_percent(_LINEAR_UP_TO)}, logarithmic beyond)"
    )
    axes.set_ylabel("share of shapes with at most this gap")
    figure.legend(loc="upper center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return figure


def _draw_steps(
    axes: Axes,
    gaps: NDArray[np.float64],
    heights: NDArray[np.float64],
    edge: float,
    *,
    colour: str,
    dashed: bool,
    label: str,
) -> None:
    """One step curve from a gap of 0 to the right end of the axis."""
    x = np.concatenate([[0.0], gaps, [edge]])
    y = np.concatenate([[0.0], heights, [1.0]])
    axes.plot(
        x,
        y,
        drawstyle="steps-post",
        color=colour,
        linestyle=(0, (5, 2)) if dashed else "solid",
        linewidth=1.6,
        label=label,
    )


def _set_ticks(axes: Axes, edge: float) -> None:
    """Percent labels on both axes."""
    ticks = thin_out(
        [0.0, *round_values(_LINEAR_UP_TO, edge, _LEADING)],
        lambda tick: f"{tick * 100:,.12g} %",
        lambda tick: float(axes.transData.transform((tick, 0.0))[0]),
    )
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.set_xticks([], minor=True)
    axes.set_yticks(_SHARE_TICKS, [f"{tick * 100:g} %" for tick in _SHARE_TICKS])
