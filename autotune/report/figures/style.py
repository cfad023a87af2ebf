"""How every figure looks, and how it becomes SVG: the same bytes for the same data.

Lengths are points, 1/72 inch, which are also the user units of the SVG. Text stays text: it is
smaller than outlines, can be searched, and names in any script are drawn by the reader's fonts.
Layout is measured with the DejaVu fonts that matplotlib brings; the SVG asks for them and then for
fonts of about the same width.
"""

import io
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

POINTS_PER_INCH = 72.0

WIDTH = 760.0
"""Width of every figure; about that of the text beside it and of a printed page."""

FONT_SIZE = 10.0
SMALL_FONT_SIZE = 9.0

# Colours that stay apart for every common colour vision (after Okabe and Ito, "Color Universal
# Design", 2008), and greys. No two roles share a value: the page replaces each by the CSS variable
# of its role.
PAPER = "#fefefe"
INK = "#1d2733"
MUTED = "#5a6876"
RULE = "#d5dbe1"
FAINT = "#b4bec8"
BASELINE = "#d55e00"
BEST = "#0072b2"
THIRD = "#00805a"
FOURTH = "#9b4f96"
FIFTH = "#8a6d00"

ROLES = {
    PAPER: "paper",
    INK: "ink",
    MUTED: "muted",
    RULE: "rule",
    FAINT: "faint",
    BASELINE: "baseline",
    BEST: "best",
    THIRD: "third",
    FOURTH: "fourth",
    FIFTH: "fifth",
}
"""Role of each colour; `--fig-ROLE` is its variable on the page."""

_FONT_STACK = "'DejaVu Sans', Verdana, 'Bitstream Vera Sans', Geneva, sans-serif"
"""Fonts of about the width that the layout was measured with."""

_HASH_SALT = "npu-gemm-autotune"
"""Makes matplotlib's element ids depend on the content only."""

_WIDE_STAND_IN = "\N{EM DASH}"
"""A character one em wide, as wide as the East Asian characters that DejaVu does not have."""

_SETTINGS: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT,
    "axes.facecolor": "none",
    "axes.grid": False,
    "axes.labelcolor": MUTED,
    "axes.labelsize": SMALL_FONT_SIZE,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.dpi": POINTS_PER_INCH,
    "figure.facecolor": PAPER,
    "font.family": ["DejaVu Sans"],
    "font.size": FONT_SIZE,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.fontsize": SMALL_FONT_SIZE,
    "legend.frameon": False,
    "savefig.dpi": POINTS_PER_INCH,
    "savefig.facecolor": "auto",
    "svg.fonttype": "none",
    "svg.hashsalt": _HASH_SALT,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": FAINT,
    "xtick.labelcolor": MUTED,
    "xtick.labelsize": SMALL_FONT_SIZE,
    "ytick.color": FAINT,
    "ytick.labelcolor": MUTED,
    "ytick.labelsize": SMALL_FONT_SIZE,
}


_PREAMBLE = re.compile(r"<!DOCTYPE[^>]*>\s*|\s*<metadata>.*?</metadata>", re.DOTALL)
_NUISANCE = re.compile(r" font-family: 'DejaVu Sans';| transform=\"rotate\(-0 [^\"]*\)\"")
"""Attributes on every text that the root element gives once, or that do nothing."""

_SHEET = re.compile(r"\s*<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
"""matplotlib's style sheet; it would apply to the whole page, so `report.css` has its rule."""

_ROOT = re.compile(r"(<svg [^>]*)>")
_TAG = re.compile(r"<[^<>]*>")
_COLOUR = re.compile("|".join(ROLES))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFigure:
    """A finished figure and the words around it.

    Attributes:
        name: file name without suffix, unique in a report.
        title: heading.
        caption: what is drawn and how to read it, one or two sentences.
        alt: what the figure shows, for readers who do not see it.
        svg: the figure as a stand-alone SVG document.
    """

    name: str
    title: str
    caption: str
    alt: str
    svg: str


@contextmanager
def figure_style() -> Iterator[None]:
    """Everything drawn inside looks like the report, whatever the user's matplotlib settings are.

    Characters that DejaVu lacks are no problem, because the text is drawn by the reader's fonts:
    matplotlib's warnings about them are dropped.
    """
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure of `width` x `height` points; call inside `figure_style`."""
    figure = Figure(figsize=(width / POINTS_PER_INCH, height / POINTS_PER_INCH))
    FigureCanvasAgg(figure)
    return figure


def place_axes(figure: Figure, *, left: float, right: float, top: float, bottom: float) -> Axes:
    """Axes with these margins in points."""
    width, height = (length * POINTS_PER_INCH for length in figure.get_size_inches())
    return figure.add_axes(
        (
            left / width,
            bottom / height,
            (width - left - right) / width,
            (height - top - bottom) / height,
        )
    )


def measure_width(texts: Sequence[str], size: float, weight: str = "normal") -> float:
    """Width of the widest text in points, 0 without one; wide characters count one em each."""
    figure = new_figure(height=POINTS_PER_INCH)
    artist = figure.text(0.0, 0.0, "", fontsize=size, fontweight=weight)
    widest = 0.0
    for text in set(texts):
        artist.set_text(
            "".join(
                _WIDE_STAND_IN if unicodedata.east_asian_width(c) in {"W", "F"} else c
                for c in text
            )
        )
        widest = max(widest, float(artist.get_window_extent().width))
    return widest


def render_svg(draw: Callable[[], Figure], *, title: str, description: str) -> str:
    """The drawn figure as an SVG document with a title and a description in it."""
    buffer = io.BytesIO()
    with figure_style():
        figure = draw()
        figure.savefig(
            buffer,
            format="svg",
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    svg = _PREAMBLE.sub("", buffer.getvalue().decode())
    svg = _TAG.sub(lambda match: _NUISANCE.sub("", match[0]), svg)
    words = f"<title>{escape(title)}</title>\n <desc>{escape(description)}</desc>"
    return _ROOT.sub(
        lambda match: f'{match[1]} style="font-family: {_FONT_STACK}">\n {words}', svg, count=1
    )


def inline_svg(figure: ReportFigure) -> str:
    """The figure for use inside the page: unique ids, colours by role to follow the theme."""
    svg = _SHEET.sub("", figure.svg[figure.svg.index("<svg ") :], count=1)
    svg = _TAG.sub(lambda match: _inline_tag(match[0], figure.name), svg)
    labels = f'role="img" aria-labelledby="{figure.name}-title {figure.name}-desc"'
    svg = svg.replace("<svg ", f"<svg {labels} ", 1)
    svg = svg.replace("<title>", f'<title id="{figure.name}-title">', 1)
    return svg.replace("<desc>", f'<desc id="{figure.name}-desc">', 1)


def _inline_tag(tag: str, prefix: str) -> str:
    """One tag with its ids prefixed and its colours replaced."""
    tag = re.sub(r'\bid="', f'id="{prefix}-', tag)
    tag = tag.replace('href="#', f'href="#{prefix}-').replace("url(#", f"url(#{prefix}-")
    return _COLOUR.sub(lambda match: f"var(--fig-{ROLES[match[0]]})", tag)
