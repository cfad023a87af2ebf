"""Bounds hold for every point, and the search finds what brute force finds."""

from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from baseline.decision import decide
from hwmodel.cost.constants import PipelineConstants
from hwmodel.cost.evaluator import BoundedEvaluator
from hwmodel.cost.pipeline import PipelineEvaluator
from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.errors import RejectedError
from hwmodel.plan import KernelPlan, canonical_plan
from hwmodel.plan_batch import TEMPLATE_CODES, PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies import branch_and_bound, space_boxes
from studies.branch_and_bound import Coverage, cover_space
from studies.expressible import mark_expressible
from studies.objective import Objective
from studies.ranking import order_plans, rank_times, tie_limit
from studies.space import PlanSpace, build_space
from studies.space_axes import ALL
from studies.space_boxes import build_boxes
from tests.hwmodel.cost.plain import plain_pipeline
from tests.studies.space_cases import CASES, SMALL, SPEC, any_baseline

TYPES: list[dict[str, object]] = [
    {},
    {},
    {"out_dtype": DType.FP32},
    {"dtype": DType.FP32, "out_dtype": DType.FP32},
    {"dtype": DType.FP32, "out_dtype": DType.FP32, "op_impl_mode": OpImplMode.HF32},
    {"bias_dtype": DType.FP32},
    {"bias_dtype": DType.BF16},
    {"format_b": Format.NZ},
]
ROUND = (1, 16, 64, 256, 512, 2048, 4096, 7168, 28672)
RAGGED = (1, 2, 17, 97, 521, 1009, 4099, 50257)


def draw_problem(rng: np.random.Generator, lengths: tuple[int, ...] | int) -> GemmProblem:
    m, k, n = (int(length) for length in rng.choice(lengths, 3))
    if isinstance(lengths, int):
        m, k, n = m + 1, k + 1, n + 1
    kinds = TYPES[int(rng.integers(len(TYPES)))]
    transposes = {"trans_a": bool(rng.integers(2)), "trans_b": bool(rng.integers(2))}
    return GemmProblem(m=m, k=k, n=n, **transposes, **kinds)  # type: ignore[arg-type]


def draw_constants(rng: np.random.Generator) -> PipelineConstants:
    """Far from the calibrated ones, and losses for which overlaps are not monotone."""
    return PipelineConstants(
        hbm_read_ratio=float(rng.uniform(0.3, 2)),
        l2_ratio=float(rng.uniform(0.2, 2)),
        cube_efficiency_ratio=float(rng.uniform(0.5, 1)),
        barrier_ratio=float(rng.uniform(0, 3)),
        line_waste_ratio=float(rng.uniform(0, 2)),
        overlap_loss_ratio=float(rng.choice([0.0, 0.1, 0.3, 0.6])),
    )


def draw_chip(rng: np.random.Generator) -> HardwareSpec:
    """The chip, a tiny one, or the chip with other rates."""
    kind = rng.integers(3)
    if kind < 2:
        return SMALL if kind else SPEC
    rates = {
        field.name: float(getattr(SPEC.rates, field.name) * np.exp(rng.uniform(-1, 1)))
        for field in fields(SPEC.rates)
    }
    return replace(SPEC, rates=replace(SPEC.rates, **rates))


def whole_space(problem: GemmProblem, spec: HardwareSpec) -> PlanSpace:
    return build_space(problem, spec, any_baseline(problem), name=ALL)


@pytest.mark.parametrize("lengths", [ROUND, RAGGED], ids=["round", "ragged"])
def test_no_plan_of_a_box_is_faster_than_its_bound(lengths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(lengths))
    boxes_seen = np.zeros(len(TEMPLATE_CODES), dtype=np.int64)
    tightness: list[NDArray[np.float64]] = []
    for number in range(40):
        problem, spec = draw_problem(rng, lengths), draw_chip(rng)
        if number % 8 == 0:  # so thin that the vector kernel takes it
            problem = replace(problem, m=1)
        evaluator = PipelineEvaluator(draw_constants(rng) if rng.integers(2) else None)
        boxes = build_boxes(whole_space(problem, spec))
        template = boxes.space.template[boxes.first_cell[:-1]]
        group_of = boxes.groups_of(np.arange(len(boxes), dtype=np.int64))
        for code in np.unique(template):
            own = np.flatnonzero(template[group_of] == code)
            drawn = np.sort(rng.choice(own, min(40, len(own)), replace=False))
            bounds_us = evaluator.bound_us(problem, spec, boxes.describe(drawn))
            points = [boxes.list_points(drawn[row : row + 1]) for row in range(len(drawn))]
            plans = boxes.space.plans(np.concatenate(points))
            times_us = evaluator.estimate_us(problem, spec, plans)
            sizes = np.array([len(one) for one in points])
            assert (sizes == boxes.points_of(drawn)).all()
            assert (np.repeat(bounds_us, sizes) <= times_us).all()
            least_us = np.minimum.reduceat(times_us, np.cumsum(sizes) - sizes)
            tightness.append(bounds_us / least_us)
            boxes_seen[code] += len(drawn)
    seen = {template: int(boxes_seen[code]) for template, code in TEMPLATE_CODES.items()}
    assert all(seen[template] >= 100 for template in branch_and_bound.BOUND_OF_TEMPLATE)
    assert sum(seen.values()) > 5000
    # Bounds of nothing would hold, too.
    assert np.median(np.concatenate(tightness)) > 0.95


@pytest.mark.parametrize("problem", CASES, ids=GemmProblem.label)
def test_boxes_hold_every_point_once(problem: GemmProblem) -> None:
    boxes = build_boxes(whole_space(problem, SMALL))
    numbers = np.arange(len(boxes), dtype=np.int64)
    points = boxes.list_points(numbers)
    assert np.array_equal(np.sort(points), np.arange(len(boxes.space)))
    assert len(points) == boxes.points_of(numbers).sum()
    for box in numbers[:: max(1, len(numbers) // 30)]:
        own = boxes.space.plans(boxes.list_points(numbers[box : box + 1]))
        described = boxes.describe(numbers[box : box + 1])
        for field in fields(PlanBatch):
            values = set(getattr(own, field.name).tolist())
            if field.name == "base_k":
                assert max(values) <= described.plans.base_k[0]
            elif field.name not in {"step_k", "l1_buffer_num", "resident_slabs"}:
                assert values == {int(getattr(described.plans, field.name)[0])}
        k_l1 = np.minimum(own.base_k * own.step_k, -(-problem.k // 16) * 16)
        assert described.k_l1_least[0] <= k_l1.min()
        assert k_l1.max() <= described.k_l1_most[0]
        assert 0 <= described.kept_least[0] <= described.kept_most[0] <= 1


def test_listing_points_is_the_same_in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    boxes = build_boxes(whole_space(CASES[0], SMALL))
    drawn = np.arange(0, len(boxes), 3, dtype=np.int64)
    compiled = boxes.list_points(drawn)
    plain = getattr(space_boxes, "_list_points").py_func  # noqa: B009 - unknown to the types
    monkeypatch.setattr(space_boxes, "_list_points", plain)
    assert np.array_equal(boxes.list_points(drawn), compiled)
    assert len(compiled) == boxes.points_of(drawn).sum()


def test_bounds_in_plain_python_are_the_compiled_ones() -> None:
    rng = np.random.default_rng(3)
    seen: set[int] = set()
    with plain_pipeline() as plain:
        for number in range(24):
            problem, spec = draw_problem(rng, 200), draw_chip(rng)
            if number % 6 == 0:
                problem = replace(problem, n=1)
            constants = draw_constants(rng)
            boxes = build_boxes(whole_space(problem, spec))
            template = boxes.space.template[boxes.first_cell[:-1]]
            group_of = boxes.groups_of(np.arange(len(boxes), dtype=np.int64))
            drawn = np.concatenate(
                [
                    rng.choice(np.flatnonzero(template[group_of] == code), 4)
                    for code in np.unique(template)
                ]
            )
            described = boxes.describe(drawn)
            seen |= set(described.plans.template.tolist())
            expected = PipelineEvaluator(constants).bound_us(problem, spec, described)
            bounds_us = plain.PipelineEvaluator(constants).bound_us(problem, spec, described)
            assert bounds_us == pytest.approx(expected, rel=1e-12)
    assert len(seen) == len(branch_and_bound.BOUND_OF_TEMPLATE)


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What a search is asked for."""

    best: int
    groups: int


COUNTS = (
    Counts(best=64, groups=0),
    Counts(best=1, groups=1),
    Counts(best=8, groups=8),
    Counts(best=32, groups=32),
    Counts(best=2, groups=500),
)


def group_of(plan: KernelPlan) -> tuple[object, ...]:
    return plan.template, plan.base_m, plan.base_n, plan.l0c_output


def list_further(
    plans: PlanBatch, order: NDArray[np.intp], counts: Counts
) -> tuple[KernelPlan, ...]:
    """Of all plans in order the first of every group that has none among the best."""
    taken = {group_of(plans.plan(int(row))) for row in order[: counts.best]}
    further: list[KernelPlan] = []
    for row in order[counts.best :]:
        if len(further) == counts.groups:
            break
        plan = plans.plan(int(row))
        if group_of(plan) not in taken:
            taken.add(group_of(plan))
            further.append(plan)
    return tuple(further)


def assert_same_as_brute_force(
    problem: GemmProblem,
    spec: HardwareSpec,
    space: PlanSpace,
    evaluator: BoundedEvaluator,
    counts: Counts,
) -> Coverage:
    """What the search found."""
    objective = Objective(problem, spec, evaluator)
    baseline = objective.evaluate(canonical_plan(problem, decide(problem, spec).plan))
    covered = cover_space(
        space,
        objective,
        baseline,
        count=counts.best,
        expressible_count=3,
        group_count=counts.groups,
    )
    plans = space.plans(np.arange(len(space), dtype=np.int64))
    known = space.index_of(baseline.plan)
    if known is None:
        plans = PlanBatch.concatenate([plans, PlanBatch.from_plans([baseline.plan])])
    times_us = evaluator.estimate_us(problem, spec, plans)
    ranks = rank_times(times_us)
    order = order_plans(plans, ranks, baseline.plan)
    assert covered.best.plans() == tuple(plans.plan(int(row)) for row in order[: counts.best])
    assert covered.further == list_further(plans, order, counts)
    assert covered.best.ties == int((ranks <= tie_limit(int(ranks.min()))).sum())
    carried = mark_expressible(problem, plans)
    carried[len(space) if known is None else known] = True
    rows = order[carried[order]]
    assert covered.expressible.plans() == tuple(plans.plan(int(row)) for row in rows[:3])
    assert covered.evaluated + sum(covered.pruned_by.values()) == len(space)
    return covered


def test_the_search_finds_what_brute_force_finds() -> None:
    rng = np.random.default_rng(5)
    points, evaluated, shapes, further = 0, 0, 0, 0
    templates: set[int] = set()
    while shapes < 200:
        problem = draw_problem(rng, 90)
        try:
            baseline = decide(problem, SMALL).plan
        except RejectedError:
            continue
        space = build_space(problem, SMALL, baseline, name=ALL)
        templates |= set(np.unique(space.template).tolist())
        counts = COUNTS[shapes % len(COUNTS)]
        evaluator = PipelineEvaluator(draw_constants(rng) if rng.integers(2) else None)
        covered = assert_same_as_brute_force(problem, SMALL, space, evaluator, counts)
        evaluated += covered.evaluated
        further += len(covered.further)
        points += len(space)
        shapes += 1
    assert templates == {TEMPLATE_CODES[one] for one in branch_and_bound.BOUND_OF_TEMPLATE}
    assert 0 < evaluated < points
    assert further > 1000
