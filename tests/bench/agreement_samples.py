"""The plans on which the pipeline model is compared with the emulator.

Two samples: plans of LLM shapes (uniform over the legal points of the space, and from the model's
best 5 %), and random legal plans of every template on small, middling and large problems.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from baseline.decision import decide
from hwmodel.cost.evaluator import Evaluator
from hwmodel.derived import compute_base_k_unit, compute_used_core_num
from hwmodel.dtypes import DType
from hwmodel.footprint import compute_k_slabs
from hwmodel.integers import FRACTAL, align_up, ceil_div
from hwmodel.legality import check
from hwmodel.plan import KernelPlan, L0cOutput, StreamKOrder, Template, canonical_plan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.shape_rows import ShapeRow, find_shapes_file, load_shapes
from studies.space import PlanSpace, build_space

HALF_PLANS = 100
"""Plans of a shape drawn uniformly, and as many from the model's best."""

BEST_SHARE = 0.05
"""Share of a shape's points that count as the model's best."""

MAX_EVENTS = 300_000
"""Events of the emulator that a sampled plan may have on average, for a shape to be eligible."""

GROUPS = (
    "aswt",
    "a_full",
    "b_full",
    "a_partial",
    "b_partial",
    "a_panel",
    "b_panel",
    "stream_k",
    "fixpipe",
)
"""Templates by name; `fixpipe` is the output through UB, under ASWT and B_FULL."""

SIZES = {"small": (16, 700), "mid": (256, 3000), "large": (1024, 9000)}
"""Least and greatest length of a dimension in the problems of the template sample."""

MAX_PLAN_EVENTS = 1_000_000
"""A plan of the template sample with more events is drawn again."""

DRAWS_PER_PROBLEM = 400
"""Draws after which a problem on which a template finds no legal plan is replaced."""

PLANS_PER_PROBLEM = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Plans of one problem.

    Attributes:
        name: the shape or the template.
        problem: the GEMM.
        plans: the plans.
        halves: for each plan the half it belongs to, `uniform` or `best`, or its size class.
    """

    name: str
    problem: GemmProblem
    plans: tuple[KernelPlan, ...]
    halves: tuple[str, ...]


def count_events(
    problem: GemmProblem, plans: PlanBatch
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """About how many loads and stores the emulator has to run, shape (len(plans),)."""
    tiles = np.ceil(problem.m / plans.base_m) * np.ceil(problem.n / plans.base_n)
    steps = np.ceil(problem.k / np.minimum(plans.step_k * plans.base_k, problem.k))
    events: np.ndarray[tuple[int], np.dtype[np.float64]] = tiles * (2 * steps + 1)
    return events


def shape_samples(
    spec: HardwareSpec, evaluator: Evaluator, *, shapes: int, seed: int
) -> Iterator[Sample]:
    """One sample a shape: `HALF_PLANS` uniform plans, then as many from the model's best."""
    for number, (row, space) in enumerate(_select_shapes(spec, shapes, seed)):
        random = np.random.default_rng([seed, number])
        uniform = random.integers(0, len(space), HALF_PLANS)
        times_us = evaluator.estimate_us(
            row.problem, spec, space.plans(np.arange(len(space), dtype=np.int64))
        )
        order = np.argsort(times_us, kind="stable")
        best = order[: max(HALF_PLANS, int(len(order) * BEST_SHARE))]
        # The model's best plan is one of them: the regret is about it.
        rest = random.choice(best[1:], min(HALF_PLANS, len(best)) - 1, replace=False)
        chosen = np.concatenate([uniform, best[:1], rest])
        batch = space.plans(chosen)
        yield Sample(
            name=row.name,
            problem=row.problem,
            plans=tuple(batch.plan(place) for place in range(len(batch))),
            halves=("uniform",) * HALF_PLANS + ("best",) * (len(batch) - HALF_PLANS),
        )


def _select_shapes(
    spec: HardwareSpec, count: int, seed: int
) -> Iterator[tuple[ShapeRow, PlanSpace]]:
    """Shapes in turn from every model and phase, in a random order of sizes within each."""
    groups: dict[tuple[str, str], list[ShapeRow]] = defaultdict(list)
    seen: set[GemmProblem] = set()
    for row in load_shapes(find_shapes_file("llm_shapes.csv").path):
        if row.problem not in seen:
            seen.add(row.problem)
            groups[row.model, row.phase].append(row)
    random = Random(seed)
    for rows in groups.values():
        random.shuffle(rows)
    left = count
    while left and any(groups.values()):
        for rows in groups.values():
            found = _next_eligible(rows, spec)
            if found is not None and left:
                left -= 1
                yield found


def _next_eligible(rows: list[ShapeRow], spec: HardwareSpec) -> tuple[ShapeRow, PlanSpace] | None:
    """Take rows from the list until one has cube plans and few enough events."""
    while rows:
        row = rows.pop()
        problem = row.problem
        space = build_space(problem, spec, canonical_plan(problem, decide(problem, spec).plan))
        if len(space) < HALF_PLANS:
            continue
        places = np.random.default_rng(0).integers(0, len(space), HALF_PLANS)
        if count_events(problem, space.plans(places)).mean() < MAX_EVENTS:
            return row, space
    return None


def template_samples(spec: HardwareSpec, group: str, *, plans: int, seed: int) -> Iterator[Sample]:
    """At least `plans` legal plans of a group, a few a problem, sizes in turn."""
    random = Random(f"{group}-{seed}")
    sizes, found = tuple(SIZES), 0
    while found < plans:
        size = sizes[(found // PLANS_PER_PROBLEM) % len(sizes)]
        problem = _draw_problem(random, group, size)
        chosen: list[KernelPlan] = []
        for _ in range(DRAWS_PER_PROBLEM):
            plan = _draw_plan(random, spec, group, problem)
            events = count_events(problem, PlanBatch.from_plans((plan,)))[0]
            if events < MAX_PLAN_EVENTS and not check(problem, spec, plan):
                chosen.append(plan)
            if len(chosen) == PLANS_PER_PROBLEM:
                break
        else:
            continue
        found += len(chosen)
        yield Sample(
            name=group, problem=problem, plans=tuple(chosen), halves=(size,) * len(chosen)
        )


def _draw_problem(random: Random, group: str, size: str) -> GemmProblem:
    """A bf16 problem, rarely an fp32 one; a full operand must be small enough for L1."""
    low, high = SIZES[size]

    def length(most: int = high) -> int:
        drawn = round(low * (most / low) ** random.random())
        return align_up(drawn, random.choice((1, 16, 64, 128)))

    m, k, n = length(), length(), length()
    kept, narrow = random.choice((16, 32, 64, 100, 128, 256)), random.choice((128, 256, 512, 1024))
    if group in {"a_full", "a_partial"}:
        m, k = kept * random.choice((1, 1, 2)), narrow * random.choice((1, 2))
    elif group in {"b_full", "b_partial"}:
        n, k = kept * random.choice((1, 1, 2)), narrow * random.choice((1, 2))
    dtype = random.choice((DType.BF16, DType.BF16, DType.BF16, DType.FP16, DType.FP32))
    return GemmProblem(
        m=m,
        k=k,
        n=n,
        trans_a=random.random() < 0.2,
        trans_b=random.random() < 0.6,
        dtype=dtype,
        out_dtype=random.choice((dtype, dtype, DType.FP32)),
    )


def _draw_plan(random: Random, spec: HardwareSpec, group: str, problem: GemmProblem) -> KernelPlan:
    """A plan of the group, legal or not, of legal tile sizes."""
    template = (
        random.choice((Template.ASWT, Template.ASWT, Template.B_FULL))
        if group == "fixpipe"
        else Template(group)
    )
    tile_m, tile_n = (
        FRACTAL * random.randint(1, min(20, ceil_div(length, FRACTAL)))
        for length in (problem.m, problem.n)
    )
    unit = compute_base_k_unit(problem)
    plan = KernelPlan(
        template=template,
        base_m=tile_m,
        base_n=tile_n,
        base_k=unit * random.randint(1, max(1, min(16, problem.k // unit))),
        step_k=random.randint(1, 12),
        l1_buffer_num=random.choice((2, 4)) if "full" in template or "partial" in template else 2,
        db_l0c=1 if template is Template.STREAM_K else random.randint(1, 2),
        ub_db=random.randint(1, 2) if group == "fixpipe" else 1,
        l0c_output=L0cOutput.FIXPIPE if group == "fixpipe" else L0cOutput.ON_THE_FLY,
        window_len=random.randint(1, 12),
        serpentine=random.random() < 0.7,
        single_core_k=problem.k,
        used_core_num=1,
    )
    if "partial" in template or "panel" in template:
        plan = replace(plan, resident_slabs=random.randint(1, compute_k_slabs(problem, plan)))
    if template is Template.STREAM_K:
        pieces = random.randint(2, 16)
        plan = replace(
            plan,
            single_core_k=align_up(ceil_div(problem.k, pieces), FRACTAL),
            sk_order=random.choice(tuple(StreamKOrder)),
        )
    plan = replace(plan, used_core_num=compute_used_core_num(problem, spec, plan))
    return canonical_plan(problem, plan)
