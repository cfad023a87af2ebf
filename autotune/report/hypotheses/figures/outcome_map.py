"""Maps of outcomes over two sizes, in panels with common axes: where a change pays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from autotune.report.figures.style import FOURTH, WIDTH, new_figure, place_axes
from autotune.report.hypotheses.figures.marks import (
    draw_outcomes,
    list_outcome_handles,
    place_on_x,
    place_on_y,
    set_size_axis,
    write_note,
    write_title,
)

_LEFT = 58.0
_RIGHT = 16.0
_GAP = 22.0
_TOP = 56.0
_BOTTOM = 40.0
_HEIGHT = 330.0
_MOST_PANEL = 330.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPoint:
    """One shape: its place, the ratio r of the change there."""

    x: float
    y: float
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPanel:
    """One panel.

    Attributes:
        title: above it.
        points: its shapes; none gives an empty panel that says so.
        today: where the operator makes the change today: largest x and least y; None for nowhere.
    """

    title: str
    points: tuple[MapPoint, ...]
    today: tuple[float, float] | None = None


def draw_map(panels: Sequence[MapPanel], x_label: str, y_label: str) -> Figure:
    """Draw the panels side by side; call inside `figure_style`."""
    figure = new_figure(_HEIGHT)
    room = WIDTH - _LEFT - _RIGHT - _GAP * (len(panels) - 1)
    width = min(_MOST_PANEL, room / len(panels))
    start = _LEFT + (room - width * len(panels)) / 2
    everything = [point for panel in panels for point in panel.points]
    for column, panel in enumerate(panels):
        left = start + column * (width + _GAP)
        axes = place_axes(figure, left=left, right=WIDTH - left - width, top=_TOP, bottom=_BOTTOM)
        _draw_panel(axes, panel, everything)
        axes.set_xlabel(x_label)
        if column == 0:
            axes.set_ylabel(y_label)
        else:
            axes.set_yticklabels([])
    handles = list_outcome_handles()
    if any(panel.today is not None for panel in panels):
        handles.append(Rectangle((0, 0), 1, 1, **_TODAY, label="the operator's condition"))
    figure.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, 1.0), ncols=len(handles)
    )
    return figure


_TODAY: Any = {
    "facecolor": "none",
    "edgecolor": FOURTH,
    "linewidth": 1.4,
    "linestyle": (0, (4, 2)),
}


def _draw_panel(axes: Axes, panel: MapPanel, everything: Sequence[MapPoint]) -> None:
    """One panel with the axes of all."""
    set_size_axis(axes.xaxis, [point.x for point in everything], place_on_x(axes))
    set_size_axis(axes.yaxis, [point.y for point in everything], place_on_y(axes))
    axes.grid()
    write_title(axes, panel.title)
    points = panel.points
    if not points:
        write_note(axes, "no such shape")
    draw_outcomes(
        axes,
        [point.x for point in points],
        [point.y for point in points],
        [point.ratio for point in points],
    )
    if panel.today is not None:
        x, y = panel.today
        low, high = axes.get_xlim()[0], axes.get_ylim()[1]
        if x > low and y < high:
            bottom = max(y, axes.get_ylim()[0])
            right = min(x, axes.get_xlim()[1])
            axes.add_patch(
                Rectangle((low, bottom), right - low, high - bottom, zorder=1.4, **_TODAY)
            )


def group_points(
    titles: Sequence[str],
    points: Sequence[tuple[str, MapPoint]],
    today: Callable[[str], tuple[float, float] | None] = lambda _: None,
) -> tuple[MapPanel, ...]:
    """The panels of points that carry the title of theirs; panels without points are left out."""
    return tuple(
        MapPanel(
            title=title,
            points=tuple(point for name, point in points if name == title),
            today=today(title),
        )
        for title in titles
        if any(name == title for name, _ in points)
    )
