"""What cores do late in a long kernel, when they have drifted apart.

Core p computes blocks p, p + P, ... . Where the number of cores and that of the block columns have
a common factor the short blocks at the edge always go to the same cores, which are ahead of the
others by a little more after every window. Once the last core reads a block row or column so long
after the first that L2 has dropped it, HBM reads it again, for the rest of the kernel. A kernel
long enough to see that would be too long to emulate. So the later part of the kernel is sampled:
on short kernels in which the cores that are ahead leave out as many blocks as they are ahead by
then (docs/emulator.md, section 9).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from hwmodel.emulator.constants import EmulatorConstants
from hwmodel.emulator.engine import emulate_drifted
from hwmodel.emulator.geometry import Vector
from hwmodel.emulator.result import CoreActivity, EmulationResult
from hwmodel.integers import ceil_div
from hwmodel.plan import KernelPlan
from hwmodel.problem import GemmProblem

FloatVector = NDArray[np.float64]

SAMPLES = 6
"""Places of the kernel at which the drifted cores are looked at."""

_NOT_ADDED = {"cores", "emulated_events"}
_EXACT = {"events", "loads", "load_bytes", "store_bytes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Two results whose difference is what `length` elements of a direction take."""

    before: EmulationResult
    last: EmulationResult
    length: int

    def core_ticks(self) -> Vector:
        """How much later each core ended."""
        pairs = zip(self.before.cores, self.last.cores, strict=True)
        return np.array([other.end_ticks - one.end_ticks for one, other in pairs], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A kernel that is cut in the direction of its windows.

    Attributes:
        problem: the whole problem.
        plan: its plan.
        constants: the chip's figures.
        name: the direction, m or n.
        start: the shortest length that is like the whole.
        length: by how much the next one is longer.
        reached: the longest length that was emulated.
    """

    problem: GemmProblem
    plan: KernelPlan
    constants: EmulatorConstants
    name: str
    start: int
    length: int
    reached: int

    @property
    def blocks_per_element(self) -> float:
        """Blocks of a core, per element of the direction."""
        base = self.plan.base_m if self.name == "m" else self.plan.base_n
        across = self.plan.n_tiles if self.name == "m" else self.plan.m_tiles
        return across(self.problem) / base / self.plan.used_core_num

    def find_start(self, skipped: Vector) -> int:
        """Length in which the cores that leave out blocks compute as much as in `start`."""
        extra = int(skipped.max() / self.blocks_per_element)
        return self.start + ceil_div(extra, self.length) * self.length


def follow_drift(kernel: Drift, span: Span, more: int) -> list[tuple[Span, int]] | None:
    """Spans that stand for the `more` elements after those that were emulated, and for how many.

    One span, the emulated one, when the cores do not drift apart by a block. None when the
    sampled kernels would be longer together than the whole one.
    """
    part = more / SAMPLES
    # The sampled kernels drift, too: counted is from the middle of their span.
    ahead = _lead_per_element(span) * (kernel.reached - kernel.start - kernel.length / 2)
    last = _count_skipped(kernel, span, ahead + _lead_per_element(span) * (more - part / 2))
    if last.max() == 0:
        return [(span, more)]
    sampled_length = 2 * kernel.find_start(last) + kernel.length
    # With those that were emulated before: each was at most half of the next.
    if SAMPLES * sampled_length + 2 * kernel.reached >= kernel.reached + more:
        return None
    sampled = span
    spans: list[tuple[Span, int]] = []
    for number in range(SAMPLES):
        lead = _lead_per_element(sampled)
        ahead = ahead + lead * (part / 2 if number == 0 else part)
        skipped = _count_skipped(kernel, sampled, ahead)
        if skipped.max() > 0:
            sampled = _emulate_span(kernel, skipped)
        spans.append((sampled, more * (number + 1) // SAMPLES - more * number // SAMPLES))
    return spans


def _count_skipped(kernel: Drift, span: Span, ahead: FloatVector) -> Vector:
    """Blocks by which each core is ahead."""
    pace = span.core_ticks() / span.length / kernel.blocks_per_element
    skipped = np.rint(ahead / np.maximum(pace, 1.0)).astype(np.int64)
    # Cores farther apart than what fills L2 several times have nothing in common.
    return np.minimum(skipped, int(kernel.start * kernel.blocks_per_element))


def _lead_per_element(span: Span) -> FloatVector:
    """By how much each core gets ahead of the slowest one, in ticks."""
    ticks = span.core_ticks()
    return np.asarray((ticks.max() - ticks) / span.length)


def _emulate_span(kernel: Drift, skipped: Vector) -> Span:
    """Two kernels of different lengths in which some cores leave out blocks."""
    length = kernel.length
    start = kernel.find_start(skipped)
    before, last = (
        emulate_drifted(
            replace(kernel.problem, **{kernel.name: size}),  # type: ignore[arg-type]
            kernel.plan,
            kernel.constants,
            skipped,
        )
        for size in (start, start + length)
    )
    return Span(before=before, last=last, length=length)


def extend(measured: Span, parts: Sequence[tuple[Span, int]]) -> EmulationResult:
    """The longer result of a span, continued by other lengths at the rates of their spans.

    What the walk alone decides is continued at once, so that it is exact.
    """
    whole = [(measured, sum(more for _, more in parts))]

    def add(get: Callable[[EmulationResult], int], spans: Sequence[tuple[Span, int]]) -> int:
        return get(measured.last) + sum(
            (get(span.last) - get(span.before)) * more // span.length for span, more in spans
        )

    def add_core(number: int) -> CoreActivity:
        return CoreActivity(
            **{
                field.name: add(_core_getter(number, field.name), parts)
                for field in fields(CoreActivity)
            }
        )

    figures = {
        field.name: add(attrgetter(field.name), whole if field.name in _EXACT else parts)
        for field in fields(EmulationResult)
        if field.name not in _NOT_ADDED
    }
    cores = tuple(add_core(number) for number in range(len(measured.last.cores)))
    return EmulationResult(**figures, cores=cores)


def _core_getter(number: int, name: str) -> Callable[[EmulationResult], int]:
    """What gives a figure of a core."""
    return lambda result: int(getattr(result.cores[number], name))


def count_emulated(measured: Span, parts: Sequence[tuple[Span, int]]) -> int:
    """Events of the runs with drifted cores."""
    sampled = {id(span): span for span, _ in parts if span is not measured}
    return sum(span.before.events + span.last.events for span in sampled.values())
