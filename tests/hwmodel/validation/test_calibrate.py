"""The calibration in the hardware files is the one that the data give."""

from pathlib import Path

import pytest

from hwmodel.spec import Calibration
from hwmodel.spec_io import format_hardware, hardware_names, load_hardware
from hwmodel.validation import calibrate
from hwmodel.validation.calibrate import ALL_CLASSES, build_calibration, select_fit_rows
from hwmodel.validation.classes import ErrorClass
from hwmodel.validation.measured import compute_rows_digest, load_measured

SPEC = load_hardware("ascend950pr-9589")
RECORDED = SPEC.calibrations["pipeline"]
CONSTANT_TOLERANCE = 2e-3
ERROR_TOLERANCE = 2e-3
CROSS_VALIDATED_TARGET = 0.03


@pytest.fixture(scope="module")
def rebuilt() -> Calibration:
    return build_calibration(SPEC, select_fit_rows(load_measured()), RECORDED.date)


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


def test_command_writes_files_and_prints_errors(
    tmp_path: Path,
    rebuilt: Calibration,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(calibrate, "build_calibration", lambda *_: rebuilt)
    path = tmp_path / "chip.toml"
    path.write_text(format_hardware(load_hardware("ascend910b1")), encoding="utf-8")
    assert calibrate.main(["--date", "2026-11-30", str(path)]) == 0
    assert load_hardware(str(path)).calibrations["pipeline"] == rebuilt
    output = capsys.readouterr().out
    assert "barrier_ratio" in output
    assert "compute_bound" in output


def test_command_replaces_a_fit_of_other_constants(
    tmp_path: Path, rebuilt: Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrate, "build_calibration", lambda *_: rebuilt)
    path = tmp_path / "chip.toml"
    text = format_hardware(SPEC).replace("l2_ratio", "of_another_model_ratio")
    path.write_text(text, encoding="utf-8")
    assert calibrate.main(["--date", "2026-11-30", str(path)]) == 0
    assert load_hardware(str(path)).calibrations["pipeline"] == rebuilt


@pytest.mark.parametrize("content", [b"[", b"\xff"])
def test_command_names_a_file_that_is_no_toml(
    tmp_path: Path,
    content: bytes,
    rebuilt: Calibration,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(calibrate, "build_calibration", lambda *_: rebuilt)
    path = tmp_path / "chip.toml"
    path.write_bytes(content)
    assert calibrate.main(["--date", "2026-11-30", str(path)]) == 2
    assert f"{path}: is no TOML file" in capsys.readouterr().err


def test_command_names_a_file_that_is_no_spec(
    tmp_path: Path,
    rebuilt: Calibration,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(calibrate, "build_calibration", lambda *_: rebuilt)
    assert calibrate.main(["--date", "2026-11-30", str(tmp_path / "none.toml")]) == 2
    assert "no such file" in capsys.readouterr().err
