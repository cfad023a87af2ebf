"""Evaluators: the one interface by which studies and commands ask for a plan's predicted time."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.breakdown import CostBreakdown
from hwmodel.plan import KernelPlan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec


class Evaluator(Protocol):
    """Predicts times.

    `version` changes whenever a prediction may: it is part of an evaluation's key.
    """

    @property
    def name(self) -> str:
        """`formula`, `pipeline` or `emulator`."""

    @property
    def version(self) -> str:
        """Version of the model's code; its constants are part of the spec."""

    def evaluate(
        self, problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan
    ) -> CostBreakdown:
        """Predicted time of one plan with its parts."""

    def estimate_us(
        self, problem: GemmProblem, spec: HardwareSpec, plans: PlanBatch
    ) -> NDArray[np.float64]:
        """Predicted times, shape (len(plans),), microseconds; row by row those of `evaluate`."""
