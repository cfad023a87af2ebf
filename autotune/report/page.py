"""The report as values: everything that report.html and report.md show, and no markup."""

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.manifest import Manifest, RunStatus
from autotune.report import wording
from autotune.report.aggregates import (
    CountedRow,
    GapSummary,
    compute_savings,
    compute_summary,
    select_counted,
    select_largest,
)
from autotune.report.figures.gap_distribution import build_gap_distribution
from autotune.report.figures.gap_rows import build_gap_overview, build_gap_pages
from autotune.report.figures.model_check import build_model_check
from autotune.report.figures.style import ReportFigure
from autotune.report.figures.tile_map import build_tile_map
from autotune.report.landscape import compute_tile_map
from autotune.report.model_error import ModelError, summarise_model_error
from autotune.report.run_files import RunFiles
from autotune.report.tables import (
    SavingLine,
    ShapeLine,
    build_counted_lines,
    build_saving_lines,
    build_shape_lines,
)
from autotune.report.text import clean_text, format_count, format_percent
from autotune.results import ResultRow
from hwmodel.cost.evaluators import select_evaluator
from hwmodel.spec import HardwareSpec
from hwmodel.validation.errors_report import ErrorReport, compute_error_report
from hwmodel.validation.measured import load_measured
from studies.strategies import EXHAUSTIVE

LARGEST_ROWS = 8
"""Rows of the table of largest gaps: what a reader takes in before the figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One of the numbers in large type.

    Attributes:
        value: the number.
        label: what it is.
        note: what to know about it.
    """

    value: str
    label: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything the templates show. Texts are plain; the templates escape them.

    Attributes:
        title: heading.
        marks: warnings that stand on every page, e.g. that the chip is no 950.
        question: what was asked.
        method: how it was answered.
        answer: what came out, sentence by sentence.
        headlines: the numbers in large type.
        error: the model's error.
        error_sentences: what it means.
        coverage_sentence: how much is beyond the measured kernels; may be empty.
        left_out_sentence: which rows do not count; may be empty.
        definitions: terms and their meaning.
        largest: the rows with the largest gaps.
        savings: time saved per forward pass.
        overview_figures: figures of the body, in order.
        tile_map_note: why there is no heat map; empty when there is one.
        page_figures: figures of all shapes, at the end.
        lines: all rows.
        has_measured: some row has a measured time.
        facts: names and values of what the run is made of.
    """

    title: str
    marks: tuple[str, ...]
    question: str
    method: str
    answer: tuple[str, ...]
    headlines: tuple[Headline, ...]
    error: ModelError
    error_sentences: tuple[str, ...]
    coverage_sentence: str
    left_out_sentence: str
    definitions: tuple[tuple[str, str], ...]
    largest: tuple[ShapeLine, ...]
    savings: tuple[SavingLine, ...]
    overview_figures: tuple[ReportFigure, ...]
    tile_map_note: str
    page_figures: tuple[ReportFigure, ...]
    lines: tuple[ShapeLine, ...]
    has_measured: bool
    facts: tuple[tuple[str, str], ...]

    @property
    def figures(self) -> tuple[ReportFigure, ...]:
        """All figures."""
        return self.overview_figures + self.page_figures


def build_report(run: RunFiles) -> Report:
    """Put the report of a run together.

    Raises:
        InputError: the manifest names an evaluator that does not exist.
    """
    options = run.manifest.options
    counted = select_counted(run.rows)
    summary = compute_summary(run.rows)
    with_gap = select_largest(run.rows, len(run.rows))
    largest = with_gap[:LARGEST_ROWS]
    check = _check_model(options.evaluator, run.spec)
    error = summarise_model_error(options.evaluator, run.spec, check, counted)
    tile_map = compute_tile_map(largest, run.spec, options.evaluator)
    figures = (
        build_gap_overview(counted),
        build_gap_distribution(counted),
        None if tile_map.map is None else build_tile_map(tile_map.map),
        build_model_check(check, options.evaluator, run.spec.soc, fitted=error.cross_validated),
    )
    return Report(
        title=f"Tiling gap of {wording.shapes_name(run.manifest)} on {run.spec.soc}",
        marks=_marks(run.manifest, run.spec),
        question=wording.question(run.manifest, run.spec, summary),
        method=wording.method(run.manifest),
        answer=wording.answer(summary, error, with_gap),
        headlines=_headlines(summary, error, with_gap),
        error=error,
        error_sentences=wording.error_sentences(error),
        coverage_sentence=wording.coverage_sentence(summary),
        left_out_sentence=wording.left_out_sentence(summary),
        definitions=wording.DEFINITIONS,
        largest=build_counted_lines(largest),
        savings=build_saving_lines(compute_savings(run.rows)),
        overview_figures=tuple(figure for figure in figures if figure is not None),
        tile_map_note=tile_map.note,
        page_figures=build_gap_pages(counted),
        lines=build_shape_lines(run.rows),
        has_measured=any(row.measured_us is not None for row in run.rows),
        facts=_facts(run.manifest, run.spec, run.rows),
    )


def _check_model(evaluator: str, spec: HardwareSpec) -> ErrorReport:
    """The model's predictions of the bundled measured kernels, with the run's hardware figures."""
    return compute_error_report(select_evaluator(evaluator), spec, load_measured())


def _marks(manifest: Manifest, spec: HardwareSpec) -> tuple[str, ...]:
    """Warnings that stand on every page."""
    marks: list[str] = []
    if manifest.options.as_950:
        marks.append(
            f"{spec.soc} ({spec.npu_arch}) is not an Ascend 950: its tiling was chosen as the "
            "950's host code would, which is not what runs there."
        )
    if manifest.status in {RunStatus.INTERRUPTED, RunStatus.FAILED}:
        marks.append(f"This run is not complete: it was {manifest.status.value}.")
    return tuple(marks)


def _headlines(
    summary: GapSummary, error: ModelError, with_gap: Sequence[CountedRow]
) -> tuple[Headline, ...]:
    """The numbers of the first screen."""
    headlines: list[Headline] = []
    if summary.counted:
        top = with_gap[0] if with_gap else None
        headlines = [
            Headline(
                value=format_percent(summary.mean_gap_ratio),
                label="mean gap",
                note=f"geometric, over {format_count(summary.counted, 'shape')}",
            ),
            *_weighted_headline(summary),
            Headline(
                value=f"{summary.resolved} of {summary.counted}",
                label="gaps resolved",
                note="larger than the model's error",
            ),
            Headline(
                value=format_percent(top.compared.gap_ratio if top else 0.0),
                label="largest gap",
                note=_largest_note(with_gap),
            ),
        ]
    overall = error.overall
    headlines.append(
        Headline(
            value="unknown" if overall is None else format_percent(overall.median_ape),
            label="model's median error",
            note="no measured kernels"
            if overall is None
            else _error_note(error, overall.measured),
        )
    )
    return tuple(headlines)


def _weighted_headline(summary: GapSummary) -> tuple[Headline, ...]:
    """The weighted mean, where it says something of its own."""
    if not summary.is_weighted:
        return ()
    return (
        Headline(
            value=format_percent(summary.weighted_gap_ratio),
            label="weighted mean gap",
            note="by calls per forward pass",
        ),
    )


def _largest_note(with_gap: Sequence[CountedRow]) -> str:
    """Whether the largest gap is resolved, and if not, the largest that is."""
    if not with_gap:
        return "the vendor's choice is the best"
    resolved = [item.compared.gap_ratio for item in with_gap if item.compared.resolved]
    if with_gap[0].compared.resolved:
        return "resolved"
    return (
        f"not resolved; largest resolved {format_percent(resolved[0])}"
        if resolved
        else "not resolved"
    )


def _error_note(error: ModelError, measured: int) -> str:
    """What the error was found on."""
    kind = "cross-validated on" if error.cross_validated else "on"
    return f"{kind} {measured} measured kernels"


def _facts(
    manifest: Manifest, spec: HardwareSpec, rows: Sequence[ResultRow]
) -> tuple[tuple[str, str], ...]:
    """What the run is made of; nothing that differs between two runs of the same question."""
    options, digests = manifest.options, manifest.digests
    compared = [row.compared for row in rows if row.compared is not None]
    certified = [item for item in compared if item.regret_ratio is not None]
    certificates = sorted({item.certificate for item in certified})
    command = (
        f"autotune study --shapes {wording.shapes_name(manifest)} --hw {clean_text(options.hw)} "
        f"--study {options.study} --strategy {options.strategy} --evaluator {options.evaluator} "
        f"--effort {options.effort}"
    )
    if options.strategy != EXHAUSTIVE:
        command += f" --trials {options.trials} --seed {options.seed}"
    return (
        ("Command", command),
        (
            "Hardware",
            f"{spec.soc}, {spec.npu_arch}, {spec.cores.aic_num} cube cores at "
            f"{spec.cores.clock_mhz} MHz",
        ),
        ("Plans evaluated", str(sum(item.evaluations for item in compared))),
        ("Illegal points", str(sum(sum(item.rejected.values()) for item in compared))),
        ("Certified", _certified(len(certified), len(compared))),
        *((("Example certificate", certificates[0]),) if certificates else ()),
        ("Digest of the question", digests.run),
        ("Digest of the shapes", digests.shapes),
        ("Digest of the hardware", digests.spec),
        ("Digest of the model", digests.model),
    )


def _certified(certified: int, compared: int) -> str:
    """For how many shapes the optimum of the model is proven within the space."""
    return (
        f"{certified} of {compared} answers carry a certificate: the whole space was covered, so "
        "the best found is the model's optimum in it up to the stated regret"
    )
