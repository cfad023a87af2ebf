"""One row of a study's answer, as results.json, results.csv, the table and the report show it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from hwmodel.plan import KernelPlan
from hwmodel.problem import GemmProblem
from studies.gap import Coverage

__all__ = ["RESULTS_SCHEMA", "ComparedPlans", "Coverage", "PlanResult", "ResultRow", "RowStatus"]

RESULTS_SCHEMA = 3
"""Version of the layout of results.json."""


class RowStatus(StrEnum):
    """What became of a shape; a shape that fails is a result, not a crash."""

    OK = "ok"
    REJECTED = "rejected"
    NO_LEGAL_PLAN = "no_legal_plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult:
    """One side of the comparison: a plan, its predicted time and what bounds it."""

    plan: KernelPlan
    predicted_us: float
    bound: str
    roofline_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPlans:
    """Baseline against best, for a shape that could be searched.

    Attributes:
        strategy: the vendor's strategy of the baseline.
        baseline: the vendor's plan.
        best: the best plan found.
        best_expressible: the best plan found that the vendor's tiling data can carry.
        best_inexpressible_field: the first field of `best` that they cannot carry, e.g.
            `window_len`; empty when they carry them all.
        gap_ratio: t_baseline / t_best - 1.
        expressible_gap_ratio: t_baseline / t_best_expressible - 1.
        resolved: the gap exceeds what the evaluator's median error in the classes of the two
            plans could explain, on ground that was measured (`studies.gap`).
        exceeds_p90: it is resolved and exceeds twice the 90th percentile of that error, too.
        error_class: class of the baseline by its predicted time, e.g. `compute_bound`.
        best_error_class: class of the best plan by its own predicted time.
        coverage: how far from the measured kernels.
        roofline_us: least time any plan could take.
        ties_within_1pct: points within 1 % of the best.
        evaluations: plans evaluated.
        regret_ratio: best / certified optimum - 1; None without a certificate.
        violations: legality rules the vendor's plan breaks.
        rejected: illegal points by rule.
        certificate: in one sentence, what was covered; empty without a certificate.
        judgement: of a cascade, in one sentence who chose and who judged; else empty.
    """

    strategy: str
    baseline: PlanResult
    best: PlanResult
    best_expressible: PlanResult
    best_inexpressible_field: str
    gap_ratio: float
    expressible_gap_ratio: float
    resolved: bool
    exceeds_p90: bool
    error_class: str
    best_error_class: str
    coverage: Coverage
    roofline_us: float
    ties_within_1pct: int
    evaluations: int
    regret_ratio: float | None
    violations: tuple[str, ...]
    rejected: Mapping[str, int]
    certificate: str
    judgement: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """One line of the shapes file with its answer.

    Attributes:
        index: 0-based position in the shapes file.
        name: the row's name, or the problem's label.
        problem: the GEMM.
        weight: calls per forward pass on one device.
        tag: free text; `grouped` rows are shown but left out of aggregates.
        model: model the shape belongs to, empty when unknown.
        layer: layer of the model, empty when unknown.
        phase: `decode`, `prefill`, `training`, ..., empty when unknown.
        tp: tensor-parallel degree, None when unknown.
        tokens: tokens in flight, None when unknown.
        measured_us: measured time of the vendor's kernel, None when not measured.
        status: whether there is a comparison.
        message: why there is none; empty when there is.
        compared: the comparison, None unless status is `ok`.
    """

    index: int
    name: str
    problem: GemmProblem
    weight: float
    tag: str
    model: str
    layer: str
    phase: str
    tp: int | None
    tokens: int | None
    measured_us: float | None
    status: RowStatus
    message: str
    compared: ComparedPlans | None
