from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from baseline.decision import decide
from hwmodel.cost.breakdown import CostBreakdown
from hwmodel.derived import compute_base_k_unit, compute_used_core_num
from hwmodel.dtypes import DType
from hwmodel.footprint import compute_l1_bytes
from hwmodel.integers import align_up, ceil_div
from hwmodel.legality import check
from hwmodel.plan import KernelPlan, L0cOutput, Template, canonical_plan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import MAX_DIM, GemmProblem
from hwmodel.spec import HardwareSpec
from studies.space import (
    NO_CUBE_RESTRICTION,
    QUICK_RESTRICTION,
    build_space,
    tile_landscape,
)
from studies.vendor_columns import Tiles, choose_fixpipe, choose_tails, choose_ub_db
from studies.windows import ONLY_ORDER, WindowPair, select_quick_windows, select_windows
from tests.studies.space_cases import CASES, SMALL, SPEC, all_plans, any_baseline

TEMPLATES = [Template.ASWT, Template.A_FULL, Template.B_FULL]


def derive_plan(
    problem: GemmProblem, spec: HardwareSpec, template: Template, axes: tuple[int, ...]
) -> KernelPlan:
    """A point of the product with everything that follows from it."""
    base_m, base_n, db_l0c, base_k, step_k = axes
    tile = Tiles(template, np.array([base_m]), np.array([base_n]))
    (m_tail,), (n_tail,) = choose_tails(problem, spec, tile)
    (fixpipe,) = choose_fixpipe(problem, spec, tile)
    plan = KernelPlan(
        template=template,
        base_m=base_m,
        base_n=base_n,
        base_k=base_k,
        step_k=step_k,
        db_l0c=db_l0c,
        ub_db=int(choose_ub_db(spec, tile)[0]) if fixpipe else 1,
        l0c_output=L0cOutput.FIXPIPE if fixpipe else L0cOutput.ON_THE_FLY,
        window_len=1,
        m_tail_cnt=int(m_tail),
        n_tail_cnt=int(n_tail),
        single_core_k=problem.k,
        used_core_num=1,
    )
    plan = replace(plan, used_core_num=compute_used_core_num(problem, spec, plan))
    if template is Template.ASWT:
        return plan
    k_l1 = plan.k_l1(problem)
    streamed = base_n if template is Template.A_FULL else base_m
    two_more_slots = 2 * streamed * k_l1 * problem.dtype.size_bytes
    bias = problem.bias_bytes * (
        2 * base_n if template is Template.A_FULL else align_up(problem.n, 16)
    )
    fits = compute_l1_bytes(problem, plan) + two_more_slots + bias <= spec.buffers.l1_bytes
    return replace(plan, l1_buffer_num=4 if fits else 2)


def product_axes(
    problem: GemmProblem, spec: HardwareSpec, template: Template
) -> Iterator[tuple[int, ...]]:
    """base_m, base_n, db_l0c, base_k, step_k as far as the thinnest tile and step could go."""
    unit, size = compute_base_k_unit(problem), problem.dtype.size_bytes
    buffers = spec.buffers
    last_m = min(align_up(problem.m, 16), buffers.l0a_bytes // (2 * unit * size))
    last_n = min(align_up(problem.n, 16), buffers.l0b_bytes // (2 * unit * size))
    l0_bytes = max(buffers.l0a_bytes, buffers.l0b_bytes)
    last_k = min(align_up(problem.k, 16), l0_bytes // (2 * 16 * size))
    for base_k in range(unit, last_k + 1, unit):
        for step_k in range(1, ceil_div(align_up(problem.k, 16), base_k) + 1):
            thin = derive_plan(problem, spec, template, (16, 16, 1, base_k, step_k))
            if step_k > 1 and compute_l1_bytes(problem, thin) > buffers.l1_bytes:
                break
            for base_m, base_n, db_l0c in product(
                range(16, last_m + 1, 16), range(16, last_n + 1, 16), (1, 2)
            ):
                yield base_m, base_n, db_l0c, base_k, step_k


def brute_force(
    problem: GemmProblem, spec: HardwareSpec, template: Template
) -> tuple[set[KernelPlan], Counter[str]]:
    """Every point of the product, one by one through `check`; the illegal ones by first rule."""
    legal: set[KernelPlan] = set()
    rejected: Counter[str] = Counter()
    for axes in product_axes(problem, spec, template):
        plan = derive_plan(problem, spec, template, axes)
        windows: tuple[WindowPair, ...] = (ONLY_ORDER,)
        if template is Template.ASWT:
            m_tiles, n_tiles = plan.m_tiles(problem), plan.n_tiles(problem)
            windows = select_windows(m_tiles, n_tiles, plan.used_core_num)
        violations = check(problem, spec, plan)
        if violations:
            rejected[violations[0].rule] += len(windows)
            continue
        legal.update(
            replace(plan, window_len=window_len, serpentine=serpentine)
            for window_len, serpentine in windows
        )
    return legal, rejected


@pytest.mark.parametrize("problem", CASES, ids=GemmProblem.label)
@pytest.mark.parametrize("template", TEMPLATES)
def test_the_space_is_what_the_legality_check_accepts(
    problem: GemmProblem, template: Template
) -> None:
    space = build_space(problem, SMALL, any_baseline(problem, template))
    expected, rejected = brute_force(problem, SMALL, Template.ASWT)
    if template is not Template.ASWT:
        more, more_rejected = brute_force(problem, SMALL, template)
        expected |= more
        rejected += more_rejected
    plans = all_plans(space)
    assert len(plans) == len(set(plans))
    assert set(plans) == expected
    assert space.cartesian == len(space) + sum(space.rejected.values())
    assert space.rejected == rejected
    assert list(space.rejected.values()) == sorted(space.rejected.values(), reverse=True)


@pytest.mark.parametrize("problem", CASES, ids=GemmProblem.label)
@pytest.mark.parametrize("template", TEMPLATES)
def test_the_quick_space_is_the_vendors_choice_for_every_tile(
    problem: GemmProblem, template: Template
) -> None:
    full = build_space(problem, SMALL, any_baseline(problem, template))
    quick = build_space(problem, SMALL, any_baseline(problem, template), quick=True)
    assert quick.cartesian == len(quick) + sum(quick.rejected.values())
    assert quick.restriction == QUICK_RESTRICTION
    plans = all_plans(quick)
    assert set(plans) <= set(all_plans(full))
    chosen = {(p.template, p.base_m, p.base_n, p.base_k, p.step_k, p.db_l0c) for p in plans}
    assert len({axes[:3] for axes in chosen}) == len(chosen)
    for plan in plans:
        if plan.template is Template.ASWT:
            windows = select_quick_windows(plan.m_tiles(problem), plan.n_tiles(problem))
            assert (plan.window_len, plan.serpentine) in windows


@pytest.mark.parametrize("template", TEMPLATES)
def test_points_are_found_by_their_number_and_back(template: Template) -> None:
    problem = CASES[4]
    space = build_space(problem, SMALL, any_baseline(problem, template))
    batch = space.plans(np.arange(len(space), dtype=np.int64))
    for index in range(0, len(space), 7):
        plan = space.plan(index)
        assert plan == batch.plan(index)
        assert space.index_of(plan) == index
        assert space.index_of(replace(plan, window_len=99)) is None
        assert space.index_of(replace(plan, step_k=99)) is None
        assert space.index_of(replace(plan, m_tail_cnt=plan.m_tail_cnt + 1)) is None
        assert space.index_of(replace(plan, base_m=8)) is None


def test_size_of_the_specifications_example() -> None:
    problem = GemmProblem(m=4096, k=4096, n=4096)
    space = build_space(problem, SPEC, any_baseline(problem))
    cells = space.cells
    tiles = set(
        zip(cells.base_m.tolist(), cells.base_n.tolist(), cells.db_l0c.tolist(), strict=True)
    )
    assert len(tiles) == 1429
    assert int(cells.step_count.sum()) == 68863
    assert len(space) == 1377225


@pytest.mark.parametrize(
    ("m", "k", "n"),
    [
        (MAX_DIM, MAX_DIM, MAX_DIM),
        (1, 1, 1),
        (4099, 50257, 4099),
        (7919, 7919, 104729),
        (1, MAX_DIM, 1),
        (MAX_DIM, 1, 1),
        (1, 1, MAX_DIM),
    ],
)
@pytest.mark.parametrize("dtype", [DType.BF16, DType.FP32])
def test_ragged_and_huge_shapes_stay_bounded_and_legal(
    m: int, k: int, n: int, dtype: DType
) -> None:
    problem = GemmProblem(m=m, k=k, n=n, dtype=dtype, out_dtype=dtype)
    space = build_space(problem, SPEC, any_baseline(problem))
    assert 1 <= len(space) < 10**7
    assert space.cartesian == len(space) + sum(space.rejected.values())
    for index in np.random.default_rng(0).integers(0, len(space), 50):
        plan = space.plan(int(index))
        assert check(problem, SPEC, plan) == ()
        assert canonical_plan(problem, plan) == plan


@pytest.mark.parametrize(
    "problem",
    [
        GemmProblem(m=4096, k=4096, n=4096),
        GemmProblem(m=16, k=4096, n=20000),
        GemmProblem(m=28096, k=64, n=1792),
        GemmProblem(m=4096, k=128, n=1000),
        GemmProblem(m=1, k=4096, n=14336, trans_b=False),
        GemmProblem(m=4099, k=4099, n=4099, trans_a=True, bias_dtype=DType.FP32),
    ],
    ids=GemmProblem.label,
)
@pytest.mark.parametrize("quick", [False, True])
def test_the_vendors_plan_is_a_point_of_the_space(problem: GemmProblem, quick: bool) -> None:
    plan = canonical_plan(problem, decide(problem, SPEC).plan)
    assert build_space(problem, SPEC, plan, quick=quick).index_of(plan) is not None


def test_stream_k_is_compared_with_aswt_and_is_no_point_itself() -> None:
    problem = GemmProblem(m=64, k=8192, n=1280)
    plan = canonical_plan(problem, decide(problem, SPEC).plan)
    assert plan.template is Template.STREAM_K
    space = build_space(problem, SPEC, plan, quick=True)
    assert {plan.template for plan in all_plans(space)} == {Template.ASWT}
    assert space.index_of(plan) is None


def test_vector_kernels_have_an_empty_space_that_says_so() -> None:
    problem = GemmProblem(m=16, k=0, n=16)
    space = build_space(problem, SPEC, decide(problem, SPEC).plan)
    assert len(space) == space.cartesian == 0
    assert space.restriction == NO_CUBE_RESTRICTION
    assert len(space.plans(np.zeros(0, dtype=np.int64))) == 0
    assert space.index_of(decide(problem, SPEC).plan) is None


class AreaEvaluator:
    """Likes one tile; a larger window costs more."""

    name = "area"
    version = "1"

    def evaluate(
        self, problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan
    ) -> CostBreakdown:
        raise NotImplementedError

    def estimate_us(
        self, problem: GemmProblem, spec: HardwareSpec, plans: PlanBatch
    ) -> NDArray[np.float64]:
        distance = np.abs(plans.base_m - 128) + np.abs(plans.base_n - 64)
        return 1.0 + distance + plans.window_len


def test_landscape_has_the_best_time_of_each_tile() -> None:
    problem = GemmProblem(m=4096, k=256, n=4096)
    landscape = tile_landscape(problem, SPEC, AreaEvaluator())
    assert landscape.base_m.tolist() == list(range(16, 1025, 16))
    assert landscape.base_n.tolist() == list(range(16, 1025, 16))
    assert landscape.best_us.shape == (64, 64)
    assert landscape.best_us[7, 3] == 2.0
    assert landscape.best_us[0, 0] == 2.0 + 112 + 48
    assert np.isnan(landscape.best_us[63, 4])
    assert int(np.isfinite(landscape.best_us).sum()) == 912
