"""The numbers in large type: what would be gained, and how far that can be trusted."""

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.report.aggregates import GapSummary, PassSaving
from autotune.report.model_error import ModelError
from autotune.report.text import clip_text, format_count, format_gap, format_percent, short_name

PHASE_HEADLINES = 4
"""Phases with a number of their own; further ones are in the table of time saved."""

_PHASE_COLUMNS = 20


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


def build_headlines(
    summary: GapSummary, phases: Sequence[PassSaving], error: ModelError
) -> tuple[Headline, ...]:
    """What is gained in time, then the gap of a shape, then the model's error.

    Args:
        summary: the run in numbers.
        phases: time saved per forward pass, by phase.
        error: the model's error.
    """
    gains: tuple[Headline, ...] = ()
    if summary.counted == 1:
        gains = (
            Headline(
                value=format_gap(summary.mean_gap_ratio),
                label="gap",
                note=_gap_note(summary),
            ),
        )
    elif summary.counted:
        gains = (
            *(_saved_headline(saving) for saving in phases[:PHASE_HEADLINES]),
            Headline(
                value=format_percent(summary.mean_gap_ratio),
                label="mean gap of a shape",
                note=f"geometric and unweighted, {format_count(summary.counted, 'shape')}",
            ),
        )
    return (*gains, *_error_headlines(error))


def _gap_note(summary: GapSummary) -> str:
    """What to know about the gap of the only shape."""
    if summary.resolved:
        return "resolved: larger than the model's error"
    if format_gap(summary.mean_gap_ratio) == format_gap(0.0):
        return "the vendor's choice is the best found"
    return "not resolved: within the model's error"


def _saved_headline(saving: PassSaving) -> Headline:
    """Time saved in a pass of one phase, or over the whole list where it names no phases."""
    phase = clip_text(short_name(saving.phase), _PHASE_COLUMNS)
    return Headline(
        value=format_percent(saving.saved_ratio),
        label=f"time saved per pass: {phase}" if phase else "time saved, by weight",
        note=f"of it resolved: {format_percent(saving.resolved_ratio)}",
    )


def _error_headlines(error: ModelError) -> tuple[Headline, ...]:
    """The model's error, cross-validated and on the kernels held back from every fit."""
    overall, held_back = error.overall, error.held_back
    if overall is None:
        return (
            Headline(value="unknown", label="model's median error", note="no measured kernels"),
        )
    if not error.same_chip:
        return (
            Headline(
                value="unknown",
                label="model's median error",
                note=f"nothing was measured on this chip, only on an {error.measured_on}",
            ),
        )
    kind = "cross-validated on" if error.cross_validated else "on"
    headlines = [
        Headline(
            value=format_percent(overall.median_ape),
            label="model's median error",
            note=f"{kind} {format_count(overall.measured, 'measured kernel')}",
        )
    ]
    if held_back is not None:
        headlines.append(
            Headline(
                value=format_percent(held_back.median_ape),
                label="median error, held back",
                note=f"on {format_count(held_back.n, 'kernel')} that no constant was fitted to",
            )
        )
    return tuple(headlines)
