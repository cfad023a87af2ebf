"""Tail splits other than the vendor's and none, for the best plans of a search.

The space has two tail splits a tile; the others are worth a look only for the best 1 % of plans
(specification: plan.md, "Size of the space"). The refinement is no part of a certificate.
"""

from dataclasses import replace

import numpy as np

from hwmodel.derived import compute_block_count
from hwmodel.legality import check
from hwmodel.plan import KernelPlan
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.space_tiles import effective_tails
from studies.vendor_columns import Tiles, choose_tails


def list_tail_splits(
    problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan
) -> tuple[KernelPlan, ...]:
    """The plan with every legal tail split that walks otherwise than the vendor's and than none.

    Of splits that walk alike the one with the smallest counts is taken. None for a plan that
    computes whole rounds only, or that takes no tail split.
    """
    rest = compute_block_count(problem, plan) % plan.used_core_num
    most = plan.used_core_num // rest if rest else 1
    tile = Tiles(plan.template, np.array([plan.base_m]), np.array([plan.base_n]))
    vendor_m, vendor_n = choose_tails(problem, spec, tile)
    seen = {(1, 1), _reduce(problem, tile, int(vendor_m[0]), int(vendor_n[0]))}
    found = []
    for m_tail in range(1, most + 1):
        for n_tail in range(1, most // m_tail + 1):
            reduced = _reduce(problem, tile, m_tail, n_tail)
            split = replace(plan, m_tail_cnt=m_tail, n_tail_cnt=n_tail)
            if reduced not in seen and not check(problem, spec, split):
                seen.add(reduced)
                found.append(split)
    return tuple(found)


def _reduce(problem: GemmProblem, tile: Tiles, m_tail: int, n_tail: int) -> tuple[int, int]:
    """The counts that the kernel works with."""
    m_count, n_count = effective_tails(problem, tile, np.array([m_tail]), np.array([n_tail]))
    return int(m_count[0]), int(n_count[0])
