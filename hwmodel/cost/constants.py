"""The pipeline model's fitted constants: corrections of the emulator's figures, six of them.

Each is a ratio, most of them to a figure that the emulator uses for the chip, so that it carries
over to a chip with other figures, and a change of a figure moves the prediction. Without a
calibration the model runs on the emulator's figures as they stand. This module imports nothing
heavy: the loader of hardware files checks their calibrations with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from hwmodel.errors import HardwareSpecError
from hwmodel.spec import HardwareSpec

PIPELINE_MODEL = "pipeline"
"""Name of the model, and of its table under [calibration] in a hardware file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineConstants:
    """Fitted ratios; names end in what they are a ratio of.

    Attributes:
        hbm_read_ratio: of the rate of the HBM.
        l2_ratio: of the rate of L2.
        cube_efficiency_ratio: of the cube's rate.
        barrier_ratio: of the barrier of stream-K.
        line_waste_ratio: of what runs along the outer dimension fetch beyond themselves from HBM
            because it moves whole lines: the part that no neighbour makes use of.
        overlap_loss_ratio: of the longer of two streams that take equally long and would overlap
            perfectly: the part by which they together take longer. Without a calibration 0.
    """

    hbm_read_ratio: float = 1.0
    l2_ratio: float = 1.0
    cube_efficiency_ratio: float = 1.0
    barrier_ratio: float = 1.0
    line_waste_ratio: float = 1.0
    overlap_loss_ratio: float = 0.0


CONSTANT_NAMES = tuple(field.name for field in fields(PipelineConstants))
"""Names of the constants, in the order of the fit."""


_MAY_BE_ZERO = ("barrier_ratio", "line_waste_ratio", "overlap_loss_ratio")
"""Constants of costs; those of rates are above zero."""


def find_wrong_constant(model: str, values: Mapping[str, float]) -> tuple[str, str] | None:
    """Name of the first constant that is missing, unknown or out of range, and what is wrong.

    None if all are right. Tables of models that are not known here are not looked at.
    """
    if model != PIPELINE_MODEL:
        return None
    for name in CONSTANT_NAMES:
        if name not in values:
            return name, "is missing; calibrate again"
        if not values[name] >= 0:
            return name, f"is {values[name]}, must not be negative; calibrate again"
        if values[name] == 0 and name not in _MAY_BE_ZERO:
            return name, "is 0, expected a ratio above 0; calibrate again"
    unknown = sorted(set(values) - set(CONSTANT_NAMES))
    if unknown:
        return unknown[0], f"is no constant of the {model} model; calibrate again"
    return None


def pipeline_constants(spec: HardwareSpec) -> PipelineConstants:
    """The spec's calibrated constants, or the defaults where it has no calibration.

    Raises:
        HardwareSpecError: the calibration's constants are not this model's.
    """
    calibration = spec.calibrations.get(PIPELINE_MODEL)
    if calibration is None:
        return PipelineConstants()
    wrong = find_wrong_constant(PIPELINE_MODEL, calibration.constants)
    if wrong is not None:
        name, problem = wrong
        raise HardwareSpecError(
            f"{spec.name}: calibration.{PIPELINE_MODEL}.constants.{name}: {problem}"
        )
    return PipelineConstants(**calibration.constants)
