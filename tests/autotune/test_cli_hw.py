import argparse
import json
import tomllib
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from autotune.cli import hw
from hwmodel import spec_io
from hwmodel.cost.constants import PipelineConstants
from hwmodel.errors import EXIT_BAD_INPUT, EXIT_DONE, HardwareSpecError, InputError
from hwmodel.spec import Calibration, ClassError, HardwareSpec
from hwmodel.spec_io import (
    DEFAULT_HARDWARE,
    format_hardware,
    hardware_names,
    load_hardware,
    spec_digest,
    write_hardware,
)

PLATFORM_INI = Path(__file__).parent.parent / "hwmodel" / "platform_files" / "Ascend910B1.ini"
CALIBRATION = Calibration(
    model="pipeline",
    measured_on="Ascend950PR_9589",
    date="2026-08-31",
    data_digest="ab" * 32,
    rows=81,
    constants=asdict(PipelineConstants(l2_ratio=1.4321)),
    errors={"all": ClassError(n=81, median_ape=0.0234, p90_ape=0.1)},
)


def run(*argv: str) -> int:
    parser = argparse.ArgumentParser()
    hw.add_arguments(parser)
    return hw.run(parser.parse_args(argv))


def write_calibrated(path: Path, calibration: Calibration) -> HardwareSpec:
    spec = load_hardware(DEFAULT_HARDWARE)
    spec = replace(spec, name="measured", calibrations={calibration.model: calibration})
    write_hardware(spec, path)
    return spec


class TestList:
    def test_table_has_a_line_for_every_spec(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("list") == EXIT_DONE
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines[2:]] == list(hardware_names())
        columns = lines[0].split()
        last = dict(zip(columns, lines[-1].split(maxsplit=len(columns) - 1), strict=True))
        assert last["soc"] == "Ascend950PR_9589"
        assert (last["cube_cores"], last["vector_cores"]) == ("32", "64")
        assert (last["hbm_tb_per_s"], last["peak_16bit_tflops"]) == ("1.637", "432.5")

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("list", "--format", "json") == EXIT_DONE
        rows = json.loads(capsys.readouterr().out)
        assert [row["name"] for row in rows] == list(hardware_names())
        by_name = {row["name"]: row for row in rows}
        assert by_name["ascend910b4"]["hbm_tb_per_s"] == 0.8
        assert by_name["ascend910b4"]["npu_arch"] == "DAV_2201"

    @pytest.mark.parametrize(
        ("calibrations", "expected"),
        [
            ({}, "no"),
            ({"pipeline": CALIBRATION}, "pipeline"),
            ({"pipeline": replace(CALIBRATION, errors={})}, "pipeline (carried over)"),
            ({"pipeline": replace(CALIBRATION, measured_on="X")}, "pipeline (carried over)"),
        ],
    )
    def test_calibrated(
        self,
        calibrations: dict[str, Calibration],
        expected: str,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        spec = replace(load_hardware(DEFAULT_HARDWARE), calibrations=calibrations)
        monkeypatch.setattr(spec_io, "load_hardware", lambda name: spec)
        assert run("list", "--format", "json") == EXIT_DONE
        assert json.loads(capsys.readouterr().out)[0]["calibrated"] == expected


class TestShow:
    def test_table_has_every_figure(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("show", "Ascend950PR_9589") == EXIT_DONE
        out = capsys.readouterr().out
        spec = load_hardware(DEFAULT_HARDWARE)
        assert spec_digest(spec) in out
        lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
        assert spec.figures().keys() <= lines.keys()
        hbm = " ".join(lines["rates.hbm_read_bytes_per_cycle"].split())
        assert hbm.startswith(
            "rates.hbm_read_bytes_per_cycle 31 B/cycle documented 26.35 .. 32.55 Ascend950PR"
        )
        l2 = " ".join(lines["buffers.l2_bytes"].split())
        assert l2.startswith("buffers.l2_bytes 134217728 B documented Ascend950PR_9589.ini,")

    def test_whole_figures_are_not_rounded(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("show", "ascend910b4") == EXIT_DONE
        assert "100663296 .. 100663296" in capsys.readouterr().out

    def test_every_figure_has_the_unit_of_its_name(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("show", DEFAULT_HARDWARE, "--format", "json") == EXIT_DONE
        shown = json.loads(capsys.readouterr().out)
        units = {row["figure"]: row["unit"] for row in shown["figures"]}
        assert units["cores.aic_num"] == units["cores.ai_core_cnt"] == "cores"
        assert units["cores.clock_mhz"] == "MHz"
        assert units["compute.macs_per_cycle_16bit"] == "MAC/cycle"
        assert units["compute.vector_lanes_per_cycle"] == "lanes/cycle"
        assert units["compute.cube_efficiency_ratio"] == "ratio"
        assert units["fixed.launch_us"] == "us"
        assert units["fixed.hbm_first_access_cycles"] == "cycles"
        assert units["rates.fixpipe_bytes_per_cycle"] == "B/cycle"
        assert [path for path, unit in units.items() if unit == "cores"] == [
            "cores.aic_num",
            "cores.aiv_num",
            "cores.ai_core_cnt",
        ]

    def test_json_says_what_the_spec_says(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("show", str(PLATFORM_INI), "--format", "json") == EXIT_DONE
        shown = json.loads(capsys.readouterr().out)
        spec = load_hardware(str(PLATFORM_INI))
        assert {row["figure"]: row["value"] for row in shown["figures"]} == spec.figures()
        for row in shown["figures"]:
            known = spec.provenance[row["figure"]]
            assert (row["provenance"], row["source"]) == (known.kind.value, known.source)
            assert row["range"] == (None if known.low is None else [known.low, known.high])

    def test_toml_is_the_hardware_file(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("show", DEFAULT_HARDWARE, "--format", "toml") == EXIT_DONE
        out = capsys.readouterr().out
        assert out == format_hardware(load_hardware(DEFAULT_HARDWARE))
        assert tomllib.loads(out)["name"] == DEFAULT_HARDWARE

    def test_base_of_an_ini(self, capsys: pytest.CaptureFixture[str]) -> None:
        argv = ("show", str(PLATFORM_INI), "--hw-base", "ascend910b4", "--format", "json")
        assert run(*argv) == EXIT_DONE
        shown = json.loads(capsys.readouterr().out)
        sources = {row["figure"]: row["source"] for row in shown["figures"]}
        assert sources["fixed.launch_us"].startswith("from ascend910b4 (")

    def test_calibration_with_its_errors(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "chip.toml"
        write_calibrated(path, CALIBRATION)
        assert run("show", str(path)) == EXIT_DONE
        out = capsys.readouterr().out
        assert "calibration of pipeline: 81 kernels measured on Ascend950PR_9589, 2026-08" in out
        assert "1.4321" in out
        assert "2.3%" in out
        assert run("show", str(path), "--format", "json") == EXIT_DONE
        shown = json.loads(capsys.readouterr().out)
        assert shown["calibration"]["pipeline"]["errors"]["all"]["median_ape"] == 0.0234

    def test_calibration_carried_over(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "chip.toml"
        write_calibrated(path, replace(CALIBRATION, errors={}))
        assert run("show", str(path)) == EXIT_DONE
        assert "no error is known" in capsys.readouterr().out

    def test_unknown_name(self) -> None:
        with pytest.raises(HardwareSpecError, match="is no known hardware"):
            run("show", "ascend0")


class TestCheck:
    def test_valid_files(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "chip.toml"
        spec = write_calibrated(path, CALIBRATION)
        argv = ("check", str(path), str(PLATFORM_INI), "--hw-base", "ascend910b4")
        assert run(*argv) == EXIT_DONE
        count = len(spec.figures())
        assert capsys.readouterr().out.splitlines() == [
            f"{path}: valid: measured, DAV_3510, {count} figures",
            f"{PLATFORM_INI}: valid: ascend910b1, DAV_2201, {count} figures",
        ]

    @pytest.mark.parametrize(
        ("name", "base", "message"),
        [
            ("chip.toml", "nosuch", "--hw-base nosuch: completes platform .ini files"),
            ("chip.toml", "ascend910b4", "leave it out"),
            (str(PLATFORM_INI), "nosuch", "'nosuch' is no known hardware"),
        ],
    )
    def test_a_base_without_use_is_refused(
        self, tmp_path: Path, name: str, base: str, message: str
    ) -> None:
        write_calibrated(tmp_path / "chip.toml", CALIBRATION)
        with pytest.raises(InputError, match=message):
            run("check", str(tmp_path / name), "--hw-base", base)

    def test_every_file_is_checked(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        wrong = tmp_path / "wrong.toml"
        text = format_hardware(load_hardware(DEFAULT_HARDWARE))
        wrong.write_text(text.replace("value = 31.0", "value = 0"), encoding="utf-8")
        absent = tmp_path / "absent.ini"
        assert run("check", str(wrong), str(PLATFORM_INI), str(absent)) == EXIT_BAD_INPUT
        captured = capsys.readouterr()
        assert captured.out.startswith(f"{PLATFORM_INI}: valid")
        assert captured.err.splitlines()[0] == (
            f"autotune hw: {wrong}: rates.hbm_read_bytes_per_cycle.value: is 0.0, "
            "expected a number above 0"
        )
        assert f"{absent}: no such file" in captured.err.splitlines()[1]

    def test_a_fit_of_other_constants_is_refused(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "chip.toml"
        text = format_hardware(load_hardware(DEFAULT_HARDWARE))
        path.write_text(text.replace("l2_ratio", "l3_ratio"), encoding="utf-8")
        assert run("check", str(path)) == EXIT_BAD_INPUT
        assert capsys.readouterr().err == (
            f"autotune hw: {path}: calibration.pipeline.constants.l2_ratio: is missing; "
            "calibrate again\n"
        )


def test_an_action_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run()
    assert caught.value.code == EXIT_BAD_INPUT
    assert "ACTION" in capsys.readouterr().err
