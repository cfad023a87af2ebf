"""Measured rows: the bundled file, the locked quarter, and one-line errors for bad files."""

from pathlib import Path

import pytest

from hwmodel.dtypes import DType
from hwmodel.errors import InputError
from hwmodel.plan import Template
from hwmodel.validation.measured import (
    COLUMNS,
    compute_rows_digest,
    is_locked_group,
    load_measured,
)

VALUES = {
    "m": "64",
    "k": "4096",
    "n": "1152",
    "trans_a": "0",
    "trans_b": "0",
    "dtype": "bf16",
    "format_b": "ND",
    "kernel": "stream_k",
    "used_core_num": "32",
    "m_l1": "64",
    "n_l1": "240",
    "k_l1": "256",
    "base_m": "64",
    "base_n": "240",
    "base_k": "64",
    "single_core_k": "683",
    "m_tail_cnt": "1",
    "n_tail_cnt": "1",
    "l1_buffer_num": "2",
    "db_l0c": "1",
    "ub_db": "1",
    "is_hf32": "0",
    "l2_cache_disable": "0",
    "duration_us": "13.244",
}


def write_csv(path: Path, **changes: str) -> Path:
    values = VALUES | changes
    path.write_text(f"{','.join(values)}\n{','.join(values.values())}\n", encoding="utf-8")
    return path


def test_bundled_rows() -> None:
    rows = load_measured()
    assert len(rows) == 99
    assert len({row.group for row in rows}) == 47
    assert [row.index for row in rows] == list(range(99))
    assert {row.plan.template for row in rows} == {Template.ASWT, Template.STREAM_K}
    assert all(row.problem.dtype is DType.BF16 and not row.problem.trans_b for row in rows)


def test_first_row() -> None:
    row = load_measured()[0]
    assert (row.problem.m, row.problem.k, row.problem.n) == (28672, 4096, 7168)
    plan = row.plan
    assert (plan.base_m, plan.base_n, plan.base_k, plan.step_k) == (256, 256, 64, 4)
    assert row.duration_us == 3911.138


def test_a_quarter_of_the_groups_is_locked() -> None:
    rows = load_measured()
    locked = {row.group for row in rows if row.locked}
    assert len(locked) == 16
    assert sum(row.locked for row in rows) == 31
    assert locked == {row.group for row in rows if is_locked_group(*row.group)}
    # The hash of the specification, computed elsewhere: sha256("4096,2304") mod 4 is not 0.
    assert not is_locked_group(4096, 2304)


def test_the_digest_depends_on_the_rows() -> None:
    rows = load_measured()
    assert compute_rows_digest(rows) == compute_rows_digest(load_measured())
    assert compute_rows_digest(rows) != compute_rows_digest(rows[1:])


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "own.csv", dtype="fp32", is_hf32="1", kernel="a_full")
    (row,) = load_measured(path)
    assert row.problem.is_hf32
    assert row.plan.template is Template.A_FULL


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("m", "x", "line 2, column m: 'x' is not a non-negative integer"),
        ("m", "0", "line 2: m = 0"),
        ("base_k", "0", "line 2, column base_k: is 0"),
        ("dtype", "int8", "line 2, column dtype: 'int8' is none of"),
        ("kernel", "vector", "line 2, column kernel: 'vector' is none of"),
        ("duration_us", "soon", "line 2, column duration_us: 'soon' is not a number"),
        ("duration_us", "nan", "column duration_us: 'nan' is not between 0.01 us and an hour"),
        ("duration_us", "0.0099", "column duration_us: '0.0099' is not between"),
        ("duration_us", "3.6001e9", "column duration_us: '3.6001e9' is not between"),
        ("duration_us", "inf", "column duration_us: 'inf' is not between"),
        ("duration_us", "-1", "column duration_us: '-1' is not between"),
        ("m", "2147483648", "column m: '2147483648' is out of range; it must be at most"),
        ("m", "9" * 5000, f"column m: '{'9' * 40}...' is out of range"),
        ("duration_us", "", "column duration_us"),
        ("n", "", "column n"),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, column: str, value: str, message: str) -> None:
    path = write_csv(tmp_path / "bad.csv", **{column: value})
    with pytest.raises(InputError, match=message):
        load_measured(path)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    path.write_text("m,k,n\n1,2,3\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 1: column trans_a is missing"):
        load_measured(path)
    assert "trans_a" in COLUMNS


def test_a_file_without_rows_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text(",".join(VALUES) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="holds no rows"):
        load_measured(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "own.csv: the file is empty; start it with a header of the columns m, k, n"),
        (b"\n \r\n", "own.csv: the file is empty"),
        (b"m,k\n\x00", "own.csv, line 2: binary data"),
        (b"m,k\r\n1,2\r\n\xff", "own.csv, line 3: not UTF-8 text"),
        (b'm,"k\n', "own.csv, line 2: this is no CSV"),
    ],
)
def test_a_file_that_is_no_table_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "own.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        load_measured(path)
    assert "\n" not in str(caught.value)


def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: there is no such file"):
        load_measured(tmp_path / "none.csv")
    with pytest.raises(InputError, match="this is a directory; name a CSV file in it"):
        load_measured(tmp_path)


def test_surplus_cells_are_refused(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "own.csv", duration_us="13,244")
    with pytest.raises(InputError, match="line 2: more cells than the header names columns"):
        load_measured(path)


def test_the_shortest_and_the_longest_time_are_taken(tmp_path: Path) -> None:
    for text in ("0.01", "3.6e9"):
        (row,) = load_measured(write_csv(tmp_path / "own.csv", duration_us=text))
        assert row.duration_us == float(text)


def test_only_bundled_rows_are_locked(tmp_path: Path) -> None:
    locked = next(row for row in load_measured() if row.locked)
    k, n = locked.group
    assert is_locked_group(k, n)
    (row,) = load_measured(write_csv(tmp_path / "own.csv", k=str(k), n=str(n)))
    assert not row.locked
