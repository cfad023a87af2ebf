"""The plans of a search space as the points that strategies see."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hwmodel.plan import StreamKOrder
from studies.space import PlanSpace
from studies.space_cells import STREAM_K_ORDERS
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

_FIXED_IN_CELL = ("template", "base_m", "base_n", "base_k", "db_l0c", "l0c_output")
"""Those that all points of a cell have in common."""


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
        """The values of each field that occur in the space, ascending; no plan is listed."""
        cells, walks = self._space.cells, self._space.walks
        windows = _cover(cells.window_start, cells.window_count)
        pieces = _cover(cells.piece_start, cells.piece_count)
        tails = np.ones(int((cells.tail_count > 1).any()), dtype=np.int64)
        orders = int(cells.order_count.max(initial=0))
        columns = {name: getattr(cells, name) for name in _FIXED_IN_CELL} | {
            "step_k": _cover(cells.first_step, cells.step_count),
            "resident_slabs": _list_residents(
                cells.first_resident, cells.resident_stride, cells.resident_count
            ),
            "window_len": walks.window_len[windows],
            "serpentine": walks.serpentine[windows],
            "m_tail_cnt": np.concatenate([cells.m_tail_cnt, tails]),
            "n_tail_cnt": np.concatenate([cells.n_tail_cnt, tails]),
            "single_core_k": walks.single_core_k[pieces],
            "sk_order": np.array(
                [list(StreamKOrder).index(order) for order in STREAM_K_ORDERS[:orders]],
                dtype=np.int64,
            ),
        }
        return tuple(np.unique(columns[name]) for name in FACTORS)

    def factors(self, indices: Indices) -> FactorColumns:
        """The fields of the plans of these numbers, shape (len(indices), len(FACTORS))."""
        plans = self._space.plans(indices)
        return np.stack([getattr(plans, name) for name in FACTORS], axis=1)

    def neighbours(self, index: int) -> Indices:
        """Plans that differ in one field, or a little more where that leads to no legal one."""
        return self._space.neighbours(index)


def _cover(start: Indices, count: Indices) -> Indices:
    """Numbers that lie in some run of `count` from `start` on."""
    changes = np.zeros(int((start + count).max(initial=0)) + 1, dtype=np.int64)
    np.add.at(changes, start, 1)
    np.add.at(changes, start + count, -1)
    return np.flatnonzero(np.cumsum(changes)).astype(np.int64)


def _list_residents(first: Indices, stride: Indices, count: Indices) -> Indices:
    """Numbers of some progression."""
    runs: NDArray[np.int64] = np.unique(np.stack([first, stride, count]), axis=1)
    progressions = [start + step * np.arange(number) for start, step, number in runs.T]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *progressions]))
