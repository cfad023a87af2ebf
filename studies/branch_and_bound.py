"""Every point of a space covered: evaluated, or left out because a proven bound rules it out.

The space falls into boxes (`studies.space_boxes`), each with a lower bound of the model. Boxes are
looked into in the order of their bounds. A box is left out when its bound, rounded as times are
compared, is behind the last of the best plans and behind the last tie: then none of its points
could come among the best, or tie with them. So the best plans, their order and the number of ties
are those of a search that evaluates every point.

The best plan that the operator's tiling data can express has a threshold of its own: from boxes
that are left out only because of the better plans that it cannot express, the points that it can
express are evaluated.

Where the best plans of further groups are asked for (`studies.best_groups`), a box is looked into
as long as its bound is not behind the last of these, unless it can neither come among the best
plans, tie, nor improve the best plan of its own group. All this is monotone but for the place of
the last group, which moves on when another group comes among the best plans; boxes that wait
because of it are still in line then. So these plans, too, are those of brute force.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hwmodel.plan import KernelPlan, Template
from hwmodel.plan_batch import TEMPLATE_CODES, PlanBatch
from studies.best_groups import BestGroups, code_groups
from studies.expressible import mark_expressible
from studies.objective import Objective
from studies.outcome import EvaluatedPlan
from studies.ranking import BestPlans, Ranks, rank_times
from studies.space import PlanSpace
from studies.space_boxes import SpaceBoxes, build_boxes
from studies.vendor_columns import BoolColumn, IntColumn

CHUNK = 1 << 16
"""Points evaluated at once: enough to hide the cost of a call, little enough for the caches."""
FIRST_CHUNK = 1 << 12
"""Points of the first chunk; the next ones double up to CHUNK. The sooner good plans are known,
the fewer points are evaluated."""
BOX_CHUNK = 1 << 15
"""Boxes bounded at once."""
LEAST_US = 1e-9
"""Stands for a bound of 0 where bounds are ranked; shorter than any kernel."""

GRID_BOUND = "grid walk"
RESIDENT_BOUND = "resident operand"
VECTOR_BOUND = "vector kernel"
"""Names of the bounds: `hwmodel.cost.walk_bound`, `hwmodel.cost.resident_bound`, and the vector
kernel's own time, which is that of its box."""
BOUND_OF_TEMPLATE = {
    Template.ASWT: GRID_BOUND,
    Template.A_PANEL: GRID_BOUND,
    Template.B_PANEL: GRID_BOUND,
    Template.STREAM_K: GRID_BOUND,
    Template.A_FULL: RESIDENT_BOUND,
    Template.B_FULL: RESIDENT_BOUND,
    Template.A_PARTIAL: RESIDENT_BOUND,
    Template.B_PARTIAL: RESIDENT_BOUND,
    Template.VECTOR: VECTOR_BOUND,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What a search of a whole space found.

    Attributes:
        best: the best plans, the baseline among the candidates.
        further: in order, the best plan of each of the best groups that are not among `best`.
        expressible: the best of those that the operator's tiling data can express.
        evaluated: points evaluated, the baseline if it is one.
        pruned_by: points left out, by the name of the bound; the most first.
    """

    best: BestPlans
    further: tuple[KernelPlan, ...]
    expressible: BestPlans
    evaluated: int
    pruned_by: dict[str, int]


def cover_space(
    space: PlanSpace,
    objective: Objective,
    baseline: EvaluatedPlan,
    *,
    count: int,
    expressible_count: int,
    group_count: int = 0,
) -> Coverage:
    """The best plans of a space and the baseline.

    Args:
        space: where to search.
        objective: predicts times and bounds.
        baseline: the operator's plan, evaluated.
        count: best plans to find.
        expressible_count: best expressible plans to find.
        group_count: further groups to find, each with its best plan; fewer if there are not so
            many.
    """
    search = _Search(space, objective, baseline, count, expressible_count, group_count)
    search.look_into_boxes()
    search.look_for_expressible()
    return Coverage(
        best=search.best,
        further=search.list_further(),
        expressible=search.expressible,
        evaluated=int(search.evaluated.sum()),
        pruned_by=search.count_pruned(),
    )


class _Search:
    """The course of one search."""

    def __init__(
        self,
        space: PlanSpace,
        objective: Objective,
        baseline: EvaluatedPlan,
        count: int,
        expressible_count: int,
        group_count: int,
    ) -> None:
        self._space = space
        self._objective = objective
        self._boxes = build_boxes(space)
        self._bounds = _rank_bounds(self._boxes, objective)
        self._order = np.argsort(self._bounds, kind="stable")
        self._group_codes = code_groups(space.cells)[self._boxes.first_cell[:-1]]
        self._looked_into = 0
        self._is_evaluated = np.zeros(len(self._boxes), dtype=np.bool_)
        self._group_count = group_count
        # The best plans may hold as many groups as there are of them, and take their places.
        self._groups = BestGroups(count + group_count, baseline.plan)
        self.best = BestPlans(count, baseline.plan)
        self.expressible = BestPlans(expressible_count, baseline.plan)
        for kept in (self.best, self.expressible):
            kept.add_one(baseline.plan, baseline.cost.task_duration_us)
        self._groups.add(
            PlanBatch.from_plans([baseline.plan]), np.array([baseline.cost.task_duration_us])
        )
        self.evaluated = np.zeros(len(TEMPLATE_CODES), dtype=np.int64)
        self._baseline_index = space.index_of(baseline.plan)
        if self._baseline_index is not None:
            self.evaluated[TEMPLATE_CODES[baseline.plan.template]] += 1

    def look_into_boxes(self) -> None:
        """Evaluate all points of boxes that the bounds do not rule out, the most promising first.

        The baseline was evaluated before.
        """
        chunk = FIRST_CHUNK
        while len(boxes := self._next_boxes(chunk)):
            self._is_evaluated[boxes] = True
            chunk = min(2 * chunk, CHUNK)
            for plans in self._list_plans(boxes):
                times_us = self._evaluate(plans)
                self.best.add(plans, times_us)
                if self._group_count:
                    self._groups.add(plans, times_us)
                rows = mark_expressible(self._space.problem, plans)
                self.expressible.add(plans.select(rows), times_us[rows])

    def look_for_expressible(self) -> None:
        """Evaluate what could be the best expressible plan in the boxes left out."""
        problem, start = self._space.problem, 0
        waiting = self._order[~self._is_evaluated[self._order]]
        while start < len(waiting):
            boxes = waiting[start : start + BOX_CHUNK]
            boxes = boxes[self._may_enter(boxes, self.expressible)]
            if len(boxes) == 0:
                return
            start += BOX_CHUNK
            # The shortest slab is the one that the record can always carry.
            shortest = replace(self._boxes.describe(boxes).plans, step_k=np.ones_like(boxes))
            shortest = replace(shortest, resident_slabs=np.zeros_like(boxes))
            boxes = boxes[mark_expressible(problem, shortest)]
            for part in _cut(boxes, self._boxes.points_of(boxes), CHUNK):
                part = part[self._may_enter(part, self.expressible)]
                for plans in self._list_plans(part):
                    plans = plans.select(mark_expressible(problem, plans))
                    self.expressible.add(plans, self._evaluate(plans))

    def list_further(self) -> tuple[KernelPlan, ...]:
        """The best plans of the best groups that are not among the best plans."""
        return self._groups.plans_beside(self.best.batch)[: self._group_count]

    def count_pruned(self) -> dict[str, int]:
        """Points that were not evaluated, by the bound that ruled them out."""
        pruned: dict[str, int] = {}
        space = self._space
        sizes = np.diff(self._boxes.cell_start)
        points = np.bincount(space.template, weights=sizes, minlength=len(TEMPLATE_CODES))
        for template, name in BOUND_OF_TEMPLATE.items():
            code = TEMPLATE_CODES[template]
            left_out = int(points[code]) - int(self.evaluated[code])
            if left_out:
                pruned[name] = pruned.get(name, 0) + left_out
        return dict(sorted(pruned.items(), key=lambda item: (-item[1], item[0])))

    def _may_enter(self, boxes: IntColumn, best: BestPlans) -> BoolColumn:
        """Which boxes are not ruled out."""
        return self._is_within(boxes, best.last_rank)

    def _is_within(self, boxes: IntColumn, last: int | None) -> BoolColumn:
        """Which boxes have a bound of at most that rank; all if it is None."""
        if last is None:
            return np.ones(len(boxes), dtype=np.bool_)
        within: BoolColumn = self._bounds[boxes] <= last
        return within

    def _last_rank(self) -> int | None:
        """Boxes of a higher bound hold nothing that is asked for; None while all may."""
        last = self.best.last_rank
        if last is None or not self._group_count:
            return last
        taken = len(np.unique(code_groups(self.best.batch)))
        last_group = self._groups.rank_at(taken + self._group_count - 1)
        return None if last_group is None else max(last, last_group)

    def _next_boxes(self, points: int) -> IntColumn:
        """The next boxes in order that are not ruled out, of about that many points."""
        last = self._last_rank()
        while True:
            boxes = self._order[self._looked_into : self._looked_into + points]
            boxes = boxes[self._is_within(boxes, last)]
            if len(boxes) == 0:
                return boxes
            rows = np.flatnonzero(self._is_promising(boxes))
            if len(rows):
                part = next(_cut(boxes[rows], self._boxes.points_of(boxes[rows]), points))
                self._looked_into += int(rows[len(part) - 1]) + 1
                return part
            self._looked_into += len(boxes)

    def _is_promising(self, boxes: IntColumn) -> BoolColumn:
        """Which boxes could change the best plans, the ties or the best plan of a group."""
        promising = self._may_enter(boxes, self.best)
        if self._group_count:
            codes = self._group_codes[self._boxes.groups_of(boxes)]
            promising |= self._groups.may_improve(codes, self._bounds[boxes])
        return promising

    def _list_plans(self, boxes: IntColumn) -> Iterator[PlanBatch]:
        """The points of the boxes but for the baseline, chunk by chunk."""
        points = self._boxes.list_points(np.sort(boxes))
        for start in range(0, len(points), CHUNK):
            chunk = points[start : start + CHUNK]
            if self._baseline_index is not None:
                chunk = chunk[chunk != self._baseline_index]
            yield self._space.plans(chunk)

    def _evaluate(self, plans: PlanBatch) -> NDArray[np.float64]:
        """Times of plans, counted."""
        self.evaluated += np.bincount(plans.template, minlength=len(TEMPLATE_CODES))
        return self._objective.estimate_us(plans)


def _rank_bounds(boxes: SpaceBoxes, objective: Objective) -> Ranks:
    """Rank of the bound of every box."""
    bounds_us = np.empty(len(boxes))
    for start in range(0, len(boxes), BOX_CHUNK):
        chunk = np.arange(start, min(start + BOX_CHUNK, len(boxes)))
        bounds_us[chunk] = objective.bound_us(boxes.describe(chunk))
    return rank_times(np.maximum(bounds_us, LEAST_US))


def _cut(boxes: IntColumn, points: IntColumn, most: int) -> Iterator[IntColumn]:
    """Boxes in runs of at most that many points, or of one box."""
    if len(boxes) == 0:
        return
    ends = np.cumsum(points)
    first = 0
    while first < len(boxes):
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        yield boxes[first:last]
        first = last
