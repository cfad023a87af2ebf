"""Under which windows the fixpipe output changes a stream-K kernel.

In stream-K the fixpipe output only pads the rows of the workspace to 32 elements (specification:
plan.md, "How the proposed templates run"; swizzle.md, section 2). That changes what the vector
cores do exactly when a tile of the last round has two rows or more and a width that is no multiple
of 32; which tiles these are depends on the window. Where nothing changes the output on the fly is
the same point.
"""

import numpy as np

from hwmodel.footprint import L0C_ELEMENT_BYTES
from hwmodel.legality import WORKSPACE_PITCH
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.vendor_columns import BoolColumn, IntColumn, Tiles, ceil_columns, compute_blocks
from studies.windows import WindowPair, WindowSet

NO_WINDOW = -1
"""Stands for the set of a tile where no window makes a difference."""


def select_padded_windows(
    problem: GemmProblem,
    spec: HardwareSpec,
    tiles: Tiles,
    sets: IntColumn,
    window_sets: list[WindowSet],
) -> tuple[IntColumn, list[WindowSet]]:
    """For each tile the number of the set of windows under which the fixpipe output matters.

    Args:
        problem: the GEMM.
        spec: the chip.
        tiles: the tiles.
        sets: for each tile the number of its set of windows.
        window_sets: the sets.

    Returns:
        the numbers, `NO_WINDOW` where there is none, and the sets with new ones after the old.
        Tiles that no stream-K kernel could run keep all windows.
    """
    rest = compute_blocks(problem, tiles) % spec.cores.aic_num
    area = tiles.base_m * tiles.base_n
    fits = area * L0C_ELEMENT_BYTES <= spec.buffers.l0c_bytes
    rows = np.flatnonzero(fits & (rest > 0) & (rest <= spec.cores.aic_num // 2))
    counts = np.array([len(pairs) for pairs, _ in window_sets], dtype=np.int64)[sets[rows]]
    tile = np.repeat(np.arange(len(rows)), counts)
    place = np.arange(len(tile)) - np.repeat(np.cumsum(counts) - counts, counts)
    listed: list[WindowPair] = [
        pair for number in sets[rows].tolist() for pair in window_sets[number][0]
    ]
    windows = np.array(listed, dtype=np.int64).reshape(-1, 2)
    chosen = Tiles(tiles.template, tiles.base_m[rows], tiles.base_n[rows])
    padded = _mark_padded(problem, chosen, rest[rows], tile, windows)
    masks = np.zeros(len(rows), dtype=np.int64)
    np.add.at(masks, tile, padded.astype(np.int64) << place)
    found = sets.copy()
    known: dict[WindowSet, int] = {window_set: at for at, window_set in enumerate(window_sets)}
    keys = np.stack([sets[rows], masks], axis=1)
    distinct, number_of_row = np.unique(keys, axis=0, return_inverse=True)
    numbers = np.full(len(distinct), NO_WINDOW, dtype=np.int64)
    for at, (number, mask) in enumerate(distinct.tolist()):
        pairs, preferred = window_sets[number]
        kept = [bit for bit in range(len(pairs)) if mask >> bit & 1]
        if kept:
            # One window at least is preferred, so that a cap leaves something of every tile.
            first = max(sum(bit < preferred for bit in kept), 1)
            window_set = tuple(pairs[bit] for bit in kept), first
            numbers[at] = known.setdefault(window_set, len(known))
    found[rows] = numbers[number_of_row.ravel()]
    return found, list(known)


def _mark_padded(
    problem: GemmProblem, tiles: Tiles, rest: IntColumn, tile: IntColumn, windows: IntColumn
) -> BoolColumn:
    """For each (tile, window) whether a tile of the last round is padded.

    The order of blocks is that of `hwmodel.walk.grid.WindowOrder`; `rest` blocks are in the last
    round, `windows` has the columns window_len and serpentine.
    """
    m_tiles = ceil_columns(problem.m, tiles.base_m)[tile]
    n_tiles = ceil_columns(problem.n, tiles.base_n)[tile]
    window = np.minimum(windows[:, 0], m_tiles)
    full = m_tiles // window - 1
    last_window = m_tiles - full * window
    first = m_tiles * n_tiles - rest[tile]
    padded = np.zeros(len(tile), dtype=np.bool_)
    for step in range(int(rest.max(initial=0))):
        index = first + step
        at = np.minimum(index // (n_tiles * window), full)
        column, line = np.divmod(
            index - at * window * n_tiles, np.where(at < full, window, last_window)
        )
        column = np.where((at & 1) & windows[:, 1], n_tiles - 1 - column, column)
        line = at * window + line
        width = np.minimum(problem.n - column * tiles.base_n[tile], tiles.base_n[tile])
        height = np.minimum(problem.m - line * tiles.base_m[tile], tiles.base_m[tile])
        padded |= (step < rest[tile]) & (height > 1) & (width % WORKSPACE_PITCH > 0)
    return padded
