"""Defects of the vendor's kernels that a problem meets (specification: kernels.md, "Defects").

They concern the results of the kernels, not the tiling; `autotune baseline --explain` warns about
them.
"""

from typing import Final

from baseline.dispatch import Strategy
from baseline.platform import Platform
from hwmodel.dtypes import DType, Format
from hwmodel.integers import ceil_div
from hwmodel.problem import GemmProblem

U32: Final = 2**32
"""K_EQUAL_ZERO counts the elements of C in 32 bits."""

OLD_PATH_SLICE: Final = 1024
"""K columns of a slice of the older stream-K kernel with fp32 output."""

BROKEN_K_REMAINDERS: Final = range(1, 9)
"""K % 16 for which the older stream-K kernel reads fp32 B in NZ at a wrong offset."""

K_UNIT: Final = 16
"""Rows of a fractal block of B in NZ, not transposed."""

OLD_PATH: Final = "on the older API path (offset_x = 0x80, or a build without the tensor API)"


def find_defects(
    problem: GemmProblem, platform: Platform, strategy: Strategy, single_core_k: int
) -> tuple[str, ...]:
    """One sentence for each defect that the problem meets.

    Args:
        problem: the problem.
        platform: the chip.
        strategy: the strategy that runs it.
        single_core_k: K columns of a stream-K piece.
    """
    if strategy is Strategy.K_EQUAL_ZERO:
        return _find_clearing_defects(problem, platform)
    if strategy is Strategy.BASIC_STREAM_K:
        return _find_stream_k_defects(problem, single_core_k)
    return ()


def _find_clearing_defects(problem: GemmProblem, platform: Platform) -> tuple[str, ...]:
    """Defects 1 and 2: what K_EQUAL_ZERO clears is not C."""
    elements = problem.m * problem.n
    cleared = elements % U32
    found = []
    share = ceil_div(cleared, platform.aiv_num)
    if share and cleared % share == 0 and cleared // share < platform.aiv_num:
        found.append(
            f"defect 1: one vector core clears {share} element(s) beyond the end of C, because"
            f" M*N = {elements} is {cleared // share} whole shares, fewer than the"
            f" {platform.aiv_num} cores"
        )
    if elements >= U32:
        found.append(
            f"defect 2: M*N = {elements} does not fit 32 bits; only {cleared} elements of C are"
            " cleared"
        )
    return tuple(found)


def _find_stream_k_defects(problem: GemmProblem, single_core_k: int) -> tuple[str, ...]:
    """Defects 3 and 4: the older stream-K kernel with fp32."""
    found = []
    last_piece = problem.k - (ceil_div(problem.k, single_core_k) - 1) * single_core_k
    if problem.out_dtype is DType.FP32 and last_piece < OLD_PATH_SLICE < single_core_k:
        found.append(
            f"defect 3: {OLD_PATH} the last K piece of {last_piece} columns is run past K, because"
            f" it is shorter than {OLD_PATH_SLICE} and the others ({single_core_k}) are longer"
        )
    if (
        problem.dtype is DType.FP32
        and problem.format_b is Format.NZ
        and not problem.trans_b
        and problem.k % K_UNIT in BROKEN_K_REMAINDERS
    ):
        found.append(
            f"defect 4: {OLD_PATH} fp32 B in NZ is read at a wrong offset, because"
            f" K % {K_UNIT} = {problem.k % K_UNIT}"
        )
    return tuple(found)
