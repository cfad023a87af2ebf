"""Lines and row ends against counting them one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodel.emulator.constants import span as exact_span
from hwmodel.emulator.geometry import count_straddles, line_bytes, span, unaligned_ends
from hwmodel.emulator.layout import C_ELEMENT_BYTES, LEN_N, PAR_SIZE

LINE = 128


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    st.integers(1, 200),
    st.integers(1, 700),
    st.one_of(st.integers(1, 700), st.sampled_from((64, 128, 256, 384))),
    st.integers(0, 2000),
)
def test_lines(rows: int, run: int, pitch: int, start: int) -> None:
    lines = 0
    for row in range(rows):
        first = start + row * pitch
        lines += (first + run - 1) // LINE - first // LINE + 1
    assert line_bytes(rows, run, pitch, start) == lines * LINE
    assert count_straddles(rows, run, pitch, start) == lines - rows * -(-run // LINE)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    st.integers(0, 300),
    st.integers(1, 200),
    st.one_of(st.integers(1, 300), st.sampled_from((64, 128, 192))),
    st.sampled_from((2, 4)),
    st.data(),
)
def test_unaligned_ends(m_off: int, rows: int, n: int, element: int, data: st.DataObject) -> None:
    n_off = data.draw(st.integers(0, n - 1))
    cols = data.draw(st.integers(1, n - n_off))
    par = np.zeros(PAR_SIZE, dtype=np.int64)
    par[C_ELEMENT_BYTES] = element
    par[LEN_N] = n
    runs = [((m_off + row) * n + n_off, cols) for row in range(rows)]
    if cols == n:
        runs = [(m_off * n, rows * n)]
    ends = [end for first, length in runs for end in (first, first + length)]
    expected = sum(end * element % LINE != 0 for end in ends)
    assert unaligned_ends(par, m_off, n_off, rows, cols) == expected


@pytest.mark.parametrize(("size", "rate"), [(1, 6553600), (512, 6553600), (10**9, 1), (3, 2**24)])
def test_span_rounds_up(size: int, rate: int) -> None:
    assert span(size, rate) == exact_span(size, rate)
