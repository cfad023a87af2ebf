"""The way of a tile out of L0C when nothing else moves: to C, through UB, or to the workspace.

Sources: the specification, kernels.md ("Fixpipe optimisation", "StreamK") and plan.md ("Fixpipe
output").
"""

from dataclasses import dataclass

import numpy as np

from hwmodel.cost.terms import ChipRates, Column, IntColumn, ProblemTerms
from hwmodel.footprint import L0C_ELEMENT_BYTES

UB_BLOCK_BYTES = 32
"""Rows in UB are whole blocks of this size (kernels.md, "Fixpipe optimisation")."""

WORKSPACE_BYTES = 4
"""Bytes of an element of a stream-K partial sum (fp32, specification: kernels.md, "StreamK")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UbStore:
    """The store through UB: fixpipe into UB, then a vector core writes the rows to GM.

    Attributes:
        rows_share: share of the tile's rows that one vector core writes: 1, or half for fp32.
        is_double: UB holds two tiles and the two movements overlap.
    """

    rows_share: float
    is_double: Column

    def cycles(self, chip: ChipRates, rows: Column, row_bytes: Column, into_ub: Column) -> Column:
        """Cycles from one tile to the next that the way out takes; UB rows are whole blocks."""
        padded = rows * np.ceil(row_bytes * (1 / UB_BLOCK_BYTES)) * UB_BLOCK_BYTES
        out_of_ub = padded * (self.rows_share / chip.aiv_ub_to_hbm)
        overlapped = np.maximum(into_ub, out_of_ub)
        cycles: Column = overlapped + (1 - self.is_double) * np.minimum(into_ub, out_of_ub)
        return cycles


@dataclass(frozen=True, slots=True, kw_only=True)
class WayOut:
    """Where a tile goes.

    Attributes:
        element_bytes: bytes of an element that the tile writes.
        in_one_run: the tile goes to a workspace slot, one contiguous run whatever the rows of C.
        through_ub: the vector cores' part of the store, None for a direct store.
    """

    element_bytes: int
    in_one_run: bool = False
    through_ub: UbStore | None = None

    def cycles(
        self, chip: ChipRates, terms: ProblemTerms, base_c_bit: IntColumn, m: Column, n: Column
    ) -> Column:
        """Time of an m x n tile's way out of L0C, cycles."""
        rows, columns = (n, m) if terms.is_transposed else (m, n)
        row_bytes = columns * self.element_bytes
        out_of_l0c = rows * columns * (L0C_ELEMENT_BYTES / chip.fixpipe)
        if self.through_ub is not None:
            return self.through_ub.cycles(chip, rows, row_bytes, out_of_l0c)
        if self.in_one_run:
            return out_of_l0c
        whole = terms.a.outer if terms.is_transposed else terms.b.outer
        cycles: Column = out_of_l0c + (columns < whole) * rows * partial_line_cycles(
            chip, terms, base_c_bit
        )
        return cycles


TO_WORKSPACE = WayOut(element_bytes=WORKSPACE_BYTES, in_one_run=True)
"""The way of a stream-K partial sum."""


def partial_line_cycles(chip: ChipRates, terms: ProblemTerms, base_c_bit: IntColumn) -> Column:
    """Cycles that the partial lines of C at both ends of a row's run cost.

    A run starts at a multiple of g, the greatest power of two in the pitch of C and in the
    distance between the tiles' starts: each end is off a line with the probability 1 - g/line.
    """
    per_byte = 1 / chip.line_bytes
    grain = np.minimum(np.minimum(terms.c_pitch_bit, base_c_bit), chip.line_bytes)
    cycles: Column = (2 - 2 * per_byte * grain) * chip.partial_line_cycles
    return cycles
