"""What a study says about one shape: the values that go to journal, tables and report."""

from collections.abc import Mapping
from dataclasses import dataclass

from hwmodel.cost.breakdown import CostBreakdown
from hwmodel.plan import KernelPlan
from hwmodel.problem import GemmProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedPlan:
    """A plan and its predicted cost."""

    plan: KernelPlan
    cost: CostBreakdown


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Proof of coverage: every legal point of the named space was evaluated or pruned.

    Attributes:
        space: name of the space, e.g. `tiles`.
        restriction: in words, what the space leaves out at this effort; empty when nothing.
        evaluator: name of the model that was evaluated.
        cartesian: points before the legality rules.
        evaluated: legal points evaluated.
        pruned: legal points skipped by a proven bound.
        pruned_by: the same by bound (`studies.branch_and_bound`), the most first.
        best_us: least predicted time over the covered points and the baseline, to six digits.
    """

    space: str
    restriction: str
    evaluator: str
    cartesian: int
    evaluated: int
    pruned: int
    pruned_by: Mapping[str, int]
    best_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What a cascade's selector says of the plans that the judge put in order.

    Attributes:
        selector: name of the model that chose among all plans.
        judge: name of the model whose times the outcome has.
        unjudged: chosen plans that the judge cannot run.
        selector_us: the selector's times of the outcome's `top`, in its order, microseconds.
        selector_places: their places by the selector, the best 1.
        baseline_us: the selector's time of the baseline.
        kendall: rank correlation (tau b) of the two models over `top`; None where one of them
            holds all plans for equal.
        spearman: the same, rho.
    """

    selector: str
    judge: str
    unjudged: int
    selector_us: tuple[float, ...]
    selector_places: tuple[int, ...]
    baseline_us: float
    kendall: float | None
    spearman: float | None

    @property
    def judge_place_of_first(self) -> int:
        """The judge's place of the selector's best plan, the best 1."""
        return self.selector_places.index(1) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeOutcome:
    """Result of the search for one problem.

    All costs are by one model: the one that was searched, or the judge of a cascade.

    Attributes:
        problem: the GEMM.
        baseline: the vendor's own plan (trial 0), whatever the legality check says of it.
        baseline_strategy: the vendor's strategy, e.g. `BASIC_ASWT`.
        baseline_violations: legality rules the vendor's plan breaks, as text; usually empty.
        best: the best plan found; the baseline itself when nothing is better.
        best_expressible: the best of the plans found that the vendor's tiling data can express
            (`studies.expressible`); `best` itself if it is one of them. The baseline is one.
        top: the best plans in order, `best` first.
        ties_within_1pct: evaluated points within 1 % of the best, itself included.
        evaluations: plans evaluated, the baseline included.
        rejected: illegal points by rule, most frequent first; a point that breaks several rules
            counts once, under the first in the order of `hwmodel.violation`.
        certificate: what an exhaustive search covered, for a cascade the selector's; None where
            no model was searched exhaustively.
        roofline_us: least time any plan could take (specification: hardware.md, roofline).
        history_us: best predicted time so far after each evaluation of a sampling strategy; else
            empty.
        selection: for a cascade what its selector says; else None.
    """

    problem: GemmProblem
    baseline: EvaluatedPlan
    baseline_strategy: str
    baseline_violations: tuple[str, ...]
    best: EvaluatedPlan
    best_expressible: EvaluatedPlan
    top: tuple[EvaluatedPlan, ...]
    ties_within_1pct: int
    evaluations: int
    rejected: Mapping[str, int]
    certificate: Certificate | None
    roofline_us: float
    history_us: tuple[float, ...] = ()
    selection: Selection | None = None

    @property
    def regret_ratio(self) -> float | None:
        """How far the best plan is from the certified optimum, by the certificate's model.

        None without a certificate.
        """
        if self.certificate is None:
            return None
        best_us = self.best.cost.task_duration_us
        if self.selection is not None:
            best_us = self.selection.selector_us[0]
        return best_us / self.certificate.best_us - 1.0

    @property
    def gap_ratio(self) -> float:
        """How much longer the baseline takes than the best: t_baseline / t_best - 1, never < 0."""
        return self.baseline.cost.task_duration_us / self.best.cost.task_duration_us - 1.0

    @property
    def expressible_gap_ratio(self) -> float:
        """The same against `best_expressible`: what is gained without a new field or kernel."""
        expressible_us = self.best_expressible.cost.task_duration_us
        return self.baseline.cost.task_duration_us / expressible_us - 1.0
