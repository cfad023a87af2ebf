"""The emulator's fit: predictions, priors, and the calibration in the hardware files."""

from dataclasses import replace

import numpy as np
import pytest

from autotune.cli.calibrate import BOOTSTRAP_DRAWS
from hwmodel.emulator.evaluator import EmulatorEvaluator
from hwmodel.emulator.spec_constants import CALIBRATED_NAMES, EMULATOR_MODEL
from hwmodel.plan import Template
from hwmodel.spec_io import load_hardware
from hwmodel.validation.calibrate import ALL_CLASSES, select_fit_rows
from hwmodel.validation.classes import ErrorClass
from hwmodel.validation.emulator_fit import CHOICES, EMULATOR_FIT, HELD, EmulatorPredictor
from hwmodel.validation.errors_report import compute_error_report
from hwmodel.validation.fit import fit_constants
from hwmodel.validation.measured import compute_rows_digest, load_measured

SPEC = load_hardware("ascend950pr-9589")
RECORDED = SPEC.calibrations[EMULATOR_MODEL]
ROWS = select_fit_rows(load_measured())
SMALLEST = sorted(ROWS, key=lambda row: row.duration_us)[:14]
MOST_CONSTANTS = 16
CHOSEN = {one.name for one in CHOICES}
IN_SAMPLE = {"median": 0.0051, "mean": 0.0114, "p90": 0.0276}
"""Errors of the recorded constants on the rows they were fitted to."""
TOLERANCE = 2e-4


def test_predictor_and_evaluator_agree() -> None:
    predictor = EmulatorPredictor(SPEC, SMALLEST)
    evaluator = EmulatorEvaluator()
    expected = [
        evaluator.evaluate(row.problem, SPEC, row.plan).task_duration_us for row in SMALLEST
    ]
    for launch_us in (1.0, 3.0):  # a launch shifts a kernel and changes nothing else
        shift = launch_us - RECORDED.constants["launch_us"]
        times = predictor({**RECORDED.constants, "launch_us": launch_us})
        assert times == pytest.approx(np.array(expected) + shift, abs=2e-5)


def test_stream_k_alone_knows_of_barrier_and_reduction() -> None:
    predictor = EmulatorPredictor(SPEC, ROWS)
    times = predictor(RECORDED.constants)
    slower = {**RECORDED.constants, "barrier_us": 3.0, "aiv_reduce_bytes_per_cycle": 5.0}
    is_slower = predictor(slower) > times
    is_stream_k = np.array([row.plan.template is Template.STREAM_K for row in ROWS])
    assert not is_slower[~is_stream_k].any()
    assert is_slower[is_stream_k].any()  # not all: where other tiles follow, they hide it


def test_parameters_are_constants_of_the_emulator() -> None:
    parameters = EMULATOR_FIT.list_parameters(SPEC)
    names = [one.name for one in parameters]
    assert len(names) == len(set(names)) <= MOST_CONSTANTS - len(CHOSEN)
    assert set(HELD) < set(names) <= CALIBRATED_NAMES - CHOSEN
    assert CHOSEN <= CALIBRATED_NAMES
    assert all(one.low < one.start < one.high and one.sigma for one in parameters)


def test_a_known_constant_is_recovered() -> None:
    truth = {"launch_us": 2.2}
    names = [one.name for one in EMULATOR_FIT.list_parameters(SPEC)]
    held = tuple(name for name in names if name not in truth)
    fit = replace(EMULATOR_FIT, held=held, prior_error=1e-3, choices=())
    constants = {**fit.held_constants(SPEC), **truth}
    times = EmulatorPredictor(SPEC, SMALLEST)(constants)
    rows = [replace(row, duration_us=float(us)) for row, us in zip(SMALLEST, times, strict=True)]
    fitted = fit_constants(fit, SPEC, rows)
    assert fitted["launch_us"] == pytest.approx(truth["launch_us"], rel=5e-3)


def test_the_record_is_of_the_unlocked_rows() -> None:
    assert RECORDED.rows == len(ROWS) == RECORDED.errors[ALL_CLASSES].n
    assert RECORDED.data_digest == compute_rows_digest(ROWS)
    assert set(RECORDED.errors) == {ALL_CLASSES, *ErrorClass}


def test_the_record_holds_every_constant_and_its_draws() -> None:
    names = {one.name for one in EMULATOR_FIT.list_parameters(SPEC)}
    assert set(RECORDED.constants) == names | CHOSEN
    for one in CHOICES:
        assert RECORDED.constants[one.name] in one.values
    held = EMULATOR_FIT.held_constants(SPEC)
    assert {name: RECORDED.constants[name] for name in HELD} == held
    assert len(RECORDED.draws) == BOOTSTRAP_DRAWS[EMULATOR_MODEL]
    for draw in RECORDED.draws:
        assert set(draw) == names - set(HELD) | CHOSEN


def test_the_recorded_constants_give_the_errors_that_they_were_fitted_to() -> None:
    report = compute_error_report(EmulatorEvaluator(), SPEC, ROWS)
    assert report.median_ape == pytest.approx(IN_SAMPLE["median"], abs=TOLERANCE)
    assert report.mean_ape == pytest.approx(IN_SAMPLE["mean"], abs=TOLERANCE)
    assert report.p90_ape == pytest.approx(IN_SAMPLE["p90"], abs=TOLERANCE)


@pytest.mark.parametrize("name", ["ascend950pr-9579", "ascend950dt-9581", "ascend950dt-9582"])
def test_relatives_take_the_constants_over(name: str) -> None:
    assert load_hardware(name).calibrations[EMULATOR_MODEL] == RECORDED
