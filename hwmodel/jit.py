"""jit and inline: compile functions of integers and arrays with numba, once for all runs.

`NUMBA_DISABLE_JIT=1` runs the same functions in plain Python. Compiled code is kept in numba's
cache beside the sources, or in the user's cache directory when that is read-only; where neither
can be written every process compiles anew.

The functions may not create arrays. That makes them several times faster: numba then leaves out
the counting of references, which would keep LLVM from optimising across inlined calls.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_njit: Any = numba.njit

_OPTIONS = {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
"""No check for divisions by zero, no arrays created (hence no reference counts), and no wrapper
for callers in C."""


def jit(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The compiled function, for calls from Python; the function itself without numba's JIT."""
    try:
        compiled: Any = _njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:
        # No directory can hold the cache, e.g. a read-only file system without a home.
        compiled = _njit(**_OPTIONS)(function)
    else:
        _drop_stale_cache(compiled, function)
    return cast(Callable[Parameters, Result], compiled)


def inline(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """As `jit`, for small functions that compiled ones call: merged into each caller.

    Worth it where a call passes many arrays: each is nine machine words.
    """
    compiled: Any = _njit(forceinline=True, **_OPTIONS)(function)
    return cast(Callable[Parameters, Result], compiled)


def needs_compiling(function: Callable[..., object]) -> bool:
    """Whether the first call of a function made by `jit` will take the time to compile it."""
    plain = getattr(function, "py_func", None)
    return plain is not None and not _find_cached(function, plain)


def _find_cached(compiled: Any, function: Callable[..., object]) -> list[Path]:
    """Index files of the function's compiled code; none when nothing is kept."""
    directory = getattr(getattr(compiled, "stats", None), "cache_path", None)
    if directory is None:
        return []
    module = Path(function.__code__.co_filename).stem
    return list(Path(directory).glob(f"{module}.{function.__qualname__}-*.nbi"))


def _drop_stale_cache(compiled: Any, function: Callable[..., object]) -> None:
    """Forget compiled code older than any module beside the function's.

    Numba notices changes of the function's own module only, not of those it calls.
    """
    sources = Path(function.__code__.co_filename).parent.glob("*.py")
    newest = max((path.stat().st_mtime for path in sources), default=0.0)
    for index in _find_cached(compiled, function):
        if index.stat().st_mtime < newest:
            index.unlink(missing_ok=True)
