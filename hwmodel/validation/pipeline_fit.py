"""What is fitted of the pipeline model: its ratios; what it cannot explain must not pull."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.constants import CONSTANT_NAMES, PIPELINE_MODEL, PipelineConstants
from hwmodel.cost.pipeline import build_columns, build_model
from hwmodel.cost.plan_lanes import estimate_batch
from hwmodel.plan_batch import PlanBatch
from hwmodel.spec import HardwareSpec
from hwmodel.validation.fit import ModelFit, Parameter
from hwmodel.validation.measured import MeasuredRow

REPEATS = 5
"""Deals of the groups to folds in the cross-validation."""

RATIO_BOUNDS = (0.5, 2.0)
"""A figure of the spec that is off by more than this is no matter for a correction."""

LINE_WASTE_BOUNDS = (0.0, 1.0)
"""Of the wasted part of the lines at least none and at most all is paid for."""

OVERLAP_LOSS_BOUNDS = (0.0, 0.3)
"""Above a third, less bandwidth could be faster."""

LOSS_SCALE = 0.01
"""Half of the measured kernels are predicted better than this; what is far beyond is an effect
that the model does not have."""

HELD = (
    "hbm_read_ratio",
    "l2_ratio",
    "cube_efficiency_ratio",
    "line_waste_ratio",
    "overlap_loss_ratio",
)
"""The emulator's fit has set these rates; fitting them again made the cross-validated error of
this model worse. Streams that lose time when they overlap would spoil the agreement with the
emulator, which has no such loss: median error of plans of LLM shapes 2.1 instead of 0.7 %."""

STEP_RATIO = 1e-3
"""Relative step of the derivatives: the model has kinks, so not an infinitesimal one."""


class PipelinePredictor:
    """Predicts all rows for any constants; what does not depend on the constants is kept."""

    def __init__(self, spec: HardwareSpec, rows: Sequence[MeasuredRow]) -> None:
        """Keep the rows' problems and plans."""
        self._spec = spec
        self._cases = tuple(
            (row.problem, build_columns(PlanBatch.from_plans((row.plan,)))) for row in rows
        )

    def __call__(self, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Predicted times in the order of the rows, microseconds."""
        constants = PipelineConstants(**values)
        cycles = np.empty(len(self._cases))
        for row, (problem, columns) in enumerate(self._cases):
            model = build_model(problem, self._spec, constants)
            estimate_batch(model, columns, cycles[row : row + 1])
        return cycles / self._spec.cores.clock_mhz


def list_pipeline_parameters(spec: HardwareSpec) -> tuple[Parameter, ...]:
    """Its parameters: ratios that start at what they are without a calibration."""
    bounds = dict.fromkeys(CONSTANT_NAMES, RATIO_BOUNDS)
    bounds["line_waste_ratio"] = LINE_WASTE_BOUNDS
    bounds["overlap_loss_ratio"] = OVERLAP_LOSS_BOUNDS
    # The cube cannot do more than its peak, at which the emulator runs it.
    bounds["cube_efficiency_ratio"] = (RATIO_BOUNDS[0], 1 + STEP_RATIO)
    defaults = asdict(PipelineConstants())
    return tuple(
        Parameter(name=name, start=defaults[name], low=low, high=high)
        for name, (low, high) in bounds.items()
    )


PIPELINE_FIT = ModelFit(
    model=PIPELINE_MODEL,
    list_parameters=list_pipeline_parameters,
    build_predictor=PipelinePredictor,
    loss="soft_l1",
    loss_scale=LOSS_SCALE,
    step_ratio=STEP_RATIO,
    repeats=REPEATS,
    held=HELD,
)
"""How the pipeline model is fitted."""
