"""The TOML form of a HardwareSpec: what a hardware file may say, and how it is said.

A hardware file has a head (`schema`, `name`, `soc`, `npu_arch`), one table for each group of
figures of `spec.py`, and a `[calibration.<model>]` table for each fitted model. Every figure is

    figure = { value = 31, provenance = "documented", source = "...", range = [26.35, 32.55] }

This module turns the parsed document into a `HardwareSpec` and back. It is strict: nothing
unknown, missing, ill-typed or implausible passes, and errors name the dotted path of the entry.
"""

import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import date
from difflib import get_close_matches
from typing import Any, NoReturn, TypeVar

from hwmodel.cost.constants import find_wrong_constant
from hwmodel.emulator.spec_constants import EMULATOR_MODEL, find_wrong_value
from hwmodel.errors import HardwareSpecError
from hwmodel.spec import (
    FIGURE_LIMIT,
    SECTIONS,
    BufferSizes,
    CacheFacts,
    Calibration,
    ClassError,
    ComputeRates,
    CoreCounts,
    FixedCosts,
    HardwareSpec,
    Provenance,
    ProvenanceKind,
    TransferRates,
)

SCHEMA_VERSION = 1
"""Version of the file format; to be raised when a file of the old form would be misread."""

NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9._-]*")
SOC_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
NPU_ARCH_PATTERN = re.compile(r"DAV_[0-9]+")
CLASS_PATTERN = re.compile(r"[a-z][a-z0-9_]*")
DIGEST_PATTERN = re.compile(r"[0-9a-f]{64}")

_HEAD = ("schema", "name", "soc", "npu_arch")
_FIGURE_KEYS = ("value", "provenance", "source", "range")
_CALIBRATION_KEYS = (
    "measured_on",
    "date",
    "data_digest",
    "rows",
    "constants",
    "errors",
)
_DRAWS = "draws"
_RANGE_LENGTH = 2
_RATIO_SUFFIX = "_ratio"

_Section = TypeVar("_Section")
_Item = TypeVar("_Item")


def parse_document(document: Mapping[str, object], where: str) -> HardwareSpec:
    """The spec that a parsed TOML document describes.

    Args:
        document: what `tomllib` read.
        where: name of the file, for messages.

    Raises:
        HardwareSpecError: for the first entry that is unknown, missing, ill-typed or implausible.
    """
    return _Reader(where).read_spec(document)


def build_document(spec: HardwareSpec) -> dict[str, Any]:
    """The document of a spec, as plain values; `parse_document` gives an equal spec back.

    Equal specs give equal documents, down to the text: 31 and 31.0 are the same rate.
    """
    document: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "name": spec.name,
        "soc": spec.soc,
        "npu_arch": spec.npu_arch,
    }
    figures = spec.figures()
    for section, section_type in SECTIONS.items():
        document[section] = {
            one.name: _build_figure(
                figures[path] if one.type is int else float(figures[path]), spec.provenance[path]
            )
            for one in fields(section_type)
            for path in [f"{section}.{one.name}"]
        }
    if spec.calibrations:
        document["calibration"] = {
            model: _build_calibration(calibration)
            for model, calibration in sorted(spec.calibrations.items())
        }
    return document


def _build_figure(value: int | float, provenance: Provenance) -> dict[str, object]:
    figure: dict[str, object] = {
        "value": value,
        "provenance": provenance.kind.value,
        "source": provenance.source,
    }
    if provenance.low is not None and provenance.high is not None:
        figure["range"] = [float(provenance.low), float(provenance.high)]
    return figure


def _build_calibration(calibration: Calibration) -> dict[str, object]:
    table: dict[str, object] = {
        "measured_on": calibration.measured_on,
        "date": calibration.date,
        "data_digest": calibration.data_digest,
        "rows": calibration.rows,
        "constants": {name: float(value) for name, value in sorted(calibration.constants.items())},
        "errors": {
            name: {
                "n": error.n,
                "median_ape": float(error.median_ape),
                "p90_ape": float(error.p90_ape),
            }
            for name, error in sorted(calibration.errors.items())
        },
    }
    if calibration.draws:
        table[_DRAWS] = {
            name: [float(draw[name]) for draw in calibration.draws]
            for name in sorted(calibration.draws[0])
        }
    return table


class _Reader:
    """Reads one document; knows the file's name for the messages."""

    def __init__(self, where: str) -> None:
        self.where = where

    def fail(self, path: str, problem: str) -> NoReturn:
        raise HardwareSpecError(f"{self.where}: {path}: {problem}")

    def read_spec(self, document: Mapping[str, object]) -> HardwareSpec:
        schema = document.get("schema")
        if type(schema) is not int or schema != SCHEMA_VERSION:
            self.fail(
                "schema",
                f"is {_describe(schema)}, this program reads {SCHEMA_VERSION}; "
                f"put `schema = {SCHEMA_VERSION}` if the file has the form of the bundled ones",
            )
        self.check_keys("", document, required=(*_HEAD, *SECTIONS), optional=("calibration",))
        provenance: dict[str, Provenance] = {}
        return HardwareSpec(
            name=self.read_text("name", document["name"], NAME_PATTERN),
            soc=self.read_text("soc", document["soc"], SOC_PATTERN),
            npu_arch=self.read_text("npu_arch", document["npu_arch"], NPU_ARCH_PATTERN),
            cores=self.read_section("cores", CoreCounts, document, provenance),
            buffers=self.read_section("buffers", BufferSizes, document, provenance),
            compute=self.read_section("compute", ComputeRates, document, provenance),
            rates=self.read_section("rates", TransferRates, document, provenance),
            fixed=self.read_section("fixed", FixedCosts, document, provenance),
            cache=self.read_section("cache", CacheFacts, document, provenance),
            provenance=provenance,
            calibrations=self.read_calibrations(document.get("calibration", {})),
        )

    def read_section(
        self,
        name: str,
        section: type[_Section],
        document: Mapping[str, object],
        provenance: dict[str, Provenance],
    ) -> _Section:
        table = self.read_table(name, document[name])
        figures = {figure.name: figure.type for figure in fields(SECTIONS[name])}
        self.check_keys(name, table, required=tuple(figures))
        values: dict[str, Any] = {}
        for figure_name, figure_type in figures.items():
            path = f"{name}.{figure_name}"
            values[figure_name], provenance[path] = self.read_figure(
                path, table[figure_name], whole=figure_type is int
            )
        return section(**values)

    def read_figure(
        self, path: str, entry: object, *, whole: bool
    ) -> tuple[int | float, Provenance]:
        if not isinstance(entry, Mapping):
            self.fail(
                path,
                f"is {_describe(entry)}, expected a table with its provenance: "
                '{ value = ..., provenance = "...", source = "...", range = [low, high] }',
            )
        self.check_keys(path, entry, required=_FIGURE_KEYS[:-1], optional=_FIGURE_KEYS[-1:])
        value = self.read_number(f"{path}.value", entry["value"], whole=whole)
        if value <= 0:
            self.fail(f"{path}.value", f"is {value}, expected a number above 0")
        if path.endswith(_RATIO_SUFFIX) and value > 1:
            self.fail(f"{path}.value", f"is {value}, expected a ratio of at most 1")
        return value, self.read_provenance(path, entry, value)

    def read_provenance(self, path: str, entry: Mapping[str, object], value: float) -> Provenance:
        kind = entry["provenance"]
        known = [one.value for one in ProvenanceKind]
        if kind not in known:
            self.fail(
                f"{path}.provenance", f"is {_describe(kind)}, expected one of {', '.join(known)}"
            )
        source = self.read_text(f"{path}.source", entry["source"])
        if "range" not in entry:
            if kind != ProvenanceKind.DOCUMENTED:
                self.fail(
                    f"{path}.range",
                    f"is missing; a figure that is {kind} needs `range = [low, high]`",
                )
            return Provenance(kind=ProvenanceKind.DOCUMENTED, source=source)
        low, high = self.read_range(f"{path}.range", entry["range"])
        if not low <= value <= high:
            self.fail(
                f"{path}.value", f"is {value}, outside its own range [{low}, {high}]; correct one"
            )
        return Provenance(kind=ProvenanceKind(str(kind)), source=source, low=low, high=high)

    def read_range(self, path: str, entry: object) -> tuple[float, float]:
        if not isinstance(entry, list) or len(entry) != _RANGE_LENGTH:
            self.fail(path, f"is {_describe(entry)}, expected [low, high]")
        low, high = (float(self.read_number(path, bound, whole=False)) for bound in entry)
        if not 0 <= low <= high:
            self.fail(path, f"is [{low}, {high}], expected 0 <= low <= high")
        return low, high

    def read_calibrations(self, entry: object) -> dict[str, Calibration]:
        return {
            model: self.read_calibration(f"calibration.{model}", model, table)
            for model, table in self.read_table("calibration", entry).items()
        }

    def read_calibration(self, path: str, model: str, entry: object) -> Calibration:
        table = self.read_table(path, entry)
        self.read_text(path, model, CLASS_PATTERN)
        self.check_keys(path, table, required=_CALIBRATION_KEYS, optional=(_DRAWS,))
        constants = self.read_constants(f"{path}.constants", model, table["constants"])
        errors = self.read_table(f"{path}.errors", table["errors"])
        return Calibration(
            model=model,
            measured_on=self.read_text(f"{path}.measured_on", table["measured_on"], SOC_PATTERN),
            date=self.read_date(f"{path}.date", table["date"]),
            data_digest=self.read_text(
                f"{path}.data_digest", table["data_digest"], DIGEST_PATTERN
            ),
            rows=self.read_count(f"{path}.rows", table["rows"]),
            constants=constants,
            errors={
                name: self.read_class_error(f"{path}.errors.{name}", error)
                for name, error in errors.items()
            },
            draws=self.read_draws(f"{path}.{_DRAWS}", model, constants, table),
        )

    def read_draws(
        self, path: str, model: str, constants: Mapping[str, float], table: Mapping[str, object]
    ) -> tuple[dict[str, float], ...]:
        """The draws: a column each of some of the constants, all of the same length."""
        if _DRAWS not in table:
            return ()
        entry = self.read_table(path, table[_DRAWS])
        self.check_keys(path, entry, required=(), optional=tuple(constants))
        columns: dict[str, list[object]] = {}
        for name, column in entry.items():
            if not isinstance(column, list) or not column:
                self.fail(f"{path}.{name}", f"is {_describe(column)}, expected one value a draw")
            columns[name] = column
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) != 1:
            counted = ", ".join(f"{name} {length}" for name, length in lengths.items())
            self.fail(path, f"has columns of different lengths ({counted or 'none'}); one a draw")
        names = tuple(columns)
        return tuple(
            {name: drawn[name] for name in names}
            for values in zip(*columns.values(), strict=True)
            for drawn in [
                self.read_constants(
                    path, model, {**constants, **dict(zip(names, values, strict=True))}
                )
            ]
        )

    def read_constants(self, path: str, model: str, entry: object) -> dict[str, float]:
        constants = {
            name: float(self.read_number(f"{path}.{name}", value, whole=False))
            for name, value in self.read_table(path, entry).items()
        }
        if model == EMULATOR_MODEL:
            wrong = find_wrong_value(constants)
        else:
            wrong = find_wrong_constant(model, constants)
        if wrong is not None:
            self.fail(f"{path}.{wrong[0]}", wrong[1])
        return constants

    def read_class_error(self, path: str, entry: object) -> ClassError:
        table = self.read_table(path, entry)
        self.check_keys(path, table, required=tuple(one.name for one in fields(ClassError)))
        median, p90 = (
            float(self.read_number(f"{path}.{name}", table[name], whole=False))
            for name in ("median_ape", "p90_ape")
        )
        if not 0 <= median <= p90:
            self.fail(path, f"has median {median} and p90 {p90}, expected 0 <= median <= p90")
        return ClassError(
            n=self.read_count(f"{path}.n", table["n"]), median_ape=median, p90_ape=p90
        )

    def read_count(self, path: str, entry: object) -> int:
        count = self.read_number(path, entry, whole=True)
        if count < 1:
            self.fail(path, f"is {count}, expected a number of rows, at least 1")
        return int(count)

    def read_date(self, path: str, entry: object) -> str:
        text = entry.isoformat() if isinstance(entry, date) else self.read_text(path, entry)
        try:
            return date.fromisoformat(text).isoformat()
        except ValueError:
            self.fail(path, f"is {text!r}, expected a date such as 2026-08-31")

    def read_number(self, path: str, entry: object, *, whole: bool) -> int | float:
        expected = "a whole number" if whole else "a number"
        if isinstance(entry, bool) or not isinstance(entry, int if whole else (int, float)):
            self.fail(path, f"is {_describe(entry)}, expected {expected}")
        if not abs(entry) < FIGURE_LIMIT:  # so written, it refuses nan too
            self.fail(path, f"is {_describe(entry)}, expected a number below 2^63")
        return entry if whole else float(entry)

    def read_text(self, path: str, entry: object, pattern: re.Pattern[str] | None = None) -> str:
        if not isinstance(entry, str) or not entry.strip():
            self.fail(path, f"is {_describe(entry)}, expected a text that is not empty")
        if pattern is not None and pattern.fullmatch(entry) is None:
            self.fail(path, f"is {entry!r}, expected the form {pattern.pattern}")
        return entry

    def read_table(self, path: str, entry: object) -> Mapping[str, object]:
        if not isinstance(entry, Mapping):
            self.fail(path, f"is {_describe(entry)}, expected a table [{path}]")
        return entry

    def check_keys(
        self,
        path: str,
        table: Mapping[str, object],
        *,
        required: tuple[str, ...],
        optional: tuple[str, ...] = (),
    ) -> None:
        prefix = f"{path}." if path else ""
        known = (*required, *optional)
        for key in table:
            if key not in known:
                close = get_close_matches(key, known, n=1)
                advice = f"did you mean `{close[0]}`?" if close else "remove it"
                self.fail(f"{prefix}{key}", f"is not an entry of a hardware file; {advice}")
        for key in required:
            if key not in table:
                self.fail(f"{prefix}{key}", "is missing; add it")


def _describe(entry: object) -> str:
    """An entry for a message: its value where that is short, else its kind."""
    match entry:
        case None:
            return "missing"
        case bool():
            return f"the boolean {str(entry).lower()}"
        case int() if abs(entry) >= FIGURE_LIMIT:
            return "a number that is too large"
        case int() | float():
            return f"the number {entry}"
        case str():
            return f"the text {entry!r}" if entry else "an empty text"
        case list():
            return f"an array of {len(entry)}"
        case Mapping():
            return "a table"
        case _:
            return f"a {type(entry).__name__}"
