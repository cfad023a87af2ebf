"""The case of a problem, and what the operator would decide if something were given to it."""

from collections.abc import Iterable

from baseline.decision import decide
from baseline.what_if import WhatIf
from hwmodel.legality import check
from hwmodel.plan import KernelPlan, canonical_plan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.protocol import Case


def build_case(problem: GemmProblem, spec: HardwareSpec) -> Case:
    """The case with the operator's decision.

    Raises:
        RejectedError: the operator rejects the problem.
    """
    decision = decide(problem, spec)
    return Case(
        problem=problem,
        spec=spec,
        decision=decision,
        baseline=canonical_plan(problem, decision.plan),
    )


def decide_if(case: Case, what_if: WhatIf) -> KernelPlan:
    """The operator's plan under `what_if`, in canonical form, legal or not."""
    plan = decide(case.problem, case.spec, what_if=what_if).plan
    return canonical_plan(case.problem, plan)


def batch_legal(case: Case, plans: Iterable[KernelPlan]) -> PlanBatch | None:
    """The distinct legal plans other than the baseline, in their order; None for none."""
    others = dict.fromkeys(plan for plan in plans if plan != case.baseline)
    legal = [plan for plan in others if not check(case.problem, case.spec, plan)]
    return PlanBatch.from_plans(legal) if legal else None
