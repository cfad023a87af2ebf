"""The golden host tilings: requests and results of the compiled original operator."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.problem import GemmProblem

GOLDEN_TILINGS = Path(__file__).parent / "golden" / "host_tiling.jsonl.gz"


@cache
def load_golden_tilings() -> tuple[dict[str, Any], ...]:
    """All cases, each {"in": request, "out": result}."""
    with gzip.open(GOLDEN_TILINGS, "rt", encoding="utf-8") as lines:
        return tuple(json.loads(line) for line in lines)


def golden_problem(request: dict[str, Any]) -> GemmProblem:
    """The problem of a golden request that the operator accepts."""
    bias = request["biasDtype"]
    return GemmProblem(
        m=request["m"],
        k=request["k"],
        n=request["n"],
        trans_a=bool(request["transA"]),
        trans_b=bool(request["transB"]),
        dtype=DType(request["dtypeA"]),
        out_dtype=DType(request["dtypeC"]),
        bias_dtype=None if bias == "none" else DType(bias),
        format_b=Format(request["formatB"]),
        op_impl_mode=OpImplMode(request["opImplMode"]),
        deterministic_level=request["deterministicLevel"],
    )
