"""Values of base_k, and for each those of step_k and resident_slabs that some tile could take."""

from dataclasses import dataclass, fields

import numpy as np

from hwmodel.derived import compute_base_k_unit
from hwmodel.footprint import DOUBLE_BUFFER
from hwmodel.integers import FRACTAL, align_up
from hwmodel.plan import Template
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.space_axes import PANEL_TEMPLATES, RESIDENT_TEMPLATES
from studies.space_l1 import (
    L1Room,
    compute_full_load_bytes,
    count_blocks_along_kept,
    find_last_step,
)
from studies.space_tiles import FIXPIPE_CODE, TileRows
from studies.vendor_columns import (
    IntColumn,
    ceil_columns,
    choose_base_k,
    choose_full_load_k,
    choose_step_k,
    choose_stream_k_k,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KRows:
    """Rows of (tile, base_k); `tile` is the tile's row, `number` the place in the axis.

    Attributes:
        points: pairs (step_k, resident_slabs) of the axis, legal or not.
    """

    tile: IntColumn
    number: IntColumn
    base_k: IntColumn
    first_step: IntColumn
    step_span: IntColumn
    points: IntColumn

    def select(self, rows: IntColumn) -> "KRows":
        """The given rows."""
        return KRows(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KAxis:
    """Values of base_k: `shared` by all tiles, else one per tile.

    Attributes:
        points: pairs (step_k, resident_slabs) of each base_k, legal or not.
        resident_start: for each base_k, where its steps begin in `resident_span`.
        resident_span: values 1.. of resident_slabs of each (base_k, step_k); empty for templates
            that keep no slabs.
    """

    base_k: IntColumn
    first_step: IntColumn
    step_span: IntColumn
    points: IntColumn
    shared: bool
    resident_start: IntColumn
    resident_span: IntColumn

    @property
    def points_per_tile(self) -> int:
        """Triples (base_k, step_k, resident_slabs) of each tile, legal or not."""
        return int(self.points.sum()) if self.shared else 1

    def expand(self, tiles: IntColumn) -> KRows:
        """The rows of the given tiles, in their order, base_k ascending."""
        number = np.tile(np.arange(len(self.base_k)), len(tiles)) if self.shared else tiles
        return KRows(
            tile=np.repeat(tiles, len(self.base_k)) if self.shared else tiles,
            number=number,
            base_k=self.base_k[number],
            first_step=self.first_step[number],
            step_span=self.step_span[number],
            points=self.points[number],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LegalRows:
    """Rows of (tile, base_k) with the step_k and resident_slabs that the capacities allow.

    The columns are those of `studies.space_cells.Cells`, and two more.

    Attributes:
        tile: row of the tile.
        legal: pairs (step_k, resident_slabs) that are legal.
        in_l1: pairs that fit L1.
    """

    tile: IntColumn
    base_k: IntColumn
    first_step: IntColumn
    step_count: IntColumn
    four_slot_steps: IntColumn
    first_resident: IntColumn
    resident_stride: IntColumn
    resident_count: IntColumn
    four_slot_residents: IntColumn
    legal: IntColumn
    in_l1: IntColumn

    def select(self, rows: IntColumn) -> "LegalRows":
        """The given rows."""
        return LegalRows(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def build_k_axis(
    problem: GemmProblem, spec: HardwareSpec, rows: TileRows, room: L1Room, *, quick: bool
) -> KAxis:
    """Every base_k that some tile holds in L0, every step_k that the thinnest tile holds in L1.

    With `quick`, for each tile the one (base_k, step_k) of the vendor's rules.
    """
    none = np.zeros(0, dtype=np.int64)
    if quick:
        base_k, step = _choose_k(problem, spec, rows)
        all_steps = ceil_columns(align_up(problem.k, FRACTAL), base_k)
        ones = np.ones_like(base_k)
        return KAxis(
            base_k=base_k,
            first_step=np.clip(step, 1, all_steps),
            step_span=ones,
            points=ones,
            shared=False,
            resident_start=none,
            resident_span=none,
        )
    unit = compute_base_k_unit(problem)
    l0_bytes = max(spec.buffers.l0a_bytes, spec.buffers.l0b_bytes)
    most = l0_bytes // (DOUBLE_BUFFER * FRACTAL * problem.dtype.size_bytes)
    last_k = min(align_up(problem.k, FRACTAL), most)
    base_k = np.arange(unit, last_k + 1, unit, dtype=np.int64)
    longest = np.full_like(base_k, room.longest_slab.max(initial=0))
    span = np.maximum(find_last_step(problem, base_k, longest), 1)
    start = np.cumsum(span) - span
    template = rows.tiles.template
    residents = none
    points = span
    if template in RESIDENT_TEMPLATES:
        step = np.arange(int(span.sum()), dtype=np.int64) - np.repeat(start, span) + 1
        k_l1 = np.minimum(step * np.repeat(base_k, span), align_up(problem.k, FRACTAL))
        residents = _span_residents(problem, spec, rows, k_l1)
        points = np.add.reduceat(residents, start) if len(start) else none
    return KAxis(
        base_k=base_k,
        first_step=np.ones_like(base_k),
        step_span=span,
        points=points,
        shared=True,
        resident_start=start,
        resident_span=residents,
    )


def _span_residents(
    problem: GemmProblem, spec: HardwareSpec, rows: TileRows, k_l1: IntColumn
) -> IntColumn:
    """Largest resident_slabs of any tile for slabs of these lengths; 0 for none.

    No more than there are slabs, and no more than fit beside the other slots of the thinnest tile.
    """
    thin_slab = FRACTAL * k_l1 * problem.dtype.size_bytes
    slabs = ceil_columns(problem.k, k_l1)
    others = DOUBLE_BUFFER
    if rows.tiles.template not in PANEL_TEMPLATES:
        blocks = int(count_blocks_along_kept(problem, rows.tiles).max(initial=0))
        slabs = blocks * slabs - 1
        others += DOUBLE_BUFFER
    return np.clip(np.minimum(slabs, spec.buffers.l1_bytes // thin_slab - others), 0, None)


def _choose_k(
    problem: GemmProblem, spec: HardwareSpec, rows: TileRows
) -> tuple[IntColumn, IntColumn]:
    """base_k and step_k of each tile by the vendor's rules."""
    tiles = rows.tiles
    if tiles.template is Template.STREAM_K:
        pieces = np.array([*rows.pieces, problem.k], dtype=np.int64)
        return choose_stream_k_k(problem, spec, tiles, pieces[rows.first_piece])
    base_k = choose_base_k(problem, spec, tiles)
    if tiles.template is Template.ASWT:
        fixpipe = rows.l0c_output == FIXPIPE_CODE
        return base_k, choose_step_k(problem, spec, tiles, base_k, fixpipe)
    resident = compute_full_load_bytes(problem, tiles.template)
    return choose_full_load_k(problem, spec, tiles, base_k, resident)
