"""How far an evaluator is from measured kernels: over all rows, by class, and the worst rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from hwmodel.cost.evaluator import Evaluator
from hwmodel.errors import InputError
from hwmodel.plan_batch import PlanBatch
from hwmodel.spec import ClassError, HardwareSpec
from hwmodel.validation.classes import ErrorClass, select_error_class
from hwmodel.validation.measured import MeasuredRow

P90 = 90
"""The percentile beside the median in every error table (hardware.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowError:
    """One row's prediction. Errors are ratios: `signed_error` = predicted / measured - 1."""

    row: MeasuredRow
    error_class: ErrorClass
    predicted_us: float

    @property
    def measured_us(self) -> float:
        """The row's measured time."""
        return self.row.duration_us

    @property
    def signed_error(self) -> float:
        """Relative error with its sign; positive when the prediction is too slow."""
        return self.predicted_us / self.measured_us - 1.0

    @property
    def ape(self) -> float:
        """Absolute percentage error, as a ratio."""
        return abs(self.signed_error)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """Errors of one evaluator on measured rows; all errors are ratios (0.01 = 1 %).

    Attributes:
        rows: every row's prediction, in the order given.
        median_ape: median absolute percentage error.
        mean_ape: its mean.
        p90_ape: its 90th percentile, interpolated linearly.
        max_ape: its greatest.
        bias: median of the signed errors.
        spearman: rank correlation of predicted and measured times; 1 for a single row.
        classes: the same figures for each class that has rows.
    """

    rows: tuple[RowError, ...]
    median_ape: float
    mean_ape: float
    p90_ape: float
    max_ape: float
    bias: float
    spearman: float
    classes: Mapping[ErrorClass, ClassError]

    @property
    def open_rows(self) -> tuple[RowError, ...]:
        """The rows that may be shown one by one: all but the locked ones."""
        return tuple(error for error in self.rows if not error.row.locked)

    @property
    def kept_back(self) -> ClassError | None:
        """The locked rows, pooled, as only that keeps them a test; None when there are none."""
        apes = [error.ape for error in self.rows if error.row.locked]
        return compute_class_error(apes) if apes else None

    def worst(self, count: int) -> tuple[RowError, ...]:
        """The `count` open rows with the greatest errors, greatest first."""
        ordered = sorted(self.open_rows, key=lambda row: (-row.ape, row.row.index))
        return tuple(ordered[:count])


def compute_class_error(apes: Sequence[float]) -> ClassError:
    """Number, median and 90th percentile of the errors of one class (not empty)."""
    return ClassError(
        n=len(apes),
        median_ape=float(np.median(apes)),
        p90_ape=float(np.percentile(apes, P90)),
    )


def compute_error_report(
    evaluator: Evaluator, spec: HardwareSpec, rows: Sequence[MeasuredRow]
) -> ErrorReport:
    """Predict every row and compare with its measured time.

    Raises:
        InputError: there are no rows.
    """
    predicted = [
        float(evaluator.estimate_us(row.problem, spec, PlanBatch.from_plans((row.plan,)))[0])
        for row in rows
    ]
    return summarise_predictions(spec, rows, predicted)


def summarise_predictions(
    spec: HardwareSpec,
    rows: Sequence[MeasuredRow],
    predicted_us: Sequence[float] | NDArray[np.float64],
) -> ErrorReport:
    """The report of predictions made elsewhere, e.g. of a cross-validation; one per row.

    Classes go by the measured time.

    Raises:
        InputError: there are no rows.
    """
    if not rows:
        raise InputError("no measured rows to compare with; give a file that holds some")
    errors = tuple(
        RowError(
            row=row,
            error_class=select_error_class(row.problem, row.plan, row.duration_us, spec),
            predicted_us=float(predicted),
        )
        for row, predicted in zip(rows, predicted_us, strict=True)
    )
    apes = np.array([error.ape for error in errors])
    by_class = {
        error_class: [error.ape for error in errors if error.error_class is error_class]
        for error_class in ErrorClass
    }
    return ErrorReport(
        rows=errors,
        median_ape=float(np.median(apes)),
        mean_ape=float(np.mean(apes)),
        p90_ape=float(np.percentile(apes, P90)),
        max_ape=float(np.max(apes)),
        bias=float(np.median([error.signed_error for error in errors])),
        spearman=_rank_correlation(errors),
        classes={name: compute_class_error(values) for name, values in by_class.items() if values},
    )


def _rank_correlation(errors: Sequence[RowError]) -> float:
    """Spearman's rank correlation; 1 where it is undefined (one row, or all rows equal)."""
    predicted = [error.predicted_us for error in errors]
    measured = [error.measured_us for error in errors]
    if len(set(predicted)) == 1 or len(set(measured)) == 1:
        return 1.0
    return float(spearmanr(predicted, measured).statistic)
