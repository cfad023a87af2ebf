"""Hypothesis strategies: random problems and plans of every template, legal or not."""

from dataclasses import replace

from hypothesis import strategies as st

from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.integers import ceil_div
from hwmodel.plan import KernelPlan, L0cOutput, StreamKOrder, Template
from hwmodel.problem import MAX_DIM, GemmProblem

LENGTHS = st.one_of(
    st.integers(1, 300),
    st.sampled_from((256, 512, 1000, 4096, 7168, 16384, 65536)),
    st.sampled_from((MAX_DIM, MAX_DIM - 1, 2**30)),
)
TILES = st.integers(1, 32).map(lambda blocks: blocks * 16)


@st.composite
def problems(draw: st.DrawFn) -> GemmProblem:
    dtype = draw(st.sampled_from(tuple(DType)))
    out_dtype = draw(st.sampled_from((dtype, DType.FP32)))
    return GemmProblem(
        m=draw(LENGTHS),
        k=draw(st.one_of(st.just(0), LENGTHS)),
        n=draw(LENGTHS),
        trans_a=draw(st.booleans()),
        trans_b=draw(st.booleans()),
        dtype=dtype,
        out_dtype=out_dtype,
        format_b=draw(st.sampled_from(tuple(Format))),
        op_impl_mode=draw(st.sampled_from(tuple(OpImplMode))),
    )


@st.composite
def plans(draw: st.DrawFn, problem: GemmProblem) -> KernelPlan:
    template = draw(st.sampled_from(tuple(Template)))
    plan = KernelPlan(
        template=template,
        base_m=draw(TILES),
        base_n=draw(TILES),
        base_k=draw(st.integers(1, 16)) * 16,
        step_k=draw(st.integers(1, 9)),
        l1_buffer_num=draw(st.sampled_from((2, 4))),
        resident_slabs=draw(st.integers(0, 5)),
        db_l0c=draw(st.integers(1, 2)),
        ub_db=draw(st.integers(1, 2)),
        l0c_output=draw(st.sampled_from(tuple(L0cOutput))),
        window_len=draw(st.integers(1, 40)),
        serpentine=draw(st.booleans()),
        m_tail_cnt=draw(st.integers(1, 4)),
        n_tail_cnt=draw(st.integers(1, 4)),
        single_core_k=problem.k,
        sk_order=draw(st.sampled_from(tuple(StreamKOrder))),
        used_core_num=draw(st.integers(1, 64)),
    )
    if template is Template.STREAM_K:
        pieces = draw(st.integers(1, 32))
        plan = replace(plan, single_core_k=max(1, ceil_div(problem.k, pieces)))
    return plan


@st.composite
def problems_with_plans(
    draw: st.DrawFn, *, count: int = 1
) -> tuple[GemmProblem, tuple[KernelPlan, ...]]:
    problem = draw(problems())
    return problem, tuple(draw(plans(problem)) for _ in range(count))
