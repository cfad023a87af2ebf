"""The two records of a schedule: what a core computes, and which rows a vector core writes."""

from typing import NamedTuple


class WalkItem(NamedTuple):
    """One piece of work of a core: blk_m x blk_n of C over blk_k columns of K.

    Offsets are absolute and sizes exact, in elements. An item is a plain tuple, so a whole core
    becomes an array of shape (items, 9) by `np.array(list(schedule.items(core)), dtype=np.int64)`.

    Attributes:
        m_idx: block row the item belongs to.
        n_idx: block column.
        k_idx: K piece: the slot of a stream-K piece, else the slice of a split K.
        m_off: first row in C.
        n_off: first column in C.
        k_off: first column of K.
        blk_m: rows.
        blk_n: columns.
        blk_k: columns of K.
    """

    m_idx: int
    n_idx: int
    k_idx: int
    m_off: int
    n_off: int
    k_off: int
    blk_m: int
    blk_n: int
    blk_k: int


class VectorRecord(NamedTuple):
    """Rows of C that one vector core writes, from UB or from the stream-K workspace; elements.

    Attributes:
        aiv: the vector core.
        m_off: first row in C.
        rows: rows written.
        n_off: first column in C.
        cols: columns written.
        workspace_off: first element in the workspace of the band of K slot 0, -1 when the rows
            come from UB.
        slots: workspace slots that are added up, 1 when the rows come from UB.
    """

    aiv: int
    m_off: int
    rows: int
    n_off: int
    cols: int
    workspace_off: int
    slots: int
