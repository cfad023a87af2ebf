"""How slabs and tiles lie in memory: rows, lines, unaligned ends (docs/emulator.md, section 2)."""

import numpy as np
from numpy.typing import NDArray

from hwmodel.emulator.layout import (
    C0,
    C_ELEMENT_BYTES,
    ELEMENT_BYTES,
    IS_NZ,
    K_INNER_A,
    K_INNER_B,
    LEN_K,
    LEN_M,
    LEN_N,
    OPERAND_A,
)
from hwmodel.integers import FRACTAL
from hwmodel.jit import inline, jit

Vector = NDArray[np.int64]

LINE_SHIFT = 7
"""Lines are 128 bytes."""

SPAN_SHIFT = 24
"""Ticks a cycle times grains a byte, as a power of two."""


@inline
def span(size: int, rate_q: int) -> int:
    """Ticks that `size` bytes take at a rate in bytes per cycle times 65,536, rounded up."""
    return ((size << SPAN_SHIFT) + rate_q - 1) // rate_q


@inline
def up(value: int, unit: int) -> int:
    """`value` rounded up to a multiple of `unit`."""
    return (value + unit - 1) // unit * unit


@inline
def slab_rows(
    par: Vector, operand: int, offset: int, size: int, k0: int, width: int
) -> tuple[int, int, int, int]:
    """Rows, run, pitch and byte offset of the slab `size` x `width` at `offset`, `k0`."""
    element = par[ELEMENT_BYTES]
    if operand == OPERAND_A:
        is_k_inner = par[K_INNER_A]
        length = par[LEN_M]
    else:
        if par[IS_NZ]:
            run = up(size, FRACTAL) * up(width, par[C0]) * element
            return 1, run, run, 0
        is_k_inner = par[K_INNER_B]
        length = par[LEN_N]
    if is_k_inner:
        rows, run, pitch = size, width * element, par[LEN_K] * element
        start = (offset * par[LEN_K] + k0) * element
    else:
        rows, run, pitch = width, size * element, length * element
        start = (k0 * length + offset) * element
    if run == pitch:
        return 1, rows * run, rows * run, start
    return rows, run, pitch, start


@inline
def count_phases(start: int, pitch: int, rows: int, least: int) -> int:
    """Rows that start at least `least` bytes into a line; `least` >= 1."""
    mask = (1 << LINE_SHIFT) - 1
    phase = start & mask
    step = pitch & mask
    if step == 0 or rows == 1:
        return rows if phase >= least else 0
    # The phases repeat after `period` rows and are then all those congruent modulo `unit`.
    unit = step & -step
    period = (1 << LINE_SHIFT) // unit
    lowest = phase & (unit - 1)
    below = max(0, (least - lowest + unit - 1) // unit)
    count = rows // period * max(0, period - below)
    for _ in range(rows % period):
        if phase >= least:
            count += 1
        phase = (phase + step) & mask
    return count


@inline
def count_straddles(rows: int, run: int, pitch: int, start: int) -> int:
    """Rows that touch one 128-byte line more than a row of their length needs."""
    part = run & ((1 << LINE_SHIFT) - 1)
    return count_phases(start, pitch, rows, (1 << LINE_SHIFT) + 1 - part if part else 1)


@inline
def line_bytes(rows: int, run: int, pitch: int, start: int) -> int:
    """Bytes of the 128-byte lines that the rows touch, each row for itself."""
    least = rows * ((run + (1 << LINE_SHIFT) - 1) >> LINE_SHIFT)
    return (least + count_straddles(rows, run, pitch, start)) << LINE_SHIFT


@jit
def unaligned_ends(par: Vector, m_off: int, n_off: int, rows: int, cols: int) -> int:
    """Row ends of a tile of C that are not on a line's boundary."""
    element = par[C_ELEMENT_BYTES]
    start = (m_off * par[LEN_N] + n_off) * element
    run = cols * element
    if cols == par[LEN_N]:
        run *= rows
        rows = 1
    pitch = par[LEN_N] * element
    return count_phases(start, pitch, rows, 1) + count_phases(start + run, pitch, rows, 1)
