"""H3: bytes saved and L1 used by resident slabs, between "fits" and "does not fit"."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from autotune.report.figures.style import (
    BASELINE,
    BEST,
    FAINT,
    FOURTH,
    MUTED,
    SMALL_FONT_SIZE,
    WIDTH,
    ReportFigure,
    new_figure,
    place_axes,
    render_svg,
)
from autotune.report.figures.ticks import even_values
from autotune.report.hypotheses.figures.marks import (
    draw_outcomes,
    list_outcome_handles,
    place_on_x,
    place_on_y,
    set_size_axis,
    write_title,
)
from autotune.report.hypotheses.view import RunView
from autotune.report.text import format_count, format_percent
from hwmodel.plan import Template

NAME = "h3_residency"
TITLE = 'H3: loads saved and L1 used between "fits" and "does not fit"'

FULL_LOAD_SHARE = 0.75
"""Part of L1 that an operand may fill under the operator's full load (specification:
host-tiling.md, section 8)."""

_HEIGHT = 570.0
_LEFT = 58.0
_RIGHT = 16.0
_GAP = 66.0
_TOP = 56.0
_BOTTOM = 40.0
_ROW_GAP = 66.0
_MOST_SHARE_TICKS = 5
_SAVED_ROOM = 1.1
_LEAST_SAVED = 0.1
_FEW_BYTES = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentPoint:
    """The selector's best resident plan of one shape beside the control.

    Attributes:
        m: rows of C.
        k: depth.
        over_l1: bytes of the operand that is kept, over those of L1.
        saved_ratio: part of the loads into L1 that it saves; negative when it loads more.
        control_l1_ratio: part of L1 that the control uses.
        best_l1_ratio: part that the resident plan uses.
        ratio: t_control / t_resident by the judge.
    """

    m: int
    k: int
    over_l1: float
    saved_ratio: float
    control_l1_ratio: float
    best_l1_ratio: float
    ratio: float


def build_h3(view: RunView) -> ReportFigure | None:
    """The figure with its words; None where no resident plan was judged."""
    points = list_points(view)
    if not points:
        return None
    saving = sum(point.saved_ratio > _FEW_BYTES for point in points)
    caption = (
        "Each mark is the selector's best plan with resident slabs, whether it was chosen or not; "
        "kind and size say what it gains in time. Top left: part of the bytes loaded into L1 that "
        "it saves, against the size of the operand that it keeps, in multiples of L1: left of "
        "the line at 1 it fits, left of 0.75 the operator's full load may take it. Top right: L1 "
        "used before (open) and after (filled). Below: where over K and M, with the saved part "
        "of the loads as area."
    )
    alt = (
        f"Three scatter plots of {format_count(len(points), 'shape')}: resident slabs save more "
        f"than 1 % of the loads into L1 for {saving}, at most "
        f"{format_percent(max(point.saved_ratio for point in points))}; the judge finds "
        f"{sum(point.ratio > 1.01 for point in points)} faster by more than 1 % and "
        f"{sum(point.ratio < 1 / 1.01 for point in points)} slower."
    )
    svg = render_svg(lambda: draw_h3(points), title=TITLE, description=alt)
    return ReportFigure(name=NAME, title=TITLE, caption=caption, alt=alt, svg=svg)


def list_points(view: RunView) -> tuple[ResidentPoint, ...]:
    """The shapes of the domain with a judged resident plan."""
    l1_bytes = view.spec.buffers.l1_bytes
    points = []
    for shape in view.domains.get("h3", ()):
        effect, problem = shape.answer.h3, shape.row.problem
        if effect is None:
            continue
        keeps_a = effect.best.plan.template in {Template.A_PARTIAL, Template.A_PANEL}
        saved_bytes = effect.control_load_bytes - effect.best_load_bytes
        points.append(
            ResidentPoint(
                m=problem.m,
                k=problem.k,
                over_l1=effect.a_over_l1 if keeps_a else effect.b_over_l1,
                saved_ratio=saved_bytes / effect.control_load_bytes,
                control_l1_ratio=effect.control_l1_bytes / l1_bytes,
                best_l1_ratio=effect.best_l1_bytes / l1_bytes,
                ratio=shape.answer.baseline.judge_us / effect.best.judge_us,
            )
        )
    return tuple(points)


def draw_h3(points: Sequence[ResidentPoint]) -> Figure:
    """Draw the three panels; call inside `figure_style`."""
    figure = new_figure(_HEIGHT)
    half = (WIDTH - _LEFT - _GAP - _RIGHT) / 2
    row = (_HEIGHT - _TOP - _BOTTOM - _ROW_GAP) / 2
    box = {"top": _TOP, "bottom": _HEIGHT - _TOP - row}
    saved = place_axes(figure, left=_LEFT, right=WIDTH - _LEFT - half, **box)
    used = place_axes(figure, left=WIDTH - _RIGHT - half, right=_RIGHT, **box)
    over = place_axes(figure, left=_LEFT, right=_RIGHT, top=_TOP + row + _ROW_GAP, bottom=_BOTTOM)
    _draw_saved(saved, points)
    _draw_used(used, points)
    _draw_over(over, points)
    figure.legend(
        handles=list_outcome_handles(), loc="upper center", bbox_to_anchor=(0.5, 1.0), ncols=3
    )
    return figure


def _prepare_fit(axes: Axes, points: Sequence[ResidentPoint]) -> None:
    """Axis of the operand's size with the two limits."""
    set_size_axis(axes.xaxis, [*(point.over_l1 for point in points), 1.0], place_on_x(axes))
    for limit, colour, dashes in ((1.0, FAINT, "solid"), (FULL_LOAD_SHARE, FOURTH, (0, (4, 2)))):
        axes.axvline(limit, color=colour, linewidth=1.2, linestyle=dashes, zorder=1.5)
    axes.set_xlabel("kept operand / L1")
    axes.grid()


def _draw_saved(axes: Axes, points: Sequence[ResidentPoint]) -> None:
    """Saved loads against the operand's size."""
    write_title(axes, "loads into L1 that are saved")
    _prepare_fit(axes, points)
    shares = [point.saved_ratio for point in points]
    high = max(_LEAST_SAVED, max(shares)) * _SAVED_ROOM * _SAVED_ROOM
    low = min(0.0, min(shares)) * _SAVED_ROOM
    axes.set_ylim(low - 0.02 * (high - low), high)
    _set_percents(axes, low, high)
    axes.axhline(0.0, color=FAINT, linewidth=1.0, zorder=1.5)
    draw_outcomes(axes, [p.over_l1 for p in points], shares, [p.ratio for p in points])
    for text, align, shift in (("fits L1", "right", -14.0), ("does not fit", "left", 6.0)):
        axes.annotate(
            text,
            (1.0, high),
            xytext=(shift, -8.0),
            textcoords="offset points",
            ha=align,
            color=MUTED,
            fontsize=SMALL_FONT_SIZE,
        )


def _set_percents(axes: Axes, low: float, high: float) -> None:
    """Percent labels from low to high."""
    ticks = even_values(high, _MOST_SHARE_TICKS)
    ticks += [-tick for tick in even_values(-low, _MOST_SHARE_TICKS) if tick] if low < 0.0 else []
    axes.set_yticks(ticks, [f"{tick * 100:,.12g} %" for tick in ticks])


def _draw_used(axes: Axes, points: Sequence[ResidentPoint]) -> None:
    """L1 used before and after."""
    write_title(axes, "L1 used, before and after")
    _prepare_fit(axes, points)
    axes.set_ylim(0.0, 1.04)
    _set_percents(axes, 0.0, 1.0)
    for point in points:
        axes.plot(
            [point.over_l1] * 2,
            [point.control_l1_ratio, point.best_l1_ratio],
            color=FAINT,
            linewidth=0.8,
            zorder=1.6,
        )
    x = [point.over_l1 for point in points]
    axes.plot(
        x, [p.control_l1_ratio for p in points], "D", fillstyle="none", color=BASELINE, ms=4.0
    )
    axes.plot(x, [p.best_l1_ratio for p in points], "o", color=BEST, ms=4.0)
    axes.legend(
        handles=[
            Line2D(
                [], [], ls="none", marker="D", fillstyle="none", color=BASELINE, label="before"
            ),
            Line2D([], [], ls="none", marker="o", color=BEST, label="after"),
        ],
        loc="lower right",
        bbox_to_anchor=(1.0, 0.97),
        ncols=2,
        handletextpad=0.1,
    )


def _draw_over(axes: Axes, points: Sequence[ResidentPoint]) -> None:
    """Outcomes over K and M, saved loads as rings."""
    write_title(axes, "over K and M; rings: loads saved, as area")
    set_size_axis(axes.xaxis, [point.k for point in points], place_on_x(axes))
    set_size_axis(axes.yaxis, [point.m for point in points], place_on_y(axes))
    axes.grid()
    x, y = [float(point.k) for point in points], [float(point.m) for point in points]
    axes.scatter(
        x,
        y,
        s=[_RING_AREA * max(0.0, point.saved_ratio) for point in points],
        facecolor="none",
        edgecolor=FOURTH,
        linewidth=0.9,
        clip_on=False,
        zorder=1.8,
    )
    draw_outcomes(axes, x, y, [point.ratio for point in points])
    axes.set_xlabel("K")
    axes.set_ylabel("M")


_RING_AREA = 700.0
"""Area of the ring of a plan that loads nothing, square points."""
