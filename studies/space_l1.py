"""The L1 rule of a template in closed form.

Notation (specification: plan.md): SA, SB are bytes of an L1 slab, kL its columns of K. For a tile
that is a multiple of 16 and a base_k that is a multiple of its unit, SA = base_m*kL*s and
SB = base_n*kL*s in every storage order, so every L1 rule bounds kL by a division.
"""

from dataclasses import dataclass

import numpy as np

from hwmodel.derived import A_BLOCK_TEMPLATES, B_BLOCK_TEMPLATES
from hwmodel.footprint import (
    DOUBLE_BUFFER,
    compute_resident_a_bytes,
    compute_resident_b_bytes,
)
from hwmodel.integers import FRACTAL, align_up
from hwmodel.legality import FULL_LOAD_SLOTS
from hwmodel.plan import Template
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.space_axes import PANEL_TEMPLATES, RESIDENT_TEMPLATES
from studies.vendor_columns import IntColumn, Tiles, ceil_columns

_KEEPS_A = frozenset({Template.A_FULL, Template.A_PARTIAL, Template.A_PANEL})
_KEEPS_B = frozenset({Template.B_FULL, Template.B_PARTIAL, Template.B_PANEL})

_BIAS_SLOTS = FULL_LOAD_SLOTS // DOUBLE_BUFFER
"""Bias slots under four slots of the streamed operand: one for every two (specification:
host-tiling.md, section 8)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class L1Room:
    """Bytes of L1 beside a wholly resident operand, and who takes them.

    Attributes:
        room: bytes of L1 without the operand of a full load; not below 0.
        bias: bytes of the bias slots of each tile.
        kept: bytes per column of K of a slab of the partly resident operand of each tile; 0 for
            templates without one.
        streamed: the same of the other operands, one slot.
        kept_slots: least slabs of the partly resident operand in L1.
    """

    room: int
    bias: IntColumn
    kept: IntColumn
    streamed: IntColumn
    kept_slots: int

    @property
    def longest_slab(self) -> IntColumn:
        """Longest slab, columns of K, with which the template can run at all; below 1 for none."""
        row = self.kept_slots * self.kept + DOUBLE_BUFFER * self.streamed
        return np.asarray((self.room - self.bias) // row, dtype=np.int64)

    def fitting_slabs(
        self, tile: IntColumn, k_l1: IntColumn, slots: int, bias_slots: int = 1
    ) -> IntColumn:
        """Slabs of the partly resident operand beside `slots` of the other and the bias.

        Negative where not even the others fit.
        """
        others = slots * self.streamed[tile] * k_l1 + bias_slots * self.bias[tile]
        return np.asarray((self.room - others) // (self.kept[tile] * k_l1), dtype=np.int64)

    def four_slot_slab(self) -> IntColumn:
        """Longest slab of which four slots fit under a full load; below 1 for none."""
        left = self.room - _BIAS_SLOTS * self.bias
        return np.asarray(left // (FULL_LOAD_SLOTS * self.streamed), dtype=np.int64)

    def four_slot_slabs(self, tile: IntColumn, k_l1: IntColumn) -> IntColumn:
        """As `fitting_slabs` for four slots of the streamed operand."""
        return self.fitting_slabs(tile, k_l1, FULL_LOAD_SLOTS, _BIAS_SLOTS)


def build_l1_room(problem: GemmProblem, spec: HardwareSpec, tiles: Tiles) -> L1Room:
    """The L1 rule of the template (specification: plan.md, "Legality", column L1)."""
    template, size = tiles.template, problem.dtype.size_bytes
    bias = DOUBLE_BUFFER * tiles.base_n * problem.bias_bytes
    if template is Template.B_FULL:
        bias = np.full_like(bias, align_up(problem.n, FRACTAL) * problem.bias_bytes)
    kept = np.zeros_like(tiles.base_m)
    streamed = tiles.base_m + tiles.base_n
    if template in _KEEPS_A:
        kept, streamed = tiles.base_m, tiles.base_n
    elif template in _KEEPS_B:
        kept, streamed = tiles.base_n, tiles.base_m
    if template not in RESIDENT_TEMPLATES:
        kept = np.zeros_like(kept)
    return L1Room(
        room=max(spec.buffers.l1_bytes - compute_full_load_bytes(problem, template), 0),
        bias=bias,
        kept=kept * size,
        streamed=streamed * size,
        # A panel that holds all of K's slabs needs no others; a partial load streams two more.
        kept_slots=1 if template in PANEL_TEMPLATES else 1 + DOUBLE_BUFFER,
    )


def compute_full_load_bytes(problem: GemmProblem, template: Template) -> int:
    """L1 that the template's full operand takes."""
    if template is Template.A_FULL:
        return compute_resident_a_bytes(problem)
    return compute_resident_b_bytes(problem) if template is Template.B_FULL else 0


def find_last_step(problem: GemmProblem, base_k: IntColumn, longest: IntColumn) -> IntColumn:
    """Largest step_k whose slab, min(step_k*base_k, a16(K)), is at most `longest`.

    Below 1 for none.
    """
    k16 = align_up(problem.k, FRACTAL)
    return np.where(k16 <= longest, ceil_columns(k16, base_k), longest // base_k)


def find_four_slot_steps(
    problem: GemmProblem, tiles: Tiles, room: L1Room, tile: IntColumn, base_k: IntColumn
) -> IntColumn:
    """step_k up to which the vendor takes four L1 slots under a full load; 0 for the others."""
    if tiles.template not in {Template.A_FULL, Template.B_FULL}:
        return np.zeros_like(base_k)
    return find_last_step(problem, base_k, room.four_slot_slab()[tile])


def count_blocks_along_kept(problem: GemmProblem, tiles: Tiles) -> IntColumn:
    """Blocks whose slabs a partial load numbers: of A along M, of B along N; 1 for a panel."""
    if tiles.template in A_BLOCK_TEMPLATES:
        return ceil_columns(problem.m, tiles.base_m)
    if tiles.template in B_BLOCK_TEMPLATES:
        return ceil_columns(problem.n, tiles.base_n)
    return np.ones_like(tiles.base_m)
