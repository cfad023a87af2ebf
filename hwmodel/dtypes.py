"""Element types, storage formats and operator modes of a matrix multiplication."""

from enum import IntEnum, StrEnum

C0_BYTES = 32
"""Bytes of the innermost block of the fractal layouts (spec: C0 = 32 / element size)."""


class DType(StrEnum):
    """Element type of A, B, C or the bias."""

    FP16 = "fp16"
    BF16 = "bf16"
    FP32 = "fp32"

    @property
    def size_bytes(self) -> int:
        """Bytes of one element."""
        return 4 if self is DType.FP32 else 2

    @property
    def c0_elements(self) -> int:
        """Elements of one fractal row (16 for 16-bit types, 8 for fp32)."""
        return C0_BYTES // self.size_bytes


class Format(StrEnum):
    """Storage format of an operand: plain row-major (ND) or fractal blocks (NZ, FRACTAL_NZ)."""

    ND = "ND"
    NZ = "NZ"


class OpImplMode(IntEnum):
    """The operator's `op_impl_mode` attribute."""

    DEFAULT = 0x0
    HIGH_PRECISION = 0x4
    HF32 = 0x40
