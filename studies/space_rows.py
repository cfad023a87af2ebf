"""The legal points of one template of the cube cores, as cells.

The product of the axes is never materialised: legality is decided per tile, then per tile and
base_k, and the L1 rule bounds step_k, or resident_slabs for each step_k, in closed form. What is
illegal is counted the same way, under the first rule that a point breaks.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from hwmodel.footprint import DOUBLE_BUFFER
from hwmodel.plan import Template
from hwmodel.plan_batch import TEMPLATE_CODES
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.space_axes import RESIDENT_TEMPLATES, Axes
from studies.space_cells import TemplateCells
from studies.space_k_axis import KRows, LegalRows, build_k_axis
from studies.space_l1 import L1Room, build_l1_room, find_four_slot_steps, find_last_step
from studies.space_residents import build_resident_rows
from studies.space_tiles import TILE_COLUMNS, TileRows, build_tiles, piece_rules, tile_rules
from studies.vendor_columns import BoolColumn, IntColumn, Tiles, ceil_columns


def build_cube_cells(
    problem: GemmProblem, spec: HardwareSpec, template: Template, axes: Axes
) -> TemplateCells:
    """Cells of one template of the cube cores."""
    tiles = build_tiles(problem, spec, template, axes)
    room = build_l1_room(problem, spec, tiles.tiles)
    axis = build_k_axis(problem, spec, tiles, room, quick=axes.quick)
    rejected: Counter[str] = Counter()
    weight = tiles.walk_count * tiles.piece_axis
    alive = np.ones(len(weight), dtype=np.bool_)
    for rule, broken in tile_rules(problem, spec, tiles):
        rejected[rule] += int(weight[alive & broken].sum()) * axis.points_per_tile
        alive &= ~broken
    rows = axis.expand(np.flatnonzero(alive))
    alive = np.ones(len(rows.tile), dtype=np.bool_)
    for rule, broken in _l0_rules(problem, spec, tiles.tiles, rows):
        rejected[rule] += int((weight[rows.tile] * rows.points)[alive & broken].sum())
        alive &= ~broken
    rows = rows.select(np.flatnonzero(alive))
    rejected["l1_capacity"] += int((weight[rows.tile] * rows.points).sum())
    if template in RESIDENT_TEMPLATES:
        legal = build_resident_rows(problem, tiles.tiles, room, axis, rows)
        rejected["l1_capacity"] -= int((weight[legal.tile] * legal.in_l1).sum())
        no_slabs = weight[legal.tile] * (legal.in_l1 - legal.legal)
        rejected["resident_slabs"] += int(no_slabs.sum())
    else:
        legal = _build_step_rows(problem, tiles.tiles, room, rows)
        rejected["l1_capacity"] -= int((weight[legal.tile] * legal.legal).sum())
    pieces = np.full(len(tiles.tiles), tiles.piece_axis, dtype=np.int64)
    for rule, kept in piece_rules(problem, spec, tiles):
        lost = (tiles.walk_count * (pieces - kept))[legal.tile] * legal.legal
        rejected[rule] += int(lost.sum())
        pieces = kept
    legal = legal.select(np.flatnonzero((legal.legal > 0) & (pieces[legal.tile] > 0)))
    return TemplateCells(
        template=template,
        columns=_build_columns(tiles, legal, pieces),
        windows=tiles.windows,
        cartesian=int(weight.sum()) * axis.points_per_tile,
        rejected=+rejected,
    )


def _l0_rules(
    problem: GemmProblem, spec: HardwareSpec, tiles: Tiles, rows: KRows
) -> Iterator[tuple[str, BoolColumn]]:
    """Rules on tile and base_k, in the order of `hwmodel.legality`, with who breaks them."""
    c0 = problem.dtype.c0_elements
    line = DOUBLE_BUFFER * ceil_columns(rows.base_k, c0) * c0 * problem.dtype.size_bytes
    yield "l0a_capacity", tiles.base_m[rows.tile] * line > spec.buffers.l0a_bytes
    yield "l0b_capacity", tiles.base_n[rows.tile] * line > spec.buffers.l0b_bytes


def _build_step_rows(problem: GemmProblem, tiles: Tiles, room: L1Room, rows: KRows) -> LegalRows:
    """The rows with the steps that fit L1, for templates that keep no slabs."""
    last = find_last_step(problem, rows.base_k, room.longest_slab[rows.tile])
    count = np.clip(last - rows.first_step + 1, 0, rows.step_span)
    zeros, ones = np.zeros_like(count), np.ones_like(count)
    return LegalRows(
        tile=rows.tile,
        base_k=rows.base_k,
        first_step=rows.first_step,
        step_count=count,
        four_slot_steps=find_four_slot_steps(problem, tiles, room, rows.tile, rows.base_k),
        first_resident=zeros,
        resident_stride=ones,
        resident_count=ones,
        four_slot_residents=zeros,
        legal=count,
        in_l1=count,
    )


_ROW_COLUMNS = (
    "base_k",
    "first_step",
    "step_count",
    "four_slot_steps",
    "first_resident",
    "resident_stride",
    "resident_count",
    "four_slot_residents",
)
"""Columns of `LegalRows` that a cell takes over as they are."""


def _build_columns(tiles: TileRows, rows: LegalRows, pieces: IntColumn) -> dict[str, IntColumn]:
    """The columns of the cells; the list of single_core_k begins with the problem's own K."""
    tile = rows.tile
    splits_k = tiles.tiles.template is Template.STREAM_K
    return {
        **{name: getattr(tiles, name)[tile] for name in TILE_COLUMNS},
        **{name: getattr(rows, name) for name in _ROW_COLUMNS},
        "template": np.full_like(tile, TEMPLATE_CODES[tiles.tiles.template]),
        "base_m": tiles.tiles.base_m[tile],
        "base_n": tiles.tiles.base_n[tile],
        "piece_start": tiles.first_piece[tile] + int(splits_k),
        "piece_count": pieces[tile],
    }
