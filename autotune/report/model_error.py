"""How wrong the model is on measured kernels, and what that means for the gaps of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from autotune.report.aggregates import CountedRow
from hwmodel.spec import ClassError, HardwareSpec
from hwmodel.validation.errors_report import ErrorReport
from hwmodel.validation.measured import MEASURED_SOC
from studies.gap import RESOLVED_FACTOR

ALL_CLASSES = "all"
"""Name under which a calibration pools its classes."""

CLASS_MEANINGS = MappingProxyType(
    {
        ALL_CLASSES: "every measured kernel",
        "compute_bound": "the cube's multiply-accumulates fill at least 90 % of the time",
        "read_bound": "reading A and B decides",
        "output_heavy": "C is larger than A and B together",
        "small": "shorter than 15 µs, mostly launch and latency",
        "stream_k": "the stream-K kernel, which splits K between cores",
    }
)
"""What each error class holds (specification: hardware.md, "Measured kernels")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassLine:
    """One line of the error table; errors are ratios.

    Attributes:
        name: class, or `all`.
        meaning: what it holds, in words.
        measured: measured kernels of the class.
        median_ape: median absolute percentage error.
        p90_ape: its 90th percentile.
        threshold_ratio: gap above which it is resolved; None where none can be.
        shapes: counted shapes of the run in this class.
        resolved: those of them whose gap is resolved.
    """

    name: str
    meaning: str
    measured: int
    median_ape: float
    p90_ape: float
    threshold_ratio: float | None
    shapes: int
    resolved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelError:
    """The evaluator's error.

    Attributes:
        evaluator: name of the model.
        cross_validated: every kernel was predicted by constants fitted without it; else the model
            has no fitted constants and no gap of it is resolved.
        measured_on: the vendor's name of the chip that the kernels ran on.
        same_chip: it is the chip of this run.
        overall: the pooled line; None when nothing is known.
        classes: a line a class.
        held_back: error on the measured kernels that no constant was fitted to, pooled; None
            without any, without fitted constants, or on another chip.
        unknown_shapes: counted shapes of classes without a measured kernel; their gaps are never
            resolved.
    """

    evaluator: str
    cross_validated: bool
    measured_on: str
    same_chip: bool
    overall: ClassLine | None
    classes: tuple[ClassLine, ...]
    held_back: ClassError | None
    unknown_shapes: int

    @property
    def decides(self) -> bool:
        """Errors were cross-validated on the run's own chip, so that they can resolve a gap."""
        return self.cross_validated and self.same_chip and bool(self.classes)


def summarise_model_error(
    evaluator: str, spec: HardwareSpec, report: ErrorReport, counted: Sequence[CountedRow]
) -> ModelError:
    """The error table of a run.

    The errors are those of the calibration that the run's hardware file holds. For a model without
    fitted constants they are its plain errors on the measured kernels. Only errors that were
    cross-validated on the run's own chip can resolve a gap (`studies.gap.judge_gap`).

    Args:
        evaluator: name of the model.
        spec: the run's hardware.
        report: the model's predictions of the measured kernels.
        counted: shapes that count.
    """
    calibration = spec.calibrations.get(evaluator)
    errors = calibration.errors if calibration is not None else _plain_errors(report)
    measured_on = calibration.measured_on if calibration is not None else MEASURED_SOC
    same_chip = measured_on == spec.soc
    decides = calibration is not None and same_chip
    lines = tuple(_class_line(name, error, counted, decides) for name, error in errors.items())
    known = {line.name for line in lines}
    return ModelError(
        evaluator=evaluator,
        cross_validated=calibration is not None,
        measured_on=measured_on,
        same_chip=same_chip,
        overall=next((line for line in lines if line.name == ALL_CLASSES), None),
        classes=tuple(line for line in lines if line.name != ALL_CLASSES),
        held_back=report.kept_back if calibration is not None and same_chip else None,
        unknown_shapes=sum(item.compared.error_class not in known for item in counted),
    )


def _plain_errors(report: ErrorReport) -> Mapping[str, ClassError]:
    """Errors by class of a model that was not fitted, in the form of a calibration's."""
    pooled = ClassError(n=len(report.rows), median_ape=report.median_ape, p90_ape=report.p90_ape)
    return {ALL_CLASSES: pooled, **{name.value: error for name, error in report.classes.items()}}


def _class_line(
    name: str, error: ClassError, counted: Sequence[CountedRow], decides: bool
) -> ClassLine:
    """One line of the table; `decides` when its error can resolve a gap."""
    pools = name == ALL_CLASSES
    members = [item for item in counted if pools or item.compared.error_class == name]
    return ClassLine(
        name=name,
        meaning=CLASS_MEANINGS.get(name, ""),
        measured=error.n,
        median_ape=error.median_ape,
        p90_ape=error.p90_ape,
        threshold_ratio=RESOLVED_FACTOR * error.median_ape if decides and not pools else None,
        shapes=len(members),
        resolved=sum(item.compared.resolved for item in members),
    )
