"""The legal points of one template, as a table of cells.

A cell fixes everything but step_k and the window: its points are all combinations of consecutive
values of step_k and of the windows of its grid. The product of the axes is never materialised:
legality is decided per tile, then per tile and base_k, and the L1 rule bounds step_k in closed
form. Notation (specification: plan.md): SA, SB are bytes of an L1 slab, kL its columns of K; for a
tile that is a multiple of 16 and a base_k that is a multiple of its unit, SA = base_m*kL*s and
SB = base_n*kL*s in every storage order.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from hwmodel.derived import compute_base_k_unit
from hwmodel.footprint import (
    DOUBLE_BUFFER,
    L0C_ELEMENT_BYTES,
    UB_BLOCK_BYTES,
    compute_resident_a_bytes,
    compute_resident_b_bytes,
)
from hwmodel.integers import FRACTAL, align_up
from hwmodel.legality import FULL_LOAD_SLOTS
from hwmodel.plan import Template
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.vendor_columns import (
    BoolColumn,
    IntColumn,
    Tiles,
    ceil_columns,
    choose_base_k,
    choose_db_l0c,
    choose_fixpipe,
    choose_full_load_k,
    choose_step_k,
    choose_tails,
    choose_ub_db,
    compute_blocks,
)
from studies.windows import ONLY_ORDER, WindowPair, select_quick_windows, select_windows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """Columns of equal length, one row a cell, sorted by tile, then db_l0c, then base_k.

    Attributes:
        first_step: least step_k of the cell.
        step_count: number of consecutive values of step_k.
        four_slot_steps: step_k up to which four L1 slots of the streamed operand fit.
        window_set: index into `TemplateCells.window_sets`.
        window_count: windows in that set.
    """

    base_m: IntColumn
    base_n: IntColumn
    db_l0c: IntColumn
    fixpipe: IntColumn
    ub_db: IntColumn
    m_tail_cnt: IntColumn
    n_tail_cnt: IntColumn
    used_core_num: IntColumn
    window_set: IntColumn
    window_count: IntColumn
    base_k: IntColumn
    first_step: IntColumn
    step_count: IntColumn
    four_slot_steps: IntColumn

    def __len__(self) -> int:
        """Number of cells."""
        return len(self.base_m)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TemplateCells:
    """All cells of one template, and what became of the rest of the product.

    Attributes:
        template: the kernel.
        cells: the legal points.
        window_sets: distinct sets of windows that cells refer to.
        cartesian: points of the product of the axes.
        rejected: illegal points by the first rule they break.
    """

    template: Template
    cells: Cells
    window_sets: tuple[tuple[WindowPair, ...], ...]
    cartesian: int
    rejected: Counter[str]


@dataclass(frozen=True, slots=True)
class _L1Room:
    """The L1 rule of a template as kL <= (room - bias) // (streamed bytes per column of K).

    Attributes:
        room: bytes of L1 beside the resident operand.
        bias: bytes of the bias slots of each tile.
        row: bytes of the streamed operands per column of K, one slot, of each tile.
    """

    room: int
    bias: IntColumn
    row: IntColumn

    def max_k_l1(self, slots: int, bias_slots: int = 1) -> IntColumn:
        """Longest slab of which `slots` fit; below 1 for none."""
        return (self.room - bias_slots * self.bias) // (slots * self.row)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _TileColumns:
    """Tiles with everything that follows from tile and db_l0c alone."""

    tiles: Tiles
    db_l0c: IntColumn
    fixpipe: IntColumn
    ub_db: IntColumn
    m_tail_cnt: IntColumn
    n_tail_cnt: IntColumn
    used_core_num: IntColumn
    window_set: IntColumn
    window_count: IntColumn


_TILE_COLUMNS = tuple(field.name for field in fields(_TileColumns) if field.name != "tiles")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _KRows:
    """Rows of (tile, base_k); `tile` is the tile's index."""

    tile: IntColumn
    base_k: IntColumn
    first_step: IntColumn
    step_span: IntColumn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _KAxis:
    """Values of base_k with their values of step_k: `shared` by all tiles, else one per tile."""

    base_k: IntColumn
    first_step: IntColumn
    step_span: IntColumn
    shared: bool

    @property
    def points_per_tile(self) -> int:
        """Pairs (base_k, step_k) of each tile, legal or not."""
        return int(self.step_span.sum()) if self.shared else 1

    def expand(self, tiles: IntColumn) -> _KRows:
        """The rows of the given tiles, in their order, base_k ascending."""
        if not self.shared:
            return _KRows(
                tile=tiles,
                base_k=self.base_k[tiles],
                first_step=self.first_step[tiles],
                step_span=self.step_span[tiles],
            )
        return _KRows(
            tile=np.repeat(tiles, len(self.base_k)),
            base_k=np.tile(self.base_k, len(tiles)),
            first_step=np.tile(self.first_step, len(tiles)),
            step_span=np.tile(self.step_span, len(tiles)),
        )


def build_template_cells(
    problem: GemmProblem, spec: HardwareSpec, template: Template, *, quick: bool
) -> TemplateCells:
    """Cells of `template`: ASWT, A_FULL or B_FULL.

    With `quick`, base_k, step_k and db_l0c follow from the tile by the vendor's rules and the
    windows are W = 1, 2, 4, 8, Mt.
    """
    columns, window_sets = _build_tiles(problem, spec, template, quick)
    room = _l1_room(problem, spec, columns.tiles)
    axis = (_quick_k_axis if quick else _full_k_axis)(problem, spec, columns, room)
    rejected: Counter[str] = Counter()

    weight = columns.window_count * axis.points_per_tile
    alive = np.ones(len(weight), dtype=np.bool_)
    for rule, broken in _tile_rules(problem, spec, columns):
        rejected[rule] += int(weight[alive & broken].sum())
        alive &= ~broken

    rows = axis.expand(np.flatnonzero(alive))
    weight = columns.window_count[rows.tile] * rows.step_span
    alive = np.ones(len(weight), dtype=np.bool_)
    for rule, broken in _l0_rules(problem, spec, columns.tiles, rows):
        rejected[rule] += int(weight[alive & broken].sum())
        alive &= ~broken

    last_step = _last_step(problem, rows.base_k, room.max_k_l1(DOUBLE_BUFFER)[rows.tile])
    step_count = np.clip(last_step - rows.first_step + 1, 0, rows.step_span)
    lost = columns.window_count[rows.tile] * (rows.step_span - step_count)
    rejected["l1_capacity"] += int(lost[alive].sum())
    legal = np.flatnonzero(alive & (step_count > 0))
    tile = rows.tile[legal]
    cells = Cells(
        **{name: getattr(columns, name)[tile] for name in _TILE_COLUMNS},
        base_m=columns.tiles.base_m[tile],
        base_n=columns.tiles.base_n[tile],
        base_k=rows.base_k[legal],
        first_step=rows.first_step[legal],
        step_count=step_count[legal],
        four_slot_steps=_four_slot_steps(problem, template, room, tile, rows.base_k[legal]),
    )
    return TemplateCells(
        template=template,
        cells=cells,
        window_sets=window_sets,
        cartesian=int(columns.window_count.sum()) * axis.points_per_tile,
        rejected=+rejected,
    )


def _build_tiles(
    problem: GemmProblem, spec: HardwareSpec, template: Template, quick: bool
) -> tuple[_TileColumns, tuple[tuple[WindowPair, ...], ...]]:
    """All tiles (and, in the full space, both values of db_l0c) with what follows from them.

    Tiles are multiples of 16 up to what the problem can use and L0 can hold at the least base_k.
    """
    bytes_per_line = DOUBLE_BUFFER * compute_base_k_unit(problem) * problem.dtype.size_bytes
    last_m = min(align_up(problem.m, FRACTAL), spec.buffers.l0a_bytes // bytes_per_line)
    last_n = min(align_up(problem.n, FRACTAL), spec.buffers.l0b_bytes // bytes_per_line)
    sides_m = np.arange(FRACTAL, last_m + 1, FRACTAL, dtype=np.int64)
    sides_n = np.arange(FRACTAL, last_n + 1, FRACTAL, dtype=np.int64)
    # The quick space has one tile a pair of sides: its db_l0c follows by rule below.
    depths = np.array([0] if quick else [1, 2], dtype=np.int64)
    base_m, base_n, db_l0c = (
        axis.ravel() for axis in np.meshgrid(sides_m, sides_n, depths, indexing="ij")
    )
    tiles = Tiles(template, base_m, base_n)
    fixpipe = choose_fixpipe(problem, spec, tiles)
    window_set, window_sets = _build_windows(problem, spec, tiles, quick)
    counts = np.array([len(pairs) for pairs in window_sets], dtype=np.int64)
    m_tail_cnt, n_tail_cnt = choose_tails(problem, spec, tiles)
    columns = _TileColumns(
        tiles=tiles,
        db_l0c=choose_db_l0c(spec, tiles) if quick else db_l0c,
        fixpipe=fixpipe.astype(np.int64),
        ub_db=np.where(fixpipe, choose_ub_db(spec, tiles), 1),
        m_tail_cnt=m_tail_cnt,
        n_tail_cnt=n_tail_cnt,
        used_core_num=np.minimum(compute_blocks(problem, tiles), spec.cores.aic_num),
        window_set=window_set,
        window_count=counts[window_set],
    )
    return columns, window_sets


def _build_windows(
    problem: GemmProblem, spec: HardwareSpec, tiles: Tiles, quick: bool
) -> tuple[IntColumn, tuple[tuple[WindowPair, ...], ...]]:
    """For each tile, the index of its set of windows; full loads know one order only."""
    if tiles.template is not Template.ASWT:
        return np.zeros(len(tiles), dtype=np.int64), ((ONLY_ORDER,),)
    m_tiles = ceil_columns(problem.m, tiles.base_m)
    n_tiles = ceil_columns(problem.n, tiles.base_n)
    cores = np.minimum(m_tiles * n_tiles, spec.cores.aic_num)
    grids = np.stack([m_tiles, np.minimum(n_tiles, 2), cores])
    distinct, grid_of_tile = np.unique(grids, axis=1, return_inverse=True)
    sets = [
        select_quick_windows(int(m), int(n)) if quick else select_windows(int(m), int(n), int(p))
        for m, n, p in distinct.T
    ]
    known = {pairs: number for number, pairs in enumerate(dict.fromkeys(sets))}
    set_of_grid = np.array([known[pairs] for pairs in sets], dtype=np.int64)
    return set_of_grid[grid_of_tile.ravel()], tuple(known)


def _full_k_axis(
    problem: GemmProblem, spec: HardwareSpec, _: _TileColumns, room: _L1Room
) -> _KAxis:
    """Every base_k that some tile holds in L0, every step_k that the thinnest tile holds in L1."""
    unit = compute_base_k_unit(problem)
    l0_bytes = max(spec.buffers.l0a_bytes, spec.buffers.l0b_bytes)
    most = l0_bytes // (DOUBLE_BUFFER * FRACTAL * problem.dtype.size_bytes)
    last_k = min(align_up(problem.k, FRACTAL), most)
    base_k = np.arange(unit, last_k + 1, unit, dtype=np.int64)
    longest = int(room.max_k_l1(DOUBLE_BUFFER).max(initial=0))
    span = np.maximum(_last_step(problem, base_k, np.full_like(base_k, longest)), 1)
    return _KAxis(base_k=base_k, first_step=np.ones_like(base_k), step_span=span, shared=True)


def _quick_k_axis(
    problem: GemmProblem, spec: HardwareSpec, columns: _TileColumns, _: _L1Room
) -> _KAxis:
    """For each tile the one (base_k, step_k) of the vendor's rules."""
    tiles = columns.tiles
    base_k = choose_base_k(problem, spec, tiles)
    if tiles.template is Template.ASWT:
        step = choose_step_k(problem, spec, tiles, base_k, columns.fixpipe > 0)
    else:
        resident = _resident_bytes(problem, tiles.template)
        base_k, step = choose_full_load_k(problem, spec, tiles, base_k, resident)
    all_steps = ceil_columns(align_up(problem.k, FRACTAL), base_k)
    first_step = np.clip(step, 1, all_steps)
    return _KAxis(
        base_k=base_k, first_step=first_step, step_span=np.ones_like(base_k), shared=False
    )


def _tile_rules(
    problem: GemmProblem, spec: HardwareSpec, columns: _TileColumns
) -> Iterator[tuple[str, BoolColumn]]:
    """Rules on the tile alone, in the order of `hwmodel.legality`, with who breaks them."""
    buffers = spec.buffers
    base_m, base_n = columns.tiles.base_m, columns.tiles.base_n
    l0c_bytes = columns.db_l0c * base_m * base_n * L0C_ELEMENT_BYTES
    yield "l0c_capacity", l0c_bytes > buffers.l0c_bytes
    if problem.bias_bytes:
        yield "bias_table", base_n * L0C_ELEMENT_BYTES > buffers.bias_table_bytes // 2
    c_bytes = problem.out_dtype.size_bytes
    rows = ceil_columns(base_m, 2) if c_bytes == L0C_ELEMENT_BYTES else base_m
    pitch = ceil_columns(base_n * c_bytes, UB_BLOCK_BYTES) * UB_BLOCK_BYTES
    ub_bytes = columns.ub_db * rows * pitch
    yield "ub_capacity", (columns.fixpipe > 0) & (ub_bytes > buffers.ub_bytes)


def _l0_rules(
    problem: GemmProblem, spec: HardwareSpec, tiles: Tiles, rows: _KRows
) -> Iterator[tuple[str, BoolColumn]]:
    """Rules on tile and base_k, in the order of `hwmodel.legality`, with who breaks them."""
    c0 = problem.dtype.c0_elements
    line = DOUBLE_BUFFER * ceil_columns(rows.base_k, c0) * c0 * problem.dtype.size_bytes
    yield "l0a_capacity", tiles.base_m[rows.tile] * line > spec.buffers.l0a_bytes
    yield "l0b_capacity", tiles.base_n[rows.tile] * line > spec.buffers.l0b_bytes


def _resident_bytes(problem: GemmProblem, template: Template) -> int:
    """L1 that the template's full operand takes."""
    if template is Template.A_FULL:
        return compute_resident_a_bytes(problem)
    return compute_resident_b_bytes(problem) if template is Template.B_FULL else 0


def _l1_room(problem: GemmProblem, spec: HardwareSpec, tiles: Tiles) -> _L1Room:
    """The L1 rule of the template (specification: plan.md, "Legality", column L1)."""
    streamed = {
        Template.A_FULL: tiles.base_n,
        Template.B_FULL: tiles.base_m,
    }.get(tiles.template, tiles.base_m + tiles.base_n)
    bias = DOUBLE_BUFFER * tiles.base_n * problem.bias_bytes
    if tiles.template is Template.B_FULL:
        bias = np.full_like(bias, align_up(problem.n, FRACTAL) * problem.bias_bytes)
    return _L1Room(
        room=spec.buffers.l1_bytes - _resident_bytes(problem, tiles.template),
        bias=bias,
        row=streamed * problem.dtype.size_bytes,
    )


def _last_step(problem: GemmProblem, base_k: IntColumn, max_k_l1: IntColumn) -> IntColumn:
    """Largest step_k whose slab, min(step_k*base_k, a16(K)), fits `max_k_l1`; below 1 for none."""
    k16 = align_up(problem.k, FRACTAL)
    return np.where(k16 <= max_k_l1, ceil_columns(k16, base_k), max_k_l1 // base_k)


def _four_slot_steps(
    problem: GemmProblem, template: Template, room: _L1Room, tile: IntColumn, base_k: IntColumn
) -> IntColumn:
    """step_k up to which the vendor takes four L1 slots, every two with a bias; 0 for ASWT."""
    if template is Template.ASWT:
        return np.zeros_like(base_k)
    bias_slots = FULL_LOAD_SLOTS // DOUBLE_BUFFER
    wide = room.max_k_l1(FULL_LOAD_SLOTS, bias_slots)[tile]
    return _last_step(problem, base_k, wide)
