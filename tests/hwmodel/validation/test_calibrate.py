"""The calibration in the hardware files is the one that the data give."""

from dataclasses import replace
from pathlib import Path

import pytest

from hwmodel.errors import HardwareSpecError, InputError
from hwmodel.spec import Calibration
from hwmodel.spec_io import format_hardware, hardware_names, load_hardware
from hwmodel.validation.calibrate import (
    ALL_CLASSES,
    ablate,
    build_calibration,
    load_without_fit,
    pool_errors,
    select_fit_rows,
    write_calibration,
)
from hwmodel.validation.classes import ErrorClass
from hwmodel.validation.fit import cross_validate
from hwmodel.validation.measured import compute_rows_digest, load_measured
from hwmodel.validation.pipeline_fit import PIPELINE_FIT

SPEC = load_hardware("ascend950pr-9589")
RECORDED = SPEC.calibrations["pipeline"]
CONSTANT_TOLERANCE = 2e-3
ERROR_TOLERANCE = 2e-3
CROSS_VALIDATED_TARGET = 0.03


@pytest.fixture(scope="module")
def rebuilt() -> Calibration:
    rows = select_fit_rows(load_measured())
    return build_calibration(PIPELINE_FIT, SPEC, rows, RECORDED.date).calibration


def test_recorded_constants_are_those_of_the_data(rebuilt: Calibration) -> None:
    assert dict(rebuilt.constants) == pytest.approx(
        dict(RECORDED.constants), abs=CONSTANT_TOLERANCE
    )
    assert rebuilt.data_digest == RECORDED.data_digest
    assert rebuilt.measured_on == RECORDED.measured_on == SPEC.soc


def test_recorded_errors_are_those_of_the_data(rebuilt: Calibration) -> None:
    assert set(rebuilt.errors) == set(RECORDED.errors) == {ALL_CLASSES, *ErrorClass}
    for name, error in rebuilt.errors.items():
        recorded = RECORDED.errors[name]
        assert error.n == recorded.n
        assert error.median_ape == pytest.approx(recorded.median_ape, abs=ERROR_TOLERANCE)
        assert error.p90_ape == pytest.approx(recorded.p90_ape, abs=ERROR_TOLERANCE)


def test_cross_validated_median_meets_the_target() -> None:
    assert RECORDED.errors[ALL_CLASSES].median_ape <= CROSS_VALIDATED_TARGET


def test_only_unlocked_rows_were_used() -> None:
    rows = load_measured()
    unlocked = [row for row in rows if not row.locked]
    assert RECORDED.rows == len(unlocked) == RECORDED.errors[ALL_CLASSES].n
    assert RECORDED.data_digest == compute_rows_digest(unlocked)


@pytest.mark.parametrize("name", hardware_names())
def test_relatives_take_the_constants_over(name: str) -> None:
    spec = load_hardware(name)
    if spec.npu_arch == SPEC.npu_arch:
        assert spec.calibrations["pipeline"] == RECORDED
    else:
        assert not spec.calibrations


def test_files_take_the_calibration(tmp_path: Path, rebuilt: Calibration) -> None:
    path, new = tmp_path / "chip.toml", tmp_path / "new.toml"
    path.write_text(format_hardware(load_hardware("ascend910b1")), encoding="utf-8")
    write_calibration(rebuilt, SPEC, [path, new])
    assert load_hardware(str(path)).calibrations == {"pipeline": rebuilt}
    assert load_hardware(str(new)) == replace(
        SPEC, calibrations={**SPEC.calibrations, "pipeline": rebuilt}
    )


def test_a_fit_of_other_constants_is_replaced(tmp_path: Path, rebuilt: Calibration) -> None:
    path = tmp_path / "chip.toml"
    text = format_hardware(SPEC).replace("\nl2_ratio", "\nof_another_model_ratio")
    path.write_text(text, encoding="utf-8")
    write_calibration(rebuilt, SPEC, [path])
    assert load_hardware(str(path)).calibrations["pipeline"] == rebuilt


@pytest.mark.parametrize("content", [b"[", b"\xff"])
def test_a_file_that_is_no_toml_is_named(
    tmp_path: Path, content: bytes, rebuilt: Calibration
) -> None:
    path = tmp_path / "chip.toml"
    path.write_bytes(content)
    with pytest.raises(HardwareSpecError, match=r"chip\.toml: is no TOML file"):
        write_calibration(rebuilt, SPEC, [path])


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, rebuilt: Calibration) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_calibration(rebuilt, SPEC, [tmp_path / "none" / "chip.toml"])


def test_a_missing_chip_is_named(tmp_path: Path) -> None:
    with pytest.raises(HardwareSpecError, match="no such file"):
        load_without_fit(str(tmp_path / "none.toml"), "pipeline")


def test_a_platform_file_serves(tmp_path: Path) -> None:
    ini = Path(__file__).parents[1] / "platform_files" / "Ascend950PR_9589.ini"
    spec = load_without_fit(str(ini), "pipeline")
    assert "pipeline" not in spec.calibrations
    assert spec.cores == SPEC.cores


def test_ablation_changes_one_constant_at_a_time() -> None:
    names = ("hbm_read_ratio", "line_waste_ratio")
    parameters = tuple(one for one in PIPELINE_FIT.list_parameters(SPEC) if one.name in names)
    fit = replace(
        PIPELINE_FIT, list_parameters=lambda _: parameters, held=names[1:], repeats=1, most_steps=5
    )
    rows = select_fit_rows(load_measured())
    changed = ablate(fit, SPEC, rows)
    assert tuple(changed) == names
    for name, held in zip(names, (names[::-1], ()), strict=True):
        expected = pool_errors(rows, cross_validate(replace(fit, held=held), SPEC, rows))
        assert changed[name] == expected
        assert expected.median_ape <= expected.p90_ape <= expected.max_ape
