"""Why a part of the time differs between two plans: rules that name what the plans do differently.

A rule compares the kernel that is explained (`this`) with the `other` one, and says something only
where the difference goes the right way: down for a part that takes less, up for one that takes
more. So a reason is never given for what it cannot explain.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from autotune.breakdown_rows import format_bytes
from autotune.report.text import format_count, format_us, name_template
from hwmodel.cost.breakdown import Bound, CostBreakdown
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec

STREAMING: Final = frozenset({Template.ASWT, Template.BASE, Template.STREAM_K})
"""Templates that load both operands anew for every tile: A once a block column, B once a row."""

BOUND_NAMES: Final = {
    Bound.CUBE: "the cube",
    Bound.MTE2: "MTE2",
    Bound.MTE1: "MTE1",
    Bound.FIXPIPE: "the fixpipe",
    Bound.VECTOR: "the vector cores",
    Bound.LAUNCH: "the launch",
}
"""What decides, in words."""

PIPES: Final = (
    (Bound.CUBE, "cube_time_us"),
    (Bound.MTE2, "mte2_time_us"),
    (Bound.MTE1, "mte1_time_us"),
    (Bound.FIXPIPE, "fixpipe_time_us"),
)
"""Pipes and their busy times in a breakdown."""

_LEAST_CHANGE: Final = 0.02
"""Relative change of a traffic below which it explains nothing."""

_EXPLAINING_SHARE: Final = 0.5
"""What a reason must make up: that part of the difference, and a pipe that part of the rounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedKernel:
    """One of the two kernels.

    Attributes:
        name: what the text calls it, e.g. `the operator's plan`.
        plan: its plan.
        cost: its predicted cost.
    """

    name: str
    plan: KernelPlan
    cost: CostBreakdown


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two kernels for one problem, and which way the part to explain differs.

    Attributes:
        problem: the problem.
        spec: the chip.
        this: the kernel that is explained.
        other: the one that it is compared with.
        takes_less: the part takes `this` less time.
    """

    problem: GemmProblem
    spec: HardwareSpec
    this: ExplainedKernel
    other: ExplainedKernel
    takes_less: bool

    def explains(self, this: float, other: float) -> bool:
        """A figure of which more takes longer differs the way the time does, and enough."""
        low, high = (this, other) if self.takes_less else (other, this)
        return low < high * (1.0 - _LEAST_CHANGE)

    def weighs(self, part: str, this: float, other: float) -> bool:
        """The figure explains, and it differs about as much as the part of the time does."""
        parts_us = [getattr(kernel.cost, part) for kernel in (self.this, self.other)]
        needed = _EXPLAINING_SHARE * _relative_change(*parts_us)
        return self.explains(this, other) and _relative_change(this, other) >= needed


def _relative_change(one: float, two: float) -> float:
    return abs(one - two) / max(one, two) if max(one, two) > 0.0 else 0.0


def find_reasons(part: str, pair: Pair) -> tuple[str, ...]:
    """Why a part of the time differs, in clauses; none where no rule knows.

    Args:
        part: the field of the breakdown, e.g. `rounds_us`.
        pair: the kernels.
    """
    return tuple(_RULES[part](pair))


def count_loads(problem: GemmProblem, plan: KernelPlan) -> tuple[int, int]:
    """How often a kernel of a streaming template loads A and B: a block column, a block row."""
    return plan.n_tiles(problem), plan.m_tiles(problem)


def _explain_launch(pair: Pair) -> Iterator[str]:
    """Kernels with vector cores take longer to start."""
    kinds = [_describe_kernel(kernel.plan) for kernel in (pair.this, pair.other)]
    if kinds[0] != kinds[1]:
        yield f"it is the {kinds[0]} kernel instead of {kinds[1]}"


def _describe_kernel(plan: KernelPlan) -> str:
    way = " via UB" if plan.l0c_output is L0cOutput.FIXPIPE else ""
    return name_template(plan.template) + way


def _explain_prologue(pair: Pair) -> Iterator[str]:
    """The first multiplication waits for the first slabs of A and B."""
    plans = pair.this.plan, pair.other.plan
    if not {plan.template for plan in plans} <= STREAMING:
        return
    sizes = [
        (plan.base_m + plan.base_n) * plan.k_l1(pair.problem) * pair.problem.dtype.size_bytes
        for plan in plans
    ]
    if pair.weighs("prologue_us", *sizes):
        this, other = map(format_bytes, sizes)
        yield f"the first slabs of A and B hold {this} a core instead of {other}"


def _explain_epilogue(pair: Pair) -> Iterator[str]:
    """The end: partial sums, or the last tile of C."""
    plans = pair.this.plan, pair.other.plan
    adds_up = tuple(plan.template is Template.STREAM_K for plan in plans)
    if adds_up == (not pair.takes_less, pair.takes_less):
        yield "partial sums are added up" if adds_up[0] else "there are no partial sums to add up"
        return
    yield from _explain_lines(pair)
    sizes = [_row_bytes(pair.problem, plan) * min(plan.base_m, pair.problem.m) for plan in plans]
    if pair.weighs("epilogue_us", *sizes):
        this, other = map(format_bytes, sizes)
        yield f"the last tile of a core has {this} of C instead of {other}"


def _explain_lines(pair: Pair) -> Iterator[str]:
    """The fixpipe pays for lines of C that two tiles share (specification: effects.md)."""
    line_bytes = pair.spec.cache.line_bytes
    is_cut = tuple(
        _row_bytes(pair.problem, kernel.plan) % line_bytes > 0
        and kernel.plan.n_tiles(pair.problem) > 1
        for kernel in (pair.this, pair.other)
    )
    if is_cut == (not pair.takes_less, pair.takes_less):
        kind = "not whole" if is_cut[0] else "whole"
        yield f"the rows that a tile stores are {kind} {line_bytes}-byte lines of C"


def _row_bytes(problem: GemmProblem, plan: KernelPlan) -> int:
    """Bytes of C in a row of a tile."""
    return min(plan.base_n, problem.n) * problem.out_dtype.size_bytes


def _explain_rounds(pair: Pair) -> Iterator[str]:
    """The work itself: cores, rounds, traffic, and how well the pipes overlap."""
    yield from _explain_share(pair)
    less, more = pair.this.cost, pair.other.cost
    if not pair.takes_less:
        less, more = more, less
    rounds_us = more.rounds_us
    changes = {
        bound: getattr(more, name) - getattr(less, name)
        for bound, name in PIPES
        if getattr(more, name) >= _EXPLAINING_SHARE * rounds_us
    }
    pipe = max(changes, key=lambda bound: changes[bound], default=None)
    if pipe is None or changes[pipe] < _EXPLAINING_SHARE * (rounds_us - less.rounds_us):
        yield from _explain_waits(pair)
        return
    reasons = list(_explain_loads(pair)) if pipe is Bound.MTE2 else []
    why = f" ({', '.join(reasons)})" if reasons else ""
    yield f"{describe_busy_change(pipe, changes[pipe], takes_less=pair.takes_less)}{why}"


def describe_busy_change(pipe: Bound, change_us: float, *, takes_less: bool) -> str:
    """By how much a pipe's busy time differs."""
    how = "less" if takes_less else "longer"
    return f"{BOUND_NAMES[pipe]} is busy {format_us(change_us)} us {how}"


def _explain_share(pair: Pair) -> Iterator[str]:
    """More cores, or fewer rounds of blocks."""
    cores = [kernel.plan.used_core_num for kernel in (pair.this, pair.other)]
    if pair.explains(cores[1], cores[0]):
        yield f"{format_count(cores[0], 'core')} instead of {cores[1]:,} have work"
    rounds = [kernel.cost.rounds for kernel in (pair.this, pair.other)]
    if pair.explains(*rounds):
        yield f"the blocks take {format_count(rounds[0], 'round')} instead of {rounds[1]:,}"


def _explain_loads(pair: Pair) -> Iterator[str]:
    """Which operand is loaded more or less often, and which bytes that moves."""
    problem = pair.problem
    plans = pair.this.plan, pair.other.plan
    if {plan.template for plan in plans} <= STREAMING:
        this, other = (count_loads(problem, plan) for plan in plans)
        for operand, once, size in zip(
            "AB",
            zip(this, other, strict=True),
            (problem.a_total_bytes, problem.b_total_bytes),
            strict=True,
        ):
            if pair.explains(*once) and size:
                yield f"{operand} is loaded {_times(once[0])} instead of {_times(once[1])}"
    if problem.trans_b or not problem.trans_a:
        runs = [plan.k_l1(problem) * problem.dtype.size_bytes for plan in plans]
        if pair.explains(runs[1], runs[0]):
            yield f"a load takes {runs[0]} bytes of a row of K instead of {runs[1]}"
    for what, name in (("HBM", "hbm_read_bytes"), ("L2", "l2_read_bytes")):
        sizes = getattr(pair.this.cost, name), getattr(pair.other.cost, name)
        if pair.explains(*sizes):
            this_size, other_size = (format_bytes(size) if size else "none" for size in sizes)
            yield f"{this_size} from {what} instead of {other_size}"


def _explain_waits(pair: Pair) -> Iterator[str]:
    """The busiest pipe is kept waiting less, or more; what bears on that is named beside it."""
    waits_us = [_wait_us(kernel.cost) for kernel in (pair.this, pair.other)]
    if not pair.explains(*waits_us):
        return
    this, other = pair.this.plan, pair.other.plan
    settings = [
        f"{what} {before} instead of {after}"
        for what, before, after in (
            ("L0 steps in columns of K:", this.base_k, other.base_k),
            ("L1 steps in columns of K:", this.k_l1(pair.problem), other.k_l1(pair.problem)),
            ("tiles in L0C:", this.db_l0c, other.db_l0c),
            ("block rows in a window:", this.window_len, other.window_len),
        )
        if before != after
    ]
    yield (
        f"{BOUND_NAMES[_busiest(pair.this.cost)]}, its busiest pipe, waits "
        f"{format_us(waits_us[0])} us for the others instead of {format_us(waits_us[1])}"
        + (f" ({'; '.join(settings)})" if settings else "")
    )


def _busiest(cost: CostBreakdown) -> Bound:
    return max(PIPES, key=lambda pipe: getattr(cost, pipe[1]))[0]


def _wait_us(cost: CostBreakdown) -> float:
    """Time of the rounds in which the busiest pipe is idle."""
    busy_us: float = max(getattr(cost, name) for _, name in PIPES)
    return max(0.0, cost.rounds_us - busy_us)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


_RULES: Final[dict[str, Callable[[Pair], Iterator[str]]]] = {
    "launch_us": _explain_launch,
    "prologue_us": _explain_prologue,
    "rounds_us": _explain_rounds,
    "epilogue_us": _explain_epilogue,
}
