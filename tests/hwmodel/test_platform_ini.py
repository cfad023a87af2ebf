import codecs
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hwmodel.errors import HardwareSpecError
from hwmodel.platform_ini import parse_platform_ini
from hwmodel.platform_spec import complete_platform_ini
from hwmodel.spec import Calibration, ClassError, HardwareSpec, ProvenanceKind
from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware, spec_digest, write_hardware

FILES = Path(__file__).parent / "platform_files"
SOCS = ("Ascend950PR_9589", "Ascend950PR_9579", "Ascend950DT_9581", "Ascend910B1")
CALIBRATION = Calibration(
    model="pipeline",
    measured_on="Ascend950PR_9589",
    date="2026-08-31",
    data_digest="ab" * 32,
    rows=81,
    constants={"launch_us": 1.4},
    errors={"all": ClassError(n=81, median_ape=0.02, p90_ape=0.1)},
)


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., HardwareSpec]:
    """Loads a platform file given as text or bytes."""

    def load_content(content: str | bytes, base: str | None = None) -> HardwareSpec:
        path = tmp_path / "platform.ini"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return load_hardware(str(path), base=base)

    return load_content


def file_text(soc: str = "Ascend950PR_9589") -> str:
    return (FILES / f"{soc}.ini").read_text("ascii")


def without(text: str, *keys: str) -> str:
    """The text less the lines of some keys."""
    lines = [line for line in text.splitlines() if line.split("=")[0] not in keys]
    assert len(lines) < len(text.splitlines())
    return "\n".join(lines)


@pytest.mark.parametrize("soc", SOCS)
def test_same_figures_as_the_bundled_spec(soc: str) -> None:
    spec = load_hardware(str(FILES / f"{soc}.ini"))
    bundled = load_hardware(soc)
    assert spec.figures() == bundled.figures()
    assert (spec.name, spec.soc, spec.npu_arch) == (bundled.name, soc, bundled.npu_arch)
    for path, provenance in spec.provenance.items():
        known = bundled.provenance[path]
        assert provenance.kind is known.kind, path
        assert (provenance.low, provenance.high) == (known.low, known.high), path


@pytest.mark.parametrize("soc", SOCS)
def test_provenance_names_the_key_or_the_base(soc: str) -> None:
    provenance = load_hardware(str(FILES / f"{soc}.ini")).provenance
    assert provenance["cores.aic_num"].source == f"{soc}.ini, [SoCInfo] cube_core_cnt"
    assert provenance["fixed.launch_us"].source.startswith(
        f"from {soc.lower().replace('_', '-')} ("
    )


@pytest.mark.parametrize("soc", SOCS)
@pytest.mark.parametrize("base", ["ascend950pr-9589", "ascend910b4"])
def test_round_trip_as_toml(soc: str, base: str, tmp_path: Path) -> None:
    spec = load_hardware(str(FILES / f"{soc}.ini"), base=base)
    path = tmp_path / "chip.toml"
    write_hardware(spec, path)
    again = load_hardware(str(path))
    assert again == spec
    assert spec_digest(again) == spec_digest(spec)


def test_digest_does_not_depend_on_the_place_of_the_file(
    load: Callable[..., HardwareSpec],
) -> None:
    text = without(file_text(), "ddr_rate", "ddr_read_rate", "cube_freq")
    spec = load(text)
    ini = parse_platform_ini(text.encode(), "elsewhere.ini")
    base = load_hardware(DEFAULT_HARDWARE)
    assert spec_digest(complete_platform_ini(ini, base)) == spec_digest(spec)


class TestTolerance:
    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text.replace("\n", "\r\n").encode(),
            lambda text: text.replace("\n", "\r").encode(),
            lambda text: codecs.BOM_UTF8 + text.encode(),
            lambda text: text.encode("utf-16"),
            lambda text: ("# 平台\n" + text).encode("gb18030"),
            lambda text: ("# Plattform für Ascend\n" + text).encode("latin-1"),
            lambda text: text.replace("ddr_rate=31", "ddr_rate=7\nddr_rate=31").encode(),
            lambda text: (text + "\n[SoCInfo]\nai_core_cnt=32\n").encode(),
            lambda text: text.replace("=", " = ").replace("\n", "  \n  ").encode(),
            lambda text: text.replace("ddr_rate=31", "ddr_rate=31 # all ; of it").encode(),
            lambda text: text.upper().replace("ASCEND950PR", "Ascend950PR").encode(),
            lambda text: text.replace("NpuArch=3510", "NpuArch=DAV_3510").encode(),
            lambda text: (text + "\n[Intrinsics]\n0=a%(b)s|c:d\nflag\nempty=\n").encode(),
        ],
        ids=[
            "crlf",
            "cr",
            "utf-8 bom",
            "utf-16",
            "gb18030 comment",
            "latin-1 comment",
            "duplicate key",
            "duplicate section",
            "blanks and indented lines",
            "comment after a value",
            "other case",
            "arch as in the spec",
            "other sections",
        ],
    )
    def test_forms_of_the_same_file(
        self, change: Callable[[str], bytes], load: Callable[..., HardwareSpec]
    ) -> None:
        assert load(change(file_text())).figures() == load_hardware(DEFAULT_HARDWARE).figures()

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("ddr_rate=31", "is not a platform .ini file (File contains no section headers"),
            ("[SoCInfo]\n=3", "is not a platform .ini file ("),
            ("[SoCInfo]\nai_core_cnt=3", "version.SoC_version: is missing"),
            ("[version]\nSoC_version=\n", "version.SoC_version: is missing"),
            ("[version]\nSoC_version=a b", "version.SoC_version: is 'a b'"),
            ("[version]\nSoC_version=New\nNpuArch=new", "version.NpuArch: is 'new'"),
            ("[version]\nSoC_version=New\nNpuArch=9999", "version.NpuArch: no bundled spec has"),
            ("[version]\nSoC_version=New", "version.NpuArch: is missing"),
            (b"\xff\xfea", "starts like UTF-16 but is not"),
            ("PK\x03\x04zip", "is not a platform .ini file ("),
        ],
    )
    def test_no_platform_file(
        self, content: str | bytes, message: str, load: Callable[..., HardwareSpec]
    ) -> None:
        with pytest.raises(HardwareSpecError) as caught:
            load(content)
        assert f"platform.ini: {message}" in str(caught.value)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("cube_core_cnt=32", "cube_core_cnt=many", "SoCInfo.cube_core_cnt: is 'many', exp"),
            ("cube_core_cnt=32", "cube_core_cnt=1.5", "SoCInfo.cube_core_cnt: is '1.5', expected"),
            ("l1_size=524288", "l1_size=0", "AICoreSpec.l1_size: is '0', expected a number above"),
            ("l1_size=524288", "l1_size=1" + 30 * "0", "AICoreSpec.l1_size: is '1000"),
            ("ddr_rate=31", "ddr_rate=-31", "AICoreMemoryRates.ddr_rate: is '-31', expected a nu"),
            ("ddr_rate=31", "ddr_rate=nan", "AICoreMemoryRates.ddr_rate: is 'nan', expected a nu"),
            ("ddr_rate=31", "ddr_rate=inf", "AICoreMemoryRates.ddr_rate: is 'inf', expected a nu"),
            ("reg_width=256", "reg_width=2", "VectorCoreSpec.vector_reg_width: is '2', expected"),
        ],
    )
    def test_wrong_figures(
        self, old: str, new: str, message: str, load: Callable[..., HardwareSpec]
    ) -> None:
        assert old in file_text()
        with pytest.raises(HardwareSpecError) as caught:
            load(file_text().replace(old, new))
        assert f"platform.ini: {message}" in str(caught.value)
        assert "\n" not in str(caught.value)


class TestArch:
    @pytest.mark.parametrize(
        ("lines", "arch", "base"),
        [
            ("NpuArch=3510", "DAV_3510", "ascend950pr-9589"),
            ("NpuArch=2201", "DAV_2201", "ascend910b1"),
            ("Short_SoC_version=Ascend910B", "DAV_2201", "ascend910b1"),
            ("Short_SoC_version=Ascend910_93", "DAV_2201", "ascend910b1"),
            ("Short_SoC_version=Ascend950", "DAV_3510", "ascend950pr-9589"),
            ("AIC_version=AIC-C-220", "DAV_2201", "ascend910b1"),
            ("AIC_version=AIC-C-310", "DAV_3510", "ascend950pr-9589"),
        ],
    )
    def test_of_a_new_soc(
        self, lines: str, arch: str, base: str, load: Callable[..., HardwareSpec]
    ) -> None:
        spec = load(f"[version]\nSoC_version=Ascend_New1\n{lines}\n")
        assert (spec.name, spec.soc, spec.npu_arch) == ("ascend-new1", "Ascend_New1", arch)
        assert spec.fixed == load_hardware(base).fixed
        assert f"from {base} (" in spec.provenance["fixed.launch_us"].source

    def test_of_the_base_when_the_file_does_not_tell(
        self, load: Callable[..., HardwareSpec]
    ) -> None:
        spec = load("[version]\nSoC_version=New\n", base="Ascend910B4")
        assert spec.npu_arch == "DAV_2201"
        assert spec.buffers == load_hardware("ascend910b4").buffers

    def test_unknown_arch_with_a_base(self, load: Callable[..., HardwareSpec]) -> None:
        spec = load("[version]\nSoC_version=New\nNpuArch=9999\n", base=DEFAULT_HARDWARE)
        assert spec.npu_arch == "DAV_9999"


class TestCompletion:
    def test_defaults_of_the_host_tiling(self, load: Callable[..., HardwareSpec]) -> None:
        text = without(file_text("Ascend910B1"), "cube_freq", "ddr_rate", "l2_rate")
        spec = load(text)
        assert spec.cores.clock_mhz == 1650
        assert spec.rates.hbm_read_bytes_per_cycle == 31
        assert spec.rates.l2_read_bytes_per_cycle == 100
        assert spec.rates.hbm_read_total_bytes_per_cycle == 31 * 24
        provenance = spec.provenance["cores.clock_mhz"]
        assert provenance.kind is ProvenanceKind.ASSUMED
        assert "lacks [AICoreSpec] cube_freq" in provenance.source

    def test_other_keys_of_the_same_figure(self, load: Callable[..., HardwareSpec]) -> None:
        text = without(file_text(), "cube_core_cnt", "ub_size", "l2_rate")
        text = text.replace("ddr_rate=31", "ddr_rate=").replace("ddr_rate=16", "ddr_read_rate=16")
        spec = load(text.replace("reg_width=256", "reg_width=256\nub_size=253952"))
        assert spec.figures() == load_hardware(DEFAULT_HARDWARE).figures()
        sources = {path: one.source for path, one in spec.provenance.items()}
        assert sources["cores.aic_num"].endswith("[SoCInfo] ai_core_cnt")
        assert sources["buffers.ub_bytes"].endswith("[VectorCoreSpec] ub_size")
        assert sources["rates.l2_read_bytes_per_cycle"].endswith("l2_read_rate")
        assert sources["rates.hbm_read_bytes_per_cycle"].endswith("ddr_read_rate")

    def test_core_count_for_bandwidths_of_its_own(self, load: Callable[..., HardwareSpec]) -> None:
        spec = load(file_text().replace("ai_core_cnt=32", "ai_core_cnt=30"))
        assert (spec.cores.ai_core_cnt, spec.cores.aic_num) == (30, 32)
        assert load(without(file_text(), "ai_core_cnt")).cores.ai_core_cnt == 32

    def test_what_follows_is_scaled(self, load: Callable[..., HardwareSpec]) -> None:
        text = without(file_text("Ascend950DT_9581"), "vector_core_cnt")
        text = text.replace("DT_9581", "DT_1").replace("cube_core_cnt=32", "cube_core_cnt=16")
        spec = load(text)
        base = load_hardware(DEFAULT_HARDWARE)
        assert spec.cores.aiv_num == 32
        assert spec.rates.hbm_read_total_bytes_per_cycle == 80 * 16
        writes = spec.rates.hbm_write_total_bytes_per_cycle
        assert writes == pytest.approx(921 * 80 * 16 / 992, rel=1e-5)
        assert spec.rates.l2_total_bytes_per_cycle == pytest.approx(
            base.rates.l2_total_bytes_per_cycle / 2, rel=1e-5
        )
        known = spec.provenance["rates.hbm_write_total_bytes_per_cycle"]
        assert known.kind is ProvenanceKind.DERIVED
        assert "in proportion to rates.hbm_read_bytes_per_cycle x cores.aic_num" in known.source
        assert known.low == pytest.approx(0.85 * writes, rel=1e-3)
        assert spec.rates.mte2_port_bytes_per_cycle == base.rates.mte2_port_bytes_per_cycle

    def test_documented_of_the_base_is_derived_for_another_chip(
        self, load: Callable[..., HardwareSpec]
    ) -> None:
        text = without(file_text(), "l1_size", "cube_k_size", "vector_reg_width")
        own = load(text)
        assert own.provenance["buffers.l1_bytes"].kind is ProvenanceKind.DOCUMENTED
        other = load(text.replace("PR_9589", "PR_1"))
        assert other.buffers.l1_bytes == own.buffers.l1_bytes == 524288
        assert other.compute == own.compute
        known = other.provenance["buffers.l1_bytes"]
        assert known.kind is ProvenanceKind.DERIVED
        assert (known.low, known.high) == (262144, 1048576)
        assumed = other.provenance["fixed.mixed_kernel_extra_us"]
        assert assumed.kind is ProvenanceKind.ASSUMED


class TestCalibration:
    def complete(self, text: str) -> HardwareSpec:
        base = replace(load_hardware(DEFAULT_HARDWARE), calibrations={"pipeline": CALIBRATION})
        return complete_platform_ini(parse_platform_ini(text.encode(), "p.ini"), base)

    def test_kept_for_the_chip_measured(self) -> None:
        assert self.complete(file_text()).calibrations == {"pipeline": CALIBRATION}

    @pytest.mark.parametrize(
        "text",
        [
            file_text().replace("PR_9589", "PR_9590"),
            file_text().replace("l2_size=134217728", "l2_size=67108864"),
        ],
        ids=["another chip", "another figure"],
    )
    def test_carried_over_without_its_errors(self, text: str) -> None:
        carried = self.complete(text).calibrations["pipeline"]
        assert carried == replace(CALIBRATION, errors={})
