"""The best plan of each of the best groups of plans: different tiles, not copies of one.

The best plans of a space are mostly one tile with other steps and windows, which take the same
time to within what a model can tell. A group is what sets plans apart: template, base_m, base_n
and the way out of L0C.
"""

import numpy as np
from numpy.typing import NDArray

from hwmodel.plan import KernelPlan, L0cOutput
from hwmodel.plan_batch import PlanBatch
from studies.ranking import Ranks, order_plans, rank_times
from studies.space_cells import Cells
from studies.vendor_columns import BoolColumn, IntColumn

_LENGTHS = 1 << 24
"""More than any base_m or base_n: a tile has no more values than the largest on-chip memory."""


def code_groups(columns: PlanBatch | Cells) -> IntColumn:
    """A number for each plan or cell, the same for those of one group."""
    kind = columns.template * len(L0cOutput) + columns.l0c_output
    codes: IntColumn = (kind * _LENGTHS + columns.base_m) * _LENGTHS + columns.base_n
    return codes


class BestGroups:
    """The best groups of the plans seen so far, each with its best plan.

    What it keeps does not depend on how the plans were cut into batches.
    """

    def __init__(self, count: int, baseline: KernelPlan) -> None:
        """Keep `count` groups; `baseline` decides between equal times."""
        self._count = count
        self._baseline = baseline
        self._plans = PlanBatch.from_plans([])
        self._ranks: Ranks = np.zeros(0, dtype=np.int64)
        self._codes: IntColumn = np.zeros(0, dtype=np.int64)

    def rank_at(self, place: int) -> int | None:
        """Rank of the best plan of the group at that place, the best 0; None if there is none."""
        return int(self._ranks[place]) if place < len(self._ranks) else None

    def plans_beside(self, others: PlanBatch) -> tuple[KernelPlan, ...]:
        """The best plans, in order, of the groups to which none of `others` belongs."""
        rows = np.flatnonzero(~np.isin(self._codes, code_groups(others)))
        return tuple(self._plans.plan(int(row)) for row in rows)

    def may_improve(self, codes: IntColumn, ranks: Ranks) -> BoolColumn:
        """Whether plans of these groups, of at least these ranks, could be their groups' best."""
        order = np.argsort(self._codes)
        place = np.searchsorted(self._codes, codes, sorter=order)
        row = order[np.minimum(place, len(order) - 1)]
        may: BoolColumn = (self._codes[row] != codes) | (ranks <= self._ranks[row])
        return may

    def add(self, plans: PlanBatch, times_us: NDArray[np.float64]) -> None:
        """Take note of a batch and its predicted times."""
        ranks = rank_times(times_us)
        worst = self.rank_at(self._count - 1)
        if worst is not None:
            rows = np.flatnonzero(ranks <= worst)
            plans, ranks = plans.select(rows), ranks[rows]
        rows = _find_least(code_groups(plans), ranks)
        plans = PlanBatch.concatenate([self._plans, plans.select(rows)])
        ranks = np.concatenate([self._ranks, ranks[rows]])
        order = order_plans(plans, ranks, self._baseline)
        # The first plan of each group in the order of all is its best.
        _, first = np.unique(code_groups(plans)[order], return_index=True)
        order = order[np.sort(first)[: self._count]]
        self._plans, self._ranks = plans.select(order), ranks[order]
        self._codes = code_groups(self._plans)


def _find_least(codes: IntColumn, ranks: Ranks) -> NDArray[np.intp]:
    """Rows whose rank is the least of their group."""
    if len(codes) == 0:
        return np.zeros(0, dtype=np.intp)
    order = np.lexsort((ranks, codes))
    is_first = np.append(True, np.diff(codes[order]) != 0)
    least = ranks[order][is_first][np.cumsum(is_first) - 1]
    rows: NDArray[np.intp] = order[ranks[order] == least]
    return rows
