"""Closed form of the kernels that keep A in L1: A full load and A partial load.

A block is the whole M by base_n; its items walk m. Each item streams the block's part of B again,
and the slabs of A that are not resident. B full and partial loads are the same on the transposed
problem. (Specification: kernels.md, "A full load, B full load"; plan.md, "How the proposed
templates run".)

    time = launch + first access + load of the resident part
         + rounds of blocks * (first item, which touches its B first, + the other items)
         + exposed first slab or last multiplication + last store
"""

import numpy as np

from hwmodel.cost.kernel_costs import KernelCosts
from hwmodel.cost.residency import WalkPlan
from hwmodel.cost.terms import ChipRates, Column, ProblemTerms
from hwmodel.cost.tile import (
    TilePlan,
    UbStore,
    build_tile,
    fractal_up,
    overlap_cycles,
    round_cycles,
)


def estimate_resident(
    terms: ProblemTerms,
    chip: ChipRates,
    plan: TilePlan,
    walk: WalkPlan,
    *,
    resident_slabs: Column | None = None,
    through_ub: UbStore | None = None,
) -> KernelCosts:
    """Costs of the kernel for each plan; all slabs are resident without `resident_slabs`."""
    rows, columns = terms.a.outer, terms.b.outer
    m, n = np.minimum(plan.base_m, rows), np.minimum(plan.base_n, columns)
    m_tiles, blocks = np.ceil(rows / m), np.ceil(columns / n)
    full_rounds = np.floor(blocks / walk.cores)
    rest = blocks - full_rounds * walk.cores
    slabs = m_tiles * np.ceil(terms.k / np.minimum(plan.k_l1, terms.k))
    streamed = (
        np.zeros_like(m) if resident_slabs is None else 1 - np.minimum(resident_slabs / slabs, 1)
    )
    a_bytes = rows * terms.k * terms.input_bytes
    b_bytes = columns * terms.k * terms.input_bytes
    total_bytes = a_bytes + b_bytes + terms.output_total_bytes
    kept_ratio = np.minimum(chip.l2_bytes / total_bytes, 1)
    # The blocks of a round are streamed again for every item; too long a K outgrows L2.
    fits = walk.cores * n * terms.k * terms.input_bytes + a_bytes * streamed <= chip.l2_bytes

    cut = np.minimum(walk.n_pieces, n)
    parts = (
        (full_rounds, n, np.minimum(walk.cores, blocks)),
        (
            np.ceil(rest * cut / walk.cores),
            np.ceil(n / cut),
            np.minimum(rest * cut, walk.cores),
        ),
    )
    edge_m = rows - (m_tiles - 1) * m
    rounds = prologue = epilogue = np.zeros_like(m)
    cube = mte2 = mte1 = fixpipe = reads = np.zeros_like(m)
    is_first = np.ones_like(m)
    for count, width, active in parts:
        tile = build_tile(
            terms,
            chip,
            plan,
            m,
            width,
            terms.k + np.zeros_like(m),
            active,
            a_loaded=streamed,
            element_bytes=terms.output_bytes,
            through_ub=through_ub,
        )
        touched = active * width * terms.k * terms.input_bytes
        new = round_cycles(chip, tile, is_first * streamed * a_bytes / m_tiles, touched)
        again = round_cycles(chip, tile, np.zeros_like(m), np.where(fits, 0.0, touched))
        height = edge_m / m
        narrow = np.maximum(
            np.maximum(
                tile.chain * (fractal_up(edge_m) / fractal_up(m)),
                again.a_load * height + again.b_load,
            ),
            again.cycles * height,
        )
        edge_gain = np.maximum(again.cycles - narrow, 0) * (m_tiles > 1)
        write_back = tile.output_bytes * active * (1 / chip.hbm_write_total)
        block = new.cycles + (m_tiles - 1) * again.cycles - edge_gain
        flooded = overlap_cycles(chip, block, new.hbm + m_tiles * write_back)
        rounds = rounds + count * (flooded + kept_ratio * (block - flooded))
        start = new.load * tile.step_share + tile.chain - new.cycles
        end = np.where(m_tiles > 1, again.load - again.cycles, new.load - new.cycles)
        exposed = np.maximum(np.maximum(start, end + tile.step_chain), 0)
        prologue = np.maximum(prologue, np.minimum(count, 1) * exposed)
        epilogue = np.where(count > 0, tile.store, epilogue)
        items = count * m_tiles
        cube = cube + items * tile.mmad
        mte2 = mte2 + count * (new.load + (m_tiles - 1) * again.load)
        mte1 = mte1 + items * tile.mte1
        fixpipe = fixpipe + items * tile.store
        reads = reads + items * active * tile.read_bytes
        is_first = is_first * (count == 0)
    resident_bytes = a_bytes * (1 - streamed)
    resident = np.maximum(
        resident_bytes * (1 / chip.mte2_port), resident_bytes * (1 / chip.hbm_read_total)
    )
    return KernelCosts(
        launch=np.full_like(m, chip.launch_cycles),
        prologue=prologue + resident,
        rounds=rounds,
        epilogue=epilogue,
        cube_busy=cube,
        mte2_busy=mte2 + resident,
        mte1_busy=mte1,
        fixpipe_busy=fixpipe,
        vector_busy=np.zeros_like(m),
        hbm_read_bytes=a_bytes + b_bytes + np.zeros_like(m),
        read_bytes=reads + walk.cores * resident_bytes,
        write_bytes=terms.output_total_bytes + np.zeros_like(m),
        round_count=full_rounds + np.minimum(rest, 1),
    )
