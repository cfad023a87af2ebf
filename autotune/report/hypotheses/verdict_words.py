"""A verdict in one plain sentence, and the sentences around the table of verdicts.

A gain is r - 1 with r = t_control / t_treatment by the judge, signed: gains and losses alike.
"""

import math

from autotune.hypothesis_table import VERDICT_WORDS
from autotune.report.hypotheses.view import RunView
from autotune.report.text import clean_text, format_count, format_percent, short_name
from studies.gap import Coverage
from studies.hypotheses.statistics import (
    CONFIDENCE,
    LARGE,
    LEAST_SHAPES,
    RESAMPLES,
    WIN,
)
from studies.hypotheses.verdicts import RatioSummary, StudyVerdict, Subdomain, Verdict

NOTHING = "\N{EN DASH}"
"""An empty cell of a table."""
_NO_GAIN = 0.005
"""Gains and losses up to this are called nothing: half of what makes a shape win."""


def format_signed(ratio: float) -> str:
    """A gain r - 1 with its sign in percent, `0.0 %` without one; e.g. `+3.1 %`, `-64.1 %`."""
    text = format_percent(ratio - 1.0)
    return f"+{text}" if ratio > 1.0 and text != format_percent(0.0) else text


def format_interval(summary: RatioSummary) -> str:
    """The interval of the mean gain, `-0.2 to +8.6 %`; empty where there is none."""
    if summary.low is None or summary.high is None:
        return ""
    low = format_signed(summary.low).removesuffix(" %")
    return f"{low} to {format_signed(summary.high)}"


def describe_verdict(view: RunView, verdict: StudyVerdict) -> str:
    """What was found, how sure it is, and how far it is from what was measured."""
    parts = [_describe_finding(verdict), describe_robustness(verdict)]
    parts.append(describe_coverage(view, verdict.study))
    return "; ".join(part for part in parts if part)


def _describe_finding(verdict: StudyVerdict) -> str:
    """The verdict with what the change is worth, and where."""
    summary = verdict.summary
    if summary.shapes == 0:
        return "not tested: no shape of this run is in its domain"
    mean = f"{format_signed(summary.geomean)} on the mean"
    match summary.verdict:
        case Verdict.NOT_TESTED:
            return (
                f"not tested: {format_count(summary.shapes, 'shape')} in its domain, a verdict "
                f"needs {LEAST_SHAPES}; on {'it' if summary.shapes == 1 else 'these'} {mean}"
                f"{_describe_losses(summary)}"
            )
        case Verdict.SUPPORTED:
            return f"supported, worth {mean}{_describe_spread(summary)}"
        case Verdict.REFUTED:
            return (
                f"refuted: {mean}, and {_count_large(summary)} more than "
                f"{format_percent(LARGE - 1.0)}{_describe_losses(summary)}"
            )
        case _:
            return _describe_mixed(verdict)


def _describe_mixed(verdict: StudyVerdict) -> str:
    """A mixed verdict: the part where it holds, and what it is worth elsewhere."""
    summary = verdict.summary
    part = select_part(verdict)
    if part is None:
        return (
            f"mixed: {format_signed(summary.geomean)} on the mean, a sure gain in no stated part "
            f"of its domain{_describe_spread(summary)}"
        )
    rest = compute_rest(summary, part.summary)
    elsewhere = "nothing" if abs(rest - 1.0) <= _NO_GAIN else format_signed(rest)
    more = len(verdict.holds_for) - 1
    others = f" and {format_count(more, 'other part')}" if more else ""
    return (
        f"mixed: supported {name_part(part)}{others}, worth "
        f"{format_signed(part.summary.geomean)} there, {elsewhere} elsewhere"
        f"{_describe_losses(summary)}"
    )


def select_part(verdict: StudyVerdict) -> Subdomain | None:
    """Of the parts for which a mixed verdict holds, the one that gains most in all."""
    parts = [
        part for part in verdict.subdomains if f"{part.split}: {part.part}" in verdict.holds_for
    ]
    return max(
        parts,
        key=lambda part: part.summary.shapes * math.log(part.summary.geomean),
        default=None,
    )


def name_part(part: Subdomain) -> str:
    """Where a part is, e.g. `for M >= 2048`, `where rows of C are whole lines`."""
    name = short_name(clean_text(part.part))
    match part.split:
        case "rows of C":
            return f"where {name}"
        case "kind of kernel":
            return f"for {name} kernels"
        case "blocks per core":
            return f"with {name}"
        case _:
            return f"for {name}"


def compute_rest(whole: RatioSummary, part: RatioSummary) -> float:
    """Geometric mean of r over the shapes that are not in the part; 1 without any."""
    count = whole.shapes - part.shapes
    if count <= 0:
        return 1.0
    logs = whole.shapes * math.log(whole.geomean) - part.shapes * math.log(part.geomean)
    return math.exp(logs / count)


def _describe_spread(summary: RatioSummary) -> str:
    """Best gain and losses behind a mean."""
    best = f", at best {format_signed(summary.best)}" if summary.best > WIN else ""
    return f"{best}{_describe_losses(summary)}"


def _describe_losses(summary: RatioSummary) -> str:
    if not summary.losses:
        return ", no losses"
    return (
        f", {format_count(summary.losses, 'loss', 'losses')} of "
        f"{format_count(summary.shapes, 'shape')} (worst {format_signed(summary.worst)})"
    )


def _count_large(summary: RatioSummary) -> str:
    """How many shapes gain much, as the subject of a sentence."""
    if not summary.large_wins:
        return "no shape gains"
    verb = "gains" if summary.large_wins == 1 else "gain"
    return f"{format_count(summary.large_wins, 'shape')} of {summary.shapes:,} {verb}"


def describe_robustness(verdict: StudyVerdict) -> str:
    """Whether the verdict survives the draws of the hardware; empty where nothing was drawn."""
    robustness = verdict.robustness
    if robustness.is_robust is None:
        return ""
    return f"{'robust' if robustness.is_robust else 'not robust'} ({count_draws(verdict)})"


def count_draws(verdict: StudyVerdict) -> str:
    """`23 of 24 draws agree`; empty where nothing was drawn."""
    robustness = verdict.robustness
    drawn = (*robustness.pipeline_verdicts, *robustness.emulator_verdicts)
    if not drawn:
        return ""
    agreeing = sum(item is verdict.summary.verdict for item in drawn)
    return f"{agreeing} of {len(drawn)} draws agree"


def describe_draws(verdict: StudyVerdict) -> str:
    """Which verdicts the draws of each model give, most frequent first; empty without draws."""
    robustness = verdict.robustness
    parts = []
    for name, verdicts in (
        ("the selector's", robustness.pipeline_verdicts),
        ("the judge's", robustness.emulator_verdicts),
    ):
        if not verdicts:
            continue
        counts = {kind: sum(item is kind for item in verdicts) for kind in Verdict}
        ordered = sorted(counts.items(), key=lambda item: -item[1])
        listed = ", ".join(f"{VERDICT_WORDS[kind]} {count}" for kind, count in ordered if count)
        parts.append(f"of {name} {len(verdicts)} draws: {listed}")
    if not parts:
        return ""
    low, high = robustness.geomean_low, robustness.geomean_high
    text = "; ".join(parts)
    return (
        f"{text[0].upper()}{text[1:]}. The mean gain lies between {format_signed(low)} and "
        f"{format_signed(high)} over all draws."
    )


def describe_coverage(view: RunView, study: str) -> str:
    """How many of the changed plans lie beyond the measured kernels."""
    changed = [shape for shape in view.domains[study] if shape.comparison.changed_fields]
    if not changed:
        return "the plan never changes" if view.domains[study] else ""
    beyond = sum(shape.comparison.coverage is Coverage.EXTRAPOLATED for shape in changed)
    if beyond == len(changed):
        return "extrapolated beyond the measured data"
    if beyond == 0:
        return "within the kinds of kernels that were measured"
    return f"{beyond:,} of {len(changed):,} changed plans extrapolated beyond the measured data"


def list_losses(view: RunView, study: str) -> tuple[str, ...]:
    """Every shape that loses by name with its loss, worst first."""
    losing = [shape for shape in view.domains[study] if shape.comparison.judged_ratio < 1.0 / WIN]
    losing.sort(key=lambda shape: (shape.comparison.judged_ratio, shape.row.index))
    return tuple(
        f"{short_name(clean_text(shape.row.name))} "
        f"({format_signed(shape.comparison.judged_ratio)})"
        for shape in losing
    )


def describe_models(view: RunView) -> str:
    """Who chose and who judged."""
    results = view.results
    return (
        f"The {results.selector} model selected every treatment, at nominal hardware, as a host "
        f"tiling could; the {results.judge} model judged control and treatment. They differ on "
        "purpose: what the selector believes may be lost before the judge, and is then counted as "
        "a loss. Optimism is the selector's gain less the judge's."
    )


def describe_interval() -> str:
    """What the interval means and does not."""
    return (
        f"The interval is a {CONFIDENCE:.0%} bootstrap of the mean gain over another choice of "
        f"shapes ({RESAMPLES:,} resamples of whole layers of models, or of weights where no model "
        "is named). It says nothing of the models' error: a narrow interval is no proof that a "
        "chip would agree."
    ).replace("95%", "95 %")


def describe_rules() -> str:
    """When a verdict is given."""
    return (
        "A shape wins above +1 % and loses below that in reverse; each distinct problem counts "
        "once, without weight. Supported: the interval lies above +1 %, or at least 5 % of the "
        "shapes gain more than 5 %; and no shape loses more than 5 %, and at most 2 % lose. "
        "Refuted: the interval ends below +0.5 % and fewer than 1 % of the shapes gain more than "
        f"5 %. Fewer than {LEAST_SHAPES} shapes: not tested. Else mixed, with the parts of the "
        "domain, stated before the run, where it holds: chosen on two thirds of the shapes, "
        "confirmed on the rest."
    )


def describe_robustness_rule(view: RunView) -> str:
    """What robust means here."""
    results = view.results
    total = results.pipeline_draws + results.emulator_draws
    return (
        f"Robust: at least 90 % of {total} draws of the uncertain hardware figures give the same "
        f"verdict ({results.pipeline_draws} by the selector's model with its best plans scored "
        f"again, {results.emulator_draws} by the judge for the plans as they were selected)."
    )


def describe_error(view: RunView) -> str:
    """How wrong the two models are on measured kernels, by their cross-validated errors."""
    parts = []
    for role, label in (("selector", view.results.selector), ("judge", view.results.judge)):
        model = label.split(" ", maxsplit=1)[0]
        calibration = view.spec.calibrations.get(model)
        known = calibration.errors.get("all") if calibration is not None else None
        if known is not None:
            parts.append(
                f"the {role}'s ({model}) has a median of {format_percent(known.median_ape)} on "
                f"{format_count(known.n, 'measured kernel')}, one in ten is wrong by more than "
                f"{format_percent(known.p90_ape)}"
            )
    if not parts:
        return (
            "Neither model's error on this chip is known: read every number as a direction to "
            "look, not as a result."
        )
    return (
        f"Cross-validated error: {'; '.join(parts)}. A difference on one shape is resolved where "
        "it exceeds twice the judge's median error in the classes of both kernels."
    )


def count_coverage(view: RunView) -> str:
    """Coverage of every comparison with a verdict or of OPT, in words."""
    words = {
        Coverage.INSIDE: "inside what was measured",
        Coverage.TRANSPOSED: "the same but for transposed operands",
        Coverage.EXTRAPOLATED: "extrapolated beyond it",
    }
    totals = dict.fromkeys(Coverage, 0)
    for study, verdict in view.verdicts.items():
        if verdict.is_judged:
            for coverage, count in view.coverage(study).items():
                totals[coverage] += count
    total = sum(totals.values())
    if not total:
        return ""
    parts = [f"{count:,} {words[coverage]}" for coverage, count in totals.items() if count]
    return (
        f"Of {format_count(total, 'comparison')} behind the verdicts, {', '.join(parts)}. The "
        "measured kernels are bf16, ND, without bias, in the operator's block order; a comparison "
        "is extrapolated as soon as one of its two plans has a tile, an order or a kernel that "
        "was never measured."
    )
