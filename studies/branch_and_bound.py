"""Every point of a space covered: evaluated, or left out because a proven bound rules it out.

The space falls into boxes (`studies.space_boxes`), each with a lower bound of the model. Boxes are
looked into in the order of their bounds. A box is left out when its bound, rounded as times are
compared, is behind the last of the best plans and behind the last tie: then none of its points
could come among the best, or tie with them. So the best plans, their order and the number of ties
are those of a search that evaluates every point.

The best plan that the operator's tiling data can express has a threshold of its own: from boxes
that are left out only because of the better plans that it cannot express, the points that it can
express are evaluated.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hwmodel.plan import Template
from hwmodel.plan_batch import TEMPLATE_CODES, PlanBatch
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
        expressible: the best of those that the operator's tiling data can express.
        evaluated: points evaluated, the baseline if it is one.
        pruned_by: points left out, by the name of the bound; the most first.
    """

    best: BestPlans
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
) -> Coverage:
    """The best `count` plans of the space and the baseline, and the best expressible ones."""
    search = _Search(space, objective, baseline, count, expressible_count)
    search.look_into_boxes()
    search.look_for_expressible()
    return Coverage(
        best=search.best,
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
    ) -> None:
        self._space = space
        self._objective = objective
        self._boxes = build_boxes(space)
        self._bounds = _rank_bounds(self._boxes, objective)
        self._order = np.argsort(self._bounds, kind="stable")
        self._looked_into = 0
        self.best = BestPlans(count, baseline.plan)
        self.expressible = BestPlans(expressible_count, baseline.plan)
        for kept in (self.best, self.expressible):
            kept.add_one(baseline.plan, baseline.cost.task_duration_us)
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
            self._looked_into += len(boxes)
            chunk = min(2 * chunk, CHUNK)
            for plans in self._list_plans(boxes):
                times_us = self._evaluate(plans)
                self.best.add(plans, times_us)
                rows = mark_expressible(self._space.problem, plans)
                self.expressible.add(plans.select(rows), times_us[rows])

    def look_for_expressible(self) -> None:
        """Evaluate what could be the best expressible plan in the boxes left out."""
        problem, start = self._space.problem, self._looked_into
        while start < len(self._order):
            boxes = self._order[start : start + BOX_CHUNK]
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
        last = best.last_rank
        if last is None:
            return np.ones(len(boxes), dtype=np.bool_)
        may: BoolColumn = self._bounds[boxes] <= last
        return may

    def _next_boxes(self, points: int) -> IntColumn:
        """The next boxes in order that are not ruled out, of about that many points."""
        start = self._looked_into
        boxes = self._order[start : start + points]
        boxes = boxes[self._may_enter(boxes, self.best)]
        if len(boxes) == 0:
            return boxes
        return next(_cut(boxes, self._boxes.points_of(boxes), points))

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
