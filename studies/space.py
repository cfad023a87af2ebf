"""The plans that a search covers for one problem, by number and in columns.

Points are numbered; no list of them exists, so a dimension of 2^31-1 costs no more than one of
4096. What a space varies is in `studies.space_axes`, how its points are numbered in
`studies.space_cells`.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baseline.decision import decide
from hwmodel.cost.evaluator import Evaluator
from hwmodel.plan import KernelPlan, Template, canonical_plan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.space_axes import (
    NO_CUBE_RESTRICTION,
    QUICK_RESTRICTION,
    SPACE_NAMES,
    TILES,
    Axes,
    choose_axes,
)
from studies.space_cap import CAPS, MAX_POINTS, NO_CAP, cap_cells, list_capped_pieces
from studies.space_cells import (
    CELL_COLUMNS,
    Cells,
    IntMatrix,
    TemplateCells,
    Walks,
    count_points,
    join_cells,
)
from studies.space_find import find_index
from studies.space_neighbours import list_neighbours
from studies.space_rows import build_cube_cells
from studies.space_vector import build_vector_cells
from studies.vendor_columns import IntColumn

__all__ = [
    "NO_CUBE_RESTRICTION",
    "QUICK_RESTRICTION",
    "SPACE_NAME",
    "SPACE_NAMES",
    "SPACE_VERSION",
    "PlanSpace",
    "TileLandscape",
    "build_space",
    "tile_landscape",
]

SPACE_NAME = TILES
"""The space that a study searches, as `--study` takes it."""
SPACE_VERSION = "1"
"""Changes whenever the points of a space may; part of a certificate's key."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanSpace:
    """The legal points of a space, numbered 0 .. len - 1.

    A plan that runs like a point without being one (another window over one row of blocks, say)
    is none: `hwmodel.plan.canonical_plan` comes first. The vendor's plan need not be a point: it
    may break rules, or run a template that the space leaves out.

    Attributes:
        name: name of the space.
        problem: the GEMM.
        restriction: in words, what is left out; empty when nothing.
        cells: legal cells of all templates, in the order of the points.
        ends: number of points in the cells up to and including each.
        walks: the lists that cells refer to.
        cartesian: points of the product of the axes, legal or not.
        omitted: legal points that the restriction's cap leaves out.
        rejected: illegal points by the first rule they break, most frequent first.
        template_cartesian: `cartesian` of each template.
        matrix: the columns of `cells` as rows, in the order of `CELL_COLUMNS`.
        windows: window_len and serpentine of `walks` as rows.
    """

    name: str
    problem: GemmProblem
    restriction: str
    cells: Cells
    ends: IntColumn
    walks: Walks
    cartesian: int
    omitted: int
    rejected: Mapping[str, int]
    template_cartesian: Mapping[Template, int]
    matrix: IntMatrix
    windows: IntMatrix

    def __len__(self) -> int:
        """Number of legal points."""
        return int(self.ends[-1]) if len(self.ends) else 0

    @property
    def template(self) -> IntColumn:
        """Template code of each cell."""
        return self.cells.template

    def plans(self, indices: NDArray[np.int64]) -> PlanBatch:
        """The points of the given numbers, in their order, as columns."""
        # Numba takes long to import, and who only counts points does without it.
        from studies.space_decode import PLAN_COLUMNS, decode

        columns = decode(indices, self.ends, self.matrix, self.windows, self.walks.single_core_k)
        return PlanBatch(**dict(zip(PLAN_COLUMNS, columns, strict=True)))

    def plan(self, index: int) -> KernelPlan:
        """The point of number `index`."""
        return self.plans(np.array([index], dtype=np.int64)).plan(0)

    def index_of(self, plan: KernelPlan) -> int | None:
        """Number of a canonical plan; None when the space does not hold it."""
        return find_index(self.cells, self.ends, self.walks, plan)

    def neighbours(self, index: int) -> IntColumn:
        """Numbers of the points one step away in one field, ascending.

        A step goes to the next smaller or larger legal value of a size or count, to any other of
        template, db_l0c, l0c_output, tail split and stream-K order. Fields that follow from the
        changed one follow; where its values are not those of the old point's other fields, the
        nearest are taken.
        """
        return list_neighbours(self.cells, self.ends, self.walks, index)

    def sample(self, rng: np.random.Generator, count: int) -> IntColumn:
        """Numbers of `count` different points, drawn uniformly; all when there are fewer."""
        drawn = rng.choice(len(self), size=min(count, len(self)), replace=False)
        return np.asarray(drawn, dtype=np.int64)


def build_space(
    problem: GemmProblem,
    spec: HardwareSpec,
    baseline: KernelPlan,
    *,
    quick: bool = False,
    name: str = TILES,
    max_points: int | None = MAX_POINTS,
) -> PlanSpace:
    """The named space for one problem; `baseline` is the vendor's plan and decides on templates.

    `tiles` is empty when the vendor runs a vector kernel, `all` then holds vector plans at most.
    With `quick`, and where more than `max_points` are legal, points are left out; `restriction`
    says which.

    Raises:
        ValueError: no space has this name.
    """
    axes = choose_axes(name, baseline, quick=quick)
    parts = tuple(_build_part(problem, spec, template, axes) for template in axes.templates)
    legal, cap, kept = sum(part.points for part in parts), NO_CAP, parts
    for cap in CAPS if max_points is not None else (NO_CAP,):
        kept = tuple(cap_cells(problem, spec.cores.aic_num, part, cap) for part in parts)
        if max_points is None or sum(part.points for part in kept) <= max_points:
            break
    return _assemble(
        problem,
        name=name,
        parts=kept,
        legal=legal,
        pieces=list_capped_pieces(problem, spec.cores.aic_num, cap),
        restriction="; ".join(text for text in (axes.restriction, cap.restriction) if text),
    )


def _build_part(
    problem: GemmProblem, spec: HardwareSpec, template: Template, axes: Axes
) -> TemplateCells:
    if template is Template.VECTOR:
        return build_vector_cells(problem, spec, axes)
    return build_cube_cells(problem, spec, template, axes)


def _assemble(
    problem: GemmProblem,
    *,
    name: str,
    parts: tuple[TemplateCells, ...],
    legal: int,
    pieces: tuple[int, ...],
    restriction: str,
) -> PlanSpace:
    cells, matrix, windows = join_cells(parts)
    ends = np.cumsum(count_points(dict(zip(CELL_COLUMNS, matrix, strict=True))))
    rejected: Counter[str] = Counter()
    for part in parts:
        rejected.update(part.rejected)
    return PlanSpace(
        name=name,
        problem=problem,
        restriction=restriction,
        cells=cells,
        ends=ends,
        walks=Walks(
            window_len=windows[0],
            serpentine=windows[1],
            single_core_k=np.array((problem.k, *pieces), dtype=np.int64),
        ),
        cartesian=sum(part.cartesian for part in parts),
        omitted=legal - sum(part.points for part in parts),
        rejected=dict(sorted(rejected.items(), key=lambda item: (-item[1], item[0]))),
        template_cartesian={part.template: part.cartesian for part in parts},
        matrix=matrix,
        windows=windows,
    )


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
    """For each legal (base_m, base_n) the best time over the rest of the quick space `tiles`.

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
