"""`autotune calibrate`: files, tables and messages."""

from dataclasses import replace
from pathlib import Path

import pytest

from autotune.__main__ import main
from autotune.cli.calibrate import BOOTSTRAP_DRAWS, EVALUATORS
from hwmodel.spec_io import load_hardware
from hwmodel.validation import calibrate
from hwmodel.validation.calibrate import FITS

CHEAP = replace(FITS["pipeline"], repeats=1, held=("barrier_ratio", "l2_ratio"))


@pytest.fixture
def cheap_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit of the pipeline model of a few seconds."""
    monkeypatch.setattr(calibrate, "FITS", {"pipeline": CHEAP})


def test_the_options_name_every_fit() -> None:
    assert set(EVALUATORS) == set(FITS) == set(BOOTSTRAP_DRAWS)


@pytest.mark.usefixtures("cheap_fit")
def test_constants_errors_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "chip.toml"
    arguments = ["--evaluator", "pipeline", "--date", "2026-11-30", "--output", str(path)]
    assert main(["calibrate", *arguments]) == 0
    fit = load_hardware(str(path)).calibrations["pipeline"]
    assert fit.date == "2026-11-30"
    assert fit.rows == 68
    assert fit.constants["barrier_ratio"] == 1.0
    output = capsys.readouterr().out
    assert "68 kernels of Ascend950PR_9589" in output
    assert f"{fit.constants['hbm_read_ratio']:.4g}" in output
    assert "compute_bound" in output
    assert "as fitted" not in output


@pytest.mark.usefixtures("cheap_fit")
def test_ablation_and_bootstrap(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parameters = [
        one
        for one in CHEAP.list_parameters(load_hardware("ascend950pr-9589"))
        if one.name in ("hbm_read_ratio", "line_waste_ratio")
    ]
    fit = replace(CHEAP, list_parameters=lambda _: tuple(parameters), held=("hbm_read_ratio",))
    monkeypatch.setattr(calibrate, "FITS", {"pipeline": fit})
    monkeypatch.setitem(BOOTSTRAP_DRAWS, "pipeline", 3)
    assert main(["calibrate", "--evaluator", "pipeline", "--ablation"]) == 0
    table = capsys.readouterr().out.split("fit  ")[1].splitlines()[2:]
    assert [line.split("  ")[0] for line in table] == [
        "as fitted",
        "hbm_read_ratio fitted too",
        "line_waste_ratio held",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--date", "today"], "--date today: is no date"),
        (["--jobs", "0"], "--jobs 0: must be 1 or more"),
        (["--hw", "nowhere.toml"], "nowhere.toml: no such file"),
        (["--measured", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_what_is_wrong_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err
