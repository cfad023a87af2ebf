"""Why one kernel beats another, in a paragraph made by rules from the two breakdowns.

The parts of the time (launch, prologue, rounds, epilogue) sum to it, so what the parts win and
pay sums to the difference. Each part worth naming is given with what explains it
(`autotune.explanation_reasons`), the costs last.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from autotune.breakdown_rows import format_bytes
from autotune.explanation_reasons import (
    BOUND_NAMES,
    PIPES,
    ExplainedKernel,
    Pair,
    describe_busy_change,
    find_reasons,
)
from autotune.report.text import TIMES, describe_tiling, format_gap, format_us
from hwmodel.plan import KernelPlan
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import DAV_3510

PARTS: Final = {
    "launch_us": "at the launch",
    "prologue_us": "before the first multiplication",
    "rounds_us": "in the rounds of blocks",
    "epilogue_us": "after the last multiplication",
}
"""Parts that sum to the time, and where in the kernel they are."""

_TRAFFIC: Final = (
    ("hbm_read_bytes", "reads", "from HBM"),
    ("l2_read_bytes", "reads", "from L2"),
    ("write_bytes", "writes", "of C"),
)
"""Bytes of a breakdown, in words."""

_NAMED_SHARE: Final = 0.03
"""Part of the difference from which a part of the time, or a pipe, is worth naming."""

_LEAST_NAMED_US: Final = 0.005
"""Least time that is worth naming: what is printed as more than 0.00 us."""

_NAMED_CHANGE: Final = 0.02
"""Relative growth of a traffic from which it is worth naming."""

_FINE_DIGITS: Final = 3
"""Decimals of times that three digits do not tell apart: nanoseconds."""

_SAME_RATIO: Final = 1e-6
"""Times closer than this are the same: searches compare six digits (specification: studies.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two kernels for one problem on one chip.

    Attributes:
        problem: the problem.
        spec: the chip.
        first: the kernel compared with, e.g. the operator's.
        second: the kernel that the comparison is about.
    """

    problem: GemmProblem
    spec: HardwareSpec
    first: ExplainedKernel
    second: ExplainedKernel

    @property
    def gap_ratio(self) -> float:
        """t_first / t_second - 1; negative when the second takes longer."""
        return self.first.cost.task_duration_us / self.second.cost.task_duration_us - 1.0


def describe_plan(plan: KernelPlan) -> str:
    """A plan in one line of ASCII."""
    return describe_tiling(plan).replace(TIMES, "x")


def describe_chip(spec: HardwareSpec) -> str:
    """The chip's name, and whether the heuristic is applied to one that it is not made for."""
    if spec.npu_arch == DAV_3510:
        return spec.name
    return f"{spec.name} (the heuristic of the Ascend 950 applied to a chip of {spec.npu_arch})"


def explain(comparison: Comparison) -> str:
    """Why the faster of the two kernels wins, and what it pays for it."""
    first, second = comparison.first, comparison.second
    if first.plan == second.plan:
        return f"{_capitalise(second.name)} is {first.name}: {describe_plan(first.plan)}."
    if abs(comparison.gap_ratio) < _SAME_RATIO:
        return (
            f"{_capitalise(second.name)} and {first.name} take the same time, "
            f"{format_us(first.cost.task_duration_us)} us."
        )
    faster, slower = (second, first) if comparison.gap_ratio > 0.0 else (first, second)
    return " ".join(_write_sentences(comparison, faster, slower))


def _write_sentences(
    comparison: Comparison, faster: ExplainedKernel, slower: ExplainedKernel
) -> Iterator[str]:
    """What is won, where and why; what it costs; what decides."""
    before_us, after_us = slower.cost.task_duration_us, faster.cost.task_duration_us
    won_us = before_us - after_us
    yield (
        f"{_capitalise(faster.name)} wins {format_us(won_us)} us over {slower.name}: "
        f"{_format_apart(after_us, before_us)} ({format_gap(before_us / after_us - 1.0)})."
    )
    least_us = max(_NAMED_SHARE * won_us, _LEAST_NAMED_US)
    told: list[str] = []
    changes_us = {name: getattr(slower.cost, name) - getattr(faster.cost, name) for name in PARTS}
    named = sorted(
        (name for name in PARTS if abs(changes_us[name]) >= least_us),
        key=lambda name: -changes_us[name],
    )
    for name in named:
        takes_less = changes_us[name] > 0.0
        pair = Pair(
            problem=comparison.problem,
            spec=comparison.spec,
            this=faster,
            other=slower,
            takes_less=takes_less,
        )
        verb = "It saves" if takes_less else "It pays"
        more = "" if takes_less else " more"
        reasons = find_reasons(name, pair)
        told += reasons
        why = f": {'; '.join(reasons)}" if reasons else ""
        yield f"{verb} {format_us(abs(changes_us[name]))} us{more} {PARTS[name]}{why}."
    yield _describe_costs(faster, slower, least_us, " ".join(told))
    yield _describe_bounds(faster, slower)


def _describe_costs(
    faster: ExplainedKernel, slower: ExplainedKernel, least_us: float, told: str
) -> str:
    """Pipes that are busy longer and traffic that grows, whether or not they show in the time.

    What is `told` already is left out.
    """
    costs = [
        clause
        for bound, name in PIPES
        if (longer_us := getattr(faster.cost, name) - getattr(slower.cost, name)) >= least_us
        and (clause := describe_busy_change(bound, longer_us, takes_less=False)) not in told
    ]
    for name, verb, what in _TRAFFIC:
        more, less = getattr(faster.cost, name), getattr(slower.cost, name)
        if more > less * (1.0 + _NAMED_CHANGE):
            costs.append(f"it {verb} {format_bytes(more - less)} more {what}")
    return f"Elsewhere: {', '.join(costs)}." if costs else "It costs nothing elsewhere."


def _describe_bounds(faster: ExplainedKernel, slower: ExplainedKernel) -> str:
    """What decides each of the two."""
    before, after = slower.cost.bound, faster.cost.bound
    if before is after:
        return f"In both {BOUND_NAMES[after]} decides."
    return (
        f"In {slower.name} {BOUND_NAMES[before]} decides, in {faster.name} {BOUND_NAMES[after]}."
    )


def _format_apart(after_us: float, before_us: float) -> str:
    """Two times with enough digits to tell them apart."""
    after, before = format_us(after_us), format_us(before_us)
    if after == before:
        after, before = f"{after_us:,.{_FINE_DIGITS}f}", f"{before_us:,.{_FINE_DIGITS}f}"
    return f"{after} us instead of {before}"


def _capitalise(text: str) -> str:
    return text[0].upper() + text[1:]
