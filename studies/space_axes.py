"""The axes of a search space: which templates, which values, what an effort leaves out.

Two named spaces share one implementation. `tiles` holds ASWT and the full load that the vendor
takes, with output path and tail split by the vendor's rules. `all` is the space S of the
specification (plan.md, "Size of the space"): every template, both output paths, the tail split
by the vendor's rule or none.

Not axes, but functions of the rest: used_core_num, ub_db and l1_buffer_num. (Specification:
plan.md, "Fields".)
"""

from dataclasses import dataclass

from hwmodel.dtypes import Format
from hwmodel.integers import align_up, ceil_div
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, Template
from hwmodel.problem import GemmProblem
from studies.vendor_columns import select_piece_unit

TILES = "tiles"
"""Name of the space of ASWT and the vendor's full load."""
ALL = "all"
"""Name of the whole space."""
SPACE_NAMES = (TILES, ALL)

PIECE_RUN_BYTES = 256
"""Contiguous bytes that loads want (specification: host-tiling.md, sections 4 and 6)."""

RESIDENT_TEMPLATES = frozenset(
    {Template.A_PARTIAL, Template.B_PARTIAL, Template.A_PANEL, Template.B_PANEL}
)
"""Proposed templates that keep some slabs in L1."""
PANEL_TEMPLATES = frozenset({Template.A_PANEL, Template.B_PANEL})
FIXPIPE_TEMPLATES = frozenset({Template.ASWT, Template.B_FULL, Template.STREAM_K})
"""Templates of the space with both output paths (specification: plan.md, "Legality")."""
WINDOW_TEMPLATES = frozenset({Template.ASWT, Template.STREAM_K, *PANEL_TEMPLATES})
"""Templates that walk a window."""

QUICK_TEMPLATES = (
    Template.ASWT,
    Template.A_FULL,
    Template.B_FULL,
    Template.STREAM_K,
    Template.VECTOR,
)
"""Templates of the quick preset: the vendor has rules for their base_k and step_k."""
ALL_TEMPLATES = (
    Template.ASWT,
    Template.A_FULL,
    Template.B_FULL,
    Template.A_PARTIAL,
    Template.B_PARTIAL,
    Template.A_PANEL,
    Template.B_PANEL,
    Template.STREAM_K,
    Template.VECTOR,
)

QUICK_RESTRICTION = (
    "base_k, step_k, db_l0c and the tail split by the vendor's rules; windows 1, 2, 4, 8 and Mt"
)
"""What the quick preset of `tiles` leaves out, in words."""
QUICK_ALL_RESTRICTION = (
    f"{QUICK_RESTRICTION}; single_core_k, the stream-K order and the vector kernel's tile by the "
    "vendor's rules; no partial loads, no panels"
)
"""What the quick preset of `all` leaves out, in words."""
NO_CUBE_RESTRICTION = "the vendor runs a vector kernel; the space holds cube kernels only"
"""Why `tiles` is empty for a problem that the vendor gives to the vector cores."""
VECTOR_ONLY_RESTRICTION = (
    "the vendor runs a vector kernel, whose sums differ from the cube's; vector plans only"
)
"""Why `all` has no cube template for such a problem."""
NO_TEMPLATE_RESTRICTION = "the vendor runs a kernel that has no parameters to choose"
"""Why `all` is empty for the kernels that clear C or compute small dot products."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """What a space varies.

    Attributes:
        templates: kernels, in the order of the points.
        quick: base_k, step_k and db_l0c follow from the tile by the vendor's rules.
        both_outputs: both output paths where the template has them, else the vendor's choice.
        no_tails: the tail split by the vendor's rule and none, else the vendor's alone.
        restriction: what is left out, in words.
    """

    templates: tuple[Template, ...]
    quick: bool
    both_outputs: bool
    no_tails: bool
    restriction: str


def choose_axes(name: str, baseline: KernelPlan, *, quick: bool) -> Axes:
    """The axes of the named space; the vendor's plan decides on the templates.

    Raises:
        ValueError: no space has this name.
    """
    if name == TILES:
        return _tiles_axes(baseline, quick)
    if name == ALL:
        return _all_axes(baseline, quick)
    raise ValueError(f"space {name!r} is unknown; one of {', '.join(SPACE_NAMES)}")


def _tiles_axes(baseline: KernelPlan, quick: bool) -> Axes:
    templates: tuple[Template, ...] = ()
    restriction = QUICK_RESTRICTION if quick else ""
    if baseline.template not in CUBE_TEMPLATES:
        restriction = NO_CUBE_RESTRICTION
    elif baseline.template in {Template.A_FULL, Template.B_FULL}:
        templates = (Template.ASWT, baseline.template)
    else:
        templates = (Template.ASWT,)
    return Axes(
        templates=templates,
        quick=quick,
        both_outputs=False,
        no_tails=False,
        restriction=restriction,
    )


def _all_axes(baseline: KernelPlan, quick: bool) -> Axes:
    templates: tuple[Template, ...] = QUICK_TEMPLATES if quick else ALL_TEMPLATES
    parts = [QUICK_ALL_RESTRICTION] if quick else []
    if baseline.template is Template.VECTOR:
        templates = (Template.VECTOR,)
        parts.append(VECTOR_ONLY_RESTRICTION)
    elif baseline.template not in CUBE_TEMPLATES:
        templates = ()
        parts = [NO_TEMPLATE_RESTRICTION]
    return Axes(
        templates=templates,
        quick=quick,
        both_outputs=True,
        no_tails=not quick,
        restriction="; ".join(parts),
    )


def list_pieces(problem: GemmProblem, cores: int) -> tuple[int, ...]:
    """Values of single_core_k for stream-K, the longest piece first.

    For each number of pieces up to `cores` the even share of K, and that share rounded up to the
    fractal's columns (as the vendor does for B in fractal format) and to whole runs of 256 bytes.
    Pieces are counted anew from the length, so no value leaves a piece empty.
    """
    size = problem.dtype.size_bytes
    units = (1, select_piece_unit(problem), PIECE_RUN_BYTES // size)
    return _round_shares(problem, cores, units)


def list_even_pieces(problem: GemmProblem, cores: int) -> tuple[int, ...]:
    """Those of `list_pieces` that the vendor would choose, one for each number of pieces."""
    unit = 1 if problem.format_b is Format.ND else select_piece_unit(problem)
    return _round_shares(problem, cores, (unit,))


def _round_shares(problem: GemmProblem, cores: int, units: tuple[int, ...]) -> tuple[int, ...]:
    shares = {
        align_up(ceil_div(problem.k, count), unit)
        for count in range(2, cores + 1)
        for unit in units
    }
    return tuple(sorted((share for share in shares if share < problem.k), reverse=True))
