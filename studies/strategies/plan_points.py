"""The plans of a search space as the points that strategies see."""

from functools import cached_property

import numpy as np

from studies.space import PlanSpace
from studies.strategies.points import FactorColumns, Indices

FACTORS = (
    "template",
    "base_m",
    "base_n",
    "base_k",
    "step_k",
    "resident_slabs",
    "db_l0c",
    "l0c_output",
    "window_len",
    "serpentine",
    "m_tail_cnt",
    "n_tail_cnt",
    "single_core_k",
    "sk_order",
)
"""Fields of a plan that a space varies; the others follow from them (specification: plan.md)."""

_CHUNK = 1 << 16
"""Plans listed at once."""


class PlanPoints:
    """A space's plans by number, with the fields of FACTORS as their factors."""

    names = FACTORS

    def __init__(self, space: PlanSpace) -> None:
        """The points of `space`."""
        self._space = space

    def __len__(self) -> int:
        """Number of plans."""
        return len(self._space)

    @cached_property
    def values(self) -> tuple[Indices, ...]:
        """The values of each field that occur in the space, ascending."""
        found: list[list[Indices]] = [[np.zeros(0, dtype=np.int64)] for _ in FACTORS]
        for start in range(0, len(self), _CHUNK):
            stop = min(start + _CHUNK, len(self))
            columns = self.factors(np.arange(start, stop, dtype=np.int64)).T
            for column, values in zip(columns, found, strict=True):
                # Most fields change seldom from one point to the next.
                changes = np.flatnonzero(np.diff(column)) + 1
                values.append(np.unique(column[np.append(0, changes)]))
        return tuple(np.unique(np.concatenate(values)) for values in found)

    def factors(self, indices: Indices) -> FactorColumns:
        """The fields of the plans of these numbers, shape (len(indices), len(FACTORS))."""
        plans = self._space.plans(indices)
        return np.stack([getattr(plans, name) for name in FACTORS], axis=1)

    def neighbours(self, index: int) -> Indices:
        """Plans that differ in one field, or a little more where that leads to no legal one."""
        return self._space.neighbours(index)
