"""The tiles of one template of a space, with everything that follows from the tile.

A row is a tile (base_m, base_n) with db_l0c and an output path. Legality is decided here for the
rules that know no more than that, and for those of stream-K and of the resident templates that
only the tile decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hwmodel.derived import compute_base_k_unit, runs_fp32_split_k
from hwmodel.footprint import DOUBLE_BUFFER, L0C_ELEMENT_BYTES, UB_BLOCK_BYTES
from hwmodel.integers import FRACTAL, align_up
from hwmodel.legality import MAX_STREAM_K_LEVEL, WORKSPACE_PITCH, WORKSPACE_SLOT_ELEMENTS
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.padded_windows import NO_WINDOW, select_padded_windows
from studies.space_axes import (
    FIXPIPE_TEMPLATES,
    PANEL_TEMPLATES,
    RESIDENT_TEMPLATES,
    WINDOW_TEMPLATES,
    Axes,
    list_pieces,
)
from studies.space_cells import STREAM_K_ORDERS
from studies.vendor_columns import (
    BoolColumn,
    IntColumn,
    Tiles,
    ceil_columns,
    choose_db_l0c,
    choose_fixpipe,
    choose_piece,
    choose_tails,
    choose_ub_db,
    compute_blocks,
)
from studies.windows import (
    ONLY_ORDER,
    WindowPair,
    WindowSet,
    order_by_reuse,
    order_quick_first,
    select_quick_windows,
    select_windows,
)

FIXPIPE_CODE = list(L0cOutput).index(L0cOutput.FIXPIPE)
"""Code of the fixpipe output in a PlanBatch; ON_THE_FLY is 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TileRows:
    """Rows of (tile, db_l0c, output path); all columns of equal length.

    Attributes:
        pieces: values of single_core_k, the longest first; only K unless stream-K.
        first_piece: number of the first piece of the row: 0, but in the quick preset the one piece
            that the vendor takes; then `piece_axis` is 1.
        piece_axis: pieces of a row, legal or not.
        preferred_count: windows that a cap keeps, from `window_start` on.
        windows: windows of all sets, one set after the other.
    """

    tiles: Tiles
    db_l0c: IntColumn
    l0c_output: IntColumn
    ub_db: IntColumn
    used_core_num: IntColumn
    m_tail_cnt: IntColumn
    n_tail_cnt: IntColumn
    tail_count: IntColumn
    order_count: IntColumn
    window_start: IntColumn
    window_count: IntColumn
    preferred_count: IntColumn
    pieces: tuple[int, ...]
    first_piece: IntColumn
    piece_axis: int
    windows: tuple[WindowPair, ...]

    @property
    def walk_count(self) -> IntColumn:
        """Combinations of tail split, stream-K order and window."""
        return self.tail_count * self.order_count * self.window_count


TILE_COLUMNS = (
    "db_l0c",
    "l0c_output",
    "ub_db",
    "used_core_num",
    "m_tail_cnt",
    "n_tail_cnt",
    "tail_count",
    "order_count",
    "window_start",
    "window_count",
    "preferred_count",
)
"""Columns of `TileRows` that a cell takes over as they are."""


def build_tiles(
    problem: GemmProblem, spec: HardwareSpec, template: Template, axes: Axes
) -> TileRows:
    """All rows of the template, legal or not, sorted by base_m, base_n, db_l0c, output.

    Tiles are multiples of 16 up to what the problem can use and L0 can hold at the least base_k.
    """
    sides = _list_tiles(problem, spec, template)
    blocks = compute_blocks(problem, sides)
    aic_num = spec.cores.aic_num
    splits_k = template is Template.STREAM_K
    cores = np.full_like(blocks, aic_num) if splits_k else np.minimum(blocks, aic_num)
    sets, window_sets = _list_windows(problem, sides, cores, axes)
    outputs, sets, window_sets = _list_outputs(problem, spec, sides, axes, sets, window_sets)
    tile, depth, output = _cross(len(sides), _list_depths(spec, sides, axes), outputs)
    tiles = Tiles(template, sides.base_m[tile], sides.base_n[tile])
    fixpipe = output == FIXPIPE_CODE
    m_tail, n_tail, tail_count = _list_tails(problem, spec, sides, axes)
    rounds = blocks // aic_num
    orders = np.minimum(rounds + 1, len(STREAM_K_ORDERS)) if splits_k else np.ones_like(blocks)
    pieces = list_pieces(problem, aic_num) if splits_k else (problem.k,)
    first_piece = np.zeros_like(blocks)
    if splits_k and axes.quick:
        first_piece = _find_pieces(pieces, choose_piece(problem, spec, sides))
    starts, counts, preferred, windows = _flatten(window_sets)
    own_set = sets[tile, np.minimum(output, sets.shape[1] - 1)]
    return TileRows(
        tiles=tiles,
        db_l0c=depth,
        l0c_output=output,
        ub_db=np.where(fixpipe & (not splits_k), choose_ub_db(spec, tiles), 1),
        used_core_num=cores[tile],
        m_tail_cnt=m_tail[tile],
        n_tail_cnt=n_tail[tile],
        tail_count=tail_count[tile],
        order_count=np.ones_like(orders)[tile] if axes.quick else orders[tile],
        window_start=starts[own_set],
        window_count=counts[own_set],
        preferred_count=preferred[own_set],
        pieces=pieces,
        first_piece=first_piece[tile],
        piece_axis=min(len(pieces), 1) if axes.quick else len(pieces),
        windows=windows,
    )


def tile_rules(
    problem: GemmProblem, spec: HardwareSpec, rows: TileRows
) -> Iterator[tuple[str, BoolColumn]]:
    """Rules on the tile alone, in the order of `hwmodel.legality`, with who breaks them."""
    buffers, cores = spec.buffers, spec.cores
    base_m, base_n = rows.tiles.base_m, rows.tiles.base_n
    l0c_bytes = rows.db_l0c * base_m * base_n * L0C_ELEMENT_BYTES
    yield "l0c_capacity", l0c_bytes > buffers.l0c_bytes
    if problem.bias_bytes:
        yield "bias_table", base_n * L0C_ELEMENT_BYTES > buffers.bias_table_bytes // 2
    fixpipe = rows.l0c_output == FIXPIPE_CODE
    yield "fixpipe_cores", fixpipe & (cores.aiv_num != 2 * cores.aic_num)
    if rows.tiles.template is Template.STREAM_K:
        return
    yield "fixpipe_fp32_split_k", fixpipe & _runs_fp32_split_k(problem, rows.tiles.template)
    c_bytes = problem.out_dtype.size_bytes
    lines = ceil_columns(base_m, 2) if c_bytes == L0C_ELEMENT_BYTES else base_m
    pitch = ceil_columns(base_n * c_bytes, UB_BLOCK_BYTES) * UB_BLOCK_BYTES
    yield "ub_capacity", fixpipe & (rows.ub_db * lines * pitch > buffers.ub_bytes)


def piece_rules(
    problem: GemmProblem, spec: HardwareSpec, rows: TileRows
) -> Iterator[tuple[str, IntColumn]]:
    """The template's own rules in the order of `hwmodel.legality`, after those on capacity.

    With each rule comes how many of `rows.pieces`, the longest first, keep it and those before it.
    """
    template = rows.tiles.template
    everything = np.full(len(rows.tiles), rows.piece_axis, dtype=np.int64)
    if template in RESIDENT_TEMPLATES:
        refused = _runs_fp32_split_k(problem, template)
        yield "resident_fp32_split_k", everything * (not refused)
    if template is not Template.STREAM_K:
        return
    cores = spec.cores
    rest = compute_blocks(problem, rows.tiles) % cores.aic_num
    legal = np.where(rest > 0, everything, 0)
    yield "stream_k_rest", legal
    # A piece that is none of the list is all of K.
    legal = np.where(rows.first_piece < len(rows.pieces), legal, 0)
    yield "stream_k_pieces", legal
    counts = np.array([-(-problem.k // piece) for piece in rows.pieces], dtype=np.int64)
    most = cores.aic_num // np.maximum(rest, 1)
    fitting = np.searchsorted(counts, most, side="right") - rows.first_piece
    legal = np.minimum(legal, np.maximum(fitting, 0))
    yield "stream_k_cores", legal
    pitch = ceil_columns(rows.tiles.base_n, WORKSPACE_PITCH) * WORKSPACE_PITCH
    legal = np.where(rows.tiles.base_m * pitch <= WORKSPACE_SLOT_ELEMENTS, legal, 0)
    yield "stream_k_workspace", legal
    legal = legal * (problem.deterministic_level <= MAX_STREAM_K_LEVEL)
    yield "stream_k_determinism", legal
    yield "stream_k_vector_cores", legal * (cores.aiv_num == 2 * cores.aic_num)


def effective_tails(
    problem: GemmProblem, tiles: Tiles, m_tail: IntColumn, n_tail: IntColumn
) -> tuple[IntColumn, IntColumn]:
    """Pieces that the last row and the last column of blocks really have.

    The kernel reduces the counts to these for every block of the last round (specification:
    swizzle.md, section 1), so counts that reduce alike walk alike.
    """
    last_m = problem.m - (ceil_columns(problem.m, tiles.base_m) - 1) * tiles.base_m
    last_n = problem.n - (ceil_columns(problem.n, tiles.base_n) - 1) * tiles.base_n
    m_count = ceil_columns(last_m, ceil_columns(last_m, m_tail))
    n_count = ceil_columns(last_n, ceil_columns(last_n, n_tail))
    return m_count, n_count


def _list_tiles(problem: GemmProblem, spec: HardwareSpec, template: Template) -> Tiles:
    bytes_per_line = DOUBLE_BUFFER * compute_base_k_unit(problem) * problem.dtype.size_bytes
    last_m = min(align_up(problem.m, FRACTAL), spec.buffers.l0a_bytes // bytes_per_line)
    last_n = min(align_up(problem.n, FRACTAL), spec.buffers.l0b_bytes // bytes_per_line)
    sides_m = np.arange(FRACTAL, last_m + 1, FRACTAL, dtype=np.int64)
    sides_n = np.arange(FRACTAL, last_n + 1, FRACTAL, dtype=np.int64)
    return Tiles(template, np.repeat(sides_m, len(sides_n)), np.tile(sides_n, len(sides_m)))


def _list_depths(spec: HardwareSpec, sides: Tiles, axes: Axes) -> IntColumn:
    """Values of db_l0c of each tile, shape (tiles, values); stream-K has one (plan.md)."""
    ones = np.ones((len(sides), 1), dtype=np.int64)
    if sides.template is Template.STREAM_K:
        return ones
    return choose_db_l0c(spec, sides)[:, None] if axes.quick else ones * np.array([[1, 2]])


def _list_outputs(
    problem: GemmProblem,
    spec: HardwareSpec,
    sides: Tiles,
    axes: Axes,
    sets: IntColumn,
    window_sets: list[WindowSet],
) -> tuple[IntColumn, IntColumn, list[WindowSet]]:
    """Output paths of each tile, and the sets of windows that go with them.

    Returns:
        the paths, shape (tiles, paths), -1 where one would change nothing; the number of the set
        for each tile and path, or for all paths, shape (tiles, paths or 1); the sets.
    """
    if not axes.both_outputs:
        outputs = choose_fixpipe(problem, spec, sides).astype(np.int64) * FIXPIPE_CODE
        return outputs[:, None], sets[:, None], window_sets
    direct = np.zeros(len(sides), dtype=np.int64)
    if sides.template not in FIXPIPE_TEMPLATES:
        return direct[:, None], sets[:, None], window_sets
    fixpipe = np.full_like(direct, FIXPIPE_CODE)
    padded = sets
    if sides.template is Template.STREAM_K:
        padded, window_sets = select_padded_windows(problem, spec, sides, sets, window_sets)
        fixpipe = np.where(padded == NO_WINDOW, -1, FIXPIPE_CODE)
    return np.stack([direct, fixpipe], axis=1), np.stack([sets, padded], axis=1), window_sets


def _cross(
    tiles: int, depths: IntColumn, outputs: IntColumn
) -> tuple[IntColumn, IntColumn, IntColumn]:
    """Rows of tile number, db_l0c and output path, in this nesting, without the outputs of -1."""
    shape = (tiles, depths.shape[1], outputs.shape[1])
    tile = np.broadcast_to(np.arange(tiles, dtype=np.int64)[:, None, None], shape).ravel()
    depth = np.broadcast_to(depths[:, :, None], shape).ravel()
    output = np.broadcast_to(outputs[:, None, :], shape).ravel()
    kept = output >= 0
    return tile[kept], depth[kept], output[kept]


def _list_tails(
    problem: GemmProblem, spec: HardwareSpec, sides: Tiles, axes: Axes
) -> tuple[IntColumn, IntColumn, IntColumn]:
    """The vendor's tail split of each tile, and 2 where none is another point."""
    ones = np.ones(len(sides), dtype=np.int64)
    if sides.template is Template.STREAM_K:
        return ones, ones, ones
    m_tail, n_tail = choose_tails(problem, spec, sides)
    if not axes.no_tails:
        return m_tail, n_tail, ones
    m_count, n_count = effective_tails(problem, sides, m_tail, n_tail)
    return m_tail, n_tail, np.where(m_count * n_count > 1, 2, 1)


def _find_pieces(pieces: tuple[int, ...], wanted: IntColumn) -> IntColumn:
    """Numbers of the wanted pieces in the list, which falls; its length where it has not one."""
    ascending = np.array(pieces[::-1], dtype=np.int64)
    at = np.searchsorted(ascending, wanted)
    found = at < len(ascending)
    return np.where(found, len(ascending) - 1 - at, len(ascending))


def _list_windows(
    problem: GemmProblem, sides: Tiles, cores: IntColumn, axes: Axes
) -> tuple[IntColumn, list[WindowSet]]:
    """For each tile the number of its set of windows, and the sets.

    Full and partial loads know one order; a B panel walks the transposed grid.
    """
    template = sides.template
    if template not in WINDOW_TEMPLATES:
        return np.zeros(len(sides), dtype=np.int64), [((ONLY_ORDER,), 1)]
    rows = ceil_columns(problem.m, sides.base_m)
    columns = ceil_columns(problem.n, sides.base_n)
    if template is Template.B_PANEL:
        rows, columns = columns, rows
    # A grid's windows depend on its rows, its cores and whether it has more than one column.
    keys = (rows * 2 + (columns > 1)) * (int(cores.max(initial=0)) + 1) + cores
    distinct, first, grid_of_tile = np.unique(keys, return_index=True, return_inverse=True)
    known: dict[WindowSet, int] = {}
    set_of_grid = np.zeros(len(distinct), dtype=np.int64)
    for number, tile in enumerate(first.tolist()):
        grid = int(rows[tile]), int(columns[tile]), int(cores[tile])
        pairs = select_quick_windows(*grid[:2]) if axes.quick else select_windows(*grid)
        window_set = pairs, len(pairs)
        if template in PANEL_TEMPLATES:
            window_set = order_by_reuse(pairs, grid[0], grid[2])
        elif template is Template.STREAM_K:
            window_set = order_quick_first(pairs, *grid[:2])
        set_of_grid[number] = known.setdefault(window_set, len(known))
    return set_of_grid[grid_of_tile.ravel()], list(known)


def _flatten(
    sets: list[WindowSet],
) -> tuple[IntColumn, IntColumn, IntColumn, tuple[WindowPair, ...]]:
    """Start, length and preferred part of each set in the list of all windows, and the list."""
    counts = np.array([len(pairs) for pairs, _ in sets], dtype=np.int64)
    preferred = np.array([count for _, count in sets], dtype=np.int64)
    windows = tuple(pair for pairs, _ in sets for pair in pairs)
    return np.cumsum(counts) - counts, counts, preferred, windows


def _runs_fp32_split_k(problem: GemmProblem, template: Template) -> bool:
    """Whether the template's plans would run the fp32 split-K kernel; not for stream-K."""
    plan = KernelPlan(
        template=template,
        base_m=FRACTAL,
        base_n=FRACTAL,
        base_k=FRACTAL,
        step_k=1,
        single_core_k=problem.k,
        used_core_num=1,
    )
    return runs_fp32_split_k(problem, plan)
