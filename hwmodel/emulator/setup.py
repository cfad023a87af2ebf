"""From problem, plan and constants to the arrays of a run (docs/emulator.md, section 2)."""

from dataclasses import dataclass

import numpy as np

from hwmodel.dtypes import DType, Format
from hwmodel.emulator import layout
from hwmodel.emulator.constants import TICKS_PER_CYCLE, EmulatorConstants, span
from hwmodel.emulator.geometry import Vector
from hwmodel.emulator.items import WorkItems, build_work
from hwmodel.emulator.layout import DEPTH
from hwmodel.emulator.stores import L0C_ELEMENT_BYTES
from hwmodel.errors import InputError
from hwmodel.integers import FRACTAL, align_up, ceil_div
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.vendor_tiling import compute_l2_cache_disable
from hwmodel.walk import Schedule, walk
from hwmodel.walk.params import A_RESIDENT, B_RESIDENT
from hwmodel.walk.schedule import AIV_PER_AIC, PITCH_UNIT

MAX_CORES = (layout.CHANNEL_MASK + 1) // 3
"""Cores whose channels have a number in a timer."""

_KEEP = {
    Template.A_FULL: layout.KEEP_A,
    Template.A_PARTIAL: layout.KEEP_A,
    Template.B_FULL: layout.KEEP_B,
    Template.B_PARTIAL: layout.KEEP_B,
    Template.A_PANEL: layout.KEEP_A_PANEL,
    Template.B_PANEL: layout.KEEP_B_PANEL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything a run starts from.

    Attributes:
        par: the vector `par` of `layout.py`.
        work: the items.
        resident_slabs: slabs of a panel, 0 in other templates.
        slots: K pieces of a stream-K tile, 0 without stream-K.
        reduced: rows and columns of the stream-K tiles.
        barrier_ticks: before the reduction.
        constants: the constants.
        pitch_unit: unit of a row in the stream-K workspace.
    """

    par: Vector
    work: WorkItems
    resident_slabs: int
    slots: int
    reduced: frozenset[tuple[int, int]]
    barrier_ticks: int
    constants: EmulatorConstants
    pitch_unit: int


def _check(plan: KernelPlan) -> None:
    """Reject what the engine has no room for.

    Raises:
        InputError: see the messages.
    """
    if plan.template not in CUBE_TEMPLATES:
        raise InputError(f"emulator: template {plan.template}: only cube kernels are emulated")
    limits = (
        ("used_core_num", plan.used_core_num, MAX_CORES),
        ("l1_buffer_num", plan.l1_buffer_num, layout.MAX_SLOTS),
        ("db_l0c", plan.db_l0c, 2),
        ("ub_db", plan.ub_db, 2),
        ("base_m", plan.base_m, None),
        ("base_n", plan.base_n, None),
        ("base_k", plan.base_k, None),
        ("step_k", plan.step_k, None),
    )
    for name, value, limit in limits:
        if value < 1 or (limit is not None and value > limit):
            allowed = "at least 1" if limit is None else f"in 1..{limit}"
            raise InputError(f"emulator: {name} = {value}: must be {allowed}")


def check_objects(problem: GemmProblem, objects: int, largest_bytes: int) -> None:
    """Reject a kernel whose L2 objects are too many or too large.

    Args:
        problem: the problem.
        objects: number of its objects.
        largest_bytes: no object is larger.

    Raises:
        InputError: see the messages.
    """
    where = f"emulator: {problem.label()}"
    if largest_bytes > layout.MAX_OBJECT_BYTES:
        raise InputError(f"{where}: a slab or tile of {largest_bytes} bytes; use a smaller tile")
    if objects > layout.MAX_OBJECTS:
        raise InputError(
            f"{where}: {objects} slabs and tiles, more than the {layout.MAX_OBJECTS} that are "
            "emulated; use larger tiles"
        )


def _largest_object_bytes(problem: GemmProblem, plan: KernelPlan) -> int:
    """An upper limit of the size of an L2 object."""
    depth = align_up(plan.k_l1(problem), FRACTAL) * problem.dtype.size_bytes
    rows, cols = align_up(plan.base_m, FRACTAL), align_up(plan.base_n, FRACTAL)
    return max(rows * depth, cols * depth, rows * cols * problem.out_dtype.size_bytes)


def select_cache_mode(problem: GemmProblem, plan: KernelPlan, l2_bytes: int) -> tuple[bool, bool]:
    """Whether A and B bypass L2 (specification: host-tiling.md, section 10)."""
    keeps_a, keeps_b = plan.template in A_RESIDENT, plan.template in B_RESIDENT
    m_l1 = align_up(problem.m, FRACTAL) if keeps_a else plan.base_m
    n_l1 = align_up(problem.n, FRACTAL) if keeps_b else plan.base_n
    k_l1 = plan.k_l1(problem)
    mode = compute_l2_cache_disable(
        problem,
        l2_bytes=l2_bytes,
        a_in_one_block=plan.base_n >= problem.n and plan.n_tail_cnt <= 1,
        b_in_one_block=plan.base_m >= problem.m and plan.m_tail_cnt <= 1,
        a_inner_tile=m_l1 if problem.trans_a else k_l1,
        b_inner_tile=k_l1 if problem.trans_b else n_l1,
    )
    return bool(mode & 1), bool(mode & 2)


def _footprint_bytes(problem: GemmProblem, plan: KernelPlan) -> int:
    """An upper limit of what L2 would hold if nothing were evicted."""
    k_l1 = plan.k_l1(problem)
    depth = ceil_div(problem.k, k_l1) * align_up(k_l1, FRACTAL) * problem.dtype.size_bytes
    # Blocks and pieces are objects of their own, hence twice; blocks may be padded to fractals.
    a_bytes = 2 * problem.m * depth
    b_bytes = 2 * plan.n_tiles(problem) * align_up(plan.base_n, FRACTAL) * depth
    return a_bytes + b_bytes + problem.c_total_bytes


def prepare(
    problem: GemmProblem,
    plan: KernelPlan,
    constants: EmulatorConstants,
    *,
    logs: bool,
    skipped: Vector | None = None,
) -> Run:
    """The arrays of a run; with all items where the run is to be logged.

    Args:
        problem: the problem.
        plan: the plan.
        constants: the chip's figures.
        logs: keep all items.
        skipped: whole blocks that each core leaves out at its start, None for none.

    Raises:
        InputError: the plan is none of a cube template, or cannot compute the problem.
    """
    _check(plan)
    schedule = walk(problem, plan)
    tracks = _footprint_bytes(problem, plan) > constants.l2_capacity_bytes
    work = build_work(
        problem, plan, schedule, has_c_objects=tracks, keeps_all=logs, skipped=skipped
    )
    check_objects(problem, work.objects, _largest_object_bytes(problem, plan))
    is_stream_k = plan.template is Template.STREAM_K
    is_fixpipe = plan.l0c_output is L0cOutput.FIXPIPE
    through_ub = is_fixpipe and not is_stream_k
    values = _problem_values(problem, plan) | _constant_values(problem, constants)
    values |= _resident_values(problem, plan)
    bypass_a, bypass_b = select_cache_mode(problem, plan, constants.l2_bytes)
    ub_slots = plan.ub_db if plan.template is Template.B_FULL else 1
    extra = constants.mixed_kernel_extra_ticks if through_ub else 0
    values |= {
        layout.UB_SLOTS: ub_slots if through_ub else 0,
        layout.FIRST_B: work.first_b,
        layout.BYPASS_A: bypass_a,
        layout.BYPASS_B: bypass_b,
        layout.TRACKS_SIZES: tracks,
        layout.CAPACITY: constants.l2_capacity_bytes,
        layout.LAUNCH: constants.launch_ticks + extra,
    }
    is_panel = values[layout.KEEP] in (layout.KEEP_A_PANEL, layout.KEEP_B_PANEL)
    return Run(
        par=np.array([int(values[index]) for index in range(layout.PAR_SIZE)], dtype=np.int64),
        work=work,
        resident_slabs=plan.resident_slabs if is_panel else 0,
        slots=plan.k_pieces(problem) if is_stream_k else 0,
        reduced=_list_reduced(schedule) if is_stream_k else frozenset(),
        barrier_ticks=constants.barrier_ticks,
        constants=constants,
        pitch_unit=PITCH_UNIT if is_fixpipe else 1,
    )


def _resident_values(problem: GemmProblem, plan: KernelPlan) -> dict[int, int]:
    """Entries of `par` on what stays in L1."""
    keep = _KEEP.get(plan.template, layout.KEEP_NOTHING)
    k_slabs = ceil_div(problem.k, plan.k_l1(problem))
    is_a = plan.template in A_RESIDENT
    slabs = (plan.m_tiles(problem) if is_a else plan.n_tiles(problem)) * k_slabs
    is_full = plan.template in (Template.A_FULL, Template.B_FULL)
    resident = slabs if is_full else plan.resident_slabs
    is_preloading = keep in (layout.KEEP_A, layout.KEEP_B)
    return {
        layout.KEEP: keep,
        layout.K_SLABS: k_slabs,
        layout.RESIDENT: resident,
        layout.PRELOADS: min(resident, slabs) if is_preloading else 0,
    }


def shared_problem_values(problem: GemmProblem, plan: KernelPlan) -> dict[int, int]:
    """Entries of `par` from problem and plan that the kernels of both kinds of cores have."""
    return {
        layout.CORES: plan.used_core_num,
        layout.ELEMENT_BYTES: problem.dtype.size_bytes,
        layout.C_ELEMENT_BYTES: problem.out_dtype.size_bytes,
        layout.BIAS_BYTES: problem.bias_bytes,
        layout.LEN_M: problem.m,
        layout.LEN_N: problem.n,
        layout.LEN_K: problem.k,
        layout.C0: problem.dtype.c0_elements,
        layout.K_INNER_A: not problem.trans_a,
        layout.K_INNER_B: problem.trans_b,
        layout.IS_NZ: problem.format_b is Format.NZ,
    }


def shared_constant_values(constants: EmulatorConstants) -> dict[int, int]:
    """Entries of `par` on memory and stores that the kernels of both kinds have."""
    return {
        layout.L2_LATENCY: constants.l2_latency_ticks,
        layout.HBM_LATENCY: constants.hbm_latency_ticks,
        layout.BUSY_LATENCY: 0 if constants.hbm_writes_alone else constants.busy_latency_ticks,
        layout.HBM_GRAINS: constants.hbm_grains,
        layout.L2_GRAINS: constants.l2_grains,
        layout.AIV_STORE_Q: constants.aiv_store_q,
        layout.WRITE_COST: constants.hbm_write_cost_f,
        layout.WRITES_ALONE: constants.hbm_writes_alone,
        layout.WRITE_SPEED: constants.write_back_speed,
        layout.WRITE_SLACK: constants.write_back_slack_grains,
        layout.LINE_WASTE: constants.line_waste_f,
        layout.ROW_TICKS: constants.row_ticks,
    }


def _problem_values(problem: GemmProblem, plan: KernelPlan) -> dict[int, int]:
    """Entries of `par` that come from problem and plan alone."""
    is_fp32 = problem.dtype is DType.FP32
    return shared_problem_values(problem, plan) | {
        layout.BASE_M: plan.base_m,
        layout.BASE_N: plan.base_n,
        layout.BASE_K: plan.base_k,
        layout.K_L1: plan.k_l1(problem),
        layout.WIDEN_A: 2 if is_fp32 and problem.trans_a else 1,
        layout.WIDEN_B: 2 if is_fp32 and not problem.trans_b else 1,
        layout.L1_SLOTS: plan.l1_buffer_num,
        layout.L0C_HALVES: plan.db_l0c,
        layout.IS_WIDE_C: problem.out_dtype is DType.FP32,
    }


def _constant_values(problem: GemmProblem, constants: EmulatorConstants) -> dict[int, int]:
    """Entries of `par` that are constants."""
    fractal_ticks = constants.fractal_ticks_16bit
    if problem.dtype is DType.FP32:
        is_hf32 = problem.is_hf32
        fractal_ticks = constants.fractal_ticks_hf32 if is_hf32 else constants.fractal_ticks_fp32
    return shared_constant_values(constants) | {
        layout.PORT_Q: constants.port_q,
        layout.FIXPIPE_Q: constants.fixpipe_q,
        layout.L0A_Q: constants.l1_to_l0a_q,
        layout.L0B_Q: constants.l1_to_l0b_q,
        layout.STRADDLE_TICKS_A: constants.straddle_ticks if problem.trans_a else 0,
        layout.STRADDLE_TICKS_B: 0 if problem.trans_b else constants.straddle_ticks,
        layout.PARTIAL_TICKS: constants.partial_ticks,
        layout.FRACTAL_TICKS: fractal_ticks,
        layout.TILE_TICKS: constants.tile_ticks,
    }


def compute_reduction_ticks(run: Run) -> int:
    """The longest reduction of a stream-K tile (docs/emulator.md, section 5)."""
    return max(_reduction_ticks(run, rows, cols) for rows, cols in run.reduced)


def _list_reduced(schedule: Schedule) -> frozenset[tuple[int, int]]:
    """Sizes of the last round's tiles, which are cut along K."""
    tiles = (schedule.tile(schedule.whole_slots + at) for at in range(schedule.params.rest))
    return frozenset((tile.blk_m, tile.blk_n) for tile in tiles)


def _reduction_ticks(run: Run, rows: int, cols: int) -> int:
    """Time of one tile's reduction: its largest band, from all slots."""
    constants, slots = run.constants, run.slots
    pitch = align_up(cols, run.pitch_unit)
    height = align_up(ceil_div(rows, AIV_PER_AIC * slots), ceil_div(PITCH_UNIT, pitch))
    elements = min(height, rows) * pitch
    size = elements * (L0C_ELEMENT_BYTES * slots + int(run.par[layout.C_ELEMENT_BYTES]))
    adds = slots * ceil_div(elements, constants.vector_lanes)
    return span(size, constants.aiv_reduce_q) + adds * TICKS_PER_CYCLE


def count_log_rows(run: Run) -> int:
    """Rows that a log of the run can need at most."""
    par = run.par
    depths = run.work.items[:, DEPTH].astype(np.int64)
    steps = -(-depths // par[layout.K_L1])
    l0_steps = steps * -(-par[layout.K_L1] // par[layout.BASE_K])
    preloads = par[layout.PRELOADS] * par[layout.CORES]
    return int(2 * steps.sum() + 2 * l0_steps.sum() + 2 * len(depths) + preloads)
