"""The problem: one matrix multiplication C[m, n] = A[m, k] @ B[k, n] (+ bias[n])."""

from dataclasses import dataclass

from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.errors import InputError

MAX_DIM = 2**31 - 1
"""Largest dimension the operator accepts (the vendor's shape validation)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmProblem:
    """One GEMM as the operator receives it; m, k, n are elements.

    The defaults are those of a linear layer in bf16: A stored M x K, the weight B stored N x K.

    Attributes:
        m: rows of A and C.
        k: columns of A, rows of B; may be 0 (C is then cleared).
        n: columns of B and C.
        trans_a: A is stored K x M.
        trans_b: B is stored N x K.
        dtype: element type of A and B.
        out_dtype: element type of C.
        bias_dtype: element type of the bias of length n, None without a bias.
        format_b: storage format of B; A and C are always ND.
        op_impl_mode: the operator's precision mode.
        deterministic_level: 0..3; stream-K is refused above 1.
    """

    m: int
    k: int
    n: int
    trans_a: bool = False
    trans_b: bool = True
    dtype: DType = DType.BF16
    out_dtype: DType = DType.BF16
    bias_dtype: DType | None = None
    format_b: Format = Format.ND
    op_impl_mode: OpImplMode = OpImplMode.DEFAULT
    deterministic_level: int = 0

    def __post_init__(self) -> None:
        """Reject dimensions that no operator accepts.

        Raises:
            InputError: m or n outside [1, 2^31-1], or k outside [0, 2^31-1].
        """
        if not (1 <= self.m <= MAX_DIM and 1 <= self.n <= MAX_DIM and 0 <= self.k <= MAX_DIM):
            for name, value, low in (("m", self.m, 1), ("k", self.k, 0), ("n", self.n, 1)):
                if not low <= value <= MAX_DIM:
                    raise InputError(f"{name} = {value}: must be in {low}..{MAX_DIM}")

    @property
    def is_hf32(self) -> bool:
        """fp32 inputs are multiplied as HF32."""
        return self.op_impl_mode == OpImplMode.HF32

    @property
    def is_plain_fp32(self) -> bool:
        """fp32 inputs in full precision, which run at a fraction of the cube's rate."""
        return self.dtype is DType.FP32 and not self.is_hf32

    @property
    def bias_bytes(self) -> int:
        """Bytes of one bias element, 0 without a bias."""
        return self.bias_dtype.size_bytes if self.bias_dtype is not None else 0

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        return self.m * self.k * self.n

    @property
    def a_total_bytes(self) -> int:
        """Bytes of A."""
        return self.m * self.k * self.dtype.size_bytes

    @property
    def b_total_bytes(self) -> int:
        """Bytes of B without fractal padding."""
        return self.k * self.n * self.dtype.size_bytes

    @property
    def c_total_bytes(self) -> int:
        """Bytes of C."""
        return self.m * self.n * self.out_dtype.size_bytes

    def label(self) -> str:
        """Short text for tables and figures, M x K x N as the CSV orders them."""
        return f"{self.m}x{self.k}x{self.n}"
