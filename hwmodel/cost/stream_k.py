"""What stream-K adds to a walk: its plan and the reduction of the partial sums."""

from typing import NamedTuple

from hwmodel.cost.store import WORKSPACE_BYTES
from hwmodel.cost.terms import ChipRates, ProblemTerms
from hwmodel.cost.whole import ceil
from hwmodel.jit import inline

BAND_ELEMENTS = 32.0
"""A band of a stream-K reduction is at least this many elements (swizzle.md, section 2)."""


class StreamKPlan(NamedTuple):
    """Stream-K's figures.

    Attributes:
        is_used: the last round is made of pieces of K.
        piece_k: K columns of one piece.
        after_piece: data-parallel tiles that a core runs after its piece: as many as fit the
            order, capped by how many there are.
        pitch_grain: the rows of a workspace slot are a multiple of this many elements long.
    """

    is_used: bool
    piece_k: float
    after_piece: float
    pitch_grain: float


@inline
def reduction_cycles(
    terms: ProblemTerms, chip: ChipRates, stream_k: StreamKPlan, m: float, n: float
) -> float:
    """Time of a vector core's band of a stream-K tile of m rows and n columns.

    Two vector cores share each slot's band: each copies its band from all slots of the tile, adds
    them one after the other, casts and writes it (docs/emulator.md, section 5; specification:
    kernels.md, "StreamK"; swizzle.md, section 2).
    """
    pieces = ceil(terms.k / stream_k.piece_k)
    pitch = ceil(n / stream_k.pitch_grain) * stream_k.pitch_grain
    row_grain = ceil(BAND_ELEMENTS / pitch)
    rows = min(ceil(ceil(m / (2.0 * pieces)) / row_grain) * row_grain, m)
    band_bytes = rows * pitch * (WORKSPACE_BYTES * pieces + terms.output_bytes)
    passes = pieces * ceil(rows * pitch * chip.per_vector_lane)
    return band_bytes * chip.aiv_reduce_per_byte + passes
