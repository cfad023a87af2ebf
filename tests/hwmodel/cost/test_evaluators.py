"""Evaluators by name, and the calibration that the pipeline model takes from a spec."""

from dataclasses import asdict, replace

import pytest

from hwmodel.cost.constants import CONSTANT_NAMES, PipelineConstants, pipeline_constants
from hwmodel.cost.evaluators import EVALUATOR_NAMES, select_evaluator
from hwmodel.errors import HardwareSpecError, InputError
from hwmodel.spec import Calibration
from hwmodel.spec_io import load_hardware

SPEC = load_hardware("ascend950pr-9589")


@pytest.mark.parametrize("name", EVALUATOR_NAMES)
def test_every_name_gives_its_evaluator(name: str) -> None:
    evaluator = select_evaluator(name)
    assert evaluator.name == name
    assert evaluator.version.startswith(name)


def test_an_unknown_name_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"oracle.*formula, pipeline, emulator"):
        select_evaluator("oracle")


def test_at_most_seven_constants() -> None:
    assert len(CONSTANT_NAMES) <= 7


def test_constants_come_from_the_spec() -> None:
    calibrated = pipeline_constants(SPEC)
    assert asdict(calibrated) == SPEC.calibrations["pipeline"].constants
    assert pipeline_constants(replace(SPEC, calibrations={})) == PipelineConstants()


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        ({}, "hbm_read_ratio: is missing"),
        (asdict(PipelineConstants(l2_ratio=-1.0)), "l2_ratio: is -1.0, must not be negative"),
        (asdict(PipelineConstants(l2_ratio=0.0)), "l2_ratio: is 0, expected a ratio above 0"),
        (asdict(PipelineConstants()) | {"magic": 1.0}, "magic: is no constant"),
    ],
)
def test_a_calibration_of_another_model_is_refused(
    constants: dict[str, float], message: str
) -> None:
    calibration: Calibration = replace(SPEC.calibrations["pipeline"], constants=constants)
    with pytest.raises(HardwareSpecError, match=message):
        pipeline_constants(replace(SPEC, calibrations={"pipeline": calibration}))
