"""From a hardware spec, with or without a calibration, to the emulator's integers.

The names and sources of the constants: docs/emulator.md, section 6. A calibration may leave names
out; what it lacks comes from the spec's own figures or from the defaults below.
"""

from collections.abc import Mapping
from math import isfinite

from hwmodel.emulator.constants import (
    EmulatorConstants,
    rate_q,
    resource_grains,
    share_f,
    ticks,
)
from hwmodel.errors import HardwareSpecError
from hwmodel.integers import FRACTAL
from hwmodel.spec import HardwareSpec

EMULATOR_MODEL = "emulator"
"""Name of the model, and of its table under [calibration] in a hardware file."""

DEFAULT_LINE_WASTE_RATIO = 1.0
"""Whole 128-byte lines are read (specification: kernels.md, "What alignment changes")."""

DEFAULT_ROW_CYCLES = 4.0
"""Least port time of a row: a 512-byte burst at 128 bytes a cycle. Assumed, not measured."""

DEFAULT_STRADDLE_CYCLES = 8.0
"""Port time of a row of B that takes one line more than its length needs, as kernels measured on a
950PR_9589 show it: twice the time of a row."""

DEFAULT_BUSY_LATENCY_CYCLES = 900.0
"""What a miss beside the write-back waits in addition, as kernels measured on a 950PR_9589 show
it."""

DEFAULT_WRITE_BACK_SHARES = 32
"""The write-back's weight beside the reads of the HBM, as measured on a 950PR_9589:
as many shares as that chip has cube cores."""

DEFAULT_WRITE_BACK_SLACK_MIB = 2.0
"""Evicted C that may wait for the HBM, as kernels measured on a 950PR_9589 show it: half a 256 x
256 tile of 16-bit C for each core."""

BYTES_PER_MIB = 1 << 20

DEFAULT_TILE_CYCLES = 200.0
"""Gap before a tile's first multiplication; compute-bound kernels measured on a 950PR_9589 show
200 to 280 cycles a tile whatever their K."""

DEFAULT_RATIO = 1.0
"""A figure of the spec as it stands."""

MACS_BYTES = 32
"""Bytes of a row of a fractal: its elements are C0 = 32 / element size (kernels.md)."""

WRITES_ALONE = "hbm_writes_alone"
"""Constant that is 1 where writes do not share the HBM with reads; a study asks what that would
mean (specification: studies.md, H5)."""

CALIBRATED_NAMES = frozenset(
    {
        "launch_us",
        "l2_latency_cycles",
        "hbm_latency_cycles",
        "line_waste_ratio",
        "busy_latency_cycles",
        "row_cycles",
        "straddle_cycles",
        "write_back_shares",
        "write_back_slack_mib",
        "tile_cycles",
        "aiv_reduce_bytes_per_cycle",
        "barrier_us",
        "mixed_kernel_extra_us",
        "partial_line_cycles",
        "fixpipe_ratio",
        "l2_total_ratio",
        "l2_usable_ratio",
        "hbm_read_ratio",
        "hbm_write_cost_ratio",
        WRITES_ALONE,
        "mte2_port_ratio",
        "cube_efficiency_ratio",
    }
)
"""Constants that a calibration may hold. Ratios multiply the spec's figure, except the share of
the lines' waste that is paid."""

_RATES = frozenset(
    {
        "aiv_reduce_bytes_per_cycle",
        "l2_usable_ratio",
        "cube_efficiency_ratio",
        "fixpipe_ratio",
        "l2_total_ratio",
        "hbm_read_ratio",
        "mte2_port_ratio",
        "write_back_shares",
    }
)
"""Constants that something is divided by."""


def constants_from_spec(spec: HardwareSpec) -> EmulatorConstants:
    """The emulator's constants of a chip, calibrated where the spec has a calibration.

    Raises:
        HardwareSpecError: the calibration holds an unknown constant or a senseless value.
    """
    calibration = spec.calibrations.get(EMULATOR_MODEL)
    return constants_from_values(spec, {} if calibration is None else calibration.constants)


def constants_from_values(spec: HardwareSpec, values: Mapping[str, float]) -> EmulatorConstants:
    """The emulator's constants of a chip with these calibrated values.

    Args:
        spec: the chip.
        values: values by name, some of `CALIBRATED_NAMES`.

    Raises:
        HardwareSpecError: an unknown constant or a senseless value.
    """
    _check(spec, values)
    rates, fixed, compute = spec.rates, spec.fixed, spec.compute

    def ratio(name: str) -> float:
        return values.get(name, DEFAULT_RATIO)

    write_cost = rates.hbm_read_total_bytes_per_cycle / rates.hbm_write_total_bytes_per_cycle
    # A first access to HBM includes that to L2; here they are added.
    hbm_latency_cycles = max(0.0, fixed.hbm_first_access_cycles - fixed.l2_first_access_cycles)
    efficiency = ratio("cube_efficiency_ratio")
    return EmulatorConstants(
        launch_ticks=ticks(spec.us_to_cycles(values.get("launch_us", fixed.launch_us))),
        l2_latency_ticks=ticks(values.get("l2_latency_cycles", fixed.l2_first_access_cycles)),
        hbm_latency_ticks=ticks(values.get("hbm_latency_cycles", hbm_latency_cycles)),
        busy_latency_ticks=ticks(values.get("busy_latency_cycles", DEFAULT_BUSY_LATENCY_CYCLES)),
        port_q=rate_q(rates.mte2_port_bytes_per_cycle * ratio("mte2_port_ratio")),
        hbm_grains=resource_grains(rates.hbm_read_total_bytes_per_cycle * ratio("hbm_read_ratio")),
        l2_grains=resource_grains(rates.l2_total_bytes_per_cycle * ratio("l2_total_ratio")),
        fixpipe_q=rate_q(rates.fixpipe_bytes_per_cycle * ratio("fixpipe_ratio")),
        l1_to_l0a_q=rate_q(rates.l1_to_l0a_bytes_per_cycle),
        l1_to_l0b_q=rate_q(rates.l1_to_l0b_bytes_per_cycle),
        hbm_write_cost_f=share_f(write_cost * ratio("hbm_write_cost_ratio")),
        write_back_shares=max(
            1, round(values.get("write_back_shares", DEFAULT_WRITE_BACK_SHARES))
        ),
        write_back_slack_bytes=int(
            values.get("write_back_slack_mib", DEFAULT_WRITE_BACK_SLACK_MIB) * BYTES_PER_MIB
        ),
        line_waste_f=share_f(values.get("line_waste_ratio", DEFAULT_LINE_WASTE_RATIO)),
        row_ticks=ticks(values.get("row_cycles", DEFAULT_ROW_CYCLES)),
        straddle_ticks=ticks(values.get("straddle_cycles", DEFAULT_STRADDLE_CYCLES)),
        partial_ticks=ticks(values.get("partial_line_cycles", fixed.partial_line_cycles)),
        fractal_ticks_16bit=_fractal_ticks(2, compute.macs_per_cycle_16bit * efficiency),
        fractal_ticks_fp32=_fractal_ticks(4, compute.macs_per_cycle_fp32 * efficiency),
        fractal_ticks_hf32=_fractal_ticks(4, compute.macs_per_cycle_hf32 * efficiency),
        tile_ticks=ticks(values.get("tile_cycles", DEFAULT_TILE_CYCLES)),
        barrier_ticks=ticks(
            spec.us_to_cycles(values.get("barrier_us", fixed.stream_k_barrier_us))
        ),
        aiv_reduce_q=rate_q(
            values.get("aiv_reduce_bytes_per_cycle", rates.aiv_ub_to_l2_bytes_per_cycle)
        ),
        aiv_store_q=rate_q(rates.aiv_ub_to_hbm_bytes_per_cycle),
        aiv_hbm_q=rate_q(rates.aiv_hbm_bytes_per_cycle),
        aiv_l2_q=rate_q(rates.aiv_ub_to_l2_bytes_per_cycle),
        vector_lanes=compute.vector_lanes_per_cycle,
        mixed_kernel_extra_ticks=ticks(
            spec.us_to_cycles(values.get("mixed_kernel_extra_us", fixed.mixed_kernel_extra_us))
        ),
        l2_bytes=spec.buffers.l2_bytes,
        l2_capacity_bytes=int(
            spec.buffers.l2_bytes * spec.cache.l2_usable_ratio * ratio("l2_usable_ratio")
        ),
        hbm_writes_alone=int(values.get(WRITES_ALONE, 0.0)),
    )


def _fractal_ticks(element_bytes: int, macs_per_cycle: float) -> int:
    """The cube's time of a 16 x 16 x C0 step."""
    return ticks(FRACTAL * FRACTAL * (MACS_BYTES // element_bytes) / macs_per_cycle)


def find_wrong_value(values: Mapping[str, float]) -> tuple[str, str] | None:
    """Name of the first constant that is unknown or cannot be used, and what is wrong.

    None if all are right.
    """
    for name, value in values.items():
        if name not in CALIBRATED_NAMES:
            return name, "is no constant of the emulator; calibrate again"
        if name == WRITES_ALONE and value not in (0.0, 1.0):
            return name, f"is {value}, must be 0 or 1; calibrate again"
        if not isfinite(value) or value < 0 or (value == 0 and name in _RATES):
            return name, f"is {value}, must be positive; calibrate again"
    return None


def _check(spec: HardwareSpec, values: Mapping[str, float]) -> None:
    """Reject constants that the emulator does not know or cannot use."""
    wrong = find_wrong_value(values)
    if wrong is not None:
        name, problem = wrong
        raise HardwareSpecError(
            f"{spec.name}: calibration.{EMULATOR_MODEL}.constants.{name}: {problem}"
        )
