"""Swizzle map: in which order the blocks of C are computed, and which loads of them miss L2."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.transforms import Bbox, BboxTransformTo
from numpy.typing import NDArray

from autotune.report.emulated import EmulatedKernel, EmulatedPair
from autotune.report.figures.style import (
    BASELINE,
    BEST,
    INK,
    SMALL_FONT_SIZE,
    WIDTH,
    ReportFigure,
    measure_width,
    new_figure,
    place_axes,
    render_svg,
)
from autotune.report.figures.ticks import even_values
from autotune.report.text import format_percent, format_product, short_name
from hwmodel.emulator import layout
from hwmodel.emulator.summary import compute_l2_hit_ratio
from hwmodel.emulator.timeline import select_timeline

NAME = "swizzle_map"
TITLE = "Order of the blocks, and where their loads miss L2, emulated"

MOST_BLOCKS = 4096
"""Blocks of a map in which one still sees each."""

_CELL_HEIGHT = 26.0
_LEAST_HEIGHT = 78.0
_MOST_HEIGHT = 240.0
"""Height of the maps: so much a block row, between these."""

_LEFT = 46.0
_RIGHT = 12.0
_BETWEEN = 52.0
_TOP = 28.0
_BOTTOM = 72.0
_LEGEND_BOTTOM = 8.0
_PANEL_WIDTH = (WIDTH - _LEFT - _RIGHT - _BETWEEN) / 2
_DOT = 0.62
"""Diameter of the dot of a block all of whose loads miss, in cells."""

_MOST_DOT = 14.0
_MOST_TICKS = 8
_LEGEND_DOT = 9.0
_SWATCH_WIDTH, _SWATCH_HEIGHT = 16.0, 9.0
_OVERLAP = 0.04
"""Part of a cell that a run of cells reaches into the next row, so that no seams show."""

_FIRST = "first blocks"

_STEPS = (
    "#edf3fa",
    "#d3e2f1",
    "#b3cfe7",
    "#8db8da",
    "#659dc9",
    "#4181b5",
    "#24649b",
    "#0f4778",
)
"""Colours of the eighths of the order, light is early; lightness alone tells them apart."""

_DOT_COLOUR = "#ff8a3d"
_DOT_EDGE = "#000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockMap:
    """The blocks of one kernel.

    Attributes:
        order: place of each block in the order, 0..1, shape (block rows, block columns).
        miss_ratio: share of its loads that went to HBM, the same shape.
    """

    order: NDArray[np.float64]
    miss_ratio: NDArray[np.float64]


def build_swizzle_map(pair: EmulatedPair) -> ReportFigure | None:
    """The figure with its words; None without loads, or with too many blocks to see."""
    if any(kernel.emulation.result.loads == 0 for kernel in (pair.baseline, pair.best)):
        return None
    maps = [compute_block_map(kernel) for kernel in (pair.baseline, pair.best)]
    if max(blocks.order.size for blocks in maps) > MOST_BLOCKS:
        return None
    name = short_name(pair.name)
    ratios = [
        format_percent(compute_l2_hit_ratio(kernel.emulation.result))
        for kernel in (pair.baseline, pair.best)
    ]
    caption = (
        f"Shape {name}, from the kernel emulator. Each cell is a block of C, as large as a base "
        "tile; the darker, the later it is dealt to a core. The larger its dot, the more of its "
        "loads of A and B went to HBM; a block without a dot found everything in L2 or on its "
        f"way there. Loads that did: {ratios[0]} with the vendor's plan, {ratios[1]} with the "
        "best found. What a core loads before its first block is not drawn."
    )
    shapes = [format_product(*blocks.order.shape) for blocks in maps]
    alt = (
        f"Two maps of the blocks of C for {name}: {shapes[0]} blocks with the vendor's plan, of "
        f"whose loads L2 serves {ratios[0]}, and {shapes[1]} with the best found, {ratios[1]}."
    )
    svg = render_svg(lambda: draw_swizzle_map(pair), title=TITLE, description=alt)
    return ReportFigure(name=NAME, title=TITLE, caption=caption, alt=alt, svg=svg)


def compute_block_map(kernel: EmulatedKernel) -> BlockMap:
    """Order and misses of each block, from the log."""
    emulation, log = kernel.emulation, kernel.log
    plan, problem = emulation.plan, emulation.problem
    shape = plan.m_tiles(problem), plan.n_tiles(problem)
    cores = len(log.starts) - 1
    core_of = np.repeat(np.arange(cores), np.diff(log.starts))
    places = (np.arange(len(log.items)) - log.starts[core_of]) * cores + core_of
    blocks = (
        log.items[:, layout.M_OFF] // plan.base_m * shape[1]
        + log.items[:, layout.N_OFF] // plan.base_n
    )
    first = np.full(shape[0] * shape[1], len(log.items) * cores)
    np.minimum.at(first, blocks, places)
    ranks = np.argsort(np.argsort(first, kind="stable"), kind="stable")
    timeline = select_timeline(log, range(cores), None)
    is_load = timeline.rows[:, layout.LOG_PIPE] == layout.PIPE_MTE2
    is_load &= timeline.items != layout.NO_OBJECT
    of_block = blocks[timeline.items[is_load]]
    kinds = timeline.rows[is_load, layout.LOG_DETAIL] % layout.LOG_OPERAND
    loads = np.bincount(of_block, minlength=first.size)
    misses = np.bincount(of_block[kinds >= layout.LEADER], minlength=first.size)
    return BlockMap(
        order=(ranks / first.size).reshape(shape),
        miss_ratio=(misses / np.maximum(loads, 1)).reshape(shape),
    )


def draw_swizzle_map(pair: EmulatedPair) -> Figure:
    """Draw both maps side by side; call inside `figure_style`."""
    maps = [compute_block_map(kernel) for kernel in (pair.baseline, pair.best)]
    rows = max(blocks.order.shape[0] for blocks in maps)
    map_height = float(np.clip(rows * _CELL_HEIGHT, _LEAST_HEIGHT, _MOST_HEIGHT))
    height = _TOP + map_height + _BOTTOM
    figure = new_figure(height)
    left = _LEFT
    for whose, colour, kernel, blocks in (
        ("vendor's tiling", BASELINE, pair.baseline, maps[0]),
        ("best tiling found", BEST, pair.best, maps[1]),
    ):
        axes = place_axes(
            figure,
            left=left,
            right=WIDTH - left - _PANEL_WIDTH,
            top=_TOP,
            bottom=_BOTTOM,
        )
        _draw_blocks(axes, blocks, map_height)
        plan = kernel.emulation.plan
        figure.text(
            left / WIDTH,
            1.0 - _TOP / 2 / height,
            f"{whose}, blocks of {format_product(plan.base_m, plan.base_n)}",
            color=colour,
            fontsize=SMALL_FONT_SIZE,
            va="center_baseline",
        )
        left += _PANEL_WIDTH + _BETWEEN
    _draw_legend(figure, height)
    return figure


def _draw_blocks(axes: Axes, blocks: BlockMap, height: float) -> None:
    """Cells and dots of one kernel."""
    rows, columns = blocks.order.shape
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_xlabel("block column, along N")
    axes.set_ylabel("block row, along M")
    axes.set_xticks(even_values(columns - 1, _MOST_TICKS, integer=True))
    axes.set_yticks(even_values(rows - 1, min(rows, _MOST_TICKS), integer=True))
    steps = np.minimum((blocks.order * len(_STEPS)).astype(int), len(_STEPS) - 1)
    for step, colour in enumerate(_STEPS):
        runs = _find_runs(steps == step)
        if runs:
            path = Path.make_compound_path(*runs)
            axes.add_patch(PathPatch(path, facecolor=colour, linewidth=0.0))
    _draw_dots(axes, blocks, min(_PANEL_WIDTH / columns, height / rows))


def _find_runs(inside: NDArray[np.bool_]) -> list[Path]:
    """The outlines of all runs of cells in a row."""
    runs: list[Path] = []
    for row, cells in enumerate(inside):
        ends = np.flatnonzero(np.diff(np.concatenate([[False], cells, [False]]).astype(np.int8)))
        bottom = min(row + 0.5 + _OVERLAP, len(inside) - 0.5)
        runs += [
            Path.unit_rectangle().transformed(
                BboxTransformTo(Bbox.from_extents(left - 0.5, row - 0.5, right - 0.5, bottom))
            )
            for left, right in zip(ends[::2], ends[1::2], strict=True)
        ]
    return runs


def _draw_dots(axes: Axes, blocks: BlockMap, cell: float) -> None:
    """A dot on each block that misses, whose area is the share of its misses.

    `cell` is the shorter side of a cell in points.
    """
    places = np.argwhere(blocks.miss_ratio > 0.0)
    sizes = min(_DOT * cell, _MOST_DOT) * np.sqrt(blocks.miss_ratio[blocks.miss_ratio > 0.0])
    axes.add_collection(
        EllipseCollection(
            sizes,
            sizes,
            np.zeros(len(places)),
            units="points",
            offsets=places[:, ::-1],
            offset_transform=axes.transData,
            facecolors=_DOT_COLOUR,
            edgecolors=_DOT_EDGE,
            linewidths=min(0.7, cell / 20.0),
        )
    )


def _draw_legend(figure: Figure, height: float) -> None:
    """Colours of the order and sizes of the dots, below the maps."""
    middle = _LEGEND_BOTTOM + _SWATCH_HEIGHT / 2
    x = _LEFT

    def put(text: str, align: str) -> None:
        figure.text(
            x / WIDTH, middle / height, text, fontsize=SMALL_FONT_SIZE, ha=align, va="center"
        )

    put(_FIRST, "left")
    x += measure_width([_FIRST], SMALL_FONT_SIZE) + _SWATCH_WIDTH / 2
    for colour in _STEPS:
        corner = (x / WIDTH, _LEGEND_BOTTOM / height)
        figure.add_artist(
            Rectangle(
                corner, _SWATCH_WIDTH / WIDTH, _SWATCH_HEIGHT / height, facecolor=colour, lw=0.0
            )
        )
        x += _SWATCH_WIDTH
    x += _SWATCH_WIDTH / 2
    put("last blocks", "left")
    dots = [
        Line2D(
            [],
            [],
            linestyle="",
            marker="o",
            markersize=_LEGEND_DOT * float(np.sqrt(share)),
            markerfacecolor=_DOT_COLOUR,
            markeredgecolor=_DOT_EDGE,
            markeredgewidth=0.7,
            label=label,
        )
        for share, label in ((1.0, "all loads from HBM"), (0.25, "a quarter of them"))
    ]
    figure.legend(
        handles=dots,
        loc="center left",
        bbox_to_anchor=((_LEFT + _PANEL_WIDTH + _BETWEEN) / WIDTH, middle / height),
        borderaxespad=0.0,
        borderpad=0.0,
        ncols=len(dots),
        columnspacing=1.6,
        handletextpad=0.4,
        labelcolor=INK,
    )
