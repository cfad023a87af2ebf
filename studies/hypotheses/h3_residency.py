"""H3: a part of an operand kept in L1, between the operator's all and nothing.

Specification: plan.md, "How the proposed templates run". A_PARTIAL keeps the first slabs of A for
the whole kernel, A_PANEL those of the current block row; B_PARTIAL and B_PANEL mirror them. The
base tile, base_k, double buffer and window stay the operator's.
"""

from collections.abc import Iterator
from dataclasses import replace

from baseline.dispatch import Strategy
from hwmodel.derived import compute_block_count, compute_tail_reach, compute_used_core_num
from hwmodel.footprint import (
    DOUBLE_BUFFER,
    compute_bias_slots_bytes,
    compute_k_slabs,
    compute_l1_bytes,
    compute_resident_a_bytes,
    compute_resident_b_bytes,
    compute_slab_a_bytes,
    compute_slab_b_bytes,
)
from hwmodel.integers import ceil_div
from hwmodel.legality import FULL_LOAD_SLOTS, check
from hwmodel.plan import VENDOR_WINDOW_LEN, KernelPlan, L0cOutput, Template, canonical_plan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.hypotheses.answers import ResidencyEffect
from studies.hypotheses.case import batch_legal
from studies.hypotheses.models import CaseModels
from studies.hypotheses.traffic import emulate_plan
from studies.protocol import Case, Statement

PARTIAL_TEMPLATES = (Template.A_PARTIAL, Template.B_PARTIAL)
"""Slabs that stay for the whole kernel."""
PANEL_TEMPLATES = (Template.A_PANEL, Template.B_PANEL)
"""Slabs that stay for a block row or column."""


class ResidencyHypothesis:
    """Partial residency with the operator's base tile."""

    @property
    def statement(self) -> Statement:
        """What is claimed, stated before any run."""
        return Statement(
            id="h3",
            title="partial residency",
            claim="Keeping a part of an operand in L1 beats the all-or-nothing full load.",
            domain=(
                "Kernels of BASIC_ASWT without full load that write C directly, where one slab"
                " fits L1 beside the streamed ones."
            ),
            control="The operator's plan, which keeps nothing.",
            treatment=(
                "The best by the pipeline model of that plan and A_PARTIAL, B_PARTIAL, A_PANEL"
                " and B_PANEL with its base tile, over resident slabs and L0 steps per L1 step."
            ),
            falsifier=(
                "The mean gain's interval ends below 0.5 % and fewer than 1 % of the shapes gain"
                " more than 5 %."
            ),
        )

    def in_domain(self, case: Case) -> bool:
        """ASWT that writes C directly, and some resident plan is legal."""
        plan = case.baseline
        is_plain = (
            case.decision.strategy is Strategy.BASIC_ASWT
            and plan.template is Template.ASWT
            and plan.l0c_output is L0cOutput.ON_THE_FLY
        )
        return is_plain and any(
            not check(case.problem, case.spec, resident) for resident in _iterate_fitting(case)
        )

    def alternatives(self, case: Case) -> PlanBatch | None:
        """Every legal number of resident slabs and L0 steps of the four templates."""
        return batch_legal(case, _iterate_fitting(case))


def _iterate_fitting(case: Case) -> Iterator[KernelPlan]:
    """Resident plans that fit L1."""
    for template in (*PARTIAL_TEMPLATES, *PANEL_TEMPLATES):
        yield from iterate_resident(case, case.baseline, template)


def iterate_resident(case: Case, plan: KernelPlan, template: Template) -> Iterator[KernelPlan]:
    """The plan under a template that keeps slabs, for all step_k and slab counts that fit L1.

    Plans come in canonical form. The longer a slab, the fewer fit; once none does, longer ones
    are not tried.
    """
    for step_k in range(1, ceil_div(case.problem.k, plan.base_k) + 1):
        fitting = _list_fitting(case, plan, template, step_k)
        if not fitting:
            return
        yield from fitting


def _list_fitting(
    case: Case, plan: KernelPlan, template: Template, step_k: int
) -> list[KernelPlan]:
    """The plans with one slab, two, and so on, as far as L1 goes."""
    some, whole = count_fitting(case, plan, template, step_k)
    counts = [*range(1, some + 1), *([whole] if whole > some else [])]
    problem, spec = case.problem, case.spec
    return [
        canonical_plan(problem, build_resident(problem, spec, plan, template, step_k, slabs))
        for slabs in counts
    ]


def count_fitting(
    case: Case, plan: KernelPlan, template: Template, step_k: int
) -> tuple[int, int]:
    """Most slabs that fit L1 while others stream, and all slabs of a panel, 0 if they do not fit.

    A panel that keeps all its slabs streams nothing of that operand and may fit where one less
    does not. (Specification: plan.md, "Legality", column L1.)
    """
    problem, l1_bytes = case.problem, case.spec.buffers.l1_bytes
    longer = replace(plan, step_k=step_k, template=template)
    k_l1 = longer.k_l1(problem)
    kept = compute_slab_a_bytes(problem, plan.base_m, k_l1)
    other = compute_slab_b_bytes(problem, plan.base_n, k_l1)
    if template in {Template.B_PARTIAL, Template.B_PANEL}:
        kept, other = other, kept
    room = l1_bytes - compute_bias_slots_bytes(problem, longer) - DOUBLE_BUFFER * other
    some = max(0, room // kept - DOUBLE_BUFFER)
    limit = count_slabs(problem, longer)
    if template in PARTIAL_TEMPLATES:
        return min(some, limit), 0
    return min(some, limit - 1), limit if limit * kept <= room else 0


def count_slabs(problem: GemmProblem, plan: KernelPlan) -> int:
    """Most slabs that the template can keep (specification: plan.md, "Legality")."""
    slabs = compute_k_slabs(problem, plan)
    if plan.template is Template.A_PARTIAL:
        return plan.m_tiles(problem) * slabs - 1
    if plan.template is Template.B_PARTIAL:
        return plan.n_tiles(problem) * slabs - 1
    return slabs


def build_resident(
    problem: GemmProblem,
    spec: HardwareSpec,
    plan: KernelPlan,
    template: Template,
    step_k: int,
    slabs: int,
) -> KernelPlan:
    """The plan under a template that keeps `slabs` slabs; the rest by the operator's rules.

    Cores, tail split and L1 slots follow the full load's rules for the partial templates
    (host-tiling.md, section 8), the panels run like ASWT.
    """
    resident = replace(
        plan,
        template=template,
        step_k=step_k,
        resident_slabs=slabs,
        window_len=VENDOR_WINDOW_LEN,
        serpentine=True,
        l0c_output=L0cOutput.ON_THE_FLY,
    )
    if template in PANEL_TEMPLATES:
        return resident
    resident = replace(resident, m_tail_cnt=1, n_tail_cnt=1)
    cores = compute_used_core_num(problem, spec, resident)
    pieces = _count_tail_pieces(problem, spec, resident)
    is_a = template is Template.A_PARTIAL
    wide = replace(
        resident,
        used_core_num=cores,
        m_tail_cnt=1 if is_a else pieces,
        n_tail_cnt=pieces if is_a else 1,
        l1_buffer_num=FULL_LOAD_SLOTS,
    )
    if compute_l1_bytes(problem, wide) <= spec.buffers.l1_bytes:
        return wide
    return replace(wide, l1_buffer_num=DOUBLE_BUFFER)


def _count_tail_pieces(problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan) -> int:
    """Pieces of a block of the last round along the streamed side (host-tiling.md, section 8)."""
    cores = spec.cores.aic_num
    blocks = compute_block_count(problem, plan)
    rest = blocks % cores if blocks > cores else 0
    if rest == 0:
        return 1
    size = problem.dtype.size_bytes
    if plan.template is Template.A_PARTIAL:
        reach = compute_tail_reach(plan.base_n, not problem.trans_b, size)
    else:
        reach = compute_tail_reach(plan.base_m, problem.trans_a, size)
    return cores // rest if reach is None else min(cores // rest, reach)


def measure_residency(
    models: CaseModels, alternatives: PlanBatch | None
) -> ResidencyEffect | None:
    """What the selector's best resident plan saves in loads, and what it takes of L1."""
    if alternatives is None:
        return None
    case = models.case
    problem, spec = case.problem, case.spec
    best = models.choose(alternatives, alternatives.plan(0)).plan
    before, after = (emulate_plan(problem, spec, plan) for plan in (case.baseline, best))
    l1_bytes = spec.buffers.l1_bytes
    return ResidencyEffect(
        best=models.judge(best),
        control_load_bytes=before.load_bytes,
        best_load_bytes=after.load_bytes,
        control_hbm_bytes=before.hbm_read_bytes,
        best_hbm_bytes=after.hbm_read_bytes,
        control_l1_bytes=compute_l1_bytes(problem, case.baseline),
        best_l1_bytes=compute_l1_bytes(problem, best),
        a_over_l1=compute_resident_a_bytes(problem) / l1_bytes,
        b_over_l1=compute_resident_b_bytes(problem) / l1_bytes,
    )
