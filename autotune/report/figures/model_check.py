"""Predicted against measured time of the kernels that were timed on a chip."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from autotune.report.figures.style import (
    BASELINE,
    BEST,
    FAINT,
    FIFTH,
    FOURTH,
    INK,
    MUTED,
    PAPER,
    RULE,
    SMALL_FONT_SIZE,
    THIRD,
    WIDTH,
    ReportFigure,
    new_figure,
    place_axes,
    render_svg,
)
from autotune.report.figures.ticks import round_values, thin_out
from autotune.report.text import format_count, format_percent, name_class
from hwmodel.validation.classes import ErrorClass
from hwmodel.validation.errors_report import ErrorReport, RowError

NAME = "predicted_against_measured"

_HEIGHT = 350.0
_LEFT = 56.0
_ERRORS_WIDTH = 374.0
_SIDE = 234.0
_RIGHT = 28.0
_TOP = 66.0
_BOTTOM = 44.0
_BAND = 0.1
"""Half width of the band around perfect agreement."""

_ROOM = 1.25
_LEADING = (1.0, 2.0, 5.0)
_LONG_AXIS = 1000.0
"""Ratio of the ends of an axis from which only powers of ten have room."""

_MARK_SIZE = 26.0
_SMALL_MARK_SIZE = 14.0
_ERROR_ROOM = 1.1
_LEAST_LIMIT = 0.15
_MOST_SHOWN = 1.0
"""Larger errors are drawn here, at the edge of the panel."""

_ERROR_TICKS = 6

_MARKS = {
    ErrorClass.COMPUTE_BOUND: ("o", BEST),
    ErrorClass.READ_BOUND: ("s", BASELINE),
    ErrorClass.OUTPUT_HEAVY: ("^", THIRD),
    ErrorClass.SMALL: ("D", FOURTH),
    ErrorClass.STREAM_K: ("v", FIFTH),
}
"""A marker and a colour a class, so that neither colour vision nor a grey printer matters."""


def build_model_check(
    report: ErrorReport, evaluator: str, soc: str, *, fitted: bool
) -> ReportFigure | None:
    """The figure with its words; None when there is no kernel that may be shown one by one.

    Args:
        report: the evaluator's predictions of the measured kernels; the locked ones stay unseen.
        evaluator: name of the model.
        soc: chip that the kernels ran on, whose figures the model used.
        fitted: the model has constants fitted to these kernels.
    """
    rows = report.open_rows
    if not rows:
        return None
    title = f"Predicted against measured: the {evaluator} model"
    caption = (
        "Each mark is a kernel that was timed on a chip. Left: how wrong the prediction is; in "
        "the grey band it is within 10 %. Right: the same kernels, predicted against measured "
        f"time. Kernels and figures are those of {soc}."
    )
    if fitted:
        caption += (
            " The model's constants were fitted to these kernels, so the cross-validated errors "
            "in the table above are the fairer judge."
        )
    kept_back = report.kept_back
    if kept_back is not None:
        caption += (
            f" {format_count(kept_back.n, 'kernel')} held back from every fit are judged only "
            f"together and not drawn: median error {format_percent(kept_back.median_ape)}, one in "
            f"ten wrong by more than {format_percent(kept_back.p90_ape)}."
        )
    if any(row.signed_error > _MOST_SHOWN for row in rows):
        caption += f" Errors beyond {format_percent(_MOST_SHOWN)} are drawn there."
    within = sum(row.ape <= _BAND for row in rows)
    median, largest = float(np.median([row.ape for row in rows])), max(row.ape for row in rows)
    alt = (
        f"Two scatter plots of {format_count(len(rows), 'measured kernel')}, error and predicted "
        f"time against measured time: {within} predictions are within 10 % of the measured time; "
        f"the median error is {format_percent(median)}, the largest {format_percent(largest)}."
    )
    svg = render_svg(lambda: draw_model_check(rows), title=title, description=alt)
    return ReportFigure(name=NAME, title=title, caption=caption, alt=alt, svg=svg)


def draw_model_check(rows: Sequence[RowError]) -> Figure:
    """Draw both panels; call inside `figure_style`."""
    figure = new_figure(_HEIGHT)
    errors = place_axes(
        figure, left=_LEFT, right=WIDTH - _LEFT - _ERRORS_WIDTH, top=_TOP, bottom=_BOTTOM
    )
    times = place_axes(figure, left=WIDTH - _RIGHT - _SIDE, right=_RIGHT, top=_TOP, bottom=_BOTTOM)
    _prepare_errors(errors, rows)
    _prepare_times(times, rows)
    handles: list[Artist] = [errors.fill_between([], [], color=RULE, label="within 10 %")]
    for error_class, (marker, colour) in _MARKS.items():
        members = [row for row in rows if row.error_class is error_class]
        if members:
            handles.append(_draw_class(errors, times, members, marker, colour))
    figure.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=3,
        title="class (kernels): median error",
        title_fontproperties={"size": SMALL_FONT_SIZE},
        alignment="left",
        labelcolor=INK,
    )
    return figure


def _prepare_errors(axes: Axes, rows: Sequence[RowError]) -> None:
    """The panel of the errors: a band, a line at 0, percent labels."""
    measured = [row.measured_us for row in rows]
    low, high = min(measured) / _ROOM, max(measured) * _ROOM
    limit = max(_LEAST_LIMIT, min(_MOST_SHOWN, max(row.ape for row in rows)) * _ERROR_ROOM)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(-limit, limit)
    _set_time_ticks(axes.xaxis, low, high, lambda tick: axes.transData.transform((tick, 0.0))[0])
    ticks = [
        float(tick)
        for tick in MaxNLocator(_ERROR_TICKS).tick_values(-limit, limit)
        if abs(tick) <= limit
    ]
    axes.set_yticks(ticks, [f"{tick * 100:+,.12g} %" if tick else "0 %" for tick in ticks])
    axes.grid()
    axes.axhspan(-_BAND, _BAND, color=RULE, linewidth=0.0, zorder=0)
    axes.axhline(0.0, color=FAINT, linewidth=1.0, zorder=1.5)
    axes.set_xlabel("measured, µs")
    axes.set_ylabel("error: predicted / measured - 1")
    for text, place, align in (("predicted too slow", 0.97, "top"), ("too fast", 0.03, "bottom")):
        axes.text(
            0.98,
            place,
            text,
            transform=axes.transAxes,
            color=MUTED,
            fontsize=SMALL_FONT_SIZE,
            ha="right",
            va=align,
        )


def _prepare_times(axes: Axes, rows: Sequence[RowError]) -> None:
    """The panel of the times: the same kernels, both times on logarithmic scales."""
    both = [time for row in rows for time in (row.predicted_us, row.measured_us)]
    low, high = min(both) / _ROOM, max(both) * _ROOM
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    for axis in (axes.xaxis, axes.yaxis):
        _set_time_ticks(axis, low, high, lambda tick: axes.transData.transform((tick, low))[0])
    axes.grid()
    ends = [low, high]
    axes.fill_between(
        ends,
        [end * (1.0 - _BAND) for end in ends],
        [end * (1.0 + _BAND) for end in ends],
        color=RULE,
        linewidth=0.0,
    )
    axes.plot(ends, ends, color=FAINT, linewidth=1.0, zorder=1.5)
    axes.set_xlabel("measured, µs")
    axes.set_ylabel("predicted, µs")


def _set_time_ticks(axis: Axis, low: float, high: float, place: Callable[[float], float]) -> None:
    """Round times as ticks, fewer on a long axis."""
    leading = (1.0,) if high > _LONG_AXIS * low else _LEADING
    ticks = thin_out(
        round_values(low, high, leading),
        lambda tick: f"{tick:,.12g}",
        lambda tick: float(place(tick)),
    )
    axis.set_ticks(list(ticks), list(ticks.values()))
    axis.set_ticks([], minor=True)


def _draw_class(
    errors: Axes, times: Axes, rows: Sequence[RowError], marker: str, colour: str
) -> PathCollection:
    """The marks of one class in both panels; returns those with the label."""
    measured = [row.measured_us for row in rows]
    median = float(np.median([row.ape for row in rows]))
    style: Any = {"marker": marker, "color": colour, "edgecolor": PAPER, "linewidth": 0.5}
    times.scatter(
        measured, [row.predicted_us for row in rows], s=_SMALL_MARK_SIZE, zorder=3, **style
    )
    return errors.scatter(
        measured,
        [min(row.signed_error, _MOST_SHOWN) for row in rows],
        s=_MARK_SIZE,
        zorder=3,
        label=f"{name_class(rows[0].error_class)} ({len(rows)}): {format_percent(median)}",
        **style,
    )
