"""Evaluators: the one interface by which studies and commands ask for a plan's predicted time."""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.boxes import PlanBoxes
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


@runtime_checkable
class BoundedEvaluator(Evaluator, Protocol):
    """An evaluator that also knows lower bounds, so that a search need not ask for every plan."""

    def bound_us(
        self, problem: GemmProblem, spec: HardwareSpec, boxes: PlanBoxes
    ) -> NDArray[np.float64]:
        """Lower bounds of the predicted times of all plans of each box, microseconds.

        Proven, in double precision: no plan's `estimate_us` is below; 0 where none is known.
        """
