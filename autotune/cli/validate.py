"""`autotune validate`: how far an evaluator is from measured kernels."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hwmodel.errors import EXIT_DONE, RejectedError

if TYPE_CHECKING:
    from hwmodel.spec import Calibration, ClassError, HardwareSpec
    from hwmodel.validation.errors_report import ErrorReport
    from hwmodel.validation.measured import MeasuredRow

NAME = "validate"
HELP = (
    "Compare an evaluator's predictions with measured kernels: error over all rows and by class."
)

EVALUATORS = ("formula", "pipeline", "emulator")
"""Names of the evaluators; a test keeps them equal to hwmodel's, whose import is heavy."""

WORST_ROWS = 10
"""Rows with the greatest errors that are listed."""

ERROR_DIGITS = 6
"""Decimals of the ratios in JSON; model errors are not known better."""

TIME_DIGITS = 3
"""Decimals of microseconds in JSON, as the profiler writes them."""

PERCENT = 100

KEPT_BACK = "kept back"
"""Name of the line that pools the locked rows."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommand's options."""
    parser.add_argument(
        "--measured",
        metavar="FILE.csv",
        type=Path,
        help="measured kernels; default: the bundled ones, of an Ascend950PR_9589",
    )
    parser.add_argument(
        "--hw", metavar="NAME|FILE", help="hardware; default: that of the bundled measurements"
    )
    parser.add_argument("--evaluator", choices=EVALUATORS, default="pipeline")
    parser.add_argument("--format", choices=("table", "json"), default="table")


def run(args: argparse.Namespace) -> int:
    """Predict every row, compare, and print the errors.

    Raises:
        InputError: wrong measurements file or hardware.
    """
    from hwmodel.cost.evaluators import select_evaluator
    from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware
    from hwmodel.validation.errors_report import compute_error_report
    from hwmodel.validation.measured import load_measured

    spec = load_hardware(args.hw or DEFAULT_HARDWARE)
    rows = load_measured(args.measured)
    report = compute_error_report(select_evaluator(args.evaluator), spec, rows)
    differing = count_differing_plans(rows, spec)
    if args.format == "json":
        json.dump(build_document(report, differing), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        fit = spec.calibrations.get(args.evaluator)
        sys.stdout.write(format_tables(report, differing, fit))
    return EXIT_DONE


def count_differing_plans(rows: "Sequence[MeasuredRow]", spec: "HardwareSpec") -> int:
    """Rows whose plan today's heuristic would not choose; ub_db aside, which is not recorded well.

    A request that the operator rejects counts as differing.
    """
    from dataclasses import replace

    from baseline.decision import decide
    from hwmodel.plan import canonical_plan

    differing = 0
    for row in rows:
        try:
            today = decide(row.problem, spec).plan
        except RejectedError:
            differing += 1
            continue
        measured, today = (
            canonical_plan(row.problem, replace(plan, ub_db=1)) for plan in (row.plan, today)
        )
        differing += measured != today
    return differing


def build_document(report: "ErrorReport", differing: int) -> dict[str, object]:
    """The JSON answer; errors are ratios, `row` counts the file's rows from 0.

    `kept_back` pools the bundled rows that no constant is fitted to; they are never among `worst`.
    """

    def class_entry(error: "ClassError") -> dict[str, object]:
        return {
            "n": error.n,
            "median_ape": round(error.median_ape, ERROR_DIGITS),
            "p90_ape": round(error.p90_ape, ERROR_DIGITS),
        }

    return {
        "rows": len(report.rows),
        "median_ape": round(report.median_ape, ERROR_DIGITS),
        "mean_ape": round(report.mean_ape, ERROR_DIGITS),
        "p90_ape": round(report.p90_ape, ERROR_DIGITS),
        "max_ape": round(report.max_ape, ERROR_DIGITS),
        "bias": round(report.bias, ERROR_DIGITS),
        "spearman": round(report.spearman, ERROR_DIGITS),
        "classes": {name.value: class_entry(error) for name, error in report.classes.items()},
        "kept_back": None if report.kept_back is None else class_entry(report.kept_back),
        "plans_differing_from_baseline": differing,
        "worst": [
            {
                "row": error.row.index,
                "predicted_us": round(error.predicted_us, TIME_DIGITS),
                "measured_us": error.measured_us,
                "ape": round(error.ape, ERROR_DIGITS),
            }
            for error in report.worst(WORST_ROWS)
        ],
    }


def format_tables(report: "ErrorReport", differing: int, calibration: "Calibration | None") -> str:
    """The answer as text: errors in percent, then the worst rows."""
    from tabulate import tabulate

    classes = [("all", len(report.rows), report.median_ape, report.p90_ape)]
    classes += [
        (name.value, error.n, error.median_ape, error.p90_ape)
        for name, error in report.classes.items()
    ]
    kept_back = report.kept_back
    if kept_back is not None:
        classes.append((KEPT_BACK, kept_back.n, kept_back.median_ape, kept_back.p90_ape))
    errors = tabulate(
        [(name, n, median * PERCENT, p90 * PERCENT) for name, n, median, p90 in classes],
        headers=("class", "rows", "median error %", "90th percentile %"),
        floatfmt=".2f",
    )
    worst = tabulate(
        [
            (
                error.row.index,
                error.row.problem.label(),
                error.error_class.value,
                error.predicted_us,
                error.measured_us,
                error.signed_error * PERCENT,
            )
            for error in report.worst(WORST_ROWS)
        ],
        headers=("row", "m x k x n", "class", "predicted us", "measured us", "error %"),
        floatfmt=("", "", "", ".2f", ".2f", "+.1f"),
    )
    summary = (
        f"mean {report.mean_ape * PERCENT:.2f} %, greatest {report.max_ape * PERCENT:.1f} %, "
        f"bias (median signed) {report.bias * PERCENT:+.2f} %, "
        f"rank correlation {report.spearman:.4f}\n"
        f"{differing} of {len(report.rows)} rows ran another plan than today's heuristic chooses"
    )
    if kept_back is not None:
        summary += (
            f"\n{KEPT_BACK}: rows kept out of every fit; they are judged only together, so none "
            "of them is listed below"
        )
    parts = [errors, summary, *_describe_fit(calibration), worst]
    return "\n\n".join(parts) + "\n"


def _describe_fit(calibration: "Calibration | None") -> list[str]:
    """What the table's figures are worth for a fitted model."""
    if calibration is None or "all" not in calibration.errors:
        return []
    pooled = calibration.errors["all"]
    return [
        f"The model's constants were fitted to {calibration.rows} kernels of "
        f"{calibration.measured_on}; where these are among the rows above, the error on rows it "
        f"has not seen\nis the cross-validated one: median {pooled.median_ape * PERCENT:.2f} %, "
        f"90th percentile {pooled.p90_ape * PERCENT:.2f} %."
    ]
