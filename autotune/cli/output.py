"""stdout whose failures are told from those of other files."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO, TypeVar

from hwmodel.errors import AutotuneError

T = TypeVar("T")


class Output:
    """A text stream that reports in one line when it takes no more.

    Args:
        stream: the stream that does the work.
    """

    def __init__(self, stream: TextIO) -> None:
        """Stand before `stream`."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Write `text`; returns the number of characters.

        Raises:
            AutotuneError: the disk is full, the device broken.
            BrokenPipeError: the reader has gone.
        """
        return self._guard(lambda: self._stream.write(text))

    def flush(self) -> None:
        """Flush.

        Raises:
            AutotuneError: the disk is full, the device broken.
            BrokenPipeError: the reader has gone.
        """
        self._guard(self._stream.flush)

    def __getattr__(self, name: str) -> object:
        """Everything else is the stream's."""
        return getattr(self._stream, name)

    def _guard(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except OSError as error:
            discard(self._stream)
            if isinstance(error, BrokenPipeError):
                raise
            raise AutotuneError(f"cannot write stdout: {error.strerror}") from error


def discard(stream: TextIO) -> None:
    """Send what the stream still holds nowhere, or the interpreter would complain when it ends."""
    with suppress(OSError):  # no descriptor where a caller has replaced the stream
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def escape_for(stream: TextIO, text: str) -> str:
    """The text with what the stream's encoding lacks written as escapes."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
