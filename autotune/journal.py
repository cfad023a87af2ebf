"""The journal of one problem's search: append-only JSON lines that a killed program leaves usable.

The first line names what the records belong to (problem, hardware, options, model), so that no
number is ever served to another question. Each later line is a record of the search. A batch of
records is one write and one sync. Whatever a crash tears is at the end of the file: an unreadable
last line is dropped and overwritten; an unreadable line before it is damage, and an error.
"""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from autotune.atomic_write import write_error
from autotune.file_lock import require_lock
from hwmodel.errors import RunDirectoryError
from studies.journal import JsonRecord

_FILE_MODE = 0o644


class ShapeJournal:
    """Journal of one search; a context manager that holds the file open and locked.

    Implements `studies.search.Journal`.

    Args:
        path: the file; its directory exists.
        header: the first line: what decides every record of this journal.

    Raises:
        RunDirectoryError: on entry, another process is writing; on reading, the journal is damaged
            or another question's.
        AutotuneError: the file cannot be written (permissions, full disk).
    """

    def __init__(self, path: Path, header: JsonRecord) -> None:
        """Remember what to open; nothing is touched before the `with` block."""
        self._path = path
        self._header = json.loads(_encode(header))
        self._descriptor = -1

    def __enter__(self) -> "ShapeJournal":
        """Open (or create) and lock the file."""
        try:
            self._descriptor = os.open(
                self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, _FILE_MODE
            )
        except OSError as error:
            raise write_error(self._path, error) from error
        try:
            require_lock(self._descriptor, f"journal {self._path}")
        except RunDirectoryError:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file; closing releases the lock."""
        self._close()

    def read(self) -> Sequence[JsonRecord]:
        """Records of an earlier search, oldest first; a torn end of the file is cut off."""
        records, intact_bytes = self._parse(self._path.read_bytes())
        if intact_bytes < os.fstat(self._descriptor).st_size:
            os.ftruncate(self._descriptor, intact_bytes)
        if not records:
            return ()
        if records[0] != self._header:
            raise RunDirectoryError(
                f"{self._path}:1: the journal of another search (problem, hardware, options "
                "or model differ); start afresh with --new"
            )
        return records[1:]

    def append(self, records: Sequence[JsonRecord]) -> None:
        """Write the records with one synced write, after the header when the file is new."""
        is_new = os.fstat(self._descriptor).st_size == 0
        lines = [_encode(record) for record in ((self._header, *records) if is_new else records)]
        pending = memoryview("".join(f"{line}\n" for line in lines).encode())
        try:
            while pending:
                pending = pending[os.write(self._descriptor, pending) :]
            os.fsync(self._descriptor)
            if is_new:
                _sync_directory(self._path.parent)
        except OSError as error:
            raise write_error(self._path, error) from error

    def _parse(self, content: bytes) -> tuple[list[JsonRecord], int]:
        """Records of the intact lines, and how many bytes those lines take."""
        *lines, torn_end = content.split(b"\n")
        records: list[JsonRecord] = []
        intact_bytes = 0
        for number, line in enumerate(lines, start=1):
            record = _decode(line)
            if record is None:
                if number == len(lines) and not torn_end:
                    break
                raise RunDirectoryError(
                    f"{self._path}:{number}: damaged line, not a JSON object; remove the file "
                    "(its problem is then searched again) or start afresh with --new"
                )
            records.append(record)
            intact_bytes += len(line) + 1
        return records, intact_bytes

    def _close(self) -> None:
        os.close(self._descriptor)
        self._descriptor = -1


def _encode(record: JsonRecord) -> str:
    return json.dumps(record, separators=(",", ":"), allow_nan=False)


def _decode(line: bytes) -> JsonRecord | None:
    """The record of a line, None when the line is torn or damaged."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _sync_directory(directory: Path) -> None:
    """Make a new file's entry durable, where directories can be synced."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
