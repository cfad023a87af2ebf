"""The pipeline model once more, as plain Python: what its lines do is then visible to coverage."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numba

COMPILED_MODULES = (
    "hwmodel.jit",
    *(
        f"hwmodel.cost.{name}"
        for name in (
            "whole",
            "store",
            "straddle",
            "tile",
            "tile_round",
            "residency",
            "stream_k",
            "walk_case",
            "walk_rounds",
            "walk_kernel",
            "resident_kernel",
            "vector_pipe",
            "vector_kernel",
            "plan_costs",
            "plan_lanes",
            "tile_bound",
            "walk_bound",
            "resident_bound",
            "lower_bound",
            "explanation",
            "pipeline",
        )
    ),
)


@contextmanager
def plain_pipeline() -> Iterator[ModuleType]:
    """A fresh copy of the module `pipeline`, in which nothing is compiled."""
    kept = {name: sys.modules.pop(name) for name in COMPILED_MODULES if name in sys.modules}
    parents = {name: sys.modules[name.rpartition(".")[0]] for name in COMPILED_MODULES}
    config: Any = numba.config
    was_disabled = config.DISABLE_JIT
    config.DISABLE_JIT = True
    try:
        modules = [importlib.import_module(name) for name in COMPILED_MODULES]
        yield modules[-1]
    finally:
        config.DISABLE_JIT = was_disabled
        for name in COMPILED_MODULES:
            del sys.modules[name]
        sys.modules.update(kept)
        for name, module in kept.items():
            setattr(parents[name], name.rpartition(".")[2], module)
