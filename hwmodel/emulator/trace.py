"""A timeline in Chrome's trace format, which Perfetto and MindStudio Insight open.

The format: a JSON object whose `traceEvents` are complete events (`ph` X) with a begin `ts` and a
duration `dur` in microseconds, and metadata events (`ph` M) that name processes and threads.
MindStudio Insight takes a file as an operator's timeline by the key `profilingType` in front.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from hwmodel.emulator import layout
from hwmodel.emulator.activity import PIPES
from hwmodel.emulator.constants import TICKS_PER_CYCLE
from hwmodel.emulator.engine import EventLog
from hwmodel.emulator.geometry import Vector
from hwmodel.emulator.timeline import PRELOAD_ROUND, Timeline, select_timeline
from hwmodel.errors import InputError
from hwmodel.plan import KernelPlan
from hwmodel.spec import HardwareSpec

MAX_TRACE_BYTES = 50_000_000
"""Largest trace that viewers open without trouble."""

_MARGIN = 1.05
"""How much longer the events of a part may be than those of a sample."""

_SAMPLE = 2000
"""Events that are written out to learn how long they are; a fixed choice."""

_HEADER = '{"profilingType":"op","schemaVersion":1,"displayTimeUnit":"ns","traceEvents":[\n'
_NS_PER_US = 1000
_OPERANDS = {layout.OPERAND_A: "A slab", layout.OPERAND_B: "B slab"}
_FOUND = {
    layout.HIT: "hit",
    layout.FOLLOWER: "in flight",
    layout.LEADER: "miss",
    layout.BYPASS: "bypassed",
}


def select_trace(
    log: EventLog, plan: KernelPlan, spec: HardwareSpec, cores: Sequence[int], rounds: int | None
) -> Timeline:
    """The part of a log that the trace shows.

    Args:
        log: the log.
        plan: the plan that ran.
        spec: the chip.
        cores: ascending numbers of cores.
        rounds: items of each core, None for all.

    Raises:
        InputError: it is too long for the viewers; the message says how to cut it.
    """
    timeline = select_timeline(log, cores, rounds)
    limit = _count_affordable(timeline, log, plan, spec)
    if len(timeline.rows) <= limit:
        return timeline
    per_core = np.bincount(timeline.rows[:, layout.LOG_CORE], minlength=max(cores) + 1)
    fitting_cores = _count_fitting(per_core[list(cores)], limit)
    # Preloads have round -1.
    fitting_rounds = _count_fitting(np.bincount(timeline.rounds - PRELOAD_ROUND), limit) - 1
    ways = []
    if fitting_rounds > 0:
        ways.append(f"--rounds {fitting_rounds}")
    if fitting_cores > 0:
        ways.append(f"--cores {','.join(format_ranges(cores[:fitting_cores]))}")
    if not ways:
        ways.append("--cores 0 --rounds 1")
    raise InputError(
        f"{len(timeline.rows)} events make more than the {MAX_TRACE_BYTES // 1_000_000} MB that "
        f"viewers take; show fewer with {' or '.join(ways)}"
    )


def _count_affordable(
    timeline: Timeline, log: EventLog, plan: KernelPlan, spec: HardwareSpec
) -> int:
    """How many events like these fill a trace."""
    count = len(timeline.rows)
    if count <= _SAMPLE:
        return count
    chosen = np.sort(np.random.default_rng(0).choice(count, _SAMPLE, replace=False))
    sample = Timeline(
        rows=timeline.rows[chosen], items=timeline.items[chosen], rounds=timeline.rounds[chosen]
    )
    size = sum(len(line) for line in write_trace_lines(sample, log, plan, spec))
    return int(MAX_TRACE_BYTES / (size / _SAMPLE * _MARGIN))


def _count_fitting(counts: Vector, limit: int) -> int:
    """How many of the first entries add up to no more than the limit."""
    return int(np.searchsorted(np.cumsum(counts), limit, side="right"))


def format_ranges(numbers: Sequence[int]) -> list[str]:
    """Ascending numbers as ranges, e.g. `0-3` and `7`."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return [f"{low}-{high}" if low < high else str(low) for low, high in ranges]


def write_trace_lines(
    timeline: Timeline, log: EventLog, plan: KernelPlan, spec: HardwareSpec
) -> Iterator[str]:
    """The lines of the trace, ASCII; together one JSON object.

    Args:
        timeline: what to show.
        log: the log that it is a part of.
        plan: the plan that ran.
        spec: the chip, for its clock.
    """
    lines = [*_name_tracks(timeline), *_list_events(timeline, log, plan, spec)]
    yield _HEADER
    yield from (f"{line},\n" for line in lines[:-1])
    yield f"{lines[-1]}\n" if lines else ""
    yield "]}\n"


def _name_tracks(timeline: Timeline) -> Iterator[str]:
    """Names and order of the processes and threads that have events."""
    tracks = np.unique(timeline.rows[:, [layout.LOG_CORE, layout.LOG_PIPE]], axis=0)
    for core in np.unique(tracks[:, 0]):
        track = f'"ph":"M","pid":{core}'
        yield f'{{{track},"name":"process_name","args":{{"name":"core {core}"}}}}'
        yield f'{{{track},"name":"process_sort_index","args":{{"sort_index":{core}}}}}'
    for core, pipe in tracks:
        track = f'"ph":"M","pid":{core},"tid":{pipe}'
        yield f'{{{track},"name":"thread_name","args":{{"name":"{PIPES[pipe]}"}}}}'
        yield f'{{{track},"name":"thread_sort_index","args":{{"sort_index":{pipe}}}}}'


def _list_events(
    timeline: Timeline, log: EventLog, plan: KernelPlan, spec: HardwareSpec
) -> Iterator[str]:
    """One event a piece of work.

    Begin and end are rounded to nanoseconds before their difference is taken, so that pieces that
    follow each other do not overlap.
    """
    rows, items = timeline.rows, log.items
    to_ns = _NS_PER_US / (TICKS_PER_CYCLE * spec.cores.clock_mhz)
    begins = np.rint(rows[:, layout.LOG_START] * to_ns).astype(np.int64).tolist()
    ends = np.rint(rows[:, layout.LOG_END] * to_ns).astype(np.int64).tolist()
    places = {
        int(item): (
            f"{items[item, layout.M_OFF] // plan.base_m},"
            f"{items[item, layout.N_OFF] // plan.base_n}"
        )
        for item in np.unique(timeline.items)
        if item != layout.NO_OBJECT
    }
    selected = zip(
        rows.tolist(), begins, ends, timeline.items.tolist(), timeline.rounds.tolist(), strict=True
    )
    for (core, pipe, _, _, _, detail), begin, end, item, number in selected:
        tile = places.get(item, "")
        args = f'"round":{number}'
        if pipe == layout.PIPE_MTE2:
            operand, kind = divmod(detail, layout.LOG_OPERAND)
            name = _OPERANDS[operand]
            args += f',"tile":"{tile}","l2":"{_FOUND[kind]}"'
        else:
            name = f"tile {tile}"
            if pipe == layout.PIPE_MTE1:
                args += f',"l1_step":{detail}'
        yield (
            f'{{"ph":"X","pid":{core},"tid":{pipe},"ts":{_format_us(begin)},'
            f'"dur":{_format_us(end - begin)},"name":"{name}","args":{{{args}}}}}'
        )


def _format_us(ns: int) -> str:
    """Nanoseconds as microseconds, exactly."""
    whole, part = divmod(ns, _NS_PER_US)
    return f"{whole}.{part:03d}"
