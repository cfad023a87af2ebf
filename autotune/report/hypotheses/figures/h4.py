"""H4: where writing C through UB pays, over K, M and the alignment of C's rows."""

from autotune.report.figures.style import ReportFigure, render_svg
from autotune.report.hypotheses.figures.outcome_map import MapPoint, draw_map, group_points
from autotune.report.hypotheses.view import RunView
from autotune.report.text import format_count
from studies.hypotheses.h4_fixpipe import LINE_BYTES
from studies.hypotheses.statistics import WIN

NAME = "h4_map"
TITLE = "H4: where the output through UB pays, over K, M and the alignment of rows"

LONGEST_K = 256
"""The operator's condition: K up to this ... (specification: host-tiling.md, section 8)."""
LEAST_M = 256
"""... and M from this, with rows that are not whole lines (the same)."""

_WHOLE = "whole lines of 128 bytes"
_HALF = "multiples of 64 bytes"
_SOME = "multiples of 16 or 32 bytes"
_ODD = "less aligned"
_SOME_BYTES = 16
_TITLES = (_ODD, _SOME, _HALF, _WHOLE)


def build_h4(view: RunView) -> ReportFigure | None:
    """The figure with its words; None where both ways out were judged for no shape."""
    points: list[tuple[str, MapPoint]] = []
    for shape in view.domains.get("h4", ()):
        effect, problem = shape.answer.h4, shape.row.problem
        if effect is not None and problem.k > 0:
            point = MapPoint(x=problem.k, y=problem.m, ratio=effect.fixpipe_ratio)
            points.append((_group(effect.row_align_bytes), point))
    if not points:
        return None
    ratios = [point.ratio for _, point in points]
    pays = sum(ratio > WIN for ratio in ratios)
    loses = sum(ratio < 1 / WIN for ratio in ratios)
    caption = (
        "Each mark is a shape for which both ways of C out of L0C were judged, whatever the "
        "selector chose; upright triangles: through UB is faster, larger for more; tips down: it "
        "is slower. Panels by the largest power of two that divides the bytes of a row of C. "
        "Inside the dashed frame lies the operator's condition on K and M today (it also asks "
        "for more blocks than cores and rows longer than 256 bytes, and takes no whole lines)."
    )
    alt = (
        f"Maps of {format_count(len(points), 'shape')} over K and M: the output through UB is "
        f"more than 1 % faster for {pays}, more than 1 % slower for {loses}."
    )
    panels = group_points(
        _TITLES, points, lambda title: None if title == _WHOLE else (LONGEST_K, LEAST_M)
    )
    svg = render_svg(lambda: draw_map(panels, "K", "M"), title=TITLE, description=alt)
    return ReportFigure(name=NAME, title=TITLE, caption=caption, alt=alt, svg=svg)


def _group(align_bytes: int) -> str:
    """The panel of an alignment."""
    if align_bytes >= LINE_BYTES:
        return _WHOLE
    if align_bytes >= LINE_BYTES // 2:
        return _HALF
    return _SOME if align_bytes >= _SOME_BYTES else _ODD
