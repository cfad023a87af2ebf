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
from autotune.results import ComparedPlans, ResultRow, RowStatus
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.spec import HardwareSpec

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
    "res",
    "bound",
    "roof",
)
_ALIGNMENT = ("left", "left", "right", "left", "right", "right", "left", "left", "right")
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

_STATUS_TEXTS = {
    RowStatus.OK: "ok",
    RowStatus.REJECTED: "rejected",
    RowStatus.NO_LEGAL_PLAN: "no legal plan",
}

LEGEND = """\
tiling: base_m x base_n x base_k / step_k, w window (r: no serpentine), d two L0C tiles, ub output
  through UB; in front the kernel when it is not ASWT: sk stream-K, af or bf A or B fully loaded,
  vec vector cores, base, multi, k=0; us: predicted time; gap: baseline / best - 1;
res: the gap exceeds what the model's error could explain; bound; roof: share of the roofline
  reached; baseline>best where they differ"""


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
    return (
        f"{_describe_counts(summary)}; gap {format_gap(summary.mean_gap_ratio)} "
        f"({format_gap(summary.weighted_gap_ratio)} weighted by calls), geometric means; "
        f"resolved for {summary.resolved} of {summary.counted}; {_describe_error(evaluator, spec)}"
    )


def _cells(row: ResultRow) -> tuple[str, ...]:
    name = clean_text(row.name)
    compared = row.compared
    if compared is None:
        return (name, _STATUS_TEXTS[row.status], *("-" for _ in _HEADERS[2:]))
    return (
        name,
        describe_plan(compared.baseline.plan),
        format_us(compared.baseline.predicted_us),
        describe_plan(compared.best.plan),
        format_us(compared.best.predicted_us),
        format_gap(compared.gap_ratio),
        "yes" if compared.resolved else "no",
        _pair(compared.baseline.bound, compared.best.bound),
        _roofline(compared),
    )


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
    error = calibration.errors.get(_POOLED_CLASS) if calibration is not None else None
    if calibration is None or error is None:
        return f"error of the {evaluator} model on this chip not known"
    return (
        f"the {evaluator} model's median error is {format_percent(error.median_ape)} "
        f"on {error.n} kernels measured on {calibration.measured_on}"
    )
