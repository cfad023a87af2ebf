"""`autotune baseline`: the operator's own decision for one problem, or for many in JSON lines."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Final

from autotune.cli.arguments import add_hardware_arguments
from autotune.cli.batch import run_batch
from hwmodel.errors import EXIT_DONE, InputError

if TYPE_CHECKING:
    from baseline.request import TilingRequest
    from hwmodel.spec import HardwareSpec

NAME = "baseline"
HELP = "show the operator's own tiling decision for a GEMM, and the steps that led to it"

_NO_BIAS: Final = "none"
_DTYPES: Final = ("fp16", "bf16", "fp32")
_MODES: Final = {"default": 0x0, "high-precision": 0x4, "hf32": 0x40}
_LEVELS: Final = range(4)

_SHAPE_OPTIONS: Final = (
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
    "format",
)
"""Options that a batch has no use for: every line is a whole request."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; None means not given, so that `--batch` can refuse them."""
    shape = parser.add_argument_group("one problem: C[m, n] = A[m, k] @ B[k, n] (+ bias[n])")
    _add_matrix_arguments(shape)
    _add_operator_arguments(shape)
    parser.add_argument(
        "--batch",
        metavar="FILE|-",
        help="answer requests in JSON lines instead, one a line; - reads standard input",
    )
    add_hardware_arguments(parser)
    parser.add_argument("--format", choices=("table", "json"), help="(default: table)")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show the steps that led to the decision, and defects of the operator that it meets",
    )


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


def _add_operator_arguments(shape: argparse._ArgumentGroup) -> None:
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


def run(args: argparse.Namespace) -> int:
    """Print the decision, or the answers of a batch.

    Raises:
        InputError: options that do not go together, an unreadable file, or a problem that the
            operator rejects.
    """
    from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware, require_dav_3510

    if args.batch is not None:
        _refuse_shape_options(args)
    spec = load_hardware(args.hw or DEFAULT_HARDWARE, base=args.hw_base)
    require_dav_3510(spec, bool(args.as_950))
    if args.batch is not None:
        return _run_batch(args.batch, spec)
    return _run_single(args, spec)


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


def _refuse_shape_options(args: argparse.Namespace) -> None:
    given = [name for name in _SHAPE_OPTIONS if getattr(args, name) is not None]
    if args.explain:
        given.append("explain")
    if given:
        option = "--" + given[0].replace("_", "-")
        raise InputError(f"{option} does not go with --batch: each line says it all; leave it out")


def _run_batch(name: str, spec: "HardwareSpec") -> int:
    from baseline.batch import answer_line
    from baseline.platform import Platform

    platform = Platform.from_spec(spec)
    return run_batch(name, lambda line: answer_line(line, platform))


def _run_single(args: argparse.Namespace, spec: "HardwareSpec") -> int:
    """Decide one problem and print it."""
    from autotune.cli.baseline_text import build_document, format_decision
    from baseline.decision import decide_request
    from baseline.platform import Platform

    request = _build_request(args)
    decision = decide_request(request, Platform.from_spec(spec), explain=args.explain)
    if args.format == "json":
        document = build_document(request, spec, decision, explain=args.explain)
        text = json.dumps(document, indent=2)
    else:
        text = format_decision(request, spec, decision, explain=args.explain)
    sys.stdout.write(text + "\n")
    return EXIT_DONE


def _build_request(args: argparse.Namespace) -> "TilingRequest":
    """The request that the options describe."""
    from baseline.request import RequestedStrategy, TilingRequest
    from hwmodel.dtypes import DType, Format, OpImplMode
    from hwmodel.problem import MAX_DIM

    for name, low in (("m", 1), ("k", 0), ("n", 1)):
        value = getattr(args, name)
        if value is None:
            raise InputError(f"--{name} is missing; give --m, --k and --n, or --batch")
        if not low <= value <= MAX_DIM:
            raise InputError(f"--{name} {value}: must be in {low}..{MAX_DIM}")
    dtype = DType(args.dtype or "bf16")
    bias = args.bias or _NO_BIAS
    return TilingRequest(
        m=args.m,
        k=args.k,
        n=args.n,
        trans_a=bool(args.trans_a),
        trans_b=args.trans_b is not False,
        dtype=dtype,
        out_dtype=DType(args.out_dtype) if args.out_dtype else dtype,
        bias_dtype=None if bias == _NO_BIAS else DType(bias),
        format_b=Format(args.format_b or "ND"),
        op_impl_mode=OpImplMode(args.mode or 0),
        deterministic_level=args.deterministic or 0,
        offset_x=args.offset_x or 0,
        strategy=RequestedStrategy(args.strategy or "auto"),
    )
