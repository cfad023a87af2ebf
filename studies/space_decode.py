"""From numbers of points to the columns of a PlanBatch, compiled.

Runs of consecutive numbers are filled at once; a number on its own costs a search for its cell and
a division per factor.
"""

import numpy as np
from numpy.typing import NDArray

from hwmodel.footprint import DOUBLE_BUFFER
from hwmodel.jit import inline, jit
from hwmodel.legality import FULL_LOAD_SLOTS
from hwmodel.plan import StreamKOrder
from studies.space_cells import CELL_COLUMNS, STREAM_K_ORDERS, IntMatrix
from studies.vendor_columns import IntColumn

PLAN_COLUMNS = (
    "template",
    "base_m",
    "base_n",
    "base_k",
    "step_k",
    "l1_buffer_num",
    "resident_slabs",
    "db_l0c",
    "ub_db",
    "l0c_output",
    "window_len",
    "serpentine",
    "m_tail_cnt",
    "n_tail_cnt",
    "single_core_k",
    "sk_order",
    "used_core_num",
)
"""Rows of the decoded matrix: the fields of a PlanBatch."""

_CONSTANT_NAMES = (
    "template",
    "base_m",
    "base_n",
    "base_k",
    "db_l0c",
    "ub_db",
    "l0c_output",
    "used_core_num",
)
_CONSTANT = tuple(CELL_COLUMNS.index(name) for name in _CONSTANT_NAMES)
_CONSTANT_TO = tuple(PLAN_COLUMNS.index(name) for name in _CONSTANT_NAMES)
"""Columns that a cell hands on as they are: rows of the cells and of the plans."""

(
    _STEP_K,
    _L1_BUFFER_NUM,
    _RESIDENT_SLABS,
    _WINDOW_LEN,
    _SERPENTINE,
    _TO_M_TAIL_CNT,
    _TO_N_TAIL_CNT,
    _SINGLE_CORE_K,
    _SK_ORDER,
) = (number for number, name in enumerate(PLAN_COLUMNS) if name not in _CONSTANT_NAMES)
"""The other rows of the plans."""

(
    _M_TAIL_CNT,
    _N_TAIL_CNT,
    _TAIL_COUNT,
    _WINDOW_START,
    _WINDOW_COUNT,
    _FIRST_STEP,
    _STEP_COUNT,
    _FOUR_SLOT_STEPS,
    _FIRST_RESIDENT,
    _RESIDENT_STRIDE,
    _RESIDENT_COUNT,
    _FOUR_SLOT_RESIDENTS,
    _PIECE_START,
    _PIECE_COUNT,
    _ORDER_COUNT,
) = (number for number, name in enumerate(CELL_COLUMNS) if name not in _CONSTANT_NAMES)
"""The other rows of the cells."""

_ORDER_CODES = tuple(list(StreamKOrder).index(order) for order in STREAM_K_ORDERS)


def decode(
    indices: IntColumn,
    ends: IntColumn,
    cells: IntMatrix,
    windows: IntMatrix,
    single_core_k: IntColumn,
) -> IntMatrix:
    """The plans of the given numbers, one row a field in the order of `PLAN_COLUMNS`.

    Args:
        indices: numbers of points.
        ends: points in the cells up to and including each.
        cells: the cell table, rows in the order of `CELL_COLUMNS`.
        windows: two rows, window_len and serpentine.
        single_core_k: the list that cells refer to.
    """
    plans = np.empty((len(PLAN_COLUMNS), len(indices)), dtype=np.int64)
    _decode(np.ascontiguousarray(indices), ends, cells, windows, single_core_k, plans)
    return plans


@jit
def _decode(
    indices: NDArray[np.int64],
    ends: NDArray[np.int64],
    cells: NDArray[np.int64],
    windows: NDArray[np.int64],
    single_core_k: NDArray[np.int64],
    plans: NDArray[np.int64],
) -> None:
    """Fill `plans` run by run: consecutive numbers in one cell."""
    first = 0
    while first < len(indices):
        index = indices[first]
        cell = np.searchsorted(ends, index, side="right")
        last = first + 1
        most = first + ends[cell] - index
        while last < min(len(indices), most) and indices[last] == index + last - first:
            last += 1
        _fill_constant(cells, cell, first, last, plans)
        start = ends[cell - 1] if cell > 0 else 0
        _fill_variable(cells, cell, index - start, first, last, windows, single_core_k, plans)
        first = last


@inline
def _fill_constant(
    cells: NDArray[np.int64], cell: int, first: int, last: int, plans: NDArray[np.int64]
) -> None:
    """The columns that all points of a cell have in common."""
    for number in range(len(_CONSTANT)):
        value = cells[_CONSTANT[number], cell]
        to = _CONSTANT_TO[number]
        for row in range(first, last):
            plans[to, row] = value


@inline
def _fill_variable(
    cells: NDArray[np.int64],
    cell: int,
    offset: int,
    first: int,
    last: int,
    windows: NDArray[np.int64],
    single_core_k: NDArray[np.int64],
    plans: NDArray[np.int64],
) -> None:
    """The columns that differ, from the point at `offset` of the cell on."""
    window_count = cells[_WINDOW_COUNT, cell]
    order_count = cells[_ORDER_COUNT, cell]
    piece_count = cells[_PIECE_COUNT, cell]
    tail_count = cells[_TAIL_COUNT, cell]
    window_start = cells[_WINDOW_START, cell]
    row = first
    while row < last:
        # Points with the same other fields and consecutive windows.
        rest = offset // window_count
        window = offset - rest * window_count
        run = min(window_count - window, last - row)
        order = rest % order_count
        rest //= order_count
        piece = rest % piece_count
        rest //= piece_count
        tail = rest % tail_count
        rest //= tail_count
        resident = rest % cells[_RESIDENT_COUNT, cell]
        step_k = cells[_FIRST_STEP, cell] + rest // cells[_RESIDENT_COUNT, cell]
        slabs = cells[_FIRST_RESIDENT, cell] + resident * cells[_RESIDENT_STRIDE, cell]
        wide = step_k <= cells[_FOUR_SLOT_STEPS, cell] and (
            slabs <= cells[_FOUR_SLOT_RESIDENTS, cell]
        )
        slots = FULL_LOAD_SLOTS if wide else DOUBLE_BUFFER
        m_tail = cells[_M_TAIL_CNT, cell] if tail == 0 else 1
        n_tail = cells[_N_TAIL_CNT, cell] if tail == 0 else 1
        piece_k = single_core_k[cells[_PIECE_START, cell] + piece]
        order_code = _ORDER_CODES[order]
        at = window_start + window - row
        for place in range(row, row + run):
            plans[_STEP_K, place] = step_k
            plans[_L1_BUFFER_NUM, place] = slots
            plans[_RESIDENT_SLABS, place] = slabs
            plans[_TO_M_TAIL_CNT, place] = m_tail
            plans[_TO_N_TAIL_CNT, place] = n_tail
            plans[_SINGLE_CORE_K, place] = piece_k
            plans[_SK_ORDER, place] = order_code
            plans[_WINDOW_LEN, place] = windows[0, at + place]
            plans[_SERPENTINE, place] = windows[1, at + place]
        row += run
        offset += run
