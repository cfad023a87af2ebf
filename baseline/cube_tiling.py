"""What every cube strategy fills in, and the values it starts from (host-tiling.md, section 3)."""

from dataclasses import dataclass
from typing import Final

START_BASE: Final = 256
"""Rows and columns of the base block before any balancing."""

START_BASE_K_BYTES: Final = 128
"""Bytes of the base block's K slice before any balancing."""

ACCUMULATOR_BYTES: Final = 4
"""Bytes of an element in L0C, whatever the output type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CubeTiling:
    """The tiling of a cube kernel, sizes in elements; defaults are the vendor's starting values.

    Attributes:
        used_core_num: cube cores that get work.
        single_core_m: rows of a block.
        single_core_n: columns of a block.
        single_core_k: K columns of a work item.
        base_m: rows of an L0C tile.
        base_n: columns of an L0C tile.
        base_k: K columns of an L0 step.
        step_ka: L0 steps in an L1 step of A.
        step_kb: L0 steps in an L1 step of B.
        depth_a1: base blocks of A in L1.
        depth_b1: base blocks of B in L1.
        step_m: base blocks of an L1 tile in m.
        step_n: base blocks of an L1 tile in n.
        db_l0c: 2 when L0C holds two tiles.
        ub_db: 2 when UB holds two tiles.
        l1_buffer_num: L1 slots of the streamed operand.
        cube_bound_param: 1/base_m + 1/base_n as the base block search left it.
        cube_bound_edge: the edge that the search compared it with; below it a tile is bound by the
            cube.
        m_tail_cnt: row pieces of a block in the last round.
        n_tail_cnt: column pieces of a block in the last round.
        k_tail_cnt: K pieces of a stream-K tile.
    """

    used_core_num: int
    single_core_m: int
    single_core_n: int
    single_core_k: int
    base_m: int
    base_n: int
    base_k: int
    step_ka: int
    step_kb: int
    depth_a1: int
    depth_b1: int
    step_m: int = 1
    step_n: int = 1
    db_l0c: int = 1
    ub_db: int = 1
    l1_buffer_num: int = 2
    cube_bound_param: float = 0
    cube_bound_edge: float = 0
    m_tail_cnt: int = 1
    n_tail_cnt: int = 1
    k_tail_cnt: int = 1
