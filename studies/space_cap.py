"""What a space leaves out where it would be too large for a search.

The specification has at most about 10^7 points of a shape covered (plan.md, "Size of the space").
Partial loads, panels and stream-K have axes that multiply: resident_slabs counts to dozens, and
single_core_k takes three values for each number of pieces. They are thinned first, in the steps
of `CAPS`; ASWT, the full loads and the vector kernel never are.
"""

from dataclasses import dataclass, replace

import numpy as np

from hwmodel.plan import Template
from hwmodel.problem import GemmProblem
from studies.space_axes import (
    PANEL_TEMPLATES,
    RESIDENT_TEMPLATES,
    list_even_pieces,
    list_pieces,
)
from studies.space_cells import TemplateCells
from studies.vendor_columns import IntColumn, ceil_columns

MAX_POINTS = 10**7
"""Points of a shape that a search covers at most (specification: plan.md, "Size of the space")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """What is left of the axes that are thinned.

    Attributes:
        resident_values: values of resident_slabs for each combination of the other fields: the
            most that is legal and evenly spaced smaller ones; 0 for all.
        reusing_windows: of the windows of a panel only those under which a core goes on in the
            same block row: the number of cores divides by the window's length (specification:
            plan.md, "How the proposed templates run").
        even_pieces: of the values of single_core_k only those that the vendor would choose.
        quick_windows: of the windows of stream-K only those of the quick preset.
        vendor_order: of the orders of the stream-K piece only the vendor's.
    """

    resident_values: int = 0
    reusing_windows: bool = False
    even_pieces: bool = False
    quick_windows: bool = False
    vendor_order: bool = False

    @property
    def restriction(self) -> str:
        """The same in words; empty when all is left."""
        parts = (
            (self.resident_values == 1, "resident_slabs: the most that fits"),
            (
                self.resident_values > 1,
                f"resident_slabs: {self.resident_values} values, the most that fits and evenly "
                "spaced smaller ones",
            ),
            (self.reusing_windows, "panels: windows whose length divides the cores"),
            (self.even_pieces, "stream-K: even pieces of K"),
            (self.quick_windows, "stream-K: windows 1, 2, 4, 8 and Mt"),
            (self.vendor_order, "stream-K: the vendor's order"),
        )
        return "; ".join(text for applies, text in parts if applies)


NO_CAP = Cap()
_THIN = Cap(resident_values=3, reusing_windows=True)
CAPS = (
    NO_CAP,
    _THIN,
    replace(_THIN, even_pieces=True),
    replace(_THIN, even_pieces=True, quick_windows=True),
    replace(_THIN, even_pieces=True, quick_windows=True, resident_values=1),
    replace(_THIN, even_pieces=True, quick_windows=True, resident_values=1, vendor_order=True),
)
"""Tried in this order until the space is small enough."""


def cap_cells(problem: GemmProblem, cores: int, part: TemplateCells, cap: Cap) -> TemplateCells:
    """The cells of a template under the cap."""
    columns = dict(part.columns)
    if part.template in RESIDENT_TEMPLATES and cap.resident_values:
        columns |= _thin_residents(columns, cap.resident_values)
    if part.template in PANEL_TEMPLATES and cap.reusing_windows:
        columns["window_count"] = columns["preferred_count"]
    if part.template is Template.STREAM_K:
        columns |= _thin_stream_k(problem, cores, columns, cap)
    return replace(part, columns=columns)


def _thin_stream_k(
    problem: GemmProblem, cores: int, columns: dict[str, IntColumn], cap: Cap
) -> dict[str, IntColumn]:
    """What the cap leaves of pieces, windows and orders."""
    thinned = {}
    if cap.even_pieces:
        even = set(list_even_pieces(problem, cores))
        kept = [int(piece in even) for piece in list_pieces(problem, cores)]
        # A cell has the first pieces of the list, so also the first of the even ones.
        before = np.cumsum([0, *kept])
        thinned["piece_count"] = before[columns["piece_count"]]
    if cap.quick_windows:
        thinned["window_count"] = columns["preferred_count"]
    if cap.vendor_order:
        thinned["order_count"] = np.ones_like(columns["order_count"])
    return thinned


def list_capped_pieces(problem: GemmProblem, cores: int, cap: Cap) -> tuple[int, ...]:
    """The values of single_core_k that cells refer to under the cap."""
    pieces = list_even_pieces if cap.even_pieces else list_pieces
    return pieces(problem, cores)


def _thin_residents(columns: dict[str, IntColumn], values: int) -> dict[str, IntColumn]:
    """The largest resident_slabs of each cell and evenly spaced smaller ones.

    The values are consecutive before.
    """
    first, count = columns["first_resident"], columns["resident_count"]
    last = first + count - 1
    stride = ceil_columns(count, values)
    count = ceil_columns(count, stride)
    return {
        "first_resident": last - (count - 1) * stride,
        "resident_stride": stride,
        "resident_count": count,
    }
