"""Files that appear whole or not at all: written beside their place, synced, then renamed."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from hwmodel.errors import AutotuneError

_FILE_MODE = 0o644
"""Mode of a finished file; temporary files are private until then."""


@contextmanager
def open_atomically(path: Path) -> Iterator[BinaryIO]:
    """A binary file that replaces `path` when the block ends; when it raises, nothing happens.

    Raises:
        AutotuneError: the disk is full, the directory is not writable, a directory is in the way.
    """
    try:
        descriptor, temporary_name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise write_error(path, error) from error
    temporary = Path(temporary_name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            os.fchmod(stream.fileno(), _FILE_MODE)
        temporary.replace(path)
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def write_text_atomically(path: Path, text: str) -> None:
    """Write `text` as UTF-8, with its line ends as they are.

    Raises:
        AutotuneError: the file cannot be written.
    """
    with open_atomically(path) as stream:
        stream.write(text.encode())


def write_error(path: Path, error: OSError) -> AutotuneError:
    """The error that says in one line what could not be written, and why."""
    return AutotuneError(f"cannot write {path}: {error.strerror or error}")
