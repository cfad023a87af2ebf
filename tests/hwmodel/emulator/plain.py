"""The engine once more, as plain Python: what its lines do is then visible to coverage."""

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
        f"hwmodel.emulator.{name}"
        for name in (
            "geometry",
            "item_walk",
            "items",
            "memory",
            "compute",
            "request",
            "loads",
            "stores",
            "setup",
            "engine",
            "vector_setup",
            "vector_engine",
        )
    ),
)


@contextmanager
def plain_modules() -> Iterator[dict[str, ModuleType]]:
    """Fresh copies of the engine's modules, in which nothing is compiled."""
    kept = {name: sys.modules.pop(name) for name in COMPILED_MODULES if name in sys.modules}
    parents = {name: sys.modules[name.rpartition(".")[0]] for name in COMPILED_MODULES}
    config: Any = numba.config
    was_disabled = config.DISABLE_JIT
    config.DISABLE_JIT = True
    try:
        yield {name.rpartition(".")[2]: importlib.import_module(name) for name in COMPILED_MODULES}
    finally:
        config.DISABLE_JIT = was_disabled
        for name in COMPILED_MODULES:
            del sys.modules[name]
        sys.modules.update(kept)
        for name, module in kept.items():
            setattr(parents[name], name.rpartition(".")[2], module)
