"""jit: compiles a function of integers and arrays with numba, once for all runs of the program.

`NUMBA_DISABLE_JIT=1` runs the same functions in plain Python. Compiled code is kept in numba's
cache beside the sources, or in the user's cache directory when that is read-only; where neither
can be written every process compiles anew.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """The compiled function; the function itself when numba is disabled.

    Integer divisions by zero are not checked for.
    """
    try:
        compiled: Any = numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:
        # No directory can hold the cache, e.g. a read-only file system without a home.
        compiled = numba.njit(error_model="numpy")(function)
    else:
        _drop_stale_cache(compiled, function)
    return cast(Callable[P, R], compiled)


def _drop_stale_cache(compiled: Any, function: Callable[..., object]) -> None:
    """Forget compiled code older than any module beside the function's.

    Numba notices changes of the function's own module only, not of those it calls.
    """
    stats = getattr(compiled, "stats", None)
    if stats is None:
        return
    code = function.__code__
    source = Path(code.co_filename)
    newest = max((path.stat().st_mtime for path in source.parent.glob("*.py")), default=0.0)
    pattern = f"{source.stem}.{function.__qualname__}-*.nbi"
    for index in Path(stats.cache_path).glob(pattern):
        if index.stat().st_mtime < newest:
            index.unlink(missing_ok=True)
