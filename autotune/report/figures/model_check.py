"""Predicted against measured time of the kernels that were timed on a chip."""

from matplotlib.figure import Figure

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
from autotune.report.text import format_count, format_percent
from hwmodel.validation.classes import ErrorClass
from hwmodel.validation.errors_report import ErrorReport

NAME = "predicted_against_measured"

_SIDE = 400.0
_LEFT = 56.0
_TOP = 12.0
_BOTTOM = 44.0
_BAND = 0.1
"""Half width of the band around perfect agreement."""

_ROOM = 1.25
_LEADING = (1.0, 2.0, 5.0)
_LONG_AXIS = 1000.0
"""Ratio of the ends of an axis from which only powers of ten have room."""

_MARK_SIZE = 26.0
_LEGEND_SPACE = 16.0

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
) -> ReportFigure:
    """The figure with its words.

    Args:
        report: the evaluator's predictions of the measured kernels.
        evaluator: name of the model.
        soc: chip whose figures the model used.
        fitted: the model has constants fitted to most of these kernels.
    """
    title = f"Predicted against measured: the {evaluator} model"
    caption = (
        f"Each mark is a kernel that was timed on a chip; on the diagonal the {evaluator} model "
        "is exactly right, in the grey band it is within 10 %. Predictions use the figures of "
        f"{soc}, as this run did."
    )
    if fitted:
        caption += (
            " Most of these kernels are among those that the constants were fitted to, so the "
            "cross-validated errors in the table above are the fairer judge."
        )
    within = sum(row.ape <= _BAND for row in report.rows)
    alt = (
        f"Scatter plot of {format_count(len(report.rows), 'measured kernel')} on logarithmic "
        f"scales: {within} predictions are within 10 % of the measured time; the median error is "
        f"{format_percent(report.median_ape)}, the largest {format_percent(report.max_ape)}."
    )
    svg = render_svg(lambda: draw_model_check(report), title=title, description=alt)
    return ReportFigure(name=NAME, title=title, caption=caption, alt=alt, svg=svg)


def draw_model_check(report: ErrorReport) -> Figure:
    """Draw the scatter; call inside `figure_style`."""
    figure = new_figure(_TOP + _SIDE + _BOTTOM)
    axes = place_axes(figure, left=_LEFT, right=WIDTH - _LEFT - _SIDE, top=_TOP, bottom=_BOTTOM)
    times = [time for row in report.rows for time in (row.predicted_us, row.measured_us)]
    low, high = min(times) / _ROOM, max(times) * _ROOM
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    ticks = thin_out(
        round_values(low, high, (1.0,) if high > _LONG_AXIS * low else _LEADING),
        lambda tick: f"{tick:,.12g}",
        lambda tick: float(axes.transData.transform((tick, low))[0]),
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(list(ticks), list(ticks.values()))
        axis.set_ticks([], minor=True)
    axes.grid()
    ends = [low, high]
    axes.fill_between(
        ends,
        [end * (1.0 - _BAND) for end in ends],
        [end * (1.0 + _BAND) for end in ends],
        color=RULE,
        linewidth=0.0,
        label="within 10 %",
    )
    axes.plot(ends, ends, color=FAINT, linewidth=1.0, zorder=1.5)
    for error_class, (marker, colour) in _MARKS.items():
        rows = [row for row in report.rows if row.error_class is error_class]
        if rows:
            axes.scatter(
                [row.measured_us for row in rows],
                [row.predicted_us for row in rows],
                s=_MARK_SIZE,
                marker=marker,
                color=colour,
                edgecolor=PAPER,
                linewidth=0.5,
                zorder=3,
                label=f"{error_class.value.replace('_', ' ')} ({len(rows)})",
            )
    axes.set_xlabel("measured, µs")
    axes.set_ylabel("predicted, µs")
    for text, place, align in (
        ("predicted too slow", 0.97, "left"),
        ("predicted too fast", 0.03, "right"),
    ):
        axes.text(
            1.0 - place,
            place,
            text,
            transform=axes.transAxes,
            color=MUTED,
            fontsize=SMALL_FONT_SIZE,
            ha=align,
            va="top" if place > 0.5 else "bottom",
        )
    figure.legend(
        loc="upper left",
        bbox_to_anchor=((_LEFT + _SIDE + _LEGEND_SPACE) / WIDTH, 1.0),
        title="class (kernels)",
        title_fontproperties={"size": SMALL_FONT_SIZE},
        alignment="left",
        labelcolor=INK,
    )
    return figure
