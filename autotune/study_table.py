"""The table of a study on stdout, and its one-line summary: 120 columns, a line a shape."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from autotune.report.aggregates import GapSummary, compute_summary
from autotune.report.text import (
    clean_text,
    clip_text,
    display_columns,
    format_count,
    format_gap,
    format_percent,
    format_us,
)
from autotune.results import ComparedPlans, Coverage, ResultRow, RowStatus
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.spec import HardwareSpec
from hwmodel.validation.measured import MEASURED_SOC

if TYPE_CHECKING:
    from tabulate import TableFormat

_TABLE_COLUMNS = 120
"""Width of the table, whatever the terminal: the same question prints the same."""

_HEADER_PADDING = 2
"""Blanks that tabulate keeps beside a header (its MIN_PADDING)."""

_SHORTEST_NAME = 24
"""A name keeps this many columns even if the table grows wider."""

_HEADERS = (
    "shape",
    "baseline",
    "us",
    "best",
    "us",
    "gap",
    "x",
    "res",
    "bound",
    "roof",
)
_ALIGNMENT = ("left", "left", "right", "left", "right", "right", "left", "left", "left", "right")
_POOLED_CLASS = "all"
"""Name under which a calibration pools its error classes."""

_TEMPLATE_CODES = {
    Template.ASWT: "",
    Template.A_FULL: "af",
    Template.B_FULL: "bf",
    Template.A_PARTIAL: "ap",
    Template.B_PARTIAL: "bp",
    Template.A_PANEL: "an",
    Template.B_PANEL: "bn",
    Template.STREAM_K: "sk",
    Template.VECTOR: "vec",
    Template.BASE: "base",
    Template.TO_MULTI_MUL: "multi",
    Template.K_EQUAL_ZERO: "k=0",
}
"""Kernel templates as short as the table needs them."""

_FIELD_CODES = {
    "window_len": "w",
    "serpentine": "w",
    "step_k": "k",
    "resident_slabs": "s",
    "sk_order": "o",
    "template": "t",
}
"""Kinds of plan fields that the vendor's tiling data may lack, as short as the table needs."""

_NOTHING = "-"
"""A cell without anything to say."""

_STATUS_TEXTS = {
    RowStatus.OK: "ok",
    RowStatus.REJECTED: "rejected",
    RowStatus.NO_LEGAL_PLAN: "no legal plan",
}

LEGEND = """\
tiling: base_m x base_n x base_k / step_k, w window (r: no serpentine), d two L0C tiles, ub output
  through UB; in front the kernel when it is not ASWT: sk stream-K, af or bf A or B fully loaded,
  vec vector cores, base, multi, k=0; us: predicted time; gap: baseline / best - 1;
x: field of the best that the operator's tiling data cannot carry; res: the gap is resolved, it
  exceeds what the model's error could explain; bound; roof: share of the roofline reached;
  baseline>best where they differ"""


def format_table(rows: Sequence[ResultRow]) -> str:
    """The table with its legend and why shapes have no answer, ending in a line feed."""
    from tabulate import tabulate

    cells = [_cells(row) for row in rows]
    headers = [header + " " * _HEADER_PADDING for header in _HEADERS]
    widths = [max(map(display_columns, column)) for column in zip(headers, *cells, strict=True)]
    others = sum(widths[1:]) + len(widths) - 1
    name_columns = max(_SHORTEST_NAME, _TABLE_COLUMNS - others)
    clipped = [(clip_text(name, name_columns), *others) for name, *others in cells]
    table = tabulate(
        clipped,
        headers=_HEADERS,
        tablefmt=_narrow_format(),
        colalign=_ALIGNMENT,
        disable_numparse=True,
        preserve_whitespace=False,
    )
    return "\n".join((table, "", LEGEND, *_reasons(rows), ""))


def _narrow_format() -> "TableFormat":
    """The `simple` format with one blank between columns: names need the room."""
    from tabulate import DataRow, Line, TableFormat

    row = DataRow("", " ", "")
    return TableFormat(
        lineabove=None,
        linebelowheader=Line("", "-", " ", ""),
        linebetweenrows=None,
        linebelow=None,
        headerrow=row,
        datarow=row,
        padding=0,
        with_header_hide=None,
    )


def describe_plan(plan: KernelPlan) -> str:
    """A plan as short as the table needs it, e.g. `256x256x64/4 w4`; `LEGEND` explains it."""
    template = _TEMPLATE_CODES[plan.template]
    if plan.template in {Template.K_EQUAL_ZERO, Template.TO_MULTI_MUL}:
        return template
    parts = [f"{plan.base_m}x{plan.base_n}x{plan.base_k}/{plan.step_k}"]
    if plan.window_len > 1:
        parts.append(f"w{plan.window_len}" + ("" if plan.serpentine else "r"))
    if plan.db_l0c == 2:
        parts.append("d")
    if plan.l0c_output is L0cOutput.FIXPIPE:
        parts.append("ub")
    return " ".join([template, *parts] if template else parts)


def format_summary(rows: Sequence[ResultRow], evaluator: str, spec: HardwareSpec) -> str:
    """How large the gap is over all shapes and how far that can be trusted, in one line."""
    summary = compute_summary(rows)
    counts = _describe_counts(summary)
    if summary.counted == 0:
        return f"{counts}; there is no gap to tell"
    return "; ".join(
        (
            counts,
            f"gap {format_gap(summary.mean_gap_ratio)} "
            f"({format_gap(summary.weighted_gap_ratio)} weighted by calls), geometric means",
            *_describe_expressible(summary),
            f"resolved for {summary.resolved} of {summary.counted}" + _describe_resolved(summary),
            _describe_error(evaluator, spec),
        )
    )


def _describe_expressible(summary: GapSummary) -> Iterator[str]:
    """What is left of the gap without fields that the vendor's tiling data lack."""
    if summary.inexpressible:
        yield (
            f"{format_gap(summary.expressible_gap_ratio)} with the fields of the operator's "
            f"tiling data, which cannot carry {summary.inexpressible} of the best plans"
        )


def _describe_resolved(summary: GapSummary) -> str:
    """How sure the resolved gaps are."""
    if not summary.resolved:
        return ""
    return (
        f" (of these, {summary.exceeds_p90} also exceed twice the 90th percentile of their class, "
        f"{summary.resolved_extrapolated} are extrapolated)"
    )


def _cells(row: ResultRow) -> tuple[str, ...]:
    name = clean_text(row.name)
    compared = row.compared
    if compared is None:
        return (name, _STATUS_TEXTS[row.status], *(_NOTHING for _ in _HEADERS[2:]))
    return (
        name,
        describe_plan(compared.baseline.plan),
        format_us(compared.baseline.predicted_us),
        describe_plan(compared.best.plan),
        format_us(compared.best.predicted_us),
        format_gap(compared.gap_ratio),
        _FIELD_CODES.get(compared.best_inexpressible_field, _NOTHING),
        _resolved(compared),
        _pair(compared.baseline.bound, compared.best.bound),
        _roofline(compared),
    )


def _resolved(compared: ComparedPlans) -> str:
    """Whether the gap is resolved, with a star where the comparison is extrapolated."""
    if not compared.resolved:
        return "no"
    return "yes*" if compared.coverage is Coverage.EXTRAPOLATED else "yes"


def describe_marks(rows: Sequence[ResultRow]) -> tuple[str, ...]:
    """What the marks of the table mean that occur in it, a line each."""
    compared = [row.compared for row in rows if row.compared is not None]
    marks = []
    if any(_resolved(item) == "yes*" for item in compared):
        marks.append(
            "yes*: resolved, but one of the two tilings is beyond the measured kernels (a tile, "
            "an order, a type or a layout), so the model's error there is not known"
        )
    if any(item.best_inexpressible_field for item in compared):
        marks.append(
            "x: the best needs a field that the operator's tiling data cannot carry: w block "
            "order, k K depth of an L1 step, s resident slabs, o order of the stream-K piece, "
            "t kernel template; results.csv has the best without it (best_expressible_*)"
        )
    return tuple(marks)


def _reasons(rows: Sequence[ResultRow]) -> Iterator[str]:
    """A line for each reason why shapes have no comparison."""
    without = [(row.status, clean_text(row.message)) for row in rows if row.compared is None]
    for (status, message), count in Counter(without).items():
        yield f"{_STATUS_TEXTS[status]} ({format_count(count, 'shape')}): {message}"


def _roofline(compared: ComparedPlans) -> str:
    shares = (compared.baseline.roofline_ratio, compared.best.roofline_ratio)
    return _pair(*(f"{share:.0%}" for share in shares)).replace("%>", ">")


def _pair(before: str, after: str) -> str:
    return before if before == after else f"{before}>{after}"


def _describe_counts(summary: GapSummary) -> str:
    """How many rows count, and why the others do not."""
    left_out = {
        "grouped": summary.grouped,
        "rejected": summary.rejected,
        "without a legal plan": summary.no_legal_plan,
    }
    reasons = ", ".join(f"{count} {why}" for why, count in left_out.items() if count)
    return f"{summary.counted} of {summary.rows} shapes counted" + (
        f" ({reasons})" if reasons else ""
    )


def _describe_error(evaluator: str, spec: HardwareSpec) -> str:
    calibration = spec.calibrations.get(evaluator)
    if calibration is None:
        return (
            f"the {evaluator} model has no cross-validated error, so no gap is ever resolved"
            + _describe_plain_error(evaluator, spec)
        )
    if calibration.measured_on != spec.soc:
        return (
            f"the {evaluator} model's constants were fitted on {calibration.measured_on}; its "
            f"error on {spec.soc} is not known, so no gap is resolved"
        )
    error = calibration.errors.get(_POOLED_CLASS)
    if error is None:
        return f"error of the {evaluator} model on this chip not known, so no gap is resolved"
    return (
        f"the {evaluator} model's median error is {format_percent(error.median_ape)} "
        f"on {error.n} kernels measured on {calibration.measured_on}"
    )


def _describe_plain_error(evaluator: str, spec: HardwareSpec) -> str:
    """The error of a model without fitted constants on the chip that was measured."""
    if spec.soc != MEASURED_SOC:
        return ""
    from hwmodel.cost.evaluators import select_evaluator
    from hwmodel.validation.errors_report import compute_error_report
    from hwmodel.validation.measured import load_measured

    report = compute_error_report(select_evaluator(evaluator), spec, load_measured())
    return (
        f"; on {len(report.rows)} kernels measured on {spec.soc} its median error is "
        f"{format_percent(report.median_ape)}, one in ten is wrong by more than "
        f"{format_percent(report.p90_ape)}"
    )
