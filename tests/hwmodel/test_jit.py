"""The compiler's wrapper: same results without it, no stale code, no need to write files."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import hwmodel.jit
from hwmodel.emulator.engine import emulate
from hwmodel.jit import jit, needs_compiling
from hwmodel.plan import Template
from tests.hwmodel.emulator.random_cases import make_case

SCRIPT = """
from hwmodel.emulator.engine import emulate, needs_compiling, simulate
from hwmodel.plan import Template
from tests.hwmodel.emulator.random_cases import make_case
assert not hasattr(simulate, "py_func")
assert not needs_compiling()
print(emulate(*make_case(Template.STREAM_K, 3)).makespan_ticks)
"""

CALLER = """
from hwmodel.jit import jit, needs_compiling
from jitted_callee import callee
@jit
def caller(value):
    return callee(value)
"""

CALLEE = """
from hwmodel.jit import inline
@inline
def callee(value):
    return value + {}
"""


def test_disabled_by_the_environment() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(run.stdout) == emulate(*make_case(Template.STREAM_K, 3)).makespan_ticks


def test_without_a_place_for_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_function = hwmodel.jit._njit

    def refuse(*, cache: bool = False, **options: object) -> Callable[..., Any]:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        decorator: Callable[..., Any] = compile_function(**options)
        return decorator

    monkeypatch.setattr(hwmodel.jit, "_njit", refuse)

    @jit
    def double(value: int) -> int:
        return 2 * value

    assert needs_compiling(double)
    assert double(21) == 42


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "jitted_caller.py").write_text(CALLER, encoding="utf-8")
    yield tmp_path
    _forget()


def _forget() -> None:
    for name in ("jitted_caller", "jitted_callee"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()


def _load(directory: Path, increment: int, age: float) -> ModuleType:
    """The caller's module, with a callee written `age` seconds ago."""
    _forget()
    source = directory / "jitted_callee.py"
    source.write_text(CALLEE.format(increment), encoding="utf-8")
    now = (directory / "jitted_caller.py").stat().st_mtime
    os.utime(source, (now - age, now - age))
    return importlib.import_module("jitted_caller")


def test_a_changed_callee_is_compiled_anew(modules: Path) -> None:
    first = _load(modules, 1, age=1000)
    assert needs_compiling(first.caller)
    assert first.caller(1) == 2
    again = _load(modules, 1, age=1000)
    assert not needs_compiling(again.caller)
    assert again.caller(1) == 2
    assert sum(again.caller.stats.cache_hits.values()) == 1
    # Written after the code was cached.
    assert _load(modules, 10, age=-1000).caller(1) == 11
