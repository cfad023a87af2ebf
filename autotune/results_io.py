"""results.json, which loads back exactly, and results.csv, one flat line a shape for spreadsheets.

Neither holds a time, a host or a number of processes: the same question gives the same bytes.
"""

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from autotune.atomic_write import write_text_atomically
from autotune.plain_data import from_plain, to_plain
from autotune.results import RESULTS_SCHEMA, ComparedPlans, PlanResult, ResultRow
from hwmodel.errors import InputError, RunDirectoryError
from hwmodel.plan import KernelPlan

Cell = str | int | float | None
"""A value of the CSV; None is an empty cell."""

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""First characters by which spreadsheets take a text for a formula (OWASP, "CSV Injection")."""

_PLAN_COLUMNS = tuple(field.name for field in dataclasses.fields(KernelPlan))


def load_results(path: Path) -> tuple[ResultRow, ...]:
    """The rows of a results.json.

    Raises:
        RunDirectoryError: it is missing, unreadable, of another schema or damaged.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunDirectoryError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise RunDirectoryError(f"{path}: not valid JSON ({error})") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != RESULTS_SCHEMA or not isinstance(document.get("rows"), list):
        raise RunDirectoryError(
            f"{path}: schema {schema!r}, this version reads {RESULTS_SCHEMA}; run the study again"
        )
    try:
        return tuple(
            from_plain(ResultRow, row, f"{path}: rows[{position}]")
            for position, row in enumerate(document["rows"])
        )
    except InputError as error:
        raise RunDirectoryError(str(error)) from error


def format_results_json(rows: Sequence[ResultRow]) -> str:
    """The text of results.json: `{"schema": 3, "rows": [...]}`.

    The rows are objects in the names of the dataclasses of `autotune.results`.
    """
    document = {"schema": RESULTS_SCHEMA, "rows": to_plain(tuple(rows))}
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def write_results_json(rows: Sequence[ResultRow], path: Path) -> None:
    """Write results.json.

    Raises:
        AutotuneError: the file cannot be written.
    """
    write_text_atomically(path, format_results_json(rows))


def format_results_csv(rows: Sequence[ResultRow]) -> str:
    """The text of results.csv.

    Columns: those of the shapes file (`m` to `format_b` and where the shape comes from); `status`
    and `message`; what was compared (`strategy` to `judgement`, as in
    `autotune.results.ComparedPlans`; `rejected_points` sums the illegal points); then
    `baseline_*`, `best_*` and `best_expressible_*`: `predicted_us`, `bound`, `roofline_ratio` and
    every field of the plan, in elements and counts. Ratios are 0..1 (0.1 is 10 %), empty cells
    mean not known or not applicable, truth values are 0 and 1. Text that a spreadsheet would run
    as a formula gets an apostrophe in front.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    records = [_csv_record(row) for row in rows]
    writer.writerow(CSV_COLUMNS)
    writer.writerows([escape_formula(one[column]) for column in CSV_COLUMNS] for one in records)
    return stream.getvalue()


def write_results_csv(rows: Sequence[ResultRow], path: Path) -> None:
    """Write results.csv.

    Raises:
        AutotuneError: the file cannot be written.
    """
    write_text_atomically(path, format_results_csv(rows))


_ROW_CELLS: Mapping[str, Callable[[ResultRow], Cell]] = {
    "index": lambda row: row.index,
    "name": lambda row: row.name,
    "model": lambda row: row.model,
    "layer": lambda row: row.layer,
    "phase": lambda row: row.phase,
    "tp": lambda row: row.tp,
    "tokens": lambda row: row.tokens,
    "tag": lambda row: row.tag,
    "weight": lambda row: row.weight,
    "m": lambda row: row.problem.m,
    "k": lambda row: row.problem.k,
    "n": lambda row: row.problem.n,
    "trans_a": lambda row: int(row.problem.trans_a),
    "trans_b": lambda row: int(row.problem.trans_b),
    "dtype": lambda row: row.problem.dtype.value,
    "out_dtype": lambda row: row.problem.out_dtype.value,
    "bias": lambda row: row.problem.bias_dtype and row.problem.bias_dtype.value,
    "format_b": lambda row: row.problem.format_b.value,
    "op_impl_mode": lambda row: row.problem.op_impl_mode.value,
    "deterministic_level": lambda row: row.problem.deterministic_level,
    "measured_us": lambda row: row.measured_us,
    "status": lambda row: row.status.value,
    "message": lambda row: row.message,
}

_COMPARED_CELLS: Mapping[str, Callable[[ComparedPlans], Cell]] = {
    "strategy": lambda compared: compared.strategy,
    "gap_ratio": lambda compared: compared.gap_ratio,
    "resolved": lambda compared: int(compared.resolved),
    "exceeds_p90": lambda compared: int(compared.exceeds_p90),
    "error_class": lambda compared: compared.error_class,
    "best_error_class": lambda compared: compared.best_error_class,
    "best_inexpressible_field": lambda compared: compared.best_inexpressible_field,
    "expressible_gap_ratio": lambda compared: compared.expressible_gap_ratio,
    "coverage": lambda compared: compared.coverage.value,
    "roofline_us": lambda compared: compared.roofline_us,
    "ties_within_1pct": lambda compared: compared.ties_within_1pct,
    "evaluations": lambda compared: compared.evaluations,
    "regret_ratio": lambda compared: compared.regret_ratio,
    "violations": lambda compared: "; ".join(compared.violations),
    "rejected_points": lambda compared: sum(compared.rejected.values()),
    "certificate": lambda compared: compared.certificate,
    "judgement": lambda compared: compared.judgement,
}

_PLAN_RESULT_CELLS: Mapping[str, Callable[[PlanResult], Cell]] = {
    "predicted_us": lambda result: result.predicted_us,
    "bound": lambda result: result.bound,
    "roofline_ratio": lambda result: result.roofline_ratio,
}

_SIDES: Mapping[str, Callable[[ComparedPlans], PlanResult]] = {
    "baseline": lambda compared: compared.baseline,
    "best": lambda compared: compared.best,
    "best_expressible": lambda compared: compared.best_expressible,
}

CSV_COLUMNS: tuple[str, ...] = (
    *_ROW_CELLS,
    *_COMPARED_CELLS,
    *(f"{side}_{column}" for side in _SIDES for column in (*_PLAN_RESULT_CELLS, *_PLAN_COLUMNS)),
)
"""Header of results.csv; `format_results_csv` says what the columns mean."""


def _csv_record(row: ResultRow) -> Mapping[str, Cell]:
    """Cells of one row by column; those of a comparison are empty when there is none."""
    record: dict[str, Cell] = dict.fromkeys(CSV_COLUMNS)
    record.update((column, cell(row)) for column, cell in _ROW_CELLS.items())
    compared = row.compared
    if compared is None:
        return record
    record.update((column, cell(compared)) for column, cell in _COMPARED_CELLS.items())
    for side, select in _SIDES.items():
        result = select(compared)
        cells = {column: cell(result) for column, cell in _PLAN_RESULT_CELLS.items()}
        cells.update((column, _plan_cell(result.plan, column)) for column in _PLAN_COLUMNS)
        record.update((f"{side}_{column}", value) for column, value in cells.items())
    return record


def _plan_cell(plan: KernelPlan, column: str) -> Cell:
    value: str | int = getattr(plan, column)
    return int(value) if isinstance(value, bool) else value


def escape_formula(cell: Cell) -> Cell:
    """The cell, with an apostrophe in front of a text that a spreadsheet would run."""
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS):
        return f"'{cell}"
    return cell
