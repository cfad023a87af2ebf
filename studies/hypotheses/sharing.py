"""H5 (b) and (c): the models with and without a shared bandwidth.

(b) A selector that gives reads and writes the whole HBM rate each, against one that shares it.
(c) The emulator both ways, its constants fitted anew for each, on the measured kernels of the
domain. The locked quarter of the measured rows is neither fitted to nor predicted.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from hwmodel.emulator.spec_constants import EMULATOR_MODEL, WRITES_ALONE
from hwmodel.spec import HardwareSpec
from hwmodel.validation.calibrate import select_fit_rows
from hwmodel.validation.emulator_fit import EMULATOR_FIT
from hwmodel.validation.errors_report import P90
from hwmodel.validation.fit import ModelFit, Parameter, cross_validate, fit_constants
from hwmodel.validation.measured import MeasuredRow, load_measured
from studies.hypotheses.h5_sharing import is_output_heavy
from studies.hypotheses.verdicts import SharingError


def stop_sharing(spec: HardwareSpec) -> HardwareSpec:
    """The chip on which reads and writes have the HBM's rate each, for both models.

    A chip without a calibration has no place for the constant and stays as it is.
    """
    calibration = spec.calibrations.get(EMULATOR_MODEL)
    if calibration is None:
        return spec
    alone = replace(calibration, constants={**calibration.constants, WRITES_ALONE: 1.0})
    return replace(spec, calibrations={**spec.calibrations, EMULATOR_MODEL: alone})


def measure_sharing_errors(spec: HardwareSpec, *, jobs: int = 1) -> tuple[SharingError, ...]:
    """Cross-validated error on the measured rows of the domain: without sharing, then with it.

    Every row is predicted by constants that were fitted without its weight shape, to all rows that
    may be fitted to, in the domain or not. Empty for another chip than the measured one.
    """
    calibration = spec.calibrations.get(EMULATOR_MODEL)
    if calibration is None or calibration.measured_on != spec.soc:
        return ()
    rows = select_fit_rows(load_measured())
    return tuple(_measure_error(spec, rows, shares=shares, jobs=jobs) for shares in (False, True))


def _measure_error(
    spec: HardwareSpec, rows: Sequence[MeasuredRow], *, shares: bool, jobs: int
) -> SharingError:
    """Error of one of the two emulators."""
    fit = EMULATOR_FIT if shares else _fit_alone(EMULATOR_FIT)
    constants = fit_constants(fit, spec, rows)
    predicted = cross_validate(fit, spec, rows, jobs=jobs)
    heavy = [place for place, row in enumerate(rows) if is_output_heavy(row.problem)]
    measured = np.array([row.duration_us for row in rows])
    apes = np.abs(predicted / measured - 1)[:, heavy].ravel()
    names = tuple(one.name for one in fit.free_parameters(spec))
    return SharingError(
        shares=shares,
        rows=len(heavy),
        median_ape=float(np.median(apes)),
        mean_ape=float(np.mean(apes)),
        p90_ape=float(np.percentile(apes, P90)),
        constants=names,
        values=tuple(constants[name] for name in names),
    )


def _fit_alone(fit: ModelFit) -> ModelFit:
    """The same fit of an emulator whose writes do not share the HBM."""
    return replace(
        fit,
        list_parameters=partial(_list_with_switch, fit.list_parameters),
        held=(*fit.held, WRITES_ALONE),
    )


def _list_with_switch(
    list_others: Callable[[HardwareSpec], tuple[Parameter, ...]], spec: HardwareSpec
) -> tuple[Parameter, ...]:
    """The parameters of a fit, and the switch; a function of the module, for other processes."""
    return (*list_others(spec), Parameter(name=WRITES_ALONE, start=1.0, low=0.0, high=1.0))
