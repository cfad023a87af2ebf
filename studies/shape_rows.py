"""Rows of a shapes file: a problem, and where in which model it comes from.

A shapes file is a CSV with a header. Only `m`, `k`, `n` are required; see `COLUMNS` for the others
and `ShapeRow` for what they mean. Lines that start with `#`, blank lines and rows of empty cells
are skipped; cells are trimmed; an empty optional cell takes its default. A row is one line.
"""

import csv
import difflib
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from hwmodel.csv_lines import read_lines, show_path
from hwmodel.dtypes import DType, Format
from hwmodel.errors import InputError
from hwmodel.problem import GemmProblem
from studies import shape_cells

REQUIRED_COLUMNS = ("m", "k", "n")
OPTIONAL_COLUMNS = (
    "name",
    "trans_a",
    "trans_b",
    "dtype",
    "out_dtype",
    "bias",
    "format_b",
    "weight",
    "tag",
    "model",
    "layer",
    "tp",
    "tokens",
    "phase",
    "measured_us",
)
COLUMNS = (*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS)
"""Every column, in the order they are written (specification: studies.md, section Shapes)."""

BUNDLED_DIRECTORY = Path(__file__).parent / "shapes"
"""The lists that come with the project."""

SUFFIX = ".csv"

_PADDED_QUOTE = re.compile(r'"[ \t]+(,|$)')

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeRow:
    """One line of a shapes CSV.

    Attributes:
        index: 0-based position among the data rows.
        name: the row's name, or the problem's label where the file gives none.
        problem: the GEMM.
        weight: calls in one forward pass on one device.
        tag: free text; `grouped` marks shapes another operator serves today.
        model: model the shape belongs to, empty when unknown.
        layer: layer of the model, empty when unknown.
        phase: `decode`, `prefill`, `training`, ..., empty when unknown.
        tp: tensor-parallel degree, None when unknown.
        tokens: tokens in flight, None when unknown.
        measured_us: measured time, None when not measured.
    """

    index: int
    name: str
    problem: GemmProblem
    weight: float = 1.0
    tag: str = ""
    model: str = ""
    layer: str = ""
    phase: str = ""
    tp: int | None = None
    tokens: int | None = None
    measured_us: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapesFile:
    """Where a shapes file was found.

    Attributes:
        path: the file to load.
        bundled: it is one of the project's own lists and not where the user named it; say so.
    """

    path: Path
    bundled: bool


def bundled_lists() -> tuple[str, ...]:
    """Names of the project's own lists, without `.csv`, sorted."""
    return tuple(sorted(path.stem for path in BUNDLED_DIRECTORY.glob(f"*{SUFFIX}")))


def find_shapes_file(name: str) -> ShapesFile:
    """The file called `name`, else the bundled list of the same file name, with or without `.csv`.

    Raises:
        InputError: neither exists.
    """
    path = Path(name)
    try:
        exists = path.exists()
    except OSError:  # a name too long, a directory closed to us: no such file for this purpose
        exists = False
    if exists:
        return ShapesFile(path=path, bundled=False)
    stem = path.name.removesuffix(SUFFIX)
    if stem in bundled_lists():
        return ShapesFile(path=BUNDLED_DIRECTORY / f"{stem}{SUFFIX}", bundled=True)
    raise InputError(
        f"{show_path(path)}: there is no such file; name an existing one or a bundled list"
        f" ({', '.join(bundled_lists())})"
    )


def load_shapes(path: Path) -> tuple[ShapeRow, ...]:
    """The rows of a shapes file, in its order.

    Combinations of element types that the operator rejects are loaded: rejecting them is the
    operator's matter.

    Raises:
        InputError: the file cannot be read or a cell is wrong; file, line and column are named.
    """
    shown = show_path(path)
    records = _iterate_records(shown, read_lines(path))
    header_line, header = next(records, (0, []))
    if not header:
        raise InputError(f"{shown}: the file is empty; start it with a header such as m,k,n")
    _check_header(f"{shown}, line {header_line}", header)
    rows: list[ShapeRow] = []
    for line, cells in records:
        where = f"{shown}, line {line}"
        _check_cell_count(where, header, cells)
        values = _RowCells(where=where, values=dict(zip(header, cells, strict=True)))
        rows.append(_build_row(len(rows), values))
    if not rows:
        raise InputError(
            f"{shown}, line {header_line}: no rows follow the header; add one line for each shape"
        )
    return tuple(rows)


def write_shapes(path: Path, rows: Sequence[ShapeRow], comments: Sequence[str] = ()) -> None:
    """Write `rows` as a shapes file with every column; `load_shapes` gives the same rows back.

    The operator modes of a problem have no column: a shapes file always means the default ones.

    Raises:
        OSError: the file cannot be written.
    """
    path.write_text(format_shapes(rows, comments), encoding="utf-8", newline="\n")


def format_shapes(rows: Sequence[ShapeRow], comments: Sequence[str] = ()) -> str:
    """The text of a shapes file: `comments` as `#` lines, the header, a line for each row."""
    text = io.StringIO()
    text.writelines(f"# {comment}\n" for comment in comments)
    # m comes first: no line of data can then be taken for a comment, whatever the names are.
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_format_cells(row) for row in rows)
    return text.getvalue()


def _format_cells(row: ShapeRow) -> dict[str, object]:
    """The cells of one row by column; unknown values are empty."""
    problem = row.problem
    measured = row.measured_us
    return {
        "m": problem.m,
        "k": problem.k,
        "n": problem.n,
        "name": shape_cells.escape_text(row.name),
        "trans_a": int(problem.trans_a),
        "trans_b": int(problem.trans_b),
        "dtype": problem.dtype,
        "out_dtype": problem.out_dtype,
        "bias": problem.bias_dtype or shape_cells.NO_BIAS,
        "format_b": problem.format_b,
        "weight": shape_cells.format_number(row.weight),
        "tag": shape_cells.escape_text(row.tag),
        "model": shape_cells.escape_text(row.model),
        "layer": shape_cells.escape_text(row.layer),
        "tp": row.tp,
        "tokens": row.tokens,
        "phase": shape_cells.escape_text(row.phase),
        "measured_us": "" if measured is None else shape_cells.format_number(measured),
    }


def _iterate_records(shown: str, lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Number (from 1) and trimmed cells of each line that is neither blank nor a comment.

    Raises:
        InputError: a line cannot be split into cells.
    """
    for line, text in enumerate(lines, start=1):
        if text.lstrip().startswith("#"):
            continue
        try:
            cells = _split_line(text)
        except csv.Error as error:
            raise InputError(
                f"{shown}, line {line}: the quotes do not match ({error});"
                " close each quoted cell on its line and double the quotes inside it"
            ) from None
        if any(cells):
            yield line, cells


def _split_line(text: str) -> list[str]:
    """The trimmed cells of one line.

    Each line is a CSV of its own: an unclosed quote spoils its line, not the rest of the file.

    Raises:
        csv.Error: wrong quotes.
    """
    try:
        cells = next(csv.reader([text], strict=True, skipinitialspace=True), [])
    except csv.Error:
        # The csv module skips blanks before a quoted cell but not after it.
        padded = _PADDED_QUOTE.sub(r'"\1', text)
        cells = next(csv.reader([padded], strict=True, skipinitialspace=True), [])
    return [cell.strip() for cell in cells]


def _check_header(where: str, header: Sequence[str]) -> None:
    """Check that every column is known and given once and that m, k, n are among them.

    Raises:
        InputError: otherwise, with the nearest known name for an unknown one.
    """
    if len(header) == 1 and re.search(r"[;\t|]", header[0]):
        raise InputError(f"{where}: the cells are not separated by commas; use commas")
    if not any(column.lower() in COLUMNS for column in header):
        raise InputError(f"{where}: this is no header; start the file with one such as m,k,n")
    for position, column in enumerate(header, start=1):
        if not column:
            raise InputError(f"{where}: column {position} has no name; name it or remove it")
        shown = shape_cells.quote_cell(column)
        if column not in COLUMNS:
            close = difflib.get_close_matches(column.lower(), COLUMNS, n=1)
            advice = f"did you mean {close[0]}?" if close else f"known are {', '.join(COLUMNS)}"
            raise InputError(f"{where}: unknown column {shown}; {advice}")
        if column in header[: position - 1]:
            raise InputError(f"{where}: column {shown} is given twice; remove one")
    missing = [column for column in REQUIRED_COLUMNS if column not in header]
    if missing:
        raise InputError(
            f"{where}: column {missing[0]} is missing; a shapes file needs m, k and n"
        )


def _check_cell_count(where: str, header: Sequence[str], cells: Sequence[str]) -> None:
    """Check that a row has a cell for every column and no more.

    Raises:
        InputError: otherwise.
    """
    if len(cells) < len(header):
        raise InputError(
            f"{where}, column {header[len(cells)]}: the cell is missing; the header names"
            f" {len(header)} columns, this row has {len(cells)}"
        )
    if len(cells) > len(header):
        raise InputError(
            f"{where}: {len(cells)} cells, but the header names {len(header)} columns;"
            " remove the surplus or quote text that holds commas"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowCells:
    """The cells of one row by column, and where the row stands."""

    where: str
    values: Mapping[str, str]

    def read(self, column: str, parse: Callable[[str], Value], default: Value) -> Value:
        """The parsed cell, or `default` for an empty or absent one.

        Raises:
            InputError: the cell is wrong.
        """
        cell = self.values.get(column, "")
        return self._parse(column, cell, parse) if cell else default

    def read_dimension(self, column: str, low: int) -> int:
        """The dimension in a required column.

        Raises:
            InputError: the cell is empty or wrong.
        """
        cell = self.values[column]
        if not cell:
            raise InputError(f"{self.where}, column {column}: the cell is empty; fill it in")
        return self._parse(column, cell, partial(shape_cells.parse_integer, low=low))

    def _parse(self, column: str, cell: str, parse: Callable[[str], Value]) -> Value:
        try:
            return parse(cell)
        except InputError as error:
            raise InputError(f"{self.where}, column {column}: {error}") from None


def _build_row(index: int, cells: _RowCells) -> ShapeRow:
    """The row of these cells.

    Raises:
        InputError: a cell is wrong.
    """
    parse_dtype = partial(shape_cells.parse_choice, choices=DType)
    parse_format = partial(shape_cells.parse_choice, choices=Format)
    parse_count: Callable[[str], int | None] = partial(shape_cells.parse_integer, low=1)
    parse_time: Callable[[str], float | None] = shape_cells.parse_time_us
    dtype = cells.read("dtype", parse_dtype, DType.BF16)
    problem = GemmProblem(
        m=cells.read_dimension("m", 1),
        k=cells.read_dimension("k", 0),
        n=cells.read_dimension("n", 1),
        trans_a=cells.read("trans_a", shape_cells.parse_flag, False),
        trans_b=cells.read("trans_b", shape_cells.parse_flag, True),
        dtype=dtype,
        out_dtype=cells.read("out_dtype", parse_dtype, dtype),
        bias_dtype=cells.read("bias", shape_cells.parse_bias, None),
        format_b=cells.read("format_b", parse_format, Format.ND),
    )
    return ShapeRow(
        index=index,
        name=cells.read("name", shape_cells.parse_text, problem.label()),
        problem=problem,
        weight=cells.read("weight", shape_cells.parse_weight, 1.0),
        tag=cells.read("tag", shape_cells.parse_text, ""),
        model=cells.read("model", shape_cells.parse_text, ""),
        layer=cells.read("layer", shape_cells.parse_text, ""),
        phase=cells.read("phase", shape_cells.parse_text, ""),
        tp=cells.read("tp", parse_count, None),
        tokens=cells.read("tokens", parse_count, None),
        measured_us=cells.read("measured_us", parse_time, None),
    )
