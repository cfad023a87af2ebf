"""Platforms and hypothesis strategies of the host tiling's tests."""

from typing import Any

from hypothesis import strategies as st

from baseline.platform import MAX_BUFFER_BYTES, MIN_BUFFER_BYTES, Platform
from baseline.request import AVOID_TENSOR_API, RequestedStrategy, TilingRequest
from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.problem import MAX_DIM

ASCEND_950PR = Platform(
    aic_num=32,
    aiv_num=64,
    ai_core_cnt=32,
    clock_mhz=1650,
    ddr_rate=31,
    l2_rate=100,
    l0a_bytes=65536,
    l0b_bytes=65536,
    l0c_bytes=262144,
    l1_bytes=524288,
    ub_bytes=253952,
    l2_bytes=134217728,
    bias_table_bytes=4096,
)

buffers = st.one_of(
    st.sampled_from([MIN_BUFFER_BYTES, 65536, 131072, 524288, MAX_BUFFER_BYTES]),
    st.integers(MIN_BUFFER_BYTES, 2**20),
)
core_counts = st.one_of(st.sampled_from([1, 2, 3, 8, 24, 32, 64]), st.integers(1, 2**16))
platforms = st.one_of(
    st.just(ASCEND_950PR),
    st.builds(
        Platform,
        aic_num=core_counts,
        aiv_num=st.integers(0, 128),
        ai_core_cnt=core_counts,
        clock_mhz=st.integers(1, 4000),
        ddr_rate=st.integers(1, 200),
        l2_rate=st.integers(1, 400),
        l0a_bytes=buffers,
        l0b_bytes=buffers,
        l0c_bytes=st.one_of(buffers, st.just(65536)),
        l1_bytes=buffers,
        ub_bytes=buffers,
        l2_bytes=st.integers(1, 2**40),
        bias_table_bytes=st.integers(0, 8192),
    ),
)
dims = st.one_of(
    st.integers(1, 300), st.integers(1, 20000), st.integers(1, MAX_DIM), st.just(MAX_DIM)
)
inner_dims = st.one_of(st.just(0), dims)
any_ints = st.one_of(inner_dims, st.integers(-5, 2**70))


def requests(sizes: st.SearchStrategy[int], inner: st.SearchStrategy[int]) -> Any:
    """Requests with every combination of types and modes, allowed or not."""
    return st.builds(
        TilingRequest,
        m=sizes,
        k=inner,
        n=sizes,
        trans_a=st.booleans(),
        trans_b=st.booleans(),
        dtype=st.sampled_from(DType),
        out_dtype=st.sampled_from(DType),
        bias_dtype=st.one_of(st.none(), st.sampled_from(DType)),
        format_a=st.sampled_from([Format.ND, Format.ND, Format.ND, Format.NZ]),
        format_b=st.sampled_from(Format),
        op_impl_mode=st.sampled_from(OpImplMode),
        deterministic_level=st.integers(0, 3),
        offset_x=st.sampled_from([0, AVOID_TENSOR_API]),
        strategy=st.sampled_from(RequestedStrategy),
    )
