"""From plans to numbers of points."""

import numpy as np

from hwmodel.footprint import DOUBLE_BUFFER
from hwmodel.legality import FULL_LOAD_SLOTS
from hwmodel.plan import KernelPlan, L0cOutput
from hwmodel.plan_batch import TEMPLATE_CODES
from studies.space_cells import COUNT_COLUMNS, STREAM_K_ORDERS, Cells, Walks
from studies.vendor_columns import IntColumn

_OUTPUT_CODES = {output: code for code, output in enumerate(L0cOutput)}


def find_index(cells: Cells, ends: IntColumn, walks: Walks, plan: KernelPlan) -> int | None:
    """Number of the point that the plan is, in every field; None when it is none."""
    tile = _tile_cells(cells, TEMPLATE_CODES[plan.template], plan.base_m, plan.base_n)
    alike = (
        (cells.base_k[tile] == plan.base_k)
        & (cells.db_l0c[tile] == plan.db_l0c)
        & (cells.l0c_output[tile] == _OUTPUT_CODES[plan.l0c_output])
        & (cells.ub_db[tile] == plan.ub_db)
        & (cells.used_core_num[tile] == plan.used_core_num)
    )
    for cell in (np.flatnonzero(alike) + tile.start).tolist():
        digits = _find_digits(cells, walks, cell, plan)
        if digits is not None:
            return number_of(cells, ends, cell, digits)
    return None


def _tile_cells(cells: Cells, template: int, base_m: int, base_n: int) -> slice:
    """The cells of one tile: they are sorted by these three columns."""
    start, stop = 0, len(cells)
    for column, value in (
        (cells.template, template),
        (cells.base_m, base_m),
        (cells.base_n, base_n),
    ):
        part = column[start:stop]
        low = int(np.searchsorted(part, value, side="left"))
        high = int(np.searchsorted(part, value, side="right"))
        start, stop = start + low, start + high
    return slice(start, stop)


def _find_digits(
    cells: Cells, walks: Walks, cell: int, plan: KernelPlan
) -> tuple[int, ...] | None:
    """The plan's place in each list of the cell, in the order of `COUNT_COLUMNS`."""
    resident, off = divmod(
        plan.resident_slabs - int(cells.first_resident[cell]), int(cells.resident_stride[cell])
    )
    tails = (plan.m_tail_cnt, plan.n_tail_cnt)
    own_tails = (int(cells.m_tail_cnt[cell]), int(cells.n_tail_cnt[cell]))
    pieces = walks.single_core_k[span_of(cells.piece_start, cells.piece_count, cell)]
    windows = span_of(cells.window_start, cells.window_count, cell)
    same_window = (walks.window_len[windows] == plan.window_len) & (
        walks.serpentine[windows] == plan.serpentine
    )
    same_piece = pieces == plan.single_core_k
    wide = plan.step_k <= cells.four_slot_steps[cell]
    wide &= plan.resident_slabs <= cells.four_slot_residents[cell]
    slots = FULL_LOAD_SLOTS if wide else DOUBLE_BUFFER
    if off or plan.l1_buffer_num != slots or tails not in {own_tails, (1, 1)}:
        return None
    if not same_window.any() or not same_piece.any():
        return None
    digits = (
        plan.step_k - int(cells.first_step[cell]),
        resident,
        int(tails != own_tails),
        int(np.argmax(same_piece)),
        STREAM_K_ORDERS.index(plan.sk_order),
        int(np.argmax(same_window)),
    )
    counts = counts_of(cells, cell)
    inside = all(0 <= digit < count for digit, count in zip(digits, counts, strict=True))
    return digits if inside else None


def number_of(cells: Cells, ends: IntColumn, cell: int, digits: tuple[int, ...]) -> int:
    """Number of the point of a cell at these places in its lists (`COUNT_COLUMNS`)."""
    offset = 0
    for digit, count in zip(digits, counts_of(cells, cell), strict=True):
        offset = offset * count + digit
    return (int(ends[cell - 1]) if cell else 0) + offset


def counts_of(cells: Cells, cell: int) -> tuple[int, ...]:
    """Lengths of a cell's lists, in the order of `COUNT_COLUMNS`."""
    return tuple(int(getattr(cells, name)[cell]) for name in COUNT_COLUMNS)


def span_of(start: IntColumn, count: IntColumn, cell: int) -> slice:
    """Where a cell's values are in one of the lists of `Walks`."""
    return slice(int(start[cell]), int(start[cell] + count[cell]))
