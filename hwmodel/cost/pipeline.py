"""The pipeline model behind the evaluators' interface."""

import numpy as np
from numpy.typing import NDArray

import hwmodel.jit as jit_module
from hwmodel.cost.boxes import PlanBoxes
from hwmodel.cost.breakdown import CostBreakdown
from hwmodel.cost.constants import PIPELINE_MODEL, PipelineConstants, pipeline_constants
from hwmodel.cost.explanation import build_breakdown
from hwmodel.cost.lower_bound import bound_batch
from hwmodel.cost.plan_costs import Model, PlanColumns, explain_row
from hwmodel.cost.plan_lanes import estimate_batch, estimate_rows
from hwmodel.cost.terms import chip_rates, problem_terms
from hwmodel.plan import KernelPlan, Template
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec

_TINY = 16
"""Lengths of the kernel that is evaluated only to compile the model."""


def build_model(problem: GemmProblem, spec: HardwareSpec, constants: PipelineConstants) -> Model:
    """What the closed form takes of problem and chip."""
    chip = chip_rates(problem, spec, constants)
    return Model(
        chip=chip,
        terms=problem_terms(problem, chip, is_transposed=False),
        mirrored=problem_terms(problem, chip, is_transposed=True),
    )


def build_columns(plans: PlanBatch) -> PlanColumns:
    """The columns as the compiled functions take them: contiguous."""
    return PlanColumns(
        **{
            name: np.ascontiguousarray(getattr(plans, name), dtype=np.int64)
            for name in PlanColumns._fields
        }
    )


def needs_compiling() -> bool:
    """Whether the first evaluation will take the time to compile the model."""
    return any(
        jit_module.needs_compiling(one) for one in (estimate_rows, explain_row, bound_batch)
    )


def compile_model(spec: HardwareSpec) -> None:
    """Compile the model, so that processes started later find it compiled."""
    problem = GemmProblem(m=_TINY, k=_TINY, n=_TINY)
    plan = KernelPlan(
        template=Template.ASWT,
        base_m=_TINY,
        base_n=_TINY,
        base_k=_TINY,
        step_k=1,
        single_core_k=_TINY,
        used_core_num=1,
    )
    evaluator = PipelineEvaluator(PipelineConstants())
    evaluator.evaluate(problem, spec, plan)
    plans = PlanBatch.from_plans((plan,))
    evaluator.estimate_us(problem, spec, plans)
    slab, share = np.full(1, _TINY), np.zeros(1)
    boxes = PlanBoxes(
        plans=plans, k_l1_least=slab, k_l1_most=slab, kept_least=share, kept_most=share
    )
    evaluator.bound_us(problem, spec, boxes)


class PipelineEvaluator:
    """The pipeline model behind the evaluators' interface.

    Its constants are those of the spec's calibration unless `constants` are given.
    """

    def __init__(self, constants: PipelineConstants | None = None) -> None:
        """Use the given constants, or each spec's own."""
        self._constants = constants

    @property
    def name(self) -> str:
        """Name of the evaluator."""
        return PIPELINE_MODEL

    @property
    def version(self) -> str:
        """Version of the code; the constants are part of the spec."""
        return "pipeline-6"

    def estimate_us(
        self, problem: GemmProblem, spec: HardwareSpec, plans: PlanBatch
    ) -> NDArray[np.float64]:
        """Predicted times of the batch, shape (len(plans),), microseconds."""
        times = np.empty(len(plans))
        estimate_batch(self._build_model(problem, spec), build_columns(plans), times)
        times *= 1 / spec.cores.clock_mhz
        return times

    def bound_us(
        self, problem: GemmProblem, spec: HardwareSpec, boxes: PlanBoxes
    ) -> NDArray[np.float64]:
        """Proven lower bounds of the times of boxes of plans, shape (len(boxes),), microseconds.

        0 where no bound is known.
        """
        bounds = np.empty(len(boxes))
        bound_batch(
            self._build_model(problem, spec),
            build_columns(boxes.plans),
            np.ascontiguousarray(boxes.k_l1_least),
            np.ascontiguousarray(boxes.k_l1_most),
            np.ascontiguousarray(boxes.kept_least),
            np.ascontiguousarray(boxes.kept_most),
            bounds,
        )
        bounds *= 1 / spec.cores.clock_mhz
        return bounds

    def evaluate(
        self, problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan
    ) -> CostBreakdown:
        """Predicted time of one plan with its parts."""
        model = self._build_model(problem, spec)
        columns = build_columns(PlanBatch.from_plans((plan,)))
        return build_breakdown(model, explain_row(model, columns), plan, spec)

    def _build_model(self, problem: GemmProblem, spec: HardwareSpec) -> Model:
        return build_model(problem, spec, self._constants or pipeline_constants(spec))
