"""Calibrate the pipeline model: fit, cross-validate, and write the hardware files.

    python -m hwmodel.validation.calibrate --date 2026-11-30 hwmodel/specs/ascend950*.toml

fits the constants on the bundled measured rows less the locked quarter, for the chip that the
rows were measured on, prints the constants and the cross-validated error by class, and writes the
`[calibration.pipeline]` table into the hardware files given. The constants are ratios to a spec's
own figures, so a relative of the measured chip takes them over as they are; `measured_on` says
where they come from. The same inputs give the same bytes.
"""

import argparse
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.constants import PIPELINE_MODEL
from hwmodel.errors import AutotuneError, HardwareSpecError
from hwmodel.spec import Calibration, ClassError, HardwareSpec
from hwmodel.spec_document import parse_document
from hwmodel.spec_io import DEFAULT_HARDWARE, write_hardware
from hwmodel.validation.classes import ErrorClass, select_error_class
from hwmodel.validation.errors_report import compute_class_error
from hwmodel.validation.fit import cross_validate, fit_constants
from hwmodel.validation.measured import MeasuredRow, compute_rows_digest, load_measured

ALL_CLASSES = "all"
"""Name under which the errors of all rows are pooled."""

ERROR_DIGITS = 4
"""Decimals of an error in the table: hundredths of a percent."""

PERCENT = 100


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


def build_calibration(spec: HardwareSpec, rows: Sequence[MeasuredRow], date: str) -> Calibration:
    """Fit on the rows (none of them locked) and cross-validate.

    Args:
        spec: the chip that the rows were measured on.
        rows: the rows to fit.
        date: ISO date to put into the table.
    """
    constants = fit_constants(spec, rows)
    return Calibration(
        model=PIPELINE_MODEL,
        measured_on=spec.soc,
        date=date,
        data_digest=compute_rows_digest(rows),
        rows=len(rows),
        constants=asdict(constants),
        errors=compute_validated_errors(spec, rows, cross_validate(spec, rows)),
    )


def load_without_fit(where: str, file: Path | Traversable) -> HardwareSpec:
    """The spec of a hardware file less its fit of the model, which may be of older constants.

    Args:
        where: name of the file, for messages.
        file: the file.

    Raises:
        HardwareSpecError: it is no hardware file.
    """
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise HardwareSpecError(f"{where}: no such file; give a hardware file") from None
    except (OSError, ValueError) as error:
        raise HardwareSpecError(f"{where}: is no TOML file ({error}); correct it") from None
    calibrations = document.get("calibration")
    if isinstance(calibrations, dict):
        calibrations.pop(PIPELINE_MODEL, None)
    return parse_document(document, where)


def write_calibration(calibration: Calibration, paths: Sequence[Path]) -> None:
    """Put the calibration into hardware files, in place of an earlier one of the model.

    Raises:
        HardwareSpecError: a file is no hardware file.
    """
    for path in paths:
        spec = load_without_fit(str(path), path)
        calibrations: Mapping[str, Calibration] = {
            **spec.calibrations,
            calibration.model: calibration,
        }
        write_hardware(replace(spec, calibrations=calibrations), path)


def _format_report(calibration: Calibration) -> str:
    """The constants and errors as text."""
    lines = [f"{calibration.rows} rows of {calibration.measured_on}, constants:"]
    lines += [f"  {name:24} {value:8.4f}" for name, value in calibration.constants.items()]
    lines.append("cross-validated error, %:      n   median      p90")
    for name, error in calibration.errors.items():
        median, p90 = error.median_ape * PERCENT, error.p90_ape * PERCENT
        lines.append(f"  {name:24} {error.n:6d} {median:8.2f} {p90:8.2f}")
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the calibration; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m hwmodel.validation.calibrate")
    parser.add_argument("--date", required=True, help="ISO date to put into the tables")
    parser.add_argument("paths", nargs="*", type=Path, metavar="TOML", help="files to write")
    args = parser.parse_args(argv)
    try:
        rows = select_fit_rows(load_measured())
        file_name = f"{DEFAULT_HARDWARE}.toml"
        bundled = resources.files("hwmodel").joinpath("specs", file_name)
        calibration = build_calibration(load_without_fit(file_name, bundled), rows, args.date)
        write_calibration(calibration, args.paths)
    except AutotuneError as error:
        sys.stderr.write(f"calibrate: {error}\n")
        return error.exit_code
    sys.stdout.write(_format_report(calibration))
    return 0


if __name__ == "__main__":
    sys.exit(main())
