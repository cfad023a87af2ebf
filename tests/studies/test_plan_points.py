"""The plans of a space as points: values without listing, and no two points alike."""

import numpy as np
import pytest

from baseline.decision import decide
from hwmodel.plan import canonical_plan
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from studies.space import build_space
from studies.space_axes import SPACE_NAMES
from studies.strategies.plan_points import FACTORS, PlanPoints

SPEC = load_hardware("ascend950pr-9589")
PROBLEMS = [
    GemmProblem(m=100, k=70, n=90),
    GemmProblem(m=16, k=512, n=48),
    GemmProblem(m=1, k=300, n=200),
]


@pytest.mark.parametrize("name", SPACE_NAMES)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_values_are_those_that_occur_and_no_two_points_are_alike(
    problem: GemmProblem, name: str
) -> None:
    baseline = canonical_plan(problem, decide(problem, SPEC).plan)
    space = build_space(problem, SPEC, baseline, name=name)
    points = PlanPoints(space)
    every = points.factors(np.arange(len(space), dtype=np.int64))
    assert points.names == FACTORS
    assert len(points) == len(every)
    for column, values in zip(every.T, points.values, strict=True):
        assert values.tolist() == sorted(set(column.tolist()))
    assert len(np.unique(every, axis=0)) == len(every)


def test_neighbours_are_points() -> None:
    problem = PROBLEMS[0]
    space = build_space(problem, SPEC, canonical_plan(problem, decide(problem, SPEC).plan))
    around = PlanPoints(space).neighbours(0)
    assert len(around)
    assert 0 <= around.min() < around.max() < len(space)
