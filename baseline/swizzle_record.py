"""A schedule in the form of the golden work lists (specification: swizzle.md, "The golden files").

Short schedules are written out, long ones given by their first and last items and the number of
items of each core; digests cover every item in either case. Items are made and hashed one by one,
so the memory needed does not grow with the schedule.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from hwmodel.errors import InputError
from hwmodel.plan import Template
from hwmodel.walk import AIV_PER_AIC, Schedule, WalkItem

MAX_LISTED_ITEMS = 400
"""Items up to which a work list is written out (specification: swizzle.md, "The golden files")."""

MAX_LISTED_FIXPIPE_RECORDS = 160
"""Records up to which the list of a fixpipe kernel's vector cores is written out (same place)."""

END_ITEMS = 5
"""Items shown from either end of a long work list (same place)."""

MAX_ITEMS = 10_000_000
"""Most work items of an answer. Each is made and hashed, in about two microseconds, so this bounds
an answer to about a minute; the longest golden list has 2,688 items, and a product of a
model's layer some ten thousand."""

_FULL_LOADS = frozenset({Template.A_FULL, Template.B_FULL})
_ITEM_LINE = "%d:%d,%d,%d,%d,%d,%d,%d,%d,%d\n"
_SLOT_LINE = "%d:%d\n"
_VECTOR_LINE = "%d:%d,%d,%d,%d,%d,%d\n"

Record = dict[str, object]
Row = tuple[int, ...]
CoreItems = Callable[[int], Iterator[WalkItem]]


def build_record(schedule: Schedule) -> Record:
    """The `output` object of the schedule, keys in the order of the golden files.

    Raises:
        InputError: the schedule has more than `MAX_ITEMS` work items.
    """
    count = schedule.count
    if count > MAX_ITEMS:
        raise InputError(
            f"the schedule has {count} work items: at most {MAX_ITEMS} are listed and hashed; "
            "give larger tiles or a smaller problem"
        )
    is_listed = count <= MAX_LISTED_ITEMS
    sha256, _ = _hash_rows(_ITEM_LINE, _label_rows(schedule, schedule.items))
    record: Record = {"blockNum": schedule.block_num, "count": count, "sha256": sha256}
    record |= {"items": _list_items(schedule, schedule.items)} if is_listed else _ends(schedule)
    template = schedule.params.template
    if template in _FULL_LOADS:
        sha256, blocks = _hash_rows(_ITEM_LINE, _label_rows(schedule, schedule.blocks))
        record |= {"l1_count": blocks, "l1_sha256": sha256}
        if is_listed:
            record["l1"] = _list_items(schedule, schedule.blocks)
    if template is Template.STREAM_K:
        record["ws_sha256"], _ = _hash_rows(_SLOT_LINE, _label_slots(schedule))
        if is_listed:
            cores = range(schedule.block_num)
            record["ws_slot"] = [list(schedule.workspace_slots(core)) for core in cores]
        record |= _describe_writers(schedule, MAX_LISTED_ITEMS if is_listed else 0)
    elif schedule.params.is_fixpipe:
        record |= _describe_writers(schedule, MAX_LISTED_FIXPIPE_RECORDS)
    return record


def _describe_writers(schedule: Schedule, max_listed: int) -> Record:
    """The vector cores' records, listed up to `max_listed` of them."""
    sha256, count = _hash_rows(_VECTOR_LINE, _vector_rows(schedule))
    record: Record = {"aiv_count": count, "aiv_sha256": sha256}
    if count <= max_listed:
        record["aiv"] = [list(row) for row in _vector_rows(schedule)]
    return record


def _ends(schedule: Schedule) -> Record:
    cores = range(schedule.block_num)
    last: deque[Row] = deque()
    for core in reversed(cores):
        rows = deque(((core, *item) for item in schedule.items(core)), END_ITEMS - len(last))
        last.extendleft(reversed(rows))
        if len(last) == END_ITEMS:
            break
    first = islice(_label_rows(schedule, schedule.items), END_ITEMS)
    return {
        "first": [list(row) for row in first],
        "last": [list(row) for row in last],
        "per_core": [schedule.item_count(core) for core in cores],
    }


def _list_items(schedule: Schedule, items: CoreItems) -> list[list[list[int]]]:
    return [[list(item) for item in items(core)] for core in range(schedule.block_num)]


def _label_rows(schedule: Schedule, items: CoreItems) -> Iterator[Row]:
    """The items core by core, each with its core in front."""
    return ((core, *item) for core in range(schedule.block_num) for item in items(core))


def _label_slots(schedule: Schedule) -> Iterator[Row]:
    return (
        (core, slot)
        for core in range(schedule.block_num)
        for slot in schedule.workspace_slots(core)
    )


def _vector_rows(schedule: Schedule) -> Iterator[Row]:
    aivs = range(AIV_PER_AIC * schedule.block_num)
    return chain.from_iterable(schedule.vector_records(aiv) for aiv in aivs)


def _hash_rows(line: str, rows: Iterable[Row]) -> tuple[str, int]:
    """sha256 over the rows as lines, and their number."""
    digest = hashlib.sha256()
    count = 0
    for row in rows:
        digest.update((line % row).encode())
        count += 1
    return digest.hexdigest(), count
