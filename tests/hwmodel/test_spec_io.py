import copy
import math
import pickle
import re
import tomllib
from collections.abc import Callable
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodel.cost.constants import PipelineConstants
from hwmodel.errors import HardwareSpecError, InputError
from hwmodel.spec import Calibration, ClassError, HardwareSpec, Provenance, ProvenanceKind
from hwmodel.spec_document import build_document, parse_document
from hwmodel.spec_io import (
    DEFAULT_HARDWARE,
    format_hardware,
    hardware_names,
    load_hardware,
    require_dav_3510,
    spec_digest,
    write_hardware,
)

NAMES = (
    "ascend910b1",
    "ascend910b2",
    "ascend910b3",
    "ascend910b4",
    "ascend950dt-9581",
    "ascend950dt-9582",
    "ascend950pr-9579",
    "ascend950pr-9589",
)
KINDS = {kind.value for kind in ProvenanceKind}
HBM = "rates.hbm_read_bytes_per_cycle"
CALIBRATION = Calibration(
    model="pipeline",
    measured_on="Ascend950PR_9589",
    date="2026-08-31",
    data_digest="0123456789abcdef" * 4,
    rows=81,
    constants=asdict(PipelineConstants(l2_ratio=1 / 3, overlap_loss_ratio=-0.0)),
    errors={"all": ClassError(n=81, median_ape=0.021, p90_ape=0.12)},
)


EMULATOR_CALIBRATION = replace(
    CALIBRATION,
    model="emulator",
    constants={"launch_us": 2.0, "tile_cycles": 100.0, "row_cycles": 4.0},
    draws=(
        {"launch_us": 1.9, "tile_cycles": 90.0},
        {"launch_us": 2.1, "tile_cycles": 110.0},
    ),
)


def bundled_text(name: str) -> str:
    return resources.files("hwmodel").joinpath("specs", f"{name}.toml").read_text("utf-8")


def default_document() -> dict[str, Any]:
    return build_document(replace_calibrations({"pipeline": CALIBRATION}))


def replace_calibrations(calibrations: dict[str, Calibration]) -> HardwareSpec:
    return replace(load_hardware(DEFAULT_HARDWARE), calibrations=calibrations)


def numbers_without_provenance(document: dict[str, Any]) -> list[str]:
    """Dotted paths of the numbers that are no value or range of a figure with its provenance."""
    bare: list[str] = []

    def walk(path: str, entry: object) -> None:
        if isinstance(entry, dict) and "value" in entry:
            known = entry.get("provenance") in KINDS and bool(entry.get("source"))
            if not known or (entry["provenance"] != "documented" and "range" not in entry):
                bare.append(path)
        elif isinstance(entry, dict):
            for key, child in entry.items():
                walk(f"{path}.{key}" if path else key, child)
        elif isinstance(entry, list):
            for index, child in enumerate(entry):
                walk(f"{path}[{index}]", child)
        elif isinstance(entry, (int, float)):
            bare.append(path)

    figures = {key: entry for key, entry in document.items() if key != "calibration"}
    walk("", figures)
    return [path for path in bare if path != "schema"]


class TestBundled:
    def test_names(self) -> None:
        assert hardware_names() == NAMES
        assert DEFAULT_HARDWARE in NAMES

    @pytest.mark.parametrize("name", NAMES)
    def test_every_number_has_provenance(self, name: str) -> None:
        document = tomllib.loads(bundled_text(name))
        assert numbers_without_provenance(document) == []
        assert len(load_hardware(name).figures()) == sum(
            len(entry)
            for key, entry in document.items()
            if isinstance(entry, dict) and key != "calibration"
        )

    @pytest.mark.parametrize("name", NAMES)
    def test_every_calibration_says_what_it_was_fitted_to(self, name: str) -> None:
        for fit in tomllib.loads(bundled_text(name)).get("calibration", {}).values():
            assert {"measured_on", "date", "data_digest", "rows"} <= fit.keys()

    def test_the_walk_finds_a_bare_number(self) -> None:
        document = tomllib.loads(bundled_text(DEFAULT_HARDWARE))
        document["rates"]["extra"] = 3
        document["cores"]["aic_num"]["provenance"] = "guessed"
        del document["fixed"]["launch_us"]["range"]
        document["cache"]["list"] = [1.5]
        assert numbers_without_provenance(document) == [
            "cores.aic_num",
            "rates.extra",
            "fixed.launch_us",
            "cache.list[0]",
        ]

    @pytest.mark.parametrize("name", NAMES)
    def test_file_is_what_the_writer_writes(self, name: str) -> None:
        spec = load_hardware(name)
        assert spec.name == name
        assert spec.soc.lower().replace("_", "-") == name
        assert bundled_text(name) == format_hardware(spec)

    @pytest.mark.parametrize("name", NAMES)
    def test_provenance_of_every_figure(self, name: str) -> None:
        spec = load_hardware(name)
        assert list(spec.provenance) == list(spec.figures())
        for path, provenance in spec.provenance.items():
            if provenance.low is not None and provenance.high is not None:
                assert provenance.low <= spec.figures()[path] <= provenance.high
            else:
                assert provenance.kind is ProvenanceKind.DOCUMENTED

    def test_figures_of_the_default(self) -> None:
        spec = load_hardware(DEFAULT_HARDWARE)
        assert (spec.soc, spec.npu_arch) == ("Ascend950PR_9589", "DAV_3510")
        assert (spec.cores.aic_num, spec.cores.aiv_num, spec.cores.clock_mhz) == (32, 64, 1650)
        assert spec.clock_hz == 1.65e9
        assert spec.cycles_to_us(spec.us_to_cycles(2.5)) == 2.5
        peak = 2 * spec.compute.macs_per_cycle_16bit * spec.cores.aic_num * spec.clock_hz
        assert peak == pytest.approx(432.5e12, rel=1e-4)

    @pytest.mark.parametrize(
        ("name", "aic", "clock", "l0c", "l2", "terabytes"),
        [
            ("ascend950pr-9589", 32, 1650, 262144, 134217728, 1.637),
            ("ascend950pr-9579", 28, 1650, 262144, 134217728, 1.432),
            ("ascend950dt-9582", 32, 1650, 262144, 134217728, 3.221),
            ("ascend950dt-9581", 32, 1650, 262144, 134217728, 4.224),
            ("ascend910b1", 24, 1850, 131072, 201326592, 1.421),
            ("ascend910b2", 24, 1800, 131072, 201326592, 1.382),
            ("ascend910b3", 20, 1800, 131072, 201326592, 1.152),
            ("ascend910b4", 20, 1500, 131072, 100663296, 0.800),
        ],
    )
    def test_figures_of_the_specification(
        self, name: str, aic: int, clock: int, l0c: int, l2: int, terabytes: float
    ) -> None:
        spec = load_hardware(name)
        assert (spec.cores.aic_num, spec.cores.ai_core_cnt) == (aic, aic)
        assert spec.cores.aiv_num == 2 * aic
        assert spec.cores.clock_mhz == clock
        assert (spec.buffers.l0c_bytes, spec.buffers.l2_bytes) == (l0c, l2)
        per_cycle = spec.rates.hbm_read_bytes_per_cycle * aic
        assert per_cycle * spec.clock_hz / 1e12 == pytest.approx(terabytes, abs=6e-4)
        total = spec.rates.hbm_read_total_bytes_per_cycle
        assert total == pytest.approx(per_cycle, rel=1e-3)


class TestNames:
    @pytest.mark.parametrize(
        "name", ["ascend950pr-9589", "Ascend950PR_9589", "ASCEND950PR-9589", " ascend950pr_9589 "]
    )
    def test_vendor_name_and_any_case(self, name: str) -> None:
        assert load_hardware(name) is load_hardware(DEFAULT_HARDWARE)

    def test_unknown_name_lists_known_and_close_ones(self) -> None:
        with pytest.raises(HardwareSpecError) as caught:
            load_hardware("950pr-9588")
        message = str(caught.value)
        assert "\n" not in message
        assert "did you mean ascend950pr-9589" in message
        assert all(name in message for name in NAMES)

    def test_name_like_none(self) -> None:
        with pytest.raises(HardwareSpecError, match="'zzz' is no known hardware; give one of"):
            load_hardware("zzz")

    def test_base_without_ini(self) -> None:
        with pytest.raises(InputError, match="only completes a platform"):
            load_hardware(DEFAULT_HARDWARE, base="ascend910b1")


class TestFiles:
    @pytest.mark.parametrize("name", NAMES)
    def test_round_trip(self, name: str, tmp_path: Path) -> None:
        spec = load_hardware(name)
        path = tmp_path / "chip.TOML"
        write_hardware(spec, path)
        again = load_hardware(str(path))
        assert again == spec
        assert again.provenance == spec.provenance
        assert spec_digest(again) == spec_digest(spec)

    def test_round_trip_of_calibrations(self, tmp_path: Path) -> None:
        other = replace(CALIBRATION, model="formula", errors={}, constants={})
        spec = replace_calibrations({"pipeline": CALIBRATION, "formula": other})
        path = tmp_path / "chip.toml"
        write_hardware(spec, path)
        again = load_hardware(str(path))
        assert again == spec
        assert (
            math.copysign(1, again.calibrations["pipeline"].constants["overlap_loss_ratio"]) == -1
        )

    @settings(derandomize=True, deadline=None, max_examples=60)
    @given(
        value=st.floats(min_value=1e-300, max_value=1e15),
        source=st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip),
        slack=st.floats(min_value=1, max_value=1e3),
    )
    def test_round_trip_of_any_figure(self, value: float, source: str, slack: float) -> None:
        spec = load_hardware(DEFAULT_HARDWARE)
        provenance = Provenance(
            kind=ProvenanceKind.MEASURED, source=source, low=value / slack, high=value * slack
        )
        changed = replace(
            spec,
            rates=replace(spec.rates, hbm_read_bytes_per_cycle=value),
            provenance={**spec.provenance, HBM: provenance},
        )
        text = format_hardware(changed)
        assert parse_document(tomllib.loads(text), "chip.toml") == changed

    def test_byte_order_mark_and_windows_line_ends(self, tmp_path: Path) -> None:
        path = tmp_path / "chip.toml"
        text = bundled_text(DEFAULT_HARDWARE).replace("\n", "\r\n")
        path.write_bytes(b"\xef\xbb\xbf" + text.encode())
        assert load_hardware(str(path)) == load_hardware(DEFAULT_HARDWARE)

    @pytest.mark.parametrize("suffix", [".toml", ".ini"])
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is empty"),
            (b" \n\n", "is empty"),
            (b"\x7fELF\0\0\0", "is a binary file"),
        ],
    )
    def test_files_without_text(
        self, suffix: str, content: bytes, message: str, tmp_path: Path
    ) -> None:
        path = tmp_path / f"chip{suffix}"
        path.write_bytes(content)
        self.check_refused(str(path), message)

    @pytest.mark.parametrize("suffix", [".toml", ".ini"])
    def test_directory_and_missing_file(self, suffix: str, tmp_path: Path) -> None:
        self.check_refused(str(tmp_path / f"absent{suffix}"), "no such file")
        directory = tmp_path / f"directory{suffix}"
        directory.mkdir()
        self.check_refused(str(directory), "is a directory")
        self.check_refused(f"{tmp_path}/nul\0{suffix}", "cannot be read")
        self.check_refused(f"{directory}/inside{suffix}/x{suffix}", "no such file")
        (tmp_path / "file").write_text("x")
        self.check_refused(f"{tmp_path}/file/x{suffix}", "cannot be read")

    def test_path_with_another_suffix(self, tmp_path: Path) -> None:
        self.check_refused(str(tmp_path), "a hardware file ends in .toml or .ini")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"schema = ", "is not valid TOML"),
            (b"schema = 1\nschema = 1\n", "is not valid TOML"),
            (b"schema = 1" + b"0" * 5000, "is not valid TOML"),
            (b"schema = 0x1" + b"0" * 5000, "schema: is a number that is too large"),
            (b"schema = " + b"[" * 5000, "is not valid TOML"),
            (b"a = '\xff'", "byte 5 is not UTF-8"),
            (b"name = 'x'", "schema: is missing"),
        ],
    )
    def test_wrong_toml(self, content: bytes, message: str, tmp_path: Path) -> None:
        path = tmp_path / "chip.toml"
        path.write_bytes(content)
        self.check_refused(str(path), message)

    def check_refused(self, path: str, message: str) -> None:
        with pytest.raises(HardwareSpecError) as caught:
            load_hardware(path)
        assert str(caught.value).startswith(path)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def set_entry(*keys: str, to: object) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = to

    return change


def drop_entry(*keys: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for key in keys[:-1]:
            document = document[key]
        del document[keys[-1]]

    return change


FIGURE = ("rates", "hbm_read_bytes_per_cycle")
CORES = ("cores", "aic_num")
FIT = ("calibration", "pipeline")

MALFORMED = [
    (set_entry("schema", to=2), "schema: is the number 2, this program reads 1"),
    (set_entry("schema", to=True), "schema: is the boolean true"),
    (set_entry("colour", to="red"), "colour: is not an entry of a hardware file; remove it"),
    (set_entry("ratez", to={}), "ratez: is not an entry of a hardware file; did you mean `rates`"),
    (drop_entry("soc"), "soc: is missing"),
    (drop_entry("rates"), "rates: is missing"),
    (set_entry("rates", to=3), "rates: is the number 3, expected a table"),
    (set_entry("name", to="Has Space"), "name: is 'Has Space', expected the form"),
    (set_entry("name", to=7), "name: is the number 7, expected a text"),
    (set_entry("soc", to=""), "soc: is an empty text"),
    (set_entry("npu_arch", to="3510"), "npu_arch: is '3510', expected the form"),
    (set_entry(*FIGURE, to=31), f"{HBM}: is the number 31, expected a table with its provenance"),
    (set_entry("rates", "hbm", to={}), "rates.hbm: is not an entry"),
    (drop_entry(*FIGURE), f"{HBM}: is missing"),
    (drop_entry(*FIGURE, "value"), f"{HBM}.value: is missing"),
    (drop_entry(*FIGURE, "provenance"), f"{HBM}.provenance: is missing"),
    (drop_entry(*FIGURE, "source"), f"{HBM}.source: is missing"),
    (set_entry(*FIGURE, "unit", to="B"), f"{HBM}.unit: is not an entry"),
    (set_entry(*FIGURE, "value", to="31"), f"{HBM}.value: is the text '31', expected a number"),
    (set_entry(*FIGURE, "value", to=True), f"{HBM}.value: is the boolean true"),
    (set_entry(*FIGURE, "value", to=0), f"{HBM}.value: is 0.0, expected a number above 0"),
    (set_entry(*FIGURE, "value", to=-31.0), f"{HBM}.value: is -31.0, expected a number above 0"),
    (
        set_entry(*FIGURE, "value", to=math.inf),
        f"{HBM}.value: is the number inf, expected a number b",
    ),
    (
        set_entry(*FIGURE, "value", to=math.nan),
        f"{HBM}.value: is the number nan, expected a number b",
    ),
    (set_entry(*FIGURE, "value", to=10**400), f"{HBM}.value: is a number that is too large"),
    (set_entry(*FIGURE, "value", to=[1]), f"{HBM}.value: is an array of 1, expected a number"),
    (set_entry(*FIGURE, "value", to={}), f"{HBM}.value: is a table, expected a number"),
    (set_entry(*FIGURE, "value", to=None), f"{HBM}.value: is missing"),
    (set_entry(*FIGURE, "value", to=b""), f"{HBM}.value: is a bytes, expected a number"),
    (set_entry(*FIGURE, "value", to=99), f"{HBM}.value: is 99.0, outside its own range"),
    (set_entry(*CORES, "value", to=32.0), "cores.aic_num.value: is the number 32.0, expected a w"),
    (
        set_entry(*CORES, "value", to=2**63),
        "cores.aic_num.value: is a number that is too large",
    ),
    (set_entry(*CORES, "value", to=0), "cores.aic_num.value: is 0, expected a number above 0"),
    (set_entry(*FIGURE, "provenance", to="heard"), f"{HBM}.provenance: is the text 'heard', exp"),
    (set_entry(*FIGURE, "provenance", to=1), f"{HBM}.provenance: is the number 1"),
    (set_entry(*FIGURE, "source", to=" "), f"{HBM}.source: is the text ' ', expected a text"),
    (set_entry(*FIGURE, "source", to=[]), f"{HBM}.source: is an array of 0"),
    (drop_entry("fixed", "launch_us", "range"), "fixed.launch_us.range: is missing"),
    (set_entry(*FIGURE, "range", to=[1]), f"{HBM}.range: is an array of 1, expected [low, high]"),
    (set_entry(*FIGURE, "range", to=3), f"{HBM}.range: is the number 3, expected [low, high]"),
    (set_entry(*FIGURE, "range", to=[32, 30]), f"{HBM}.range: is [32.0, 30.0], expected 0 <= "),
    (set_entry(*FIGURE, "range", to=[-1, 40]), f"{HBM}.range: is [-1.0, 40.0], expected 0 <= low"),
    (set_entry(*FIGURE, "range", to=[1, math.inf]), f"{HBM}.range: is the number inf, exp"),
    (set_entry(*FIGURE, "range", to=["1", 2]), f"{HBM}.range: is the text '1', expected a number"),
    (
        set_entry("compute", "cube_efficiency_ratio", "value", to=1.5),
        "compute.cube_efficiency_ratio.value: is 1.5, expected a ratio of at most 1",
    ),
    (set_entry("calibration", to=1), "calibration: is the number 1, expected a table"),
    (set_entry("calibration", "Pipe line", to={}), "calibration.Pipe line: is 'Pipe line', exp"),
    (set_entry(*FIT, to=1), "calibration.pipeline: is the number 1, expected a table"),
    (set_entry(*FIT, "model", to="x"), "calibration.pipeline.model: is not an entry"),
    (drop_entry(*FIT, "measured_on"), "calibration.pipeline.measured_on: is missing"),
    (set_entry(*FIT, "date", to="2026-02-30"), "calibration.pipeline.date: is '2026-02-30'"),
    (set_entry(*FIT, "date", to=5), "calibration.pipeline.date: is the number 5"),
    (set_entry(*FIT, "data_digest", to="ab"), "calibration.pipeline.data_digest: is 'ab'"),
    (set_entry(*FIT, "rows", to=0), "calibration.pipeline.rows: is 0, expected a number of rows"),
    (set_entry(*FIT, "rows", to=1.0), "calibration.pipeline.rows: is the number 1.0"),
    (set_entry(*FIT, "constants", to=[]), "calibration.pipeline.constants: is an array of 0"),
    (
        set_entry(*FIT, "constants", "l2_ratio", to="1"),
        "calibration.pipeline.constants.l2_ratio: is the text '1', expected a number",
    ),
    (
        set_entry(*FIT, "constants", "l2_ratio", to=math.nan),
        "calibration.pipeline.constants.l2_ratio: is the number nan, expected a number b",
    ),
    (
        drop_entry(*FIT, "constants", "l2_ratio"),
        "calibration.pipeline.constants.l2_ratio: is missing",
    ),
    (
        set_entry(*FIT, "constants", "l2_ratio", to=0),
        "calibration.pipeline.constants.l2_ratio: is 0, expected a ratio above 0",
    ),
    (
        set_entry(*FIT, "constants", "magic_ratio", to=1),
        "calibration.pipeline.constants.magic_ratio: is no constant of the pipeline model",
    ),
    (set_entry(*FIT, "errors", "all", to=2), "calibration.pipeline.errors.all: is the number 2"),
    (drop_entry(*FIT, "errors", "all", "n"), "calibration.pipeline.errors.all.n: is missing"),
    (set_entry(*FIT, "errors", "all", "n", to=0), "calibration.pipeline.errors.all.n: is 0"),
    (
        set_entry(*FIT, "errors", "all", "p90_ape", to=0.001),
        "calibration.pipeline.errors.all: has median 0.021 and p90 0.001",
    ),
    (
        set_entry(*FIT, "errors", "all", "median_ape", to=-1),
        "calibration.pipeline.errors.all: has median -1.0",
    ),
]


class TestMalformed:
    @pytest.mark.parametrize(
        ("change", "message"), MALFORMED, ids=[message for _, message in MALFORMED]
    )
    def test_error_names_file_and_path(
        self, change: Callable[[dict[str, Any]], None], message: str
    ) -> None:
        document = copy.deepcopy(default_document())
        assert parse_document(document, "chip.toml").calibrations == {"pipeline": CALIBRATION}
        change(document)
        with pytest.raises(HardwareSpecError) as caught:
            parse_document(document, "chip.toml")
        assert str(caught.value).startswith(f"chip.toml: {message}")
        assert "\n" not in str(caught.value)

    def test_a_date_may_be_written_without_quotes(self) -> None:
        document = default_document()
        document["calibration"]["pipeline"]["date"] = tomllib.loads("d = 2026-08-31")["d"]
        spec = parse_document(document, "chip.toml")
        assert spec.calibrations["pipeline"].date == "2026-08-31"

    def test_whole_numbers_do_for_rates(self) -> None:
        document = default_document()
        document["rates"]["hbm_read_bytes_per_cycle"]["value"] = 31
        value = parse_document(document, "chip.toml").rates.hbm_read_bytes_per_cycle
        assert isinstance(value, float)


class TestDigest:
    def test_same_for_equal_specs_and_stable(self) -> None:
        spec = load_hardware(DEFAULT_HARDWARE)
        again = parse_document(tomllib.loads(bundled_text(DEFAULT_HARDWARE)), "elsewhere.toml")
        assert again is not spec
        assert spec_digest(again) == spec_digest(spec)
        assert len({spec_digest(load_hardware(name)) for name in NAMES}) == len(NAMES)

    def test_known_value(self) -> None:
        # Changes with the form of the digest, which would part every kept result from its spec.
        document = default_document()
        for section in ("cores", "buffers", "compute", "rates", "fixed", "cache"):
            for figure in document[section].values():
                figure.update(value=1, source="s", provenance="assumed", range=[1, 2])
        spec = parse_document(document, "chip.toml")
        assert spec_digest(spec) == (
            "a49221cb863ba5e4133e48f6ac373e4c6dc1327e289f10b32b839b0b8165a7bc"
        )

    def test_same_whether_a_figure_is_whole_or_not(self) -> None:
        spec = replace_calibrations({"pipeline": CALIBRATION})
        known = spec.provenance["fixed.launch_us"]
        whole, real = (
            replace(
                spec,
                rates=replace(spec.rates, hbm_read_bytes_per_cycle=number(31)),
                provenance={**spec.provenance, HBM: replace(known, low=number(1))},
                calibrations={"pipeline": replace(CALIBRATION, constants={"x_us": number(1)})},
            )
            for number in (int, float)
        )
        assert whole == real
        assert spec_digest(whole) == spec_digest(real)
        assert format_hardware(whole) == format_hardware(real)

    def test_every_part_counts(self) -> None:
        spec = replace_calibrations({})
        provenance = replace(spec.provenance[HBM], source="elsewhere")
        changed = [
            replace(spec, rates=replace(spec.rates, hbm_read_bytes_per_cycle=30.0)),
            replace(spec, provenance={**spec.provenance, HBM: provenance}),
            replace(spec, name="other"),
            replace_calibrations({"pipeline": CALIBRATION}),
        ]
        digests = {spec_digest(one) for one in [spec, *changed]}
        assert len(digests) == len(changed) + 1


class TestSpec:
    def test_hash_and_pickle(self) -> None:
        spec = load_hardware(DEFAULT_HARDWARE)
        again = pickle.loads(pickle.dumps(spec))
        assert again == spec
        assert hash(again) == hash(spec)
        assert hash(spec) != hash(load_hardware("ascend910b1"))

    def test_require_dav_3510(self) -> None:
        require_dav_3510(load_hardware(DEFAULT_HARDWARE), False)
        older = load_hardware("ascend910b1")
        require_dav_3510(older, True)
        with pytest.raises(InputError, match=r"NpuArch DAV_2201.*give --as-950"):
            require_dav_3510(older, as_950=False)


class TestDraws:
    """The bootstrap distribution of a calibration."""

    def document(self) -> dict[str, Any]:
        return build_document(replace_calibrations({"emulator": EMULATOR_CALIBRATION}))

    def test_they_come_back_jointly(self, tmp_path: Path) -> None:
        spec = replace_calibrations({"emulator": EMULATOR_CALIBRATION})
        write_hardware(spec, tmp_path / "chip.toml")
        assert load_hardware(str(tmp_path / "chip.toml")) == spec

    def test_without_them_there_is_no_table(self) -> None:
        assert "draws" not in default_document()["calibration"]["pipeline"]

    @pytest.mark.parametrize(
        ("draws", "message"),
        [
            ([], "draws: is an array of 0, expected a table"),
            ({}, "draws: has columns of different lengths (none)"),
            ({"launch_us": [1.0], "tile_cycles": []}, "draws.tile_cycles: is an array of 0"),
            ({"launch_us": [1.0], "tile_cycles": 3}, "draws.tile_cycles: is the number 3"),
            (
                {"launch_us": [1.0], "tile_cycles": [1.0, 2.0]},
                "different lengths (launch_us 1, tile_cycles 2)",
            ),
            ({"launch_us": ["x"]}, "draws.launch_us: is the text 'x'"),
            ({"launch_us": [-1.0]}, "draws.launch_us: is -1.0"),
            ({"launch_us": [1.0], "x": [1.0]}, "draws.x: is not an entry"),
        ],
    )
    def test_what_is_wrong_is_named(self, draws: object, message: str) -> None:
        document = self.document()
        document["calibration"]["emulator"]["draws"] = draws
        with pytest.raises(HardwareSpecError, match=re.escape(message)):
            parse_document(document, "chip.toml")

    def test_constants_of_the_emulator_are_checked(self) -> None:
        document = self.document()
        document["calibration"]["emulator"]["constants"]["tile_cycles"] = -1
        with pytest.raises(HardwareSpecError, match=r"constants\.tile_cycles: is -1\.0, must be"):
            parse_document(document, "chip.toml")
