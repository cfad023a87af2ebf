"""The domain lists of hypotheses H4, H5 and H6 (specification: studies.md, Shapes and Hypotheses).

They are grids fixed before any run: shapes on which the claim can show, chosen by sizes alone.
"""

from itertools import product
from math import sqrt

from hwmodel.dtypes import DType
from hwmodel.integers import FRACTAL, align_down, align_up
from hwmodel.problem import GemmProblem
from studies.shape_rows import ShapeRow

H4_K = (64, 96, 192, 256, 320, 512)
H4_M = (256, 512, 1536, 4096, 8192)
H4_ODD_N = tuple(FRACTAL * odd for odd in (9, 21, 33, 65, 129, 257))
"""Odd multiples of 16 from 144 to 4112: rows of C end inside a 128-byte line."""
H4_PRIME_N = (131, 257, 521, 1031, 2053, 4099)
"""Primes: rows of C start at any byte."""

H5_L2_BYTES = 134_217_728
"""L2 of the 950 (specification: hardware.md, SoCs)."""
H5_C_OVER_L2 = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0)
H5_ASPECTS_AND_K = ((1, 128), (1, 2048), (4, 512), (1 / 4, 256), (16, 64))
"""M over N, and K: from far to near the edge of M*N > M*K + K*N."""
H5_N_UNIT = 128
"""N is a multiple of this, so that only size and not alignment differs within the list."""

H6_K = (256, 1024, 4096, 7168, 16384)
H6_LENGTHS = (64, 1000, 8192, 131072)
"""Length of the vector that comes out; 1000 is no multiple of 16."""


def build_h4_rows() -> tuple[ShapeRow, ...]:
    """60 shapes with short K and ragged N: each (K, M) with an odd multiple of 16 and a prime.

    The two lists of N are walked along the diagonals of the (K, M) grid, so that every N meets
    every M and all but one K.
    """
    rows: list[ShapeRow] = []
    for (i, k), (j, m) in product(enumerate(H4_K), enumerate(H4_M)):
        step = (i + j) % len(H4_ODD_N)
        for tag, n in (("odd multiple of 16", H4_ODD_N[step]), ("prime", H4_PRIME_N[step])):
            rows.append(_domain_row(len(rows), "H4", tag, GemmProblem(m=m, k=k, n=n)))
    return tuple(rows)


def build_h5_rows() -> tuple[ShapeRow, ...]:
    """40 shapes that write more than they read, with C from half of L2 to eight times L2."""
    rows: list[ShapeRow] = []
    for c_over_l2, (aspect, k) in product(H5_C_OVER_L2, H5_ASPECTS_AND_K):
        elements = int(c_over_l2 * H5_L2_BYTES) // DType.BF16.size_bytes
        n = align_up(int(sqrt(elements / aspect)), H5_N_UNIT)
        # Rounded towards the inside of the range of C, whose ends are part of the list.
        largest = c_over_l2 == max(H5_C_OVER_L2)
        m = align_down(elements // n, FRACTAL) if largest else align_up(-(-elements // n), FRACTAL)
        tag = f"C = {c_over_l2:g} x L2"
        rows.append(_domain_row(len(rows), "H5", tag, GemmProblem(m=m, k=k, n=n)))
    return tuple(rows)


def build_h6_rows() -> tuple[ShapeRow, ...]:
    """40 matrix-vector products, half with M = 1 and half with N = 1: both orders, both types."""
    rows: list[ShapeRow] = []
    for (i, k), (j, length) in product(enumerate(H6_K), enumerate(H6_LENGTHS)):
        dtype = DType.FP16 if (i + j) % 2 else DType.BF16
        stored_by_k = j % 2 == 0
        row_vector = GemmProblem(
            m=1, k=k, n=length, trans_b=stored_by_k, dtype=dtype, out_dtype=dtype
        )
        column_vector = GemmProblem(
            m=length, k=k, n=1, trans_a=not stored_by_k, dtype=dtype, out_dtype=dtype
        )
        rows.append(_domain_row(len(rows), "H6", "M = 1", row_vector))
        rows.append(_domain_row(len(rows), "H6", "N = 1", column_vector))
    return tuple(rows)


def _domain_row(index: int, hypothesis: str, tag: str, problem: GemmProblem) -> ShapeRow:
    """A row of a domain list; shapes within a list are distinct, and so are the names."""
    return ShapeRow(index=index, name=f"{hypothesis} {problem.label()}", problem=problem, tag=tag)
