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

from typing import NamedTuple

import numpy as np

from hwmodel.cost.terms import ChipRates, OperandTerms, ProblemTerms
from hwmodel.cost.tile import TilePlan, line_waste_bytes
from hwmodel.cost.whole import ceil, floor
from hwmodel.jit import inline

MOST_CORES = 128
"""Cores of the look-up of common divisors; no chip has more."""

COMMON_DIVISORS = (
    np.gcd.outer(np.arange(MOST_CORES + 1), np.arange(MOST_CORES + 1)).astype(np.float64).ravel()
)
"""Greatest common divisors of 0..MOST_CORES and 0..MOST_CORES, row by row."""


class WalkPlan(NamedTuple):
    """The plan's figures that decide the order of the blocks.

    Attributes:
        cores: P, cores that get work.
        window_len: W.
        serpentine: every other window runs backwards.
        m_pieces, n_pieces: pieces of a block in the last round.
    """

    cores: float
    window_len: float
    serpentine: bool
    m_pieces: float
    n_pieces: float


class Grid(NamedTuple):
    """The blocks and how they fall into rounds; counts as floats.

    Attributes:
        m, n: rows and columns of a block that is not cut.
        edge_m, edge_n: rows of the last block row and columns of the last block column.
        m_tiles, n_tiles: block rows and columns.
        per_core: 1 / P.
        full_rounds: rounds in which every core has a block.
        rest: blocks of the last, partial round.
        rounds: all rounds.
        window: W, all block rows where there is a single window.
        windows: m_tiles / window.
        last_window: block rows of the last window, which takes those that are left.
        before: windows before it.
        working: cores that have a block in a full round.
    """

    m: float
    n: float
    edge_m: float
    edge_n: float
    m_tiles: float
    n_tiles: float
    per_core: float
    full_rounds: float
    rest: float
    rounds: float
    window: float
    windows: float
    before: float
    last_window: float
    working: float


@inline
def build_grid(terms: ProblemTerms, plan: TilePlan, walk: WalkPlan) -> Grid:
    """The blocks of the plan on the problem."""
    rows, columns = terms.a.outer, terms.b.outer
    m, n = min(plan.base_m, rows), min(plan.base_n, columns)
    m_tiles, n_tiles = ceil(rows / m), ceil(columns / n)
    tiles = m_tiles * n_tiles
    full_rounds = floor(tiles / walk.cores)
    rest = tiles - full_rounds * walk.cores
    window = walk.window_len if walk.window_len * 2.0 <= m_tiles else m_tiles
    windows = m_tiles / window
    before = floor(windows) - 1.0
    return Grid(
        m=m,
        n=n,
        edge_m=rows - (m_tiles - 1.0) * m,
        edge_n=columns - (n_tiles - 1.0) * n,
        m_tiles=m_tiles,
        n_tiles=n_tiles,
        per_core=1.0 / walk.cores,
        full_rounds=full_rounds,
        rest=rest,
        rounds=full_rounds + min(rest, 1.0),
        window=window,
        windows=windows,
        before=before,
        last_window=m_tiles - before * window,
        working=min(walk.cores, tiles),
    )


@inline
def last_tile(walk: WalkPlan, grid: Grid) -> tuple[float, float]:
    """Rows and columns of the largest block of the last round.

    The walk ends in the last window, which takes the block rows that are left; it runs down its
    columns, the narrow one last unless the window runs backwards (swizzle.md, section 1).
    """
    is_odd = grid.before * 0.5 != floor(grid.before * 0.5)
    ends_right = not walk.serpentine or not is_odd
    m = grid.edge_m if grid.rest == 1.0 else grid.m
    n = grid.edge_n if ends_right and grid.rest <= grid.last_window else grid.n
    return m, n


class LateShares(NamedTuple):
    """Share of the cores that wait for first touches; the others find what they need in L2.

    Attributes:
        first, burst, again: in a `first`, a `burst` and a `steady` round.
    """

    first: float
    burst: float
    again: float


NARROW_LEAD = 0.6
LOW_LEAD = 0.3
EARLIER_LOW_LEAD = 0.4
"""How much of the waiting the cores with smaller tiles spare the others: those with a narrow tile
in the same round, in proportion to what it lacks; more if some are also low; those that had a low
tile in an earlier round. Fitted to the emulator (`python -m tests.bench.agreement`)."""


class Traffic(NamedTuple):
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

    first_rounds: float
    burst_rounds: float
    first_a: float
    first_b: float
    burst_a: float
    late: LateShares
    again_a: float
    again_b: float
    kept_ratio: float
    overflow_bytes: float
    hbm_read_bytes: float


@inline
def hbm_bytes(
    terms: ProblemTerms,
    operand: OperandTerms,
    tiles: float,
    start_bit: int,
    plan: TilePlan,
) -> float:
    """HBM bytes of the whole of A or B: every run of a slab fetches whole lines."""
    if operand.run_along_k > 0.0:
        waste = line_waste_bytes(operand, plan.k_l1_bit)
        steps = ceil(terms.k / plan.k_l1)
        extra = steps * operand.outer * waste if steps > 1.0 else 0.0
        return operand.total_bytes + extra
    return operand.total_bytes + terms.k * tiles * line_waste_bytes(operand, start_bit)


class Moved(NamedTuple):
    """Bytes that the walk moves: HBM bytes of A and of B with the bias; of one block's parts."""

    a: float
    b: float
    row: float
    column: float
    tile: float


class Reuse(NamedTuple):
    """What L2 keeps: HBM bytes of A of a later round, share of B that a later window finds."""

    again_a: float
    kept_b: float


@inline
def build_traffic(
    terms: ProblemTerms, chip: ChipRates, plan: TilePlan, walk: WalkPlan, grid: Grid
) -> Traffic:
    """First touches of the walk by kind of round."""
    line = terms.k * terms.input_bytes
    moved = Moved(
        a=hbm_bytes(terms, terms.a, grid.m_tiles, plan.base_m_bit, plan),
        b=hbm_bytes(terms, terms.b, grid.n_tiles, plan.base_n_bit, plan) + terms.bias_total_bytes,
        row=grid.m * line,
        column=grid.n * line,
        tile=grid.m * grid.n * terms.output_bytes,
    )
    in_column = min(grid.window, walk.cores)
    round_rows = min(grid.m_tiles, max(in_column, grid.working / grid.n_tiles))
    reuse = build_reuse(terms, chip, walk, grid, moved, in_column, round_rows)

    per_window = grid.window * grid.n_tiles
    first_rounds = min(max(1.0, per_window * grid.per_core), grid.rounds)
    later_rounds = grid.rounds - first_rounds
    later_windows = max(grid.windows - 1.0, 0.0)
    burst_rounds = min(later_rounds, later_windows)
    first_a = min(max(grid.window, round_rows) / grid.m_tiles, 1.0) * moved.a
    burst_a = 0.0
    if burst_rounds > 0.0:
        burst_a = (moved.a - first_a) / burst_rounds * min(burst_rounds, 1.0)
    late = build_late_shares(walk.cores, grid, per_window, first_rounds, reuse)
    again_b_total = later_windows * (1.0 - reuse.kept_b) * moved.b

    total = terms.a.total_bytes + terms.b.total_bytes + terms.output_total_bytes
    hot_b = min(terms.b.total_bytes * reuse.kept_b, chip.l2_bytes) * min(later_windows, 1.0)
    free = (chip.l2_bytes - hot_b) / max(total - hot_b, 1.0)
    per_first = 1.0 / first_rounds
    return Traffic(
        first_rounds=first_rounds,
        burst_rounds=burst_rounds,
        first_a=first_a * per_first,
        first_b=moved.b * per_first,
        burst_a=burst_a,
        late=late,
        again_a=reuse.again_a,
        again_b=again_b_total / max(later_rounds, 1.0),
        kept_ratio=min(max(free, 0.0), 1.0),
        overflow_bytes=max(total - chip.l2_bytes, 0.0),
        hbm_read_bytes=moved.a + moved.b + again_b_total + reuse.again_a * (grid.rounds - 1.0),
    )


@inline
def build_late_shares(
    cores: float, grid: Grid, per_window: float, first_rounds: float, reuse: Reuse
) -> LateShares:
    """Who waits for first touches.

    Cores with a smaller tile at the edge of C are ahead of the others and touch what they share
    with them first.
    """
    column = late_share(cores, grid.per_core, grid.window) * min(cores / grid.window, 1.0)
    seen = min(grid.working / per_window, 1.0)
    has_rows = grid.m_tiles > 1.0
    narrow = NARROW_LEAD * seen * (1.0 - grid.edge_n / grid.n)
    lead = narrow
    if has_rows and grid.edge_m < grid.m:
        if narrow > 0.0:
            lead += LOW_LEAD * seen
        if grid.rounds > 1.0:
            lead += EARLIER_LOW_LEAD
    first = column + (1.0 - column) / first_rounds
    return LateShares(
        first=first * (1.0 - min(lead, 1.0)) if has_rows else first,
        burst=late_share(cores, grid.per_core, per_window) * (1.0 - narrow),
        again=column * (1.0 if reuse.again_a > 0.0 else 1.0 - reuse.kept_b),
    )


@inline
def common_divisor(count: float, cores: float) -> float:
    """Greatest common divisor of a number of blocks and of cores: a look-up is the fastest."""
    rest = count - floor(count / cores) * cores
    place = min(cores, MOST_CORES) * (MOST_CORES + 1.0) + min(rest, MOST_CORES)
    return float(COMMON_DIVISORS[int(place)])


@inline
def late_share(cores: float, per_core: float, blocks: float) -> float:
    """Share of the cores at work on a group of new blocks that meet it as it begins.

    Groups of that many blocks begin at any multiple of the greatest common divisor with the cores.
    The cores from there to the end of the round wait for first touches; those that go on with the
    group in the next round find its slabs in L2. The core that decides the kernel's time is rarely
    among the few, hence the square.
    """
    common = common_divisor(blocks, cores)
    share = 1.0 - (min(blocks, cores) - common) * 0.5 * per_core
    return share * share


@inline
def build_reuse(
    terms: ProblemTerms,
    chip: ChipRates,
    walk: WalkPlan,
    grid: Grid,
    moved: Moved,
    in_column: float,
    round_rows: float,
) -> Reuse:
    """What L2 still holds of A in the next round and of B in the next window."""
    cap = chip.l2_bytes
    reuse_bytes = (
        max(grid.window, round_rows) * moved.row
        + min(grid.n_tiles, ceil(grid.working / in_column)) * moved.column
        + max(walk.cores, grid.window) * moved.tile
    )
    window_bytes = 2.0 * grid.window * moved.row
    per_column = moved.column + 2.0 * grid.window * moved.tile
    kept_columns = min(max(cap - window_bytes, 0.0) / per_column, grid.n_tiles)
    pass_bytes = terms.b.total_bytes + window_bytes + grid.window * grid.n_tiles * moved.tile
    kept_b = kept_columns / grid.n_tiles if walk.serpentine else 0.0
    if pass_bytes <= cap:
        kept_b = 1.0
    return Reuse(
        again_a=round_rows * moved.row if reuse_bytes > cap else 0.0,
        kept_b=kept_b,
    )
