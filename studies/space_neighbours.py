"""The points one step away from a point, in one field."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from studies.space_cells import Cells, Walks
from studies.space_find import counts_of, number_of, span_of
from studies.vendor_columns import BoolColumn, IntColumn

_FIXED = ("template", "base_m", "base_n", "base_k", "db_l0c", "l0c_output")
"""Fields that are the same in all points of a cell and that do not follow from others."""
_SIZES = ("base_m", "base_n", "base_k")
_CHOICES = ("template", "db_l0c", "l0c_output")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a point is: the free fields, and its place in each list of its cell.

    Attributes:
        fixed: the values of `_FIXED`.
        tail: 0 for the vendor's tail split, 1 for none.
        piece: number in `Walks.single_core_k`.
        order: number in `STREAM_K_ORDERS`.
        window: (window_len, serpentine).
    """

    fixed: tuple[int, ...]
    step_k: int
    resident_slabs: int
    tail: int
    piece: int
    order: int
    window: tuple[int, int]


def list_neighbours(cells: Cells, ends: IntColumn, walks: Walks, index: int) -> IntColumn:
    """Numbers of the points one step away in one field, ascending (see `PlanSpace.neighbours`)."""
    cell = int(np.searchsorted(ends, index, side="right"))
    place = _place(cells, ends, walks, cell, index)
    found = {
        _nearest_point(cells, ends, walks, target)
        for targets in (_change_fixed, _change_steps, _change_walk)
        for target in targets(cells, walks, cell, place)
    }
    return np.array(sorted(found - {index}), dtype=np.int64)


def _place(cells: Cells, ends: IntColumn, walks: Walks, cell: int, index: int) -> _Place:
    rest = index - (int(ends[cell - 1]) if cell else 0)
    digits = []
    for count in reversed(counts_of(cells, cell)):
        rest, digit = divmod(rest, count)
        digits.append(digit)
    window, order, piece, tail, resident, step = digits
    at = int(cells.window_start[cell]) + window
    return _Place(
        fixed=tuple(int(getattr(cells, name)[cell]) for name in _FIXED),
        step_k=int(cells.first_step[cell]) + step,
        resident_slabs=int(cells.first_resident[cell] + resident * cells.resident_stride[cell]),
        tail=tail,
        piece=int(cells.piece_start[cell]) + piece,
        order=order,
        window=(int(walks.window_len[at]), int(walks.serpentine[at])),
    )


def _change_fixed(cells: Cells, _: Walks, __: int, place: _Place) -> Iterator[_Place]:
    """Another template, tile, base_k, db_l0c or output path."""
    for number, name in enumerate(_FIXED):
        values = np.unique(getattr(cells, name)[_cells_like(cells, place, name)]).tolist()
        old = place.fixed[number]
        others = _next_to(values, old) if name in _SIZES else [v for v in values if v != old]
        for value in others:
            fixed = (*place.fixed[:number], value, *place.fixed[number + 1 :])
            yield replace(place, fixed=fixed)


def _change_steps(cells: Cells, _: Walks, __: int, place: _Place) -> Iterator[_Place]:
    """Another step_k or resident_slabs."""
    same = _cells_like(cells, place, "step_k")
    first, last = cells.first_step[same], cells.first_step[same] + cells.step_count[same] - 1
    steps = sorted({*last[last < place.step_k].tolist(), *first[first > place.step_k].tolist()})
    here = same[(first <= place.step_k) & (place.step_k <= last)]
    for cell in here.tolist():
        start = int(cells.first_step[cell])
        steps.extend(range(start, start + int(cells.step_count[cell])))
    for step in _next_to(sorted(steps), place.step_k):
        yield replace(place, step_k=step)
    for slabs in _next_to(_resident_values(cells, here), place.resident_slabs):
        yield replace(place, resident_slabs=slabs)


def _change_walk(cells: Cells, walks: Walks, cell: int, place: _Place) -> Iterator[_Place]:
    """Another tail split, single_core_k, stream-K order or window."""
    if cells.tail_count[cell] > 1:
        yield replace(place, tail=1 - place.tail)
    pieces = span_of(cells.piece_start, cells.piece_count, cell)
    for piece in _next_to(list(range(pieces.start, pieces.stop)), place.piece):
        yield replace(place, piece=piece)
    for order in range(int(cells.order_count[cell])):
        yield replace(place, order=order)
    span = span_of(cells.window_start, cells.window_count, cell)
    length, serpentine = place.window
    alike = walks.serpentine[span] == serpentine
    for other in _next_to(np.unique(walks.window_len[span][alike]).tolist(), length):
        yield replace(place, window=(other, serpentine))
    if ((walks.window_len[span] == length) & ~alike).any():
        yield replace(place, window=(length, 1 - serpentine))


def _cells_like(cells: Cells, place: _Place, free: str) -> IntColumn:
    """Cells with the place's fixed fields and step_k, but for the one that is free."""
    bounds = slice(0, len(cells)) if free == "template" else _template_cells(cells, place.fixed[0])
    alike: BoolColumn = np.ones(bounds.stop - bounds.start, dtype=np.bool_)
    for name, value in zip(_FIXED, place.fixed, strict=True):
        if name != free:
            alike &= getattr(cells, name)[bounds] == value
    found = np.flatnonzero(alike) + bounds.start
    if free != "step_k":
        past = place.step_k - cells.first_step[found]
        found = found[(past >= 0) & (past < cells.step_count[found])]
    return found


def _template_cells(cells: Cells, template: int) -> slice:
    return slice(
        int(np.searchsorted(cells.template, template, side="left")),
        int(np.searchsorted(cells.template, template, side="right")),
    )


def _nearest_point(cells: Cells, ends: IntColumn, walks: Walks, place: _Place) -> int:
    """The point of the place, or the nearest to it where it has none.

    The fixed fields and step_k are kept; resident_slabs and what decides the walk may differ.
    """
    candidates = _cells_like(cells, place, "none")
    distance = [_resident_digit(cells, cell, place)[1] for cell in candidates.tolist()]
    cell = int(candidates[int(np.argmin(distance))])
    windows = span_of(cells.window_start, cells.window_count, cell)
    window_distance = np.abs(walks.window_len[windows] - place.window[0]) * 2 + (
        walks.serpentine[windows] != place.window[1]
    )
    digits = (
        place.step_k - int(cells.first_step[cell]),
        _resident_digit(cells, cell, place)[0],
        min(place.tail, int(cells.tail_count[cell]) - 1),
        min(max(place.piece - int(cells.piece_start[cell]), 0), int(cells.piece_count[cell]) - 1),
        min(place.order, int(cells.order_count[cell]) - 1),
        int(np.argmin(window_distance)),
    )
    return number_of(cells, ends, cell, digits)


def _resident_digit(cells: Cells, cell: int, place: _Place) -> tuple[int, int]:
    """Place of the nearest resident_slabs of the cell, and how far it is."""
    first, stride = int(cells.first_resident[cell]), int(cells.resident_stride[cell])
    last = int(cells.resident_count[cell]) - 1
    digit = min(max(round((place.resident_slabs - first) / stride), 0), last)
    return digit, abs(first + digit * stride - place.resident_slabs)


def _resident_values(cells: Cells, same: IntColumn) -> list[int]:
    """Values of resident_slabs of these cells, ascending."""
    return sorted(
        int(cells.first_resident[cell] + digit * cells.resident_stride[cell])
        for cell in same.tolist()
        for digit in range(int(cells.resident_count[cell]))
    )


def _next_to(values: list[int], old: int) -> list[int]:
    """The next smaller and the next larger of ascending values."""
    smaller = [value for value in values if value < old]
    larger = [value for value in values if value > old]
    return smaller[-1:] + larger[:1]
