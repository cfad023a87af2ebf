"""Options that describe one problem and how the operator is to compute it."""

import argparse
from typing import TYPE_CHECKING, Any, Final

from hwmodel.errors import InputError

if TYPE_CHECKING:
    from baseline.request import TilingRequest
    from hwmodel.problem import GemmProblem

_NO_BIAS: Final = "none"
_DTYPES: Final = ("fp16", "bf16", "fp32")
_MODES: Final = {"default": 0x0, "high-precision": 0x4, "hf32": 0x40}
_LEVELS: Final = range(4)

PROBLEM_OPTIONS: Final = (
    "m",
    "k",
    "n",
    "trans_a",
    "trans_b",
    "dtype",
    "out_dtype",
    "bias",
    "format_b",
    "mode",
    "deterministic",
    "strategy",
    "offset_x",
)
"""Names of all options of this module."""


def add_problem_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; None means not given."""
    shape = add_shape_arguments(parser)
    _add_request_arguments(shape)


def add_shape_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Declare the options of the problem alone, without how the operator is asked to choose."""
    shape = parser.add_argument_group("one problem: C[m, n] = A[m, k] @ B[k, n] (+ bias[n])")
    _add_matrix_arguments(shape)
    _add_mode_arguments(shape)
    return shape


def build_request(args: argparse.Namespace, *, otherwise: str = "") -> "TilingRequest":
    """The request that the options describe.

    Args:
        args: the parsed options.
        otherwise: what to give instead of the sizes, for the message when one is missing.

    Raises:
        InputError: a size is missing or out of range.
    """
    from baseline.request import RequestedStrategy, TilingRequest

    return TilingRequest(
        **_read_problem(args, otherwise),
        offset_x=args.offset_x or 0,
        strategy=RequestedStrategy(args.strategy or "auto"),
    )


def build_problem(args: argparse.Namespace) -> "GemmProblem":
    """The problem that the options of `add_shape_arguments` describe.

    Raises:
        InputError: a size is missing or out of range.
    """
    from hwmodel.problem import GemmProblem

    return GemmProblem(**_read_problem(args, ""))


def _read_problem(args: argparse.Namespace, otherwise: str) -> dict[str, Any]:
    """Sizes, storage, types and modes, by the names that problem and request share."""
    from hwmodel.dtypes import DType, Format, OpImplMode
    from hwmodel.problem import MAX_DIM

    for name, low in (("m", 1), ("k", 0), ("n", 1)):
        value = getattr(args, name)
        if value is None:
            raise InputError(f"--{name} is missing; give --m, --k and --n{otherwise}")
        if not low <= value <= MAX_DIM:
            raise InputError(f"--{name} {value}: must be in {low}..{MAX_DIM}")
    dtype = DType(args.dtype or "bf16")
    bias = args.bias or _NO_BIAS
    return {
        "m": args.m,
        "k": args.k,
        "n": args.n,
        "trans_a": bool(args.trans_a),
        "trans_b": args.trans_b is not False,
        "dtype": dtype,
        "out_dtype": DType(args.out_dtype) if args.out_dtype else dtype,
        "bias_dtype": None if bias == _NO_BIAS else DType(bias),
        "format_b": Format(args.format_b or "ND"),
        "op_impl_mode": OpImplMode(args.mode or 0),
        "deterministic_level": args.deterministic or 0,
    }


def _add_matrix_arguments(shape: argparse._ArgumentGroup) -> None:
    """Sizes, storage and types of the matrices."""
    shape.add_argument("--m", type=int, help="rows of A and C")
    shape.add_argument("--k", type=int, help="columns of A, rows of B")
    shape.add_argument("--n", type=int, help="columns of B and C")
    shape.add_argument(
        "--trans-a",
        action=argparse.BooleanOptionalAction,
        help="A is stored K x M (default: no)",
    )
    shape.add_argument(
        "--trans-b",
        action=argparse.BooleanOptionalAction,
        help="B is stored N x K, as a linear layer's weight (default: yes)",
    )
    shape.add_argument("--dtype", choices=_DTYPES, help="type of A and B (default: bf16)")
    shape.add_argument("--out-dtype", choices=_DTYPES, help="type of C (default: that of A)")
    shape.add_argument(
        "--bias", choices=(_NO_BIAS, *_DTYPES), help="type of the bias (default: none)"
    )
    shape.add_argument("--format-b", choices=("ND", "NZ"), help="format of B (default: ND)")


def _add_mode_arguments(shape: argparse._ArgumentGroup) -> None:
    """How the operator is to compute."""
    shape.add_argument(
        "--mode",
        type=_parse_mode,
        metavar="{default,high-precision,hf32}",
        help="op_impl_mode, by name or as the number 0, 4 or 64 (default: default)",
    )
    shape.add_argument(
        "--deterministic", type=int, choices=_LEVELS, help="determinism level (default: 0)"
    )


def _add_request_arguments(shape: argparse._ArgumentGroup) -> None:
    """How the operator is asked to choose."""
    shape.add_argument(
        "--strategy",
        choices=("auto", "base"),
        help="the operator's choice, or its older template (default: auto)",
    )
    shape.add_argument(
        "--offset-x",
        type=int,
        metavar="N",
        help="the operator's attribute; 128 keeps it off the tensor API (default: 0)",
    )


def _parse_mode(text: str) -> int:
    """The operator's mode by name or number."""
    if text in _MODES:
        return _MODES[text]
    try:
        mode = int(text, 0)
    except ValueError:
        mode = -1
    if mode not in _MODES.values():
        raise argparse.ArgumentTypeError(
            f"{text!r}: must be {', '.join(_MODES)}, or the number 0, 4 or 64"
        )
    return mode
