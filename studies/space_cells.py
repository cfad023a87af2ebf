"""The cell table: the legal points of a space as boxes.

A cell fixes the template, the tile with everything that follows from it, and base_k. Its points
are all combinations of

- consecutive values of step_k: first_step, first_step + 1, ... (`step_count` of them),
- an arithmetic progression of resident_slabs (`first_resident`, `resident_stride`,
  `resident_count`),
- the tail split by the vendor's rule (m_tail_cnt, n_tail_cnt) and, if `tail_count` is 2, none,
- the first `piece_count` values of single_core_k from `piece_start` on (`Walks.single_core_k`),
- the first `order_count` orders of a stream-K piece (`STREAM_K_ORDERS`),
- the `window_count` windows from `window_start` on (`Walks.window_len`, `Walks.serpentine`),

numbered in this nesting, the window fastest. So the points of a cell, of a tile (consecutive cells
with the same template, base_m, base_n and db_l0c) and of a template have consecutive numbers, and
a search can skip them without visiting them. Cells are sorted by template, base_m, base_n, db_l0c,
l0c_output, base_k, first_step.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import prod

import numpy as np
from numpy.typing import NDArray

from hwmodel.plan import StreamKOrder, Template
from studies.vendor_columns import IntColumn
from studies.windows import WindowPair

IntMatrix = NDArray[np.int64]

STREAM_K_ORDERS = (StreamKOrder.VENDOR, StreamKOrder.LAST, StreamKOrder.FIRST)
"""Orders of a stream-K piece; a cell takes the first `order_count`. Without a data-parallel item
on the core all are the same, with one the first and the last are (specification: plan.md)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """Columns of equal length, one row a cell; enums as the codes of `hwmodel.plan_batch`.

    Attributes:
        tail_count: 2 when the cell's points have the vendor's tail split and none.
        window_start: first of the cell's windows in the space's list of them.
        window_count: number of the cell's windows.
        first_step: least step_k.
        step_count: number of consecutive values of step_k.
        four_slot_steps: step_k up to which four L1 slots of the streamed operand fit.
        four_slot_residents: resident_slabs up to which they fit; both must hold.
        first_resident: least resident_slabs.
        resident_stride: from one value of resident_slabs to the next.
        resident_count: number of values of resident_slabs.
        piece_start: first of the cell's values of single_core_k in the space's list of them.
        piece_count: number of these values.
        order_count: orders of the stream-K piece.
    """

    template: IntColumn
    base_m: IntColumn
    base_n: IntColumn
    base_k: IntColumn
    db_l0c: IntColumn
    l0c_output: IntColumn
    ub_db: IntColumn
    used_core_num: IntColumn
    m_tail_cnt: IntColumn
    n_tail_cnt: IntColumn
    tail_count: IntColumn
    window_start: IntColumn
    window_count: IntColumn
    first_step: IntColumn
    step_count: IntColumn
    four_slot_steps: IntColumn
    first_resident: IntColumn
    resident_stride: IntColumn
    resident_count: IntColumn
    four_slot_residents: IntColumn
    piece_start: IntColumn
    piece_count: IntColumn
    order_count: IntColumn

    def __len__(self) -> int:
        """Number of cells."""
        return len(self.base_m)


CELL_COLUMNS = tuple(field.name for field in fields(Cells))
"""Names of the columns, in order."""
COUNT_COLUMNS = (
    "step_count",
    "resident_count",
    "tail_count",
    "piece_count",
    "order_count",
    "window_count",
)
"""Columns whose product is the number of a cell's points, the slowest first."""
_WINDOW_START = CELL_COLUMNS.index("window_start")


def count_points(columns: Mapping[str, IntColumn]) -> IntColumn:
    """Number of points of each cell, from the columns by name."""
    return np.asarray(prod(columns[name] for name in COUNT_COLUMNS), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Walks:
    """The lists that cells refer to.

    Attributes:
        window_len: window lengths of all window sets, one set after the other.
        serpentine: serpentine of the same, 0 or 1.
        single_core_k: K columns of a work item: the problem's K, then the stream-K pieces, the
            longest first.
    """

    window_len: IntColumn
    serpentine: IntColumn
    single_core_k: IntColumn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TemplateCells:
    """All cells of one template, and what became of the rest of the product.

    Attributes:
        template: the kernel.
        columns: the cells' columns by name, and `preferred_count` as in `TileRows` for cube
            templates; window_start counts from the first of `windows`.
        windows: the windows of the template's sets, one set after the other.
        cartesian: points of the product of the axes.
        rejected: illegal points by the first rule they break.
    """

    template: Template
    columns: dict[str, IntColumn]
    windows: tuple[WindowPair, ...]
    cartesian: int
    rejected: Counter[str]

    def __len__(self) -> int:
        """Number of cells."""
        return len(self.columns["base_m"])

    @property
    def points(self) -> int:
        """Number of points."""
        return int(count_points(self.columns).sum())


def join_cells(parts: Sequence[TemplateCells]) -> tuple[Cells, IntMatrix, IntMatrix]:
    """The cells of several templates in order, and the windows they refer to.

    Returns:
        the cells; the same as a matrix with a row for each of `CELL_COLUMNS`; the windows as a
        matrix of two rows, window_len and serpentine.
    """
    matrix = np.empty((len(CELL_COLUMNS), sum(len(part) for part in parts)), dtype=np.int64)
    windows: list[WindowPair] = []
    first = 0
    for part in parts:
        rows = slice(first, first + len(part))
        for number, name in enumerate(CELL_COLUMNS):
            matrix[number, rows] = part.columns[name]
        matrix[_WINDOW_START, rows] += len(windows)
        windows.extend(part.windows)
        first = rows.stop
    cells = Cells(**dict(zip(CELL_COLUMNS, matrix, strict=True)))
    pairs = np.array(windows, dtype=np.int64).reshape(-1, 2)
    return cells, matrix, np.ascontiguousarray(pairs.T)
