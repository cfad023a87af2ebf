"""The sentences of the report, as plain text: what was asked, what came out, how sure it is.

They are written for someone who knows what a matrix multiplication is and has never seen this
project.
"""

from collections.abc import Sequence
from pathlib import PurePath

from autotune.manifest import Manifest, RunStatus
from autotune.report.aggregates import CountedRow, GapSummary
from autotune.report.model_error import ModelError
from autotune.report.text import (
    TIMES,
    format_count,
    format_gap,
    format_percent,
    short_name,
)
from autotune.results import Coverage
from hwmodel.spec import HardwareSpec
from studies.cascade import CASCADE, SELECTOR
from studies.search import COVERING_NAMES

DEFINITIONS = (
    (
        "Baseline",
        "the tiling that the vendor's MatMulV3 host code chooses for the shape; computed exactly "
        "as it does, timed by the model.",
    ),
    (
        "Gap",
        "how much longer the baseline takes than the best tiling found: time of the baseline "
        "divided by time of the best, less 1.",
    ),
    (
        "Roofline",
        "the least time that any tiling could take, from the chip's peak multiply rate and its "
        "memory bandwidths.",
    ),
    (
        "Resolved",
        "the gap exceeds twice the model's median error, the larger of those of the two kernels' "
        "error classes; both are of kinds that were measured, and neither is shorter than the "
        "shortest measured. An unresolved gap may be nothing but model error.",
    ),
    (
        "Coverage",
        "how close a comparison is to the measured kernels: inside (types, layout, tiles and "
        "order were measured), transposed (the same but for transposed operands) or extrapolated "
        "(beyond them).",
    ),
)
"""One line a term, in the order in which a reader meets them."""

COVERAGE_WORDS = {
    Coverage.INSIDE: "inside what was measured",
    Coverage.TRANSPOSED: "the same but for transposed operands",
    Coverage.EXTRAPOLATED: "extrapolated beyond it",
}


def shapes_name(manifest: Manifest) -> str:
    """File name of the shapes, without the user's directories."""
    return short_name(PurePath(manifest.options.shapes).name)


def marks(manifest: Manifest, spec: HardwareSpec) -> tuple[str, ...]:
    """Warnings that stand on every page."""
    found: list[str] = []
    if manifest.options.as_950:
        found.append(
            f"{spec.soc} ({spec.npu_arch}) is not an Ascend 950: its tiling was chosen as the "
            "950's host code would, which is not what runs there."
        )
    if manifest.status in {RunStatus.INTERRUPTED, RunStatus.FAILED}:
        found.append(f"This run is not complete: it was {manifest.status.value}.")
    return tuple(found)


def opening(manifest: Manifest, spec: HardwareSpec, summary: GapSummary) -> str:
    """What was asked, and of what kind the answer is."""
    shapes = (
        "the GEMM shape"
        if summary.rows == 1
        else f"each of the {format_count(summary.rows, 'GEMM shape')}"
    )
    return (
        f"Model prediction; nothing was run on a chip. For {shapes} in {shapes_name(manifest)}, "
        f"the tiling that the vendor's MatMulV3 host code chooses on an {spec.soc} is compared "
        f"with the best that the {manifest.options.evaluator} model finds."
    )


def method(manifest: Manifest) -> str:
    """How it was answered."""
    options = manifest.options
    sampling = (
        ""
        if options.strategy in COVERING_NAMES
        else f", {options.trials} trials, seed {options.seed}"
    )
    smaller = " (a smaller space: gaps are lower bounds)" if options.effort == "quick" else ""
    roles = (
        f"The {SELECTOR} model covered the whole space of tilings and chose; the "
        f"{options.evaluator} judged its best and the vendor's own, and all times here are the "
        f"{options.evaluator}'s."
        if options.strategy == CASCADE
        else "The same model chose the tilings and judged them."
    )
    return (
        f"Study {options.study}, strategy {options.strategy}{sampling}, effort "
        f"{options.effort}{smaller}. {roles}"
    )


def answer(
    summary: GapSummary, error: ModelError, with_gap: Sequence[CountedRow]
) -> tuple[str, ...]:
    """What came out, in a few sentences; `with_gap`: rows with a gap, largest first."""
    if summary.counted == 0:
        return ("No shape could be compared; the table at the end says why.",)
    if not with_gap:
        where = (
            "" if summary.counted == 1 else f" for any of {format_count(summary.counted, 'shape')}"
        )
        return (f"No better tiling was found{where} in the space searched.",)
    resolved = [item for item in with_gap if item.compared.resolved]
    if resolved:
        return (
            _resolved_count(summary),
            *_largest_resolved(summary, resolved[0]),
            _surest_count(summary),
            *_expressible_sentence(summary),
        )
    if not error.decides:
        return (
            "No gap can be resolved, because the model's error on this chip is not known well "
            "enough: these numbers say where to look, not what is gained.",
            *_expressible_sentence(summary),
        )
    return (
        "No gap is resolved, that is, larger than twice the model's median error: on this "
        "evidence the vendor's tiling cannot be told from the best.",
        *_expressible_sentence(summary),
    )


def _surest_count(summary: GapSummary) -> str:
    """How many of the resolved gaps the tail of the error could not explain either."""
    if summary.resolved == 1:
        return (
            f"It {'also exceeds' if summary.exceeds_p90 else 'does not exceed'} twice the 90th "
            "percentile of the error."
        )
    verb = "exceeds" if summary.exceeds_p90 == 1 else "exceed"
    return (
        f"Of these, {summary.exceeds_p90:,} also {verb} twice the 90th percentile of their "
        "class's error."
    )


def _expressible_sentence(summary: GapSummary) -> tuple[str, ...]:
    """What is left without fields that the vendor's tiling data lack; nothing when all have it."""
    if not summary.inexpressible:
        return ()
    if summary.counted == 1:
        return (
            "The best tiling needs a field that the operator's tiling data cannot carry (block "
            f"order, K depth); with the fields that they have, the gap is "
            f"{format_percent(summary.expressible_gap_ratio)}.",
        )
    verb = "needs" if summary.inexpressible == 1 else "need"
    return (
        f"{summary.inexpressible:,} of the best tilings {verb} a field that the operator's tiling "
        "data cannot carry (block order, K depth); with the fields that they have, the mean gap "
        f"is {format_percent(summary.expressible_gap_ratio)} instead of "
        f"{format_percent(summary.mean_gap_ratio)}.",
    )


def _largest_resolved(summary: GapSummary, top: CountedRow) -> tuple[str, ...]:
    """The largest resolved gap by name, where there is more than one shape to choose from."""
    if summary.counted == 1:
        return ()
    gap = format_gap(top.compared.gap_ratio)
    return (
        (f"The largest of them is {gap}: {short_name(top.row.name)}.",)
        if (summary.resolved > 1)
        else (f"It is {gap}: {short_name(top.row.name)}.",)
    )


def _resolved_count(summary: GapSummary) -> str:
    """How many gaps are resolved."""
    meaning = ", that is, larger than twice the model's median error."
    if summary.resolved == summary.counted:
        counted = "Every gap is" if summary.counted > 1 else "The gap is"
    else:
        verb = "is" if summary.resolved == 1 else "are"
        counted = f"{summary.resolved:,} of {summary.counted:,} gaps {verb}"
    return f"{counted} resolved{meaning}"


def error_sentences(error: ModelError) -> tuple[str, ...]:
    """How wrong the model is, and what that does to the gaps."""
    if error.overall is None:
        return (
            f"The error of the {error.evaluator} model on this hardware is not known, so no gap "
            "is resolved: read every number as a direction to look, not as a result.",
        )
    kind = (
        "cross-validated error (each kernel predicted by constants fitted without it)"
        if error.cross_validated
        else "error"
    )
    sentences = [
        f"On {format_count(error.overall.measured, 'kernel')} timed on an {error.measured_on}, "
        f"the {error.evaluator} model's {kind} has a median of "
        f"{format_percent(error.overall.median_ape)}; one in ten is wrong by more than "
        f"{format_percent(error.overall.p90_ape)}."
    ]
    if not error.same_chip:
        sentences.append(
            "This run is for another chip, on which nothing was measured, so none of its gaps is "
            "resolved: the errors say what the form of the model is worth, not how right it is "
            "there."
        )
    elif not error.cross_validated:
        sentences.append(
            "No constants of this model were fitted and cross-validated on these kernels, so none "
            "of its gaps is resolved."
        )
    else:
        sentences.append(
            "It depends on the kind of kernel, the error class, so each gap is held against the "
            f"worse of its two kernels' classes: a gap below 2 {TIMES} the median error of that "
            "class is not resolved."
        )
    return tuple(sentences)


def coverage_sentence(summary: GapSummary) -> str:
    """How much of the run lies beyond what was measured."""
    if summary.counted == 0:
        return ""
    present = {key: count for key, count in summary.coverage.items() if count}
    parts = [f"{count:,} {COVERAGE_WORDS[key]}" for key, count in present.items()]
    counted = (
        f"The comparison is {COVERAGE_WORDS[next(iter(present))]}."
        if summary.counted == 1
        else f"Of {format_count(summary.counted, 'shape')} that count, {', '.join(parts)}."
    )
    verb = "is" if summary.resolved_extrapolated == 1 else "are"
    resolved = (
        f" Of {format_count(summary.resolved, 'resolved gap')}, {summary.resolved_extrapolated:,} "
        f"{verb} extrapolated: there the error below which a gap is not resolved was itself found "
        "on other kinds of tilings."
        if summary.resolved and summary.counted > 1
        else ""
    )
    return (
        f"{counted}{resolved} "
        "All measured kernels are bf16, ND, without bias, neither operand transposed, in the "
        "vendor's block order; a comparison is extrapolated as soon as one of its two tilings has "
        "a tile, an order or a kernel that was never measured."
    )


PAIR_CAVEAT = (
    "No shape was measured with two tilings: these are errors of times, and how well the model "
    "tells two tilings of one shape apart is not known."
)
"""What the measured kernels cannot say (specification: hardware.md, "Measured kernels")."""


def held_back_sentence(error: ModelError) -> str:
    """The error on the kernels that no constant was fitted to; empty when there are none."""
    held_back = error.held_back
    if held_back is None:
        return ""
    return (
        f"Of {format_count(held_back.n, 'kernel')} held back from every fit, the median error is "
        f"{format_percent(held_back.median_ape)}; one in ten is wrong by more than "
        f"{format_percent(held_back.p90_ape)}."
    )


def left_out_sentence(summary: GapSummary) -> str:
    """Which rows do not count, and why; empty when all do."""
    reasons = []
    if summary.grouped:
        reasons.append(
            f"{summary.grouped} tagged grouped (expert layers that another operator serves today; "
            "shown, but in no mean, count or saving)"
        )
    if summary.rejected:
        reasons.append(f"{summary.rejected} rejected by the operator")
    if summary.no_legal_plan:
        reasons.append(f"{summary.no_legal_plan} without a legal tiling in the space")
    return (
        f"Left out of {format_count(summary.rows, 'row')}: {'; '.join(reasons)}."
        if reasons
        else ""
    )
