"""The pipeline model's fitted constants: corrections of the spec's own figures, at most seven.

Each is a ratio, most of them to a figure of the hardware spec, so that it carries over to a chip
with other figures, and a change of a figure moves the prediction. Without a calibration the model
runs on the spec's figures as they stand.
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
        hbm_read_ratio: of hbm_read_total_bytes_per_cycle.
        l2_ratio: of l2_total_bytes_per_cycle.
        mte2_port_ratio: of mte2_port_bytes_per_cycle.
        cube_efficiency_ratio: of the spec's cube_efficiency_ratio.
        barrier_ratio: of stream_k_barrier_us.
        line_waste_ratio: of what runs along the outer dimension fetch beyond themselves from HBM
            because it moves whole lines: the part that no neighbour makes use of.
        overlap_loss_ratio: of the longer of two streams that take equally long and would overlap
            perfectly: the part by which they together take longer. Without a calibration 0.
    """

    hbm_read_ratio: float = 1.0
    l2_ratio: float = 1.0
    mte2_port_ratio: float = 1.0
    cube_efficiency_ratio: float = 1.0
    barrier_ratio: float = 1.0
    line_waste_ratio: float = 1.0
    overlap_loss_ratio: float = 0.0


CONSTANT_NAMES = tuple(field.name for field in fields(PipelineConstants))
"""Names of the constants, in the order of the fit."""


def pipeline_constants(spec: HardwareSpec) -> PipelineConstants:
    """The spec's calibrated constants, or the defaults where it has no calibration.

    Raises:
        HardwareSpecError: the calibration's constants are not this model's.
    """
    calibration = spec.calibrations.get(PIPELINE_MODEL)
    if calibration is None:
        return PipelineConstants()
    return _constants_from_mapping(calibration.constants, spec.name)


def _constants_from_mapping(values: Mapping[str, float], spec_name: str) -> PipelineConstants:
    """The constants of a calibration table, checked."""
    where = f"{spec_name}: calibration.{PIPELINE_MODEL}.constants"
    for name in CONSTANT_NAMES:
        if name not in values:
            raise HardwareSpecError(f"{where}.{name}: is missing; calibrate again")
        if not values[name] >= 0:
            raise HardwareSpecError(f"{where}.{name}: must not be negative; calibrate again")
    unknown = sorted(set(values) - set(CONSTANT_NAMES))
    if unknown:
        raise HardwareSpecError(
            f"{where}.{unknown[0]}: is no constant of the model; calibrate again"
        )
    return PipelineConstants(**values)
