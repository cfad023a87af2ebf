"""Selector and judge for one problem, each asked only once about a plan.

The pipeline model at nominal hardware selects; the emulator judges. They differ on purpose: what
the selector believes to be gained may be lost by the judge, and is then counted as a loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.evaluator import Evaluator
from hwmodel.cost.evaluators import select_evaluator
from hwmodel.legality import check
from hwmodel.plan import KernelPlan
from hwmodel.plan_batch import PlanBatch
from hwmodel.spec import HardwareSpec
from studies.gap import TimedPlan, judge_difference, select_plans_coverage
from studies.hypotheses.answers import Comparison, JudgedPlan
from studies.hypotheses.draws import draw_chips
from studies.hypotheses.effort import Depth
from studies.objective import Objective
from studies.protocol import Case
from studies.ranking import BestPlans

SELECTOR = "pipeline"
"""The evaluator that chooses (specification: studies.md, "Evaluators")."""
JUDGE = "emulator"
"""The evaluator that says what the choice is worth (specification: studies.md, "Evaluators")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a selector makes of a control and its alternatives.

    Attributes:
        plan: the best by the selector; the control where nothing is better.
        top: the best in order, the control wherever it stands; at most the depth's `rescored`.
        candidates: plans it chose from, the control included.
    """

    plan: KernelPlan
    top: tuple[KernelPlan, ...]
    candidates: int


class CaseModels:
    """Both models on one case."""

    def __init__(
        self,
        case: Case,
        depth: Depth,
        *,
        selector: Evaluator | None = None,
        judge: Evaluator | None = None,
    ) -> None:
        """Use the named evaluators unless others are given."""
        self.case = case
        self.depth = depth
        self._selector = selector or select_evaluator(SELECTOR)
        self._judge = judge or select_evaluator(JUDGE)
        self._judged: dict[tuple[int, KernelPlan], float] = {}

    def select_us(self, plans: PlanBatch, spec: HardwareSpec | None = None) -> NDArray[np.float64]:
        """Times by the selector, at nominal hardware unless a chip is given, microseconds."""
        return self._selector.estimate_us(self.case.problem, spec or self.case.spec, plans)

    def selector_objective(self) -> Objective:
        """The selector on the case, at nominal hardware, as searches take it."""
        return Objective(self.case.problem, self.case.spec, self._selector)

    def judge_us(self, plan: KernelPlan) -> float:
        """Time by the judge at nominal hardware, microseconds."""
        return self._ask_judge(-1, self.case.spec, plan)

    def judge(self, plan: KernelPlan) -> JudgedPlan:
        """A plan with both times."""
        selector_us = float(self.select_us(PlanBatch.from_plans([plan]))[0])
        return JudgedPlan(plan=plan, selector_us=selector_us, judge_us=self.judge_us(plan))

    def choose(
        self,
        alternatives: PlanBatch | None,
        control: KernelPlan | None = None,
        *,
        spec: HardwareSpec | None = None,
    ) -> Choice:
        """The selector's choice among the control (the baseline unless given) and alternatives.

        Equal times to six digits fall to the control, then to what differs least from it. Plans
        that break a rule of legality are passed over, the control excepted.

        Args:
            alternatives: plans beside the control; None for none.
            control: what they are compared with.
            spec: the chip that the selector believes in, the nominal one unless given.
        """
        times = None if alternatives is None else self.select_us(alternatives, spec)
        return self.choose_timed(alternatives, times, control, spec=spec)

    def choose_timed(
        self,
        alternatives: PlanBatch | None,
        times_us: NDArray[np.float64] | None,
        control: KernelPlan | None = None,
        *,
        spec: HardwareSpec | None = None,
    ) -> Choice:
        """`choose` where the alternatives' times by the selector are known already."""
        first = control or self.case.baseline
        best = BestPlans(self.depth.rescored, first)
        best.add_one(first, float(self.select_us(PlanBatch.from_plans([first]), spec)[0]))
        count = 0
        if alternatives is not None and times_us is not None:
            best.add(alternatives, times_us)
            count = len(alternatives)
        problem, chip = self.case.problem, self.case.spec
        top = tuple(
            plan for plan in best.plans() if plan == first or not check(problem, chip, plan)
        )
        return Choice(plan=top[0] if top else first, top=top, candidates=count + 1)

    def compare(
        self,
        study: str,
        choice: Choice,
        control: KernelPlan | None = None,
        *,
        is_drawn: bool = True,
    ) -> Comparison:
        """Control (the baseline unless given) against the selector's choice.

        Args:
            study: what is compared.
            choice: the treatment and its nearest rivals.
            control: what it is compared with.
            is_drawn: compare them at every draw of the hardware, too.
        """
        case = self.case
        first = control or case.baseline
        before, after = self.judge(first), self.judge(choice.plan)
        verdict = judge_difference(
            case.problem,
            case.spec,
            JUDGE,
            TimedPlan(plan=before.plan, time_us=before.judge_us),
            TimedPlan(plan=after.plan, time_us=after.judge_us),
        )
        return Comparison(
            study=study,
            control=before,
            treatment=after,
            candidates=choice.candidates,
            changed_fields=list_changed_fields(first, choice.plan),
            coverage=select_plans_coverage(case.problem, (first, choice.plan)),
            resolved=verdict.resolved,
            pipeline_draws=self._draw_selector(first, choice.top) if is_drawn else (),
            emulator_draws=self._draw_judge(first, choice.plan) if is_drawn else (),
        )

    def _draw_selector(self, control: KernelPlan, top: Sequence[KernelPlan]) -> tuple[float, ...]:
        """For each chip, control over the best of the nominal top and the control."""
        count = self.depth.pipeline_draws
        rivals = [plan for plan in top if plan != control]
        if not rivals:
            return (1.0,) * count
        plans = PlanBatch.from_plans([control, *rivals])
        chips = draw_chips(self.case.spec, SELECTOR, count)
        times = [self.select_us(plans, chip) for chip in chips]
        return tuple(float(drawn[0] / drawn.min()) for drawn in times)

    def _draw_judge(self, control: KernelPlan, treatment: KernelPlan) -> tuple[float, ...]:
        """For each chip, control over treatment as they were selected."""
        count = self.depth.emulator_draws
        if treatment == control:
            return (1.0,) * count
        chips = draw_chips(self.case.spec, JUDGE, count)
        return tuple(
            self._ask_judge(draw, chip, control) / self._ask_judge(draw, chip, treatment)
            for draw, chip in enumerate(chips)
        )

    def _ask_judge(self, draw: int, chip: HardwareSpec, plan: KernelPlan) -> float:
        """Time of the plan on the chip of that draw, -1 for the nominal one."""
        key = (draw, plan)
        if key not in self._judged:
            batch = PlanBatch.from_plans([plan])
            self._judged[key] = float(self._judge.estimate_us(self.case.problem, chip, batch)[0])
        return self._judged[key]

    @property
    def nominally_judged(self) -> dict[KernelPlan, float]:
        """Every plan that the judge has seen at nominal hardware, with its time."""
        return {plan: time_us for (draw, plan), time_us in self._judged.items() if draw < 0}


def list_changed_fields(before: KernelPlan, after: KernelPlan) -> tuple[str, ...]:
    """Names of the fields in which two plans differ."""
    return tuple(
        field.name
        for field in fields(KernelPlan)
        if getattr(before, field.name) != getattr(after, field.name)
    )
