"""The whole space: exactly the legal points of every template, each walk once."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from baseline.decision import decide
from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.footprint import compute_k_slabs
from hwmodel.legality import check
from hwmodel.plan import KernelPlan, L0cOutput, StreamKOrder, Template, canonical_plan
from hwmodel.plan_batch import TEMPLATE_CODES
from hwmodel.problem import MAX_DIM, GemmProblem
from hwmodel.spec import HardwareSpec
from studies.space import PlanSpace, build_space
from studies.space_axes import (
    ALL,
    ALL_TEMPLATES,
    NO_TEMPLATE_RESTRICTION,
    QUICK_ALL_RESTRICTION,
    QUICK_TEMPLATES,
    VECTOR_ONLY_RESTRICTION,
    choose_axes,
    list_even_pieces,
)
from studies.space_cap import CAPS
from tests.studies.space_cases import (
    SMALL,
    SPEC,
    WalkKey,
    all_plans,
    any_baseline,
    is_legal,
    list_depths,
    list_walks,
    tile_plans,
    walk_key,
)

CASES = [
    GemmProblem(m=60, k=40, n=33),
    GemmProblem(m=1, k=100, n=97),
    GemmProblem(m=70, k=1, n=1),
    GemmProblem(m=61, k=35, n=40, trans_a=True, trans_b=False),
    GemmProblem(m=80, k=40, n=48, bias_dtype=DType.FP32),
    GemmProblem(m=40, k=36, n=60, dtype=DType.FP32, out_dtype=DType.FP32),
    GemmProblem(m=80, k=70, n=20, out_dtype=DType.FP32, format_b=Format.NZ),
]
CUBE_TEMPLATES = [template for template in ALL_TEMPLATES if template is not Template.VECTOR]
STREAM_K_RULES = {"stream_k_pieces", "stream_k_cores"}
"""Rules on fields of the walk: the others can be decided before the walks are listed."""
ODD_CHIP = replace(SMALL, cores=replace(SMALL.cores, aiv_num=4))
"""No two vector cores to a cube core: neither the fixpipe output nor stream-K run."""


def whole_space(
    problem: GemmProblem, spec: HardwareSpec = SPEC, *, max_points: int | None = None
) -> PlanSpace:
    return build_space(problem, spec, any_baseline(problem), name=ALL, max_points=max_points)


def group_legal(
    problem: GemmProblem, spec: HardwareSpec, template: Template
) -> dict[WalkKey, list[KernelPlan]]:
    """Every point of the product of the fields that `check` accepts, those of one walk together.

    The path out of L0C is a difference of its own but in stream-K, where all that it changes are
    the vector cores' records.
    """
    classes: dict[WalkKey, list[KernelPlan]] = defaultdict(list)
    key_of = walk_key(problem)
    for tile in tile_plans(problem, spec, template):
        walks: list[tuple[KernelPlan, WalkKey]] = []
        for deep in list_depths(problem, spec, tile):
            rules = {violation.rule for violation in check(problem, spec, deep)}
            if rules - STREAM_K_RULES:
                continue
            if not walks:
                walks = [
                    (plan, key_of(plan))
                    for plan in list_walks(problem, spec, tile)
                    if is_legal(problem, spec, replace(plan, resident_slabs=deep.resident_slabs))
                ]
            output = None if template is Template.STREAM_K else deep.l0c_output
            depth = (deep.base_k, deep.step_k, deep.db_l0c, deep.resident_slabs, output)
            for walked, key in walks:
                plan = replace(
                    walked,
                    base_k=deep.base_k,
                    step_k=deep.step_k,
                    l1_buffer_num=deep.l1_buffer_num,
                    resident_slabs=deep.resident_slabs,
                )
                classes[deep.base_m, deep.base_n, *depth, *key].append(plan)
    return classes


@pytest.mark.parametrize("problem", CASES, ids=GemmProblem.label)
def test_the_space_holds_every_legal_walk_once(problem: GemmProblem) -> None:
    space = whole_space(problem, SMALL)
    assert space.cartesian == len(space) + sum(space.rejected.values())
    assert list(space.rejected.values()) == sorted(space.rejected.values(), reverse=True)
    plans = all_plans(space)
    assert len(set(plans)) == len(plans)
    for template in CUBE_TEMPLATES:
        own = {plan for plan in plans if plan.template is template}
        classes = group_legal(problem, SMALL, template)
        assert own <= {plan for alike in classes.values() for plan in alike}
        assert len(own) == len(classes)
        assert all(sum(plan in own for plan in alike) == 1 for alike in classes.values())
        assert all(is_legal(problem, SMALL, plan) for plan in own)


@pytest.mark.parametrize(
    "problem",
    [
        GemmProblem(m=1, k=90, n=50),
        GemmProblem(m=30, k=700, n=1, bias_dtype=DType.FP32),
        GemmProblem(m=1, k=30, n=1, dtype=DType.FP32, out_dtype=DType.FP32),
        GemmProblem(m=3, k=30, n=2),
    ],
    ids=GemmProblem.label,
)
def test_the_vector_kernel_has_every_tile_that_fits_ub(problem: GemmProblem) -> None:
    space = whole_space(problem, SMALL)
    found = {plan for plan in all_plans(space) if plan.template is Template.VECTOR}
    expected = set()
    for base_mn in range(1, problem.m * problem.n + 1):
        for base_k in range(1, problem.k + 1):
            tile = replace(
                any_baseline(problem, Template.VECTOR),
                base_m=1 if problem.m == 1 else base_mn,
                base_n=base_mn if problem.m == 1 else 1,
                base_k=base_k,
                window_len=1,
                used_core_num=min(-(-problem.m * problem.n // base_mn), SMALL.cores.aiv_num),
            )
            if is_legal(problem, SMALL, tile):
                expected.add(tile)
    assert found == expected
    assert bool(expected) == (min(problem.m, problem.n) == 1)


def test_rules_of_the_whole_problem_reject_all_points_of_a_template() -> None:
    deterministic = whole_space(GemmProblem(m=60, k=40, n=33, deterministic_level=2), SMALL)
    assert deterministic.rejected["stream_k_determinism"] > 0
    odd = whole_space(CASES[0], ODD_CHIP)
    assert odd.rejected["fixpipe_cores"] > 0
    assert odd.rejected["stream_k_vector_cores"] > 0
    fp32 = GemmProblem(m=40, k=2048, n=40, dtype=DType.FP32, out_dtype=DType.FP32)
    sliced = whole_space(fp32, SMALL)
    assert sliced.rejected["fixpipe_fp32_split_k"] > 0
    assert sliced.rejected["resident_fp32_split_k"] > 0
    for space, absent in (
        (deterministic, {Template.STREAM_K}),
        (odd, {Template.STREAM_K}),
        (sliced, {Template.A_PARTIAL, Template.B_PARTIAL, Template.A_PANEL, Template.B_PANEL}),
    ):
        templates = {TEMPLATE_CODES[template] for template in absent}
        assert not templates & set(space.cells.template.tolist())
        assert space.cartesian == len(space) + sum(space.rejected.values())
    assert L0cOutput.FIXPIPE not in {plan.l0c_output for plan in all_plans(odd)}


def test_a_panel_may_hold_all_of_k_where_all_but_one_slab_does_not_fit() -> None:
    problem = GemmProblem(m=64, k=96, n=64)
    plans = all_plans(whole_space(problem, SMALL))
    panels = [plan for plan in plans if plan.template is Template.A_PANEL]
    depths = defaultdict(set)
    for plan in panels:
        depths[replace(plan, resident_slabs=0)].add(plan.resident_slabs)
    gaps = [
        deep
        for deep, slabs in depths.items()
        if compute_k_slabs(problem, deep) in slabs
        and compute_k_slabs(problem, deep) > 1
        and compute_k_slabs(problem, deep) - 1 not in slabs
    ]
    assert gaps


def test_stream_k_orders_that_are_the_same_are_one() -> None:
    problem = GemmProblem(m=32, k=128, n=144)
    plans = all_plans(whole_space(problem, SMALL))
    orders = defaultdict(set)
    for plan in plans:
        if plan.template is Template.STREAM_K:
            blocks = plan.m_tiles(problem) * plan.n_tiles(problem)
            orders[blocks // SMALL.cores.aic_num].add(plan.sk_order)
    assert orders[0] == {StreamKOrder.VENDOR}
    assert orders[1] == {StreamKOrder.VENDOR, StreamKOrder.LAST}
    assert orders[2] == set(StreamKOrder)


@pytest.mark.parametrize("problem", CASES[:2], ids=GemmProblem.label)
def test_points_are_found_by_their_number_and_back(problem: GemmProblem) -> None:
    space = whole_space(problem, SMALL)
    batch = space.plans(np.arange(len(space), dtype=np.int64))
    for index in range(0, len(space), 13):
        plan = space.plan(index)
        assert plan == batch.plan(index)
        assert space.index_of(plan) == index
        for other in (
            replace(plan, window_len=999),
            replace(plan, step_k=999),
            replace(plan, resident_slabs=999),
            replace(plan, single_core_k=999),
            replace(plan, m_tail_cnt=999),
            replace(plan, base_m=8),
            replace(plan, used_core_num=999),
        ):
            assert space.index_of(other) is None
    shuffled = np.random.default_rng(0).permutation(len(space))
    assert space.plans(shuffled).step_k.tolist() == batch.step_k[shuffled].tolist()


@pytest.mark.parametrize("problem", CASES, ids=GemmProblem.label)
def test_the_quick_space_is_part_of_the_whole_one(problem: GemmProblem) -> None:
    full = whole_space(problem, SMALL)
    quick = build_space(problem, SMALL, any_baseline(problem), name=ALL, quick=True)
    assert quick.restriction == QUICK_ALL_RESTRICTION
    assert quick.cartesian == len(quick) + sum(quick.rejected.values())
    plans = all_plans(quick)
    assert {plan.template for plan in plans} <= set(QUICK_TEMPLATES)
    assert all(full.index_of(plan) is not None for plan in plans)


@pytest.mark.parametrize("problem", CASES, ids=GemmProblem.label)
@pytest.mark.parametrize("cap", CAPS[1:])
def test_a_cap_leaves_points_of_the_whole_space(
    problem: GemmProblem, cap: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = whole_space(problem, SMALL)
    monkeypatch.setattr("studies.space.CAPS", (cap,))
    capped = whole_space(problem, SMALL, max_points=1)
    assert len(capped) + capped.omitted == len(full)
    assert (capped.cartesian, capped.rejected) == (full.cartesian, full.rejected)
    plans = all_plans(capped)
    assert len(set(plans)) == len(plans)
    assert all(full.index_of(plan) is not None for plan in plans)
    for template in CUBE_TEMPLATES:
        code = TEMPLATE_CODES[template]
        assert (code in capped.cells.template) == (code in full.cells.template)


def test_a_cap_keeps_what_it_says() -> None:
    problem = GemmProblem(m=512, k=512, n=512)
    for cap, capped in zip(CAPS, map(lambda cap: capped_space(problem, cap), CAPS), strict=True):
        plans = capped.plans(np.arange(0, len(capped), 7, dtype=np.int64))
        is_stream_k = plans.template == TEMPLATE_CODES[Template.STREAM_K]
        is_panel = plans.template == TEMPLATE_CODES[Template.A_PANEL]
        pieces = set(plans.single_core_k[is_stream_k].tolist())
        even = set(list_even_pieces(problem, SPEC.cores.aic_num))
        assert (pieces <= even) == cap.even_pieces
        rows = -(-problem.m // plans.base_m[is_panel])
        length = plans.window_len[is_panel]
        whole = np.where(length > rows // 2, rows, length)
        reuses = plans.used_core_num[is_panel] % whole == 0
        assert bool(reuses.all()) == cap.reusing_windows
        quick = {(1, True), (2, True), (4, True), (8, True)}
        lengths = -(-problem.m // plans.base_m[is_stream_k]) // 2 >= plans.window_len[is_stream_k]
        pairs = set(
            zip(
                plans.window_len[is_stream_k][lengths].tolist(),
                plans.serpentine[is_stream_k][lengths].tolist(),
                strict=True,
            )
        )
        assert (pairs <= quick) == cap.quick_windows
        assert (int(plans.sk_order.max()) == 0) == cap.vendor_order
        if cap.resident_values:
            assert int(capped.cells.resident_count.max()) == cap.resident_values


def capped_space(problem: GemmProblem, cap: object) -> PlanSpace:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("studies.space.CAPS", (cap,))
        return whole_space(problem, max_points=1)


def test_large_spaces_are_capped_and_say_so() -> None:
    problem = GemmProblem(m=4096, k=4096, n=4096)
    space = build_space(problem, SPEC, any_baseline(problem), name=ALL)
    assert len(space) < 10**7
    assert space.restriction == (
        "resident_slabs: 3 values, the most that fits and evenly spaced smaller ones; panels: "
        "windows whose length divides the cores; stream-K: even pieces of K"
    )
    assert space.omitted > 4 * 10**7


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
        (16, 4099, 50257),
    ],
)
@pytest.mark.parametrize("dtype", [DType.BF16, DType.FP32])
def test_ragged_and_huge_shapes_stay_bounded_and_legal(
    m: int, k: int, n: int, dtype: DType
) -> None:
    problem = GemmProblem(m=m, k=k, n=n, dtype=dtype, out_dtype=dtype)
    space = build_space(problem, SPEC, any_baseline(problem), name=ALL)
    assert 1 <= len(space) < 1.1 * 10**7
    assert len(space.cells) < 10**6
    assert space.cartesian == len(space) + space.omitted + sum(space.rejected.values())
    for index in space.sample(np.random.default_rng(0), 60).tolist():
        plan = space.plan(index)
        assert check(problem, SPEC, plan) == ()
        assert canonical_plan(problem, plan) == plan
        assert space.index_of(plan) == index


@pytest.mark.parametrize(
    "problem",
    [
        GemmProblem(m=4096, k=4096, n=4096),
        GemmProblem(m=64, k=8192, n=1280),
        GemmProblem(m=64, k=8191, n=1273),
        GemmProblem(m=16, k=8192, n=1000, format_b=Format.NZ),
        GemmProblem(m=16, k=4096, n=20000),
        GemmProblem(m=28096, k=64, n=1792),
        GemmProblem(m=4096, k=128, n=1000),
        GemmProblem(m=1, k=4096, n=14336, trans_b=False),
        GemmProblem(m=4099, k=4099, n=4099, trans_a=True, bias_dtype=DType.FP32),
        GemmProblem(
            m=1,
            k=70000,
            n=4096,
            dtype=DType.FP32,
            out_dtype=DType.FP32,
            op_impl_mode=OpImplMode.HIGH_PRECISION,
        ),
    ],
    ids=GemmProblem.label,
)
@pytest.mark.parametrize("quick", [False, True])
def test_a_legal_plan_of_the_vendor_is_a_point(problem: GemmProblem, quick: bool) -> None:
    plan = canonical_plan(problem, decide(problem, SPEC).plan)
    assert check(problem, SPEC, plan) == ()
    space = build_space(problem, SPEC, plan, quick=quick, name=ALL)
    assert space.index_of(plan) is not None


def test_what_the_vendors_kernel_decides() -> None:
    precise = GemmProblem(
        m=1,
        k=64,
        n=40,
        dtype=DType.FP32,
        out_dtype=DType.FP32,
        op_impl_mode=OpImplMode.HIGH_PRECISION,
    )
    vector = build_space(precise, SPEC, any_baseline(precise, Template.VECTOR), name=ALL)
    assert vector.restriction == VECTOR_ONLY_RESTRICTION
    assert set(vector.cells.template.tolist()) == {TEMPLATE_CODES[Template.VECTOR]}
    cleared = GemmProblem(m=16, k=0, n=16)
    empty = build_space(cleared, SPEC, decide(cleared, SPEC).plan, name=ALL)
    assert len(empty) == empty.cartesian == 0
    assert empty.restriction == NO_TEMPLATE_RESTRICTION
    with pytest.raises(ValueError, match="space 'some' is unknown; one of tiles, all"):
        choose_axes("some", any_baseline(precise), quick=False)


def test_sampled_points_differ() -> None:
    space = whole_space(CASES[0], SMALL)
    sampled = space.sample(np.random.default_rng(1), 500)
    assert len(set(sampled.tolist())) == 500
    assert len(space.sample(np.random.default_rng(1), 10**9)) == len(space)


FREE_FIELDS = (
    "template",
    "base_m",
    "base_n",
    "base_k",
    "step_k",
    "resident_slabs",
    "db_l0c",
    "l0c_output",
    "single_core_k",
    "sk_order",
)


@pytest.mark.parametrize("problem", [CASES[0], CASES[4]], ids=GemmProblem.label)
def test_neighbours_are_one_step_away(problem: GemmProblem) -> None:
    space = whole_space(problem, SMALL)
    moved: set[str] = set()
    for index in range(0, len(space), 41):
        plan = space.plan(index)
        neighbours = space.neighbours(index)
        assert index not in neighbours
        assert len(neighbours)
        for number in neighbours.tolist():
            other = space.plan(number)
            changed = {name for name in FREE_FIELDS if getattr(plan, name) != getattr(other, name)}
            moved |= changed
            same_tile = (plan.base_m, plan.base_n, plan.template) == (
                other.base_m,
                other.base_n,
                other.template,
            )
            if changed & {"template", "base_m", "base_n", "base_k", "step_k"}:
                # What the moved field decides may follow.
                assert len(changed - {"resident_slabs", "single_core_k", "sk_order"}) == 1
            elif same_tile:
                assert len(changed) <= 1
    assert moved == set(FREE_FIELDS)
