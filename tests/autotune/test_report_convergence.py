"""The figure of convergence: valid, with words, no overlapping text, whatever the searches did."""

from xml.etree import ElementTree

import numpy as np
import pytest

from autotune.report.figures.convergence import (
    Convergence,
    build_convergence,
    draw_convergence,
)
from autotune.report.figures.style import figure_style
from tests.autotune.test_report_figures import SVG, find_overlaps

NAMES = ("prior", "random", "tpe", "nsga2", "cmaes", "kernel_tuner bayes_opt 1.5.0")


def make_searches(count: int, evaluations: int, first: float = 2.0) -> tuple[Convergence, ...]:
    rng = np.random.default_rng(0)
    return tuple(
        Convergence(
            name=name,
            gaps=tuple(
                np.minimum.accumulate(first * rng.random(evaluations) ** (number + 1))
                for _ in range(5)
            ),
        )
        for number, name in enumerate(NAMES[:count])
    )


def test_it_is_valid_svg_with_words() -> None:
    items = (
        Convergence(name="prior", gaps=(np.array([0.3, 0.1, 0.0]), np.array([0.2]))),
        Convergence(name="random", gaps=(np.array([0.5, 0.5, 0.4]),)),
    )
    figure = build_convergence(items, subject="the optimum")
    assert ElementTree.fromstring(figure.svg).findtext(f"{SVG}desc") == figure.alt
    assert figure.alt == (
        "Median gap to the optimum after 3 evaluations of 2 strategies: "
        "prior +10.0 %; random +40.0 %."
    )
    assert figure == build_convergence(items, subject="the optimum")


def test_a_search_that_ended_keeps_its_last_value() -> None:
    item = Convergence(name="prior", gaps=(np.array([0.3, 0.1]), np.array([0.2])))
    np.testing.assert_allclose(item.percentile(50.0, 4), [0.25, 0.15, 0.15, 0.15])
    np.testing.assert_allclose(item.percentile(100.0, 1), [0.3])


@pytest.mark.parametrize("evaluations", [1, 2, 30, 500, 20_000])
@pytest.mark.parametrize("first", [0.0, 0.002, 2.0, 3e5])
def test_no_text_overlaps(evaluations: int, first: float) -> None:
    with figure_style():
        figure = draw_convergence(make_searches(6, evaluations, first), subject="the optimum")
        assert find_overlaps(figure) == []


def test_more_strategies_than_looks() -> None:
    items = make_searches(6, 10) + make_searches(3, 10)
    assert build_convergence(items, subject="the best known").svg.count("random") >= 2
