"""Legality of a plan: which limits of the hardware or of the kernel's template it breaks.

One function per rule, in the order in which a point that breaks several is counted: shape of the
tile, L0C, bias table, fixpipe output, L0A and L0B, L1, the template's own conditions, cores,
tail split. (Specification: plan.md, "Legality".)
"""

from collections.abc import Callable

from hwmodel.derived import (
    A_BLOCK_TEMPLATES,
    B_BLOCK_TEMPLATES,
    compute_base_k_unit,
    compute_block_count,
    compute_tail_reach,
    compute_used_core_num,
    compute_vector_tile,
    runs_fp32_split_k,
)
from hwmodel.footprint import (
    DOUBLE_BUFFER,
    L0C_ELEMENT_BYTES,
    compute_k_slabs,
    compute_l0a_bytes,
    compute_l0b_bytes,
    compute_l0c_bytes,
    compute_l1_bytes,
    compute_ub_bytes,
)
from hwmodel.integers import FRACTAL, align_up
from hwmodel.plan import KernelPlan, L0cOutput, StreamKOrder, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.violation import (
    RULE_SENTENCES,
    Violation,
    require_at_least,
    require_at_most,
    require_equal,
    require_multiple,
)

__all__ = ["RULE_SENTENCES", "Violation", "check"]

FULL_LOAD_SLOTS = 4
"""L1 slots of the streamed operand under a full or partial load, where they fit (host-tiling.md,
section 8)."""
WORKSPACE_SLOT_ELEMENTS = 256 * 256
"""fp32 elements of one core's stream-K workspace slot (specification: swizzle.md, section 2)."""
WORKSPACE_PITCH = 32
"""Elements to which the fixpipe output aligns a workspace row (specification: swizzle.md,
section 2)."""
MAX_STREAM_K_LEVEL = 1
"""Highest determinism level under which stream-K may run (specification: host-tiling.md, section
2)."""
TO_MUL_INPUT_TILES = 5
"""Tiles of base_k x base_mn fp32 units in UB, inputs double-buffered (specification: host-
tiling.md, section 9)."""
UB_UNIT_BYTES = 4
"""TO_MUL counts UB in fp32 units."""

_RESIDENT_TEMPLATES = frozenset(
    {Template.A_PARTIAL, Template.B_PARTIAL, Template.A_PANEL, Template.B_PANEL}
)
_FIXPIPE_TEMPLATES = frozenset({Template.ASWT, Template.B_FULL, Template.STREAM_K, Template.BASE})


Rule = Callable[[GemmProblem, HardwareSpec, KernelPlan], Violation | None]


def check(problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan) -> tuple[Violation, ...]:
    """All rules that `plan` breaks, in the order of `RULE_SENTENCES`; empty for a legal plan.

    K = 0 under a template that multiplies and a field below 1 are reported alone: nothing else
    can be computed then.
    """
    if problem.k == 0 and plan.template is not Template.K_EQUAL_ZERO:
        return (Violation(rule="k_nonzero", used=0, limit=1),)
    invalid = _check_positive_fields(plan)
    if invalid is not None:
        return (invalid,)
    found = (rule(problem, spec, plan) for rule in _RULES[plan.template])
    return tuple(violation for violation in found if violation is not None)


def _check_positive_fields(plan: KernelPlan) -> Violation | None:
    fields = (
        plan.base_m,
        plan.base_n,
        plan.base_k,
        plan.step_k,
        plan.db_l0c,
        plan.ub_db,
        plan.window_len,
        plan.m_tail_cnt,
        plan.n_tail_cnt,
        plan.used_core_num,
        1 if plan.template is Template.K_EQUAL_ZERO else plan.single_core_k,
    )
    return require_at_least("positive_fields", min(fields), 1)


def _check_base_m_multiple(_: GemmProblem, __: HardwareSpec, plan: KernelPlan) -> Violation | None:
    return require_multiple("base_m_multiple", plan.base_m, FRACTAL)


def _check_base_n_multiple(_: GemmProblem, __: HardwareSpec, plan: KernelPlan) -> Violation | None:
    return require_multiple("base_n_multiple", plan.base_n, FRACTAL)


def _check_base_m_limit(
    problem: GemmProblem, _: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    return require_at_most("base_m_limit", plan.base_m, align_up(problem.m, FRACTAL))


def _check_base_n_limit(
    problem: GemmProblem, _: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    return require_at_most("base_n_limit", plan.base_n, align_up(problem.n, FRACTAL))


def _check_base_k_multiple(
    problem: GemmProblem, _: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    return require_multiple("base_k_multiple", plan.base_k, compute_base_k_unit(problem))


def _check_l1_slots(_: GemmProblem, __: HardwareSpec, plan: KernelPlan) -> Violation | None:
    known = plan.l1_buffer_num in {DOUBLE_BUFFER, FULL_LOAD_SLOTS}
    return None if known else require_equal("l1_slots", plan.l1_buffer_num, DOUBLE_BUFFER)


def _check_l0c_tiles(_: GemmProblem, __: HardwareSpec, plan: KernelPlan) -> Violation | None:
    return require_at_most("l0c_tiles", plan.db_l0c, DOUBLE_BUFFER)


def _check_ub_tiles(_: GemmProblem, __: HardwareSpec, plan: KernelPlan) -> Violation | None:
    return require_at_most("ub_tiles", plan.ub_db, DOUBLE_BUFFER)


def _check_unused_fields(
    problem: GemmProblem, _: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    template = plan.template
    deviations = (
        template not in A_BLOCK_TEMPLATES | B_BLOCK_TEMPLATES
        and plan.l1_buffer_num != DOUBLE_BUFFER,
        template not in _RESIDENT_TEMPLATES and plan.resident_slabs != 0,
        template in {*A_BLOCK_TEMPLATES, Template.STREAM_K} and plan.m_tail_cnt != 1,
        template in {*B_BLOCK_TEMPLATES, Template.STREAM_K} and plan.n_tail_cnt != 1,
        template is not Template.STREAM_K and plan.single_core_k != problem.k,
        template is not Template.STREAM_K and plan.sk_order is not StreamKOrder.VENDOR,
    )
    return require_at_most("unused_fields", sum(deviations), 0)


def _check_l0c(_: GemmProblem, spec: HardwareSpec, plan: KernelPlan) -> Violation | None:
    return require_at_most("l0c_capacity", compute_l0c_bytes(plan), spec.buffers.l0c_bytes)


def _check_bias_table(
    problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    used = plan.base_n * L0C_ELEMENT_BYTES if problem.bias_bytes else 0
    return require_at_most("bias_table", used, spec.buffers.bias_table_bytes // 2)


def _uses_fixpipe(plan: KernelPlan) -> bool:
    return plan.l0c_output is L0cOutput.FIXPIPE


def _check_fixpipe_template(
    _: GemmProblem, __: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    refused = _uses_fixpipe(plan) and plan.template not in _FIXPIPE_TEMPLATES
    return require_at_most("fixpipe_template", int(refused), 0)


def _check_fixpipe_cores(_: GemmProblem, spec: HardwareSpec, plan: KernelPlan) -> Violation | None:
    if not _uses_fixpipe(plan):
        return None
    return require_equal("fixpipe_cores", spec.cores.aiv_num, 2 * spec.cores.aic_num)


def _check_fixpipe_fp32_split_k(
    problem: GemmProblem, _: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    if not _uses_fixpipe(plan) or plan.template is Template.STREAM_K:
        return None
    return require_at_most("fixpipe_fp32_split_k", int(runs_fp32_split_k(problem, plan)), 0)


def _check_ub(problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan) -> Violation | None:
    if not _uses_fixpipe(plan) or plan.template is Template.STREAM_K:
        return None
    return require_at_most("ub_capacity", compute_ub_bytes(problem, plan), spec.buffers.ub_bytes)


def _check_l0a(problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan) -> Violation | None:
    return require_at_most(
        "l0a_capacity", compute_l0a_bytes(problem, plan), spec.buffers.l0a_bytes
    )


def _check_l0b(problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan) -> Violation | None:
    return require_at_most(
        "l0b_capacity", compute_l0b_bytes(problem, plan), spec.buffers.l0b_bytes
    )


def _check_l1(problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan) -> Violation | None:
    return require_at_most("l1_capacity", compute_l1_bytes(problem, plan), spec.buffers.l1_bytes)


def _check_resident_slabs(
    problem: GemmProblem, _: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    limit = compute_k_slabs(problem, plan)
    if plan.template is Template.A_PARTIAL:
        limit = plan.m_tiles(problem) * limit - 1
    elif plan.template is Template.B_PARTIAL:
        limit = plan.n_tiles(problem) * limit - 1
    if plan.resident_slabs < 1:
        return Violation(rule="resident_slabs", used=plan.resident_slabs, limit=1)
    return require_at_most("resident_slabs", plan.resident_slabs, limit)


def _check_resident_fp32_split_k(
    problem: GemmProblem, _: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    return require_at_most("resident_fp32_split_k", int(runs_fp32_split_k(problem, plan)), 0)


def _stream_k_rest(problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan) -> int:
    return compute_block_count(problem, plan) % spec.cores.aic_num


def _check_stream_k_rest(
    problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    return require_at_least("stream_k_rest", _stream_k_rest(problem, spec, plan), 1)


def _check_stream_k_pieces(
    problem: GemmProblem, _: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    return require_at_least("stream_k_pieces", plan.k_pieces(problem), 2)


def _check_stream_k_cores(
    problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    used = _stream_k_rest(problem, spec, plan) * plan.k_pieces(problem)
    return require_at_most("stream_k_cores", used, spec.cores.aic_num)


def _check_stream_k_workspace(
    _: GemmProblem, __: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    used = align_up(plan.base_m, FRACTAL) * align_up(plan.base_n, WORKSPACE_PITCH)
    return require_at_most("stream_k_workspace", used, WORKSPACE_SLOT_ELEMENTS)


def _check_stream_k_single_l0c(
    _: GemmProblem, __: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    return require_at_most("stream_k_single_l0c", plan.db_l0c, 1)


def _check_stream_k_determinism(
    problem: GemmProblem, _: HardwareSpec, __: KernelPlan
) -> Violation | None:
    return require_at_most("stream_k_determinism", problem.deterministic_level, MAX_STREAM_K_LEVEL)


def _check_stream_k_vector_cores(
    _: GemmProblem, spec: HardwareSpec, __: KernelPlan
) -> Violation | None:
    return require_equal("stream_k_vector_cores", spec.cores.aiv_num, 2 * spec.cores.aic_num)


def _check_vector_dims(problem: GemmProblem, _: HardwareSpec, __: KernelPlan) -> Violation | None:
    return require_at_most("vector_dims", min(problem.m, problem.n), 1)


def _check_vector_ub(
    problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    per_output = TO_MUL_INPUT_TILES * plan.base_k + 1 + int(problem.bias_bytes > 0)
    used = compute_vector_tile(problem, plan) * per_output
    return require_at_most("vector_ub", used, spec.buffers.ub_bytes // UB_UNIT_BYTES)


def _check_k_equal_zero(problem: GemmProblem, _: HardwareSpec, __: KernelPlan) -> Violation | None:
    return require_at_most("k_equal_zero", problem.k, 0)


def _check_used_core_num(
    problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    expected = compute_used_core_num(problem, spec, plan)
    return require_equal("used_core_num", plan.used_core_num, expected)


def _check_tail_product(
    problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan
) -> Violation | None:
    blocks = compute_block_count(problem, plan)
    cores = compute_used_core_num(problem, spec, plan)
    rest = blocks % cores
    limit = cores // rest if rest else 1
    return require_at_most("tail_product", plan.m_tail_cnt * plan.n_tail_cnt, limit)


def _check_tail_m(problem: GemmProblem, _: HardwareSpec, plan: KernelPlan) -> Violation | None:
    reach = compute_tail_reach(plan.base_m, problem.trans_a, problem.dtype.size_bytes)
    return None if reach is None else require_at_most("tail_m_reachable", plan.m_tail_cnt, reach)


def _check_tail_n(problem: GemmProblem, _: HardwareSpec, plan: KernelPlan) -> Violation | None:
    reach = compute_tail_reach(plan.base_n, not problem.trans_b, problem.dtype.size_bytes)
    return None if reach is None else require_at_most("tail_n_reachable", plan.n_tail_cnt, reach)


_COMMON: tuple[Rule, ...] = (
    _check_base_m_multiple,
    _check_base_n_multiple,
    _check_base_m_limit,
    _check_base_n_limit,
    _check_base_k_multiple,
    _check_l1_slots,
    _check_l0c_tiles,
    _check_ub_tiles,
    _check_unused_fields,
    _check_l0c,
    _check_bias_table,
    _check_fixpipe_template,
    _check_fixpipe_cores,
    _check_fixpipe_fp32_split_k,
    _check_ub,
    _check_l0a,
    _check_l0b,
    _check_l1,
)
_TAILS: tuple[Rule, ...] = (_check_tail_product, _check_tail_m, _check_tail_n)
_CUBE: tuple[Rule, ...] = (*_COMMON, _check_used_core_num, *_TAILS)
_RESIDENT: tuple[Rule, ...] = (
    *_COMMON,
    _check_resident_slabs,
    _check_resident_fp32_split_k,
    _check_used_core_num,
    *_TAILS,
)
_STREAM_K: tuple[Rule, ...] = (
    *_COMMON,
    _check_stream_k_rest,
    _check_stream_k_pieces,
    _check_stream_k_cores,
    _check_stream_k_workspace,
    _check_stream_k_single_l0c,
    _check_stream_k_determinism,
    _check_stream_k_vector_cores,
    _check_used_core_num,
)
_RULES: dict[Template, tuple[Rule, ...]] = {
    Template.ASWT: _CUBE,
    Template.BASE: _CUBE,
    Template.A_FULL: _CUBE,
    Template.B_FULL: _CUBE,
    Template.A_PARTIAL: _RESIDENT,
    Template.B_PARTIAL: _RESIDENT,
    Template.A_PANEL: _RESIDENT,
    Template.B_PANEL: _RESIDENT,
    Template.STREAM_K: _STREAM_K,
    Template.VECTOR: (_check_vector_dims, _check_vector_ub, _check_used_core_num),
    Template.TO_MULTI_MUL: (_check_used_core_num,),
    Template.K_EQUAL_ZERO: (_check_k_equal_zero,),
}
"""The rules of each template, in the order of `RULE_SENTENCES`."""
