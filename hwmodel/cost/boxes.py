"""Boxes of plans: plans that differ in how K is cut and in what stays in L1, and in nothing else.

A lower bound of the pipeline model holds for all plans of a box, so a search can leave a whole box
out without looking into it (`hwmodel.cost.lower_bound`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwmodel.plan_batch import IntColumn, PlanBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanBoxes:
    """Columns of shape (n,), a row a box.

    Attributes:
        plans: one plan of each box; all its plans share the fields but for base_k, step_k,
            l1_buffer_num and resident_slabs. Its base_k is the box's largest. For the vector
            template the plan is the box.
        k_l1_least: K columns of the shortest L1 slab of the box.
        k_l1_most: those of the longest.
        kept_least: least share of the slabs that stay in L1, 0..1; 0 for templates that keep none.
        kept_most: greatest such share.
    """

    plans: PlanBatch
    k_l1_least: IntColumn
    k_l1_most: IntColumn
    kept_least: NDArray[np.float64]
    kept_most: NDArray[np.float64]

    def __len__(self) -> int:
        """Number of boxes."""
        return len(self.plans)
