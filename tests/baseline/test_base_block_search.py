"""The pruned search against the plain one, and the bound that the pruning rests on."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baseline.base_block import (
    EDGE_SHARE,
    compute_roofline_edges,
    rebalance_block,
    select_search_grid,
)
from baseline.base_block_search import (
    SearchGrid,
    SearchTrace,
    compute_balance_rate,
    search_base_block,
)
from baseline.platform import Platform
from baseline.steps import Recorder
from hwmodel.dtypes import DType
from hwmodel.problem import GemmProblem
from tests.baseline.platforms import ASCEND_950PR, dims, platforms

EXAMPLES = settings(max_examples=800, derandomize=True, deadline=None)

problems = st.builds(
    GemmProblem,
    m=dims,
    k=dims,
    n=dims,
    trans_a=st.booleans(),
    trans_b=st.booleans(),
    dtype=st.sampled_from([DType.BF16, DType.FP32]),
    bias_dtype=st.sampled_from([None, DType.FP32]),
)


def search_without_pruning(
    problem: GemmProblem, cores: int, grid: SearchGrid, edge: float
) -> tuple[int, int, float, float]:
    """The specification's loop, word for word (host-tiling.md, section 4)."""

    def balance(bm: int, bn: int) -> float:
        m, n = problem.m, problem.n
        total = -(-m // bm) * -(-n // bn)
        main = -(-total // cores) - 1
        split = cores // (total - cores * main)
        bm = m if m <= 16 else bm
        bn = n if n <= 16 else bn
        if main == 0 or bm * bn // split < 4096:
            return (1.0 * m * n / cores) / ((main + 1) * bm * bn)
        s = int(math.sqrt(split))
        off = (split - s * s) // s + 1
        tail = 1.0 / (s * (s + off - 1))
        return (1.0 * m * n / cores) / ((main + tail) * bm * bn)

    base_m = max(16, min(grid.max_m, 256))
    base_n = max(16, min(grid.max_n, grid.tile_elements // base_m // grid.n_align * grid.n_align))
    param, rate = 1 / base_m + 1 / base_n, balance(base_m, base_n)
    cur_m = grid.max_m
    while 1 <= cur_m <= grid.max_m:
        n0 = min(grid.max_n, grid.tile_elements // cur_m // grid.n_align * grid.n_align)
        cur_n = n0
        while 1 <= cur_n <= n0:
            cur_param, cur_rate = 1 / cur_m + 1 / cur_n, balance(cur_m, cur_n)
            skip = rate >= 0.9 and cur_param > param and cur_param > edge and edge > 0
            small = problem.is_plain_fp32 and cur_param < edge and (cur_m < 64 or cur_n < 64)
            blocks = -(-problem.m // cur_m) * -(-problem.n // cur_n)
            if not skip and not (small and blocks > cores):
                cube_win = cur_param <= edge and cur_rate > rate
                trade_win = cur_param / cur_rate < param / rate or (
                    abs(cur_param / cur_rate - param / rate) < 1e-9 and cur_rate > rate
                )
                if cube_win or trade_win:
                    edge = cur_param if cube_win else edge
                    base_m, base_n, param, rate = cur_m, cur_n, cur_param, cur_rate
            cur_n -= grid.n_align
        cur_m -= grid.m_align
    return base_m, base_n, param, edge


@EXAMPLES
@given(problem=problems, platform=platforms)
def test_pruning_changes_nothing(problem: GemmProblem, platform: Platform) -> None:
    edge, fixpipe_edge = compute_roofline_edges(problem, platform)
    grid = select_search_grid(problem, platform, edge, fixpipe_edge, None)
    if grid.count_candidates() > 20000:
        grid = SearchGrid(
            max_m=min(grid.max_m, 512),
            max_n=min(grid.max_n, 512),
            m_align=grid.m_align,
            n_align=grid.n_align,
            tile_elements=grid.tile_elements,
        )
    for start in (edge * EDGE_SHARE, 0.0, 0.01, 0.12):
        pruned = search_base_block(problem, platform.aic_num, grid, start)
        assert pruned == search_without_pruning(problem, platform.aic_num, grid, start)


@EXAMPLES
@given(
    problem=problems,
    cores=st.integers(1, 200),
    max_m=st.integers(0, 40),
    max_n=st.integers(0, 40),
    m_align=st.sampled_from([16, 32, 64]),
    n_align=st.sampled_from([16, 32, 64, 128]),
    edge=st.one_of(st.floats(-1, 0.2), st.sampled_from([1 / 128, 1 / 64, 1 / 256 + 1 / 128])),
)
def test_pruning_changes_nothing_on_any_grid(
    problem: GemmProblem,
    cores: int,
    max_m: int,
    max_n: int,
    m_align: int,
    n_align: int,
    edge: float,
) -> None:
    grid = SearchGrid(
        max_m=max_m * m_align,
        max_n=max_n * n_align,
        m_align=m_align,
        n_align=n_align,
        tile_elements=65536,
    )
    pruned = search_base_block(problem, cores, grid, edge)
    assert pruned == search_without_pruning(problem, cores, grid, edge)


@pytest.mark.parametrize(
    ("m", "n", "cores", "grid", "edge"),
    [
        (768, 14848, 1, (448, 64, 32, 64), 0.005),
        (1600, 1280, 1, (1472, 896, 64, 64), -1.0),
        (7168, 5376, 8, (352, 48, 32, 16), -1.0),
        (288, 640, 1, (304, 1344, 16, 64), 0.005),
    ],
)
def test_a_close_call_is_not_pruned(
    m: int, n: int, cores: int, grid: tuple[int, int, int, int], edge: float
) -> None:
    # In each a candidate wins by less than a ten-thousandth of its trade.
    problem = GemmProblem(m=m, k=64, n=n)
    max_m, max_n, m_align, n_align = grid
    candidates = SearchGrid(
        max_m=max_m, max_n=max_n, m_align=m_align, n_align=n_align, tile_elements=65536
    )
    pruned = search_base_block(problem, cores, candidates, edge)
    assert pruned == search_without_pruning(problem, cores, candidates, edge)


@EXAMPLES
@given(
    m=dims,
    n=dims,
    base_m=st.integers(1, 64).map(lambda count: 16 * count),
    base_n=st.integers(1, 64).map(lambda count: 16 * count),
    cores=st.integers(1, 300),
)
def test_the_rate_never_exceeds_the_share_of_useful_rows(
    m: int, n: int, base_m: int, base_n: int, cores: int
) -> None:
    rate = compute_balance_rate(m, n, base_m, base_n, cores)
    rows = m if m <= 16 else base_m
    assert 0 < rate <= m / (-(-m // base_m) * rows) * (1 + 1e-14)


def test_a_trace_counts_visits_and_names_each_lead() -> None:
    problem = GemmProblem(m=3000, k=1000, n=1700)
    edge, fixpipe_edge = compute_roofline_edges(problem, ASCEND_950PR)
    grid = select_search_grid(problem, ASCEND_950PR, edge, fixpipe_edge, None)
    trace = SearchTrace()
    base_m, base_n, param, _ = search_base_block(problem, 32, grid, edge * EDGE_SHARE, trace)
    last = trace.leads[-1]
    assert (last.base_m, last.base_n, last.param) == (base_m, base_n, param)
    assert trace.leads[0].reason == "the starting point"
    assert len(trace.leads) > 1
    assert len(trace.leads) - 1 <= trace.visited < grid.count_candidates()


@pytest.mark.parametrize(
    ("m", "n", "cores", "grid", "edge", "reason"),
    [
        (3955, 2095, 32, (32, 640, 32, 128), 0.05, "bound by the cube and better balanced"),
        (3275, 1027, 32, (64, 320, 32, 32), 0.01, "less traffic for its balance"),
        (
            834,
            3959,
            8,
            (768, 352, 64, 32),
            -1.0,
            "equal traffic for its balance, and better balanced",
        ),
    ],
)
def test_reason_of_the_first_new_lead(
    m: int, n: int, cores: int, grid: tuple[int, int, int, int], edge: float, reason: str
) -> None:
    max_m, max_n, m_align, n_align = grid
    trace = SearchTrace()
    search_base_block(
        GemmProblem(m=m, k=64, n=n),
        cores,
        SearchGrid(
            max_m=max_m, max_n=max_n, m_align=m_align, n_align=n_align, tile_elements=65536
        ),
        edge,
        trace,
    )
    assert trace.leads[1].reason == reason


@EXAMPLES
@given(problem=problems, platform=platforms)
def test_the_block_fits_and_explaining_changes_nothing(
    problem: GemmProblem, platform: Platform
) -> None:
    recorder = Recorder()
    block = rebalance_block(problem, platform, None)
    assert rebalance_block(problem, platform, recorder) == block
    assert recorder.steps
    assert block.base_m % 16 == block.base_n % 16 == 0
    assert block.base_m * block.base_n * 4 <= max(platform.l0c_bytes, 4 * 16 * 16)
    assert 1 <= block.used_core_num <= platform.aic_num
