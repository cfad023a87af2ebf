"""Timelines of baseline and best, one under the other: the pipes of the busiest core."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from numpy.typing import NDArray

from autotune.report.emulated import EmulatedKernel, EmulatedPair
from autotune.report.figures.style import (
    BASELINE,
    BEST,
    FAINT,
    FOURTH,
    INK,
    MUTED,
    POINTS_PER_INCH,
    RULE,
    SMALL_FONT_SIZE,
    THIRD,
    WIDTH,
    ReportFigure,
    new_figure,
    place_axes,
    render_svg,
)
from autotune.report.figures.ticks import even_values
from autotune.report.text import describe_tiling, format_gap, format_us, short_name
from hwmodel.emulator import layout
from hwmodel.emulator.activity import PIPES, find_busiest_core
from hwmodel.emulator.constants import TICKS_PER_CYCLE
from hwmodel.emulator.timeline import Timeline, select_timeline
from hwmodel.plan import CUBE_TEMPLATES

NAME = "timelines"
TITLE = "The first rounds of one core, pipe by pipe, emulated"

ROUNDS = 2
"""Rounds of the baseline that set the stretch of time: the start, and one in the steady state."""

_MOST_L0_STEPS = 320
"""L0 or vector steps of a kernel that are shown: more would be narrower than two points."""

_LANE = 19.0
_BAR = 0.36
"""Half of the height of a bar, in lanes."""

_PANEL_HEAD = 22.0
_LEFT = 62.0
_RIGHT = 18.0
_TOP = 16.0
_AXIS = 40.0
_GAP = 8.0
_SPACE_AT_END = 1.01
_NOT_CONFIRMED = ", so it does not confirm the gap"
_MOST_TICKS = 10

_CUBE_PIPES = (
    "MTE2 loads slabs of A (upper half) and B (lower half) into L1, MTE1 moves them to L0, the "
    "cube multiplies, and the fixpipe stores the tile."
)
_VECTOR_PIPES = (
    "On a vector core MTE2 loads A (upper half) and B (lower half) into UB, the vector unit "
    "multiplies and adds, and MTE3 stores the tile."
)

_FROM_HBM, _FROM_L2, _EVEN, _ODD = "miss", "found", "even", "odd"
_COLOURS = {_FROM_HBM: FOURTH, _FROM_L2: THIRD, _EVEN: MUTED, _ODD: FAINT}
_LABELS = {
    _FROM_HBM: "load from HBM",
    _FROM_L2: "load that L2 has or is getting",
    _EVEN: "1st, 3rd, ... tile",
    _ODD: "2nd, 4th, ... tile",
}

Spans = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    """One kernel.

    Attributes:
        whose: whose plan it is.
        colour: colour of the words.
        kernel: the kernel.
        timeline: its busiest core.
        pipes: numbers of the pipes that it uses.
    """

    whose: str
    colour: str
    kernel: EmulatedKernel
    timeline: Timeline
    pipes: tuple[int, ...]

    @property
    def us_per_tick(self) -> float:
        """Length of a tick."""
        return self.kernel.emulation.spec.cycles_to_us(1 / TICKS_PER_CYCLE)


def build_timelines(pair: EmulatedPair) -> ReportFigure:
    """The figure with its words."""
    name = short_name(pair.name)
    baseline_us, best_us = pair.baseline.duration_us, pair.best.duration_us
    doubt = _NOT_CONFIRMED if best_us >= baseline_us else ""
    caption = (
        f"Shape {name}, whose gap is {format_gap(pair.gap_ratio)} by the {pair.evaluator} model. "
        f"Drawn is what the kernel emulator does with both plans: it takes "
        f"{format_us(baseline_us)} µs for the vendor's and {format_us(best_us)} µs for the best "
        f"found{doubt}. Each line is a pipe of the core that ends last; a bar is work, a blank "
        f"waiting. {_describe_pipes(pair)}"
    )
    alt = (
        f"Two timelines over the same time for {name}: the vendor's plan "
        f"{describe_tiling(pair.baseline.emulation.plan)} takes {format_us(baseline_us)} µs "
        f"emulated, the best found {describe_tiling(pair.best.emulation.plan)} "
        f"{format_us(best_us)} µs."
    )
    svg = render_svg(lambda: draw_timelines(pair), title=TITLE, description=alt)
    return ReportFigure(name=NAME, title=TITLE, caption=caption, alt=alt, svg=svg)


def _describe_pipes(pair: EmulatedPair) -> str:
    """What the pipes do that are drawn."""
    templates = {kernel.emulation.plan.template for kernel in (pair.baseline, pair.best)}
    sentences = []
    if templates & CUBE_TEMPLATES:
        sentences.append(_CUBE_PIPES)
    if templates - CUBE_TEMPLATES:
        sentences.append(_VECTOR_PIPES)
    return " ".join(sentences)


def draw_timelines(pair: EmulatedPair) -> Figure:
    """Draw both; call inside `figure_style`."""
    panels = (
        _make_panel("vendor's tiling", BASELINE, pair.baseline),
        _make_panel("best tiling found", BEST, pair.best),
    )
    shown_us = min(_find_end(panels[0], ROUNDS), *(_find_dense_end(panel) for panel in panels))
    heights = [_PANEL_HEAD + _LANE * len(panel.pipes) for panel in panels]
    height = _TOP + sum(heights) + _GAP + _AXIS
    figure = new_figure(height)
    top = _TOP
    for number, (panel, panel_height) in enumerate(zip(panels, heights, strict=True)):
        axes = place_axes(
            figure,
            left=_LEFT,
            right=_RIGHT,
            top=top + _PANEL_HEAD,
            bottom=height - top - panel_height,
        )
        is_last = number == len(panels) - 1
        _draw_panel(axes, panel, shown_us * _SPACE_AT_END, is_last=is_last)
        figure.text(
            _LEFT / WIDTH,
            1.0 - (top + _PANEL_HEAD * 0.6) / height,
            _describe_panel(panel),
            color=panel.colour,
            fontsize=SMALL_FONT_SIZE,
            va="center_baseline",
        )
        top += panel_height + _GAP
    _draw_legend(figure)
    return figure


def _make_panel(whose: str, colour: str, kernel: EmulatedKernel) -> _Panel:
    core = find_busiest_core(kernel.emulation.result)
    timeline = select_timeline(kernel.log, (core,), None)
    used = np.unique(timeline.rows[:, layout.LOG_PIPE])
    return _Panel(
        whose=whose, colour=colour, kernel=kernel, timeline=timeline, pipes=tuple(used.tolist())
    )


def _describe_panel(panel: _Panel) -> str:
    emulation = panel.kernel.emulation
    core = find_busiest_core(emulation.result)
    return (
        f"{panel.whose}, {describe_tiling(emulation.plan)}: core {core} of "
        f"{len(emulation.result.cores)}, {format_us(emulation.duration_us)} µs in all"
    )


def _find_end(panel: _Panel, rounds: int) -> float:
    """When the first rounds are over, microseconds."""
    within = panel.timeline.rounds < rounds
    return float(panel.timeline.rows[within, layout.LOG_END].max()) * panel.us_per_tick


def _find_dense_end(panel: _Panel) -> float:
    """Until when the bars are wide enough, microseconds."""
    rows = panel.timeline.rows
    computes = np.isin(rows[:, layout.LOG_PIPE], (layout.PIPE_CUBE, layout.PIPE_VECTOR))
    ends = rows[computes, layout.LOG_END]
    if len(ends) <= _MOST_L0_STEPS:
        return panel.kernel.duration_us
    return float(ends[_MOST_L0_STEPS - 1]) * panel.us_per_tick


def _draw_panel(axes: Axes, panel: _Panel, end_us: float, *, is_last: bool) -> None:
    """The lanes of one kernel."""
    axes.set_xlim(0.0, end_us)
    axes.set_xticks(even_values(end_us, _MOST_TICKS))
    axes.set_ylim(len(panel.pipes) - 0.5, -0.5)
    axes.set_yticks(range(len(panel.pipes)), [PIPES[pipe].value for pipe in panel.pipes])
    axes.tick_params(axis="y", length=0.0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=RULE)
    axes.tick_params(axis="x", labelbottom=is_last)
    if is_last:
        axes.set_xlabel("µs since the launch; both kernels over the same stretch of time")
    rows = panel.timeline.rows
    for lane, pipe in enumerate(panel.pipes):
        on_pipe = rows[:, layout.LOG_PIPE] == pipe
        for kind, low, high, chosen in _sort_bars(pipe, panel.timeline, on_pipe):
            columns = rows[chosen][:, [layout.LOG_START, layout.LOG_END]]
            spans = columns * panel.us_per_tick
            spans = np.minimum(spans[spans[:, 0] < end_us], end_us)
            if len(spans):
                path = _bars(spans, lane + low, lane + high)
                axes.add_patch(PathPatch(path, facecolor=_COLOURS[kind], linewidth=0.0))


def _sort_bars(
    pipe: int, timeline: Timeline, on_pipe: NDArray[np.bool_]
) -> Iterable[tuple[str, float, float, NDArray[np.bool_]]]:
    """Kind, lower and upper edge, and rows of each sort of bars in a lane."""
    if pipe != layout.PIPE_MTE2:
        for kind, parity in ((_EVEN, 0), (_ODD, 1)):
            yield kind, -_BAR, _BAR, on_pipe & (timeline.rounds % 2 == parity)
        return
    operands, kinds = np.divmod(timeline.rows[:, layout.LOG_DETAIL], layout.LOG_OPERAND)
    misses = kinds >= layout.LEADER
    for operand, low, high in ((layout.OPERAND_A, -_BAR, 0.0), (layout.OPERAND_B, 0.0, _BAR)):
        chosen = on_pipe & (operands == operand)
        yield _FROM_HBM, low, high, chosen & misses
        yield _FROM_L2, low, high, chosen & ~misses


def _bars(spans: Spans, low: float, high: float) -> Path:
    """Rectangles between two heights, each from the begin to the end of a span, as one shape."""
    corners = np.empty((len(spans), 5, 2))
    corners[:, :, 0] = spans[:, [0, 1, 1, 0, 0]]
    corners[:, :, 1] = (low, low, high, high, low)
    codes = np.array([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY])
    return Path(corners.reshape(-1, 2), np.tile(codes, len(spans)))


def _draw_legend(figure: Figure) -> None:
    """The colours, above the panels."""
    height = figure.get_size_inches()[1] * POINTS_PER_INCH
    figure.legend(
        handles=[Patch(facecolor=_COLOURS[kind], label=_LABELS[kind]) for kind in _COLOURS],
        loc="upper left",
        bbox_to_anchor=((_LEFT - SMALL_FONT_SIZE / 2) / WIDTH, 1.0 - 2.0 / height),
        borderaxespad=0.0,
        ncols=len(_COLOURS),
        handlelength=1.4,
        handletextpad=0.5,
        columnspacing=1.6,
        labelcolor=INK,
    )
