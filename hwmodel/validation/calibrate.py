"""Calibrate a model: fit, cross-validate, and write the hardware files.

The constants are fitted to measured rows less the locked quarter, for the chip that the rows were
measured on. The `[calibration.<model>]` table of a hardware file takes them with the evidence: the
cross-validated error by class and, for the emulator, the constants' bootstrap distribution. A
relative of the measured chip takes them over as they are; `measured_on` says where they come from.
The same inputs give the same bytes.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hwmodel.errors import HardwareSpecError, InputError
from hwmodel.spec import Calibration, ClassError, HardwareSpec
from hwmodel.spec_document import parse_document
from hwmodel.spec_io import hardware_names, load_hardware, write_hardware
from hwmodel.validation.classes import ErrorClass, select_error_class
from hwmodel.validation.emulator_fit import EMULATOR_FIT
from hwmodel.validation.errors_report import P90, compute_class_error
from hwmodel.validation.fit import ModelFit, bootstrap_constants, cross_validate, fit_constants
from hwmodel.validation.measured import MeasuredRow, compute_rows_digest
from hwmodel.validation.pipeline_fit import PIPELINE_FIT

FITS: Mapping[str, ModelFit] = {fit.model: fit for fit in (EMULATOR_FIT, PIPELINE_FIT)}
"""The models that can be fitted, by the evaluator's name."""

ALL_CLASSES = "all"
"""Name under which the errors of all rows are pooled."""

ERROR_DIGITS = 4
"""Decimals of an error in the table: hundredths of a percent."""


def select_fit_rows(rows: Sequence[MeasuredRow]) -> tuple[MeasuredRow, ...]:
    """The rows that a fit may see: all but the locked quarter."""
    return tuple(row for row in rows if not row.locked)


def compute_validated_errors(
    spec: HardwareSpec, rows: Sequence[MeasuredRow], predicted_us: NDArray[np.float64]
) -> dict[str, ClassError]:
    """Errors by class, pooled over the repeats of a cross-validation; `n` counts rows.

    Args:
        spec: the chip, for the classes.
        rows: the rows.
        predicted_us: shape (repeats, len(rows)).
    """
    measured = np.array([row.duration_us for row in rows])
    apes = np.abs(predicted_us / measured - 1)
    classes = [select_error_class(row.problem, row.plan, row.duration_us, spec) for row in rows]
    errors = {ALL_CLASSES: _pooled_error(apes)}
    for error_class in ErrorClass:
        members = [place for place, one in enumerate(classes) if one is error_class]
        if members:
            errors[error_class.value] = _pooled_error(apes[:, members])
    return errors


def _pooled_error(apes: NDArray[np.float64]) -> ClassError:
    """Error over repeats and rows; apes has shape (repeats, rows)."""
    error = compute_class_error(apes.ravel().tolist())
    return ClassError(
        n=apes.shape[1],
        median_ape=round(error.median_ape, ERROR_DIGITS),
        p90_ape=round(error.p90_ape, ERROR_DIGITS),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledError:
    """Errors of a cross-validation over all rows and repeats; ratios."""

    median_ape: float
    mean_ape: float
    p90_ape: float
    max_ape: float


def pool_errors(rows: Sequence[MeasuredRow], predicted_us: NDArray[np.float64]) -> PooledError:
    """Errors of the predictions, shape (repeats, len(rows))."""
    apes = np.abs(predicted_us / np.array([row.duration_us for row in rows]) - 1)
    return PooledError(
        median_ape=float(np.median(apes)),
        mean_ape=float(np.mean(apes)),
        p90_ape=float(np.percentile(apes, P90)),
        max_ape=float(np.max(apes)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A calibration, and its cross-validated error over all rows."""

    calibration: Calibration
    error: PooledError


def build_calibration(
    fit: ModelFit,
    spec: HardwareSpec,
    rows: Sequence[MeasuredRow],
    date: str,
    *,
    draws: int = 0,
    jobs: int = 1,
) -> Fitted:
    """Fit on the rows (none of them locked), cross-validate and bootstrap.

    Args:
        fit: the model.
        spec: the chip that the rows were measured on.
        rows: the rows to fit.
        date: ISO date to put into the table.
        draws: fits of the bootstrap; none for 0.
        jobs: processes; the result does not depend on it.

    Raises:
        InputError: a row is locked, or there are too few.
    """
    constants = fit_constants(fit, spec, rows)
    predicted = cross_validate(fit, spec, rows, jobs=jobs)
    calibration = Calibration(
        model=fit.model,
        measured_on=spec.soc,
        date=date,
        data_digest=compute_rows_digest(rows),
        rows=len(rows),
        constants=constants,
        errors=compute_validated_errors(spec, rows, predicted),
        draws=bootstrap_constants(fit, spec, rows, constants, draws=draws, jobs=jobs),
    )
    return Fitted(calibration=calibration, error=pool_errors(rows, predicted))


def ablate(
    fit: ModelFit, spec: HardwareSpec, rows: Sequence[MeasuredRow], *, jobs: int = 1
) -> dict[str, PooledError]:
    """What fitting each constant is worth: the cross-validated error with that one changed over.

    A constant that is fitted is held at its start, one that is held is fitted. The deals of the
    groups are those of the calibration, so the errors compare pairwise.
    """

    def change(name: str) -> ModelFit:
        others = tuple(one for one in fit.held if one != name)
        return replace(fit, held=others if name in fit.held else (*fit.held, name))

    return {
        one.name: pool_errors(rows, cross_validate(change(one.name), spec, rows, jobs=jobs))
        for one in fit.list_parameters(spec)
    }


def load_without_fit(hardware: str, model: str) -> HardwareSpec:
    """The chip less its fit of the model, which may be of older constants.

    Args:
        hardware: name of a bundled chip, or path of a hardware file.
        model: name of the model.

    Raises:
        HardwareSpecError: there is no such chip, or the file is no hardware file.
    """
    file_name = f"{hardware}.toml"
    if hardware in hardware_names():
        return _parse_without_fit(
            file_name, resources.files("hwmodel").joinpath("specs", file_name), model
        )
    if hardware.endswith(".toml"):
        return _parse_without_fit(hardware, Path(hardware), model)
    spec = load_hardware(hardware)
    others = {name: one for name, one in spec.calibrations.items() if name != model}
    return replace(spec, calibrations=others)


def _parse_without_fit(where: str, file: Path | Traversable, model: str) -> HardwareSpec:
    """The chip of a hardware file less its fit of the model."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise HardwareSpecError(f"{where}: no such file; give a hardware file") from None
    except (OSError, ValueError) as error:
        raise HardwareSpecError(f"{where}: is no TOML file ({error}); correct it") from None
    calibrations = document.get("calibration")
    if isinstance(calibrations, dict):
        calibrations.pop(model, None)
    return parse_document(document, where)


def write_calibration(calibration: Calibration, spec: HardwareSpec, paths: Sequence[Path]) -> None:
    """Put the calibration into hardware files, in place of an earlier one of the model.

    A file that does not exist becomes one of `spec`.

    Raises:
        HardwareSpecError: a file is no hardware file.
        InputError: a file cannot be written.
    """
    for path in paths:
        chip = load_without_fit(str(path), calibration.model) if path.exists() else spec
        calibrations = {**chip.calibrations, calibration.model: calibration}
        try:
            write_hardware(replace(chip, calibrations=calibrations), path)
        except OSError as error:
            raise InputError(
                f"{path}: cannot be written ({error.strerror}); name another file"
            ) from None
