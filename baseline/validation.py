"""What the operator rejects, in the operator's order (specification: host-tiling.md, section 1).

The order is that of the vendor's functions: shapes (formats, K of A and B, bias with K = 0,
ranges, bias length), dtypes, then the platform; all of it before a strategy is chosen. BASE with K
= 0 comes last: the original divides by zero there, which is an error of its own here.
"""

from typing import Final

from baseline.platform import Platform
from baseline.request import RequestedStrategy, TilingRequest
from hwmodel.dtypes import DType, Format
from hwmodel.errors import RejectedError
from hwmodel.problem import MAX_DIM

VALIDATE_SHAPE: Final = "ValidateShape"
VALIDATE_DTYPE: Final = "ValidateDtype"
GET_SHAPE_ATTRS_INFO: Final = "GetShapeAttrsInfo"
DO_OP_TILING: Final = "DoOpTiling"

ALLOWED_DTYPES: Final = frozenset(
    {
        (DType.FP16, DType.FP16, None),
        (DType.FP16, DType.FP16, DType.FP16),
        (DType.FP16, DType.FP16, DType.FP32),
        (DType.FP16, DType.FP32, None),
        (DType.FP16, DType.FP32, DType.FP16),
        (DType.FP16, DType.FP32, DType.FP32),
        (DType.FP32, DType.FP32, None),
        (DType.FP32, DType.FP32, DType.FP32),
        (DType.BF16, DType.BF16, None),
        (DType.BF16, DType.BF16, DType.FP32),
        (DType.BF16, DType.BF16, DType.BF16),
        (DType.BF16, DType.FP32, None),
        (DType.BF16, DType.FP32, DType.BF16),
        (DType.BF16, DType.FP32, DType.FP32),
    }
)
"""Dtypes of (A and B, C, bias) that the operator accepts."""


def validate(request: TilingRequest, platform: Platform) -> None:
    """Pass a request that the operator accepts.

    Raises:
        RejectedError: the first of the operator's checks that fails, with its code and function.
    """
    _validate_shape(request)
    if (request.dtype, request.out_dtype, request.bias_dtype) not in ALLOWED_DTYPES:
        bias = f", bias {request.bias_dtype}" if request.bias_dtype is not None else ""
        raise RejectedError(
            "dtype_combination",
            VALIDATE_DTYPE,
            f"A and B {request.dtype}, C {request.out_dtype}{bias}: the operator has no such"
            " kernel; C must have the type of A or be fp32, the bias that of A or be fp32",
        )
    if platform.aic_num == 0:
        raise RejectedError(
            "aic_num_zero",
            GET_SHAPE_ATTRS_INFO,
            "platform aic_num = 0: there are no cube cores; give at least 1",
        )
    if request.k == 0 and request.strategy is RequestedStrategy.BASE:
        raise RejectedError(
            "base_with_k_zero",
            DO_OP_TILING,
            "k = 0 with strategy base: that template cannot clear C; use strategy auto",
        )


def _validate_shape(request: TilingRequest) -> None:
    """The checks of `ValidateShape`, in their order."""
    if request.format_a is not Format.ND or request.format_c is not Format.ND:
        raise RejectedError(
            "format_unsupported",
            VALIDATE_SHAPE,
            f"formats of A and C are {request.format_a} and {request.format_c}: both must be ND",
        )
    if request.k_b is not None and request.k_b != request.k:
        raise RejectedError(
            "inner_dim_mismatch",
            VALIDATE_SHAPE,
            f"k of A is {request.k}, k of B is {request.k_b}: they must be equal",
        )
    has_bias = request.bias_dtype is not None
    if has_bias and request.k == 0:
        raise RejectedError(
            "bias_with_k_zero",
            VALIDATE_SHAPE,
            "k = 0 with a bias: the operator does not add a bias to nothing; leave the bias out",
        )
    for name, value, low in (("m", request.m, 1), ("n", request.n, 1), ("k", request.k, 0)):
        if not low <= value <= MAX_DIM:
            raise RejectedError(
                "dim_out_of_range",
                VALIDATE_SHAPE,
                f"{name} = {value}: must be in {low}..{MAX_DIM}",
            )
    if has_bias and request.bias_length is not None and request.bias_length != request.n:
        raise RejectedError(
            "bias_length",
            VALIDATE_SHAPE,
            f"the bias has {request.bias_length} elements, n is {request.n}: they must be equal",
        )
