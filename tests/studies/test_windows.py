from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodel.plan import KernelPlan, Template, canonical_window
from hwmodel.problem import GemmProblem
from hwmodel.walk import walk
from studies.windows import MAX_WINDOW_PAIRS, select_quick_windows, select_windows


def test_full_list_in_the_specified_order() -> None:
    forwards = [4, 1, 2, 3, 5, 6, 7, 8, 16, 32, 64, 100, 101]
    backwards = [4, 1, 2, 3, 5, 6, 7, 8, 16, 32, 64]
    assert select_windows(200, 9, 32) == (
        *((length, True) for length in forwards),
        *((length, False) for length in backwards),
    )


def test_one_order_has_one_pair() -> None:
    assert select_windows(1, 50, 32) == ((1, True),)
    assert select_windows(50, 1, 32) == ((1, True),)
    assert select_quick_windows(1, 1) == ((1, True),)


def test_few_rows_have_few_orders() -> None:
    assert select_windows(2, 5, 32) == ((2, True), (1, True), (1, False))
    assert select_windows(5, 5, 1) == ((3, True), (1, True), (2, True), (1, False), (2, False))
    assert select_quick_windows(9, 2) == ((1, True), (2, True), (4, True), (5, True))


@given(m_tiles=st.integers(1, 3000), n_tiles=st.integers(1, 3), cores=st.integers(1, 64))
@settings(derandomize=True, deadline=None)
def test_pairs_are_canonical_distinct_and_few(m_tiles: int, n_tiles: int, cores: int) -> None:
    pairs = select_windows(m_tiles, n_tiles, cores)
    assert 1 <= len(pairs) == len(set(pairs)) <= MAX_WINDOW_PAIRS
    assert all(canonical_window(*pair, m_tiles, n_tiles) == pair for pair in pairs)
    assert canonical_window(4, True, m_tiles, n_tiles) == pairs[0]
    assert set(select_quick_windows(m_tiles, n_tiles)) <= set(pairs)


def test_pairs_of_a_small_grid_walk_differently() -> None:
    problem = GemmProblem(m=16 * 7, k=16, n=16 * 3)
    orders = set()
    pairs = select_windows(7, 3, 4)
    for window_len, serpentine in pairs:
        plan = KernelPlan(
            template=Template.ASWT,
            base_m=16,
            base_n=16,
            base_k=16,
            step_k=1,
            window_len=window_len,
            serpentine=serpentine,
            single_core_k=16,
            used_core_num=4,
        )
        order = walk(problem, plan)
        orders.add(tuple((tile.m_off, tile.n_off) for tile in map(order.tile, range(21))))
    assert len(orders) == len(pairs) == 7
