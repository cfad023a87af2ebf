"""report.html, report.md and figures/*.svg of a run directory.

report.html is one file that needs no network: figures and style are inside, and its content
security policy lets a browser load nothing else. Without JavaScript everything is there; only the
sorting of the table is missing. The same results give the same bytes, but for the stamp at the
foot of report.html.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from autotune.atomic_write import write_text_atomically
from autotune.manifest import Manifest
from autotune.report.figures.style import ReportFigure, inline_svg
from autotune.report.first_tests import HOW_TO_APPLY
from autotune.report.markdown import Verbatim, escape_markdown
from autotune.report.page import Report, build_report
from autotune.report.run_files import load_run_files
from autotune.report.text import TIMES, clean_text, format_gap, format_percent, name_class
from hwmodel.errors import RunDirectoryError

REPORT_HTML_NAME = "report.html"
REPORT_MARKDOWN_NAME = "report.md"
FIGURES_NAME = "figures"

TILING_NOTE = (
    f"A tiling reads base_m{TIMES}base_n{TIMES}base_k, step_k L0 steps per L1 step, "
    "W = rows of tiles in a window of the block order; a kernel other than ASWT stands in front. "
    "The words are explained at the end."
)
"""Explains `autotune.report.text.describe_tiling` below the tables."""

LONG_TABLE = 20
"""Rows from which on a table is folded."""

_LINE_ENDS = re.compile(r"[ \t]+\n")
_BLANK_LINES = re.compile(r"\n{3,}")

_PACKAGE = "autotune.report"
_TEMPLATES = "templates"


def write_report(run_directory: Path) -> None:
    """Write report.html, report.md and figures/*.svg from the results in a run directory.

    Nothing is searched; the models are asked only for the heat map and for the measured kernels.

    Raises:
        RunDirectoryError: not a run, a run of another schema or without results, or `figures` is
            no directory.
        InputError: a file of the run is damaged.
        AutotuneError: a file cannot be written.
    """
    run = load_run_files(run_directory)
    report = build_report(run)
    write_figures(run_directory / FIGURES_NAME, report.figures)
    write_text_atomically(run_directory / REPORT_MARKDOWN_NAME, render_markdown(report))
    stamp = format_stamp(run.manifest, run_directory, datetime.now(UTC))
    write_text_atomically(run_directory / REPORT_HTML_NAME, render_html(report, stamp))


def render_html(report: Report, stamp: str) -> str:
    """The page."""
    return fill_html(
        "report.html.j2",
        report=report,
        tiling_note=TILING_NOTE,
        how_to_apply=HOW_TO_APPLY,
        long_table=LONG_TABLE,
        stamp=stamp,
    )


def render_markdown(report: Report) -> str:
    """The report for a terminal or a code host; figures are links to figures/*.svg."""
    return fill_markdown(
        "report.md.j2", report=report, tiling_note=TILING_NOTE, how_to_apply=HOW_TO_APPLY
    )


def fill_html(template: str, **values: object) -> str:
    """A page from its template, with style and script; every text is escaped by the engine."""
    environment = Environment(
        loader=PackageLoader(_PACKAGE, _TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    environment.filters.update(
        percent=format_percent, gap=format_gap, class_name=name_class, unbroken=_unbroken
    )
    script = environment.get_template("sort.js.j2").render()
    css = resources.files(_PACKAGE).joinpath(_TEMPLATES, "report.css").read_text("utf-8")
    return environment.get_template(template).render(
        **values,
        css=Markup(css),
        script=Markup(script),
        script_hash=_content_hash(script),
        inline=_inline,
    )


def fill_markdown(template: str, **values: object) -> str:
    """Markdown from its template; what is inserted is escaped."""
    environment = Environment(
        loader=PackageLoader(_PACKAGE, _TEMPLATES),
        autoescape=False,  # Markdown is no HTML: `finalize` escapes what the template inserts
        finalize=escape_markdown,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        percent=format_percent, gap=format_gap, class_name=name_class, verbatim=Verbatim
    )
    text = environment.get_template(template).render(**values)
    return _BLANK_LINES.sub("\n\n", _LINE_ENDS.sub("\n", text)).rstrip() + "\n"


def format_stamp(manifest: Manifest, run_directory: Path, now: datetime) -> str:
    """The foot of the page: the only text that differs between two runs of one question."""
    versions = ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    commit = f", commit {manifest.git_commit}" if manifest.git_commit else ""
    return clean_text(
        f"Run {run_directory.resolve().name}, started {manifest.created_utc}; page written "
        f"{now.isoformat(timespec='seconds')}. Made with {versions}{commit}."
    )


def _inline(figure: ReportFigure) -> Markup:
    """A figure as markup of the page; its texts were escaped when it was drawn."""
    return Markup(inline_svg(figure))


def _unbroken(parts: str | Sequence[str]) -> Markup:
    """Parts separated by commas; a line may break between them, not inside one."""
    pieces = parts.split(", ") if isinstance(parts, str) else parts
    return Markup(", ").join(Markup('<span class="part">{}</span>').format(p) for p in pieces)


def _content_hash(script: str) -> str:
    """The script's source expression for the policy (W3C, CSP Level 3, section 2.3.1)."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def write_figures(directory: Path, figures: tuple[ReportFigure, ...]) -> None:
    """Write the figures and remove those of an earlier rendering."""
    try:
        directory.mkdir(exist_ok=True)
        for stale in directory.glob("*.svg"):
            stale.unlink()
    except OSError as error:
        raise RunDirectoryError(
            f"{directory}: cannot hold the figures ({error.strerror}); move what is in the way"
        ) from error
    for figure in figures:
        write_text_atomically(directory / f"{figure.name}.svg", figure.svg)
