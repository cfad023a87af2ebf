"""JOINT: each improvement alone and left out, and what the best known has beyond it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from autotune.report.figures.style import (
    BASELINE,
    BEST,
    INK,
    PAPER,
    SMALL_FONT_SIZE,
    WIDTH,
    ReportFigure,
    figure_style,
    measure_width,
    new_figure,
    place_axes,
    render_svg,
)
from autotune.report.figures.ticks import even_values
from autotune.report.hypotheses.figures.marks import (
    draw_unity,
    place_on_x,
    set_ratio_axis,
    write_note,
    write_title,
)
from autotune.report.hypotheses.verdict_words import format_signed
from autotune.report.hypotheses.view import IMPROVEMENTS, JOINT, OPT, RunView
from autotune.report.text import format_count, format_percent
from studies.hypotheses.statistics import geometric_mean
from studies.hypotheses.verdicts import FieldGap

NAME = "joint"
TITLE = "JOINT: each improvement alone and left out, and the gap to the best known"

FIELDS_SHOWN = 10
"""Fields that are drawn by name."""
_ROW_HEIGHT = 22.0
_LEFT = 96.0
_RIGHT = 18.0
_GAP = 24.0
_TOP = 54.0
_BOTTOM = 42.0
_BAR = 0.62
_TICKS = 4
_ROOM = 1.08


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """One improvement over all shapes of JOINT, 1 outside its own domain.

    Attributes:
        study: the improvement, or JOINT.
        alone: geometric mean of r when it is made alone.
        left_out: geometric mean of r of JOINT without it; None where there is no such run.
    """

    study: str
    alone: float
    left_out: float | None


def build_joint(view: RunView) -> ReportFigure | None:
    """The figure with its words; None where JOINT was not asked for."""
    lines = list_contributions(view)
    if not lines:
        return None
    gaps = view.results.field_gaps[:FIELDS_SHOWN]
    caption = (
        "Left: geometric mean gain over all shapes of JOINT, each improvement counted as nothing "
        "outside its own domain: made alone (dot), and JOINT without it (ring), beside JOINT "
        "(line). A ring right of the line means that JOINT gains when the improvement is left "
        "out: there the selector is misled. Right: the gap between JOINT and the best known "
        "(OPT), over the shapes where it exceeds 1 %, by the fields in which the two plans "
        "differ; a shape's gap is shared equally among its fields."
    )
    told = [
        f"{line.study.upper()} alone {format_signed(line.alone)}"
        + (f", left out {format_signed(line.left_out)}" if line.left_out is not None else "")
        for line in lines
    ]
    alt = "Gains over all shapes: " + "; ".join(told) + "."
    if gaps:
        alt += " Gap to the best known, largest first: " + ", ".join(
            f"{gap.field} ({format_count(gap.shapes, 'shape')})" for gap in gaps
        )
        alt += "."
    svg = render_svg(
        lambda: draw_joint(lines, gaps, sum_log_gap(view)), title=TITLE, description=alt
    )
    return ReportFigure(name=NAME, title=TITLE, caption=caption, alt=alt, svg=svg)


def list_contributions(view: RunView) -> tuple[Contribution, ...]:
    """The improvements that were run, then JOINT and OPT; empty without JOINT."""
    shapes = view.domains.get(JOINT, ())
    if not shapes:
        return ()
    lines: list[Contribution] = []
    for study in (*IMPROVEMENTS, JOINT, OPT):
        if study not in view.verdicts:
            continue
        found = [shape.answer.find(study) for shape in shapes]
        alone = geometric_mean([item.judged_ratio if item else 1.0 for item in found])
        without = view.verdicts.get(f"{JOINT}_without_{study}")
        left_out = without.summary.geomean if without is not None else None
        lines.append(Contribution(study=study, alone=alone, left_out=left_out))
    return tuple(lines)


def sum_log_gap(view: RunView) -> float:
    """Sum of log(t_joint / t_best) that the fields share."""
    return sum(gap.log_gap for gap in view.results.field_gaps)


def draw_joint(lines: Sequence[Contribution], gaps: Sequence[FieldGap], total: float) -> Figure:
    """Draw both panels; call inside `figure_style`."""
    rows = max(len(lines), len(gaps))
    figure = new_figure(_TOP + _BOTTOM + _ROW_HEIGHT * rows)
    names = [gap.field for gap in gaps]
    with figure_style():
        name_width = measure_width(names, SMALL_FONT_SIZE) * 1.06 + 10.0
    half = (WIDTH - _LEFT - _RIGHT - _GAP - name_width) / 2
    left = place_axes(figure, left=_LEFT / 2, right=WIDTH - _LEFT - half, top=_TOP, bottom=_BOTTOM)
    right = place_axes(figure, left=WIDTH - _RIGHT - half, right=_RIGHT, top=_TOP, bottom=_BOTTOM)
    _draw_contributions(left, lines, rows)
    _draw_fields(right, names, gaps, total, rows)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.0, 1.0), ncols=3)
    return figure


def _draw_contributions(axes: Axes, lines: Sequence[Contribution], rows: int) -> None:
    """Each improvement alone and left out."""
    write_title(axes, "mean gain over all shapes")
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_yticks(range(len(lines)), [line.study.upper() for line in lines])
    axes.tick_params(axis="y", length=0.0, labelcolor=INK)
    values = [v for line in lines for v in (line.alone, line.left_out) if v is not None]
    set_ratio_axis(axes.xaxis, values, place_on_x(axes))
    axes.grid(axis="x")
    draw_unity(axes, vertical=True)
    joint = next(line.alone for line in lines if line.study == JOINT)
    axes.axvline(joint, color=BASELINE, linewidth=1.4, linestyle=(0, (5, 2)), label="JOINT")
    axes.plot(
        [line.alone for line in lines],
        range(len(lines)),
        "o",
        color=BEST,
        markersize=6.5,
        label="alone",
    )
    known = [(place, line.left_out) for place, line in enumerate(lines) if line.left_out]
    axes.plot(
        [value for _, value in known],
        [place for place, _ in known],
        "o",
        markerfacecolor=PAPER,
        markeredgecolor=BASELINE,
        markeredgewidth=1.6,
        markersize=6.5,
        label="JOINT without it",
    )
    axes.set_xlabel("t_control / t_treatment - 1")


def _draw_fields(
    axes: Axes, names: Sequence[str], gaps: Sequence[FieldGap], total: float, rows: int
) -> None:
    """Share of the gap to the best known by field."""
    write_title(axes, "gap to the best known, by field")
    axes.set_ylim(rows - 0.5, -0.5)
    if not gaps:
        axes.set_xticks([])
        axes.set_yticks([])
        write_note(axes, "no gap above 1 %")
        return
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0.0, labelcolor=INK)
    shares = np.array([gap.log_gap for gap in gaps]) / total
    high = float(shares.max()) * _ROOM
    axes.set_xlim(0.0, high)
    ticks = even_values(high, _TICKS)
    axes.set_xticks(ticks, [format_percent(tick).replace(".0", "") for tick in ticks])
    axes.grid(axis="x")
    axes.barh(range(len(gaps)), shares, height=_BAR, color=BEST)
    axes.set_xlabel("part of the summed gap (log)")
