"""What a windowed walk touches first, what L2 still holds, and when C starts to flow back to HBM.

Notation: Mt x Nt blocks of bm x bn; P cores take P consecutive blocks a round; the walk goes
down windows of W block rows, column by column, and, serpentine, every other window backwards. With
fewer than 2*W block rows there is a single window over all of them. cap = usable L2.

The walk has three kinds of rounds: `first` (the first window: every column of B is new, and W
rows of A), `burst` (a later window begins: W rows of A are new) and `steady` (nothing is new).
L2 is taken as LRU:

- A slab of A is touched again in the next round (in the next column where the window is taller
  than P): it stays if a round's footprint, or that of a column, fits.
- A column of B is touched again in the next window. Serpentine touches the last ones first: those
  stay whose distance back to the turn fits. Otherwise it is all or nothing.
- C is written to L2 and flows back to HBM as it is evicted: never when A, B and C fit together;
  else from the moment L2 is full, at the pace at which C is produced.
"""

from dataclasses import dataclass

import numpy as np

from hwmodel.cost.terms import ChipRates, Column, ProblemTerms
from hwmodel.cost.tile import TilePlan, line_waste_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkPlan:
    """The plan's columns that decide the order of the blocks.

    Attributes:
        cores: P, cores that get work.
        window_len: W.
        serpentine: 1 where every other window runs backwards, else 0.
        m_pieces, n_pieces: pieces of a block in the last round.
    """

    cores: Column
    window_len: Column
    serpentine: Column
    m_pieces: Column
    n_pieces: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The blocks and how they fall into rounds; counts as floats.

    Attributes:
        m, n: rows and columns of a block that is not cut.
        edge_n: columns of the last block column.
        m_tiles, n_tiles: block rows and columns.
        full_rounds: rounds in which every core has a block.
        rest: blocks of the last, partial round.
        rounds: all rounds.
        window: W, all block rows where there is a single window.
        working: cores that have a block in a full round.
    """

    m: Column
    n: Column
    edge_n: Column
    m_tiles: Column
    n_tiles: Column
    full_rounds: Column
    rest: Column
    rounds: Column
    window: Column
    working: Column


def build_grid(terms: ProblemTerms, plan: TilePlan, walk: WalkPlan) -> Grid:
    """The blocks of the plan on the problem."""
    rows, columns = terms.a.outer, terms.b.outer
    m, n = np.minimum(plan.base_m, rows), np.minimum(plan.base_n, columns)
    m_tiles, n_tiles = np.ceil(rows / m), np.ceil(columns / n)
    tiles = m_tiles * n_tiles
    full_rounds = np.floor(tiles / walk.cores)
    rest = tiles - full_rounds * walk.cores
    is_windowed = walk.window_len * 2 <= m_tiles
    return Grid(
        m=m,
        n=n,
        edge_n=columns - (n_tiles - 1) * n,
        m_tiles=m_tiles,
        n_tiles=n_tiles,
        full_rounds=full_rounds,
        rest=rest,
        rounds=full_rounds + np.minimum(rest, 1),
        window=np.where(is_windowed, walk.window_len, m_tiles),
        working=np.minimum(walk.cores, tiles),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """First touches of each kind of round, bytes over all cores, and the phases of C.

    Attributes:
        first_rounds: rounds of the kind `first`; they may be a fraction.
        burst_rounds: later rounds in which rows of A are new.
        first_a, first_b: HBM bytes of a `first` round.
        burst_a: HBM bytes of A in a `burst` round.
        again_a, again_b: HBM bytes of a later round because L2 no longer holds them.
        kept_ratio: share of the rounds in which C still fits in L2.
        hbm_read_bytes: HBM bytes of the whole kernel.
    """

    first_rounds: Column
    burst_rounds: Column
    first_a: Column
    first_b: Column
    burst_a: Column
    again_a: Column
    again_b: Column
    kept_ratio: Column
    hbm_read_bytes: Column


def _hbm_bytes_of_b(terms: ProblemTerms, chip: ChipRates, plan: TilePlan, grid: Grid) -> Column:
    """HBM bytes of the whole of B: runs along N fetch whole lines in every block column.

    Runs along K follow each other on the same core, which finds the line they share in L2.
    """
    own_bytes = terms.b.outer * terms.input_bytes
    if terms.b.run_along_k:
        return terms.k * own_bytes
    waste = chip.line_waste_ratio * line_waste_bytes(chip, terms.b, plan.base_n_bit)
    return terms.k * (own_bytes + grid.n_tiles * waste)


def _hbm_bytes_of_a(terms: ProblemTerms, chip: ChipRates, plan: TilePlan, grid: Grid) -> Column:
    """HBM bytes of the whole of A, as for B."""
    own_bytes = terms.a.outer * terms.input_bytes
    if terms.a.run_along_k:
        return terms.k * own_bytes
    waste = chip.line_waste_ratio * line_waste_bytes(chip, terms.a, plan.base_m_bit)
    return terms.k * (own_bytes + grid.m_tiles * waste)


def build_traffic(
    terms: ProblemTerms, chip: ChipRates, plan: TilePlan, walk: WalkPlan, grid: Grid
) -> Traffic:
    """First touches of the walk by kind of round."""
    cap = chip.l2_bytes
    line_bytes = terms.k * terms.input_bytes
    row_bytes, column_bytes = grid.m * line_bytes, grid.n * line_bytes
    tile_bytes = grid.m * grid.n * terms.output_bytes
    a_bytes = _hbm_bytes_of_a(terms, chip, plan, grid)
    b_bytes = _hbm_bytes_of_b(terms, chip, plan, grid)

    per_window = grid.window * grid.n_tiles
    windows = grid.m_tiles / grid.window
    in_column = np.minimum(grid.window, walk.cores)
    round_rows = np.minimum(grid.m_tiles, np.maximum(in_column, grid.working / grid.n_tiles))
    round_columns = np.minimum(grid.n_tiles, np.ceil(grid.working / in_column))

    first_rounds = np.minimum(np.maximum(1.0, per_window / walk.cores), grid.rounds)
    later_rounds = grid.rounds - first_rounds
    later_windows = np.maximum(windows - 1, 0)
    burst_rounds = np.minimum(later_rounds, later_windows)
    first_a = np.minimum(np.maximum(grid.window, round_rows) / grid.m_tiles, 1) * a_bytes
    burst_a = (a_bytes - first_a) / np.maximum(burst_rounds, 1e-9) * np.minimum(burst_rounds, 1)

    reuse_rows = np.maximum(grid.window, round_rows)
    reuse_bytes = (
        reuse_rows * row_bytes
        + round_columns * column_bytes
        + np.maximum(walk.cores, grid.window) * tile_bytes
    )
    again_a = (reuse_bytes > cap) * (round_rows * row_bytes)

    turn_bytes = cap - 2 * grid.window * row_bytes
    per_column = column_bytes + 2 * grid.window * tile_bytes
    kept_columns = np.minimum(np.maximum(turn_bytes, 0) / per_column, grid.n_tiles)
    pass_bytes = b_bytes + 2 * grid.window * row_bytes + per_window * tile_bytes
    all_kept = pass_bytes <= cap
    kept_b = np.maximum(all_kept, walk.serpentine * (kept_columns / grid.n_tiles))
    again_b_total = later_windows * (1 - kept_b) * b_bytes
    again_b = again_b_total / np.maximum(later_rounds, 1)

    total = a_bytes + b_bytes + terms.output_total_bytes
    hot_b = np.minimum(b_bytes * kept_b, cap) * np.minimum(later_windows, 1)
    kept_ratio = np.minimum(np.maximum((cap - hot_b) / np.maximum(total - hot_b, 1), 0), 1)
    return Traffic(
        first_rounds=first_rounds,
        burst_rounds=burst_rounds,
        first_a=first_a / first_rounds,
        first_b=b_bytes / first_rounds,
        burst_a=burst_a,
        again_a=again_a,
        again_b=again_b,
        kept_ratio=kept_ratio,
        hbm_read_bytes=a_bytes + b_bytes + again_b_total + again_a * (grid.rounds - 1),
    )
