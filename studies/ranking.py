"""The order of evaluated plans: by predicted time to six digits, then by a fixed preference.

Times are compared rounded, so that the last bits of a sum never decide. Among equal times the plan
with the fewest fields that differ from the baseline's comes first, then the simpler one.
"""

from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from hwmodel.plan import KernelPlan
from hwmodel.plan_batch import PlanBatch

SIGNIFICANT_DIGITS = 6
"""Digits to which times are compared (specification: studies.md, last line)."""
TIE_RATIO = 1.01
"""Times within this factor of the best are ties (specification: studies.md, "Search")."""

_LEAST_MANTISSA = 10 ** (SIGNIFICANT_DIGITS - 1)
_RANKS_PER_DECADE = 9 * _LEAST_MANTISSA
_LEAST_EXPONENT = -12
_MOST_EXPONENT = 30
_DECADES = np.array([10.0**power for power in range(_LEAST_EXPONENT, _MOST_EXPONENT + 1)])

SIMPLICITY = (
    "template",
    "l0c_output",
    "m_tail_cnt",
    "n_tail_cnt",
    "db_l0c",
    "window_len",
    "step_k",
    "base_k",
    "base_m",
    "base_n",
)
"""Columns by which equal plans are ordered, the smaller value first, after serpentine on."""

Ranks = NDArray[np.int64]


def rank_times(times_us: NDArray[np.float64]) -> Ranks:
    """Integers in the order of the times, equal for times that agree to six digits.

    A time m * 10^e with a six-digit integer m has rank e * 900000 + m, up to a constant; so ranks
    go on without a gap from one decade to the next. Every operation is correctly rounded, so the
    rank of a time does not depend on its neighbours in the array.

    Raises:
        ValueError: a time is not positive and finite.
    """
    if not (np.isfinite(times_us).all() and (times_us > 0).all()):
        raise ValueError("predicted times must be positive and finite")
    decade = np.searchsorted(_DECADES, times_us, side="right") - 1
    mantissa = np.rint(times_us / _DECADES[decade] * _LEAST_MANTISSA).astype(np.int64)
    ranks: Ranks = decade.astype(np.int64) * _RANKS_PER_DECADE + mantissa
    return ranks


def rank_time(time_us: float) -> int:
    """The rank of one time."""
    return int(rank_times(np.array([time_us]))[0])


def tie_limit(best_rank: int) -> int:
    """The last rank that counts as a tie with a best of rank `best_rank`."""
    decade, offset = divmod(best_rank - _LEAST_MANTISSA, _RANKS_PER_DECADE)
    best_us = float(_DECADES[decade]) * (offset + _LEAST_MANTISSA) / _LEAST_MANTISSA
    return rank_time(TIE_RATIO * best_us)


def _distance(plans: PlanBatch, reference: PlanBatch) -> NDArray[np.int64]:
    """Fields in which each plan differs from the only plan of `reference`."""
    differs = [
        getattr(plans, field.name) != getattr(reference, field.name)[0]
        for field in fields(PlanBatch)
    ]
    distance: NDArray[np.int64] = np.sum(differs, axis=0, dtype=np.int64)
    return distance


def order_plans(plans: PlanBatch, ranks: Ranks, baseline: KernelPlan) -> NDArray[np.intp]:
    """Row numbers from best to worst."""
    reference = PlanBatch.from_plans([baseline])
    by_preference = (
        ranks,
        _distance(plans, reference),
        -plans.serpentine,
        *(getattr(plans, name) for name in SIMPLICITY),
    )
    return np.lexsort(by_preference[::-1])


class BestPlans:
    """The best of the plans seen so far, and how many of them tie with the best.

    What it keeps does not depend on how the plans were cut into batches.
    """

    def __init__(self, count: int, baseline: KernelPlan) -> None:
        """Keep `count` plans; `baseline` decides between equal times."""
        self._count = count
        self._baseline = baseline
        self._reference = PlanBatch.from_plans([baseline])
        self._plans: PlanBatch | None = None
        self._ranks: Ranks = np.zeros(0, dtype=np.int64)
        self._near: Ranks = np.zeros(0, dtype=np.int64)
        self._near_counts: Ranks = np.zeros(0, dtype=np.int64)

    @property
    def best_rank(self) -> int:
        """Rank of the best time; at least one plan was added."""
        return int(self._ranks[0])

    @property
    def ties(self) -> int:
        """Plans within 1 % of the best, itself included."""
        return int(self._near_counts.sum())

    @property
    def last_rank(self) -> int | None:
        """Plans of a higher rank neither come among the best nor tie; None while all may."""
        if len(self._ranks) < self._count:
            return None
        return max(int(self._ranks[-1]), tie_limit(self.best_rank))

    @property
    def batch(self) -> PlanBatch:
        """The best plans in order, as columns."""
        return PlanBatch.from_plans([]) if self._plans is None else self._plans

    def plans(self) -> tuple[KernelPlan, ...]:
        """The best plans in order."""
        batch = self.batch
        return tuple(batch.plan(row) for row in range(len(batch)))

    def add_one(self, plan: KernelPlan, time_us: float) -> None:
        """Take note of one plan."""
        self.add(PlanBatch.from_plans([plan]), np.array([time_us]))

    def add(self, plans: PlanBatch, times_us: NDArray[np.float64]) -> None:
        """Take note of a batch and its predicted times."""
        if len(plans) == 0:
            return
        ranks = rank_times(times_us)
        rows = self._contenders(plans, ranks)
        if len(rows):
            plans_kept, ranks_kept = plans.select(rows), ranks[rows]
            if self._plans is not None:
                plans_kept = PlanBatch.concatenate([self._plans, plans_kept])
                ranks_kept = np.concatenate([self._ranks, ranks_kept])
            order = order_plans(plans_kept, ranks_kept, self._baseline)[: self._count]
            self._plans, self._ranks = plans_kept.select(order), ranks_kept[order]
        limit = tie_limit(self.best_rank)
        # A count for each rank: times within 1 % have few, whatever the number of plans.
        new, new_counts = np.unique(ranks[ranks <= limit], return_counts=True)
        kept = self._near <= limit
        values = np.concatenate([self._near[kept], new])
        counts = np.concatenate([self._near_counts[kept], new_counts])
        self._near, row = np.unique(values, return_inverse=True)
        self._near_counts = np.zeros(len(self._near), dtype=np.int64)
        np.add.at(self._near_counts, row, counts)

    def _contenders(self, plans: PlanBatch, ranks: Ranks) -> NDArray[np.intp]:
        """Rows that may be among the best: the cheap part of the order does not exclude them."""
        worst = int(self._ranks[-1]) if len(self._ranks) == self._count else None
        rows = np.flatnonzero(ranks <= worst) if worst is not None else np.arange(len(ranks))
        if len(rows) <= self._count:
            return rows
        rows = _lowest(rows, ranks[rows], self._count)
        if len(rows) <= self._count:
            return rows
        distance = _distance(plans.select(rows), self._reference)
        return _lowest(rows, ranks[rows] * (len(fields(PlanBatch)) + 1) + distance, self._count)


def _lowest(rows: NDArray[np.intp], values: Ranks, count: int) -> NDArray[np.intp]:
    """The rows with the `count` lowest values, and those that equal the last of them."""
    cutoff = int(np.partition(values, count - 1)[count - 1])
    return rows[values <= cutoff]
