"""Draws of the hardware: inside the ranges, fitted constants from their bootstrap, repeatable."""

from dataclasses import replace

import pytest

from hwmodel.emulator.spec_constants import constants_from_spec
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import load_hardware
from studies.hypotheses.draws import UNCERTAIN, draw_chips

SPEC = load_hardware("ascend950pr-9589")
MODELS = ("pipeline", "emulator")
DRAWS = 24


@pytest.mark.parametrize("model", MODELS)
def test_figures_stay_in_their_ranges_and_the_rest_stays(model: str) -> None:
    drawn_paths = {path for uncertain in UNCERTAIN for path in uncertain.figures}
    nominal = SPEC.figures()
    for chip in draw_chips(SPEC, model, DRAWS):
        for path, value in chip.figures().items():
            provenance = SPEC.provenance[path]
            if path not in drawn_paths:
                assert value == nominal[path]
            elif provenance.low is not None and provenance.high is not None:
                assert provenance.low * 0.99 <= value <= provenance.high * 1.01
            assert isinstance(value, type(nominal[path]))


@pytest.mark.parametrize("model", MODELS)
def test_draws_differ_and_are_the_same_again(model: str) -> None:
    chips = draw_chips(SPEC, model, DRAWS)
    assert len({tuple(chip.figures().values()) for chip in chips}) == DRAWS
    draw_chips.cache_clear()
    assert draw_chips(SPEC, model, DRAWS) == chips


def test_more_draws_begin_with_the_fewer() -> None:
    assert draw_chips(SPEC, "emulator", 8)[:3] == draw_chips(SPEC, "emulator", 3)


def test_fitted_constants_come_from_one_fit_of_the_bootstrap() -> None:
    calibration = SPEC.calibrations["emulator"]
    names = sorted(calibration.draws[0])
    fits = {tuple(draw[name] for name in names) for draw in calibration.draws}
    for chip in draw_chips(SPEC, "emulator", DRAWS):
        constants = chip.calibrations["emulator"].constants
        assert tuple(constants[name] for name in names) in fits
        constants_from_spec(chip)  # raises where a value cannot be used


def _replace_calibration(**changes: object) -> HardwareSpec:
    emulator = replace(SPEC.calibrations["emulator"], **changes)  # type: ignore[arg-type]
    return replace(SPEC, calibrations={**SPEC.calibrations, "emulator": emulator})


def test_a_constant_that_was_held_follows_its_figure() -> None:
    chips = draw_chips(SPEC, "emulator", DRAWS)
    held = [chip.calibrations["emulator"].constants["barrier_us"] for chip in chips]
    assert held == [chip.fixed.stream_k_barrier_us for chip in chips]
    assert len(set(held)) == DRAWS


def test_without_a_bootstrap_the_figures_themselves_are_drawn() -> None:
    chips = draw_chips(_replace_calibration(draws=()), "emulator", DRAWS)
    assert len({chip.rates.l2_total_bytes_per_cycle for chip in chips}) == DRAWS
    constants = [chip.calibrations["emulator"].constants for chip in chips]
    assert [one["launch_us"] for one in constants] == [chip.fixed.launch_us for chip in chips]
    nominal = SPEC.calibrations["emulator"].constants["l2_total_ratio"]
    assert {one["l2_total_ratio"] for one in constants} == {nominal}


def test_a_chip_without_a_calibration_is_drawn_too() -> None:
    bare = replace(SPEC, calibrations={})
    chips = draw_chips(bare, "pipeline", DRAWS)
    assert len({chip.rates.hbm_read_total_bytes_per_cycle for chip in chips}) == DRAWS
    assert all(chip.calibrations == {} for chip in chips)


def test_reads_and_writes_of_a_memory_move_together() -> None:
    for chip in draw_chips(SPEC, "pipeline", DRAWS):
        factors = {
            round(chip.figures()[path] / SPEC.figures()[path], 9)
            for path in (
                "rates.l1_to_l0a_bytes_per_cycle",
                "rates.l1_to_l0b_bytes_per_cycle",
            )
        }
        assert len(factors) == 1


def test_a_figure_without_a_range_stays() -> None:
    path = "rates.fixpipe_bytes_per_cycle"
    provenance = {**SPEC.provenance, path: replace(SPEC.provenance[path], low=None, high=None)}
    chips = draw_chips(replace(SPEC, provenance=provenance), "pipeline", 3)
    assert {chip.figures()[path] for chip in chips} == {SPEC.figures()[path]}
