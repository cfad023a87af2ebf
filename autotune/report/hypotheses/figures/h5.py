"""H5: shared bandwidth in the heuristic (a), in the selector (b), and in the emulator (c)."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from autotune.report.figures.style import (
    BASELINE,
    BEST,
    INK,
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
    draw_unity,
    list_outcome_handles,
    place_on_x,
    place_on_y,
    set_ratio_axis,
    set_size_axis,
    write_note,
    write_title,
)
from autotune.report.hypotheses.verdict_words import format_signed
from autotune.report.hypotheses.view import RunView
from autotune.report.text import format_count, format_percent
from studies.hypotheses.domain import DomainShape
from studies.hypotheses.registry import H5_RULE, H5_SELECTOR
from studies.hypotheses.verdicts import SharingError

NAME = "h5_sharing"
TITLE = "H5: what sharing the bandwidth changes: heuristic (a), selector (b), emulator (c)"

_HEIGHT = 310.0
_LEFT = 62.0
_RIGHT = 16.0
_GAP = 30.0
_WIDE_GAP = 52.0
_TOP = 58.0
_BOTTOM = 42.0
_BAR = 0.36
_TICKS = 5
_ROOM = 1.2


def build_h5(view: RunView) -> ReportFigure | None:
    """The figure with its words; None without a shape in the domain."""
    shapes = view.domains.get("h5", ())
    if not shapes:
        return None
    errors = view.results.sharing
    caption = (
        "(a) What the heuristic with the reads' share of the bandwidth decides, applied as a rule "
        "without asking the selector, against the size of C in multiples of L2; (b) a selector "
        "that shares the bandwidth against one that gives reads and writes the full figure each. "
        "Upright triangles gain, those on their tip lose, by the judge; most shapes keep their "
        "plan and lie at 0. (c) Error of the emulator on output-heavy measured kernels without "
        "and with sharing, its constants fitted anew for each, the locked quarter left out."
    )
    if not errors:
        caption += " (c) was not computed in this run: only the full effort fits the emulator."
    sides = [
        f"{label} gains {format_signed(_mean(view, study))} on the mean"
        for label, study in (("(a)", H5_RULE), ("(b)", H5_SELECTOR))
        if study in view.verdicts
    ]
    sides += [
        f"(c) median error {'with' if error.shares else 'without'} sharing "
        f"{format_percent(error.median_ape)}"
        for error in errors
    ]
    alt = f"{format_count(len(shapes), 'shape')} that write more than they read: " + "; ".join(
        sides
    )
    svg = render_svg(lambda: draw_h5(view), title=TITLE, description=f"{alt}.")
    return ReportFigure(name=NAME, title=TITLE, caption=caption, alt=f"{alt}.", svg=svg)


def _mean(view: RunView, study: str) -> float:
    return view.verdicts[study].summary.geomean


def draw_h5(view: RunView) -> Figure:
    """Draw the three panels; call inside `figure_style`."""
    figure = new_figure(_HEIGHT)
    width = (WIDTH - _LEFT - _RIGHT - _GAP - _WIDE_GAP) / 3
    lefts = (_LEFT, _LEFT + width + _GAP, _LEFT + 2 * width + _GAP + _WIDE_GAP)
    panels = [
        place_axes(figure, left=left, right=WIDTH - left - width, top=_TOP, bottom=_BOTTOM)
        for left in lefts
    ]
    parts = [view.domains.get(study, ()) for study in (H5_RULE, H5_SELECTOR)]
    both = [*parts[0], *parts[1]]
    for axes, title, shapes in zip(
        panels, ("(a) the heuristic, as a rule", "(b) the selector"), parts, strict=False
    ):
        _draw_ratios(axes, title, shapes, both)
    panels[0].set_ylabel("gain: t_control / t_treatment - 1")
    panels[1].set_yticklabels([])
    _draw_errors(panels[2], view.results.sharing)
    figure.legend(
        handles=list_outcome_handles(),
        loc="upper left",
        bbox_to_anchor=(_LEFT / WIDTH, 1.0),
        ncols=3,
    )
    return figure


def _draw_ratios(
    axes: Axes, title: str, shapes: Sequence[DomainShape], both: Sequence[DomainShape]
) -> None:
    """Gains against the size of C."""
    write_title(axes, title)
    sizes = [_c_over_l2(shape) for shape in both]
    set_size_axis(axes.xaxis, sizes, place_on_x(axes))
    ratios = [shape.comparison.judged_ratio for shape in both]
    set_ratio_axis(axes.yaxis, ratios, place_on_y(axes))
    axes.grid()
    draw_unity(axes, vertical=False)
    axes.set_xlabel("bytes of C / L2")
    if not shapes:
        write_note(axes, "not in this run")
    draw_outcomes(
        axes,
        [_c_over_l2(shape) for shape in shapes],
        [shape.comparison.judged_ratio for shape in shapes],
        [shape.comparison.judged_ratio for shape in shapes],
    )


def _c_over_l2(shape: DomainShape) -> float:
    effect = shape.answer.h5
    return effect.c_over_l2 if effect is not None else 1.0


def _draw_errors(axes: Axes, errors: Sequence[SharingError]) -> None:
    """Median and 90th percentile of the error, without and with sharing."""
    write_title(axes, "(c) the emulator's error")
    if not errors:
        axes.set_xticks([])
        axes.set_yticks([])
        write_note(axes, "not in this run")
        return
    high = max(error.p90_ape for error in errors) * _ROOM
    axes.set_ylim(0.0, high)
    ticks = even_values(high, _TICKS)
    axes.set_yticks(ticks, [f"{tick * 100:,.12g} %" for tick in ticks])
    axes.set_xlim(-0.6, 1.6)
    axes.set_xticks([0, 1], ["median", "90 % within"])
    axes.grid(axis="y")
    for place, error in enumerate(errors):
        shift = (place - 0.5) * _BAR
        values = (error.median_ape, error.p90_ape)
        axes.bar(
            [shift, 1 + shift],
            values,
            width=_BAR,
            color=BEST if error.shares else BASELINE,
            label="with sharing" if error.shares else "without",
        )
        for x, value in zip((shift, 1 + shift), values, strict=True):
            axes.text(
                x,
                value,
                format_percent(value).removesuffix(" %"),
                ha="center",
                va="bottom",
                color=INK,
                fontsize=SMALL_FONT_SIZE,
            )
    axes.legend(loc="upper left", handlelength=1.0)
    axes.set_xlabel(f"{format_count(errors[0].rows, 'measured kernel')}")
