"""The way of a tile out of L0C when nothing else moves: to C, through UB, or to the workspace.

Sources: the specification, kernels.md ("Fixpipe optimisation", "StreamK") and plan.md ("Fixpipe
output").
"""

from typing import NamedTuple

from hwmodel.cost.terms import ChipRates, ProblemTerms
from hwmodel.cost.whole import ceil, floor
from hwmodel.emulator.constants import LINE_BYTES
from hwmodel.jit import inline

UB_BLOCK_BYTES = 32
"""Rows in UB are whole blocks of this size (kernels.md, "Fixpipe optimisation")."""

WORKSPACE_BYTES = 4.0
"""Bytes of an element of a stream-K partial sum (fp32, specification: kernels.md, "StreamK")."""

FP32_BYTES = 4.0

HALF_ROWS = 0.5
"""Of an fp32 tile in UB two vector cores write half the rows each (kernels.md)."""

MIXED_PLACES = 3.0
"""Of as many block columns, the middle one may start and end off a line."""

PER_UB_BLOCK = 1 / UB_BLOCK_BYTES
PER_LINE = 1 / LINE_BYTES


class WayOut(NamedTuple):
    """Where a tile goes.

    Attributes:
        element_bytes: bytes of an element that the tile writes.
        in_one_run: the tile goes to a workspace slot, one contiguous run whatever the rows of C.
        through_ub: fixpipe into UB, then the vector cores write the rows to memory.
        is_double: UB holds two tiles and the two movements overlap.
        base_bytes: bytes from one column of blocks to the next.
        end_cycles: what the partial lines at both ends of a row's run cost.
    """

    element_bytes: float
    in_one_run: bool
    through_ub: bool
    is_double: bool
    base_bytes: float
    end_cycles: float


@inline
def partial_line_cycles(terms: ProblemTerms, chip: ChipRates, base_c_bit: int) -> float:
    """Cycles that the partial lines of C at both ends of a row's run cost.

    A run starts at a multiple of g, the greatest power of two in the pitch of C and in the
    distance between the tiles' starts: each end is off a line with the probability 1 - g/line.
    """
    grain = min(terms.c_pitch_bit, base_c_bit)
    return (2.0 - 2.0 * PER_LINE * grain) * chip.partial_line_cycles


@inline
def store_cycles(
    terms: ProblemTerms, chip: ChipRates, way_out: WayOut, m: float, n: float
) -> float:
    """Time of an m x n tile's way out of L0C."""
    out_of_l0c = m * n * chip.fixpipe_per_element
    if way_out.in_one_run:
        return out_of_l0c
    rows, columns = (n, m) if terms.is_transposed else (m, n)
    if way_out.through_ub:
        row_bytes = columns * way_out.element_bytes
        padded = rows * ceil(row_bytes * PER_UB_BLOCK) * UB_BLOCK_BYTES
        share = HALF_ROWS if way_out.element_bytes == FP32_BYTES else 1.0
        out_of_ub = padded * share * chip.aiv_store_per_byte
        if way_out.is_double:
            return max(out_of_l0c, out_of_ub)
        return out_of_l0c + out_of_ub
    whole = terms.a.outer if terms.is_transposed else terms.b.outer
    if columns < whole:
        return out_of_l0c + rows * way_out.end_cycles
    return out_of_l0c


@inline
def keep_row_ends(
    terms: ProblemTerms, chip: ChipRates, way_out: WayOut, columns: float, tiles: float
) -> WayOut:
    """The way out of the core whose tiles all start at the same place in a line, if they do.

    From one item to the next a core goes on by that many of all the `tiles` columns. If rows of C
    are whole lines, and three places in a line exist, one core has both ends off a line always.
    """
    moves = columns * way_out.base_bytes * PER_LINE
    is_split = way_out.end_cycles > chip.partial_line_cycles
    if (
        terms.c_pitch_bit < LINE_BYTES
        or tiles < MIXED_PLACES
        or moves != floor(moves)
        or not is_split
    ):
        return way_out
    return WayOut(
        element_bytes=way_out.element_bytes,
        in_one_run=way_out.in_one_run,
        through_ub=way_out.through_ub,
        is_double=way_out.is_double,
        base_bytes=way_out.base_bytes,
        end_cycles=2.0 * chip.partial_line_cycles,
    )
