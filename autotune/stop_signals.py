"""Ctrl-C and SIGTERM as one orderly stop."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stoppable() -> Iterator[Callable[[], None]]:
    """Inside the block the first SIGINT or SIGTERM raises KeyboardInterrupt; others are ignored.

    So an impatient second Ctrl-C does not disturb the clean-up. A signal that the caller had
    ignored (a job in the background) stays ignored, and outside the main thread, where handlers
    cannot be set, nothing changes.

    Yields:
        a function that raises KeyboardInterrupt when a stop was asked for but a library swallowed
        the exception.
    """
    is_stopping = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_stopping
        if not is_stopping:
            is_stopping = True
            raise KeyboardInterrupt

    def check() -> None:
        if is_stopping:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield check
        return
    earlier = {number: signal.getsignal(number) for number in _STOPPING_SIGNALS}
    taken = [number for number, handler in earlier.items() if handler is not signal.SIG_IGN]
    for number in taken:
        signal.signal(number, stop)
    try:
        yield check
    finally:
        for number in taken:
            signal.signal(number, earlier[number])
