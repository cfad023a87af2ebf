"""A breakdown as rows of a table: one row a figure, one value a plan, the unit said once.

Figures that this module does not know by name appear all the same, under their own names, so that
what a model says more is never hidden.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final

from autotune.report.text import format_us
from hwmodel.cost.breakdown import CostBreakdown

_BYTES_PER_MB: Final = 1e6
_BYTES_PER_KB: Final = 1e3


class Unit(StrEnum):
    """Units of the rows, as the table writes them."""

    US = "us"
    MB = "MB"
    CYCLES = "cycles"
    COUNT = ""


_UNITS: Final = {"_us": Unit.US, "_bytes": Unit.MB, "_cycles": Unit.CYCLES}
"""Units by the suffix of a field's name; fields without one are counts or words."""

UNKNOWN: Final = "-"
"""Stands for a figure that a model does not give."""

_LABELS: Final = {
    "task_duration_us": "time",
    "launch_us": "  launch",
    "prologue_us": "  prologue",
    "rounds_us": "  rounds",
    "epilogue_us": "  epilogue",
    "cube_time_us": "cube busy",
    "mte2_time_us": "MTE2 busy",
    "mte1_time_us": "MTE1 busy",
    "fixpipe_time_us": "fixpipe busy",
    "hbm_read_bytes": "read from HBM",
    "l2_read_bytes": "read from L2",
    "write_bytes": "C written",
    "rounds": "rounds of blocks",
    "bound": "bound by",
}
"""Labels by field, in the order of the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakdownRow:
    """One figure of some breakdowns.

    Attributes:
        name: the field.
        label: what the table calls it; parts of the figure above them are indented.
        unit: the unit in which the table shows it.
        values: one a breakdown, in the unit of the field's name; text is shown as it is, None
            is a figure that the model does not give.
    """

    name: str
    label: str
    unit: Unit
    values: tuple[float | str | None, ...]

    def cells(self) -> tuple[str, ...]:
        """The values as the table shows them."""
        return tuple(self._format(value) for value in self.values)

    def difference(self) -> str:
        """The second value less the first, with its sign; empty for text."""
        before, after = self.values
        if not isinstance(before, int | float) or not isinstance(after, int | float):
            return ""
        text = self._format(after - before)
        return f"+{text}" if after > before else text

    def _format(self, value: float | str | None) -> str:
        if value is None:
            return UNKNOWN
        if isinstance(value, str):
            return value
        return _FORMATS[self.unit](value)


_FORMATS: Final[dict[Unit, Callable[[float], str]]] = {
    Unit.US: format_us,
    Unit.MB: lambda value: format_us(value / _BYTES_PER_MB),
    Unit.CYCLES: lambda value: f"{value:,.0f}",
    Unit.COUNT: lambda value: f"{value:,}",
}


def build_breakdown_rows(costs: Sequence[CostBreakdown]) -> tuple[BreakdownRow, ...]:
    """A row for every field, the known figures first, others in the order of the fields."""
    names = [field.name for field in fields(CostBreakdown)]
    ordered = sorted(
        names, key=lambda name: list(_LABELS).index(name) if name in _LABELS else len(names)
    )
    return tuple(
        BreakdownRow(
            name=name,
            label=_LABELS.get(name, _describe(name)),
            unit=_select_unit(name),
            values=tuple(getattr(cost, name) for cost in costs),
        )
        for name in ordered
    )


def select_given_rows(costs: Sequence[CostBreakdown]) -> tuple[BreakdownRow, ...]:
    """The rows that say something.

    The fields after `bound` split the time by what it was spent on; a model that does not say
    leaves the critical pipe open and them at 0.
    """
    rows = build_breakdown_rows(costs)
    if any(cost.critical_pipe is not None for cost in costs):
        return rows
    names = [field.name for field in fields(CostBreakdown)]
    given = names[: names.index("bound") + 1]
    return tuple(row for row in rows if row.name in given)


def format_bytes(count: float) -> str:
    """A size in MB or, below one, in KB, e.g. `13.2 MB`."""
    if count >= _BYTES_PER_MB:
        return f"{format_us(count / _BYTES_PER_MB)} MB"
    return f"{format_us(count / _BYTES_PER_KB)} KB"


def _select_unit(name: str) -> Unit:
    return next((unit for suffix, unit in _UNITS.items() if name.endswith(suffix)), Unit.COUNT)


def _describe(name: str) -> str:
    """A field's name in words, without its unit."""
    suffix = next((suffix for suffix in _UNITS if name.endswith(suffix)), "")
    return name.removesuffix(suffix).replace("_", " ")
