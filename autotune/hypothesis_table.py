"""The verdicts of a run on stdout, and the claims as `--list` shows them."""

import textwrap
from collections.abc import Sequence

from studies.hypotheses.effort import Depth
from studies.hypotheses.registry import ENTRIES
from studies.hypotheses.verdicts import RatioSummary, StudyResults, StudyVerdict, Verdict

VERDICT_WORDS = {
    Verdict.SUPPORTED: "supported",
    Verdict.REFUTED: "refuted",
    Verdict.MIXED: "mixed",
    Verdict.NOT_TESTED: "not tested",
}
"""The verdicts in words."""

CLAIM_COLUMNS = 100
"""Width of the text of claims."""

_HEADERS = (
    "study",
    "verdict",
    "robust",
    "shapes",
    "gain",
    "95 % interval",
    "win",
    "tie",
    "loss",
    "worst",
    "selector",
    "weighted",
)
_ALIGNMENT = ("left", "left", "left", *(["right"] * (len(_HEADERS) - 3)))
_NOTHING = "-"


def format_verdicts(results: StudyResults) -> str:
    """The table of verdicts, a line a study; gains are r - 1, above 0 for a faster treatment."""
    from tabulate import tabulate

    rows = [_format_row(verdict) for verdict in results.verdicts]
    table: str = tabulate(
        rows, headers=_HEADERS, tablefmt="simple", colalign=_ALIGNMENT, disable_numparse=True
    )
    return table + "\n"


def format_claims() -> str:
    """Every study: what is claimed, and what would refute it."""
    parts = []
    for entry in ENTRIES:
        statement = entry.statement
        kind = "" if entry.is_judged else " (reported without a verdict)"
        lines = [f"{statement.id}: {statement.title}{kind}"]
        for label, text in (
            ("claim", statement.claim),
            ("domain", statement.domain),
            ("control", statement.control),
            ("treatment", statement.treatment),
            ("refuted if", statement.falsifier),
        ):
            lines += textwrap.wrap(
                f"{label}: {text}", CLAIM_COLUMNS, initial_indent="  ", subsequent_indent="    "
            )
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def describe_budget(shapes: int, depth: Depth, jobs: int) -> str:
    """What is about to be done, and roughly how long it takes."""
    seconds = shapes * depth.shape_seconds / jobs
    minutes = max(1, round(seconds / 60))
    return (
        f"{shapes} distinct shapes; {depth.describe()}; roughly {minutes} min with {jobs} "
        f"{'process' if jobs == 1 else 'processes'}"
    )


def describe_results(results: StudyResults) -> Sequence[str]:
    """Lines for stderr: who chose and who judged, and what `mixed` holds for."""
    lines = [
        f"chosen by {results.selector}, judged by {results.judge}; "
        f"{results.pipeline_draws} + {results.emulator_draws} draws of the hardware"
    ]
    for verdict in results.verdicts:
        if verdict.holds_for:
            lines.append(f"{verdict.study} holds for {'; '.join(verdict.holds_for)}")
    return lines


def _format_row(verdict: StudyVerdict) -> tuple[str, ...]:
    summary = verdict.summary
    return (
        verdict.study,
        VERDICT_WORDS[summary.verdict] if verdict.is_judged else _NOTHING,
        _format_robust(verdict),
        str(summary.shapes),
        _format_gain(summary.geomean),
        _format_interval(summary),
        str(summary.wins),
        str(summary.ties),
        str(summary.losses),
        _format_gain(summary.worst),
        _format_gain(verdict.selected_geomean),
        _format_gain(verdict.weighted_geomean),
    )


def _format_robust(verdict: StudyVerdict) -> str:
    if verdict.robustness.is_robust is None:
        return _NOTHING
    return "yes" if verdict.robustness.is_robust else "no"


def _format_interval(summary: RatioSummary) -> str:
    if summary.low is None or summary.high is None:
        return _NOTHING
    return f"{_format_gain(summary.low)} .. {_format_gain(summary.high)}"


def _format_gain(ratio: float) -> str:
    """The gain r - 1 in percent, with its sign."""
    return f"{ratio - 1:+.1%}".replace("%", " %")
