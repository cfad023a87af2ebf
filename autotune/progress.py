"""Progress on stderr: a bar with the time left on a terminal, a line now and then elsewhere."""

import time
from types import TracebackType
from typing import NoReturn, TextIO

from tqdm import tqdm

_PLAIN_LINES = 10
"""Lines of a whole run when stderr is not a terminal, at most."""

_LEAST_INTERVAL_S = 2.0
"""Seconds between two such lines, at least; only the last one may follow sooner."""


class Progress:
    """Counts what is finished and shows how much is left; a context manager.

    Neither form uses colour, so NO_COLOR changes nothing.

    Args:
        total: problems to search, or whatever is counted.
        stream: where to show it, usually stderr.
        unit: what is counted, in the singular.
        verb: what is done with it, in the past tense.
    """

    def __init__(
        self, total: int, stream: TextIO, *, unit: str = "problem", verb: str = "searched"
    ) -> None:
        """Start the clock."""
        self._unit = unit
        self._verb = verb
        self._total = total
        self._stream = stream
        self._done = 0
        self._start_s = self._last_line_s = time.monotonic()
        self._bar: tqdm[NoReturn] | None = (
            tqdm(total=total, file=stream, desc="searching", unit=unit, dynamic_ncols=True)
            if stream.isatty()
            else None
        )

    def __enter__(self) -> "Progress":
        """Nothing to do: the clock runs from construction."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the terminal on a new line."""
        if self._bar is not None:
            self._bar.close()

    def advance(self, count: int = 1) -> None:
        """So many more are finished."""
        earlier_tenths = self._done * _PLAIN_LINES // self._total
        self._done += count
        if self._bar is not None:
            self._bar.update(count)
        elif self._done * _PLAIN_LINES // self._total > earlier_tenths:
            self._write_plain_line()

    def _write_plain_line(self) -> None:
        now_s = time.monotonic()
        if self._done < self._total and now_s - self._last_line_s < _LEAST_INTERVAL_S:
            return
        self._last_line_s = now_s
        self._stream.write(self._plain_line(now_s - self._start_s))
        self._stream.flush()

    def _plain_line(self, elapsed_s: float) -> str:
        left_s = elapsed_s / self._done * (self._total - self._done)
        elapsed, left = tqdm.format_interval(elapsed_s), tqdm.format_interval(left_s)
        return (
            f"{self._verb} {self._done} of {self._total} {self._unit}s in {elapsed}, "
            f"about {left} left\n"
        )
