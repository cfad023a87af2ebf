"""report.html, report.md and figures/*.svg of a run of hypotheses.

As the report of a search (`autotune.report.render`): one page without network, the same bytes for
the same results but for the stamp at its foot.
"""

from datetime import UTC, datetime
from pathlib import Path

from autotune.atomic_write import write_text_atomically
from autotune.report.hypotheses.page import HypothesisReport, build_report
from autotune.report.hypotheses.view import load_view
from autotune.report.render import (
    FIGURES_NAME,
    LONG_TABLE,
    REPORT_HTML_NAME,
    REPORT_MARKDOWN_NAME,
    TILING_NOTE,
    fill_html,
    fill_markdown,
    format_stamp,
    write_figures,
)


def write_hypothesis_report(run_directory: Path) -> None:
    """Write report.html, report.md and figures/*.svg from the results in a run directory.

    Raises:
        RunDirectoryError: not a run, a run of another schema or without results, or `figures` is
            no directory.
        InputError: a file of the run is damaged.
        AutotuneError: a file cannot be written.
    """
    view = load_view(run_directory)
    report = build_report(view)
    write_figures(run_directory / FIGURES_NAME, report.figures)
    write_text_atomically(run_directory / REPORT_MARKDOWN_NAME, render_markdown(report))
    stamp = format_stamp(view.manifest, run_directory, datetime.now(UTC))
    write_text_atomically(run_directory / REPORT_HTML_NAME, render_html(report, stamp))


def render_html(report: HypothesisReport, stamp: str) -> str:
    """The page; no line breaks between a number and its percent sign."""
    page = fill_html(
        "hypotheses.html.j2",
        report=report,
        tiling_note=TILING_NOTE,
        long_table=LONG_TABLE,
        stamp=stamp,
    )
    return page.replace(" %", "\N{NO-BREAK SPACE}%")


def render_markdown(report: HypothesisReport) -> str:
    """The report for a terminal or a code host; figures are links to figures/*.svg."""
    return fill_markdown("hypotheses.md.j2", report=report, tiling_note=TILING_NOTE)
