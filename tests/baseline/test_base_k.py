from dataclasses import replace

import pytest

from baseline.base_k import choose_base_k
from hwmodel.dtypes import DType
from hwmodel.problem import GemmProblem
from tests.baseline.platforms import ASCEND_950PR

LONG = GemmProblem(m=256, k=5000, n=256)
START = 77


@pytest.mark.parametrize(
    ("problem", "base", "l0a_bytes", "expected"),
    [
        (replace(LONG, k=40), 256, 65536, 48),  # all of K fits
        (LONG, 80, 65536, 128),  # 204 columns: whole slices of 256 bytes
        (replace(LONG, trans_a=True, trans_b=False), 80, 65536, 192),  # K is no contiguous axis
        (LONG, 256, 65536, 64),
        (LONG, 512, 65536, 32),
        (replace(LONG, dtype=DType.FP32, out_dtype=DType.FP32), 512, 65536, 16),
        (LONG, 2048, 65536, START),  # 8 columns: none of the vendor's choices
    ],
)
def test_base_k(problem: GemmProblem, base: int, l0a_bytes: int, expected: int) -> None:
    platform = replace(ASCEND_950PR, l0a_bytes=l0a_bytes)
    assert choose_base_k(problem, platform, 16, base, START) == expected
    assert choose_base_k(problem, platform, base, 16, START) == expected
