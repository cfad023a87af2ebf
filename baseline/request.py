"""The request as it reaches the operator, before validation (host-tiling.md, section 1)."""

from dataclasses import dataclass
from enum import StrEnum

from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.problem import GemmProblem

AVOID_TENSOR_API = 0x80
"""Value of `offset_x` that makes the operator keep off the tensor API."""


class RequestedStrategy(StrEnum):
    """Let the operator choose, or force the older template that it no longer chooses itself."""

    AUTO = "auto"
    BASE = "base"


@dataclass(frozen=True, slots=True, kw_only=True)
class TilingRequest:
    """A matrix multiplication that may still be one the operator rejects.

    Attributes:
        m: rows of A and C.
        k: columns of A.
        n: columns of B and C.
        trans_a: A is stored K x M.
        trans_b: B is stored N x K.
        dtype: element type of A and B.
        out_dtype: element type of C.
        bias_dtype: element type of the bias, None without one.
        format_a: storage format of A.
        format_b: storage format of B. In NZ its storage shape is taken to match m, k and n.
        format_c: storage format of C.
        op_impl_mode: the operator's precision mode.
        deterministic_level: 0..3.
        k_b: rows of B, None for the same as k.
        bias_length: elements of the bias, None for n; without a bias it means nothing.
        offset_x: the operator's attribute; 0x80 avoids the tensor API.
        strategy: the operator's choice, or BASE on request.
    """

    m: int
    k: int
    n: int
    trans_a: bool = False
    trans_b: bool = True
    dtype: DType = DType.BF16
    out_dtype: DType = DType.BF16
    bias_dtype: DType | None = None
    format_a: Format = Format.ND
    format_b: Format = Format.ND
    format_c: Format = Format.ND
    op_impl_mode: OpImplMode = OpImplMode.DEFAULT
    deterministic_level: int = 0
    k_b: int | None = None
    bias_length: int | None = None
    offset_x: int = 0
    strategy: RequestedStrategy = RequestedStrategy.AUTO

    @property
    def allows_tensor_api(self) -> bool:
        """Kernels may be built on the tensor API."""
        return self.offset_x != AVOID_TENSOR_API

    @staticmethod
    def from_problem(
        problem: GemmProblem,
        *,
        strategy: RequestedStrategy = RequestedStrategy.AUTO,
        offset_x: int = 0,
    ) -> "TilingRequest":
        """The request that a problem stands for."""
        return TilingRequest(
            m=problem.m,
            k=problem.k,
            n=problem.n,
            trans_a=problem.trans_a,
            trans_b=problem.trans_b,
            dtype=problem.dtype,
            out_dtype=problem.out_dtype,
            bias_dtype=problem.bias_dtype,
            format_b=problem.format_b,
            op_impl_mode=problem.op_impl_mode,
            deterministic_level=problem.deterministic_level,
            offset_x=offset_x,
            strategy=strategy,
        )

    def to_problem(self) -> GemmProblem:
        """The problem of a request that passed the validation.

        Raises:
            InputError: the dimensions are out of range (the request was not validated).
        """
        return GemmProblem(
            m=self.m,
            k=self.k,
            n=self.n,
            trans_a=self.trans_a,
            trans_b=self.trans_b,
            dtype=self.dtype,
            out_dtype=self.out_dtype,
            bias_dtype=self.bias_dtype,
            format_b=self.format_b,
            op_impl_mode=self.op_impl_mode,
            deterministic_level=self.deterministic_level,
        )
