"""What every search of one shape starts from, and the outcome it ends with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from baseline.decision import decide
from hwmodel.cost.roofline import compute_roofline_us
from hwmodel.legality import check
from hwmodel.plan import KernelPlan, canonical_plan
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.expressible import find_new_field
from studies.objective import Objective
from studies.outcome import Certificate, EvaluatedPlan, Selection, ShapeOutcome
from studies.space_axes import TILES

TOP_COUNT = 16
"""Best plans that an outcome holds (specification: studies.md, cascade K of `standard`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSetting:
    """One problem on one chip with the vendor's plan, evaluated.

    Attributes:
        problem: the GEMM.
        spec: the chip.
        objective: predicts times.
        baseline: the vendor's own plan in canonical form, whatever rules it breaks.
        baseline_strategy: the vendor's strategy.
        baseline_violations: legality rules the vendor's plan breaks, as text.
        quick: restrict the space to the quick preset's.
        space: name of the space.
    """

    problem: GemmProblem
    spec: HardwareSpec
    objective: Objective
    baseline: EvaluatedPlan
    baseline_strategy: str
    baseline_violations: tuple[str, ...]
    quick: bool
    space: str = TILES

    def new_field(self, plan: KernelPlan) -> str:
        """First field of the plan that the vendor's tiling data cannot carry; else empty."""
        return find_new_field(self.problem, plan, self.baseline.plan)

    def outcome(
        self,
        *,
        top: Sequence[EvaluatedPlan],
        best_expressible: EvaluatedPlan,
        ties_within_1pct: int,
        evaluations: int,
        rejected: Mapping[str, int],
        certificate: Certificate | None = None,
        history_us: tuple[float, ...] = (),
        selection: Selection | None = None,
    ) -> ShapeOutcome:
        """The outcome of a search that found `top`, best first.

        `best_expressible` is the best that the vendor's tiling data can express; when the first of
        `top` is, that one counts.
        """
        return ShapeOutcome(
            problem=self.problem,
            baseline=self.baseline,
            baseline_strategy=self.baseline_strategy,
            baseline_violations=self.baseline_violations,
            best=top[0],
            best_expressible=best_expressible if self.new_field(top[0].plan) else top[0],
            top=tuple(top),
            ties_within_1pct=ties_within_1pct,
            evaluations=evaluations,
            rejected=rejected,
            certificate=certificate,
            roofline_us=compute_roofline_us(self.problem, self.spec),
            history_us=history_us,
            selection=selection,
        )


def build_setting(
    problem: GemmProblem,
    spec: HardwareSpec,
    objective: Objective,
    *,
    quick: bool,
    space: str = TILES,
) -> SearchSetting:
    """The setting of a search, with the vendor's decision.

    Raises:
        RejectedError: the operator rejects the problem.
    """
    decision = decide(problem, spec)
    plan = canonical_plan(problem, decision.plan)
    violations = check(problem, spec, plan)
    return SearchSetting(
        problem=problem,
        spec=spec,
        objective=objective,
        baseline=objective.evaluate(plan),
        baseline_strategy=decision.strategy,
        baseline_violations=tuple(f"{item.rule}: {item.sentence}" for item in violations),
        quick=quick,
        space=space,
    )
