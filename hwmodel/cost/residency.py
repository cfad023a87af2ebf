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
from functools import lru_cache

import numpy as np

from hwmodel.cost.terms import ChipRates, Column, IntColumn, OperandTerms, ProblemTerms
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
        edge_m, edge_n: rows of the last block row and columns of the last block column.
        m_tiles, n_tiles: block rows and columns.
        full_rounds: rounds in which every core has a block.
        rest: blocks of the last, partial round.
        rounds: all rounds.
        window: W, all block rows where there is a single window.
        working: cores that have a block in a full round.
    """

    m: Column
    n: Column
    edge_m: Column
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
        edge_m=rows - (m_tiles - 1) * m,
        edge_n=columns - (n_tiles - 1) * n,
        m_tiles=m_tiles,
        n_tiles=n_tiles,
        full_rounds=full_rounds,
        rest=rest,
        rounds=full_rounds + np.minimum(rest, 1),
        window=np.where(is_windowed, walk.window_len, m_tiles),
        working=np.minimum(walk.cores, tiles),
    )


def last_tile(walk: WalkPlan, grid: Grid) -> tuple[Column, Column]:
    """Rows and columns of the largest block of the last round.

    The walk ends in the last window, which takes the block rows that are left; it runs down its
    columns, the narrow one last unless the window runs backwards (swizzle.md, section 1).
    """
    before = np.floor(grid.m_tiles / grid.window) - 1
    height = grid.m_tiles - before * grid.window
    ends_right = np.maximum(1 - walk.serpentine, before % 2 == 0)
    is_narrow = (grid.rest <= height) * ends_right
    is_low = grid.rest == 1
    return (
        np.where(is_low, grid.edge_m, grid.m),
        np.where(is_narrow, grid.edge_n, grid.n),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LateShares:
    """Share of the cores that wait for first touches; the others find what they need in L2.

    Attributes:
        first, burst, again: in a `first`, a `burst` and a `steady` round.
    """

    first: Column
    burst: Column
    again: Column


NARROW_LEAD = 0.6
LOW_LEAD = 0.3
EARLIER_LOW_LEAD = 0.4
"""How much of the waiting the cores with smaller tiles spare the others: those with a narrow tile
in the same round, in proportion to what it lacks; more if some are also low; those that had a low
tile in an earlier round. Fitted to the emulator (`python -m tests.bench.agreement`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """First touches of each kind of round, bytes over all cores, and the phases of C.

    Attributes:
        first_rounds: rounds of the kind `first`; they may be a fraction.
        burst_rounds: later rounds in which rows of A are new.
        first_a, first_b: HBM bytes of a `first` round.
        burst_a: HBM bytes of A in a `burst` round.
        late: shares of the cores that wait for the first touches.
        again_a, again_b: HBM bytes of a later round because L2 no longer holds them.
        kept_ratio: share of the rounds in which C still fits in L2.
        overflow_bytes: bytes of A, B and C that L2 cannot hold.
        hbm_read_bytes: HBM bytes of the whole kernel.
    """

    first_rounds: Column
    burst_rounds: Column
    first_a: Column
    first_b: Column
    burst_a: Column
    late: LateShares
    again_a: Column
    again_b: Column
    kept_ratio: Column
    overflow_bytes: Column
    hbm_read_bytes: Column


_FEW = 1e-9
"""Stands for no rounds in a denominator."""


def _hbm_bytes(
    terms: ProblemTerms,
    chip: ChipRates,
    operand: OperandTerms,
    tiles: Column,
    start_bit: IntColumn,
    plan: TilePlan,
) -> Column:
    """HBM bytes of the whole of A or B: every run of a slab fetches whole lines."""
    own_bytes = operand.outer * terms.input_bytes
    if operand.run_along_k:
        waste = chip.line_waste_ratio * line_waste_bytes(chip, operand, plan.k_l1_bit)
        steps = np.ceil(terms.k / plan.k_l1)
        return terms.k * own_bytes + (steps > 1) * steps * operand.outer * waste
    waste = chip.line_waste_ratio * line_waste_bytes(chip, operand, start_bit)
    return terms.k * (own_bytes + tiles * waste)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bytes:
    """Bytes that the walk moves: HBM bytes of A and of B with the bias; of one block's parts."""

    a: Column
    b: Column
    row: Column
    column: Column
    tile: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reuse:
    """What L2 keeps: HBM bytes of A of a later round, share of B that a later window finds."""

    again_a: Column
    kept_b: Column


def build_traffic(
    terms: ProblemTerms, chip: ChipRates, plan: TilePlan, walk: WalkPlan, grid: Grid
) -> Traffic:
    """First touches of the walk by kind of round."""
    line_bytes = terms.k * terms.input_bytes
    moved = _Bytes(
        a=_hbm_bytes(terms, chip, terms.a, grid.m_tiles, plan.base_m_bit, plan),
        b=_hbm_bytes(terms, chip, terms.b, grid.n_tiles, plan.base_n_bit, plan)
        + terms.bias_total_bytes,
        row=grid.m * line_bytes,
        column=grid.n * line_bytes,
        tile=grid.m * grid.n * terms.output_bytes,
    )
    in_column = np.minimum(grid.window, walk.cores)
    round_rows = np.minimum(grid.m_tiles, np.maximum(in_column, grid.working / grid.n_tiles))
    reuse = _build_reuse(chip, walk, grid, moved, in_column, round_rows)

    per_window = grid.window * grid.n_tiles
    first_rounds = np.minimum(np.maximum(1.0, per_window / walk.cores), grid.rounds)
    later_rounds = grid.rounds - first_rounds
    later_windows = np.maximum(grid.m_tiles / grid.window - 1, 0)
    burst_rounds = np.minimum(later_rounds, later_windows)
    first_a = np.minimum(np.maximum(grid.window, round_rows) / grid.m_tiles, 1) * moved.a
    burst_a = (moved.a - first_a) / np.maximum(burst_rounds, _FEW) * np.minimum(burst_rounds, 1)
    late = _build_late_shares(walk.cores, grid, per_window, first_rounds, reuse)
    again_b_total = later_windows * (1 - reuse.kept_b) * moved.b

    total = moved.a + moved.b + terms.output_total_bytes
    hot_b = np.minimum(moved.b * reuse.kept_b, chip.l2_bytes) * np.minimum(later_windows, 1)
    free = (chip.l2_bytes - hot_b) / np.maximum(total - hot_b, 1)
    return Traffic(
        first_rounds=first_rounds,
        burst_rounds=burst_rounds,
        first_a=first_a / first_rounds,
        first_b=moved.b / first_rounds,
        burst_a=burst_a,
        late=late,
        again_a=reuse.again_a,
        again_b=again_b_total / np.maximum(later_rounds, 1),
        kept_ratio=np.minimum(np.maximum(free, 0), 1),
        overflow_bytes=np.maximum(total - chip.l2_bytes, 0),
        hbm_read_bytes=moved.a + moved.b + again_b_total + reuse.again_a * (grid.rounds - 1),
    )


def _build_late_shares(
    cores: Column, grid: Grid, per_window: Column, first_rounds: Column, reuse: _Reuse
) -> LateShares:
    """Who waits for first touches.

    Cores with a smaller tile at the edge of C are ahead of the others and touch what they share
    with them first.
    """
    column = _late_share(cores, grid.window) * np.minimum(cores / grid.window, 1)
    seen = np.minimum(grid.working / per_window, 1)
    has_rows = grid.m_tiles > 1
    narrow = NARROW_LEAD * seen * (1 - grid.edge_n / grid.n)
    is_low = has_rows * (grid.edge_m < grid.m)
    lead = narrow + is_low * (
        LOW_LEAD * seen * (narrow > 0) + EARLIER_LOW_LEAD * (grid.rounds > 1)
    )
    return LateShares(
        first=(column + (1 - column) / first_rounds) * (1 - has_rows * np.minimum(lead, 1)),
        burst=_late_share(cores, per_window) * (1 - narrow),
        again=column * np.maximum(reuse.again_a > 0, 1 - reuse.kept_b),
    )


@lru_cache(maxsize=4)
def _gcd_table(most: int) -> Column:
    """Greatest common divisors of 0..most and 0..most; a look-up is faster than `np.gcd`."""
    numbers = np.arange(most + 1)
    return np.gcd.outer(numbers, numbers).astype(np.float64)


def gcd_with_cores(count: Column, cores: Column) -> Column:
    """Greatest common divisor of a count and the number of cores."""
    table = _gcd_table(int(cores.max()))
    rest = count - np.floor(count / cores) * cores
    common: Column = table[rest.astype(np.intp), cores.astype(np.intp)]
    return common


def _late_share(cores: Column, blocks: Column) -> Column:
    """Share of the cores at work on a group of new blocks that meet it as it begins.

    Groups of that many blocks begin at any multiple of the greatest common divisor with the cores.
    The cores from there to the end of the round wait for first touches; those that go on with the
    group in the next round find its slabs in L2. The core that decides the kernel's time is rarely
    among the few, hence the square.
    """
    common = gcd_with_cores(blocks, cores)
    share = 1 - (np.minimum(blocks, cores) - common) / (2 * cores)
    return share * share


def _build_reuse(
    chip: ChipRates,
    walk: WalkPlan,
    grid: Grid,
    moved: _Bytes,
    in_column: Column,
    round_rows: Column,
) -> _Reuse:
    """What L2 still holds of A in the next round and of B in the next window."""
    cap = chip.l2_bytes
    reuse_bytes = (
        np.maximum(grid.window, round_rows) * moved.row
        + np.minimum(grid.n_tiles, np.ceil(grid.working / in_column)) * moved.column
        + np.maximum(walk.cores, grid.window) * moved.tile
    )
    window_bytes = 2 * grid.window * moved.row
    per_column = moved.column + 2 * grid.window * moved.tile
    kept_columns = np.minimum(np.maximum(cap - window_bytes, 0) / per_column, grid.n_tiles)
    pass_bytes = moved.b + window_bytes + grid.window * grid.n_tiles * moved.tile
    return _Reuse(
        again_a=(reuse_bytes > cap) * (round_rows * moved.row),
        kept_b=np.maximum(pass_bytes <= cap, walk.serpentine * (kept_columns / grid.n_tiles)),
    )
