"""Forest plot: mean gain of every study with its interval, the variants below their hypothesis."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from autotune.hypothesis_table import VERDICT_WORDS
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
from autotune.report.hypotheses.figures.marks import (
    draw_unity,
    place_on_x,
    set_ratio_axis,
)
from autotune.report.hypotheses.verdict_words import NOTHING, format_interval, format_signed
from autotune.report.text import format_count
from studies.hypotheses.verdicts import RatioSummary, StudyVerdict, Verdict

NAME = "forest"
TITLE = "Mean gain of each improvement, with its interval"
CAPTION = (
    "Each line is a study over its own domain; the mark is the geometric mean of "
    "t_control / t_treatment by the judge, less 1, the bar its 95 % interval under another choice "
    "of shapes (not the models' error). Filled marks have a verdict; open ones are parts, "
    "leave-outs and the best known, reported without one; an arrow is a mean beyond the axis. "
    "Numbers at the right: shapes that win, tie and lose."
)

_ROW_HEIGHT = 19.0
_TOP = 30.0
_BOTTOM = 40.0
_SPACE = 12.0
_INDENT = 14.0
_SLACK = 1.06
_HEAD = ("study", "verdict", "mean gain", "95 % interval", "win / tie / loss")
_COLOURS = {
    Verdict.SUPPORTED: BEST,
    Verdict.REFUTED: BASELINE,
    Verdict.MIXED: INK,
    Verdict.NOT_TESTED: MUTED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestLine:
    """One line, ready to draw."""

    label: str
    indent: bool
    verdict: str
    colour: str
    filled: bool
    summary: RatioSummary

    @property
    def cells(self) -> tuple[str, str, str]:
        """Texts at the right."""
        summary = self.summary
        return (
            format_signed(summary.geomean),
            format_interval(summary) or NOTHING,
            f"{summary.wins} / {summary.ties} / {summary.losses}",
        )


def build_forest(verdicts: Sequence[StudyVerdict]) -> ReportFigure | None:
    """The figure with its words; None when no study has a shape."""
    lines = list_lines(verdicts)
    if not lines:
        return None
    judged = [line for line in lines if line.filled]
    alt = (
        f"Forest plot of {format_count(len(lines), 'study', 'studies')}: "
        + "; ".join(f"{line.label} {line.verdict} {line.cells[0]}" for line in judged)
        + ". The table of verdicts holds the same numbers."
    )
    svg = render_svg(lambda: draw_forest(lines), title=TITLE, description=alt)
    return ReportFigure(name=NAME, title=TITLE, caption=CAPTION, alt=alt, svg=svg)


def list_lines(verdicts: Sequence[StudyVerdict]) -> tuple[ForestLine, ...]:
    """Studies with shapes: each hypothesis, then its variants, OPT last."""
    known = {verdict.study: verdict for verdict in verdicts if verdict.summary.shapes}
    ordered: list[StudyVerdict] = []
    for verdict in known.values():
        if verdict.parent and verdict.parent in known:
            continue
        ordered.append(verdict)
        ordered += [one for one in known.values() if one.parent == verdict.study]
    return tuple(
        ForestLine(
            label=_label(verdict),
            indent=bool(verdict.parent),
            verdict=VERDICT_WORDS[verdict.summary.verdict] if verdict.is_judged else "",
            colour=_COLOURS[verdict.summary.verdict] if verdict.is_judged else MUTED,
            filled=verdict.is_judged,
            summary=verdict.summary,
        )
        for verdict in ordered
    )


def _label(verdict: StudyVerdict) -> str:
    """`H2: a fitted window`; a variant's title alone."""
    title = verdict.statement.title
    return title if verdict.parent else f"{verdict.study.upper()}: {title}"


def draw_forest(lines: Sequence[ForestLine]) -> Figure:
    """Draw the lines; call inside `figure_style`."""
    with figure_style():
        name = _width([*(line.label for line in lines)]) + _INDENT
        verdict = _width([_HEAD[1], *(line.verdict for line in lines)], "bold")
        cells = [
            _width([_HEAD[2 + place], *(line.cells[place] for line in lines)])
            for place in range(3)
        ]
    figure = new_figure(_TOP + _BOTTOM + _ROW_HEIGHT * len(lines))
    right = sum(cells) + 3 * _SPACE + _SPACE / 2
    axes = place_axes(
        figure, left=name + verdict + 3 * _SPACE, right=right, top=_TOP, bottom=_BOTTOM
    )
    _prepare(axes, lines)
    edges = [WIDTH - _SPACE / 2 - cells[2] - cells[1] - 2 * _SPACE]
    edges += [edges[0] + _SPACE + cells[1], WIDTH - _SPACE / 2]
    verdict_left = name + 2 * _SPACE
    _write(figure, -1, 0.0, [_SPACE / 2, verdict_left, *edges], _HEAD, MUTED)
    height = figure.get_size_inches()[1] * POINTS_PER_INCH
    for row, line in enumerate(lines):
        y = 1.0 - (_TOP + (row + 0.5) * _ROW_HEIGHT) / height
        left = _SPACE / 2 + (_INDENT if line.indent else 0.0)
        texts = (line.label, line.verdict, *line.cells)
        _write(figure, row, y, [left, verdict_left, *edges], texts, line.colour)
        _draw_line(axes, row, line)
    return figure


def _width(texts: Sequence[str], weight: str = "normal") -> float:
    return measure_width(texts, SMALL_FONT_SIZE, weight) * _SLACK


def _prepare(axes: Axes, lines: Sequence[ForestLine]) -> None:
    """Axis, grid and the line of no difference."""
    ends = [
        end
        for line in lines
        if not line.indent
        for end in (line.summary.geomean, line.summary.low, line.summary.high)
        if end is not None
    ]
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    set_ratio_axis(axes.xaxis, ends, place_on_x(axes), room=1.08)
    axes.grid(axis="x")
    draw_unity(axes, vertical=True)
    axes.set_xlabel("mean gain: t_control / t_treatment - 1")
    for row, line in enumerate(lines):
        if row and not line.indent:
            axes.axhline(row - 0.5, color=RULE, linewidth=0.6, zorder=0)


def _draw_line(axes: Axes, row: int, line: ForestLine) -> None:
    """Interval and mean of one study; a mean beyond the axis is an arrow at its end."""
    summary, colour = line.summary, line.colour if line.filled else MUTED
    low, high = axes.get_xlim()
    if not low <= summary.geomean <= high:
        end, marker = (low, "<") if summary.geomean < low else (high, ">")
        axes.plot([end], [row], marker=marker, color=colour, markersize=6.0, clip_on=False)
        return
    if summary.low is not None and summary.high is not None:
        axes.plot(
            [summary.low, summary.high],
            [row, row],
            color=colour if line.filled else FAINT,
            linewidth=2.4 if line.filled else 1.6,
            solid_capstyle="butt",
        )
    axes.plot(
        [summary.geomean],
        [row],
        marker="s" if line.filled else "o",
        markersize=7.0 if line.filled else 5.0,
        markerfacecolor=colour if line.filled else PAPER,
        markeredgecolor=PAPER if line.filled else colour,
        markeredgewidth=0.8 if line.filled else 1.2,
        zorder=3,
    )


def _write(
    figure: Figure,
    row: int,
    y: float,
    lefts: Sequence[float],
    texts: Sequence[str],
    colour: str,
) -> None:
    """The texts of a line; row -1 is the head. The last three end at their place."""
    height = figure.get_size_inches()[1] * POINTS_PER_INCH
    is_head = row < 0
    for column, (x, text) in enumerate(zip(lefts, texts, strict=True)):
        if not text:
            continue
        figure.text(
            x / WIDTH,
            1.0 - (_TOP - 12.0) / height if is_head else y,
            text,
            color=MUTED if is_head else colour if column == 1 else INK,
            fontsize=SMALL_FONT_SIZE,
            fontweight="bold" if column == 1 and not is_head else "normal",
            ha="left" if column <= 1 else "right",
            va="center_baseline",
        )
