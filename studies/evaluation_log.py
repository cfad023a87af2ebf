"""Evaluations of single plans, each written to the journal and never repeated."""

from collections.abc import Sequence

import numpy as np

from hwmodel.cost.breakdown import CostBreakdown
from hwmodel.plan import KernelPlan
from studies.journal import EVALUATION_KIND, Journal, JsonRecord, read_by_key
from studies.objective import Objective
from studies.outcome import EvaluatedPlan
from studies.outcome_json import cost_from_json, cost_to_json, plan_to_json
from studies.strategies.protocol import Times


class EvaluationLog:
    """All evaluations of a search in order, each served from the journal if it is there."""

    def __init__(
        self, objective: Objective, journal: Journal, known: EvaluatedPlan | None = None
    ) -> None:
        """`known` is a plan that was evaluated before: it is written down, not evaluated."""
        self._objective = objective
        self._journal = journal
        self._known = known
        self._finished = read_by_key(journal, EVALUATION_KIND)
        self.evaluated: list[EvaluatedPlan] = []

    def evaluate(self, plans: Sequence[KernelPlan]) -> Times:
        """Predicted times of a batch; what the journal lacks is evaluated and written at once."""
        new_records: list[JsonRecord] = []
        first = len(self.evaluated)
        for plan in plans:
            key = self._objective.key(plan)
            cost = self._find(key)
            if cost is None:
                cost = self._ask(plan)
                new_records.append(
                    {
                        "kind": EVALUATION_KIND,
                        "trial": len(self.evaluated),
                        "key": key,
                        "plan": plan_to_json(plan),
                        "cost": cost_to_json(cost),
                    }
                )
            self.evaluated.append(EvaluatedPlan(plan=plan, cost=cost))
        if new_records:
            self._journal.append(new_records)
        return np.array([item.cost.task_duration_us for item in self.evaluated[first:]])

    def _ask(self, plan: KernelPlan) -> CostBreakdown:
        if self._known is not None and plan == self._known.plan:
            return self._known.cost
        return self._objective.evaluate(plan).cost

    def _find(self, key: str) -> CostBreakdown | None:
        try:
            return cost_from_json(self._finished[key].get("cost"))
        except (KeyError, ValueError):
            return None  # Absent, or damaged, which is as good as absent.
