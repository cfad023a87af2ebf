"""Re-split of the last round, and the L1 tile (specification: host-tiling.md, section 6)."""

from typing import Final

from baseline.platform import Platform
from baseline.steps import Recorder
from hwmodel.integers import ceil_div, floor_div
from hwmodel.problem import GemmProblem

SHORT_RUN_BYTES: Final = 128
"""A contiguous run of this many bytes or less is not split further."""

MAX_STEP_K: Final = 8
"""Most L0 steps tried in one L1 step."""

LONG_RUN_BYTES: Final = 512
"""Preferred contiguous bytes of an L1 slab along K."""

MEDIUM_RUN_BYTES: Final = 256
"""Second best contiguous bytes of an L1 slab along K."""

EFFICIENT_TRANSFER_BYTES: Final = 49152
"""MTE2 moves slabs of at least 48 KiB at full efficiency; longer ones are not sought."""

BIAS_SLOT_BYTES: Final = 4
"""Bytes reserved in L1 for one bias element, whatever its type."""


def compute_tail_split(
    problem: GemmProblem, platform: Platform, base_m: int, base_n: int, recorder: Recorder | None
) -> tuple[int, int]:
    """Pieces (m_tail_cnt, n_tail_cnt) that each block of the last, unfilled round is cut into.

    Rows and columns are cut in turn while the pieces still fit the cores in one go and the
    contiguous run of an operand stays long; the counts inside the conditions are those before the
    increment.
    """
    aic_num = platform.aic_num
    blocks = ceil_div(problem.m, base_m) * ceil_div(problem.n, base_n)
    tail = blocks % aic_num if blocks > aic_num else 0
    m_cnt = n_cnt = 1
    if tail:
        element_bytes = problem.dtype.size_bytes
        trans_a, trans_b = problem.trans_a, problem.trans_b
        while (m_cnt + 1) * n_cnt * tail <= aic_num and (
            not trans_a or ceil_div(base_m, m_cnt) * element_bytes > SHORT_RUN_BYTES
        ):
            m_cnt += 1
            if m_cnt * (n_cnt + 1) * tail <= aic_num and (
                trans_b or ceil_div(base_n, n_cnt) * element_bytes > SHORT_RUN_BYTES
            ):
                n_cnt += 1
    if recorder is not None:
        recorder.add(
            "tail split",
            f"{tail} blocks are left for the last round, each cut into {m_cnt} x {n_cnt} pieces"
            if tail
            else "no unfilled last round after a full one, nothing is cut",
            blocks=blocks,
            blocks_in_last_round=tail,
            m_tail_cnt=m_cnt,
            n_tail_cnt=n_cnt,
        )
    return m_cnt, n_cnt


def compute_step_k(
    problem: GemmProblem,
    platform: Platform,
    base_m: int,
    base_n: int,
    base_k: int,
    recorder: Recorder | None,
) -> int:
    """L0 steps in one L1 step, the same for A and B; the depths are twice that (two slots).

    Grows the slab while two slots of A, B and bias fit L1, until it is 48 KiB and its rows are
    long multiples of the memory's bursts.
    """
    element_bytes = problem.dtype.size_bytes
    k_is_inner = not problem.trans_a or problem.trans_b
    unit = LONG_RUN_BYTES // element_bytes if k_is_inner else 16
    medium_unit = MEDIUM_RUN_BYTES // element_bytes
    l1_bytes = platform.l1_bytes
    has_bias = problem.bias_dtype is not None
    budget = l1_bytes - (base_n * 2 * BIAS_SLOT_BYTES if has_bias else 0)
    max_step = min(ceil_div(problem.k, base_k), MAX_STEP_K)
    taken = taken_bytes = 0
    a_unit, b_unit = base_m * base_k * element_bytes, base_n * base_k * element_bytes
    slab_unit = max(a_unit, b_unit)
    for step in range(1, max_step + 1):
        k_l1, slab = base_k * step, slab_unit * step
        if (a_unit + b_unit) * step * 2 > budget or slab * 2 * 2 > l1_bytes:
            break
        small = taken_bytes < EFFICIENT_TRANSFER_BYTES
        if (
            taken == 0
            or (taken % unit != 0 and (k_l1 % medium_unit == 0 or small))
            or (taken % unit == 0 and k_l1 % unit == 0 and small)
        ):
            taken, taken_bytes = k_l1, slab
    step_k = floor_div(taken, base_k)
    if recorder is not None:
        recorder.add(
            "L1 tile",
            f"{step_k} L0 steps in an L1 step: slabs of {taken} K columns, {taken_bytes} bytes",
            step_k=step_k,
            k_l1=taken,
            largest_slab_bytes=taken_bytes,
            l1_budget_bytes=budget,
            max_step=max_step,
        )
    return step_k
