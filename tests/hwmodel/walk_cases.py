"""Random legal walks of every template, and checks that hold for each of them."""

from collections.abc import Iterable, Sequence

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from numpy.typing import NDArray

from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.integers import align_up, ceil_div
from hwmodel.plan import KernelPlan, L0cOutput, StreamKOrder, Template
from hwmodel.problem import GemmProblem
from hwmodel.walk import Schedule, WalkItem

GRID_TEMPLATES = (
    Template.ASWT,
    Template.A_FULL,
    Template.B_FULL,
    Template.A_PARTIAL,
    Template.B_PARTIAL,
    Template.A_PANEL,
    Template.B_PANEL,
    Template.BASE,
)
WINDOW_TEMPLATES = (Template.ASWT, Template.A_PANEL, Template.B_PANEL, Template.BASE)


def make_plan(template: Template, **fields: object) -> KernelPlan:
    """A plan whose fields along K, which the walk does not read, are 1."""
    values: dict[str, object] = {
        "base_m": 16,
        "base_n": 16,
        "single_core_k": 64,
        "used_core_num": 4,
    }
    return KernelPlan(template=template, base_k=1, step_k=1, **(values | fields))  # type: ignore[arg-type]


def list_cores(schedule: Schedule) -> list[list[WalkItem]]:
    return [list(schedule.items(core)) for core in range(schedule.block_num)]


def flatten(schedule: Schedule) -> list[WalkItem]:
    return [item for items in list_cores(schedule) for item in items]


def count_cover(
    boxes: Sequence[tuple[tuple[int, int], ...]], sizes: Sequence[int]
) -> NDArray[np.int64]:
    """How often each cell of a box of `sizes` is covered, on the grid of all boundaries.

    A box is a (start, length) pair for each axis.
    """
    edges = []
    for axis, size in enumerate(sizes):
        points = {0, size}
        for box in boxes:
            start, length = box[axis]
            assert length > 0, "an empty item"
            assert start >= 0
            assert start + length <= size
            points |= {start, start + length}
        edges.append({point: index for index, point in enumerate(sorted(points))})
    cover = np.zeros([len(points) - 1 for points in edges], dtype=np.int64)
    for box in boxes:
        cover[
            tuple(
                slice(edges[axis][start], edges[axis][start + length])
                for axis, (start, length) in enumerate(box)
            )
        ] += 1
    return cover


def assert_covers_once(items: Iterable[WalkItem], m: int, n: int, k: int) -> None:
    boxes = [
        ((item.m_off, item.blk_m), (item.n_off, item.blk_n), (item.k_off, item.blk_k))
        for item in items
    ]
    assert (count_cover(boxes, (m, n, k)) == 1).all()


@st.composite
def problems(draw: st.DrawFn, *, max_dim: int = 150) -> GemmProblem:
    dtype = draw(st.sampled_from(DType))
    return GemmProblem(
        m=draw(st.integers(1, max_dim)),
        n=draw(st.integers(1, max_dim)),
        k=draw(st.one_of(st.integers(1, 600), st.integers(1000, 20000))),
        trans_b=draw(st.booleans()),
        dtype=dtype,
        out_dtype=draw(st.sampled_from([dtype, DType.FP32])),
        format_b=draw(st.sampled_from(Format)),
        op_impl_mode=draw(st.sampled_from([OpImplMode.DEFAULT, OpImplMode.HF32])),
    )


def _tiles(draw: st.DrawFn, length: int) -> int:
    return 16 * draw(st.integers(1, align_up(length, 16) // 16))


@st.composite
def grid_walks(
    draw: st.DrawFn, templates: Sequence[Template] = GRID_TEMPLATES
) -> tuple[GemmProblem, KernelPlan]:
    """A problem and a plan of a block grid, with tail counts wherever they are legal."""
    problem = draw(problems())
    template = draw(st.sampled_from(templates))
    base_m, base_n = _tiles(draw, problem.m), _tiles(draw, problem.n)
    cores = draw(st.integers(1, 40))
    m_tiles = 1 if template in (Template.A_FULL, Template.A_PARTIAL) else None
    n_tiles = 1 if template in (Template.B_FULL, Template.B_PARTIAL) else None
    blocks = (m_tiles or ceil_div(problem.m, base_m)) * (n_tiles or ceil_div(problem.n, base_n))
    limit = cores // rest if (rest := blocks % cores) else 1
    m_cnt = 1 if m_tiles else draw(st.integers(1, limit))
    n_cnt = 1 if n_tiles else draw(st.integers(1, limit // m_cnt))
    return problem, make_plan(
        template,
        base_m=base_m,
        base_n=base_n,
        window_len=draw(st.integers(1, 12)),
        serpentine=draw(st.booleans()),
        m_tail_cnt=m_cnt,
        n_tail_cnt=n_cnt,
        l0c_output=draw(st.sampled_from(L0cOutput)),
        single_core_k=problem.k,
        used_core_num=cores,
    )


@st.composite
def stream_k_walks(draw: st.DrawFn) -> tuple[GemmProblem, KernelPlan]:
    problem = draw(problems(max_dim=100))
    base_m, base_n = _tiles(draw, problem.m), _tiles(draw, problem.n)
    blocks = ceil_div(problem.m, base_m) * ceil_div(problem.n, base_n)
    cores = draw(st.integers(2, 40))
    rest = blocks % cores
    assume(rest)
    assume(cores // rest >= 2)
    single_core_k = ceil_div(problem.k, draw(st.integers(2, cores // rest)))
    assume(single_core_k < problem.k)
    return problem, make_plan(
        Template.STREAM_K,
        base_m=base_m,
        base_n=base_n,
        window_len=draw(st.integers(1, 12)),
        serpentine=draw(st.booleans()),
        l0c_output=draw(st.sampled_from(L0cOutput)),
        single_core_k=single_core_k,
        sk_order=draw(st.sampled_from(StreamKOrder)),
        used_core_num=cores,
    )


@st.composite
def vector_walks(draw: st.DrawFn) -> tuple[GemmProblem, KernelPlan]:
    """The vector template and TO_MULTI_MUL."""
    length, k = draw(st.integers(1, 3000)), draw(st.integers(1, 500))
    other = 1
    template = draw(st.sampled_from([Template.VECTOR, Template.TO_MULTI_MUL]))
    if template is Template.TO_MULTI_MUL:
        length, other = draw(st.integers(1, 150)), draw(st.integers(1, 150))
    is_row = draw(st.booleans())
    problem = GemmProblem(
        m=other if is_row else length, n=length if is_row else other, k=k, dtype=DType.FP32
    )
    return problem, make_plan(
        template,
        base_m=draw(st.integers(8, 64)),
        base_n=draw(st.integers(8, 64)),
        single_core_k=k,
        used_core_num=draw(st.integers(1, 64)),
    )


any_walk = st.one_of(grid_walks(), stream_k_walks(), vector_walks())
