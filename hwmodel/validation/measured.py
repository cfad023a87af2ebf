"""Measured kernels: the rows of a CSV of timed MatMulV3 launches, with the tiling that ran.

The bundled file holds 99 kernels timed on an Ascend950PR_9589 (bf16, A and B not transposed, ND,
no bias), by an earlier release of the operator; the plan columns are therefore the only plan an
evaluator may use. Source: the specification (hardware.md, "Measured kernels").

A quarter of the bundled (k, n) groups is locked: no constant is fitted to those rows, and they are
judged pooled, never one by one. Rows of another file are nobody's to keep back.
"""

import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import TypeVar

from hwmodel.csv_lines import read_lines, show_path
from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.errors import InputError
from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import MAX_DIM, GemmProblem
from hwmodel.vendor_tiling import plan_from_tiling_data, to_vendor_names

BUNDLED_FILE = "ascend950pr_matmul.csv"
"""Name of the bundled measurements, a file of this package."""

MEASURED_SOC = "Ascend950PR_9589"
"""Chip of the bundled measurements (specification: hardware.md, "Measured kernels")."""

MEASURED_HARDWARE = "ascend950pr-9589"
"""Name of that chip's bundled hardware file."""

LOCKED_GROUPS_MODULUS = 4
"""One (k, n) group in four is locked (specification: hardware.md, "Measured kernels")."""

INTEGER_COLUMNS = (
    "m",
    "k",
    "n",
    "trans_a",
    "trans_b",
    "used_core_num",
    "m_l1",
    "n_l1",
    "k_l1",
    "base_m",
    "base_n",
    "base_k",
    "single_core_k",
    "m_tail_cnt",
    "n_tail_cnt",
    "l1_buffer_num",
    "db_l0c",
    "ub_db",
    "is_hf32",
    "l2_cache_disable",
)
"""Columns that hold a non-negative integer."""

LEAST_DURATION_US = 0.01
"""Shortest time that a row may state: a hundredth of a kernel launch, so surely a wrong unit."""

MOST_DURATION_US = 3.6e9
"""Longest time that a row may state: an hour."""

COLUMNS = (*INTEGER_COLUMNS, "dtype", "format_b", "kernel", "duration_us")
"""Every column that a file of measurements must have, in any order."""

MAX_SHOWN_CHARS = 40
"""A message quotes at most this much of a cell, so that it stays one readable line."""

MEASURED_KERNELS = (Template.ASWT, Template.A_FULL, Template.B_FULL, Template.STREAM_K)
"""Kernels that a row may name: those whose tiling data a plan can be read from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRow:
    """One timed kernel.

    Attributes:
        index: 0-based position among the rows of the file.
        problem: the GEMM.
        plan: the tiling that ran.
        duration_us: measured time, microseconds.
        locked: belongs to the quarter of the bundled rows that no constant is fitted to.
    """

    index: int
    problem: GemmProblem
    plan: KernelPlan
    duration_us: float
    locked: bool

    @property
    def group(self) -> tuple[int, int]:
        """(k, n): rows that share it behave alike, so validation never splits them."""
        return self.problem.k, self.problem.n


def is_locked_group(k: int, n: int) -> bool:
    """Whether the rows of this (k, n) are held back from every fit."""
    digest = hashlib.sha256(f"{k},{n}".encode()).hexdigest()
    return int(digest, 16) % LOCKED_GROUPS_MODULUS == 0


def compute_rows_digest(rows: Sequence[MeasuredRow]) -> str:
    """sha256 of the rows' shapes, tiles and times, in their order."""
    lines = (
        f"{problem.m},{problem.k},{problem.n},{plan.template},{plan.base_m},{plan.base_n},"
        f"{plan.base_k},{plan.step_k},{plan.single_core_k},{row.duration_us}"
        for row, problem, plan in ((row, row.problem, row.plan) for row in rows)
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def load_measured(path: Path | None = None) -> tuple[MeasuredRow, ...]:
    """Rows of a CSV file, in its order; the bundled measurements without `path`.

    Raises:
        InputError: the file cannot be read, lacks a column, or a value is wrong; names file, line
        and column.
    """
    if path is not None:
        return _parse(read_lines(path), show_path(path), keeps_back=False)
    source = resources.files("hwmodel.validation").joinpath(BUNDLED_FILE)
    lines = source.read_text(encoding="utf-8").splitlines()
    return _parse(lines, BUNDLED_FILE, keeps_back=True)


def _parse(lines: Sequence[str], name: str, *, keeps_back: bool) -> tuple[MeasuredRow, ...]:
    """Rows of the CSV lines.

    Args:
        lines: the file.
        name: stands for the file in messages.
        keeps_back: the quarter of the groups is locked.
    """
    if not any(line.strip() for line in lines):
        raise InputError(
            f"{name}: the file is empty; start it with a header of the columns"
            f" {', '.join(COLUMNS)}"
        )
    reader = csv.DictReader(lines, restval="", strict=True)
    rows: list[MeasuredRow] = []
    try:
        _check_header(name, reader.fieldnames or ())
        for fields in reader:
            where = f"{name}, line {reader.line_num}"
            rows.append(_parse_line(where, fields, len(rows), keeps_back=keeps_back))
    except csv.Error as error:
        raise InputError(
            f"{name}, line {reader.reader.line_num}: this is no CSV ({error});"
            " save the table as CSV"
        ) from None
    if not rows:
        raise InputError(f"{name}: holds no rows; add at least one measured kernel")
    return tuple(rows)


def _check_header(name: str, header: Sequence[str]) -> None:
    """Check that no column is missing.

    Raises:
        InputError: one is.
    """
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        raise InputError(f"{name}, line 1: column {missing[0]} is missing; add it to the header")


def _parse_line(
    where: str, fields: Mapping[str | None, str], index: int, *, keeps_back: bool
) -> MeasuredRow:
    """One row of the file; `where` names file and line in messages.

    Raises:
        InputError: it cannot be used.
    """
    if None in fields:  # that is where DictReader puts what has no column
        raise InputError(
            f"{where}: more cells than the header names columns; remove the surplus or quote text"
            " that holds commas"
        )
    cells = {column: text for column, text in fields.items() if column is not None}
    try:
        return _parse_row(cells, index, keeps_back=keeps_back)
    except _CellError as error:
        raise InputError(f"{where}, column {error.column}: {error}") from None
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


class _CellError(Exception):
    """A cell that cannot be used; becomes an InputError with its place."""

    def __init__(self, column: str, message: str) -> None:
        super().__init__(message)
        self.column = column


_Choice = TypeVar("_Choice", bound=StrEnum)


def _quote(text: str) -> str:
    """The cell in quotes for a message, cut when it is long."""
    return repr(text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "...")


def _parse_choice(fields: Mapping[str, str], column: str, choices: Sequence[_Choice]) -> _Choice:
    """The member that the cell names."""
    for choice in choices:
        if fields[column] == choice.value:
            return choice
    allowed = ", ".join(choice.value for choice in choices)
    raise _CellError(column, f"{_quote(fields[column])} is none of {allowed}")


def _parse_integer(fields: Mapping[str, str], column: str) -> int:
    """The cell as a non-negative integer."""
    text = fields[column].strip()
    if not (text.isascii() and text.isdigit()):
        raise _CellError(column, f"{_quote(text)} is not a non-negative integer")
    # The number of digits goes first: Python refuses to convert texts of thousands of digits.
    if len(text.lstrip("0")) > len(str(MAX_DIM)) or int(text) > MAX_DIM:
        raise _CellError(column, f"{_quote(text)} is out of range; it must be at most {MAX_DIM}")
    return int(text)


def _parse_duration(fields: Mapping[str, str]) -> float:
    """The measured time, within what a kernel can take."""
    text = fields["duration_us"].strip()
    try:
        value = float(text)
    except ValueError:
        message = f"{_quote(text)} is not a number of microseconds"
        raise _CellError("duration_us", message) from None
    if not LEAST_DURATION_US <= value <= MOST_DURATION_US:
        raise _CellError(
            "duration_us",
            f"{_quote(text)} is not between {LEAST_DURATION_US} us and an hour"
            f" ({MOST_DURATION_US:.0f} us); the unit is microseconds",
        )
    return value


def _parse_row(fields: Mapping[str, str], index: int, *, keeps_back: bool) -> MeasuredRow:
    """One row of the file."""
    cells = {column: _parse_integer(fields, column) for column in INTEGER_COLUMNS}
    for column in ("base_m", "base_n", "base_k", "k_l1", "used_core_num"):
        if cells[column] == 0:
            raise _CellError(column, "is 0; it must be at least 1")
    dtype = _parse_choice(fields, "dtype", tuple(DType))
    problem = GemmProblem(
        m=cells["m"],
        k=cells["k"],
        n=cells["n"],
        trans_a=bool(cells["trans_a"]),
        trans_b=bool(cells["trans_b"]),
        dtype=dtype,
        out_dtype=dtype,
        format_b=_parse_choice(fields, "format_b", tuple(Format)),
        op_impl_mode=OpImplMode.HF32 if cells["is_hf32"] else OpImplMode.DEFAULT,
    )
    template = _parse_choice(fields, "kernel", MEASURED_KERNELS)
    return MeasuredRow(
        index=index,
        problem=problem,
        plan=plan_from_tiling_data(problem, template, to_vendor_names(cells)),
        duration_us=_parse_duration(fields),
        locked=keeps_back and is_locked_group(problem.k, problem.n),
    )
