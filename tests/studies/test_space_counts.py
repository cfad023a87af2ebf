"""Counts without a visit to the points, decoding without numba, and the refinement of tails."""

from dataclasses import fields, replace
from inspect import unwrap
from typing import Any

import numpy as np
import pytest

from hwmodel.legality import check
from hwmodel.plan import KernelPlan, Template
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from studies import space_decode
from studies.space import build_space
from studies.space_axes import ALL, ALL_TEMPLATES
from studies.space_counts import FIELDS, count_points_by_template, list_values
from studies.tail_refinement import list_tail_splits
from tests.studies.space_cases import SMALL, SPEC, all_plans, any_baseline, walk_key

PROBLEMS = [
    GemmProblem(m=64, k=96, n=64),
    GemmProblem(m=33, k=100, n=150),
    GemmProblem(m=1, k=70, n=97),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=GemmProblem.label)
def test_counts_are_those_of_the_listed_points(problem: GemmProblem) -> None:
    space = build_space(problem, SMALL, any_baseline(problem), name=ALL)
    plans = all_plans(space)
    counts = count_points_by_template(space)
    assert tuple(count.template for count in counts) == ALL_TEMPLATES
    assert sum(count.cartesian for count in counts) == space.cartesian
    for count in counts:
        own = [plan for plan in plans if plan.template is count.template]
        names: tuple[str, ...] = ("base_m", "base_n")
        assert count.tiles == count_distinct(own, names)
        for factor, more in (
            ("l0c", ("db_l0c", "l0c_output")),
            ("base_k", ("base_k",)),
            ("step_k", ("step_k",)),
            ("resident_slabs", ("resident_slabs",)),
            ("tails", ("m_tail_cnt", "n_tail_cnt")),
            ("pieces", ("single_core_k",)),
            ("orders", ("sk_order",)),
            ("points", ("window_len", "serpentine")),
        ):
            names += more
            assert getattr(count, factor) == count_distinct(own, names), factor


def count_distinct(plans: list[KernelPlan], names: tuple[str, ...]) -> int:
    return len({tuple(getattr(plan, name) for name in names) for plan in plans})


@pytest.mark.parametrize("problem", PROBLEMS, ids=GemmProblem.label)
def test_values_are_those_of_the_listed_points(problem: GemmProblem) -> None:
    space = build_space(problem, SMALL, any_baseline(problem), name=ALL)
    plans = space.plans(np.arange(len(space), dtype=np.int64))
    for field in FIELDS:
        assert list_values(space, field).tolist() == np.unique(getattr(plans, field)).tolist()


def test_an_empty_space_has_no_counts() -> None:
    problem = GemmProblem(m=16, k=16, n=16)
    space = build_space(problem, SMALL, any_baseline(problem, Template.TO_MULTI_MUL), name=ALL)
    assert count_points_by_template(space) == ()
    assert all(len(list_values(space, field)) == 0 for field in FIELDS)


def test_decoding_is_the_same_in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = GemmProblem(m=48, k=64, n=64)
    space = build_space(problem, SMALL, any_baseline(problem), name=ALL)
    shuffled = np.random.default_rng(0).permutation(len(space))[:300]
    indices = np.concatenate([shuffled, np.arange(500, 2000), shuffled]).astype(np.int64)
    compiled = space.plans(indices)
    for name in ("_decode", "_fill_constant", "_fill_variable"):
        monkeypatch.setattr(space_decode, name, plain(getattr(space_decode, name)))
    interpreted = space.plans(indices)
    for field in fields(PlanBatch):
        column = getattr(interpreted, field.name)
        assert column.flags.c_contiguous
        assert column.tolist() == getattr(compiled, field.name).tolist()


def plain(function: Any) -> Any:
    return getattr(function, "py_func", unwrap(function))


def test_the_refinement_has_every_other_tail_split_once() -> None:
    problem = GemmProblem(m=500, k=64, n=336)
    space = build_space(problem, SPEC, any_baseline(problem), name=ALL)
    plan = next(
        plan
        for index in range(0, len(space), 50)
        if (plan := space.plan(index)).template is Template.ASWT
        and plan.m_tiles(problem) * plan.n_tiles(problem) % 32 == 3
        and plan.used_core_num == 32
    )
    key_of = walk_key(problem)
    splits = list_tail_splits(problem, SPEC, plan)
    assert splits
    assert all(check(problem, SPEC, split) == () for split in splits)
    assert all(space.index_of(split) is None for split in splits)
    expected = set()
    in_space = set()
    for m_tail in range(1, 11):
        for n_tail in range(1, 11):
            split = replace(plan, m_tail_cnt=m_tail, n_tail_cnt=n_tail)
            if not check(problem, SPEC, split):
                expected.add(key_of(split))
            if space.index_of(split) is not None:
                in_space.add(key_of(split))
    found = [key_of(split) for split in splits]
    assert len(found) == len(set(found))
    assert set(found) == expected - in_space


def test_nothing_to_refine_where_rounds_are_whole() -> None:
    problem = GemmProblem(m=64, k=64, n=64)
    plan = any_baseline(problem)
    assert list_tail_splits(problem, SPEC, replace(plan, used_core_num=16)) == ()
