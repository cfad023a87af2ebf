"""base_k, the K columns of one L0 step (specification: host-tiling.md, section 5)."""

from typing import Final

from baseline.platform import Platform
from hwmodel.integers import FRACTAL
from hwmodel.problem import GemmProblem

WIDE_SLICE_BYTES: Final = 256
"""A K slice of whole multiples of this many bytes is preferred."""

NARROW_BASE_KS: Final = (128, 64, 32, 16)
"""Choices, widest first, when the slice is narrower than that."""


def choose_base_k(
    problem: GemmProblem, platform: Platform, base_m: int, base_n: int, start: int
) -> int:
    """K columns of one L0 step; `start` where the L0 buffers hold none of the vendor's choices.

    The longest slice that both halves of L0A and L0B take, rounded to what the memories read well.
    """
    element_bytes = problem.dtype.size_bytes
    k16 = -(-problem.k // FRACTAL) * FRACTAL
    max_k = platform.l0a_bytes // 2 // element_bytes // max(base_m, base_n)
    if k16 <= max_k:
        return k16
    if problem.trans_a and not problem.trans_b:
        return max_k // FRACTAL * FRACTAL
    if max_k * element_bytes >= WIDE_SLICE_BYTES:
        unit = WIDE_SLICE_BYTES // element_bytes
        return max_k // unit * unit
    for base_k in NARROW_BASE_KS:
        if base_k <= max_k:
            return base_k
    return start
