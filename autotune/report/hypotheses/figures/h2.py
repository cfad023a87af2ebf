"""H2: time and L2 hits against the window length, and the two parts of what a window does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from autotune.report.figures.style import (
    BASELINE,
    BEST,
    FAINT,
    INK,
    MUTED,
    PAPER,
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
    set_size_axis,
    write_title,
)
from autotune.report.hypotheses.verdict_words import format_signed
from autotune.report.hypotheses.view import RunView
from autotune.report.text import clean_text, clip_text, format_count, format_percent
from hwmodel.plan import VENDOR_WINDOW_LEN
from studies.hypotheses.answers import WindowEffect
from studies.hypotheses.domain import DomainShape

SWEEP_NAME = "h2_windows"
SWEEP_TITLE = "H2: time and L2 hits against the window length"
PARTS_NAME = "h2_parts"
PARTS_TITLE = "H2: what the chosen window does to the last round, and to reuse in L2"

SLOWEST_SHOWN = 0.95
"""Slower windows leave the panel: what matters is near the operator's window and above it."""
TYPICAL = 4
"""Shapes whose windows are drawn one by one."""
_NAME_COLUMNS = 31
_NAME_SIZE = 8.0
_LEFT = 60.0
_RIGHT = 12.0
_GAP = 20.0
_SWEEP_HEIGHT = 330.0
_SWEEP_TOP = 60.0
_SWEEP_BOTTOM = 40.0
_ROW_GAP = 22.0
_TIME_SHARE = 0.58
_PARTS_HEIGHT = 330.0
_PARTS_WIDTH = 470.0
_HIT_TICKS = 4
_LEAST_HITS = 0.05
_HIT_ROOM = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The windows of one shape."""

    name: str
    effect: WindowEffect


def build_h2(view: RunView) -> tuple[ReportFigure, ...]:
    """The figures with their words: the sweeps, then the parts; fewer without such shapes."""
    shapes = view.domains.get("h2", ())
    sweeps = select_typical(shapes)
    effects = [shape.answer.h2 for shape in shapes if shape.answer.h2 is not None]
    figures: list[ReportFigure] = []
    if sweeps:
        figures.append(_build_sweeps(sweeps))
    if effects:
        figures.append(_build_parts(effects))
    return tuple(figures)


def select_typical(shapes: Sequence[DomainShape]) -> tuple[Sweep, ...]:
    """Up to four shapes with all windows judged.

    Of each phase the one that takes the most time in a pass; then those that gain and lose most,
    and again the longest, as long as there is room.
    """
    swept = [shape for shape in shapes if shape.answer.h2 is not None and shape.answer.h2.sweep]
    by_time = sorted(
        swept,
        key=lambda shape: (-shape.row.weight * shape.answer.baseline.judge_us, shape.row.index),
    )
    by_gain = sorted(swept, key=lambda s: (-s.comparison.judged_ratio, s.row.index))
    heaviest: dict[str, DomainShape] = {}
    for shape in by_time:
        heaviest.setdefault(shape.row.phase, shape)
    wanted = [*heaviest.values(), *by_gain[:1], *by_gain[-1:], *by_time]
    chosen = list({shape.row.index: shape for shape in wanted}.values())[:TYPICAL]
    return tuple(
        Sweep(name=clean_text(shape.row.name), effect=shape.answer.h2)
        for shape in chosen
        if shape.answer.h2 is not None
    )


def _build_sweeps(sweeps: Sequence[Sweep]) -> ReportFigure:
    caption = (
        "One column a shape, the longest of each phase first: judged time relative to the "
        f"operator's window of {VENDOR_WINDOW_LEN} block rows (above), and the share of loads "
        "that L2 served (below), for every window of the space; solid: odd windows run backwards "
        "as in the operator's kernel, dotted: one way. The diamond is the operator's window, the "
        "ring the selector's choice; the longest window holds all block rows; windows that lose "
        "more than 5 % leave the panel. Where the time does not follow the hits, HBM is not what "
        "the kernel waits for."
    )
    best = [max(_relative(sweep.effect)) for sweep in sweeps]
    alt = (
        f"Time and L2 hit ratio over window length for {format_count(len(sweeps), 'shape')}: "
        + "; ".join(
            f"{sweep.name}: {format_signed(gain)} by the best window"
            for sweep, gain in zip(sweeps, best, strict=True)
        )
        + "."
    )
    svg = render_svg(lambda: draw_sweeps(sweeps), title=SWEEP_TITLE, description=alt)
    return ReportFigure(name=SWEEP_NAME, title=SWEEP_TITLE, caption=caption, alt=alt, svg=svg)


def _relative(effect: WindowEffect) -> list[float]:
    """Speed of every window, relative to the operator's: above 1 is faster."""
    return [effect.control.judge_us / point.judge_us for point in effect.sweep]


def draw_sweeps(sweeps: Sequence[Sweep]) -> Figure:
    """Draw two panels a shape; call inside `figure_style`."""
    figure = new_figure(_SWEEP_HEIGHT)
    width = (WIDTH - _LEFT - _RIGHT - _GAP * (TYPICAL - 1)) / TYPICAL
    inner = _SWEEP_HEIGHT - _SWEEP_TOP - _SWEEP_BOTTOM - _ROW_GAP
    ratios = [ratio for sweep in sweeps for ratio in _relative(sweep.effect)]
    hits = [point.l2_hit_ratio for sweep in sweeps for point in sweep.effect.sweep]
    for column, sweep in enumerate(sweeps):
        left = _LEFT + column * (width + _GAP)
        right = WIDTH - left - width
        times = place_axes(
            figure,
            left=left,
            right=right,
            top=_SWEEP_TOP,
            bottom=_SWEEP_BOTTOM + _ROW_GAP + inner * (1 - _TIME_SHARE),
        )
        below = place_axes(
            figure,
            left=left,
            right=right,
            top=_SWEEP_TOP + _ROW_GAP + inner * _TIME_SHARE,
            bottom=_SWEEP_BOTTOM,
        )
        _prepare_times(times, sweep, ratios, is_first=column == 0)
        _prepare_hits(below, sweep, hits, is_first=column == 0)
        _draw_windows(times, below, sweep.effect)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles=handles, labels=labels, loc="upper center", bbox_to_anchor=(0.5, 1.0), ncols=4
    )
    return figure


def _prepare_times(axes: Axes, sweep: Sweep, ratios: Sequence[float], *, is_first: bool) -> None:
    effect = sweep.effect
    write_title(axes, clip_text(sweep.name, _NAME_COLUMNS), _NAME_SIZE)
    set_size_axis(axes.xaxis, [point.window_len for point in effect.sweep], place_on_x(axes))
    axes.set_xticklabels([])
    shown = [max(ratio, SLOWEST_SHOWN) for ratio in ratios]
    set_ratio_axis(axes.yaxis, shown, place_on_y(axes))
    axes.grid()
    draw_unity(axes, vertical=False)
    if is_first:
        axes.set_ylabel("speed against W = 4")
    else:
        axes.set_yticklabels([])


def _prepare_hits(axes: Axes, sweep: Sweep, hits: Sequence[float], *, is_first: bool) -> None:
    set_size_axis(axes.xaxis, [point.window_len for point in sweep.effect.sweep], place_on_x(axes))
    low, high = min(hits), max(hits)
    found = np.asarray(MaxNLocator(_HIT_TICKS).tick_values(low, max(high, low + _LEAST_HITS)))
    ticks = [float(tick) for tick in found if tick <= 1.0]
    axes.set_ylim(ticks[0], high + _HIT_ROOM * (high - ticks[0]))
    axes.set_yticks(ticks, [format_percent(tick).replace(".0", "") for tick in ticks])
    axes.grid()
    axes.set_xlabel("window W, block rows")
    if is_first:
        axes.set_ylabel("L2 hits")
    else:
        axes.set_yticklabels([])


def _draw_windows(times: Axes, hits: Axes, effect: WindowEffect) -> None:
    """Curves of both directions, the operator's window and the chosen one."""
    for serpentine, style, label in ((True, "solid", "serpentine"), (False, ":", "one way")):
        points = sorted(
            (point for point in effect.sweep if point.serpentine is serpentine),
            key=lambda point: point.window_len,
        )
        x = [point.window_len for point in points]
        speed = [effect.control.judge_us / point.judge_us for point in points]
        shared: Any = {"color": INK if serpentine else MUTED, "linestyle": style, "linewidth": 1.3}
        times.plot(x, speed, marker="o", markersize=2.5, label=label, **shared)
        hits.plot(
            x, [point.l2_hit_ratio for point in points], marker="o", markersize=2.5, **shared
        )
    for point, marker, colour, size, label in (
        (effect.control, "D", BASELINE, 6.0, "the operator's window"),
        (effect.treatment, "o", BEST, 9.5, "the selector's choice"),
    ):
        given: Any = {
            "marker": marker,
            "markersize": size,
            "linestyle": "none",
            "markerfacecolor": colour if marker == "D" else "none",
            "markeredgecolor": PAPER if marker == "D" else colour,
            "markeredgewidth": 0.8 if marker == "D" else 1.8,
            "zorder": 4,
        }
        ratio = effect.control.judge_us / point.judge_us
        times.plot([point.window_len], [ratio], label=label, **given)
        hits.plot([point.window_len], [point.l2_hit_ratio], **given)


def _build_parts(effects: Sequence[WindowEffect]) -> ReportFigure:
    moved = sum(
        (e.control.window_len, e.control.serpentine)
        != (e.treatment.window_len, e.treatment.serpentine)
        for e in effects
    )
    caption = (
        "Each mark is a shape of the domain. Across: what the chosen window gains on a chip whose "
        "L2 holds everything, which is the order of blocks in the last round and of first "
        "accesses; up: what reuse in the real L2 adds. On the falling line the two cancel; the "
        f"further up and right, the more is gained. The selector moved the window of {moved} of "
        f"{format_count(len(effects), 'shape')}; the others lie at the centre."
    )
    tail = [effect.tail_ratio for effect in effects]
    reuse = [effect.l2_ratio for effect in effects]
    alt = (
        f"Scatter plot of {format_count(len(effects), 'shape')}: the part of the last round lies "
        f"between {format_signed(min(tail))} and {format_signed(max(tail))}, that of reuse in L2 "
        f"between {format_signed(min(reuse))} and {format_signed(max(reuse))}."
    )
    svg = render_svg(lambda: draw_parts(effects), title=PARTS_TITLE, description=alt)
    return ReportFigure(name=PARTS_NAME, title=PARTS_TITLE, caption=caption, alt=alt, svg=svg)


def draw_parts(effects: Sequence[WindowEffect]) -> Figure:
    """Draw the scatter; call inside `figure_style`."""
    figure = new_figure(_PARTS_HEIGHT)
    left = (WIDTH - _PARTS_WIDTH) / 2
    axes = place_axes(figure, left=left, right=left, top=34.0, bottom=40.0)
    tail = [effect.tail_ratio for effect in effects]
    reuse = [effect.l2_ratio for effect in effects]
    set_ratio_axis(axes.xaxis, tail, place_on_x(axes))
    set_ratio_axis(axes.yaxis, reuse, place_on_y(axes))
    axes.grid()
    draw_unity(axes, vertical=True)
    draw_unity(axes, vertical=False)
    low, high = axes.get_xlim()
    edges = axes.get_ylim()
    axes.plot([low, high], [1 / low, 1 / high], color=FAINT, linestyle=(0, (3, 3)), zorder=1.5)
    axes.set_ylim(edges)
    draw_outcomes(axes, tail, reuse, [t * r for t, r in zip(tail, reuse, strict=True)])
    axes.set_xlabel("part of the last round and first accesses")
    axes.set_ylabel("part of reuse in L2")
    figure.legend(
        handles=list_outcome_handles(), loc="upper center", bbox_to_anchor=(0.5, 1.0), ncols=3
    )
    return figure
