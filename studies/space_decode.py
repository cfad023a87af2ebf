"""From numbers of points to the columns of a PlanBatch, compiled.

Consecutive numbers cost an increment each, others a search for the cell and a division per factor.
"""

import numpy as np
from numpy.typing import NDArray

from hwmodel.footprint import DOUBLE_BUFFER
from hwmodel.jit import jit
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

(
    _TEMPLATE,
    _BASE_M,
    _BASE_N,
    _BASE_K,
    _DB_L0C,
    _L0C_OUTPUT,
    _UB_DB,
    _USED_CORE_NUM,
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
) = range(len(CELL_COLUMNS))
"""Rows of the matrix of cells."""

_ORDER_CODES = tuple(list(StreamKOrder).index(order) for order in STREAM_K_ORDERS)
_FIRST_ORDER, _SECOND_ORDER, _THIRD_ORDER = _ORDER_CODES


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
    cell = -1
    end = previous = window = order = piece = tail = resident = step = 0
    for row in range(len(indices)):
        index = indices[row]
        if cell >= 0 and index == previous + 1 and index < end:
            window += 1
            if window == cells[_WINDOW_COUNT, cell]:
                window = 0
                order += 1
                if order == cells[_ORDER_COUNT, cell]:
                    order = 0
                    piece += 1
                    if piece == cells[_PIECE_COUNT, cell]:
                        piece = 0
                        tail += 1
                        if tail == cells[_TAIL_COUNT, cell]:
                            tail = 0
                            resident += 1
                            if resident == cells[_RESIDENT_COUNT, cell]:
                                resident = 0
                                step += 1
        else:
            cell = np.searchsorted(ends, index, side="right")
            end = ends[cell]
            rest = index - (ends[cell - 1] if cell > 0 else 0)
            window = rest % cells[_WINDOW_COUNT, cell]
            rest //= cells[_WINDOW_COUNT, cell]
            order = rest % cells[_ORDER_COUNT, cell]
            rest //= cells[_ORDER_COUNT, cell]
            piece = rest % cells[_PIECE_COUNT, cell]
            rest //= cells[_PIECE_COUNT, cell]
            tail = rest % cells[_TAIL_COUNT, cell]
            rest //= cells[_TAIL_COUNT, cell]
            resident = rest % cells[_RESIDENT_COUNT, cell]
            step = rest // cells[_RESIDENT_COUNT, cell]
        previous = index
        step_k = cells[_FIRST_STEP, cell] + step
        slabs = cells[_FIRST_RESIDENT, cell] + resident * cells[_RESIDENT_STRIDE, cell]
        wide = step_k <= cells[_FOUR_SLOT_STEPS, cell] and (
            slabs <= cells[_FOUR_SLOT_RESIDENTS, cell]
        )
        order_code = _FIRST_ORDER
        if order == 1:
            order_code = _SECOND_ORDER
        elif order == 2:
            order_code = _THIRD_ORDER
        at = cells[_WINDOW_START, cell] + window
        plans[0, row] = cells[_TEMPLATE, cell]
        plans[1, row] = cells[_BASE_M, cell]
        plans[2, row] = cells[_BASE_N, cell]
        plans[3, row] = cells[_BASE_K, cell]
        plans[4, row] = step_k
        plans[5, row] = FULL_LOAD_SLOTS if wide else DOUBLE_BUFFER
        plans[6, row] = slabs
        plans[7, row] = cells[_DB_L0C, cell]
        plans[8, row] = cells[_UB_DB, cell]
        plans[9, row] = cells[_L0C_OUTPUT, cell]
        plans[10, row] = windows[0, at]
        plans[11, row] = windows[1, at]
        plans[12, row] = cells[_M_TAIL_CNT, cell] if tail == 0 else 1
        plans[13, row] = cells[_N_TAIL_CNT, cell] if tail == 0 else 1
        plans[14, row] = single_core_k[cells[_PIECE_START, cell] + piece]
        plans[15, row] = order_code
        plans[16, row] = cells[_USED_CORE_NUM, cell]
