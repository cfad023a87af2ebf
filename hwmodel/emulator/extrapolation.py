"""Kernels of more than ten million events: extrapolated from smaller ones.

The kernel is emulated on smaller problems that differ from it by whole periods of the walk, so
that pieces of the last round, alignment of rows and the order of blocks stay what they are. Every
figure of the result then grows in proportion to the length left out (docs/emulator.md, section 9).
The error that this brings is measured in tests/bench/test_bench_extrapolation.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm, prod

from hwmodel.emulator.constants import EmulatorConstants
from hwmodel.emulator.drift import Drift, Span, count_emulated, extend, follow_drift
from hwmodel.emulator.engine import emulate
from hwmodel.emulator.result import EmulationResult
from hwmodel.emulator.setup import select_cache_mode
from hwmodel.emulator.vector_engine import emulate_vector
from hwmodel.emulator.vector_setup import (
    CLEAR_BYTES,
    VECTOR_TEMPLATES,
    count_vector_events,
    tile_shape,
)
from hwmodel.errors import InputError
from hwmodel.integers import ceil_div
from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import MAX_DIM, GemmProblem
from hwmodel.walk.params import A_RESIDENT, B_RESIDENT, KSplit
from hwmodel.walk.pieces import LONG_K, LONG_SLICE_K, SLICE_K, compute_k_slices
from hwmodel.walk.plan_params import select_k_split

LONG_EVENTS = 10_000_000
"""Events above which a kernel is extrapolated: about a second of emulation."""

MAX_RUN_EVENTS = 100_000_000
"""Events of one smaller kernel beyond which there is no answer: about twenty seconds."""

ALIGNED_ELEMENTS = 64
"""Lengths change by multiples of this, so that rows keep their place in 128-byte lines."""

MIN_PERIODS = 8
"""Periods of the longest of the smaller kernels, at least."""

L2_FILLS = 4
"""Data that exceed L2 by this factor are as far from fitting as any larger ones."""

STEADY_PARTS = 1000
"""A time per period is steady when it changes by less than this part of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A direction in which the kernel repeats itself.

    Attributes:
        name: m, n or k.
        period: elements after which the walk is where it was.
        scopes: parts of the problem that are walked again and again, e.g. a window of rows. Their
            data must fit or exceed L2 as before.
    """

    name: str
    period: int
    scopes: tuple[GemmProblem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The lengths, ascending, at which a direction is emulated."""

    name: str
    length: int
    lengths: tuple[int, ...]


def count_events(problem: GemmProblem, plan: KernelPlan) -> int:
    """Loads and stores of the plan's kernel, to within a few parts in a hundred.

    Raises:
        InputError: the plan is of a vector template that cannot compute the problem.
    """
    if plan.template in VECTOR_TEMPLATES:
        return count_vector_events(problem, plan)
    streams = 1 if plan.template in (Template.A_FULL, Template.B_FULL) else 2
    slices = compute_k_slices(select_k_split(problem, plan), problem.k)[1]
    steps = ceil_div(problem.k, max(1, plan.k_l1(problem)))
    return plan.m_tiles(problem) * plan.n_tiles(problem) * (streams * steps + slices)


def emulate_long(
    problem: GemmProblem,
    plan: KernelPlan,
    constants: EmulatorConstants,
    *,
    limit_events: int = LONG_EVENTS,
) -> EmulationResult:
    """Emulate any kernel in bounded time.

    Up to `limit_events` events as `emulate` or `emulate_vector`; beyond that the result is
    extrapolated from smaller kernels and says so; late in it, cores have drifted apart, which is
    sampled (`drift.py`). Its errors are in docs/emulator.md, section 9.

    Raises:
        InputError: the plan cannot compute the problem, or repeats itself in no direction in which
            it could be shortened enough.
    """
    if count_events(problem, plan) <= limit_events:
        return _run(problem, plan, constants)
    if plan.template is Template.K_EQUAL_ZERO:
        return _clear_long(problem, plan, constants, limit_events)
    cuts, shortest = _select_cuts(problem, plan, constants, limit_events // 2)
    if prod(Fraction(sum(cut.lengths), cut.length) for cut in cuts) >= 1:
        # The smaller kernels would take longer than the whole one.
        cuts, shortest = (), problem
    events = count_events(shortest, _adapt(plan, shortest))
    if events > MAX_RUN_EVENTS:
        raise InputError(
            f"emulator: {problem.label()}: {events} events even when shortened; use larger tiles "
            "or another window"
        )
    return _extrapolate(problem, plan, constants, cuts)


def _run(problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants) -> EmulationResult:
    """Every event of the kernel."""
    run = emulate_vector if plan.template in VECTOR_TEMPLATES else emulate
    return run(problem, _adapt(plan, problem), constants)


def _adapt(plan: KernelPlan, problem: GemmProblem) -> KernelPlan:
    """The plan for a problem with another K."""
    if plan.template in {Template.STREAM_K, Template.K_EQUAL_ZERO}:
        return plan
    return replace(plan, single_core_k=problem.k)


def _shorten(problem: GemmProblem, name: str, length: int) -> GemmProblem:
    match name:
        case "m":
            return replace(problem, m=length)
        case "n":
            return replace(problem, n=length)
        case _:
            return replace(problem, k=length)


def _select_bypasses(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants
) -> tuple[bool, bool]:
    """Whether A and B pass L2 by."""
    if plan.template in VECTOR_TEMPLATES:
        is_to_mul = plan.template is Template.VECTOR
        return is_to_mul and problem.n == 1, is_to_mul and problem.n > 1
    return select_cache_mode(problem, plan, constants.l2_bytes)


def _footprint_bytes(problem: GemmProblem, bypasses: tuple[bool, bool]) -> int:
    """Bytes that L2 would hold if it held everything."""
    a_bytes = 0 if bypasses[0] else problem.a_total_bytes
    b_bytes = 0 if bypasses[1] else problem.b_total_bytes
    return a_bytes + b_bytes + problem.c_total_bytes


# Directions


def _list_axes(problem: GemmProblem, plan: KernelPlan) -> Iterator[Axis]:
    """The directions of the walk, outermost first."""
    rows, cols = tile_shape(problem, plan)
    cores, template = plan.used_core_num, plan.template
    if template in A_RESIDENT:
        yield _make_axis("n", cols, cores)
    elif template in B_RESIDENT:
        yield _make_axis("m", rows, cores)
    elif template is Template.VECTOR:
        name, base = ("n", cols) if problem.m == 1 else ("m", rows)
        yield _make_axis(name, base, cores)
    else:
        yield from _list_window_axes(problem, plan)
    if template is not Template.STREAM_K:
        window = _find_window(problem, plan)
        row_blocks, col_blocks = ceil_div(window.m, rows), ceil_div(window.n, cols)
        if plan.template is Template.B_PANEL:
            row_blocks = min(row_blocks, ceil_div(cores, col_blocks))
        else:
            col_blocks = min(col_blocks, ceil_div(cores, row_blocks))
        a_round = replace(
            window, m=min(window.m, row_blocks * rows), n=min(window.n, col_blocks * cols)
        )
        yield _make_axis("k", _depth_unit(problem, plan), 1, a_round, window)


def _make_axis(name: str, base: int, blocks: int, *scopes: GemmProblem) -> Axis:
    return Axis(name=name, period=lcm(base * blocks, ALIGNED_ELEMENTS), scopes=scopes)


def _find_window(problem: GemmProblem, plan: KernelPlan) -> GemmProblem:
    """What one window of blocks computes."""
    rows, cols = tile_shape(problem, plan)
    if plan.template is Template.B_PANEL:
        return replace(problem, n=min(problem.n, cols * plan.window_len))
    window = 1 if plan.template is Template.TO_MULTI_MUL else plan.window_len
    return replace(problem, m=min(problem.m, rows * window))


def _depth_unit(problem: GemmProblem, plan: KernelPlan) -> int:
    """Columns of K after which steps and slices repeat."""
    if plan.template in VECTOR_TEMPLATES:
        return plan.base_k
    unit = plan.k_l1(problem)
    if select_k_split(problem, plan) is KSplit.NONE:
        return unit
    return lcm(unit, SLICE_K if problem.k <= LONG_K else LONG_SLICE_K)


def _list_window_axes(problem: GemmProblem, plan: KernelPlan) -> Iterator[Axis]:
    """Windows of block rows, and the columns of a window; exchanged in B_PANEL."""
    cores = plan.used_core_num
    names, bases = ("m", "n"), tile_shape(problem, plan)
    tiles = (ceil_div(problem.m, bases[0]), ceil_div(problem.n, bases[1]))
    if plan.template is Template.B_PANEL:
        names, bases, tiles = names[::-1], bases[::-1], tiles[::-1]
    is_row_major = plan.template is Template.TO_MULTI_MUL
    window = 1 if is_row_major else min(plan.window_len, tiles[0])
    turns = 2 if plan.serpentine and not is_row_major else 1
    for pair in {turns: None, 1: None}:
        # The last round and the place of rounds in windows stay the same.
        blocks = pair * window
        blocks *= cores // gcd(blocks * tiles[1], cores)
        axis = _make_axis(names[0], bases[0], blocks)
        if getattr(problem, names[0]) >= (MIN_PERIODS + 1) * axis.period:
            yield axis
            break
    blocks = cores // gcd(window, tiles[0], cores)
    yield _make_axis(names[1], bases[1], blocks, _find_window(problem, plan))


# Lengths


def _select_cuts(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants, budget: int
) -> tuple[tuple[Cut, ...], GemmProblem]:
    """Where to shorten until a kernel has at most `budget` events, and that kernel."""
    cuts = []
    least_bytes = _list_least_bytes(problem, plan, constants)
    for axis in _list_axes(problem, plan):
        events = count_events(problem, _adapt(plan, problem))
        if events <= budget:
            break
        longest = getattr(problem, axis.name) // axis.period * budget // events
        cut = _select_lengths(problem, axis, longest, least_bytes, constants.l2_capacity_bytes)
        if cut is not None:
            cuts.append(cut)
            problem = _shorten(problem, cut.name, cut.lengths[-1])
    return tuple(cuts), problem


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastBytes:
    """Data that even the smallest kernel must have.

    Attributes:
        bypasses: whether A and B pass L2 by.
        listed: those that L2 holds: enough to fill it, if the whole kernel does; evictions begin
            then, and the time grows faster.
        total: those that decide on the cache mode.
    """

    bypasses: tuple[bool, bool]
    listed: int
    total: int


def _list_least_bytes(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants
) -> LeastBytes:
    """What the smaller kernels of this one must have."""
    bypasses = _select_bypasses(problem, plan, constants)
    whole, capacity = _footprint_bytes(problem, bypasses), constants.l2_capacity_bytes
    total = _footprint_bytes(problem, (False, False))
    return LeastBytes(
        bypasses=bypasses,
        listed=min(L2_FILLS * capacity, (capacity + whole) // 2) if whole > capacity else 0,
        total=constants.l2_bytes if total >= constants.l2_bytes else 0,
    )


def _select_lengths(
    problem: GemmProblem, axis: Axis, longest: int, least_bytes: LeastBytes, capacity: int
) -> Cut | None:
    """Lengths of one direction, up to `longest` periods if that is enough.

    None when the direction is too short to be cut.
    """
    length = getattr(problem, axis.name)
    periods, rest = divmod(length, axis.period)
    bypasses = least_bytes.bypasses
    least = max(
        _count_periods(problem, axis, rest, bypasses, least_bytes.listed),
        _count_periods(problem, axis, rest, (False, False), least_bytes.total),
    )
    for scope in axis.scopes:
        size = _footprint_bytes(scope, bypasses)
        if size > capacity // 2:
            # About as large as L2: every byte counts. Much larger: it never finds itself again.
            wanted = min(size, L2_FILLS * capacity)
            least = max(least, _count_periods(scope, axis, rest, bypasses, wanted))
    longest = max(longest, 2 * least, MIN_PERIODS)
    if longest >= periods:
        return None
    kept = {longest >> shift for shift in range(4)}
    # One that does not fill L2, or has not even two periods, is not like the others.
    counts = sorted(count for count in kept if count >= max(least, 2))
    lengths = tuple(rest + count * axis.period for count in counts)
    return Cut(name=axis.name, length=length, lengths=lengths)


def _count_periods(
    problem: GemmProblem, axis: Axis, rest: int, bypasses: tuple[bool, bool], wanted: int
) -> int:
    """Periods with which the data of the problem are at least `wanted` bytes."""
    shortest = max(1, rest)
    fixed = _footprint_bytes(_shorten(problem, axis.name, shortest), bypasses)
    longer = _footprint_bytes(_shorten(problem, axis.name, shortest + axis.period), bypasses)
    return ceil_div(max(0, wanted - fixed), longer - fixed)


# Results


def _extrapolate(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants, cuts: tuple[Cut, ...]
) -> EmulationResult:
    """The result at the cuts' full lengths."""
    if not cuts:
        return _run(problem, plan, constants)
    cut, inner = cuts[0], cuts[1:]
    results: list[EmulationResult] = []
    for length in cut.lengths:
        shorter = _shorten(problem, cut.name, length)
        results.append(_extrapolate(shorter, plan, constants, inner))
        if _is_steady(cut, results):
            break
    start, end = cut.lengths[len(results) - 2 : len(results)]
    span = Span(before=results[-2], last=results[-1], length=end - start)
    more = cut.length - end
    parts = [(span, more)]
    if not inner and _may_drift(problem, plan, constants, cut.name):
        kernel = Drift(
            problem=problem,
            plan=plan,
            constants=constants,
            name=cut.name,
            start=cut.lengths[0],
            length=cut.lengths[1] - cut.lengths[0],
            reached=end,
        )
        drifted = follow_drift(kernel, span, more)
        if drifted is None and count_events(problem, plan) <= MAX_RUN_EVENTS:
            return _run(problem, plan, constants)
        parts = drifted or parts
    emulated = count_emulated(span, parts) + sum(
        result.events if result.emulated_events is None else result.emulated_events
        for result in results
    )
    return replace(extend(span, parts), emulated_events=emulated)


def _may_drift(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants, name: str
) -> bool:
    """Whether it matters how far apart the cores are: they share what an L2 cannot keep."""
    is_windowed = plan.template not in VECTOR_TEMPLATES | A_RESIDENT | B_RESIDENT
    is_outer = name == ("n" if plan.template is Template.B_PANEL else "m")
    bypasses = _select_bypasses(problem, plan, constants) if is_windowed else (False, False)
    whole = _footprint_bytes(problem, bypasses)
    return is_windowed and is_outer and whole > constants.l2_capacity_bytes


def _is_steady(cut: Cut, results: list[EmulationResult]) -> bool:
    """Whether the time per length was the same in the last two spans."""
    if len(results) <= 2:
        return False
    times = [result.makespan_ticks for result in results[-3:]]
    lengths = cut.lengths[len(results) - 3 : len(results)]
    first = (times[1] - times[0]) * (lengths[2] - lengths[1])
    second = (times[2] - times[1]) * (lengths[1] - lengths[0])
    return abs(second - first) * STEADY_PARTS <= abs(first)


def _clear_long(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants, limit_events: int
) -> EmulationResult:
    """K_EQUAL_ZERO: only the number of elements counts, so a C of one row stands for any."""
    total = problem.m * problem.n
    period = plan.used_core_num * (CLEAR_BYTES // problem.out_dtype.size_bytes)
    periods, rest = divmod(total, period)
    scope = replace(problem, m=1, n=max(1, rest))
    period_bytes = period * problem.out_dtype.size_bytes
    least = ceil_div(L2_FILLS * constants.l2_capacity_bytes, period_bytes)
    longest = max(limit_events // 2 // plan.used_core_num, 2 * least, MIN_PERIODS)
    longest = min(longest, (MAX_DIM - rest) // period)
    if longest >= periods:
        return _run(problem, plan, constants)
    counts = (longest // 2, longest)
    cut = Cut(name="n", length=total, lengths=tuple(rest + n * period for n in counts))
    return _extrapolate(scope, plan, constants, (cut,))
