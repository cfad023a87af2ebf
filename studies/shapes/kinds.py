"""The quick list: one shape for each kind of work the operator treats differently.

Sizes come from real models where a kind occurs in them. A test asserts that the baseline takes the
path that the tag names.
"""

from dataclasses import dataclass
from enum import StrEnum

from hwmodel.dtypes import DType
from hwmodel.problem import GemmProblem
from studies.shape_rows import ShapeRow


class Kind(StrEnum):
    """What is special about a shape; the tag of its row."""

    GEMV = "gemv"
    SMALL = "small"
    STREAM_K = "stream_k"
    COMPUTE_BOUND = "compute_bound"
    READ_BOUND = "read_bound"
    OUTPUT_HEAVY = "output_heavy"
    A_FULL = "a_full"
    B_FULL = "b_full"
    FIXPIPE = "fixpipe"
    RAGGED = "ragged"
    FP32 = "fp32"
    TRANSPOSED = "transposed"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Example:
    """The shape that stands for a kind, and its name in tables."""

    kind: Kind
    name: str
    problem: GemmProblem


_EXAMPLES = (
    _Example(
        kind=Kind.GEMV,
        name="one token through Llama-3.1-8B qkv",
        problem=GemmProblem(m=1, k=4096, n=6144),
    ),
    _Example(
        kind=Kind.SMALL,
        name="128 tokens through a small layer",
        problem=GemmProblem(m=128, k=512, n=512),
    ),
    _Example(
        kind=Kind.STREAM_K,
        name="16 tokens through DeepSeek-V3 mla_q_a",
        problem=GemmProblem(m=16, k=7168, n=1536),
    ),
    _Example(
        kind=Kind.COMPUTE_BOUND,
        name="square of 4096",
        problem=GemmProblem(m=4096, k=4096, n=4096),
    ),
    _Example(
        kind=Kind.READ_BOUND,
        name="64 tokens through DeepSeek-V3 lm_head tp8",
        problem=GemmProblem(m=64, k=7168, n=16160),
    ),
    _Example(
        kind=Kind.OUTPUT_HEAVY,
        name="short K into a square of 8192",
        problem=GemmProblem(m=8192, k=128, n=8192),
    ),
    _Example(
        kind=Kind.A_FULL,
        name="16 tokens through Llama-3.1-8B gate_up",
        problem=GemmProblem(m=16, k=4096, n=28672),
    ),
    _Example(
        kind=Kind.B_FULL,
        name="many rows through a small weight",
        problem=GemmProblem(m=32768, k=512, n=256),
    ),
    _Example(
        kind=Kind.FIXPIPE,
        name="short K into rows of 4112",
        problem=GemmProblem(m=4096, k=128, n=4112),
    ),
    _Example(
        kind=Kind.RAGGED,
        name="three primes",
        problem=GemmProblem(m=1021, k=2039, n=4093),
    ),
    _Example(
        kind=Kind.FP32,
        name="square of 2048 in fp32",
        problem=GemmProblem(m=2048, k=2048, n=2048, dtype=DType.FP32, out_dtype=DType.FP32),
    ),
    _Example(
        kind=Kind.TRANSPOSED,
        name="Llama-3.1-8B qkv dW of 4096 tokens",
        problem=GemmProblem(m=6144, k=4096, n=4096, trans_a=True, trans_b=False),
    ),
)


def build_quick_rows() -> tuple[ShapeRow, ...]:
    """12 shapes, one of each kind, tagged with it."""
    return tuple(
        ShapeRow(index=index, name=example.name, problem=example.problem, tag=example.kind.value)
        for index, example in enumerate(_EXAMPLES)
    )
