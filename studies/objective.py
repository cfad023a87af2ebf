"""The objective of a search: an evaluator on a problem and a chip, and its answers' keys."""

import hashlib
import json
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.boxes import PlanBoxes
from hwmodel.cost.evaluator import BoundedEvaluator, Evaluator
from hwmodel.cost.evaluators import select_evaluator
from hwmodel.plan import KernelPlan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import spec_digest
from studies.outcome import EvaluatedPlan
from studies.outcome_json import plan_to_json, problem_to_json


class Objective:
    """Predicted time of plans for one problem on one chip.

    Every answer has a key over all that it depends on: problem, plan, chip, and the evaluator's
    name and version. An answer kept under another key is never used.
    """

    def __init__(self, problem: GemmProblem, spec: HardwareSpec, evaluator: Evaluator) -> None:
        """`evaluator` predicts; `build_objective` takes its name instead."""
        self.problem = problem
        self._spec = spec
        self._evaluator = evaluator
        self._context = [
            problem_to_json(problem),
            _cached_digest(spec),
            evaluator.name,
            evaluator.version,
        ]

    @property
    def evaluator_name(self) -> str:
        """Name of the model."""
        return self._evaluator.name

    def key(self, plan: KernelPlan) -> str:
        """Key of one evaluation: sha256 in hex."""
        return self.key_of(plan_to_json(plan))

    def key_of(self, subject: object) -> str:
        """Key of any answer about a JSON `subject` by this evaluator, problem and chip."""
        text = json.dumps([*self._context, subject], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8")).hexdigest()

    def evaluate(self, plan: KernelPlan) -> EvaluatedPlan:
        """One plan with its breakdown."""
        cost = self._evaluator.evaluate(self.problem, self._spec, plan)
        return EvaluatedPlan(plan=plan, cost=cost)

    def estimate_us(self, plans: PlanBatch) -> NDArray[np.float64]:
        """Predicted times of a batch, microseconds."""
        return self._evaluator.estimate_us(self.problem, self._spec, plans)

    @property
    def has_bounds(self) -> bool:
        """Whether the model knows lower bounds, so that a whole space is searched in no time."""
        return isinstance(self._evaluator, BoundedEvaluator)

    def bound_us(self, boxes: PlanBoxes) -> NDArray[np.float64]:
        """Lower bounds of the times in boxes of plans, microseconds; 0 where none is known."""
        if isinstance(self._evaluator, BoundedEvaluator):
            return self._evaluator.bound_us(self.problem, self._spec, boxes)
        return np.zeros(len(boxes))


def build_objective(problem: GemmProblem, spec: HardwareSpec, evaluator: str) -> Objective:
    """The objective by the evaluator's name.

    Raises:
        InputError: no evaluator has this name.
    """
    return Objective(problem, spec, select_evaluator(evaluator))


@lru_cache(maxsize=8)
def _cached_digest(spec: HardwareSpec) -> str:
    return spec_digest(spec)
