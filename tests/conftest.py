"""What every test relies on."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Iterator[None]:
    """Ctrl-C works in the tests and in the programs they start.

    A shell starts background commands with SIGINT ignored, which children inherit; tests that
    interrupt a run would then see it finish.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
