"""The emulator's constants of a hardware spec."""

from dataclasses import replace

import pytest

from hwmodel.emulator.constants import ticks
from hwmodel.emulator.spec_constants import (
    CALIBRATED_NAMES,
    EMULATOR_MODEL,
    WRITES_ALONE,
    constants_from_spec,
    constants_from_values,
)
from hwmodel.errors import HardwareSpecError
from hwmodel.spec import Calibration, HardwareSpec
from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware


@pytest.fixture(scope="module")
def spec() -> HardwareSpec:
    return replace(load_hardware(DEFAULT_HARDWARE), calibrations={})


def _calibrated(spec: HardwareSpec, **constants: float) -> HardwareSpec:
    calibration = Calibration(
        model=EMULATOR_MODEL,
        measured_on=spec.soc,
        date="2026-01-01",
        data_digest="0",
        rows=1,
        constants=constants,
        errors={},
    )
    return replace(spec, calibrations={EMULATOR_MODEL: calibration})


def test_figures_of_the_spec(spec: HardwareSpec) -> None:
    constants = constants_from_spec(spec)
    assert constants.fractal_ticks_16bit == 256
    assert constants.fractal_ticks_fp32 == ticks(2048 / spec.compute.macs_per_cycle_fp32)
    assert constants.launch_ticks == ticks(spec.us_to_cycles(spec.fixed.launch_us))
    first = constants.l2_latency_ticks + constants.hbm_latency_ticks
    assert first == ticks(spec.fixed.hbm_first_access_cycles)
    assert constants.hbm_grains == 256 * spec.rates.hbm_read_total_bytes_per_cycle
    assert constants.line_waste_f == 4096
    assert constants.l2_capacity_bytes == spec.buffers.l2_bytes


def test_calibrated_values_win(spec: HardwareSpec) -> None:
    calibrated = _calibrated(spec, launch_us=2.0, hbm_read_ratio=0.5, line_waste_ratio=0.0)
    constants = constants_from_spec(calibrated)
    plain = constants_from_spec(spec)
    assert constants.launch_ticks == ticks(spec.us_to_cycles(2.0))
    assert constants.hbm_grains * 2 == plain.hbm_grains
    assert constants.line_waste_f == 0
    unchanged = {"launch_ticks", "hbm_grains", "line_waste_f"}
    assert replace(constants, **{name: getattr(plain, name) for name in unchanged}) == plain


@pytest.mark.parametrize("name", sorted(CALIBRATED_NAMES))
def test_every_calibrated_value_counts(spec: HardwareSpec, name: str) -> None:
    low, high = (0.0, 1.0) if name == WRITES_ALONE else (6.0, 9.0)
    assert constants_from_values(spec, {name: low}) != constants_from_values(spec, {name: high})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tile_cycle", 1.0),
        ("tile_cycles", -1.0),
        ("mte2_port_ratio", 0.0),
        ("launch_us", 1e999),
        (WRITES_ALONE, 0.5),
    ],
)
def test_senseless_values_are_rejected(spec: HardwareSpec, name: str, value: float) -> None:
    with pytest.raises(HardwareSpecError, match=name):
        constants_from_spec(_calibrated(spec, **{name: value}))
