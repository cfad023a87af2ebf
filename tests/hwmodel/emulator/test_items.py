"""The compiled walk equals the schedule; objects and panels are those of the page."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodel.emulator.items import build_work
from hwmodel.emulator.layout import (
    A_BLOCK,
    A_OWN,
    B_BLOCK,
    B_OWN,
    C_BLOCK,
    COLS,
    DEPTH,
    K_OFF,
    K_SLAB,
    M_OFF,
    N_OFF,
    NO_OBJECT,
    REUSES,
    ROWS,
)
from hwmodel.integers import ceil_div
from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import GemmProblem
from hwmodel.walk import Schedule, walk
from tests.hwmodel.emulator.plain import plain_modules
from tests.hwmodel.emulator.random_cases import TEMPLATES, make_case
from tests.hwmodel.walk_cases import grid_walks, list_cores, stream_k_walks

PLACE = [M_OFF, N_OFF, K_OFF, ROWS, COLS, DEPTH]


def _check_items(problem: GemmProblem, plan: KernelPlan, schedule: Schedule) -> None:
    work = build_work(problem, plan, schedule, has_c_objects=False, keeps_all=True)
    items, starts = work.items, work.starts
    expected = list_cores(schedule)
    assert starts.tolist() == [0, *np.cumsum([len(core) for core in expected]).tolist()]
    flat = [tuple(item)[3:] for core in expected for item in core]
    assert [tuple(row) for row in items[:, PLACE].tolist()] == flat
    slots = [slot for core in range(schedule.block_num) for slot in schedule.workspace_slots(core)]
    is_workspace = (items[:, C_BLOCK] == NO_OBJECT).tolist()
    assert is_workspace == [slot >= 0 for slot in slots]


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.one_of(grid_walks(), stream_k_walks()))
def test_items_are_those_of_the_schedule(case: tuple[GemmProblem, KernelPlan]) -> None:
    _check_items(*case, walk(*case))


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("seed", range(8))
def test_objects_are_those_of_the_page(template: Template, seed: int) -> None:
    problem, plan, _ = make_case(template, seed)
    schedule = walk(problem, plan)
    _check_items(problem, plan, schedule)
    work = build_work(problem, plan, schedule, has_c_objects=True, keeps_all=True)
    k_l1 = plan.k_l1(problem)
    slabs = ceil_div(problem.k, k_l1)
    names: dict[int, tuple[object, ...]] = {}

    def check(number: int, *name: object) -> None:
        assert 0 <= number < work.objects
        assert names.setdefault(number, name) == name

    for row in work.items.tolist():
        m_off, n_off, m_block, n_block = (
            row[M_OFF],
            row[N_OFF],
            row[M_OFF] // plan.base_m,
            row[N_OFF] // plan.base_n,
        )
        assert row[K_SLAB] == row[K_OFF] // k_l1
        for step in range(ceil_div(row[DEPTH], k_l1)):
            slab = row[K_SLAB] + step
            assert slab < slabs
            check(row[A_BLOCK] + slab, "A", m_block, slab)
            check(row[B_BLOCK] + slab, "B", n_block, slab)
            if row[A_OWN] != NO_OBJECT:
                check(row[A_OWN] + slab, "A", m_block, slab, m_off)
            if row[B_OWN] != NO_OBJECT:
                check(row[B_OWN] + slab, "B", n_block, slab, n_off)
        if row[C_BLOCK] != NO_OBJECT:
            check(row[C_BLOCK], "C", m_block, n_block)
        is_part = m_off % plan.base_m or row[ROWS] < min(plan.base_m, problem.m - m_off)
        assert (row[A_OWN] != NO_OBJECT) == bool(is_part)
        is_part = n_off % plan.base_n or row[COLS] < min(plan.base_n, problem.n - n_off)
        assert (row[B_OWN] != NO_OBJECT) == bool(is_part)
    assert len(set(names.values())) == len(names)


@pytest.mark.parametrize("template", [Template.A_PANEL, Template.B_PANEL])
def test_panels_are_reused(template: Template) -> None:
    problem = GemmProblem(m=128, n=128, k=64)
    plan = KernelPlan(
        template=template,
        base_m=32,
        base_n=32,
        base_k=16,
        step_k=1,
        resident_slabs=2,
        window_len=1,
        single_core_k=64,
        used_core_num=1,
    )
    work = build_work(problem, plan, walk(problem, plan), has_c_objects=False, keeps_all=True)
    # Sixteen blocks, row by row (column by column): the first of each row brings the panel.
    assert work.items[:, REUSES].tolist() == [0, 1, 1, 1] * 4


@pytest.mark.parametrize("template", TEMPLATES)
def test_rings_bring_all_items_in_turn(template: Template) -> None:
    with plain_modules() as modules:
        items = modules["item_walk"]
        # Rings so small that those of many cases are filled anew.
        vars(items)["CHUNK"] = 1
        vars(items)["RING"] = vars(modules["items"])["RING"] = 4
        refilled = 0
        for seed in range(25):
            problem, plan, _ = make_case(template, seed)
            schedule = walk(problem, plan)
            build = modules["items"].build_work
            make = partial(build, problem, plan, schedule, has_c_objects=True)
            whole, rings = make(keeps_all=True), make(keeps_all=False)
            assert len(rings.items) <= 4 * plan.used_core_num
            refilled += int((rings.counts > 4).sum())
            for p, count in enumerate(rings.counts):
                first, row = whole.starts[p], rings.starts[p]
                for at in range(count):
                    if at:
                        row = items.next_row(rings.starts, p, row)
                        items.refill(rings.source, rings.items, rings.starts, p, row)
                    assert (rings.items[row] == whole.items[first + at]).all()
    assert refilled > 0
