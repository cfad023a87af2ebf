"""`--batch FILE|-` of the commands that answer JSON lines."""

import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

from hwmodel.errors import EXIT_DONE, InputError

STDIN = "-"


def run_batch(name: str, answer: Callable[[bytes], str]) -> int:
    """Answer every line that is not blank, in order, before the next one is read.

    Args:
        name: a file of JSON lines, or `-`.
        answer: the answer to a line, without the line end; it never raises.

    Returns:
        the exit code.

    Raises:
        InputError: the file, or standard input, cannot be read.
    """
    from baseline.json_lines import read_lines

    with _open_batch(name) as stream:
        lines = read_lines(stream)
        while True:
            try:
                line = next(lines, None)
            except OSError as error:
                raise _read_error(name, error) from error
            if line is None:
                return EXIT_DONE
            sys.stdout.write(answer(line) + "\n")
            if name == STDIN:
                # A program that asks and waits gets each answer when it is ready.
                sys.stdout.flush()


def _open_batch(name: str) -> "nullcontext[BinaryIO] | BinaryIO":
    if not name:
        raise InputError("--batch: the name is empty; give a file of JSON lines, or -")
    if name == STDIN:
        if sys.stdin is None:
            raise InputError("--batch -: standard input is closed; give a file of JSON lines")
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise _read_error(name, error) from error


def _read_error(name: str, error: OSError) -> InputError:
    return InputError(f"{name}: {error.strerror}; give a file of JSON lines, or -")
