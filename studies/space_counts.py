"""How many points a space has, by template and by factor, from its cells alone."""

from dataclasses import dataclass

import numpy as np

from hwmodel.plan import StreamKOrder, Template
from hwmodel.plan_batch import TEMPLATE_CODES
from studies.space import PlanSpace
from studies.space_cells import COUNT_COLUMNS, STREAM_K_ORDERS, Cells
from studies.vendor_columns import IntColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateCount:
    """Legal points of one template, factor by factor.

    Each number counts combinations of the factor's fields with those before it.

    Attributes:
        template: the kernel.
        cartesian: points of the product of the axes, legal or not.
        tiles: pairs (base_m, base_n).
        l0c: with db_l0c and the output path.
        base_k: with base_k.
        step_k: with step_k.
        resident_slabs: with resident_slabs.
        tails: with the tail split by the vendor's rule or none.
        pieces: with single_core_k.
        orders: with the place of the stream-K piece.
        points: with the window; all points.
    """

    template: Template
    cartesian: int
    tiles: int
    l0c: int
    base_k: int
    step_k: int
    resident_slabs: int
    tails: int
    pieces: int
    orders: int
    points: int


FACTORS = (
    "tiles",
    "l0c",
    "base_k",
    "step_k",
    "resident_slabs",
    "tails",
    "pieces",
    "orders",
    "points",
)
"""The factors in their order, as `TemplateCount` names them."""


FIELDS = (
    "base_m",
    "base_n",
    "base_k",
    "step_k",
    "db_l0c",
    "l0c_output",
    "resident_slabs",
    "single_core_k",
    "sk_order",
    "window_len",
    "serpentine",
)
"""Fields of a plan that a space varies, but for the template and the tail split."""

_TILE = ("base_m", "base_n")
_ORDER_CODES = np.array([list(StreamKOrder).index(order) for order in STREAM_K_ORDERS])


def count_points_by_template(space: PlanSpace) -> tuple[TemplateCount, ...]:
    """The counts of each template that the space considers, with or without legal points."""
    return tuple(
        _count_template(space, template, cartesian)
        for template, cartesian in space.template_cartesian.items()
    )


def list_values(space: PlanSpace, field: str) -> IntColumn:
    """The values of a field of the plans that occur in the space, ascending.

    Args:
        space: the space.
        field: one of `FIELDS`.
    """
    cells = space.cells
    match field:
        case "step_k":
            last = int((cells.first_step + cells.step_count - 1).max(initial=0))
            return _list_spans(cells.first_step, cells.step_count, last)
        case "resident_slabs":
            counts = cells.resident_count
            place = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
            values = np.repeat(cells.first_resident, counts)
            return np.unique(values + place * np.repeat(cells.resident_stride, counts))
        case "single_core_k":
            used = _list_spans(
                cells.piece_start, cells.piece_count, len(space.walks.single_core_k) - 1
            )
            return np.unique(space.walks.single_core_k[used])
        case "sk_order":
            return np.sort(_ORDER_CODES[: int(cells.order_count.max(initial=0))])
        case "window_len" | "serpentine":
            used = _list_spans(
                cells.window_start, cells.window_count, len(space.walks.window_len) - 1
            )
            return np.unique(getattr(space.walks, field)[used])
        case _:
            return np.unique(getattr(cells, field))


def _list_spans(first: IntColumn, count: IntColumn, last: int) -> IntColumn:
    """The whole numbers up to `last` in any of the runs of `count` numbers from `first` on."""
    change = np.zeros(last + 2, dtype=np.int64)
    np.add.at(change, first, 1)
    np.add.at(change, first + count, -1)
    return np.flatnonzero(np.cumsum(change) > 0)


def _count_template(space: PlanSpace, template: Template, cartesian: int) -> TemplateCount:
    cells = space.cells
    code = TEMPLATE_CODES[template]
    rows = slice(
        int(np.searchsorted(cells.template, code, side="left")),
        int(np.searchsorted(cells.template, code, side="right")),
    )
    l0c = (*_TILE, "db_l0c", "l0c_output")
    counts = np.ones(rows.stop - rows.start, dtype=np.int64)
    products: list[int] = []
    for name in COUNT_COLUMNS:
        counts = counts * getattr(cells, name)[rows]
        products.append(int(counts.sum()))
    # A panel may have two cells for the same step_k.
    again = len(counts) - _count_changes(cells, rows, (*l0c, "base_k", "first_step"))
    return TemplateCount(
        template=template,
        cartesian=cartesian,
        tiles=_count_changes(cells, rows, _TILE),
        l0c=_count_changes(cells, rows, l0c),
        base_k=_count_changes(cells, rows, (*l0c, "base_k")),
        step_k=products[0] - again,
        resident_slabs=products[1],
        tails=products[2],
        pieces=products[3],
        orders=products[4],
        points=products[5],
    )


def _count_changes(cells: Cells, rows: slice, names: tuple[str, ...]) -> int:
    """Distinct combinations of columns by which the cells are sorted."""
    if rows.stop == rows.start:
        return 0
    changes = np.zeros(rows.stop - rows.start - 1, dtype=np.bool_)
    for name in names:
        column = getattr(cells, name)[rows]
        changes |= column[1:] != column[:-1]
    return int(changes.sum()) + 1
