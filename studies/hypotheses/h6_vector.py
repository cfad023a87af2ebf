"""H6: 16-bit products with M = 1 or N = 1 on the vector cores instead of the cube."""

from baseline.platform import Platform
from baseline.tiling_data import build_to_mul_tiling_data
from baseline.vector import compute_to_mul
from hwmodel.dtypes import DType
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, Template, canonical_plan
from hwmodel.plan_batch import PlanBatch
from hwmodel.vendor_tiling import plan_from_vector_tiling_data
from studies.hypotheses.answers import VectorEffect
from studies.hypotheses.case import batch_legal
from studies.hypotheses.models import CaseModels
from studies.protocol import Case, Statement


class VectorHypothesis:
    """The operator's fp32 vector kernel, for 16 bit."""

    @property
    def statement(self) -> Statement:
        """What is claimed, stated before any run."""
        return Statement(
            id="h6",
            title="vectors on the vector cores",
            claim="16-bit products with M = 1 or N = 1 belong on the vector cores.",
            domain="16-bit inputs with M = 1 or N = 1 that the operator gives to the cube cores.",
            control="The operator's plan on the cube cores.",
            treatment=(
                "The faster by the pipeline model of that plan and the vector kernel in the"
                " geometry of the operator's TO_MUL."
            ),
            falsifier=(
                "The mean gain's interval ends below 0.5 % and fewer than 1 % of the shapes gain"
                " more than 5 %."
            ),
        )

    def in_domain(self, case: Case) -> bool:
        """16 bit, one row or column, on the cube."""
        problem = case.problem
        return (
            problem.dtype is not DType.FP32
            and min(problem.m, problem.n) == 1
            and case.baseline.template in CUBE_TEMPLATES
        )

    def alternatives(self, case: Case) -> PlanBatch | None:
        """The vector kernel, where UB holds its tiles."""
        return batch_legal(case, [build_vector_plan(case)])


def build_vector_plan(case: Case) -> KernelPlan:
    """The vector kernel in TO_MUL's geometry (specification: plan.md, "VECTOR for 16 bit")."""
    tiling = compute_to_mul(case.problem, Platform.from_spec(case.spec), None)
    record = build_to_mul_tiling_data(case.problem, tiling)
    plan = plan_from_vector_tiling_data(case.problem, Template.VECTOR, record)
    return canonical_plan(case.problem, plan)


def measure_vector_effect(
    models: CaseModels, alternatives: PlanBatch | None
) -> VectorEffect | None:
    """Cube against vector cores by the judge; None where the vector kernel does not fit."""
    if alternatives is None:
        return None
    problem = models.case.problem
    vector = models.judge(alternatives.plan(0))
    return VectorEffect(
        length=max(problem.m, problem.n),
        vector=vector,
        vector_ratio=models.judge_us(models.case.baseline) / vector.judge_us,
    )
