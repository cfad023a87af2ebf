"""What is fitted of the emulator: four of ten constants with priors, and four that are chosen.

The centres are figures of the hardware spec or of its sources that no fit of the measured kernels
has produced; the widths are those of the specification's ranges (hardware.md, "Ranges for
robustness"), a range being taken as two sigma wide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from hwmodel.emulator.constants import TICKS_PER_CYCLE, EmulatorConstants
from hwmodel.emulator.engine import emulate
from hwmodel.emulator.spec_constants import EMULATOR_MODEL, constants_from_values
from hwmodel.plan import Template
from hwmodel.spec import HardwareSpec
from hwmodel.validation.fit import Choice, ModelFit, Parameter
from hwmodel.validation.measured import MeasuredRow

LOSS_SCALE = 0.01
"""Kernels are timed to about a percent (specification: effects.md); a greater error is the
model's own and must not pull."""

PRIOR_ERROR = 0.03
"""A constant one sigma off weighs as much as one row that is 3 % off. Rows of one (k, n) err
together, and the emulator jumps when the order of events changes: without a strong prior the
least squares stop anywhere."""

STEP_RATIO = 0.01
"""Finite steps of a percent see past the emulator's jumps."""

REPEATS = 3
"""Deals of the groups to folds."""

MOST_STEPS = 6
"""The fit has then long settled to within its uncertainty."""

HELD = (
    "l2_latency_cycles",
    "barrier_us",
    "aiv_reduce_bytes_per_cycle",
    "line_waste_ratio",
    "partial_line_cycles",
    "row_cycles",
)
"""Constants that stay at their centres: fitted, they do not lower the cross-validated error, as
`autotune calibrate --ablation` shows."""

CHOICES = (
    Choice(name="straddle_cycles", values=(0.0, 4.0, 8.0, 16.0)),
    Choice(name="busy_latency_cycles", values=(0.0, 300.0, 900.0, 2700.0)),
    Choice(name="write_back_slack_mib", values=(0.125, 0.5, 2.0, 8.0)),
    Choice(name="write_back_shares", values=(32.0, 16.0, 64.0)),
)
"""Constants that steps of a percent do not move, because few kernels depend on them and the order
of events jumps. Values as wide apart as is known of them, the first of each "no such effect" (or
as many shares as cores): a row of two to four times its least time; once to three times the HBM's
first access; from a queue of 4 KiB to two tiles of 16-bit C for each of 32 cores."""

BOUND_RATIO = 4.0
"""A constant stays within this factor of its centre."""


def _prior(name: str, low: float, high: float, *, centre: float | None = None) -> Parameter:
    """A parameter that lies in low..high in two cases of three, as far as is known beforehand.

    Its centre is the geometric middle unless a source gives a figure.
    """
    middle = sqrt(low * high) if centre is None else centre
    return Parameter(
        name=name,
        start=middle,
        low=middle / BOUND_RATIO,
        high=middle * BOUND_RATIO,
        sigma=log(high / low) / 2,
        scale=middle,
    )


def list_emulator_parameters(spec: HardwareSpec) -> tuple[Parameter, ...]:
    """Its parameters; the source of each prior is beside it."""
    rates, cores = spec.rates, spec.cores.aic_num
    # All cores at the platform file's rate; the spec's own total comes from measured kernels.
    l2_total = rates.l2_read_bytes_per_cycle * cores / rates.l2_total_bytes_per_cycle
    ub_rate = rates.aiv_ub_to_l2_bytes_per_cycle
    return (
        # Scheduler 0.15, hardware 0.05, software 1.0, completion 0.5 us (specification:
        # hardware.md, "launch parts"); the first instructions and addresses may add as much.
        _prior("launch_us", 1.2, 2.4, centre=1.7),
        _prior("l2_latency_cycles", 150, 500),  # hardware.md, "Ranges for robustness"
        # DRAM adds 150 to 600 ns to a hit of the last cache on other accelerators with HBM.
        _prior("hbm_latency_cycles", 250, 1000),
        _prior("l2_total_ratio", 0.5 * l2_total, 1.1 * l2_total, centre=l2_total),
        _prior("barrier_us", 1.0, 2.0),  # hardware.md, "Ranges for robustness"
        # From the HBM rate of a vector core to its L2 rate, the likelier one.
        _prior(
            "aiv_reduce_bytes_per_cycle", rates.aiv_hbm_bytes_per_cycle, ub_rate, centre=ub_rate
        ),
        # A line that two slabs share is fetched once or twice: half of the waste, or all of it.
        _prior("line_waste_ratio", 0.5, 1.0),
        # A line is read and written back in four sectors of 32 bytes, one to four cycles each way.
        _prior("partial_line_cycles", 8, 32),
        # A row of 256 or of 1024 bytes at 128 bytes a cycle.
        _prior("row_cycles", 2, 8),
        # A few waits for events and the set-up of registers, tens of cycles each.
        _prior("tile_cycles", 50, 200),
    )


class EmulatorPredictor:
    """Emulates rows for any constants; what the constants leave as it was is not emulated again.

    A kernel's time is that without a launch plus the launch, and only stream-K knows of barrier
    and reduction; rows that are given twice run once.
    """

    def __init__(self, spec: HardwareSpec, rows: Sequence[MeasuredRow]) -> None:
        """Predict these rows on this chip."""
        self._spec = spec
        self._rows = tuple(rows)
        self._ticks: dict[tuple[int, EmulatorConstants], int] = {}

    def __call__(self, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Predicted times in the order of the rows, microseconds."""
        constants = constants_from_values(self._spec, values)
        base = replace(constants, launch_ticks=0)
        plain = replace(base, barrier_ticks=0, aiv_reduce_q=1)
        ticks = [
            self._emulate(row, base if row.plan.template is Template.STREAM_K else plain)
            for row in self._rows
        ]
        cycles = (np.array(ticks) + constants.launch_ticks) / TICKS_PER_CYCLE
        return cycles / self._spec.cores.clock_mhz

    def _emulate(self, row: MeasuredRow, constants: EmulatorConstants) -> int:
        """Time of the row's kernel without launch, ticks."""
        key = (row.index, constants)
        if key not in self._ticks:
            self._ticks[key] = emulate(row.problem, row.plan, constants).makespan_ticks
        return self._ticks[key]


EMULATOR_FIT = ModelFit(
    model=EMULATOR_MODEL,
    list_parameters=list_emulator_parameters,
    build_predictor=EmulatorPredictor,
    loss="soft_l1",
    loss_scale=LOSS_SCALE,
    prior_error=PRIOR_ERROR,
    step_ratio=STEP_RATIO,
    repeats=REPEATS,
    most_steps=MOST_STEPS,
    held=HELD,
    choices=CHOICES,
)
"""How the emulator is fitted."""
