"""Which plans the vendor's kernels can run as they are: the operator's tiling data carries them.

A better window or a longer L1 slab is no gain that a host tiling could reach today: the record has
no field for it. So a study states its best plan twice, over the whole space and over what the
record can express (`hwmodel.vendor_tiling`).
"""

import numpy as np

from hwmodel.integers import FRACTAL, align_up
from hwmodel.plan import VENDOR_WINDOW_LEN, KernelPlan, StreamKOrder, Template
from hwmodel.plan_batch import TEMPLATE_CODES, PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.vendor_tiling import (
    MAX_VENDOR_STEP_K,
    TILING_DATA_TEMPLATES,
    find_inexpressible_field,
)
from studies.vendor_columns import BoolColumn, IntColumn, ceil_columns

_TEMPLATE_CODES = [TEMPLATE_CODES[template] for template in TILING_DATA_TEMPLATES]
_FULL_LOAD_CODES = [TEMPLATE_CODES[Template.A_FULL], TEMPLATE_CODES[Template.B_FULL]]
_STREAM_K_CODE = TEMPLATE_CODES[Template.STREAM_K]
_VENDOR_ORDER_CODE = list(StreamKOrder).index(StreamKOrder.VENDOR)


def find_new_field(problem: GemmProblem, plan: KernelPlan, baseline: KernelPlan) -> str:
    """Name of the first field of `plan` that the vendor's tiling data cannot carry; else empty.

    The baseline is the vendor's own and needs no new field, whatever record it travels in.
    """
    if plan == baseline:
        return ""
    return find_inexpressible_field(problem, plan) or ""


def mark_expressible(problem: GemmProblem, plans: PlanBatch) -> BoolColumn:
    """For each plan whether `find_inexpressible_field` finds nothing, shape (len(plans),)."""
    m_tiles = ceil_columns(problem.m, plans.base_m)
    n_tiles = ceil_columns(problem.n, plans.base_n)
    k_depth = align_up(problem.k, FRACTAL)
    short = (plans.step_k <= MAX_VENDOR_STEP_K) | (MAX_VENDOR_STEP_K * plans.base_k >= k_depth)
    ordered = np.isin(plans.template, _FULL_LOAD_CODES) | _walks_like_vendor(
        plans, m_tiles, n_tiles
    )
    split = (plans.template != _STREAM_K_CODE) | (plans.sk_order == _VENDOR_ORDER_CODE)
    known = np.isin(plans.template, _TEMPLATE_CODES) & (plans.resident_slabs == 0)
    expressible: BoolColumn = known & ordered & short & split
    return expressible


def _walks_like_vendor(plans: PlanBatch, m_tiles: IntColumn, n_tiles: IntColumn) -> BoolColumn:
    """Whether `canonical_window` gives the same for the plan's window and the vendor's."""
    half = m_tiles // 2
    one_order = (m_tiles <= 1) | (n_tiles <= 1)
    both_whole = (plans.window_len > half) & (half < VENDOR_WINDOW_LEN)
    same = (plans.window_len == VENDOR_WINDOW_LEN) & (plans.serpentine == 1)
    like: BoolColumn = one_order | both_whole | same
    return like
