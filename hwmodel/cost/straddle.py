"""Rows of a slab that touch a 128-byte line more than they need, which MTE2 loads more slowly.

Only rows that run along M or N do (docs/emulator.md, section 2). With r bytes in its last line a
row straddles where it starts more than line - r into a line. Where the pitch of the rows is whole
lines, all rows of a tile start at the same place: that of the tile.
"""

from hwmodel.cost.terms import OperandTerms, ProblemTerms
from hwmodel.cost.whole import ceil, floor
from hwmodel.emulator.constants import LINE_BYTES
from hwmodel.jit import inline

PER_LINE = 1 / LINE_BYTES

ANYWHERE = 1 / 3
"""A move by no whole number of lines, whatever the tiles: a core sees all places in turn."""


@inline
def straddle_share(
    terms: ProblemTerms,
    operand: OperandTerms,
    base: float,
    base_bit: int,
    tiles: float,
    moves: float,
) -> float:
    """Share of the rows of an operand's slabs that straddle on the busiest core.

    `base` is the outer length of a tile, of which there are `tiles`; from item to item a core goes
    on by `moves` of them. If its place in a line stays, there is a core all of whose rows
    straddle; else they start at all places in turn.
    """
    base_bytes = base * terms.input_bytes
    in_last_line = base_bytes - (ceil(base_bytes * PER_LINE) - 1.0) * LINE_BYTES
    grain = float(min(operand.pitch_bit, base_bit))
    mean = 1.0 - grain * PER_LINE * (1.0 + floor((LINE_BYTES - in_last_line) / grain))
    if operand.pitch_bit < LINE_BYTES:
        return mean if tiles > 1.0 else 0.0
    # The first tile starts on a line, the ones after it in_last_line further on each.
    first = floor(LINE_BYTES / in_last_line)
    if floor(operand.outer / base) <= first:
        return 0.0
    shift = moves * base_bytes * PER_LINE
    return 1.0 if shift == floor(shift) and mean > 0.0 else mean
