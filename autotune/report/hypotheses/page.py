"""The report of hypotheses as values: everything that the page shows, and no markup."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autotune.report.figures.style import ReportFigure
from autotune.report.hypotheses import verdict_words as words
from autotune.report.hypotheses.build_first import HOW_RANKED, describe_first, describe_reason
from autotune.report.hypotheses.figures.forest import build_forest
from autotune.report.hypotheses.figures.h1 import build_h1
from autotune.report.hypotheses.figures.h2 import build_h2
from autotune.report.hypotheses.figures.h3 import build_h3
from autotune.report.hypotheses.figures.h4 import build_h4
from autotune.report.hypotheses.figures.h5 import build_h5
from autotune.report.hypotheses.figures.h6 import build_h6
from autotune.report.hypotheses.figures.joint import build_joint
from autotune.report.hypotheses.figures.optimism import build_optimism
from autotune.report.hypotheses.maintainer import (
    MaintainerEntry,
    build_maintainer_page,
    list_left_out,
)
from autotune.report.hypotheses.priorities import Priority, rank_priorities
from autotune.report.hypotheses.study_facts import describe_study
from autotune.report.hypotheses.tables import (
    MatrixLine,
    PartLine,
    PassLine,
    SavingLine,
    StudyShapeLine,
    VerdictLine,
    build_matrix_lines,
    build_part_lines,
    build_pass_lines,
    build_saving_lines,
    build_study_lines,
    build_variant_lines,
    build_verdict_line,
    build_verdict_lines,
)
from autotune.report.hypotheses.terms import DEFINITIONS
from autotune.report.hypotheses.view import MAIN_STUDIES, RunView
from autotune.report.terms import TABLE_TERMS
from autotune.report.text import clean_text, format_count
from autotune.report.wording import marks, shapes_name
from studies.hypotheses.domain import GROUPED_TAG
from studies.hypotheses.verdicts import RowState, StudyVerdict

Figures = tuple[ReportFigure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityLine:
    """One line of what to build first."""

    place: int
    study: str
    title: str
    grade: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySection:
    """One study in full.

    Attributes:
        study: its id.
        heading: e.g. `H2: a fitted window`.
        line: its line in the table of verdicts.
        statement: names and sentences stated before the run.
        facts: what was found besides the verdict.
        draws: verdicts of the draws of the hardware; may be empty.
        losses: every loss by name, worst first.
        figures: figures of this study.
        parts: stated parts of the domain.
        passes: time saved in passes of models; may be empty.
        lines: the shapes of its domain.
    """

    study: str
    heading: str
    line: VerdictLine
    statement: tuple[tuple[str, str], ...]
    facts: tuple[str, ...]
    draws: str
    losses: tuple[str, ...]
    figures: Figures
    parts: tuple[PartLine, ...]
    passes: tuple[PassLine, ...]
    lines: tuple[StudyShapeLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HypothesisReport:
    """Everything the templates show. Texts are plain; the templates escape them.

    Attributes:
        title: heading.
        marks: warnings that stand on every page.
        opening: what was asked, and of what kind the answer is.
        first: what to build first and why, sentence by sentence.
        priorities: the same as a table.
        how_ranked: the rules of that order.
        verdicts: the table of verdicts.
        variants: parts, leave-outs: numbers without a verdict.
        reading: how to read the verdicts, a paragraph each.
        left_out: rows that do not count; may be empty.
        definitions: words of the first screen.
        overview_figures: forest plot and optimism.
        sections: one a study.
        saving_studies: heads of the columns of `savings`.
        savings: time saved in passes of models.
        maintainer: the maintainer's page.
        maintainer_note: hypotheses without an entry; may be empty.
        matrix_studies: heads of the columns of `matrix`.
        matrix: all rows of the lists.
        terms: words of the tables.
        facts: what the run is made of.
    """

    title: str
    marks: tuple[str, ...]
    opening: str
    first: tuple[str, ...]
    priorities: tuple[PriorityLine, ...]
    how_ranked: str
    verdicts: tuple[VerdictLine, ...]
    variants: tuple[VerdictLine, ...]
    reading: tuple[str, ...]
    left_out: str
    definitions: tuple[tuple[str, str], ...]
    overview_figures: Figures
    sections: tuple[StudySection, ...]
    saving_studies: tuple[str, ...]
    savings: tuple[SavingLine, ...]
    maintainer: tuple[MaintainerEntry, ...]
    maintainer_note: str
    matrix_studies: tuple[str, ...]
    matrix: tuple[MatrixLine, ...]
    terms: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]

    @property
    def figures(self) -> Figures:
        """All figures."""
        return (
            *self.overview_figures,
            *(figure for section in self.sections for figure in section.figures),
        )


def build_report(view: RunView) -> HypothesisReport:
    """Put the report of a run together."""
    priorities = rank_priorities(view)
    studies = tuple(study for study in MAIN_STUDIES if study in view.verdicts)
    overview = (build_forest(view.results.verdicts), build_optimism(view))
    return HypothesisReport(
        title=_title(view),
        marks=marks(view.manifest, view.spec),
        opening=_opening(view),
        first=describe_first(view, priorities),
        priorities=_list_priorities(view, priorities),
        how_ranked=HOW_RANKED,
        verdicts=build_verdict_lines(view),
        variants=build_variant_lines(view),
        reading=_reading(view),
        left_out=_left_out(view),
        definitions=DEFINITIONS,
        overview_figures=tuple(figure for figure in overview if figure is not None),
        sections=tuple(_section(view, view.verdicts[study]) for study in studies),
        saving_studies=tuple(study.upper() for study in studies),
        savings=build_saving_lines(view, studies),
        maintainer=build_maintainer_page(view, priorities),
        maintainer_note=list_left_out(view),
        matrix_studies=tuple(study.upper() for study in studies),
        matrix=build_matrix_lines(view, studies),
        terms=TABLE_TERMS,
        facts=_facts(view),
    )


def _title(view: RunView) -> str:
    count = sum(verdict.is_judged for verdict in view.verdicts.values())
    what = "Improvements of the host tiling" if count > 1 else "An improvement of the host tiling"
    return f"{what}, tested on {shapes_name(view.manifest)} for {view.spec.soc}"


def _opening(view: RunView) -> str:
    results = view.results
    lists = sorted({row.source for row in results.rows if row.source})
    added = f" and {', '.join(f'{name}.csv' for name in lists)}" if lists else ""
    return (
        f"Model prediction; nothing was run on a chip. "
        f"{format_count(len(results.answers), 'distinct shape')} of {shapes_name(view.manifest)}"
        f"{added} were put through improvements of the vendor's MatMulV3 host tiling on an "
        f"{view.spec.soc}. A gain is how much longer the control takes than the treatment: "
        "t_control / t_treatment - 1."
    )


def _list_priorities(view: RunView, priorities: Sequence[Priority]) -> tuple[PriorityLine, ...]:
    return tuple(
        PriorityLine(
            place=place,
            study=one.study.upper(),
            title=view.verdicts[one.study].statement.title,
            grade=one.grade.value,
            reason=describe_reason(view, one),
        )
        for place, one in enumerate(priorities, start=1)
    )


def _reading(view: RunView) -> tuple[str, ...]:
    paragraphs = (
        words.describe_models(view),
        words.describe_rules(),
        words.describe_interval(),
        words.describe_robustness_rule(view),
        words.describe_error(view),
        words.count_coverage(view),
    )
    return tuple(paragraph for paragraph in paragraphs if paragraph)


def _left_out(view: RunView) -> str:
    """Rows that do not count, and why."""
    rows = view.results.rows
    grouped = sum(studied.row.tag == GROUPED_TAG for studied in rows)
    rejected = sum(studied.state is RowState.REJECTED for studied in rows)
    parts = []
    if grouped:
        parts.append(
            f"{grouped:,} tagged grouped (expert layers that another operator serves today)"
        )
    if rejected:
        parts.append(f"{rejected:,} rejected by the operator")
    if not parts:
        return ""
    return (
        f"Left out of {format_count(len(rows), 'row')}: {'; '.join(parts)}. Equal problems are "
        "computed once and count once."
    )


def _section(view: RunView, verdict: StudyVerdict) -> StudySection:
    study, statement = verdict.study, verdict.statement
    build = _FIGURES.get(study)
    return StudySection(
        study=study,
        heading=f"{study.upper()}: {statement.title}",
        line=build_verdict_line(view, verdict),
        statement=(
            ("Claim", statement.claim),
            ("Domain", statement.domain),
            ("Control", statement.control),
            ("Treatment", statement.treatment),
            ("Refuted if", statement.falsifier),
        ),
        facts=describe_study(view, study),
        draws=words.describe_draws(verdict),
        losses=words.list_losses(view, study),
        figures=() if build is None else build(view),
        parts=build_part_lines(verdict.subdomains),
        passes=build_pass_lines(verdict.savings) if view.domains[study] else (),
        lines=build_study_lines(view.domains[study]),
    )


def _one(
    build: Callable[[RunView], ReportFigure | None],
) -> Callable[[RunView], Figures]:
    """A builder of at most one figure as one of some."""

    def build_some(view: RunView) -> Figures:
        figure = build(view)
        return () if figure is None else (figure,)

    return build_some


_FIGURES: dict[str, Callable[[RunView], Figures]] = {
    "h1": _one(build_h1),
    "h2": build_h2,
    "h3": _one(build_h3),
    "h4": _one(build_h4),
    "h5": _one(build_h5),
    "h6": _one(build_h6),
    "joint": _one(build_joint),
}


def _facts(view: RunView) -> tuple[tuple[str, str], ...]:
    """What the run is made of; nothing that differs between two runs of the same question."""
    options, digests, spec = view.manifest.options, view.manifest.digests, view.spec
    results = view.results
    command = (
        f"autotune study --shapes {shapes_name(view.manifest)} --hw {clean_text(options.hw)} "
        f"--study {options.study} --effort {options.effort}"
    )
    return (
        ("Command", command),
        (
            "Hardware",
            f"{spec.soc}, {spec.npu_arch}, {spec.cores.aic_num} cube cores at "
            f"{spec.cores.clock_mhz} MHz",
        ),
        ("Selector", results.selector),
        ("Judge", results.judge),
        (
            "Draws of the hardware",
            f"{results.pipeline_draws} for the selector's model, {results.emulator_draws} for the "
            "judge",
        ),
        ("Digest of the question", digests.run),
        ("Digest of the shapes", digests.shapes),
        ("Digest of the hardware", digests.spec),
        ("Digest of the models", digests.model),
    )
