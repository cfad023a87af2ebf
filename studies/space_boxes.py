"""The boxes of a space: its points grouped so that one lower bound holds for many.

A group is a tile: consecutive cells with the same template, base_m, base_n, db_l0c and output; for
the vector kernel it is a cell. A box is a group with one walk: one tail split, single_core_k,
stream-K order and window. Its points differ in base_k, step_k and resident_slabs. Boxes are
numbered group by group, the walks in the order of the cells' points.
"""

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.boxes import PlanBoxes
from hwmodel.derived import A_BLOCK_TEMPLATES, B_BLOCK_TEMPLATES
from hwmodel.integers import FRACTAL, align_up
from hwmodel.jit import jit
from hwmodel.plan import Template
from hwmodel.plan_batch import TEMPLATE_CODES
from studies.space import PlanSpace
from studies.space_axes import RESIDENT_TEMPLATES
from studies.space_cells import Cells
from studies.vendor_columns import IntColumn, ceil_columns

FloatColumn = NDArray[np.float64]
Column = TypeVar("Column", IntColumn, FloatColumn)

_TILE_COLUMNS = ("template", "base_m", "base_n", "db_l0c", "l0c_output")
"""Columns of which one value belongs to a group."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpaceBoxes:
    """The boxes of a space; a row a group.

    Attributes:
        space: the space.
        first_cell: first cell of each group, and the number of cells.
        cell_start: number of the first point of each cell, and the number of points.
        walks: walks of each group.
        choices: points of each box of the group.
        first_box: number of the first box of each group, and the number of boxes.
        base_k_most: largest base_k.
        k_l1_least, k_l1_most, kept_least, kept_most: as in `hwmodel.cost.boxes.PlanBoxes`.
    """

    space: PlanSpace
    first_cell: IntColumn
    cell_start: IntColumn
    walks: IntColumn
    choices: IntColumn
    first_box: IntColumn
    base_k_most: IntColumn
    k_l1_least: IntColumn
    k_l1_most: IntColumn
    kept_least: FloatColumn
    kept_most: FloatColumn

    def __len__(self) -> int:
        """Number of boxes."""
        return int(self.first_box[-1])

    def groups_of(self, boxes: IntColumn) -> IntColumn:
        """Group of each box."""
        return np.searchsorted(self.first_box, boxes, side="right") - 1

    def points_of(self, boxes: IntColumn) -> IntColumn:
        """Number of points of each box."""
        points: IntColumn = self.choices[self.groups_of(boxes)]
        return points

    def describe(self, boxes: IntColumn) -> PlanBoxes:
        """The boxes of the given numbers as the bound takes them."""
        group = self.groups_of(boxes)
        first_point = self.cell_start[self.first_cell[group]]
        plans = self.space.plans(first_point + boxes - self.first_box[group])
        return PlanBoxes(
            plans=replace(plans, base_k=self.base_k_most[group]),
            k_l1_least=self.k_l1_least[group],
            k_l1_most=self.k_l1_most[group],
            kept_least=self.kept_least[group],
            kept_most=self.kept_most[group],
        )

    def list_points(self, boxes: IntColumn) -> IntColumn:
        """Numbers of the points of the given boxes, which are ascending; ascending in a cell."""
        group = self.groups_of(boxes)
        points = np.empty(int(self.choices[group].sum()), dtype=np.int64)
        _list_points(
            boxes - self.first_box[group],
            group,
            self.first_cell,
            self.cell_start,
            self.walks,
            points,
        )
        return points


def build_boxes(space: PlanSpace) -> SpaceBoxes:
    """Group the points of a space."""
    cells = space.cells
    starts = _find_groups(cells)
    first_cell = np.append(starts, len(cells))
    walks = (cells.tail_count * cells.piece_count * cells.order_count * cells.window_count)[starts]
    choices = cells.step_count * cells.resident_count
    k16 = align_up(space.problem.k, FRACTAL)
    shortest = np.minimum(cells.first_step * cells.base_k, k16)
    longest = np.minimum((cells.first_step + cells.step_count - 1) * cells.base_k, k16)
    least, most = _list_kept_shares(space, shortest, longest)
    return SpaceBoxes(
        space=space,
        first_cell=first_cell,
        cell_start=np.append(0, space.ends).astype(np.int64),
        walks=walks,
        choices=_reduce(np.add, choices, starts),
        first_box=np.append(0, np.cumsum(walks)).astype(np.int64),
        base_k_most=_reduce(np.maximum, cells.base_k, starts),
        k_l1_least=_reduce(np.minimum, shortest, starts),
        k_l1_most=_reduce(np.maximum, longest, starts),
        kept_least=_reduce(np.minimum, least, starts),
        kept_most=_reduce(np.maximum, most, starts),
    )


def _reduce(operation: np.ufunc, column: Column, starts: IntColumn) -> Column:
    """The operation over the cells of each group."""
    return operation.reduceat(column, starts) if len(starts) else column[:0]


def _find_groups(cells: Cells) -> IntColumn:
    """First cell of each group."""
    if not len(cells):
        return np.zeros(0, dtype=np.int64)
    is_first = cells.template == TEMPLATE_CODES[Template.VECTOR]
    for name in _TILE_COLUMNS:
        column = getattr(cells, name)
        is_first[1:] |= column[1:] != column[:-1]
    is_first[0] = True
    return np.flatnonzero(is_first)


def _list_kept_shares(
    space: PlanSpace, shortest: IntColumn, longest: IntColumn
) -> tuple[FloatColumn, FloatColumn]:
    """Least and greatest share of the slabs that stays in L1, for each cell."""
    cells, problem = space.cells, space.problem
    least = np.zeros(len(cells))
    most = np.zeros(len(cells))
    for template in RESIDENT_TEMPLATES:
        rows = np.flatnonzero(cells.template == TEMPLATE_CODES[template])
        blocks = np.ones(len(rows), dtype=np.int64)
        if template in A_BLOCK_TEMPLATES:
            blocks = ceil_columns(problem.m, cells.base_m[rows])
        elif template in B_BLOCK_TEMPLATES:
            blocks = ceil_columns(problem.n, cells.base_n[rows])
        first = cells.first_resident[rows]
        last = first + (cells.resident_count[rows] - 1) * cells.resident_stride[rows]
        fewest = blocks * ceil_columns(problem.k, longest[rows])
        greatest = blocks * ceil_columns(problem.k, shortest[rows])
        least[rows] = np.minimum(first / greatest, 1.0)
        most[rows] = np.minimum(last / fewest, 1.0)
    return least, most


@jit
def _list_points(
    walk: NDArray[np.int64],
    group: NDArray[np.int64],
    first_cell: NDArray[np.int64],
    cell_start: NDArray[np.int64],
    walks: NDArray[np.int64],
    points: NDArray[np.int64],
) -> None:
    """Fill `points` with the points of boxes, group by group, cell by cell."""
    row, first = 0, 0
    while first < len(walk):
        own = group[first]
        last = first + 1
        while last < len(walk) and group[last] == own:
            last += 1
        for cell in range(first_cell[own], first_cell[own + 1]):
            for start in range(cell_start[cell], cell_start[cell + 1], walks[own]):
                for box in range(first, last):
                    points[row] = start + walk[box]
                    row += 1
        first = last
