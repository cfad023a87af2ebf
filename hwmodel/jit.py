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


def _drop_stale_cache(compiled: Any, function: Callable[..., object]) -> None:
    """Forget compiled code older than any module beside the function's.

    Numba notices changes of the function's own module only, not of those it calls.
    """
    stats = getattr(compiled, "stats", None)
    if stats is None:
        return
    source = Path(function.__code__.co_filename)
    newest = max((path.stat().st_mtime for path in source.parent.glob("*.py")), default=0.0)
    pattern = f"{source.stem}.{function.__qualname__}-*.nbi"
    for index in Path(stats.cache_path).glob(pattern):
        if index.stat().st_mtime < newest:
            index.unlink(missing_ok=True)
