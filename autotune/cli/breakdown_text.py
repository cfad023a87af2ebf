"""Breakdowns of one plan or of two side by side, as the commands print them."""

from collections.abc import Sequence
from typing import Final

from autotune.breakdown_rows import build_breakdown_rows, select_given_rows
from hwmodel.cost.breakdown import CostBreakdown

_CORE_NOTE: Final = (
    "busy: on the busiest core; pipes overlap, so only launch, prologue, rounds and epilogue sum "
    "to the time\nMB: of all cores"
)


def format_breakdowns(names: Sequence[str], costs: Sequence[CostBreakdown]) -> str:
    """A table with a column a plan and, of two plans, their difference.

    Args:
        names: heads of the columns.
        costs: one or two breakdowns.
    """
    from tabulate import tabulate

    shows_difference = len(costs) == 2
    heads = ("", "unit", *names, *(("difference",) if shows_difference else ()))
    cells = [
        (row.label, row.unit, *row.cells(), *((row.difference(),) if shows_difference else ()))
        for row in select_given_rows(costs)
    ]
    table = tabulate(
        cells,
        headers=heads,
        tablefmt="simple",
        disable_numparse=True,
        preserve_whitespace=True,
        colalign=("left", "left", *("right",) * (len(heads) - 2)),
    )
    lines = [line.rstrip() for line in table.splitlines()]
    return "\n".join((*lines, _CORE_NOTE))


def describe_costs(costs: Sequence[CostBreakdown]) -> list[dict[str, float | str | None]]:
    """The figures as plain data, exactly, in the names and units of the breakdown's fields."""
    rows = build_breakdown_rows(costs)
    return [{row.name: row.values[position] for row in rows} for position in range(len(costs))]
