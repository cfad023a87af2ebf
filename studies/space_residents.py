"""Partial loads and panels: how many slabs may stay in L1, for each tile, base_k and step_k.

Notation: SA, SB the slabs of the operand that is partly kept and of the other one (for the B
templates the roles are exchanged), p = resident_slabs, Ks the slabs over K.
"""

from dataclasses import replace

import numpy as np

from hwmodel.footprint import DOUBLE_BUFFER
from hwmodel.integers import FRACTAL, align_up
from hwmodel.problem import GemmProblem
from studies.space_axes import PANEL_TEMPLATES
from studies.space_k_axis import KAxis, KRows, LegalRows
from studies.space_l1 import L1Room, count_blocks_along_kept, find_last_step
from studies.vendor_columns import IntColumn, Tiles, ceil_columns


def build_resident_rows(
    problem: GemmProblem, tiles: Tiles, room: L1Room, axis: KAxis, rows: KRows
) -> LegalRows:
    """Rows of (tile, base_k, step_k) in this order, with the values of resident_slabs."""
    last = find_last_step(problem, rows.base_k, room.longest_slab[rows.tile])
    steps = np.clip(last, 0, rows.step_span)
    row = np.repeat(np.arange(len(steps)), steps)
    step = np.arange(len(row), dtype=np.int64) - np.repeat(np.cumsum(steps) - steps, steps) + 1
    tile, base_k, number = rows.tile[row], rows.base_k[row], rows.number[row]
    k_l1 = np.minimum(step * base_k, align_up(problem.k, FRACTAL))
    slabs = ceil_columns(problem.k, k_l1)
    span = axis.resident_span[axis.resident_start[number] + step - 1]
    if tiles.template in PANEL_TEMPLATES:
        in_l1, whole_only = _count_panel_slabs(room, tile, k_l1, slabs)
        limit, four_slots = in_l1, np.zeros_like(tile)
    else:
        fitting = room.fitting_slabs(tile, k_l1, DOUBLE_BUFFER) - DOUBLE_BUFFER
        in_l1, whole_only = np.clip(fitting, 0, span), np.zeros_like(tile)
        limit = count_blocks_along_kept(problem, tiles)[tile] * slabs - 1
        four_slots = room.four_slot_slabs(tile, k_l1) - DOUBLE_BUFFER
    count = np.minimum(in_l1, limit)
    legal = LegalRows(
        tile=tile,
        base_k=base_k,
        first_step=step,
        step_count=np.ones_like(step),
        four_slot_steps=np.where(four_slots > 0, step, 0),
        first_resident=np.ones_like(step),
        resident_stride=np.ones_like(step),
        resident_count=count,
        four_slot_residents=four_slots,
        legal=count,
        in_l1=in_l1,
    )
    return _insert_whole_panels(legal, slabs, whole_only)


def _count_panel_slabs(
    room: L1Room, tile: IntColumn, k_l1: IntColumn, slabs: IntColumn
) -> tuple[IntColumn, IntColumn]:
    """Values 1.. of p that fit L1, and 1 where p = Ks does although Ks - 1 does not.

    p = Ks drops the two streaming slots of the kept operand, so it can fit where p = Ks - 1 does
    not (specification: plan.md, "Legality").
    """
    fitting = room.fitting_slabs(tile, k_l1, DOUBLE_BUFFER)
    partial = np.clip(np.minimum(fitting - DOUBLE_BUFFER, slabs - 1), 0, None)
    whole = fitting >= slabs
    consecutive = whole & (partial == slabs - 1)
    return partial + consecutive, (whole & ~consecutive).astype(np.int64)


def _insert_whole_panels(rows: LegalRows, slabs: IntColumn, whole_only: IntColumn) -> LegalRows:
    """Another row after each of those where p = Ks is legal beside 1.. with a gap before it."""
    if not whole_only.any():
        return rows
    copies = 1 + whole_only
    order = np.repeat(np.arange(len(copies)), copies)
    added = np.zeros(len(order), dtype=np.bool_)
    added[np.cumsum(copies)[whole_only > 0] - 1] = True
    copied = rows.select(order)
    return replace(
        copied,
        first_resident=np.where(added, slabs[order], copied.first_resident),
        resident_count=np.where(added, 1, copied.resident_count),
        legal=np.where(added, 1, copied.legal),
        in_l1=np.where(added, 1, copied.in_l1),
    )
