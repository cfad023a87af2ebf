"""The search inside the rebalancing of the base block, pruned with proof.

Source: the specification, host-tiling.md, section 4.

Notation: p = 1/cur_m + 1/cur_n of a candidate and r its balance rate; P, R and E the param, rate
and edge of the state so far. A candidate takes the lead when

    cube win:  p <= E and r > R, or
    trade win: p/r < P/R, or |p/r - P/R| < 1e-9 and r > R.

Why the pruning is exact. Inside a row (one cur_m) cur_n only falls, so p only rises, and the state
changes only on a win. Every rate in the row is at most

    B = M / (ceil(M, cur_m) * cur_m) <= 1      (cur_m counts as M where M <= 16),

because the cores together have time for at least all ceil(M, cur_m) * ceil(N, cur_n) whole tiles:
with `rest` tiles in the last round and split = cores // rest, the split tail costs 1/(s*(split //
s)) >= 1/split >= rest/cores rounds. So

1. p > E, or B <= R: no cube win, nor a tie, is possible (the latter needs r > R). If also p > (P/R
+ 1e-9) * B,
   then p/r >= p/B > P/R + 1e-9 and a trade win is impossible too. Both hold for the rest of the
   row, p rising.
2. R >= 0.9, p > P, p > E and E > 0 is the vendor's own reason to skip; it too holds for the rest
of the row. 3. Where the row starts at max_n, all later rows start there too with larger p. When 1
with B = 1 or 2 holds
   for the row's first candidate, it holds for every candidate that is left.

Rates, bounds and quotients are a handful of roundings of 2^-53 away from the real numbers; `SLACK`
covers thousands of them, so a candidate within rounding of winning is always visited.
"""

import math
from dataclasses import dataclass, field
from typing import Final

from baseline.cube_tiling import START_BASE
from hwmodel.integers import FRACTAL
from hwmodel.problem import GemmProblem

GOOD_RATE: Final = 0.9
"""A balance rate that is no longer traded for a worse param."""

TIE: Final = 1e-9
"""Trades this close count as equal; the better balance then wins."""

SMALL_BASE: Final = 64
"""Smaller tiles are refused for plain fp32 when there are more of them than cores."""

MIN_TAIL_TILE: Final = 4096
"""Elements below which a piece of a tile of the last round is not cut off."""

SLACK: Final = 1.0 + 1e-12
"""Margin for rounding in the bounds of the pruning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchGrid:
    """Candidates: rows max_m, max_m - m_align, ...; columns likewise, as far as L0C allows."""

    max_m: int
    max_n: int
    m_align: int
    n_align: int
    tile_elements: int

    def first_n(self, cur_m: int) -> int:
        """Columns of the first candidate with `cur_m` rows; 0 when there is none."""
        return min(self.max_n, self.tile_elements // cur_m // self.n_align * self.n_align)

    def count_candidates(self) -> int:
        """Candidates of the whole search, pruned ones included."""
        rows = range(self.max_m, 0, -self.m_align)
        return sum(len(range(self.first_n(cur_m), 0, -self.n_align)) for cur_m in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """A candidate that took the lead, and why."""

    base_m: int
    base_n: int
    param: float
    rate: float
    reason: str


@dataclass(slots=True)
class SearchTrace:
    """What an explained search notes: candidates visited, and those that took the lead."""

    visited: int = 0
    leads: list[Lead] = field(default_factory=list)


def compute_balance_rate(m: int, n: int, base_m: int, base_n: int, cores: int) -> float:
    """Share of the core time that does useful work with these tiles, at most 1 up to rounding.

    Reproduces the load balance rate of the specification (host-tiling.md, section 4).
    """
    total = -(-m // base_m) * -(-n // base_n)
    main = (total - 1) // cores
    split = cores // (total - cores * main)
    if m <= FRACTAL:
        base_m = m
    if n <= FRACTAL:
        base_n = n
    share = float(m) * n / cores
    if main == 0 or base_m * base_n // split < MIN_TAIL_TILE:
        return share / ((main + 1) * base_m * base_n)
    side = math.isqrt(split)
    return share / ((main + 1.0 / (side * (split // side))) * base_m * base_n)


def search_base_block(
    problem: GemmProblem,
    cores: int,
    grid: SearchGrid,
    edge: float,
    trace: SearchTrace | None = None,
) -> tuple[int, int, float, float]:
    """The search's (base_m, base_n, param, edge).

    Args:
        problem: the problem; rows, columns and type count.
        cores: cube cores.
        grid: the candidates.
        edge: the edge to start from.
        trace: where an explained search notes its way.
    """
    m, n = problem.m, problem.n
    max_n, n_align, tile_elements = grid.max_n, grid.n_align, grid.tile_elements
    context = _Context(
        m=m,
        n=n,
        cores=cores,
        share=float(m) * n / cores,
        n_align=n_align,
        refuses_small=problem.is_plain_fp32,
        trace=trace,
    )
    base_m = max(FRACTAL, min(grid.max_m, START_BASE))
    base_n = max(FRACTAL, min(max_n, tile_elements // base_m // n_align * n_align))
    param = 1 / base_m + 1 / base_n
    rate = compute_balance_rate(m, n, base_m, base_n, cores)
    state = base_m, base_n, param, rate, param / rate, edge
    if trace is not None:
        trace.leads.append(
            Lead(base_m=base_m, base_n=base_n, param=param, rate=rate, reason="the starting point")
        )
    for cur_m in range(grid.max_m, 0, -grid.m_align):
        first_n = min(max_n, tile_elements // cur_m // n_align * n_align)
        if first_n <= 0:
            continue
        if first_n == max_n:
            _, _, param, rate, trade, edge = state
            least_param = 1 / cur_m + 1 / first_n
            if least_param > edge and (
                least_param > (trade + TIE) * SLACK
                or (rate >= GOOD_RATE and least_param > param and edge > 0)
            ):
                break
        state = _search_row(context, cur_m, first_n, state)
    return state[0], state[1], state[2], state[5]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """What all rows of a search share; `share` is M*N per core."""

    m: int
    n: int
    cores: int
    share: float
    n_align: int
    refuses_small: bool
    trace: SearchTrace | None


_State = tuple[int, int, float, float, float, float]
"""base_m, base_n, param, rate, trade = param/rate, edge: the candidate in the lead."""


def _search_row(context: _Context, cur_m: int, first_n: int, state: _State) -> _State:
    """The state after the candidates with `cur_m` rows."""
    n, cores, share, trace = context.n, context.cores, context.share, context.trace
    base_m, base_n, param, rate, trade, edge = state
    inverse_m = 1 / cur_m
    m_tiles = -(-context.m // cur_m)
    rows = context.m if context.m <= FRACTAL else cur_m
    row_bound = context.m / (m_tiles * rows) * SLACK
    for cur_n in range(first_n, 0, -context.n_align):
        cur_param = inverse_m + 1 / cur_n
        if cur_param > edge:
            if cur_param > (trade + TIE) * row_bound * SLACK:
                break
            if rate >= GOOD_RATE and cur_param > param and edge > 0:
                break
        elif row_bound <= rate and cur_param > (trade + TIE) * row_bound * SLACK:
            break
        if trace is not None:
            trace.visited += 1
        total = m_tiles * -(-n // cur_n)
        if (
            context.refuses_small
            and cur_param < edge
            and (cur_m < SMALL_BASE or cur_n < SMALL_BASE)
            and total > cores
        ):
            continue
        columns = n if n <= FRACTAL else cur_n
        main = (total - 1) // cores
        split = cores // (total - cores * main)
        if main == 0 or rows * columns // split < MIN_TAIL_TILE:
            cur_rate = share / ((main + 1) * rows * columns)
        else:
            side = math.isqrt(split)
            cur_rate = share / ((main + 1.0 / (side * (split // side))) * rows * columns)
        cur_trade = cur_param / cur_rate
        cube_win = cur_param <= edge and cur_rate > rate
        if cube_win or cur_trade < trade or (cur_rate > rate and abs(cur_trade - trade) < TIE):
            if trace is not None:
                reason = _describe_win(cube_win, cur_trade, trade)
                trace.leads.append(
                    Lead(base_m=cur_m, base_n=cur_n, param=cur_param, rate=cur_rate, reason=reason)
                )
            edge = cur_param if cube_win else edge
            base_m, base_n, param, rate, trade = cur_m, cur_n, cur_param, cur_rate, cur_trade
    return base_m, base_n, param, rate, trade, edge


def _describe_win(cube_win: bool, cur_trade: float, trade: float) -> str:
    """Which of the three conditions the candidate met."""
    if cube_win:
        return "bound by the cube and better balanced"
    if cur_trade < trade:
        return "less traffic for its balance"
    return "equal traffic for its balance, and better balanced"
