"""Optimism: what the selector believes to gain against what the judge finds, shape by shape."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from autotune.report.figures.style import (
    FAINT,
    MUTED,
    SMALL_FONT_SIZE,
    WIDTH,
    ReportFigure,
    new_figure,
    place_axes,
    render_svg,
)
from autotune.report.hypotheses.figures.marks import (
    draw_outcomes,
    draw_unity,
    list_outcome_handles,
    place_on_x,
    place_on_y,
    set_ratio_axis,
    write_title,
)
from autotune.report.hypotheses.verdict_words import format_signed
from autotune.report.hypotheses.view import IMPROVEMENTS, JOINT, RunView
from autotune.report.text import format_count
from studies.hypotheses.answers import Comparison

NAME = "optimism"
TITLE = "Optimism: the selector's gain against the judge's"
CAPTION = (
    "One panel a study, the same axes in all. Across: the gain that the selector saw when it "
    "chose the plan, never below 0; up: what the judge finds. On the rising line they agree; "
    "below it the selector was too optimistic, and below 0 the choice loses. Shapes that keep "
    "their plan lie at 0 on both axes and are not drawn."
)

_COLUMNS = 4
_PANEL_HEIGHT = 165.0
_ROW_GAP = 48.0
_LEFT = 60.0
_RIGHT = 14.0
_GAP = 16.0
_TOP = 56.0
_BOTTOM = 42.0


def build_optimism(view: RunView) -> ReportFigure | None:
    """The figure with its words; None where no study changes a plan."""
    panels = [
        (study, [s.comparison for s in view.domains[study] if s.comparison.changed_fields])
        for study in (*IMPROVEMENTS, JOINT)
        if study in view.verdicts
    ]
    panels = [(study, comparisons) for study, comparisons in panels if comparisons]
    if not panels:
        return None
    told = [
        f"{study.upper()}: selector {format_signed(view.verdicts[study].selected_geomean)}, judge "
        f"{format_signed(view.verdicts[study].summary.geomean)}"
        for study, _ in panels
    ]
    alt = f"{format_count(len(panels), 'scatter plot')}; mean gains: {'; '.join(told)}."
    svg = render_svg(lambda: draw_optimism(panels), title=TITLE, description=alt)
    return ReportFigure(name=NAME, title=TITLE, caption=CAPTION, alt=alt, svg=svg)


def draw_optimism(panels: Sequence[tuple[str, Sequence[Comparison]]]) -> Figure:
    """Draw the panels; call inside `figure_style`."""
    rows = -(-len(panels) // _COLUMNS)
    height = _TOP + _BOTTOM + rows * _PANEL_HEIGHT + (rows - 1) * _ROW_GAP
    figure = new_figure(height)
    width = (WIDTH - _LEFT - _RIGHT - _GAP * (_COLUMNS - 1)) / _COLUMNS
    everything = [comparison for _, comparisons in panels for comparison in comparisons]
    for place, (study, comparisons) in enumerate(panels):
        row, column = divmod(place, _COLUMNS)
        left = _LEFT + column * (width + _GAP)
        top = _TOP + row * (_PANEL_HEIGHT + _ROW_GAP)
        axes = place_axes(
            figure,
            left=left,
            right=WIDTH - left - width,
            top=top,
            bottom=height - top - _PANEL_HEIGHT,
        )
        _draw_panel(axes, study, comparisons, everything)
        if column:
            axes.set_yticklabels([])
        else:
            axes.set_ylabel("judge's gain")
        axes.set_xlabel("selector's gain")
    figure.legend(
        handles=list_outcome_handles(), loc="upper center", bbox_to_anchor=(0.5, 1.0), ncols=3
    )
    return figure


def _draw_panel(
    axes: Axes, study: str, comparisons: Sequence[Comparison], everything: Sequence[Comparison]
) -> None:
    """One study with the axes of all."""
    write_title(axes, study.upper())
    axes.text(
        1.0,
        1.02,
        format_count(len(comparisons), "changed plan"),
        transform=axes.transAxes,
        ha="right",
        va="bottom",
        color=MUTED,
        fontsize=SMALL_FONT_SIZE,
    )
    selected = [item.selected_ratio for item in everything]
    judged = [item.judged_ratio for item in everything]
    set_ratio_axis(axes.xaxis, selected, place_on_x(axes))
    set_ratio_axis(axes.yaxis, judged, place_on_y(axes))
    axes.grid()
    draw_unity(axes, vertical=False)
    limits = axes.get_xlim(), axes.get_ylim()
    high = max(limits[0][1], limits[1][1])
    axes.plot([1.0, high], [1.0, high], color=FAINT, linestyle=(0, (3, 3)), zorder=1.5)
    axes.set(xlim=limits[0], ylim=limits[1])
    draw_outcomes(
        axes,
        [item.selected_ratio for item in comparisons],
        [item.judged_ratio for item in comparisons],
        [item.judged_ratio for item in comparisons],
    )
