"""Which windows of the swizzle a space tries for a grid of blocks.

Notation (specification: plan.md, "Window length"): Mt, Nt block rows and columns, P cores that get
work, W window length. With Mt > 1 and Nt > 1 the distinct orders are W = 1..Mt/2, serpentine on or
off, and the single window W = Mt; otherwise there is one order.
"""

from collections.abc import Sequence
from functools import lru_cache

from hwmodel.plan import VENDOR_WINDOW_LEN, canonical_window

WindowPair = tuple[int, bool]
"""(window_len, serpentine), canonical."""
WindowSet = tuple[tuple[WindowPair, ...], int]
"""The windows of a grid, and how many of the first of them stay where a space would be too
large."""

MAX_WINDOW_PAIRS = 24
"""Most pairs a space takes per grid (specification: plan.md, "Window length")."""
SMALL_WINDOWS = range(1, 9)
"""Window lengths that are always tried (specification: plan.md, "Window length")."""
QUICK_WINDOWS = (1, 2, 4, 8)
"""Window lengths of the quick preset, besides Mt (specification: studies.md, "Search")."""
ONLY_ORDER: WindowPair = (1, True)
"""The canonical pair of a grid, or of a template, that has one order only."""


@lru_cache(maxsize=65536)
def select_windows(m_tiles: int, n_tiles: int, cores: int) -> tuple[WindowPair, ...]:
    """At most 24 distinct pairs for a grid of `m_tiles` by `n_tiles` blocks on `cores` cores.

    Filled with serpentine on for W = 4, 1..8, P/2, P, 2P, Mt/2, Mt, then with serpentine off in
    the same order; so what the limit cuts off is the last serpentine-off pair.
    """
    lengths = (
        VENDOR_WINDOW_LEN,
        *SMALL_WINDOWS,
        cores // 2,
        cores,
        2 * cores,
        m_tiles // 2,
        m_tiles,
    )
    return _distinct(lengths, (True, False), m_tiles, n_tiles)[:MAX_WINDOW_PAIRS]


@lru_cache(maxsize=65536)
def select_quick_windows(m_tiles: int, n_tiles: int) -> tuple[WindowPair, ...]:
    """The pairs of the quick preset: W = 1, 2, 4, 8, Mt, serpentine on."""
    return _distinct((*QUICK_WINDOWS, m_tiles), (True,), m_tiles, n_tiles)


def _distinct(
    lengths: tuple[int, ...], directions: tuple[bool, ...], m_tiles: int, n_tiles: int
) -> tuple[WindowPair, ...]:
    pairs = (
        canonical_window(length, serpentine, m_tiles, n_tiles)
        for serpentine in directions
        for length in lengths
        if length >= 1
    )
    return tuple(dict.fromkeys(pairs))


@lru_cache(maxsize=65536)
def order_by_reuse(pairs: tuple[WindowPair, ...], rows: int, cores: int) -> WindowSet:
    """The pairs with those first under which a core of a panel goes on in its block row.

    A core takes every `cores`-th block, and inside a window of W rows every W-th block is of the
    same row: the row stays when W divides `cores` (specification: plan.md, "How the proposed
    templates run"). A window of more than half the rows holds all of them.
    """
    reusing = [pair for pair in pairs if cores % (rows if pair[0] > rows // 2 else pair[0]) == 0]
    return _put_first(pairs, reusing)


@lru_cache(maxsize=65536)
def order_quick_first(pairs: tuple[WindowPair, ...], m_tiles: int, n_tiles: int) -> WindowSet:
    """The pairs with those of the quick preset first."""
    return _put_first(pairs, select_quick_windows(m_tiles, n_tiles))


def _put_first(pairs: tuple[WindowPair, ...], preferred: Sequence[WindowPair]) -> WindowSet:
    first = [pair for pair in pairs if pair in preferred]
    others = [pair for pair in pairs if pair not in preferred]
    return (*first, *others), len(first)
