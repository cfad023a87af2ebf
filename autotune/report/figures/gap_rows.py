"""Gap per shape: a row a shape, with baseline and best as multiples of the roofline.

The figure grows with the number of rows, so that its text stays as large with 210 shapes as with
one. A long list is cut into pages with a common scale, each short enough to print.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from autotune.report.aggregates import CountedRow, gap_order
from autotune.report.figures.style import (
    BASELINE,
    BEST,
    FAINT,
    INK,
    MUTED,
    PAPER,
    POINTS_PER_INCH,
    RULE,
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
from autotune.report.text import (
    TIMES,
    clean_text,
    clip_text,
    format_count,
    format_gap,
    format_percent,
    format_product,
    format_us,
)

OVERVIEW_ROWS = 30
"""Rows of the overview: what fits one screen and is read in a minute."""

PAGE_ROWS = 60
"""Rows of one page of the other shapes: what fits a printed page."""

LEAST_GAP = 0.001
"""Smaller gaps are not drawn on the pages: the two marks would hide each other."""

NAME_COLUMNS = 44
"""Longest name shown, in characters."""

_SIZE_HEAD = f"m {TIMES} k {TIMES} n"
_TIME_HEAD = "time, µs"
_ROW_HEIGHT = 15.0
_TOP = 48.0
_BOTTOM = 36.0
_HEAD_HEIGHT = 10.0
_COLUMN_SPACE = 12.0
_BASELINE_SIZE = 34.0
_BEST_SIZE = 26.0
_RESOLVED_LINE = 1.8
_UNRESOLVED_LINE = 1.2
_SLACK = 1.06
"""Room for fonts that are a little wider than the measured one."""

_LEADING = (1.0, 1.1, 1.2, 1.3, 1.5, 1.7, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0)

_LEFT_EDGE = 0.97
_LEAST_RIGHT_EDGE = 1.3
_RIGHT_ROOM = 1.06


@dataclass(frozen=True, slots=True, kw_only=True)
class GapLine:
    """One row of the figure, ready to draw."""

    name: str
    size: str
    gap: str
    gap_ratio: float
    times: str
    baseline: float
    best: float
    resolved: bool


def build_gap_overview(items: Sequence[CountedRow]) -> ReportFigure | None:
    """The shapes with the largest gaps, largest first; None when no shape can be drawn."""
    lines = build_lines(items)
    if not lines:
        return None
    shown = lines[:OVERVIEW_ROWS]
    caption = (
        f"{_count_shown(len(shown), len(lines))} The distance between the two marks is the gap: "
        "how much longer the vendor's tiling takes (diamond) than the best found (dot). Both are "
        "multiples of the roofline, the vertical line at 1, which no tiling can beat."
    )
    resolved = sum(line.resolved for line in shown)
    if len(shown) == 1:
        alt = f"Dot plot of one shape with a gap of {shown[0].gap}."
    else:
        alt = (
            f"Dot plot of {format_count(len(shown), 'shape')}, sorted by gap from {shown[0].gap} "
            f"({shown[0].name or shown[0].size}) down to {shown[-1].gap}; {resolved} of these "
            "gaps are resolved. The table of all shapes holds the same numbers."
        )
    return _render("gap_per_shape", "Gap per shape", caption, alt, shown, find_right_edge(lines))


def _count_shown(shown: int, count: int) -> str:
    """Which shapes the overview shows."""
    if count == 1:
        return "The row is the shape."
    if shown == count:
        return "Each row is a shape, largest gap first."
    return f"Each row is a shape: the {shown} largest gaps of {count:,}."


def build_gap_pages(items: Sequence[CountedRow]) -> tuple[ReportFigure, ...]:
    """The shapes after those of the overview, in pages, as long as there is a gap to see."""
    lines = build_lines(items)
    rest = [line for line in lines[OVERVIEW_ROWS:] if line.gap_ratio >= LEAST_GAP]
    if not rest:
        return ()
    below = sum(line.gap_ratio < LEAST_GAP for line in lines)
    page_count = math.ceil(len(rest) / PAGE_ROWS)
    page_rows = math.ceil(len(rest) / page_count)
    figures: list[ReportFigure] = []
    for number in range(1, page_count + 1):
        first = (number - 1) * page_rows
        shown = rest[first : first + page_rows]
        start = OVERVIEW_ROWS + first + 1
        places = f"{start} to {start + len(shown) - 1} of {len(lines):,}"
        left_out = (
            f" {format_count(below, 'shape')} with a gap below {format_percent(LEAST_GAP)} "
            f"{'is' if below == 1 else 'are'} not drawn."
            if below and number == page_count
            else ""
        )
        figures.append(
            _render(
                f"gap_per_shape_{number}",
                f"Gap per shape, continued: page {number} of {page_count}",
                f"Shapes {places}, largest gap first, after those of the first figure.{left_out}",
                f"Dot plot of shapes {places}, gaps from {shown[0].gap} down to {shown[-1].gap}. "
                "The table of all shapes holds the same numbers.",
                shown,
                find_right_edge(rest),
            )
        )
    return tuple(figures)


def draw_gap_rows(lines: Sequence[GapLine], right_edge: float) -> Figure:
    """Draw the rows; call inside `figure_style`."""
    columns = _Columns.measure(lines)
    figure = new_figure(_TOP + _BOTTOM + _ROW_HEIGHT * len(lines))
    axes = place_axes(
        figure, left=columns.axes_left, right=columns.axes_right, top=_TOP, bottom=_BOTTOM
    )
    _prepare_axes(axes, len(lines), right_edge)
    _draw_marks(axes, lines)
    for position, line in enumerate(lines):
        _draw_texts(figure, axes, columns, position, line)
    _draw_header(figure, axes, columns)
    return figure


def build_lines(items: Sequence[CountedRow]) -> list[GapLine]:
    """Drawable rows, largest gap first; a shape without a roofline has no place on the axis."""
    lines: list[GapLine] = []
    for item in sorted(items, key=gap_order):
        compared = item.compared
        if compared.roofline_us <= 0.0:
            continue
        baseline_us, best_us = compared.baseline.predicted_us, compared.best.predicted_us
        problem = item.row.problem
        name = clean_text(item.row.name)
        lines.append(
            GapLine(
                name="" if name == problem.label() else clip_text(name, NAME_COLUMNS),
                size=format_product(problem.m, problem.k, problem.n),
                gap=format_gap(compared.gap_ratio),
                gap_ratio=compared.gap_ratio,
                times=f"{format_us(baseline_us)} → {format_us(best_us)}",
                baseline=baseline_us / compared.roofline_us,
                best=best_us / compared.roofline_us,
                resolved=compared.resolved,
            )
        )
    return lines


def find_right_edge(lines: Sequence[GapLine]) -> float:
    """Right end of the axis, in multiples of the roofline."""
    return max(_LEAST_RIGHT_EDGE, max(line.baseline for line in lines) * _RIGHT_ROOM)


def _render(
    name: str, title: str, caption: str, alt: str, lines: Sequence[GapLine], right_edge: float
) -> ReportFigure:
    """The figure with its words."""
    svg = render_svg(lambda: draw_gap_rows(lines, right_edge), title=title, description=alt)
    return ReportFigure(name=name, title=title, caption=caption, alt=alt, svg=svg)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """Where the columns of text end, in points from the left edge, and the axes between them."""

    name_left: float
    size_right: float
    axes_left: float
    axes_right: float
    gap_right: float
    times_right: float

    @staticmethod
    def measure(lines: Sequence[GapLine]) -> "_Columns":
        """Columns just wide enough for their texts."""
        with figure_style():
            name = _column_width([line.name for line in lines])
            size = _column_width([line.size for line in lines] + [_SIZE_HEAD])
            gap = _column_width([line.gap for line in lines], "bold")
            times = _column_width([line.times for line in lines] + [_TIME_HEAD])
        size_right = _COLUMN_SPACE + name + (_COLUMN_SPACE if name else 0.0) + size
        times_right = WIDTH - _COLUMN_SPACE / 2
        gap_right = times_right - times - _COLUMN_SPACE
        return _Columns(
            name_left=_COLUMN_SPACE / 2,
            size_right=size_right,
            axes_left=size_right + _COLUMN_SPACE,
            axes_right=WIDTH - gap_right + gap + _COLUMN_SPACE,
            gap_right=gap_right,
            times_right=times_right,
        )


def _column_width(texts: Sequence[str], weight: str = "normal") -> float:
    """Width of the widest text, with a little slack."""
    return measure_width(texts, SMALL_FONT_SIZE, weight) * _SLACK


def _prepare_axes(axes: Axes, row_count: int, right_edge: float) -> None:
    """Scale, ticks, grid and the roofline."""
    axes.set_xscale("log")
    axes.set_xlim(_LEFT_EDGE, right_edge)
    axes.set_ylim(row_count - 0.5, -0.5)
    axes.set_yticks([])
    ticks = thin_out(
        round_values(1.0, right_edge, _LEADING),
        lambda tick: f"{tick:,.12g}{TIMES}",
        lambda tick: float(axes.transData.transform((tick, 0.0))[0]),
    )
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.set_xticks([], minor=True)
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    axes.axvline(1.0, color=INK, linewidth=1.2)
    axes.set_xlabel("predicted time as a multiple of the roofline")


def _draw_marks(axes: Axes, lines: Sequence[GapLine]) -> None:
    """The two marks of every row and the gap between them."""
    places = list(range(len(lines)))
    axes.hlines(places, _LEFT_EDGE, axes.get_xlim()[1], color=RULE, linewidth=0.4, zorder=0)
    best, baseline = [line.best for line in lines], [line.baseline for line in lines]
    axes.hlines(
        places,
        best,
        baseline,
        color=[INK if line.resolved else FAINT for line in lines],
        linewidth=[_RESOLVED_LINE if line.resolved else _UNRESOLVED_LINE for line in lines],
    )
    axes.scatter(
        baseline,
        places,
        s=_BASELINE_SIZE,
        marker="D",
        facecolor=PAPER,
        edgecolor=BASELINE,
        linewidth=1.3,
        zorder=3,
    )
    axes.scatter(best, places, s=_BEST_SIZE, marker="o", color=BEST, linewidth=0.0, zorder=4)


def _draw_texts(
    figure: Figure, axes: Axes, columns: _Columns, position: int, line: GapLine
) -> None:
    """The texts of a row, left and right of the axes."""
    y = figure.transFigure.inverted().transform(axes.transData.transform((1.0, position)))[1]
    put = _text_putter(figure, y)
    put(columns.name_left, line.name, INK, "left")
    put(columns.size_right, line.size, MUTED, "right")
    put(
        columns.gap_right,
        line.gap,
        INK if line.resolved else MUTED,
        "right",
        "bold" if line.resolved else "normal",
    )
    put(columns.times_right, line.times, MUTED, "right")


def _text_putter(figure: Figure, y: float) -> Any:
    """A function that writes texts at height `y` (a part of the figure), `x` in points."""

    def put(x: float, text: str, colour: str, align: str, weight: str = "normal") -> None:
        if text:
            figure.text(
                x / WIDTH,
                y,
                text,
                color=colour,
                fontsize=SMALL_FONT_SIZE,
                fontweight=weight,
                ha=align,
                va="center_baseline",
            )

    return put


def _draw_header(figure: Figure, axes: Axes, columns: _Columns) -> None:
    """Column heads and the legend above the rows."""
    height = figure.get_size_inches()[1] * POINTS_PER_INCH
    put = _text_putter(figure, 1.0 - (_TOP - _HEAD_HEIGHT) / height)
    put(columns.size_right, _SIZE_HEAD, MUTED, "right")
    put(columns.gap_right, "gap", MUTED, "right")
    put(columns.times_right, _TIME_HEAD, MUTED, "right")
    handles = [
        axes.plot(
            [], [], "D", color=BASELINE, fillstyle="none", markersize=6, label="vendor's tiling"
        )[0],
        axes.plot([], [], "o", color=BEST, markersize=5.5, label="best tiling found")[0],
        axes.plot([], [], color=INK, linewidth=_RESOLVED_LINE, label="resolved gap (bold)")[0],
        axes.plot([], [], color=FAINT, linewidth=_UNRESOLVED_LINE, label="gap not resolved")[0],
    ]
    figure.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=len(handles),
        handletextpad=0.5,
        columnspacing=1.6,
    )
