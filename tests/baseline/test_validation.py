from dataclasses import replace

import pytest

from baseline.platform import Platform
from baseline.request import RequestedStrategy, TilingRequest
from baseline.validation import ALLOWED_DTYPES, validate
from hwmodel.dtypes import DType, Format
from hwmodel.errors import InputError, RejectedError
from hwmodel.problem import MAX_DIM
from hwmodel.spec_io import load_hardware
from tests.baseline.platforms import ASCEND_950PR

PLAIN = TilingRequest(m=64, k=32, n=48)


def reject(request: TilingRequest, platform: Platform = ASCEND_950PR) -> tuple[str, str]:
    with pytest.raises(RejectedError) as caught:
        validate(request, platform)
    assert "\n" not in str(caught.value)
    return caught.value.code, caught.value.where


@pytest.mark.parametrize(
    ("request_", "code", "where"),
    [
        (replace(PLAIN, format_a=Format.NZ), "format_unsupported", "ValidateShape"),
        (replace(PLAIN, format_c=Format.NZ), "format_unsupported", "ValidateShape"),
        (replace(PLAIN, k_b=33), "inner_dim_mismatch", "ValidateShape"),
        (replace(PLAIN, k=0, bias_dtype=DType.BF16), "bias_with_k_zero", "ValidateShape"),
        (replace(PLAIN, m=0), "dim_out_of_range", "ValidateShape"),
        (replace(PLAIN, m=MAX_DIM + 1), "dim_out_of_range", "ValidateShape"),
        (replace(PLAIN, n=0), "dim_out_of_range", "ValidateShape"),
        (replace(PLAIN, n=-7), "dim_out_of_range", "ValidateShape"),
        (replace(PLAIN, k=-1), "dim_out_of_range", "ValidateShape"),
        (replace(PLAIN, k=10**30), "dim_out_of_range", "ValidateShape"),
        (replace(PLAIN, bias_dtype=DType.BF16, bias_length=47), "bias_length", "ValidateShape"),
        (replace(PLAIN, dtype=DType.FP32), "dtype_combination", "ValidateDtype"),
        (replace(PLAIN, bias_dtype=DType.FP16), "dtype_combination", "ValidateDtype"),
        (
            replace(PLAIN, k=0, strategy=RequestedStrategy.BASE),
            "base_with_k_zero",
            "DoOpTiling",
        ),
    ],
)
def test_each_check_has_its_code_and_function(
    request_: TilingRequest, code: str, where: str
) -> None:
    assert reject(request_) == (code, where)


def test_no_cube_cores() -> None:
    platform = replace(ASCEND_950PR, aic_num=0)
    assert reject(PLAIN, platform) == ("aic_num_zero", "GetShapeAttrsInfo")


def test_the_first_failing_check_counts() -> None:
    request = replace(
        PLAIN,
        m=0,
        k=0,
        format_a=Format.NZ,
        k_b=1,
        bias_dtype=DType.FP16,
        bias_length=3,
        strategy=RequestedStrategy.BASE,
    )
    platform = replace(ASCEND_950PR, aic_num=0)
    repairs: list[tuple[str, dict[str, object]]] = [
        ("format_unsupported", {"format_a": Format.ND}),
        ("inner_dim_mismatch", {"k_b": None}),
        ("bias_with_k_zero", {"k": MAX_DIM + 1}),
        ("dim_out_of_range", {"m": 1, "k": 8}),
        ("bias_length", {"bias_length": 48}),
        ("dtype_combination", {"bias_dtype": None, "k": 0}),
    ]
    for code, repair in repairs:
        assert reject(request, platform)[0] == code
        request = replace(request, **repair)  # type: ignore[arg-type]
    assert reject(request, platform)[0] == "aic_num_zero"
    assert reject(request)[0] == "base_with_k_zero"


def test_accepted_requests() -> None:
    validate(PLAIN, ASCEND_950PR)
    validate(replace(PLAIN, k_b=32, bias_length=1), ASCEND_950PR)
    validate(replace(PLAIN, k=0), ASCEND_950PR)
    validate(replace(PLAIN, m=MAX_DIM, k=MAX_DIM, n=MAX_DIM), ASCEND_950PR)
    for dtype, out_dtype, bias in ALLOWED_DTYPES:
        request = replace(PLAIN, dtype=dtype, out_dtype=out_dtype, bias_dtype=bias)
        validate(request, ASCEND_950PR)
    assert len(ALLOWED_DTYPES) == 14


def test_platform_of_the_default_spec() -> None:
    assert Platform.from_spec(load_hardware("ascend950pr-9589")) == ASCEND_950PR


@pytest.mark.parametrize(
    ("name", "value"),
    [("aic_num", -1), ("l0c_bytes", 2**40), ("ub_bytes", 100), ("ddr_rate", 0), ("l2_bytes", 0)],
)
def test_impossible_platform_figures(name: str, value: int) -> None:
    with pytest.raises(InputError, match=f"platform figure {name} = {value}"):
        replace(ASCEND_950PR, **{name: value})
