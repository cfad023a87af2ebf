"""The pair of kernels that the report looks into: baseline and best of a large gap, emulated."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from autotune.emulation import Emulation, needs_compiling, run_emulation
from autotune.report.aggregates import CountedRow
from hwmodel.emulator.engine import EventLog
from hwmodel.emulator.extrapolation import count_events
from hwmodel.errors import InputError
from hwmodel.spec import HardwareSpec

_logger = logging.getLogger(__name__)

MOST_EVENTS = 300_000
"""Loads and stores of a kernel that is small enough for a picture, and emulated in a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulatedKernel:
    """A kernel with its log, which it has because it is small."""

    emulation: Emulation
    log: EventLog

    @property
    def duration_us(self) -> float:
        """The emulated time."""
        return self.emulation.duration_us


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulatedPair:
    """Two kernels for one shape.

    Attributes:
        name: the shape's name.
        gap_ratio: the run's gap between the two.
        evaluator: name of the model that the gap is from.
        baseline: the vendor's.
        best: the best found.
    """

    name: str
    gap_ratio: float
    evaluator: str
    baseline: EmulatedKernel
    best: EmulatedKernel


def emulate_pair(
    largest: Sequence[CountedRow], spec: HardwareSpec, evaluator: str
) -> EmulatedPair | None:
    """The first pair that the emulator takes and that is small enough, None without one.

    Args:
        largest: shapes with a gap, largest first.
        spec: the run's hardware.
        evaluator: name of the run's model.
    """
    for item in largest:
        problem, compared = item.row.problem, item.compared
        plans = (compared.baseline.plan, compared.best.plan)
        try:
            if any(count_events(problem, plan) > MOST_EVENTS for plan in plans):
                continue
        except InputError:  # a vector plan that cannot compute the problem
            continue
        if any(needs_compiling(plan) for plan in plans):
            _logger.warning("compiling the emulator, once; this takes about fifteen seconds")
        try:
            runs = [run_emulation(problem, spec, plan) for plan in plans]
        except InputError:  # a plan that breaks a rule may be none that can be emulated
            continue
        kernels = [
            EmulatedKernel(emulation=run, log=run.log) for run in runs if run.log is not None
        ]
        if len(kernels) == len(runs):
            return EmulatedPair(
                name=item.row.name,
                gap_ratio=compared.gap_ratio,
                evaluator=evaluator,
                baseline=kernels[0],
                best=kernels[1],
            )
    return None
