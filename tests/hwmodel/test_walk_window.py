"""Windows: the classes of equal orders are exactly those of `canonical_window`."""

from collections import defaultdict
from dataclasses import replace

import pytest

from hwmodel.plan import Template, canonical_plan, canonical_window
from hwmodel.problem import GemmProblem
from hwmodel.walk import walk
from tests.hwmodel.walk_cases import WINDOW_TEMPLATES, list_cores, make_plan

TILE = 16
CORES = 3
MAX_TILES = 8


def _grid(m_tiles: int, n_tiles: int) -> GemmProblem:
    # Ragged edges, so that exchanging any two blocks shows.
    return GemmProblem(m=m_tiles * TILE - 3, n=n_tiles * TILE - 5, k=64)


@pytest.mark.parametrize("template", WINDOW_TEMPLATES)
@pytest.mark.parametrize("n_tiles", range(1, 6))
@pytest.mark.parametrize("m_tiles", range(1, MAX_TILES + 1))
def test_classes_are_those_of_canonical_window(
    m_tiles: int, n_tiles: int, template: Template
) -> None:
    problem = _grid(m_tiles, n_tiles)
    across, along = m_tiles, n_tiles
    if template is Template.B_PANEL:
        across, along = n_tiles, m_tiles
    orders = defaultdict(set)
    for window_len in range(1, across + 3):
        for serpentine in (True, False):
            plan = make_plan(
                template, window_len=window_len, serpentine=serpentine, used_core_num=CORES
            )
            items = tuple(map(tuple, list_cores(walk(problem, plan))))
            orders[canonical_window(window_len, serpentine, across, along)].add(items)
            canonical = canonical_plan(problem, plan)
            assert list_cores(walk(problem, canonical)) == list(map(list, items))
    assert all(len(same) == 1 for same in orders.values())
    assert len(set.union(*orders.values())) == len(orders)
    expected = 2 * (across // 2) + 1 if across > 1 and along > 1 else 1
    assert len(orders) == expected


@pytest.mark.parametrize("single_core_k", [32, 20])
def test_stream_k_windows_have_the_same_classes(single_core_k: int) -> None:
    problem = _grid(5, 4)
    plan = make_plan(Template.STREAM_K, single_core_k=single_core_k, used_core_num=9)
    orders = defaultdict(set)
    for window_len in range(1, 8):
        for serpentine in (True, False):
            variant = replace(plan, window_len=window_len, serpentine=serpentine)
            items = tuple(map(tuple, list_cores(walk(problem, variant))))
            orders[canonical_window(window_len, serpentine, 5, 4)].add(items)
    assert all(len(same) == 1 for same in orders.values())
    assert len(set.union(*orders.values())) == len(orders) == 5


def test_window_of_two_in_a_small_grid() -> None:
    # 5 x 3 blocks: rows 0-1 forwards, then the last window of rows 2-4 backwards.
    plan = make_plan(Template.ASWT, window_len=2, used_core_num=1)
    (items,) = list_cores(walk(_grid(5, 3), plan))
    assert [(item.m_idx, item.n_idx) for item in items] == [
        *[(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)],
        *[(2, 2), (3, 2), (4, 2), (2, 1), (3, 1), (4, 1), (2, 0), (3, 0), (4, 0)],
    ]
