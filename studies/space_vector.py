"""The cells of the vector kernel: base_mn and base_k that fit UB.

The points are whole numbers base_mn up to the outputs and base_k up to K, bounded by TO_MUL's
formula base_mn*(5*base_k + 1 + bias) <= UB in fp32 units (specification: plan.md, "Legality";
host-tiling.md, section 9). A cell has one (base_mn, base_k).
"""

from collections import Counter

import numpy as np

from baseline.vector import ALIGN, BASE_K, BASE_MN
from hwmodel.integers import align_down, align_up, ceil_div
from hwmodel.legality import TO_MUL_INPUT_TILES, UB_UNIT_BYTES
from hwmodel.plan import Template
from hwmodel.plan_batch import TEMPLATE_CODES
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.space_axes import Axes
from studies.space_cells import CELL_COLUMNS, TemplateCells
from studies.vendor_columns import IntColumn, ceil_columns
from studies.windows import ONLY_ORDER


def build_vector_cells(problem: GemmProblem, spec: HardwareSpec, axes: Axes) -> TemplateCells:
    """Cells of the vector kernel; none where neither M nor N is 1.

    With `axes.quick` there is one, by the vendor's rule for TO_MUL.
    """
    base_mn, base_k, cartesian = (
        _choose_tile(problem, spec) if axes.quick else _list_tiles(problem, spec)
    )
    if min(problem.m, problem.n) > 1:
        base_mn, base_k, cartesian = base_mn[:0], base_k[:0], 0
    ones = np.ones_like(base_mn)
    one_row = problem.m == 1
    columns = {name: ones for name in CELL_COLUMNS}
    zeros = np.zeros_like(base_mn)
    unused = ("l0c_output", "window_start", "four_slot_steps", "four_slot_residents")
    columns |= {name: zeros for name in (*unused, "first_resident", "piece_start")}
    tiles = ceil_columns(problem.m * problem.n, base_mn)
    columns |= {
        "template": np.full_like(ones, TEMPLATE_CODES[Template.VECTOR]),
        "base_m": ones if one_row else base_mn,
        "base_n": base_mn if one_row else ones,
        "base_k": base_k,
        "used_core_num": np.minimum(tiles, spec.cores.aiv_num),
    }
    return TemplateCells(
        template=Template.VECTOR,
        columns=columns,
        windows=(ONLY_ORDER,),
        cartesian=cartesian,
        rejected=+Counter({"vector_ub": cartesian - len(base_mn)}),
    )


def _list_tiles(problem: GemmProblem, spec: HardwareSpec) -> tuple[IntColumn, IntColumn, int]:
    """All legal pairs (base_mn, base_k) in this order, and the size of their product."""
    units = spec.buffers.ub_bytes // UB_UNIT_BYTES
    fixed = 1 + int(problem.bias_bytes > 0)
    last_mn = min(problem.m * problem.n, units // (TO_MUL_INPUT_TILES + fixed))
    last_k = min(problem.k, (units - fixed) // TO_MUL_INPUT_TILES)
    sizes = np.arange(1, last_mn + 1, dtype=np.int64)
    counts = np.minimum((units // sizes - fixed) // TO_MUL_INPUT_TILES, last_k)
    first = np.cumsum(counts) - counts
    base_k = np.arange(int(counts.sum()), dtype=np.int64) - np.repeat(first, counts) + 1
    return np.repeat(sizes, counts), base_k, last_mn * last_k


def _choose_tile(problem: GemmProblem, spec: HardwareSpec) -> tuple[IntColumn, IntColumn, int]:
    """TO_MUL's own pair (host-tiling.md, section 9), with no longer steps than K."""
    m, n = problem.m, problem.n
    units = spec.buffers.ub_bytes // UB_UNIT_BYTES
    bias = int(problem.bias_bytes > 0)
    share = ceil_div(m * n, spec.cores.aiv_num)
    if (m == 1 and not problem.trans_b) or (n == 1 and problem.trans_a):
        base_mn = min(align_up(share, ALIGN), BASE_MN)
        base_k = (units - base_mn * (1 + bias)) // TO_MUL_INPUT_TILES // base_mn
    else:
        left = max(units - share * (1 + bias), 0)
        base_k = max(align_down(left // TO_MUL_INPUT_TILES // share, ALIGN), BASE_K)
        base_k = min(base_k, (units - 1 - bias) // TO_MUL_INPUT_TILES)
        base_mn = min(share, units // (TO_MUL_INPUT_TILES * base_k + bias + 1))
    chosen = np.array([min(base_mn, m * n)], dtype=np.int64)
    return chosen, np.array([min(base_k, problem.k)], dtype=np.int64), 1
