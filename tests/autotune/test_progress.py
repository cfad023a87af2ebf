import io
import os
import signal
import threading
from contextlib import suppress

import pytest

from autotune.progress import Progress
from autotune.stop_signals import stoppable


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_now_and_then_without_a_terminal() -> None:
    stream = io.StringIO()
    with Progress(200, stream) as progress:
        for _ in range(200):
            progress.advance()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("searched 20 of 200 problems in 00:00, about 00:00 left")
    assert lines[-1].startswith("searched 200 of 200")


def test_few_problems_give_a_line_each() -> None:
    stream = io.StringIO()
    with Progress(3, stream) as progress:
        for _ in range(3):
            progress.advance()
    assert len(stream.getvalue().splitlines()) == 3


def test_a_bar_with_the_time_left_on_a_terminal() -> None:
    stream = Terminal()
    with Progress(2, stream) as progress:
        progress.advance()
        progress.advance()
    text = stream.getvalue()
    assert "searching" in text
    assert "2/2" in text
    assert "\x1b[3" not in text, "no colour"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_stops_and_the_second_does_not_disturb(number: signal.Signals) -> None:
    earlier = signal.getsignal(number)
    cleaned_up: list[bool] = []

    def work() -> None:
        with stoppable() as check:
            check()
            try:
                os.kill(os.getpid(), number)
            finally:
                os.kill(os.getpid(), number)
                cleaned_up.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert cleaned_up
    assert signal.getsignal(number) is earlier


def test_a_swallowed_stop_is_found_by_the_check() -> None:
    swallowed: list[bool] = []

    def work() -> None:
        with stoppable() as check:
            with suppress(BaseException):
                os.kill(os.getpid(), signal.SIGINT)
            swallowed.append(True)
            check()

    with pytest.raises(KeyboardInterrupt):
        work()
    assert swallowed


def test_ignored_signals_stay_ignored() -> None:
    earlier = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stoppable() as check:
            os.kill(os.getpid(), signal.SIGINT)
            check()
    finally:
        signal.signal(signal.SIGINT, earlier)


def test_other_threads_leave_the_handlers_alone() -> None:
    seen: list[object] = []

    def work() -> None:
        with stoppable() as check:
            check()
            seen.append(signal.getsignal(signal.SIGINT))

    earlier = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [earlier]
