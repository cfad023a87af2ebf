"""Cells of a shapes file: how each kind of cell is read, written and refused.

The parsers take a trimmed, non-empty cell and raise `InputError` with what is wrong and what to
do; where the cell stands is added by `studies.shape_rows`, which knows it.
"""

import math
import re
from enum import StrEnum
from typing import TypeVar

from hwmodel.dtypes import DType
from hwmodel.errors import InputError
from hwmodel.problem import MAX_DIM

NO_BIAS = "none"
"""The bias column's word for a GEMM without a bias."""

MAX_SHOWN_CHARS = 40
"""A message quotes at most this much of a cell, so that it stays one readable line."""

_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_FORMULA = re.compile("'*[=+@-]")
_ESCAPED_FORMULA = re.compile("'+[=+@-]")

Choice = TypeVar("Choice", bound=StrEnum)


def quote_cell(cell: str) -> str:
    """The cell in quotes for a message: control characters escaped, long text cut."""
    return repr(cell if len(cell) <= MAX_SHOWN_CHARS else cell[:MAX_SHOWN_CHARS] + "...")


def parse_integer(cell: str, low: int) -> int:
    """A whole number in plain ASCII digits, from `low` to 2^31-1.

    Exponents, decimal points, signs and digit separators are refused: `1e3` and `4_096` are as
    likely typing errors.

    Raises:
        InputError: not such a number.
    """
    if not _INTEGER.fullmatch(cell):
        raise InputError(
            f"{quote_cell(cell)} is not a whole number; write it in plain digits, such as 4096"
        )
    # The number of digits goes first: Python refuses to convert texts of thousands of digits.
    too_long = len(cell.lstrip("0")) > len(str(MAX_DIM))
    if cell.startswith("-") or too_long or not low <= int(cell) <= MAX_DIM:
        raise InputError(f"{quote_cell(cell)} is out of range; it must be from {low} to {MAX_DIM}")
    return int(cell)


def parse_flag(cell: str) -> bool:
    """`1` or `0`.

    Raises:
        InputError: anything else.
    """
    if cell not in ("0", "1"):
        raise InputError(f"{quote_cell(cell)} is not a flag; write 0 or 1")
    return cell == "1"


def parse_choice(cell: str, choices: type[Choice]) -> Choice:
    """The member of `choices` whose value is the cell.

    Raises:
        InputError: no such member.
    """
    try:
        return choices(cell)
    except ValueError:
        known = ", ".join(choices)
        raise InputError(f"{quote_cell(cell)} is unknown; write one of {known}") from None


def parse_bias(cell: str) -> DType | None:
    """The bias's element type; `none` is None.

    Raises:
        InputError: neither an element type nor `none`.
    """
    if cell == NO_BIAS:
        return None
    try:
        return DType(cell)
    except ValueError:
        known = ", ".join((NO_BIAS, *DType))
        raise InputError(f"{quote_cell(cell)} is unknown; write one of {known}") from None


def parse_weight(cell: str) -> float:
    """A finite number, 0 or more.

    Raises:
        InputError: anything else, `nan` and `inf` included.
    """
    value = float(cell) if _NUMBER.fullmatch(cell) else math.inf
    if not math.isfinite(value):
        raise InputError(f"{quote_cell(cell)} is not a finite number of at least 0; correct it")
    return value


def parse_time_us(cell: str) -> float:
    """A finite number of microseconds above 0.

    Raises:
        InputError: anything else.
    """
    value = float(cell) if _NUMBER.fullmatch(cell) else math.inf
    if not 0 < value < math.inf:
        raise InputError(
            f"{quote_cell(cell)} is not a finite time above 0 us; correct it or leave it empty"
        )
    return value


def parse_text(cell: str) -> str:
    """Free text of one line, without the quote mark that `escape_text` may have put before it.

    Raises:
        InputError: control characters, which would break tables and reports.
    """
    if _CONTROL.search(cell):
        raise InputError(f"{quote_cell(cell)} holds control characters; remove them")
    return cell[1:] if _ESCAPED_FORMULA.match(cell) else cell


def escape_text(text: str) -> str:
    """Free text as a cell that no spreadsheet takes for a formula: `=1+1` becomes `'=1+1`.

    `parse_text` takes the mark away again, so any text of one line survives the round trip.
    """
    return "'" + text if _FORMULA.match(text) else text


def format_number(value: float) -> str:
    """Shortest text that reads back as `value`; whole numbers without `.0`."""
    return repr(value).removesuffix(".0")
