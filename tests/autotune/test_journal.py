import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autotune.journal import ShapeJournal
from hwmodel.errors import AutotuneError, RunDirectoryError
from studies.journal import JsonRecord

HEADER: JsonRecord = {"record": "search", "problem": {"m": 1}}
RECORDS: tuple[JsonRecord, ...] = ({"trial": 0, "us": 1.5}, {"trial": 1, "name": "é\n"})


def read(path: Path, header: JsonRecord = HEADER) -> list[JsonRecord]:
    with ShapeJournal(path, header) as journal:
        return list(journal.read())


def write(path: Path, *batches: tuple[JsonRecord, ...]) -> None:
    with ShapeJournal(path, HEADER) as journal:
        journal.read()
        for batch in batches:
            journal.append(batch)


def test_records_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    assert read(path) == []
    write(path, RECORDS[:1], RECORDS[1:])
    assert read(path) == list(RECORDS)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [HEADER, *RECORDS]


def test_a_batch_is_one_synced_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    real_write, real_sync = os.write, os.fsync

    def write_and_tell(descriptor: int, data: bytes) -> int:
        calls.append("write")
        return real_write(descriptor, data)

    def sync_and_tell(descriptor: int) -> None:
        calls.append("sync")
        real_sync(descriptor)

    monkeypatch.setattr(os, "write", write_and_tell)
    monkeypatch.setattr(os, "fsync", sync_and_tell)
    with ShapeJournal(tmp_path / "j", HEADER) as journal:
        journal.append(RECORDS)
        calls.clear()
        journal.append(RECORDS)
    assert calls == ["write", "sync"]


@settings(derandomize=True, deadline=None, max_examples=40)
@given(cut=st.integers(min_value=0, max_value=200))
def test_a_torn_end_is_dropped_and_overwritten(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("torn") / "journal.jsonl"
    write(path, RECORDS)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    left = read(path)
    assert left == list(RECORDS[: len(left)])
    write(path, RECORDS[len(left) :])
    assert path.read_bytes() == whole


def test_a_last_line_of_garbage_is_torn_too(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, RECORDS)
    with path.open("ab") as stream:
        stream.write(b"\0\0\xff\n")
    assert read(path) == list(RECORDS)
    assert path.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize("damage", [b"not json", b"[1]", b"\xff\xfe", b""])
def test_a_damaged_line_in_the_middle_is_an_error(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, RECORDS)
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], damage, lines[2], b""]))
    with pytest.raises(RunDirectoryError, match=r"journal\.jsonl:2: damaged line"):
        read(path)


def test_records_of_another_question_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, RECORDS)
    with pytest.raises(RunDirectoryError, match=":1: the journal of another search"):
        read(path, {**HEADER, "problem": {"m": 2}})


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    in_use = pytest.raises(RunDirectoryError, match="in use by another process")
    with ShapeJournal(path, HEADER), in_use:
        read(path)
    assert read(path) == []


def test_a_directory_in_the_way(tmp_path: Path) -> None:
    with pytest.raises(AutotuneError, match=r"cannot write .*: Is a directory"):
        read(tmp_path)


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with ShapeJournal(tmp_path / "j", HEADER) as journal:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(AutotuneError, match=r"cannot write .*j: No space left on device"):
            journal.append(RECORDS)


def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real_write(fd, bytes(data[:5])))
    path = tmp_path / "j"
    write(path, RECORDS)
    assert read(path) == list(RECORDS)


def test_file_systems_without_locks_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", unsupported)
    write(tmp_path / "j", RECORDS)
    assert read(tmp_path / "j") == list(RECORDS)
