"""Chips, problems and plans that the tests of the spaces share."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np

from hwmodel.derived import compute_base_k_unit, compute_used_core_num
from hwmodel.dtypes import DType
from hwmodel.footprint import compute_l1_bytes
from hwmodel.integers import align_up, ceil_div
from hwmodel.legality import check
from hwmodel.plan import KernelPlan, L0cOutput, StreamKOrder, Template, canonical_window
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import load_hardware
from hwmodel.walk import walk
from studies.space import PlanSpace
from studies.space_axes import list_pieces
from studies.vendor_columns import Tiles, choose_tails, choose_ub_db
from studies.windows import select_windows

SPEC = load_hardware("ascend950pr-9589")
SMALL = replace(
    SPEC,
    cores=replace(SPEC.cores, aic_num=4, aiv_num=8, ai_core_cnt=4),
    buffers=replace(
        SPEC.buffers,
        l0a_bytes=4096,
        l0b_bytes=6144,
        l0c_bytes=16384,
        l1_bytes=20480,
        ub_bytes=8192,
        bias_table_bytes=256,
    ),
)
"""A chip so small that all points of its spaces can be listed and checked one by one."""

CASES = [
    GemmProblem(m=100, k=70, n=33),
    GemmProblem(m=1, k=300, n=97),
    GemmProblem(m=97, k=1, n=1),
    GemmProblem(m=61, k=59, n=67, trans_a=True, trans_b=False),
    GemmProblem(m=300, k=40, n=160, bias_dtype=DType.FP32),
    GemmProblem(m=40, k=100, n=60, dtype=DType.FP32, out_dtype=DType.FP32),
    GemmProblem(m=40, k=60, n=50, dtype=DType.FP32, out_dtype=DType.FP32, trans_b=False),
    GemmProblem(m=300, k=30, n=150, out_dtype=DType.FP32),
]

WINDOWED = {Template.ASWT, Template.STREAM_K, Template.A_PANEL, Template.B_PANEL}
PARTIAL = {Template.A_PARTIAL, Template.B_PARTIAL}
PANELS = {Template.A_PANEL, Template.B_PANEL}
FOUR_SLOTS = {Template.A_FULL, Template.B_FULL, *PARTIAL}

WalkKey = tuple[object, ...]


def any_baseline(problem: GemmProblem, template: Template = Template.ASWT) -> KernelPlan:
    return KernelPlan(
        template=template,
        base_m=16,
        base_n=16,
        base_k=16,
        step_k=1,
        single_core_k=problem.k,
        used_core_num=1,
    )


def all_plans(space: PlanSpace) -> list[KernelPlan]:
    batch = space.plans(np.arange(len(space), dtype=np.int64))
    return [batch.plan(row) for row in range(len(batch))]


def list_walks(problem: GemmProblem, spec: HardwareSpec, tile: KernelPlan) -> list[KernelPlan]:
    """The plan with every window, tail split, piece and order of the specification.

    Several may walk alike.
    """
    template = tile.template
    m_tiles, n_tiles = tile.m_tiles(problem), tile.n_tiles(problem)
    grid = (n_tiles, m_tiles) if template is Template.B_PANEL else (m_tiles, n_tiles)
    windows = [(1, True)]
    if template in WINDOWED:
        pairs = select_windows(*grid, tile.used_core_num)
        assert all(pair == canonical_window(*pair, *grid) for pair in pairs)
        windows = list(pairs)
    columns = Tiles(template, np.array([tile.base_m]), np.array([tile.base_n]))
    vendor_tails = tuple(int(count[0]) for count in choose_tails(problem, spec, columns))
    tails = {vendor_tails, (1, 1)}
    pieces: tuple[int, ...] = (problem.k,)
    orders = (StreamKOrder.VENDOR,)
    if template is Template.STREAM_K:
        tails, pieces, orders = (
            {(1, 1)},
            list_pieces(problem, spec.cores.aic_num),
            (*StreamKOrder,),
        )
    return [
        replace(
            tile,
            window_len=window_len,
            serpentine=serpentine,
            m_tail_cnt=m_tail,
            n_tail_cnt=n_tail,
            single_core_k=piece,
            sk_order=order,
        )
        for (window_len, serpentine), (m_tail, n_tail), piece, order in product(
            windows, sorted(tails, reverse=True), pieces, orders
        )
    ]


def tile_plans(
    problem: GemmProblem, spec: HardwareSpec, template: Template
) -> Iterator[KernelPlan]:
    """Every tile with db_l0c and output path, legal or not; one L0 step of 16 columns."""
    unit, size = compute_base_k_unit(problem), problem.dtype.size_bytes
    last_m = min(align_up(problem.m, 16), spec.buffers.l0a_bytes // (2 * unit * size))
    last_n = min(align_up(problem.n, 16), spec.buffers.l0b_bytes // (2 * unit * size))
    for base_m, base_n, db_l0c, output in product(
        range(16, last_m + 1, 16), range(16, last_n + 1, 16), (1, 2), L0cOutput
    ):
        columns = Tiles(template, np.array([base_m]), np.array([base_n]))
        buffers_ub = output is L0cOutput.FIXPIPE and template is not Template.STREAM_K
        plan = KernelPlan(
            template=template,
            base_m=base_m,
            base_n=base_n,
            base_k=unit,
            step_k=1,
            db_l0c=db_l0c,
            l0c_output=output,
            ub_db=int(choose_ub_db(spec, columns)[0]) if buffers_ub else 1,
            single_core_k=problem.k,
            used_core_num=1,
        )
        yield replace(plan, used_core_num=compute_used_core_num(problem, spec, plan))


def list_depths(
    problem: GemmProblem, spec: HardwareSpec, tile: KernelPlan
) -> Iterator[KernelPlan]:
    """The tile with every base_k, step_k and resident_slabs that L1 could hold, and a few more."""
    unit, size = compute_base_k_unit(problem), problem.dtype.size_bytes
    k16 = align_up(problem.k, 16)
    most = max(spec.buffers.l0a_bytes, spec.buffers.l0b_bytes) // (32 * size)
    for base_k in range(unit, min(k16, most) + 1, unit):
        for step_k in range(1, ceil_div(k16, base_k) + 1):
            plan = replace(tile, base_k=base_k, step_k=step_k)
            if tile.template in PARTIAL | PANELS:
                slab = 16 * plan.k_l1(problem) * size
                for slabs in range(spec.buffers.l1_bytes // slab + 2):
                    yield choose_slots(problem, spec, replace(plan, resident_slabs=slabs))
            else:
                yield choose_slots(problem, spec, plan)


def choose_slots(problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan) -> KernelPlan:
    """Four L1 slots under a full or partial load where they and twice the bias fit."""
    if plan.template not in FOUR_SLOTS:
        return plan
    bias = 2 * plan.base_n * problem.bias_bytes
    if plan.template is Template.B_FULL:
        bias = align_up(problem.n, 16) * problem.bias_bytes
    four = replace(plan, l1_buffer_num=4)
    fits = compute_l1_bytes(problem, four) + bias <= spec.buffers.l1_bytes
    return four if fits else plan


def walk_key(problem: GemmProblem) -> Callable[[KernelPlan], WalkKey]:
    """What the cores do under a plan, and in which order; plans of equal walks are equal here."""

    @cache
    def key(plan: KernelPlan) -> WalkKey:
        schedule = walk(problem, plan)
        items = tuple(tuple(schedule.items(core)) for core in range(schedule.block_num))
        records = tuple(tuple(schedule.vector_records(aiv)) for aiv in range(2 * len(items)))
        return items, records

    def of_plan(plan: KernelPlan) -> WalkKey:
        return key(replace(plan, base_k=16, step_k=1, db_l0c=1, resident_slabs=0, l1_buffer_num=2))

    return of_plan


def is_legal(problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan) -> bool:
    return check(problem, spec, plan) == ()
