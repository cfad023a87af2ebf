"""Stated splits of a domain, and the third of the shapes that decides nothing.

A mixed hypothesis may hold for a part of its domain. The parts are fixed here, before any run and
for all hypotheses alike, so that none is found by looking for it: phases, rows M, depth K,
alignment of rows of C, kind of kernel, blocks per core. A part is chosen on two thirds of the
shapes, by hash of (k, n), and scored on the rest.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from hwmodel.problem import GemmProblem
from studies.hypotheses.answers import ShapeAnswer
from studies.shape_rows import ShapeRow

HELD_OUT_MODULUS = 3
"""One (k, n) in three is held out (specification: studies.md, "Rules for the maintainer")."""
LEAST_CHOOSING = 8
"""Fewer shapes than this in the two thirds choose no part: chance would."""
LINE_BYTES = 128
"""Memory is written in lines of this size (specification: kernels.md)."""

_M_BOUNDS = ((1, "M = 1"), (16, "M 2..16"), (256, "M 17..256"), (2047, "M 257..2047"))
_K_BOUNDS = ((256, "K <= 256"), (1024, "K 257..1024"), (4096, "K 1025..4096"))
_ROUNDS = ((1, "at most one block a core"), (4, "up to 4 blocks a core"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """One way to split a domain.

    Attributes:
        name: what it is split by.
        part_of: the part that a row with its answer belongs to.
    """

    name: str
    part_of: Callable[[ShapeRow, ShapeAnswer], str]


def is_held_out(problem: GemmProblem) -> bool:
    """Whether the shape is one of the third that scores what the others chose."""
    digest = hashlib.sha256(f"rules {problem.k},{problem.n}".encode()).hexdigest()
    return int(digest, 16) % HELD_OUT_MODULUS == 0


def _place(value: float, bounds: tuple[tuple[int, str], ...], beyond: str) -> str:
    return next((name for bound, name in bounds if value <= bound), beyond)


def _phase_part(row: ShapeRow, _: ShapeAnswer) -> str:
    return row.phase or "no phase"


def _m_part(row: ShapeRow, _: ShapeAnswer) -> str:
    return _place(row.problem.m, _M_BOUNDS, "M >= 2048")


def _k_part(row: ShapeRow, _: ShapeAnswer) -> str:
    return _place(row.problem.k, _K_BOUNDS, "K > 4096")


def _line_part(row: ShapeRow, _: ShapeAnswer) -> str:
    row_bytes = row.problem.n * row.problem.out_dtype.size_bytes
    return "rows of C are whole lines" if row_bytes % LINE_BYTES == 0 else "rows of C are not"


def _kernel_part(_: ShapeRow, answer: ShapeAnswer) -> str:
    return answer.error_class.replace("_", " ")


def _rounds_part(row: ShapeRow, answer: ShapeAnswer) -> str:
    plan = answer.baseline.plan
    blocks = plan.m_tiles(row.problem) * plan.n_tiles(row.problem)
    return _place(blocks / plan.used_core_num, _ROUNDS, "more than 4 blocks a core")


SPLITS = (
    Split(name="phase", part_of=_phase_part),
    Split(name="rows M", part_of=_m_part),
    Split(name="depth K", part_of=_k_part),
    Split(name="rows of C", part_of=_line_part),
    Split(name="kind of kernel", part_of=_kernel_part),
    Split(name="blocks per core", part_of=_rounds_part),
)
"""All splits, in the order of the report."""
