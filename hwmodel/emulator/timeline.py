"""Timeline: the rows of a log that somebody wants to see, each with its item and its round."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from hwmodel.emulator import layout
from hwmodel.emulator.engine import EventLog
from hwmodel.emulator.geometry import Vector
from hwmodel.emulator.memory import Matrix

PRELOAD_ROUND = -1
"""Round of what is loaded before a core's first item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Pieces of work, in the order in which they were done on each core and pipe.

    Attributes:
        rows: rows of the log, columns LOG_* of `layout.py`.
        items: row of `EventLog.items` that each belongs to, -1 for a preload.
        rounds: number of that item on its core, counted from 0, -1 for a preload.
    """

    rows: Matrix
    items: Vector
    rounds: Vector


def select_timeline(log: EventLog, cores: Collection[int], rounds: int | None) -> Timeline:
    """The work of these cores in the first rounds, all of them for None.

    Args:
        log: a whole log.
        cores: numbers of cores.
        rounds: how many of each core's items; preloads are kept in any case.
    """
    rows = log.rows[np.isin(log.rows[:, layout.LOG_CORE], list(cores))]
    first = log.starts[rows[:, layout.LOG_CORE]]
    number = rows[:, layout.LOG_ITEM]
    # The cube's rows count the tiles of their core, the others have the item's row.
    is_cube = rows[:, layout.LOG_PIPE] == layout.PIPE_CUBE
    is_preload = ~is_cube & (number == layout.NO_OBJECT)
    numbers = np.where(is_cube, number, np.where(is_preload, PRELOAD_ROUND, number - first))
    items = np.where(is_preload, layout.NO_OBJECT, first + numbers)
    kept = numbers < rounds if rounds is not None else np.ones(len(rows), dtype=np.bool_)
    return Timeline(rows=rows[kept], items=items[kept], rounds=numbers[kept])
