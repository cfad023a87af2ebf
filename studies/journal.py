"""What a search writes down as it goes, and finds again when it is resumed."""

from collections.abc import Mapping, Sequence
from typing import Protocol

JsonRecord = Mapping[str, object]
"""One line of a journal."""

CERTIFICATE_KIND = "certificate"
"""`kind` of the one record of an exhaustive search."""
EVALUATION_KIND = "evaluation"
"""`kind` of the record of one evaluation of a sampling strategy."""


class Journal(Protocol):
    """Append-only record of one shape's finished evaluations; the run directory implements it."""

    def read(self) -> Sequence[JsonRecord]:
        """Records of an earlier, interrupted search, oldest first; empty on a fresh start."""

    def append(self, records: Sequence[JsonRecord]) -> None:
        """Write records durably (one synced write per call)."""


def read_by_key(journal: Journal, kind: str) -> dict[str, JsonRecord]:
    """The journal's records of one kind by their key; records of another shape are ignored."""
    found: dict[str, JsonRecord] = {}
    for record in journal.read():
        key = record.get("key")
        if record.get("kind") == kind and isinstance(key, str):
            found[key] = record
    return found
