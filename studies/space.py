"""The space `tiles`: the plans a search covers for one problem, by index and in columns.

ASWT, and the full load that the vendor takes, if any, over base_m, base_n, base_k, step_k, db_l0c
and canonical windows. The rest follows: tail split, output path and UB buffering by the vendor's
rules, the cores that get work, four L1 slots under a full load where they fit. (Specification:
plan.md.) Points are numbered; no list of them exists, so a dimension of 2^31-1 costs no more than
one of 4096.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from baseline.decision import decide
from hwmodel.cost.evaluator import Evaluator
from hwmodel.footprint import DOUBLE_BUFFER
from hwmodel.legality import FULL_LOAD_SLOTS
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, L0cOutput, Template, canonical_plan
from hwmodel.plan_batch import TEMPLATE_CODES, PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.space_cells import Cells, TemplateCells, build_template_cells
from studies.vendor_columns import IntColumn
from studies.windows import WindowPair

SPACE_NAME = "tiles"
"""Name of the space, as `--study` takes it."""
SPACE_VERSION = "1"
"""Changes whenever the points of the space may; part of a certificate's key."""

QUICK_RESTRICTION = (
    "base_k, step_k, db_l0c and the tail split by the vendor's rules; windows 1, 2, 4, 8 and Mt"
)
"""What the quick preset leaves out, in words."""
NO_CUBE_RESTRICTION = "the vendor runs a vector kernel; the space holds cube kernels only"
"""Why the space of a problem that the vendor gives to the vector cores is empty."""

FIXPIPE_CODE = list(L0cOutput).index(L0cOutput.FIXPIPE)
"""Code of the fixpipe output in a PlanBatch; ON_THE_FLY is 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TileSpace:
    """The legal points of the space, numbered 0 .. len - 1.

    Attributes:
        problem: the GEMM.
        restriction: in words, what is left out at this effort; empty when nothing.
        cells: legal cells of all templates, in order.
        template: template code of each cell.
        window_len: window lengths of all window sets, one after the other.
        serpentine: serpentine of the same.
        window_start: where the windows of each cell start in these two.
        ends: number of points in the cells up to and including each.
        cartesian: points of the product of the axes, legal or not.
        rejected: illegal points by the first rule they break, most frequent first.
    """

    problem: GemmProblem
    restriction: str
    cells: Cells
    template: IntColumn
    window_len: IntColumn
    serpentine: IntColumn
    window_start: IntColumn
    ends: IntColumn
    cartesian: int
    rejected: Mapping[str, int]

    def __len__(self) -> int:
        """Number of legal points."""
        return int(self.ends[-1]) if len(self.ends) else 0

    def plans(self, indices: NDArray[np.int64]) -> PlanBatch:
        """The points of the given numbers, in their order, as columns."""
        cell = np.searchsorted(self.ends, indices, side="right")
        cells = self.cells
        windows = cells.window_count[cell]
        position = indices - (self.ends[cell] - windows * cells.step_count[cell])
        step_k = cells.first_step[cell] + position // windows
        window = self.window_start[cell] + position % windows
        fixpipe = cells.fixpipe[cell]
        ones = np.ones_like(step_k)
        wide = step_k <= cells.four_slot_steps[cell]
        return PlanBatch(
            template=self.template[cell],
            base_m=cells.base_m[cell],
            base_n=cells.base_n[cell],
            base_k=cells.base_k[cell],
            step_k=step_k,
            l1_buffer_num=np.where(wide, FULL_LOAD_SLOTS, DOUBLE_BUFFER),
            resident_slabs=np.zeros_like(step_k),
            db_l0c=cells.db_l0c[cell],
            ub_db=cells.ub_db[cell],
            l0c_output=fixpipe * FIXPIPE_CODE,
            window_len=self.window_len[window],
            serpentine=self.serpentine[window],
            m_tail_cnt=cells.m_tail_cnt[cell],
            n_tail_cnt=cells.n_tail_cnt[cell],
            single_core_k=ones * self.problem.k,
            sk_order=np.zeros_like(step_k),
            used_core_num=cells.used_core_num[cell],
        )

    def plan(self, index: int) -> KernelPlan:
        """The point of number `index`."""
        return self.plans(np.array([index], dtype=np.int64)).plan(0)

    def index_of(self, plan: KernelPlan) -> int | None:
        """Number of a canonical plan; None when the space does not hold it."""
        cells = self.cells
        matches = (
            (self.template == TEMPLATE_CODES[plan.template])
            & (cells.base_m == plan.base_m)
            & (cells.base_n == plan.base_n)
            & (cells.db_l0c == plan.db_l0c)
            & (cells.base_k == plan.base_k)
        )
        for cell in np.flatnonzero(matches):
            step = plan.step_k - int(cells.first_step[cell])
            count, start = int(cells.window_count[cell]), int(self.window_start[cell])
            windows = slice(start, start + count)
            same_window = (self.window_len[windows] == plan.window_len) & (
                self.serpentine[windows] == plan.serpentine
            )
            if 0 <= step < cells.step_count[cell] and same_window.any():
                first = int(self.ends[cell]) - count * int(cells.step_count[cell])
                index = first + step * count + int(np.argmax(same_window))
                return index if self.plan(index) == plan else None
        return None


def build_space(
    problem: GemmProblem, spec: HardwareSpec, baseline: KernelPlan, *, quick: bool = False
) -> TileSpace:
    """The space for one problem; `baseline` is the vendor's plan and decides on the templates.

    It is empty when the vendor runs a vector kernel: its answer differs in more than the tile.
    With `quick`, `QUICK_RESTRICTION` says what is left out.
    """
    if baseline.template not in CUBE_TEMPLATES:
        return _assemble(problem, (), NO_CUBE_RESTRICTION)
    templates = [Template.ASWT]
    if baseline.template in {Template.A_FULL, Template.B_FULL}:
        templates.append(baseline.template)
    parts = tuple(
        build_template_cells(problem, spec, template, quick=quick) for template in templates
    )
    return _assemble(problem, parts, QUICK_RESTRICTION if quick else "")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TileLandscape:
    """Best predicted time for each tile.

    Attributes:
        base_m: tile heights, ascending, shape (rows,).
        base_n: tile widths, ascending, shape (columns,).
        best_us: least predicted time with that tile, shape (rows, columns); NaN where no plan of
            the space has it.
    """

    base_m: IntColumn
    base_n: IntColumn
    best_us: NDArray[np.float64]


def tile_landscape(
    problem: GemmProblem, spec: HardwareSpec, evaluator: Evaluator
) -> TileLandscape:
    """For each legal (base_m, base_n) the best time over the rest of the quick space.

    Raises:
        RejectedError: the operator rejects the problem.
    """
    baseline = canonical_plan(problem, decide(problem, spec).plan)
    space = build_space(problem, spec, baseline, quick=True)
    plans = space.plans(np.arange(len(space), dtype=np.int64))
    times_us = evaluator.estimate_us(problem, spec, plans)
    base_m, row = np.unique(plans.base_m, return_inverse=True)
    base_n, column = np.unique(plans.base_n, return_inverse=True)
    best_us = np.full((len(base_m), len(base_n)), np.inf)
    np.minimum.at(best_us, (row, column), times_us)
    best_us[np.isinf(best_us)] = np.nan
    return TileLandscape(base_m=base_m, base_n=base_n, best_us=best_us)


def _assemble(
    problem: GemmProblem, parts: tuple[TemplateCells, ...], restriction: str
) -> TileSpace:
    empty = np.zeros(0, dtype=np.int64)
    templates, starts = [empty], [empty]
    pairs: list[WindowPair] = []
    rejected: Counter[str] = Counter()
    for part in parts:
        lengths = np.array([len(windows) for windows in part.window_sets], dtype=np.int64)
        set_start = len(pairs) + np.cumsum(lengths) - lengths
        pairs.extend(pair for windows in part.window_sets for pair in windows)
        templates.append(np.full(len(part.cells), TEMPLATE_CODES[part.template], dtype=np.int64))
        starts.append(set_start[part.cells.window_set])
        rejected.update(part.rejected)
    cells = Cells(
        **{
            column.name: np.concatenate(
                [empty, *(getattr(part.cells, column.name) for part in parts)]
            )
            for column in fields(Cells)
        }
    )
    return TileSpace(
        problem=problem,
        restriction=restriction,
        cells=cells,
        template=np.concatenate(templates),
        window_len=np.array([window_len for window_len, _ in pairs], dtype=np.int64),
        serpentine=np.array([serpentine for _, serpentine in pairs], dtype=np.int64),
        window_start=np.concatenate(starts),
        ends=np.cumsum(cells.window_count * cells.step_count),
        cartesian=sum(part.cartesian for part in parts),
        rejected=dict(sorted(rejected.items(), key=lambda item: (-item[1], item[0]))),
    )
