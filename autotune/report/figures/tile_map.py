"""Heat map of the predicted time over (base_m, base_n), with baseline and best marked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox, BboxTransformTo
from numpy.typing import NDArray

from autotune.report.figures.style import (
    FAINT,
    INK,
    SMALL_FONT_SIZE,
    WIDTH,
    ReportFigure,
    new_figure,
    place_axes,
    render_svg,
)
from autotune.report.text import (
    TIMES,
    format_gap,
    format_product,
    format_us,
    name_template,
    short_name,
)
from hwmodel.plan import KernelPlan, Template

NAME = "tile_map"
TITLE = "Predicted time over the tile sizes, for the largest gap"

_HEIGHT = 360.0
_LEFT = 56.0
_RIGHT = 190.0
_TOP = 12.0
_BOTTOM = 44.0

_LEVELS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Upper ends of the colour steps: how much longer than the fastest tile."""

_BOUNDS = (0.0, *_LEVELS, np.inf)
_MARGIN = 1
"""Cells around the part of the map that is shown."""

_LONE_CELL = 1.25
"""Edges of the only cell of an axis, relative to its size."""

_OVERLAP = 0.05
"""Part of a cell that a row reaches into the next, which is drawn later or has the same colour."""

_COLOURS = (
    "#081d58",
    "#234ba0",
    "#1f80b8",
    "#34a9c3",
    "#7accbc",
    "#b9e3b5",
    "#e3f4b2",
    "#e9ecee",
)
"""One colour a step, dark is fast; lightness alone tells them apart, so grey print works."""

_QUICK_SPACE = "some block orders, with the rest of the tiling by the vendor's rules"
_WHOLE_SPACE = "all steps, buffers and block orders"

_MARK_BASELINE = "#ff8a3d"
_WHITE = "#ffffff"
_BLACK = "#000000"
_BASELINE_SIZE = 9.0
_BEST_SIZE = 8.5
_LEGEND_LEADING = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class TileMap:
    """What the heat map shows.

    Attributes:
        name: the shape's name.
        base_m: tile heights, ascending, shape (rows,).
        base_n: tile widths, ascending, shape (columns,).
        best_us: least predicted time of each pair, shape (rows, columns); NaN where no plan is
            legal.
        baseline: the vendor's plan.
        baseline_us: its predicted time.
        best: the best plan found.
        best_us_found: its predicted time.
        gap_ratio: the gap between the two.
        quick: the map covers the quick space only.
    """

    name: str
    base_m: NDArray[np.int64]
    base_n: NDArray[np.int64]
    best_us: NDArray[np.float64]
    baseline: KernelPlan
    baseline_us: float
    best: KernelPlan
    best_us_found: float
    gap_ratio: float
    quick: bool


def build_tile_map(tile_map: TileMap) -> ReportFigure:
    """The figure with its words."""
    fastest = float(np.nanmin(tile_map.best_us))
    name = short_name(tile_map.name)
    caption = (
        f"Shape {name}, gap {format_gap(tile_map.gap_ratio)}. Each cell is an L0C tile of base_m "
        f"{TIMES} base_n; its colour is the least predicted time at that tile, relative to the "
        f"fastest, over {_QUICK_SPACE if tile_map.quick else _WHOLE_SPACE}, as in the search of "
        "this run. Blank cells have no legal plan. The marks stand at the tile of each plan, "
        "which may be slower than its cell." + _template_note(tile_map)
    )
    shown = crop_tile_map(tile_map)
    if shown.best_us.shape != tile_map.best_us.shape:
        caption += (
            f" Cut to the tiles around those within {format_gap(_LEVELS[-1])} of the fastest and "
            "around the marks."
        )
    near = int(np.sum(tile_map.best_us <= fastest * (1.0 + _LEVELS[0])))
    legal = int(np.sum(np.isfinite(tile_map.best_us)))
    alt = (
        f"Heat map over {len(tile_map.base_m)} tile heights and {len(tile_map.base_n)} tile "
        f"widths for {name}: the fastest tile takes {format_us(fastest)} µs, {near} of {legal} "
        f"legal tiles are within 1 % of it. The vendor chose {_tile(tile_map.baseline)} "
        f"({format_us(tile_map.baseline_us)} µs), the best found is {_tile(tile_map.best)} "
        f"({format_us(tile_map.best_us_found)} µs)."
    )
    svg = render_svg(lambda: draw_tile_map(shown), title=TITLE, description=alt)
    return ReportFigure(name=NAME, title=TITLE, caption=caption, alt=alt, svg=svg)


def crop_tile_map(tile_map: TileMap) -> TileMap:
    """The part worth looking at: tiles up to the last colour step, and both marks, with a margin.

    A map over all legal tiles shows little but the slow ones: on these logarithmic axes tiles many
    times slower than the best take most of the area.
    """
    near = tile_map.best_us <= np.nanmin(tile_map.best_us) * (1.0 + _LEVELS[-1])
    near_rows, near_columns = np.nonzero(near)
    plans = (tile_map.baseline, tile_map.best)
    rows = _worthy(near_rows, tile_map.base_m, [plan.base_m for plan in plans])
    columns = _worthy(near_columns, tile_map.base_n, [plan.base_n for plan in plans])
    return replace(
        tile_map,
        base_m=tile_map.base_m[rows],
        base_n=tile_map.base_n[columns],
        best_us=tile_map.best_us[rows, columns],
    )


def _worthy(near: NDArray[np.intp], sizes: NDArray[np.int64], marks: Sequence[int]) -> slice:
    """The stretch of an axis that holds every near place and every mark on it, plus the margin."""
    places = set(near.tolist())
    for mark in marks:
        if sizes[0] <= mark <= sizes[-1]:
            places.add(int(np.argmin(np.abs(sizes - mark))))
    return slice(max(0, min(places) - _MARGIN), max(places) + 1 + _MARGIN)


def draw_tile_map(tile_map: TileMap) -> Figure:
    """Draw the map; call inside `figure_style`."""
    figure = new_figure(_HEIGHT)
    axes = place_axes(figure, left=_LEFT, right=_RIGHT, top=_TOP, bottom=_BOTTOM)
    excess = tile_map.best_us / np.nanmin(tile_map.best_us) - 1.0
    rows, columns = _cell_edges(tile_map.base_m), _cell_edges(tile_map.base_n)
    for level, colour in enumerate(_COLOURS):
        path = _level_path(excess, level, rows, columns)
        axes.add_patch(PathPatch(path, facecolor=colour, linewidth=0.0))
    _set_scale(axes, rows, columns)
    _draw_mark(axes, tile_map, tile_map.baseline, "D", _MARK_BASELINE, _BASELINE_SIZE)
    _draw_mark(axes, tile_map, tile_map.best, "o", _WHITE, _BEST_SIZE)
    axes.set_xlabel("base_n, elements")
    axes.set_ylabel("base_m, elements")
    _draw_legend(figure)
    return figure


def _cell_edges(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Edges of the cells: half way between two sizes, and by the same factor beyond the ends."""
    if len(sizes) == 1:
        return np.array([sizes[0] / _LONE_CELL, sizes[0] * _LONE_CELL])
    middles = (sizes[1:] + sizes[:-1]) / 2.0
    low, high = sizes[0] ** 2 / middles[0], sizes[-1] ** 2 / middles[-1]
    return np.concatenate([[low], middles, [high]])


def _level_path(
    excess: NDArray[np.float64],
    level: int,
    rows: NDArray[np.float64],
    columns: NDArray[np.float64],
) -> Path:
    """All cells of one colour as one shape; neighbours are joined, so that no seams show."""
    low, high = _BOUNDS[level], _BOUNDS[level + 1]
    inside = (excess >= low) & (excess < high)
    bars: list[Path] = []
    for row, cells in enumerate(inside):
        ends = np.flatnonzero(np.diff(np.concatenate([[False], cells, [False]]).astype(np.int8)))
        top = rows[row + 1] + _OVERLAP * (rows[row + 1] - rows[row])
        for left, right in zip(ends[::2], ends[1::2], strict=True):
            bars.append(
                _rectangle(Bbox.from_extents(columns[left], rows[row], columns[right], top))
            )
    return Path.make_compound_path(*bars)


def _rectangle(box: Bbox) -> Path:
    """The outline of a box."""
    return Path.unit_rectangle().transformed(BboxTransformTo(box))


def _template_note(tile_map: TileMap) -> str:
    """A sentence when a marked plan is of another kernel template than the map's."""
    others = [
        f"{whose} plan is of the template {name_template(plan.template)}"
        for whose, plan in (("the vendor's", tile_map.baseline), ("the best", tile_map.best))
        if plan.template is not Template.ASWT
    ]
    return f" Here {' and '.join(others)}, whose time the map may not hold." if others else ""


def _tile(plan: KernelPlan) -> str:
    """The tile in words."""
    return format_product(plan.base_m, plan.base_n)


def _set_scale(axes: Axes, rows: NDArray[np.float64], columns: NDArray[np.float64]) -> None:
    """Logarithmic axes, because small tiles differ more; a tick at each power of two."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xlim(columns[0], columns[-1])
    axes.set_ylim(rows[0], rows[-1])
    for axis, edges in ((axes.xaxis, columns), (axes.yaxis, rows)):
        powers = range(math.ceil(math.log2(edges[0])), math.floor(math.log2(edges[-1])) + 1)
        axis.set_ticks([2**power for power in powers], [str(2**power) for power in powers])
        axis.set_ticks([], minor=True)


def _draw_mark(
    axes: Axes, tile_map: TileMap, plan: KernelPlan, marker: str, colour: str, size: float
) -> None:
    """Mark a plan at its tile, if the map reaches so far."""
    if not (
        tile_map.base_m[0] <= plan.base_m <= tile_map.base_m[-1]
        and tile_map.base_n[0] <= plan.base_n <= tile_map.base_n[-1]
    ):
        return
    axes.add_line(_make_mark([plan.base_n], [plan.base_m], marker, colour, size))


def _make_mark(
    x: Sequence[float], y: Sequence[float], marker: str, colour: str, size: float, label: str = ""
) -> Line2D:
    """A hollow mark with a dark outline: seen on every colour, and so is the cell inside."""
    return Line2D(
        x,
        y,
        linestyle="",
        marker=marker,
        markersize=size,
        markerfacecolor="none",
        markeredgecolor=colour,
        markeredgewidth=1.8,
        path_effects=[withStroke(linewidth=3.6, foreground=_BLACK)],
        label=label,
        clip_on=False,
        zorder=5,
    )


def _draw_legend(figure: Figure) -> None:
    """The marks and the colour steps, right of the map."""
    marks = [
        _make_mark([], [], "D", _MARK_BASELINE, _BASELINE_SIZE, "vendor's tile"),
        _make_mark([], [], "o", _WHITE, _BEST_SIZE, "best tile found"),
    ]
    labels = [f"up to {bound * 100:g} %" for bound in _LEVELS]
    labels.append(f"more than {_LEVELS[-1] * 100:g} %")
    steps = [
        Patch(facecolor=colour, edgecolor="none", label=label)
        for colour, label in zip(_COLOURS, labels, strict=True)
    ]
    steps.append(Patch(facecolor="none", edgecolor=FAINT, label="blank: no legal plan"))
    left = (WIDTH - _RIGHT + _TOP) / WIDTH
    for handles, title, top in ((marks, None, 1.0), (steps, "slower than the fastest", 0.84)):
        figure.legend(
            handles=handles,
            title=title,
            title_fontproperties={"size": SMALL_FONT_SIZE},
            alignment="left",
            labelcolor=INK,
            labelspacing=_LEGEND_LEADING,
            loc="upper left",
            bbox_to_anchor=(left, top),
        )
