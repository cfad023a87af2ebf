"""What stream-K adds to a walk: its plan and the reduction of the partial sums."""

from dataclasses import dataclass

import numpy as np

from hwmodel.cost.store import WORKSPACE_BYTES, partial_line_cycles
from hwmodel.cost.terms import ChipRates, Column, ProblemTerms
from hwmodel.cost.tile import TilePlan

BAND_ELEMENTS = 32
"""A band of a stream-K reduction is at least this many elements (swizzle.md, section 2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamKPlan:
    """Stream-K's columns.

    Attributes:
        piece_k: K columns of one piece.
        after_piece: data-parallel tiles that a core runs after its piece: as many as fit the
            order, capped by how many there are.
        pitch_grain: the rows of a workspace slot are a multiple of this many elements long.
    """

    piece_k: Column
    after_piece: Column
    pitch_grain: int


def reduction_cycles(
    terms: ProblemTerms,
    chip: ChipRates,
    plan: TilePlan,
    stream_k: StreamKPlan,
    tile: tuple[Column, Column],
) -> Column:
    """Time of a vector core's band of a stream-K tile of that many rows and columns.

    Two vector cores share each slot's band: each copies its band from all slots of the tile, adds
    them one after the other, casts and writes it by rows of C, with their partial lines
    (specification: kernels.md, "StreamK"; swizzle.md, section 2; effects.md, "Open").
    """
    m, n = tile
    pieces = np.ceil(terms.k / stream_k.piece_k)
    pitch = np.ceil(n * (1 / stream_k.pitch_grain)) * stream_k.pitch_grain
    row_grain = np.ceil(BAND_ELEMENTS / pitch)
    rows = np.minimum(np.ceil(np.ceil(m / (2 * pieces)) / row_grain) * row_grain, m)
    row_bytes = n * terms.output_bytes
    copy_in = rows * pitch * pieces * (WORKSPACE_BYTES / chip.aiv_reduce)
    passes = rows * pitch * (pieces / chip.vector_lanes)
    partial = partial_line_cycles(chip, terms, plan.base_c_bit)
    cycles: Column = copy_in + passes + rows * (row_bytes * (1 / chip.aiv_reduce) + partial)
    return cycles
