"""results.json and results.csv of a run of hypotheses.

results.json loads back exactly. results.csv has a line for each shape and study, for spreadsheets.
Neither holds a time of day, a host or a number of processes: the same question gives the same
bytes.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from autotune.atomic_write import write_text_atomically
from autotune.plain_data import from_plain, to_plain
from autotune.results_io import Cell, escape_formula
from hwmodel.errors import InputError, RunDirectoryError
from studies.hypotheses.answers import Comparison, ShapeAnswer
from studies.hypotheses.verdicts import StudiedRow, StudyResults

HYPOTHESES_SCHEMA = "hypotheses 1"
"""Version of the file; another version is not read."""


def load_hypotheses(path: Path) -> StudyResults:
    """The results of a results.json.

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
    if schema != HYPOTHESES_SCHEMA:
        raise RunDirectoryError(
            f"{path}: schema {schema!r}, this version reads {HYPOTHESES_SCHEMA!r}; run the study "
            "again"
        )
    try:
        return from_plain(StudyResults, document.get("results"), f"{path}: results")
    except InputError as error:
        raise RunDirectoryError(str(error)) from error


def format_hypotheses_json(results: StudyResults) -> str:
    """The text of results.json, objects in the names of the dataclasses."""
    document = {"schema": HYPOTHESES_SCHEMA, "results": to_plain(results)}
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def format_hypotheses_csv(results: StudyResults) -> str:
    """The text of results.csv: a line for each row of the lists and each study about it.

    Times are microseconds; `judged_ratio` and `selected_ratio` are control over treatment by the
    judge and by the selector. A row that the operator rejects has one line with its message.
    """
    stream = io.StringIO()
    writer = csv.DictWriter(stream, CSV_COLUMNS, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    answers = {answer.problem: answer for answer in results.answers}
    for studied in results.rows:
        for record in _iterate_records(studied, answers.get(studied.row.problem)):
            writer.writerow({name: escape_formula(cell) for name, cell in record.items()})
    return stream.getvalue()


def write_hypotheses(results: StudyResults, json_path: Path, csv_path: Path) -> None:
    """Write both files.

    Raises:
        AutotuneError: a file cannot be written.
    """
    write_text_atomically(json_path, format_hypotheses_json(results))
    write_text_atomically(csv_path, format_hypotheses_csv(results))


_ROW_COLUMNS = (
    "index",
    "source",
    "name",
    "model",
    "layer",
    "phase",
    "tp",
    "tokens",
    "tag",
    "weight",
    "m",
    "k",
    "n",
    "trans_a",
    "trans_b",
    "dtype",
    "out_dtype",
    "state",
    "message",
)
_COMPARISON_COLUMNS = (
    "study",
    "control_us",
    "treatment_us",
    "judged_ratio",
    "selected_ratio",
    "candidates",
    "changed_fields",
    "coverage",
    "resolved",
)
CSV_COLUMNS = (*_ROW_COLUMNS, *_COMPARISON_COLUMNS)
"""Header of results.csv."""


def _iterate_records(
    studied: StudiedRow, answer: ShapeAnswer | None
) -> Iterator[Mapping[str, Cell]]:
    row, problem = studied.row, studied.row.problem
    place: dict[str, Cell] = {
        "index": row.index,
        "source": studied.source,
        "name": row.name,
        "model": row.model,
        "layer": row.layer,
        "phase": row.phase,
        "tp": row.tp,
        "tokens": row.tokens,
        "tag": row.tag,
        "weight": row.weight,
        "m": problem.m,
        "k": problem.k,
        "n": problem.n,
        "trans_a": int(problem.trans_a),
        "trans_b": int(problem.trans_b),
        "dtype": problem.dtype.value,
        "out_dtype": problem.out_dtype.value,
        "state": studied.state.value,
        "message": studied.message,
    }
    if answer is None:
        yield place
        return
    for comparison in answer.comparisons:
        yield {**place, **_comparison_cells(comparison)}


def _comparison_cells(comparison: Comparison) -> dict[str, Cell]:
    return {
        "study": comparison.study,
        "control_us": comparison.control.judge_us,
        "treatment_us": comparison.treatment.judge_us,
        "judged_ratio": comparison.judged_ratio,
        "selected_ratio": comparison.selected_ratio,
        "candidates": comparison.candidates,
        "changed_fields": " ".join(comparison.changed_fields),
        "coverage": comparison.coverage.value,
        "resolved": int(comparison.resolved),
    }
