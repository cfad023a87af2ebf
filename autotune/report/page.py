"""The report as values: everything that report.html and report.md show, and no markup."""

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.manifest import Manifest
from autotune.report import wording
from autotune.report.aggregates import (
    compute_savings,
    compute_summary,
    select_counted,
    select_largest,
    sum_by_phase,
)
from autotune.report.emulated import emulate_pair
from autotune.report.figures.gap_distribution import build_gap_distribution
from autotune.report.figures.gap_rows import build_gap_overview, build_gap_pages
from autotune.report.figures.model_check import build_model_check
from autotune.report.figures.style import ReportFigure
from autotune.report.figures.swizzle_map import build_swizzle_map
from autotune.report.figures.tile_map import build_tile_map
from autotune.report.figures.timelines import build_timelines
from autotune.report.first_tests import CandidateLine, build_first_tests
from autotune.report.headlines import Headline, build_headlines
from autotune.report.landscape import compute_tile_map
from autotune.report.model_error import ModelError, summarise_model_error
from autotune.report.run_files import RunFiles
from autotune.report.tables import (
    SavingLine,
    ShapeLine,
    build_counted_lines,
    build_phase_lines,
    build_saving_lines,
    build_shape_lines,
)
from autotune.report.terms import TABLE_TERMS
from autotune.report.text import clean_text, format_count, group_digits
from autotune.results import ResultRow
from hwmodel.cost.evaluators import select_evaluator
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import load_hardware
from hwmodel.validation.errors_report import ErrorReport, compute_error_report
from hwmodel.validation.measured import MEASURED_HARDWARE, MEASURED_SOC, load_measured
from studies.search import Effort
from studies.strategies import EXHAUSTIVE

LARGEST_ROWS = 8
"""Rows of the table of largest gaps: what a reader takes in before the figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything the templates show. Texts are plain; the templates escape them.

    Attributes:
        title: heading.
        marks: warnings that stand on every page, e.g. that the chip is no 950.
        opening: what was asked, and of what kind the answer is.
        method: how it was answered.
        answer: what came out, sentence by sentence.
        headlines: the numbers in large type.
        error: the model's error.
        error_sentences: what it means.
        coverage_sentence: how much is beyond the measured kernels; may be empty.
        left_out_sentence: which rows do not count; may be empty.
        definitions: terms of the first screen and their meaning.
        terms: those of the tables.
        first_tests: kernels to time first.
        largest: the rows with the largest gaps.
        phases: time saved per forward pass, a phase.
        savings: the same, a pass; empty where the phases say it all.
        overview_figures: figures of the body, in order.
        tile_map_note: why there is no heat map; empty when there is one.
        page_figures: figures of all shapes, at the end.
        lines: all rows.
        has_measured: some row has a measured time.
        has_regret: some best found is not certified to be the model's optimum, but others are.
        facts: names and values of what the run is made of.
    """

    title: str
    marks: tuple[str, ...]
    opening: str
    method: str
    answer: tuple[str, ...]
    headlines: tuple[Headline, ...]
    error: ModelError
    error_sentences: tuple[str, ...]
    coverage_sentence: str
    left_out_sentence: str
    definitions: tuple[tuple[str, str], ...]
    terms: tuple[tuple[str, str], ...]
    first_tests: tuple[CandidateLine, ...]
    largest: tuple[ShapeLine, ...]
    phases: tuple[SavingLine, ...]
    savings: tuple[SavingLine, ...]
    overview_figures: tuple[ReportFigure, ...]
    tile_map_note: str
    page_figures: tuple[ReportFigure, ...]
    lines: tuple[ShapeLine, ...]
    has_measured: bool
    has_regret: bool
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
    tile_map = compute_tile_map(
        largest, run.spec, options.evaluator, quick=options.effort == Effort.QUICK
    )
    pair = emulate_pair(largest, run.spec, options.evaluator)
    savings = compute_savings(run.rows)
    phases = sum_by_phase(savings)
    lines = build_shape_lines(run.rows)
    figures = (
        build_gap_overview(counted),
        build_gap_distribution(counted),
        None if tile_map.map is None else build_tile_map(tile_map.map),
        None if pair is None else build_timelines(pair),
        None if pair is None else build_swizzle_map(pair),
        build_model_check(check, options.evaluator, MEASURED_SOC, fitted=error.cross_validated),
    )
    return Report(
        title=f"Tiling gap of {wording.shapes_name(run.manifest)} on {run.spec.soc}",
        marks=wording.marks(run.manifest, run.spec),
        opening=wording.opening(run.manifest, run.spec, summary),
        method=wording.method(run.manifest),
        answer=wording.answer(summary, error, with_gap),
        headlines=build_headlines(summary, phases, error),
        error=error,
        error_sentences=(*wording.error_sentences(error), *_trust_sentences(error)),
        coverage_sentence=wording.coverage_sentence(summary),
        left_out_sentence=wording.left_out_sentence(summary),
        definitions=wording.DEFINITIONS,
        terms=TABLE_TERMS,
        first_tests=build_first_tests(run.rows, run.spec, options.evaluator),
        largest=build_counted_lines(largest),
        phases=build_phase_lines(phases) if summary.counted > 1 else (),
        savings=build_saving_lines(savings) if len(savings) > len(phases) else (),
        overview_figures=tuple(figure for figure in figures if figure is not None),
        tile_map_note=tile_map.note,
        page_figures=build_gap_pages(counted),
        lines=lines,
        has_measured=any(row.measured_us is not None for row in run.rows),
        has_regret=len({line.compared.regret for line in lines if line.compared}) > 1,
        facts=_facts(run.manifest, run.spec, run.rows),
    )


def _check_model(evaluator: str, spec: HardwareSpec) -> ErrorReport:
    """The model's predictions of the bundled measured kernels.

    They use the run's hardware figures if the run is for the chip that the kernels ran on; those
    of another chip would predict other kernels.
    """
    measured = spec if spec.soc == MEASURED_SOC else load_hardware(MEASURED_HARDWARE)
    return compute_error_report(select_evaluator(evaluator), measured, load_measured())


def _trust_sentences(error: ModelError) -> tuple[str, ...]:
    """What else to know about the error, where it is known at all."""
    if error.overall is None:
        return ()
    held_back = wording.held_back_sentence(error)
    return (*((held_back,) if held_back else ()), wording.PAIR_CAVEAT)


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
        ("Plans evaluated", f"{sum(item.evaluations for item in compared):,}"),
        ("Illegal points", f"{sum(sum(item.rejected.values()) for item in compared):,}"),
        ("Certified", _certified(len(certified), len(compared))),
        *((("Example certificate", group_digits(certificates[0])),) if certificates else ()),
        ("Digest of the question", digests.run),
        ("Digest of the shapes", digests.shapes),
        ("Digest of the hardware", digests.spec),
        ("Digest of the model", digests.model),
    )


def _certified(certified: int, compared: int) -> str:
    """For how many shapes the optimum of the model is proven within the space."""
    return (
        f"{certified:,} of {format_count(compared, 'answer')}: there the whole space was covered, "
        "so the best found is the model's optimum in it, up to the regret"
    )
