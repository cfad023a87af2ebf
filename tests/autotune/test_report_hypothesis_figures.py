"""The figures of the report of hypotheses: legible, valid, described, and always the same."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from autotune.report.figures.style import ReportFigure, figure_style
from autotune.report.hypotheses.figures import (
    forest,
    h1,
    h2,
    h3,
    h4,
    h5,
    h6,
    joint,
    optimism,
    outcome_map,
)
from autotune.report.hypotheses.figures.marks import (
    compute_area,
    format_step,
)
from autotune.report.hypotheses.view import RunView
from hwmodel.problem import GemmProblem
from tests.autotune.hypothesis_runs import make_answer, make_results, make_rows, make_view
from tests.autotune.test_report_figures import SVG, find_overlaps
from tests.studies.hypotheses.test_summary import row_of

COUNTS = (3, 60)


@cache
def view_of(count: int) -> RunView:
    return make_view(make_results(*make_rows(count)))


def build_all(view: RunView) -> list[ReportFigure]:
    builders: tuple[Callable[[RunView], ReportFigure | None], ...] = (
        h1.build_h1, h3.build_h3, h4.build_h4, h5.build_h5, h6.build_h6, joint.build_joint,
        optimism.build_optimism,
    )  # fmt: skip
    found = [forest.build_forest(view.results.verdicts), *h2.build_h2(view)]
    found += [build(view) for build in builders]
    return [figure for figure in found if figure is not None]


@pytest.mark.parametrize("count", COUNTS)
def test_figures_are_valid_svg_with_words_for_those_who_do_not_see_them(count: int) -> None:
    figures = build_all(view_of(count))
    assert len({figure.name for figure in figures}) == len(figures)
    for figure in figures:
        root = ElementTree.fromstring(figure.svg)
        assert root.findtext(f"{SVG}title") == figure.title
        assert root.findtext(f"{SVG}desc") == figure.alt
        assert figure.caption.endswith(".")
        assert figure.alt.endswith(".")


def test_every_study_has_its_figure() -> None:
    assert [figure.name for figure in build_all(view_of(60))] == [
        "forest", "h2_windows", "h2_parts", "h1_proxy", "h3_residency", "h4_map", "h5_sharing",
        "h6_crossover", "joint", "optimism",
    ]  # fmt: skip


def draw_joint(view: RunView) -> Figure:
    lines = joint.list_contributions(view)
    return joint.draw_joint(lines, view.results.field_gaps, joint.sum_log_gap(view))


DRAWINGS: dict[str, Callable[[RunView], Figure]] = {
    "forest": lambda view: forest.draw_forest(forest.list_lines(view.results.verdicts)),
    "h1": lambda view: h1.draw_h1(h1.list_points(view)),
    "h2 sweeps": lambda view: h2.draw_sweeps(h2.select_typical(view.domains["h2"])),
    "h2 parts": lambda view: h2.draw_parts(
        [shape.answer.h2 for shape in view.domains["h2"] if shape.answer.h2]
    ),
    "h3": lambda view: h3.draw_h3(h3.list_points(view)),
    "h5": h5.draw_h5,
    "joint": draw_joint,
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_text_overlaps(name: str) -> None:
    with figure_style():
        assert find_overlaps(DRAWINGS[name](view_of(60))) == []


def test_no_text_overlaps_on_a_map() -> None:
    points = [
        (title, outcome_map.MapPoint(x=64.0 * 2**place, y=2.0**place, ratio=1.1))
        for place, title in enumerate(("one", "two", "three") * 3)
    ]
    panels = outcome_map.group_points(("one", "two", "three"), points, lambda _: (256.0, 8.0))
    with figure_style():
        assert find_overlaps(outcome_map.draw_map(panels, "K", "M")) == []


def test_the_same_results_give_the_same_bytes() -> None:
    again = make_view(make_results(*make_rows(COUNTS[0])))
    assert build_all(again) == build_all(view_of(COUNTS[0]))


def test_a_run_without_shapes_has_no_figures() -> None:
    assert build_all(make_view(make_results([], []))) == []


def test_a_run_of_one_study_has_its_figures_only() -> None:
    problem = GemmProblem(m=1, k=1024, n=4096)
    answers = [make_answer(problem, {"h6": 1.2})]
    view = make_view(make_results([row_of(problem)], answers, "h6"))
    assert [figure.name for figure in build_all(view)] == ["forest", "h6_crossover", "optimism"]


def test_a_study_that_never_changes_a_plan_has_no_optimism() -> None:
    problem = GemmProblem(m=1, k=1024, n=4096)
    view = make_view(make_results([row_of(problem)], [make_answer(problem, {"h1": 1.0})], "h1"))
    assert optimism.build_optimism(view) is None


def test_h5_says_where_the_emulator_was_not_fitted() -> None:
    results = replace(view_of(60).results, sharing=())
    figure = h5.build_h5(make_view(results))
    assert figure is not None
    assert "not computed in this run" in figure.caption
    assert "not in this run" in figure.svg


def test_means_beyond_the_axis_of_the_verdicts_are_arrows() -> None:
    lines = forest.list_lines(view_of(60).results.verdicts)
    variant = next(line for line in lines if line.indent)
    far = [replace(line, summary=replace(line.summary, geomean=0.1)) if line is variant else line
           for line in lines]  # fmt: skip
    with figure_style():
        axes = forest.draw_forest(far).axes[0]
    assert "<" in [line.get_marker() for line in axes.lines]


def test_the_typical_shapes_are_the_longest_of_each_phase_then_the_extremes() -> None:
    view = view_of(60)
    sweeps = h2.select_typical(view.domains["h2"])
    assert len(sweeps) == h2.TYPICAL
    heaviest = {
        phase: max(
            (s for s in view.domains["h2"] if s.row.phase == phase),
            key=lambda s: s.row.weight * s.answer.baseline.judge_us,
        ).row.name
        for phase in ("decode", "prefill", "training")
    }
    assert set(heaviest.values()) < {sweep.name for sweep in sweeps}


def test_marks_grow_with_the_ratio_either_way() -> None:
    assert compute_area(1.2) == pytest.approx(compute_area(1 / 1.2))
    assert compute_area(1.2) > compute_area(1.02) > compute_area(1.0)
    assert compute_area(100.0) == compute_area(10.0)


@pytest.mark.parametrize(
    ("ratio", "text"), [(1.0, "0"), (1.05, "+5 %"), (0.8, "-20 %"), (1.005, "+0.5 %")]
)
def test_gains_on_an_axis(ratio: float, text: str) -> None:
    assert format_step(ratio) == text
