"""The grid of blocks that covers C, and the order in which a window walks it.

Notation (specification: swizzle.md, section 1): Mt x Nt blocks; W = min(window_len, Mt) rows in a
window; R = Mt/W - 1 full windows, rounded down; the last window has the other Wt = Mt - R*W rows.
"""

from dataclasses import dataclass

from hwmodel.integers import ceil_div


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One direction of C cut into blocks; sizes in elements.

    The first `main_count` blocks are `block` long, the others `tail_main`, and the last one what
    is left. Usually the last block alone is different; merged tails (specification: swizzle.md,
    section 1) have several.

    Attributes:
        length: rows or columns of C.
        block: length of a main block.
        count: blocks.
        main_count: main blocks.
        tail_main: length of a merged tail block; unused with one tail block.
    """

    length: int
    block: int
    count: int
    main_count: int
    tail_main: int

    def span(self, index: int) -> tuple[int, int]:
        """Offset and length of block `index`."""
        main_count = self.main_count
        if index < main_count:
            return index * self.block, self.block
        offset = main_count * self.block + (index - main_count) * self.tail_main
        return offset, self.length - offset if index == self.count - 1 else self.tail_main

    @property
    def last_length(self) -> int:
        """Length of the last block."""
        return self.span(self.count - 1)[1]


def cut_axis(length: int, block: int, merged_cnt: int = 1, tail_main: int = 0) -> Axis:
    """The axis whose last `merged_cnt` blocks share what the main blocks leave."""
    count = ceil_div(length, block)
    return Axis(
        length=length,
        block=block,
        count=count,
        main_count=count - merged_cnt,
        tail_main=tail_main,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOrder:
    """Order of the blocks: window by window of rows, inside a window column by column.

    Attributes:
        window: W, rows of a full window.
        full_windows: R, windows before the last one.
        last_window: Wt, rows of the last window.
        n_tiles: Nt, columns.
        serpentine: odd windows go through the columns backwards.
    """

    window: int
    full_windows: int
    last_window: int
    n_tiles: int
    serpentine: bool

    def tile(self, index: int) -> tuple[int, int]:
        """Row and column of the block at position `index` of the order."""
        n_tiles, window = self.n_tiles, self.window
        at = index // (n_tiles * window)
        if at < self.full_windows:
            height = window
        else:
            at = self.full_windows
            height = self.last_window
        col, row = divmod(index - at * window * n_tiles, height)
        if at & 1 and self.serpentine:
            col = n_tiles - 1 - col
        return at * window + row, col


def build_order(m_tiles: int, n_tiles: int, window_len: int, serpentine: bool) -> WindowOrder:
    """The order of m_tiles x n_tiles blocks in windows of `window_len` rows."""
    window = min(window_len, m_tiles)
    full_windows = m_tiles // window - 1
    return WindowOrder(
        window=window,
        full_windows=full_windows,
        last_window=m_tiles - full_windows * window,
        n_tiles=n_tiles,
        serpentine=serpentine,
    )
