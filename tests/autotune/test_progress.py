import io
import itertools
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


def plain_lines(total: int, seconds_each: float, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    clock = itertools.count()
    monkeypatch.setattr("autotune.progress.time.monotonic", lambda: seconds_each * next(clock))
    stream = io.StringIO()
    with Progress(total, stream) as counted:
        for _ in range(total):
            counted.advance()
    return stream.getvalue().splitlines()


def test_a_line_now_and_then_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = plain_lines(200, 60.0, monkeypatch)
    assert len(lines) == 10
    assert lines[0] == "searched 20 of 200 problems in 01:00, about 09:00 left"
    assert lines[-1].startswith("searched 200 of 200")


def test_few_problems_give_a_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(plain_lines(3, 60.0, monkeypatch)) == 3


def test_quick_runs_give_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plain_lines(100, 0.1, monkeypatch) == [
        "searched 100 of 100 problems in 00:01, about 00:00 left"
    ]


def test_a_bar_with_the_time_left_on_a_terminal() -> None:
    stream = Terminal()
    with Progress(2, stream) as bar:
        bar.advance()
        bar.advance()
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


def test_other_units_are_counted_in_steps() -> None:
    stream = io.StringIO()
    with Progress(20, stream, unit="plan", verb="evaluated") as progress:
        progress.advance(10)
        progress.advance(10)
    assert stream.getvalue().startswith("evaluated 20 of 20 plans in 00:0")
