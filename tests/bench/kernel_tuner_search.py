"""Searches of a recorded space by kernel_tuner, for `tests.bench.frozen_search`.

    PYTHON -m tests.bench.kernel_tuner_search REQUEST

Run by an interpreter that has kernel_tuner, which this project does not need. REQUEST is a JSON
file: `cache` (a kernel_tuner cache file), `parameters`, `restrictions`, `strategy`, `budget`,
`seeds`. Prints a JSON object: the version, for each seed the costs in the order of evaluation, and
the seconds of CPU time of all searches.
"""

import contextlib
import importlib
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def search(request: dict[str, Any], seed: int) -> list[float]:
    """Costs of the distinct points in the order in which kernel_tuner evaluates them."""
    kernel_tuner: Any = importlib.import_module("kernel_tuner")
    random.seed(seed)
    np.random.seed(seed)
    with contextlib.redirect_stdout(sys.stderr):
        results, _ = kernel_tuner.tune_kernel(
            "gemm",
            "__global__ void gemm() {}",
            tuple(request["problem_size"]),
            [],
            request["parameters"],
            restrictions=request["restrictions"],
            strategy=request["strategy"],
            strategy_options={"max_fevals": request["budget"]},
            simulation_mode=True,
            cache=request["cache"],
        )
    distinct = {tuple(row[name] for name in request["parameters"]): row["time"] for row in results}
    return list(distinct.values())


def main(path: str) -> int:
    """Answer a request."""
    metadata = importlib.import_module("importlib.metadata")
    request = json.loads(Path(path).read_text())
    started = time.process_time()
    costs = [search(request, seed) for seed in request["seeds"]]
    answer = {
        "version": metadata.version("kernel_tuner"),
        "costs": costs,
        "seconds": time.process_time() - started,
    }
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
