"""Random small kernels and chips, legal or nearly so, in which rare things happen often.

Chips have a few cores, an L2 of a few slabs, rates that make every pipe the slowest one now and
then, latencies of 0 (ties) or long ones.
"""

from enum import StrEnum
from random import Random
from typing import NamedTuple

from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.emulator.constants import (
    EmulatorConstants,
    rate_q,
    resource_grains,
    share_f,
    ticks,
)
from hwmodel.emulator.result import EmulationResult
from hwmodel.errors import InputError
from hwmodel.integers import align_up, ceil_div
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, L0cOutput, StreamKOrder, Template
from hwmodel.problem import GemmProblem
from hwmodel.walk import walk
from hwmodel.walk.schedule import Schedule

TEMPLATES = tuple(sorted(CUBE_TEMPLATES))
FULL_OR_PARTIAL = {Template.A_FULL, Template.B_FULL, Template.A_PARTIAL, Template.B_PARTIAL}
PARTIAL = {Template.A_PARTIAL, Template.B_PARTIAL}
PANEL = {Template.A_PANEL, Template.B_PANEL}
FIXPIPE = {Template.ASWT, Template.B_FULL, Template.STREAM_K, Template.BASE}
MAX_CORES = 5
WRITES_ALONE_SHARE = 0.3
"""Chips on which writes do not share the HBM with reads."""
MAX_L1_STEPS = 400


class Wish(StrEnum):
    """What a random case should show."""

    NOTHING = "nothing"
    PIECES = "pieces"
    SLICES = "slices"


class Case(NamedTuple):
    problem: GemmProblem
    plan: KernelPlan
    constants: EmulatorConstants


def make_case(template: Template, seed: int) -> Case:
    """Case `seed` of a template; the same one on every machine.

    Two kinds of rare things are sought on purpose: blocks of the last round cut into pieces, and
    K cut into fp32 slices.
    """
    random = Random(f"{template}-{seed}")
    wish = random.choice((Wish.NOTHING, Wish.NOTHING, Wish.PIECES, Wish.SLICES))
    if template is Template.STREAM_K and wish is Wish.PIECES:
        wish = Wish.NOTHING
    while True:
        problem = _make_problem(random, template, wish)
        plan = _make_plan(random, template, problem)
        if wish is Wish.PIECES and plan.m_tail_cnt * plan.n_tail_cnt == 1:
            continue
        try:
            schedule = walk(problem, plan)
        except InputError:
            continue
        if _count_l1_steps(problem, plan, schedule) <= MAX_L1_STEPS:
            return Case(problem, plan, make_constants(random, problem))


def _count_l1_steps(problem: GemmProblem, plan: KernelPlan, schedule: Schedule) -> int:
    if schedule.count > MAX_L1_STEPS:
        return schedule.count
    k_l1 = plan.k_l1(problem)
    return sum(
        ceil_div(item.blk_k, k_l1)
        for core in range(plan.used_core_num)
        for item in schedule.items(core)
    )


def _make_problem(random: Random, template: Template, wish: Wish) -> GemmProblem:
    dtype = random.choice((DType.BF16, DType.FP16, DType.FP32))
    k = random.choice((random.randint(1, 400), 64 * random.randint(1, 6)))
    if wish is Wish.PIECES:
        k = random.randint(1, 100)
    elif wish is Wish.SLICES and template is Template.BASE and random.random() < 0.3:
        k = random.randint(8000, 20000)
    elif wish is Wish.SLICES:
        dtype = DType.FP32
        k = random.randint(2000, 6000 if template is Template.STREAM_K else 3500)
    aligned = random.random() < 0.4
    m, n = (
        64 * random.randint(1, 3) if aligned else random.randint(1, random.choice((40, 200)))
        for _ in range(2)
    )
    out_dtype = random.choice((dtype, DType.FP32))
    return GemmProblem(
        m=m,
        n=n,
        k=k,
        trans_a=random.random() < 0.4,
        trans_b=random.random() < 0.6,
        dtype=dtype,
        out_dtype=out_dtype,
        bias_dtype=random.choice((None, None, DType.FP32, dtype)),
        format_b=random.choice((*[Format.ND] * 3, Format.NZ)),
        op_impl_mode=random.choice((*[OpImplMode.DEFAULT] * 3, OpImplMode.HF32)),
    )


def _make_plan(random: Random, template: Template, problem: GemmProblem) -> KernelPlan:
    m_limit, n_limit = align_up(problem.m, 16), align_up(problem.n, 16)
    base_m = min(m_limit, 16 * random.randint(1, 5))
    base_n = min(n_limit, 16 * random.randint(1, 5))
    unit = 8 if random.random() < 0.1 else 16
    base_k = unit * random.randint(1, 8)
    step_k = random.randint(1, 5)
    if problem.k > 900:
        base_k = 16 * random.randint(8, 16)
        step_k = random.choice((1, 2, 4, 8))
    single_core_k = problem.k
    sk_order = StreamKOrder.VENDOR
    if template is Template.STREAM_K:
        single_core_k = random.randint(max(1, problem.k // 4), max(1, problem.k - 1))
        if random.random() < 0.5:
            single_core_k = align_up(single_core_k, 16)
        sk_order = random.choice(tuple(StreamKOrder))
    plan = KernelPlan(
        template=template,
        base_m=base_m,
        base_n=base_n,
        base_k=base_k,
        step_k=step_k,
        l1_buffer_num=random.choice((2, 4)) if template in FULL_OR_PARTIAL else 2,
        resident_slabs=0,
        db_l0c=1 if template is Template.STREAM_K else random.randint(1, 2),
        ub_db=random.randint(1, 2),
        l0c_output=(
            random.choice((L0cOutput.ON_THE_FLY, L0cOutput.ON_THE_FLY, L0cOutput.FIXPIPE))
            if template in FIXPIPE
            else L0cOutput.ON_THE_FLY
        ),
        window_len=random.randint(1, 5),
        serpentine=random.random() < 0.7,
        single_core_k=single_core_k,
        sk_order=sk_order,
        used_core_num=random.randint(1, MAX_CORES),
    )
    return _add_residents_and_tails(random, problem, plan)


def _add_residents_and_tails(random: Random, problem: GemmProblem, plan: KernelPlan) -> KernelPlan:
    fields = {name: getattr(plan, name) for name in KernelPlan.__dataclass_fields__}
    k_slabs = ceil_div(problem.k, plan.k_l1(problem))
    if plan.template in PARTIAL:
        is_a = plan.template is Template.A_PARTIAL
        blocks = plan.m_tiles(problem) if is_a else plan.n_tiles(problem)
        fields["resident_slabs"] = random.randint(1, blocks * k_slabs)
    elif plan.template in PANEL:
        fields["resident_slabs"] = random.randint(1, k_slabs)
    rest = _count_blocks(problem, plan) % plan.used_core_num
    if plan.template is not Template.STREAM_K and rest:
        counts = [random.randint(1, MAX_CORES), random.randint(1, MAX_CORES)]
        if plan.template in {Template.A_FULL, Template.A_PARTIAL}:
            counts[0] = 1
        if plan.template in {Template.B_FULL, Template.B_PARTIAL}:
            counts[1] = 1
        if rest * counts[0] * counts[1] <= plan.used_core_num:
            fields["m_tail_cnt"], fields["n_tail_cnt"] = counts
    return KernelPlan(**fields)


def _count_blocks(problem: GemmProblem, plan: KernelPlan) -> int:
    if plan.template in {Template.A_FULL, Template.A_PARTIAL}:
        return plan.n_tiles(problem)
    if plan.template in {Template.B_FULL, Template.B_PARTIAL}:
        return plan.m_tiles(problem)
    return plan.m_tiles(problem) * plan.n_tiles(problem)


def make_constants(random: Random, problem: GemmProblem) -> EmulatorConstants:
    """A chip on which this problem meets every limit now and then."""

    def rate(low: float, high: float) -> float:
        return random.choice((low, high, random.uniform(low, high)))

    def fixed(high: float) -> int:
        return random.choice((0, 0, ticks(high), random.randint(0, ticks(high))))

    total = problem.a_total_bytes + problem.b_total_bytes + problem.c_total_bytes
    return EmulatorConstants(
        launch_ticks=fixed(500),
        l2_latency_ticks=fixed(100),
        hbm_latency_ticks=fixed(400),
        busy_latency_ticks=fixed(600),
        port_q=rate_q(rate(2, 400)),
        hbm_grains=resource_grains(rate(1, 300)),
        l2_grains=resource_grains(rate(4, 600)),
        fixpipe_q=rate_q(rate(2, 300)),
        l1_to_l0a_q=rate_q(rate(8, 600)),
        l1_to_l0b_q=rate_q(rate(8, 600)),
        hbm_write_cost_f=share_f(random.choice((1.0, 1.07, random.uniform(0.5, 100), 60))),
        write_back_shares=random.choice((1, 32, random.randint(1, 80))),
        write_back_slack_bytes=random.choice((0, 131072, random.randint(0, total))),
        line_waste_f=share_f(random.choice((0.0, 1.0, random.uniform(0, 1.1)))),
        row_ticks=fixed(8),
        straddle_ticks=fixed(12),
        partial_ticks=fixed(20),
        fractal_ticks_16bit=random.choice((1, 256, random.randint(1, 1000))),
        fractal_ticks_fp32=random.randint(1, 4096),
        fractal_ticks_hf32=random.randint(1, 512),
        tile_ticks=fixed(200),
        barrier_ticks=fixed(1000),
        aiv_reduce_q=rate_q(rate(2, 60)),
        aiv_store_q=rate_q(rate(2, 60)),
        aiv_hbm_q=rate_q(16),
        aiv_l2_q=rate_q(41),
        vector_lanes=random.choice((1, 32, 64)),
        mixed_kernel_extra_ticks=fixed(300),
        l2_bytes=random.choice((1, 1 << 30, total)),
        l2_capacity_bytes=random.choice(
            (0, 1 << 30, total, *(int(random.uniform(low, 1.0) * total) for low in (0, 0, 0.3)))
        ),
        hbm_writes_alone=int(random.random() < WRITES_ALONE_SHARE),
    )


def find_differences(expected: EmulationResult, found: EmulationResult) -> tuple[str, ...]:
    """Names of the fields that differ."""
    fields = tuple(EmulationResult.__dataclass_fields__)
    return tuple(name for name in fields if getattr(expected, name) != getattr(found, name))
