"""The tables of the report of hypotheses: every cell as text, with the value it is sorted by."""

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.hypothesis_table import VERDICT_WORDS
from autotune.report.hypotheses.maintainer import format_share
from autotune.report.hypotheses.verdict_words import (
    NOTHING,
    describe_verdict,
    format_interval,
    format_signed,
)
from autotune.report.hypotheses.view import MAIN_STUDIES, RunView
from autotune.report.tables import TABLE_NAME_COLUMNS
from autotune.report.text import (
    clean_text,
    clip_text,
    describe_problem,
    describe_tiling,
    format_product,
    format_us,
)
from studies.hypotheses.domain import GROUPED_TAG, DomainShape
from studies.hypotheses.statistics import WIN
from studies.hypotheses.verdicts import PassSaving, RatioSummary, StudyVerdict, Subdomain
from studies.shape_rows import ShapeRow


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictLine:
    """One line of the table of verdicts.

    `kind` is the verdict's name, for its colour; `word` and `rest` make the sentence, both empty
    where there is no verdict.
    """

    study: str
    title: str
    kind: str
    word: str
    rest: str
    gain: str
    interval: str
    shapes: str
    votes: str
    worst: str
    weighted: str
    selected: str
    robust: str
    resolved: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NameCells:
    """A shape by name; `size` and `details` as in the other report."""

    name: str
    size: str
    details: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyShapeLine:
    """One shape of one study."""

    number: int
    shape: NameCells
    control: str
    control_us: str
    control_value: float
    treatment: str
    treatment_us: str
    treatment_value: float
    gain: str
    gain_value: float
    outcome: str
    selected: str
    selected_value: float
    coverage: str
    resolved: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixLine:
    """One row of the lists: its gain in every study; empty outside the domain."""

    number: int
    shape: NameCells
    note: str
    baseline_us: str
    baseline_value: float
    gains: tuple[str, ...]
    gain_values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingLine:
    """One pass of one model: part saved by each study, and time saved per token by some."""

    model: str
    phase: str
    tokens: str
    control: str
    shares: tuple[str, ...]
    joint_saved: str
    best_saved: str
    joint_per_token: str
    best_per_token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassLine:
    """One pass of one model under one study."""

    model: str
    phase: str
    tokens: str
    control: str
    saved: str
    share: str
    per_token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartLine:
    """One part of a domain."""

    part: str
    shapes: int
    gain: str
    interval: str
    votes: str
    verdict: str
    chosen: str
    unseen: str


def build_verdict_lines(view: RunView) -> tuple[VerdictLine, ...]:
    """Studies with a verdict of their own and OPT, in the report's order."""
    return tuple(
        build_verdict_line(view, verdict)
        for study, verdict in view.verdicts.items()
        if study in MAIN_STUDIES
    )


def build_variant_lines(view: RunView) -> tuple[VerdictLine, ...]:
    """Variants and leave-outs, reported without a verdict."""
    return tuple(
        build_verdict_line(view, verdict)
        for study, verdict in view.verdicts.items()
        if study not in MAIN_STUDIES
    )


def build_verdict_line(view: RunView, verdict: StudyVerdict) -> VerdictLine:
    """One study of the table."""
    summary = verdict.summary
    robust = verdict.robustness.is_robust
    has_shapes = summary.shapes > 0
    word = VERDICT_WORDS[summary.verdict] if verdict.is_judged else ""
    return VerdictLine(
        study=verdict.study.upper() if not verdict.parent else "",
        title=verdict.statement.title,
        kind=summary.verdict.value if verdict.is_judged else "none",
        word=word,
        rest=describe_verdict(view, verdict).removeprefix(word) if word else "",
        gain=format_signed(summary.geomean) if has_shapes else NOTHING,
        interval=format_interval(summary) or NOTHING,
        shapes=f"{summary.shapes:,}",
        votes=format_votes(summary),
        worst=format_signed(summary.worst) if summary.losses else NOTHING,
        weighted=format_signed(verdict.weighted_geomean),
        selected=format_signed(verdict.selected_geomean) if has_shapes else NOTHING,
        robust=NOTHING if robust is None else "yes" if robust else "no",
        resolved=f"{verdict.resolved:,}",
    )


def format_votes(summary: RatioSummary) -> str:
    """`4 / 7 / 0`: shapes that win, tie and lose."""
    return f"{summary.wins:,} / {summary.ties:,} / {summary.losses:,}"


def build_part_lines(parts: Sequence[Subdomain]) -> tuple[PartLine, ...]:
    """The stated parts of a domain."""
    return tuple(
        PartLine(
            part=clip_text(clean_text(part.part), TABLE_NAME_COLUMNS),
            shapes=part.summary.shapes,
            gain=format_signed(part.summary.geomean),
            interval=format_interval(part.summary) or NOTHING,
            votes=format_votes(part.summary),
            verdict=VERDICT_WORDS[part.summary.verdict],
            chosen="yes" if part.chosen else "no",
            unseen=(
                f"{format_signed(part.held_out.geomean)} on {part.held_out.shapes:,}"
                if part.held_out.shapes
                else NOTHING
            ),
        )
        for part in parts
    )


def build_study_lines(shapes: Sequence[DomainShape]) -> tuple[StudyShapeLine, ...]:
    """The shapes of a study, greatest gain first, losses at the end."""
    ordered = sorted(shapes, key=lambda s: (-s.comparison.judged_ratio, s.row.index))
    return tuple(_study_line(shape) for shape in ordered)


def _study_line(shape: DomainShape) -> StudyShapeLine:
    comparison = shape.comparison
    before, after, ratio = comparison.control, comparison.treatment, comparison.judged_ratio
    return StudyShapeLine(
        number=shape.row.index + 1,
        shape=_name_cells(shape.row),
        control=describe_tiling(before.plan),
        control_us=format_us(before.judge_us),
        control_value=before.judge_us,
        treatment=describe_tiling(after.plan) if comparison.changed_fields else "the same",
        treatment_us=format_us(after.judge_us),
        treatment_value=after.judge_us,
        gain=format_signed(ratio),
        gain_value=ratio,
        outcome="win" if ratio > WIN else "loss" if ratio < 1 / WIN else "tie",
        selected=format_signed(comparison.selected_ratio),
        selected_value=comparison.selected_ratio,
        coverage=comparison.coverage.value,
        resolved="yes" if comparison.resolved else "no",
    )


def build_matrix_lines(view: RunView, studies: Sequence[str]) -> tuple[MatrixLine, ...]:
    """Every row of the lists with its gain in each study."""
    lines = []
    for studied in view.results.rows:
        row = studied.row
        answer = view.answers.get(row.problem)
        found = [None if answer is None else answer.find(study) for study in studies]
        ratios = [None if item is None else item.judged_ratio for item in found]
        note = f"list {studied.source}" if studied.source else ""
        if row.tag == GROUPED_TAG:
            note = "grouped: not counted"
        if answer is None:
            note = clip_text(clean_text(studied.message), TABLE_NAME_COLUMNS)
        lines.append(
            MatrixLine(
                number=row.index + 1,
                shape=_name_cells(row),
                note=note,
                baseline_us="" if answer is None else format_us(answer.baseline.judge_us),
                baseline_value=0.0 if answer is None else answer.baseline.judge_us,
                gains=tuple("" if ratio is None else format_signed(ratio) for ratio in ratios),
                gain_values=tuple(ratios),
            )
        )
    return tuple(lines)


def build_saving_lines(view: RunView, studies: Sequence[str]) -> tuple[SavingLine, ...]:
    """Every pass of every model, with what each study saves of it."""
    columns = {study: view.verdicts[study].savings for study in studies}
    passes = next(iter(columns.values()), ())
    lines = []
    for place, first in enumerate(passes):
        savings = {study: column[place] for study, column in columns.items()}
        lines.append(
            SavingLine(
                model=_name_model(first),
                phase=clean_text(first.phase),
                tokens="" if first.tokens is None else f"{first.tokens:,}",
                control=format_us(first.control_us),
                shares=tuple(format_share(saving.saved_ratio) for saving in savings.values()),
                joint_saved=_format_saved(savings.get("joint")),
                best_saved=_format_saved(savings.get("opt")),
                joint_per_token=_format_per_token(savings.get("joint")),
                best_per_token=_format_per_token(savings.get("opt")),
            )
        )
    return tuple(lines)


def build_pass_lines(savings: Sequence[PassSaving]) -> tuple[PassLine, ...]:
    """What one study saves of every pass, in a pass and per token."""
    return tuple(
        PassLine(
            model=_name_model(saving),
            phase=clean_text(saving.phase),
            tokens="" if saving.tokens is None else f"{saving.tokens:,}",
            control=format_us(saving.control_us),
            saved=format_us(saving.saved_us),
            share=format_share(saving.saved_ratio),
            per_token=_format_per_token(saving),
        )
        for saving in savings
    )


def _name_model(saving: PassSaving) -> str:
    """The model with its tensor parallelism."""
    name = clean_text(saving.model) + (f" (tp {saving.tp})" if saving.tp else "")
    return name or "rows without a model"


def _format_saved(saving: PassSaving | None) -> str:
    return NOTHING if saving is None else format_us(saving.saved_us)


def _format_per_token(saving: PassSaving | None) -> str:
    if saving is None or saving.per_token_us is None:
        return NOTHING
    return format_us(saving.per_token_us)


def _name_cells(row: ShapeRow) -> NameCells:
    problem = row.problem
    name = clip_text(clean_text(row.name), TABLE_NAME_COLUMNS)
    return NameCells(
        name="" if row.name == problem.label() else name,
        size=format_product(problem.m, problem.k, problem.n),
        details=describe_problem(problem),
    )
