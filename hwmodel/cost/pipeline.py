"""The pipeline model: predicted times in closed form, for one plan or for millions.

A batch is split by template and way out of L0C; each group goes through one closed form over
arrays (`walk_kernel`, `resident_kernel`, `vector_kernel`). `evaluate` runs the same code on a
batch of one, so the explained path is the deciding path.
"""

from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.breakdown import CostBreakdown
from hwmodel.cost.constants import PIPELINE_MODEL, PipelineConstants, pipeline_constants
from hwmodel.cost.kernel_costs import KernelCosts, build_breakdown
from hwmodel.cost.residency import WalkPlan
from hwmodel.cost.resident_kernel import ResidentCase, estimate_resident
from hwmodel.cost.store import UbStore, WayOut
from hwmodel.cost.stream_k import BAND_ELEMENTS, StreamKPlan
from hwmodel.cost.terms import (
    ChipRates,
    Column,
    IntColumn,
    ProblemTerms,
    chip_rates,
    lowest_bit,
    problem_terms,
)
from hwmodel.cost.tile import L1_SLOTS, TilePlan
from hwmodel.cost.vector_kernel import estimate_clear, estimate_multi_mul, estimate_vector
from hwmodel.cost.walk_kernel import WalkCase, estimate_walk
from hwmodel.dtypes import DType, Format
from hwmodel.integers import FRACTAL, ceil_div
from hwmodel.plan import KernelPlan, L0cOutput, StreamKOrder, Template
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec

CHUNK_PLANS = 4096
"""Plans evaluated at a time: temporaries of 32 KiB stay in the processor's caches."""

FP32_SPLIT_K = 1024
"""K columns of a piece of the fp32 split-K kernels, from K = 2 * this (specification: swizzle.md,
section 1)."""

BASE_SPLIT_K = 8192
"""K columns of a piece of BASE with an fp32 C (swizzle.md, section 3)."""

_ORDER_CODES = {order: code for code, order in enumerate(StreamKOrder)}
_TEMPLATES = tuple(Template)
_TRANSPOSED = (Template.B_FULL, Template.B_PARTIAL, Template.B_PANEL)
_RESIDENT = (Template.A_FULL, Template.B_FULL, Template.A_PARTIAL, Template.B_PARTIAL)
_SPLITS_K = (Template.ASWT, Template.BASE)
_KEEPS_SLABS = (Template.A_PARTIAL, Template.B_PARTIAL, Template.A_PANEL, Template.B_PANEL)


def estimate_group(
    terms: ProblemTerms,
    chip: ChipRates,
    problem: GemmProblem,
    template: Template,
    output: L0cOutput,
    plans: PlanBatch,
) -> KernelCosts:
    """Costs of plans that share template and way out of L0C.

    Args:
        terms: the problem, or one problem per plan.
        chip: the chip.
        problem: gives types, formats and modes, which are common to all.
        template: the kernel of all plans.
        output: the way out of L0C of all plans.
        plans: the plans.
    """
    if template is Template.VECTOR:
        is_row = terms.a.outer == 1
        base_mn = np.where(is_row, plans.base_n, plans.base_m).astype(np.float64)
        return estimate_vector(
            terms, chip, base_mn, _floats(plans.base_k), _floats(plans.used_core_num)
        )
    if template is Template.TO_MULTI_MUL:
        return estimate_multi_mul(
            terms,
            chip,
            _floats(plans.base_m),
            _floats(plans.base_n),
            _floats(plans.used_core_num),
        )
    if template is Template.K_EQUAL_ZERO:
        return estimate_clear(terms, chip, _floats(plans.used_core_num))
    return _estimate_cube(terms, chip, problem, template, output, plans)


def _floats(column: IntColumn | NDArray[np.bool_]) -> Column:
    """An integer column as floats."""
    return column.astype(np.float64)


def _estimate_cube(
    terms: ProblemTerms,
    chip: ChipRates,
    problem: GemmProblem,
    template: Template,
    output: L0cOutput,
    plans: PlanBatch,
) -> KernelCosts:
    """Costs of the templates that run on cube cores."""
    is_transposed = template in _TRANSPOSED
    if is_transposed:
        terms = terms.transposed()
    tile_plan = _build_tile_plan(terms, problem, template, plans, is_transposed)
    walk = _build_walk_plan(plans, is_transposed)
    way_out = _build_way_out(problem, template, output, plans)
    if way_out.through_ub is not None:
        chip = replace(chip, launch_cycles=chip.launch_cycles + chip.mixed_extra_cycles)
    slabs = _floats(plans.resident_slabs) if template in _KEEPS_SLABS else None
    if template in _RESIDENT:
        return estimate_resident(
            ResidentCase(
                terms=terms,
                chip=chip,
                plan=tile_plan,
                walk=walk,
                way_out=way_out,
                resident_slabs=slabs,
            )
        )
    is_stream_k = template is Template.STREAM_K
    return estimate_walk(
        WalkCase(
            terms=terms,
            chip=chip,
            plan=tile_plan,
            walk=walk,
            way_out=way_out,
            k_pieces=_count_k_pieces(problem, template, output),
            resident_slabs=slabs,
            stream_k=_build_stream_k_plan(plans, output) if is_stream_k else None,
        )
    )


def _build_walk_plan(plans: PlanBatch, is_transposed: bool) -> WalkPlan:
    """The walk columns in the orientation of the terms."""
    m_pieces, n_pieces = _floats(plans.m_tail_cnt), _floats(plans.n_tail_cnt)
    return WalkPlan(
        cores=_floats(plans.used_core_num),
        window_len=_floats(plans.window_len),
        serpentine=_floats(plans.serpentine),
        m_pieces=n_pieces if is_transposed else m_pieces,
        n_pieces=m_pieces if is_transposed else n_pieces,
    )


def _build_way_out(
    problem: GemmProblem, template: Template, output: L0cOutput, plans: PlanBatch
) -> WayOut:
    """How C leaves L0C."""
    element_bytes = problem.out_dtype.size_bytes
    # Stream-K's fixpipe output changes the bands of its workspace only (plan.md).
    if output is not L0cOutput.FIXPIPE or template is Template.STREAM_K:
        return WayOut(element_bytes=element_bytes)
    is_double = (plans.ub_db > 1) if template is Template.B_FULL else np.zeros(len(plans))
    through_ub = UbStore(
        rows_share=0.5 if problem.out_dtype is DType.FP32 else 1.0,
        is_double=is_double.astype(np.float64),
    )
    return WayOut(element_bytes=element_bytes, through_ub=through_ub)


def _build_tile_plan(
    terms: ProblemTerms,
    problem: GemmProblem,
    template: Template,
    plans: PlanBatch,
    is_transposed: bool,
) -> TilePlan:
    """The tile columns in the orientation of the terms."""
    k_up = np.ceil(terms.k / FRACTAL).astype(np.int64) * FRACTAL
    k_l1 = np.minimum(plans.step_k * plans.base_k, k_up)
    size = terms.input_bytes
    rows, columns = plans.base_m, plans.base_n
    if is_transposed:
        rows, columns = columns, rows
    return TilePlan(
        base_m=_floats(rows),
        base_n=_floats(columns),
        base_k=_floats(plans.base_k),
        k_l1=_floats(k_l1),
        base_m_bit=lowest_bit(rows * size),
        base_n_bit=lowest_bit(columns * size),
        k_l1_bit=lowest_bit(k_l1 * size),
        base_c_bit=lowest_bit(plans.base_n * terms.output_bytes),
        single_l0c=2.0 - np.minimum(plans.db_l0c, 2),
        slots=_floats(plans.l1_buffer_num) if template in _RESIDENT else L1_SLOTS,
    )


def _build_stream_k_plan(plans: PlanBatch, output: L0cOutput) -> StreamKPlan:
    """Length of a piece and how many data-parallel tiles follow it."""
    order = plans.sk_order
    return StreamKPlan(
        piece_k=_floats(np.maximum(plans.single_core_k, 1)),
        after_piece=np.where(
            order == _ORDER_CODES[StreamKOrder.FIRST],
            np.inf,
            np.where(order == _ORDER_CODES[StreamKOrder.VENDOR], 1.0, 0.0),
        ),
        pitch_grain=BAND_ELEMENTS if output is L0cOutput.FIXPIPE else 1,
    )


def _count_k_pieces(problem: GemmProblem, template: Template, output: L0cOutput) -> int:
    """Pieces of K that are stored one after the other (fp32 split-K), else 1."""
    if problem.is_hf32 or problem.format_b is Format.NZ or template not in _SPLITS_K:
        return 1
    if template is Template.BASE:
        is_split = problem.out_dtype is DType.FP32 and problem.k > BASE_SPLIT_K
        return ceil_div(problem.k, BASE_SPLIT_K) if is_split else 1
    is_split = (
        problem.dtype is DType.FP32
        and output is L0cOutput.ON_THE_FLY
        and problem.k >= 2 * FP32_SPLIT_K
    )
    return problem.k // FP32_SPLIT_K if is_split else 1


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
        return "pipeline-2"

    def estimate_us(self, problem: GemmProblem, spec: HardwareSpec, plans: PlanBatch) -> Column:
        """Predicted times of the batch, shape (len(plans),), microseconds."""
        times = np.empty(len(plans))
        terms, chip = self._prepare(problem, spec)
        for rows, template, output in _split_groups(plans):
            group = plans if rows is None else plans.select(rows)
            cycles = np.empty(len(group))
            for start in range(0, len(group), CHUNK_PLANS):
                window = slice(start, start + CHUNK_PLANS)
                chunk = _slice_batch(group, window)
                costs = estimate_group(terms, chip, problem, template, output, chunk)
                cycles[window] = costs.total
            if rows is None:
                times = cycles
            else:
                times[rows] = cycles
        times *= 1 / spec.cores.clock_mhz
        return times

    def evaluate(
        self, problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan
    ) -> CostBreakdown:
        """Predicted time of one plan with its parts."""
        terms, chip = self._prepare(problem, spec)
        batch = PlanBatch.from_plans((plan,))
        costs = estimate_group(terms, chip, problem, plan.template, plan.l0c_output, batch)
        return build_breakdown(costs, spec)

    def _prepare(self, problem: GemmProblem, spec: HardwareSpec) -> tuple[ProblemTerms, ChipRates]:
        constants = self._constants or pipeline_constants(spec)
        return problem_terms((problem,)), chip_rates(problem, spec, constants)


def _split_groups(
    plans: PlanBatch,
) -> Iterator[tuple[NDArray[np.bool_] | None, Template, L0cOutput]]:
    """Rows that share template and way out of L0C; None for all rows, the usual case."""
    outputs = tuple(L0cOutput)
    codes = plans.template * len(outputs) + plans.l0c_output
    if len(codes) == 0:
        return
    first = int(codes[0])
    if bool(np.all(codes == first)):
        yield None, _TEMPLATES[first // len(outputs)], outputs[first % len(outputs)]
        return
    for code in np.unique(codes):
        template, output = divmod(int(code), len(outputs))
        yield codes == code, _TEMPLATES[template], outputs[output]


def _slice_batch(plans: PlanBatch, window: slice) -> PlanBatch:
    """Views of a range of rows."""
    return PlanBatch(
        **{field.name: getattr(plans, field.name)[window] for field in fields(PlanBatch)}
    )
