"""H1: how good the operator's proxy is among its own candidates, and what scoring costs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from autotune.report.figures.style import (
    BASELINE,
    BEST,
    FAINT,
    INK,
    MUTED,
    SMALL_FONT_SIZE,
    WIDTH,
    ReportFigure,
    figure_style,
    measure_width,
    new_figure,
    place_axes,
    render_svg,
)
from autotune.report.figures.ticks import round_values, thin_out
from autotune.report.hypotheses.figures.marks import (
    draw_unity,
    place_on_x,
    place_on_y,
    set_ratio_axis,
    write_title,
)
from autotune.report.hypotheses.view import RunView
from autotune.report.text import TIMES, clean_text, clip_text, format_count, format_percent
from studies.hypotheses.answers import TileScoring
from studies.hypotheses.host_cost import HEURISTIC_US, compute_launch_us

NAME = "h1_proxy"
TITLE = "H1: the operator's proxy against the best of its own candidates"

WORST_SHOWN = 10
"""Misses that are drawn by name."""

_NAME_COLUMNS = 46
_TOP_HEIGHT = 230.0
_ROW_HEIGHT = 16.0
_LEFT = 56.0
_GAP = 62.0
_RIGHT = 18.0
_TOP = 44.0
_BOTTOM = 40.0
_TITLE_SPACE = 42.0
_LINEAR_UP_TO = 0.01
_CLOSE = 0.01
_LEADING = (1.0, 2.0, 5.0)
_LEAST_EDGE = 0.05
_EDGE_ROOM = 1.15
_SHARE_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_LEAST_TIME = 0.05
"""Shortest saving that has a place of its own on the axis, microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyPoint:
    """One shape.

    Attributes:
        name: the shape.
        scoring: H1's figures.
        kernel_us: the control's judged time.
        saved_us: what the treatment saves by the judge.
        cost_us: what scoring the candidates adds to the launch.
    """

    name: str
    scoring: TileScoring
    kernel_us: float
    saved_us: float
    cost_us: float


def build_h1(view: RunView) -> ReportFigure | None:
    """The figure with its words; None without a shape in the domain."""
    points = list_points(view)
    if not points:
        return None
    regrets = [point.scoring.judged_regret_ratio for point in points]
    close = sum(regret <= _CLOSE for regret in regrets)
    paying = sum(point.saved_us > point.cost_us for point in points)
    caption = (
        f"Top left: share of the {format_count(len(points), 'shape')} whose baseline is at most "
        "so much slower than the best of the operator's own candidates, by the selector and by "
        "the judge (who saw the selector's best few only, so it is a lower bound). Top right: "
        "what the chosen tile saves at a launch against the kernel's time (triangles: more than "
        "scoring its candidates costs); the dashed line is the host time that scoring a median "
        "number of candidates adds, if every launch waits for it. Below: the worst misses, the "
        "tile's own part (full-load decision kept) and what the changed full-load decision adds."
    )
    alt = (
        f"For {close} of {format_count(len(points), 'shape')} the proxy is within 1 % of the best "
        f"candidate by the judge; the largest regret is {format_percent(max(regrets))}. For "
        f"{paying} shapes the saving exceeds the cost of scoring at a launch."
    )
    svg = render_svg(lambda: draw_h1(points), title=TITLE, description=alt)
    return ReportFigure(name=NAME, title=TITLE, caption=caption, alt=alt, svg=svg)


def list_points(view: RunView) -> tuple[ProxyPoint, ...]:
    """The shapes of the domain, worst miss by the judge first."""
    points = [
        ProxyPoint(
            name=clip_text(clean_text(shape.row.name), _NAME_COLUMNS),
            scoring=shape.answer.h1,
            kernel_us=shape.comparison.control.judge_us,
            saved_us=shape.comparison.control.judge_us - shape.comparison.treatment.judge_us,
            cost_us=compute_launch_us(shape.comparison.candidates),
        )
        for shape in view.domains.get("h1", ())
        if shape.answer.h1 is not None
    ]
    return tuple(sorted(points, key=lambda point: -point.scoring.judged_regret_ratio))


def draw_h1(points: Sequence[ProxyPoint]) -> Figure:
    """Draw the three panels; call inside `figure_style`."""
    worst = points[:WORST_SHOWN]
    below = _TITLE_SPACE + _ROW_HEIGHT * len(worst) + _BOTTOM
    height = _TOP_HEIGHT + below
    figure = new_figure(height)
    half = (WIDTH - _LEFT - _GAP - _RIGHT) / 2
    box = {"top": _TOP, "bottom": below + _BOTTOM}
    _draw_regret(place_axes(figure, left=_LEFT, right=WIDTH - _LEFT - half, **box), points)
    _draw_cost(place_axes(figure, left=WIDTH - _RIGHT - half, right=_RIGHT, **box), points)
    with figure_style():
        names = measure_width([point.name for point in worst], SMALL_FONT_SIZE)
    misses = place_axes(
        figure,
        left=names * 1.06 + 16.0,
        right=_RIGHT,
        top=_TOP_HEIGHT + _TITLE_SPACE,
        bottom=_BOTTOM,
    )
    _draw_misses(misses, worst)
    return figure


def _draw_regret(axes: Axes, points: Sequence[ProxyPoint]) -> None:
    """Cumulative distribution of the regret by both models."""
    write_title(axes, "how far the proxy is from its best candidate")
    series = (
        ([p.scoring.proxy_regret_ratio for p in points], "by the selector", BASELINE, (0, (5, 2))),
        ([p.scoring.judged_regret_ratio for p in points], "by the judge", BEST, "solid"),
    )
    edge = max(_LEAST_EDGE, max(max(regrets) for regrets, *_ in series) * _EDGE_ROOM)
    axes.set_xscale("symlog", linthresh=_LINEAR_UP_TO)
    axes.set_xlim(0.0, edge)
    axes.set_ylim(0.0, 1.03)
    ticks = thin_out(
        [0.0, *round_values(_LINEAR_UP_TO, edge, _LEADING)],
        lambda tick: f"{tick * 100:,.12g} %",
        place_on_x(axes),
    )
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.set_xticks([], minor=True)
    axes.set_yticks(_SHARE_TICKS, [f"{tick * 100:g} %" for tick in _SHARE_TICKS])
    axes.grid()
    heights = np.arange(1, len(points) + 1) / len(points)
    for regrets, label, colour, dashes in series:
        x = np.concatenate([[0.0], np.sort(np.maximum(0.0, regrets)), [edge]])
        y = np.concatenate([[0.0], heights, [1.0]])
        axes.plot(
            x, y, drawstyle="steps-post", color=colour, linestyle=dashes, label=label, lw=1.6
        )
    axes.legend(loc="lower right")
    axes.set_xlabel("regret of the baseline")
    axes.set_ylabel("share of shapes")


def _draw_cost(axes: Axes, points: Sequence[ProxyPoint]) -> None:
    """Saving of a launch against kernel time, with the cost of scoring."""
    paying = sum(point.saved_us > point.cost_us for point in points)
    write_title(axes, f"scoring at every launch pays for {paying} of {len(points)} shapes")
    times = [point.kernel_us for point in points]
    cost_us = float(np.median([point.cost_us for point in points]))
    low, high = min(times) / 1.3, max(times) * 1.3
    most = max([cost_us, *(point.saved_us for point in points)]) * 3.0
    least = min(0.0, *(point.saved_us for point in points)) * 1.3
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=_LEAST_TIME * 10)
    axes.set_xlim(low, high)
    axes.set_ylim(min(least, -_LEAST_TIME), most)
    for axis, values, place in (
        (axes.xaxis, round_values(low, high, _LEADING), place_on_x(axes)),
        (axes.yaxis, [0.0, *round_values(1.0, most, (1.0,)), *_negative(least)], place_on_y(axes)),
    ):
        ticks = thin_out(values, lambda tick: f"{tick:,.12g}", place)
        axis.set_ticks(list(ticks), list(ticks.values()))
        axis.set_ticks([], minor=True)
    axes.grid()
    axes.axhline(0.0, color=FAINT, linewidth=1.0, zorder=1.5)
    for pays, colour, marker in ((False, MUTED, "o"), (True, BEST, "^")):
        members = [point for point in points if (point.saved_us > point.cost_us) is pays]
        axes.plot(
            [point.kernel_us for point in members],
            [point.saved_us for point in members],
            marker,
            color=colour,
            markersize=5.0 if pays else 3.5,
        )
    axes.axhline(cost_us, color=BASELINE, linewidth=1.4, linestyle=(0, (5, 2)))
    axes.text(
        low,
        cost_us,
        f" scoring: {cost_us:.3g} µs (heuristic: {HEURISTIC_US:g} µs)",
        color=BASELINE,
        fontsize=SMALL_FONT_SIZE,
        ha="left",
        va="bottom",
    )
    axes.set_xlabel("kernel time of the control, µs")
    axes.set_ylabel("saved at a launch, µs")


def _negative(least: float) -> list[float]:
    """Round losses, largest last."""
    return [-value for value in round_values(1.0, -least, (1.0,))] if least < -1.0 else []


def _draw_misses(axes: Axes, worst: Sequence[ProxyPoint]) -> None:
    """Tile and template parts of the worst misses."""
    write_title(axes, "worst misses by the judge")
    axes.set_ylim(len(worst) - 0.5, -0.5)
    axes.set_yticks(range(len(worst)), [point.name for point in worst])
    axes.tick_params(axis="y", length=0.0, labelcolor=INK)
    values = [
        value
        for point in worst
        for value in (
            point.scoring.tile_ratio,
            point.scoring.template_ratio,
            point.scoring.judged_regret_ratio + 1.0,
        )
    ]
    set_ratio_axis(axes.xaxis, values, place_on_x(axes))
    axes.grid(axis="x")
    draw_unity(axes, vertical=True)
    rows = range(len(worst))
    for values, marker, colour, fill, label in (
        ([p.scoring.judged_regret_ratio + 1.0 for p in worst], "|", INK, "full", "regret"),
        ([p.scoring.tile_ratio for p in worst], "o", BEST, "full", "gain of the tile"),
        (
            [p.scoring.template_ratio for p in worst],
            "D",
            BASELINE,
            "none",
            f"{TIMES} gain of the full-load decision",
        ),
    ):
        axes.plot(
            values,
            rows,
            marker,
            color=colour,
            fillstyle=fill,
            markersize=9.0 if marker == "|" else 5.5,
            markeredgewidth=1.8 if marker == "|" else 1.2,
            label=label,
        )
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, handletextpad=0.2)
    axes.set_xlabel("how much slower the baseline is, and what the selector's choice gains")
