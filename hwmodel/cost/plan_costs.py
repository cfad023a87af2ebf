"""The pipeline model's closed form: the costs of one plan.

`estimate_plan` takes one plan apart and hands it to the closed form of its template
(`walk_kernel`, `resident_kernel`, `vector_kernel`). `plan_lanes` runs batches of plans through the
same functions, so the explained path is the deciding path.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.kernel_costs import KernelCosts
from hwmodel.cost.residency import WalkPlan
from hwmodel.cost.resident_kernel import ResidentCase, estimate_resident
from hwmodel.cost.store import WayOut, partial_line_cycles
from hwmodel.cost.stream_k import BAND_ELEMENTS, StreamKPlan
from hwmodel.cost.terms import ChipRates, ProblemTerms
from hwmodel.cost.tile import L1_SLOTS, TilePlan
from hwmodel.cost.vector_kernel import estimate_clear, estimate_multi_mul, estimate_vector
from hwmodel.cost.walk_case import WalkCase
from hwmodel.cost.walk_kernel import estimate_walk
from hwmodel.jit import inline, jit
from hwmodel.plan import L0cOutput, StreamKOrder, Template
from hwmodel.plan_batch import TEMPLATE_CODES

ASWT = TEMPLATE_CODES[Template.ASWT]
A_FULL = TEMPLATE_CODES[Template.A_FULL]
B_FULL = TEMPLATE_CODES[Template.B_FULL]
A_PARTIAL = TEMPLATE_CODES[Template.A_PARTIAL]
B_PARTIAL = TEMPLATE_CODES[Template.B_PARTIAL]
A_PANEL = TEMPLATE_CODES[Template.A_PANEL]
B_PANEL = TEMPLATE_CODES[Template.B_PANEL]
STREAM_K = TEMPLATE_CODES[Template.STREAM_K]
VECTOR = TEMPLATE_CODES[Template.VECTOR]
BASE = TEMPLATE_CODES[Template.BASE]
TO_MULTI_MUL = TEMPLATE_CODES[Template.TO_MULTI_MUL]
K_EQUAL_ZERO = TEMPLATE_CODES[Template.K_EQUAL_ZERO]

FIXPIPE = tuple(L0cOutput).index(L0cOutput.FIXPIPE)

FIRST = tuple(StreamKOrder).index(StreamKOrder.FIRST)
LAST = tuple(StreamKOrder).index(StreamKOrder.LAST)


class Model(NamedTuple):
    """What all plans of a problem share: the chip, the problem and its mirror image."""

    chip: ChipRates
    terms: ProblemTerms
    mirrored: ProblemTerms


class PlanColumns(NamedTuple):
    """The columns of a PlanBatch that the model reads, contiguous; names are its names."""

    template: NDArray[np.int64]
    base_m: NDArray[np.int64]
    base_n: NDArray[np.int64]
    base_k: NDArray[np.int64]
    step_k: NDArray[np.int64]
    l1_buffer_num: NDArray[np.int64]
    resident_slabs: NDArray[np.int64]
    db_l0c: NDArray[np.int64]
    ub_db: NDArray[np.int64]
    l0c_output: NDArray[np.int64]
    window_len: NDArray[np.int64]
    serpentine: NDArray[np.int64]
    m_tail_cnt: NDArray[np.int64]
    n_tail_cnt: NDArray[np.int64]
    single_core_k: NDArray[np.int64]
    sk_order: NDArray[np.int64]
    used_core_num: NDArray[np.int64]


class PlanRow(NamedTuple):
    """One plan; names and codes are those of PlanBatch."""

    template: int
    base_m: int
    base_n: int
    base_k: int
    step_k: int
    l1_buffer_num: int
    resident_slabs: int
    db_l0c: int
    ub_db: int
    l0c_output: int
    window_len: int
    serpentine: int
    m_tail_cnt: int
    n_tail_cnt: int
    single_core_k: int
    sk_order: int
    used_core_num: int


@inline
def read_row(plans: PlanColumns, row: int) -> PlanRow:
    """The plan of a row."""
    return PlanRow(
        template=plans.template[row],
        base_m=plans.base_m[row],
        base_n=plans.base_n[row],
        base_k=plans.base_k[row],
        step_k=plans.step_k[row],
        l1_buffer_num=plans.l1_buffer_num[row],
        resident_slabs=plans.resident_slabs[row],
        db_l0c=plans.db_l0c[row],
        ub_db=plans.ub_db[row],
        l0c_output=plans.l0c_output[row],
        window_len=plans.window_len[row],
        serpentine=plans.serpentine[row],
        m_tail_cnt=plans.m_tail_cnt[row],
        n_tail_cnt=plans.n_tail_cnt[row],
        single_core_k=plans.single_core_k[row],
        sk_order=plans.sk_order[row],
        used_core_num=plans.used_core_num[row],
    )


@jit
def explain_row(model: Model, plans: PlanColumns) -> KernelCosts:
    """The costs of the first row."""
    return estimate_plan(model, read_row(plans, 0))


@inline
def estimate_plan(model: Model, plan: PlanRow) -> KernelCosts:
    """The costs of one plan."""
    template = plan.template
    if template in (VECTOR, TO_MULTI_MUL, K_EQUAL_ZERO):
        return estimate_vector_plan(model, plan)
    terms = model.terms
    if template in (B_FULL, B_PARTIAL, B_PANEL):
        terms = model.mirrored
    if template in (A_FULL, B_FULL, A_PARTIAL, B_PARTIAL):
        return estimate_resident_plan(model.chip, terms, plan)
    return estimate_walk_plan(model.chip, terms, plan)


@inline
def estimate_resident_plan(chip: ChipRates, terms: ProblemTerms, plan: PlanRow) -> KernelCosts:
    """The costs of a full or partial load; the terms are mirrored if B is kept."""
    return estimate_resident(
        ResidentCase(
            terms=terms,
            chip=chip,
            plan=build_tile_plan(terms, plan, terms.is_transposed),
            walk=build_walk_plan(plan, terms.is_transposed),
            way_out=build_way_out(chip, terms, plan),
            launch=launch_cycles(chip, plan),
            is_full=plan.template in (A_FULL, B_FULL),
            resident_slabs=float(plan.resident_slabs),
        )
    )


@inline
def estimate_walk_plan(chip: ChipRates, terms: ProblemTerms, plan: PlanRow) -> KernelCosts:
    """The costs of a walk over the grid; the terms are mirrored for a panel of B."""
    is_panel = plan.template in (A_PANEL, B_PANEL)
    return estimate_walk(
        WalkCase(
            terms=terms,
            chip=chip,
            plan=build_tile_plan(terms, plan, terms.is_transposed),
            walk=build_walk_plan(plan, terms.is_transposed),
            way_out=build_way_out(chip, terms, plan),
            launch=launch_cycles(chip, plan),
            k_slices=count_k_slices(terms, plan),
            resident_slabs=float(plan.resident_slabs) if is_panel else 0.0,
            stream_k=build_stream_k_plan(plan, plan.template == STREAM_K),
        )
    )


@inline
def goes_through_ub(plan: PlanRow) -> bool:
    """Whether the fixpipe output is used; stream-K's changes its bands only (plan.md)."""
    return plan.l0c_output == FIXPIPE and plan.template != STREAM_K


@inline
def build_way_out(chip: ChipRates, terms: ProblemTerms, plan: PlanRow) -> WayOut:
    """How C leaves L0C."""
    base_c = plan.base_n * int(terms.output_bytes)
    return WayOut(
        element_bytes=terms.output_bytes,
        in_one_run=False,
        through_ub=goes_through_ub(plan),
        is_double=plan.template == B_FULL and plan.ub_db > 1,
        base_bytes=float(base_c),
        end_cycles=partial_line_cycles(terms, chip, base_c & -base_c),
    )


@inline
def launch_cycles(chip: ChipRates, plan: PlanRow) -> float:
    """Launch and first access."""
    if goes_through_ub(plan):
        return chip.launch_cycles + chip.mixed_extra_cycles
    return chip.launch_cycles


@jit
def estimate_vector_plan(model: Model, plan: PlanRow) -> KernelCosts:
    """The costs of a kernel on vector cores."""
    terms, chip = model.terms, model.chip
    cores = float(plan.used_core_num)
    if plan.template == VECTOR:
        base_mn = float(plan.base_n if terms.a.outer == 1.0 else plan.base_m)
        return estimate_vector(terms, chip, base_mn, float(plan.base_k), cores)
    if plan.template == TO_MULTI_MUL:
        return estimate_multi_mul(terms, chip, float(plan.base_m), float(plan.base_n), cores)
    return estimate_clear(terms, chip, cores)


@inline
def build_tile_plan(terms: ProblemTerms, plan: PlanRow, is_mirrored: bool) -> TilePlan:
    """The tile figures in the orientation of the terms."""
    k_l1 = min(plan.step_k * plan.base_k, terms.k_up)
    size = int(terms.input_bytes)
    rows, columns = plan.base_m, plan.base_n
    if is_mirrored:
        rows, columns = columns, rows
    m_bytes, n_bytes, k_bytes = rows * size, columns * size, k_l1 * size
    is_resident = plan.template in (A_FULL, B_FULL, A_PARTIAL, B_PARTIAL)
    return TilePlan(
        base_m=float(rows),
        base_n=float(columns),
        base_k=float(plan.base_k),
        k_l1=float(k_l1),
        base_m_bit=m_bytes & -m_bytes,
        base_n_bit=n_bytes & -n_bytes,
        k_l1_bit=k_bytes & -k_bytes,
        single_l0c=plan.db_l0c < 2,
        slots=float(plan.l1_buffer_num) if is_resident else L1_SLOTS,
        a_straddles=0.0,
        b_straddles=0.0,
    )


@inline
def build_walk_plan(plan: PlanRow, is_mirrored: bool) -> WalkPlan:
    """The walk figures in the orientation of the terms."""
    m_pieces, n_pieces = float(plan.m_tail_cnt), float(plan.n_tail_cnt)
    return WalkPlan(
        cores=float(plan.used_core_num),
        window_len=float(plan.window_len),
        serpentine=plan.serpentine > 0,
        m_pieces=n_pieces if is_mirrored else m_pieces,
        n_pieces=m_pieces if is_mirrored else n_pieces,
    )


@inline
def build_stream_k_plan(plan: PlanRow, is_stream_k: bool) -> StreamKPlan:
    """Length of a piece and how many data-parallel tiles follow it."""
    after_piece = 1.0
    if plan.sk_order == FIRST:
        after_piece = np.inf
    elif plan.sk_order == LAST:
        after_piece = 0.0
    return StreamKPlan(
        is_used=is_stream_k,
        piece_k=float(max(plan.single_core_k, 1)),
        after_piece=after_piece,
        pitch_grain=BAND_ELEMENTS if plan.l0c_output == FIXPIPE else 1.0,
    )


@inline
def count_k_slices(terms: ProblemTerms, plan: PlanRow) -> float:
    """Slices of K that are stored one after the other (fp32 split-K), else 1."""
    if plan.template == BASE:
        return terms.base_slices
    if plan.template == ASWT and plan.l0c_output != FIXPIPE:
        return terms.slices
    return 1.0
