"""H6: the crossover between cube and vector cores, over K and the length of the vector."""

from autotune.report.figures.style import ReportFigure, render_svg
from autotune.report.hypotheses.figures.outcome_map import MapPoint, draw_map, group_points
from autotune.report.hypotheses.view import RunView
from autotune.report.text import TIMES, format_count
from hwmodel.problem import GemmProblem
from studies.hypotheses.statistics import WIN

NAME = "h6_crossover"
TITLE = "H6: cube against vector cores, over K and the length of the result"

_ROW_TITLES = (f"M = 1, B stored N{TIMES}K", f"M = 1, B stored K{TIMES}N", "N = 1")


def build_h6(view: RunView) -> ReportFigure | None:
    """The figure with its words; None where the vector kernel was judged for no shape."""
    points = [
        (
            _group(shape.row.problem),
            MapPoint(
                x=shape.row.problem.k,
                y=shape.answer.h6.length,
                ratio=shape.answer.h6.vector_ratio,
            ),
        )
        for shape in view.domains.get("h6", ())
        if shape.answer.h6 is not None and shape.row.problem.k > 0
    ]
    if not points:
        return None
    ratios = [point.ratio for _, point in points]
    pays = sum(ratio > WIN for ratio in ratios)
    loses = sum(ratio < 1 / WIN for ratio in ratios)
    caption = (
        "Each mark is a matrix-vector product in 16 bit, judged on both kinds of cores whatever "
        "the selector chose; upright triangles: the vector cores are faster, larger for more; "
        "tips down: the cube is. The crossover runs where the marks turn over. One panel for each "
        "way in which the matrix lies in memory, as far as the shapes have it."
    )
    alt = (
        f"Maps of {format_count(len(points), 'shape')} over K and length: the vector cores are "
        f"more than 1 % faster for {pays}, more than 1 % slower for {loses}."
    )
    panels = group_points(_ROW_TITLES, points)
    svg = render_svg(
        lambda: draw_map(panels, "K", "length of the result (the larger of M and N)"),
        title=TITLE,
        description=alt,
    )
    return ReportFigure(name=NAME, title=TITLE, caption=caption, alt=alt, svg=svg)


def _group(problem: GemmProblem) -> str:
    """The panel of a problem; one with M = N = 1 is a row."""
    if problem.m > 1:
        return _ROW_TITLES[2]
    return _ROW_TITLES[0] if problem.trans_b else _ROW_TITLES[1]
