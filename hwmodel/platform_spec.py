"""A HardwareSpec from a platform .ini file of the vendor's and a base spec.

The file gives the core counts, the clock, the buffers and the rates that the vendor's own tiling
reads. The rest comes from the base:

- Figures that the file gives are `documented`, with the file and its key as source.
- `ddr_rate`, `l2_rate` and `cube_freq` fall back to what the host tiling takes when the file
  lacks them (specification: host-tiling.md, section 1).
- Totals of the chip and the vector core count are scaled from the base by the figures that they
  follow; other figures are taken over. On another SoC than the base's they are `derived`, unless
  the base only assumes them.
- Calibrations stay what they are only where the chip is the base's own, figure by figure. On a
  relative the constants are carried over without their errors: nobody measured this chip.
"""

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, NoReturn

from hwmodel.errors import HardwareSpecError
from hwmodel.platform_ini import PlatformIni
from hwmodel.spec import (
    FIGURE_LIMIT,
    SECTIONS,
    BufferSizes,
    CacheFacts,
    Calibration,
    ComputeRates,
    CoreCounts,
    FixedCosts,
    HardwareSpec,
    Provenance,
    ProvenanceKind,
    TransferRates,
)

_KEYS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "cores.aic_num": (("SoCInfo", "cube_core_cnt"), ("SoCInfo", "ai_core_cnt")),
    "cores.aiv_num": (("SoCInfo", "vector_core_cnt"),),
    "cores.ai_core_cnt": (("SoCInfo", "ai_core_cnt"), ("SoCInfo", "cube_core_cnt")),
    "cores.clock_mhz": (("AICoreSpec", "cube_freq"),),
    "buffers.l0a_bytes": (("AICoreSpec", "l0_a_size"),),
    "buffers.l0b_bytes": (("AICoreSpec", "l0_b_size"),),
    "buffers.l0c_bytes": (("AICoreSpec", "l0_c_size"),),
    "buffers.l1_bytes": (("AICoreSpec", "l1_size"),),
    "buffers.ub_bytes": (("AICoreSpec", "ub_size"), ("VectorCoreSpec", "ub_size")),
    "buffers.bias_table_bytes": (("AICoreSpec", "bt_size"),),
    "buffers.l2_bytes": (("SoCInfo", "l2_size"),),
    "rates.hbm_read_bytes_per_cycle": (
        ("AICoreMemoryRates", "ddr_rate"),
        ("AICoreMemoryRates", "ddr_read_rate"),
    ),
    "rates.l2_read_bytes_per_cycle": (
        ("AICoreMemoryRates", "l2_rate"),
        ("AICoreMemoryRates", "l2_read_rate"),
    ),
    "rates.l1_to_l0a_bytes_per_cycle": (("AICoreMemoryRates", "l1_to_l0_a_rate"),),
    "rates.l1_to_l0b_bytes_per_cycle": (("AICoreMemoryRates", "l1_to_l0_b_rate"),),
    "rates.fixpipe_bytes_per_cycle": (("AICoreMemoryRates", "l0_c_to_ub_rate"),),
    "rates.aiv_hbm_bytes_per_cycle": (
        ("VectorCoreMemoryRates", "ddr_rate"),
        ("VectorCoreMemoryRates", "ddr_read_rate"),
    ),
    "rates.aiv_ub_to_l2_bytes_per_cycle": (("VectorCoreMemoryRates", "ub_to_l2_rate"),),
    "rates.aiv_ub_to_hbm_bytes_per_cycle": (("VectorCoreMemoryRates", "ub_to_ddr_rate"),),
}
"""Where the file gives a figure: sections and keys, the first that is there counts."""

_CUBE_KEYS = ("cube_m_size", "cube_n_size", "cube_k_size")
"""Sides of the block that the cube multiplies in a cycle ([AICoreSpec])."""

_VECTOR_REGISTER = ("VectorCoreSpec", "vector_reg_width")
_FP32_BYTES = 4

_HOST_TILING_DEFAULTS = {
    "cores.clock_mhz": 1650,
    "rates.hbm_read_bytes_per_cycle": 31,
    "rates.l2_read_bytes_per_cycle": 100,
}
"""What the host tiling takes for a missing key (specification: host-tiling.md, section 1)."""

_FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "cores.aiv_num": ("cores.aic_num",),
    "rates.mte2_port_bytes_per_cycle": ("rates.l2_read_bytes_per_cycle",),
    "rates.hbm_read_total_bytes_per_cycle": (
        "rates.hbm_read_bytes_per_cycle",
        "cores.aic_num",
    ),
    "rates.hbm_write_total_bytes_per_cycle": (
        "rates.hbm_read_bytes_per_cycle",
        "cores.aic_num",
    ),
    "rates.l2_total_bytes_per_cycle": ("rates.l2_read_bytes_per_cycle", "cores.aic_num"),
    "rates.l2_write_total_bytes_per_cycle": ("rates.l2_read_bytes_per_cycle", "cores.aic_num"),
}
"""Figures that no platform file gives, and the figures to which they are proportional."""

_SIGNIFICANT_DIGITS = 6
"""Digits that are kept of a scaled figure; the figures themselves have two to four."""

_GUESS_FACTOR = 2
"""A figure without a range of its own may be half or twice as large on another chip."""


def complete_platform_ini(ini: PlatformIni, base: HardwareSpec) -> HardwareSpec:
    """The spec of a platform file, with what it lacks from `base`.

    Raises:
        HardwareSpecError: a figure that is no number above 0; the message names its key.
    """
    completion = _Completion(ini, base)
    values = {path: completion.complete(path) for path in base.figures()}

    def section_values(section: str) -> dict[str, Any]:
        return {one.name: values[f"{section}.{one.name}"] for one in fields(SECTIONS[section])}

    spec = HardwareSpec(
        name=ini.soc.lower().replace("_", "-"),
        soc=ini.soc,
        npu_arch=ini.npu_arch or base.npu_arch,
        cores=CoreCounts(**section_values("cores")),
        buffers=BufferSizes(**section_values("buffers")),
        compute=ComputeRates(**section_values("compute")),
        rates=TransferRates(**section_values("rates")),
        fixed=FixedCosts(**section_values("fixed")),
        cache=CacheFacts(**section_values("cache")),
        provenance=completion.provenance,
        calibrations={},
    )
    same_chip = completion.same_soc and spec.figures() == base.figures()
    return replace(
        spec,
        calibrations={
            model: calibration if same_chip else _carry_over(calibration)
            for model, calibration in base.calibrations.items()
        },
    )


def _carry_over(calibration: Calibration) -> Calibration:
    """The constants for a relative of the chip measured; the errors are that chip's alone."""
    return replace(calibration, errors={})


class _Completion:
    """Takes each figure from the file where it is there, else from the base."""

    def __init__(self, ini: PlatformIni, base: HardwareSpec) -> None:
        self.ini = ini
        self.base = base
        self.base_figures = base.figures()
        self.same_soc = ini.soc.lower() == base.soc.lower()
        self.provenance: dict[str, Provenance] = {}
        self.values: dict[str, int | float] = {}

    def complete(self, path: str) -> int | float:
        """The value of a figure; its provenance is noted."""
        if path not in self.values:
            found = self.find(path) or self.find_default(path) or self.inherit(path)
            self.values[path], self.provenance[path] = found
        return self.values[path]

    def find(self, path: str) -> tuple[int | float, Provenance] | None:
        """The figure as the file gives it."""
        if path == "compute.macs_per_cycle_16bit":
            return self.find_cube_rate()
        if path == "compute.vector_lanes_per_cycle":
            return self.find_vector_lanes()
        for section, key in _KEYS.get(path, ()):
            value = self.read(section, key, whole=isinstance(self.base_figures[path], int))
            if value is not None:
                return value, self.document(path, value, f"[{section}] {key}")
        return None

    def find_cube_rate(self) -> tuple[int | float, Provenance] | None:
        sides = [self.read("AICoreSpec", key, whole=True) for key in _CUBE_KEYS]
        macs = 1
        for side in sides:
            if side is None:
                return None
            macs *= int(side)
        source = f"[AICoreSpec] {' x '.join(_CUBE_KEYS)}"
        return macs, self.document("compute.macs_per_cycle_16bit", macs, source)

    def find_vector_lanes(self) -> tuple[int | float, Provenance] | None:
        section, key = _VECTOR_REGISTER
        width = self.read(section, key, whole=True)
        if width is None:
            return None
        if width < _FP32_BYTES:
            self.fail(section, key, str(width), f"at least {_FP32_BYTES} bytes")
        lanes = int(width) // _FP32_BYTES
        low, high = self.scale_range("compute.vector_lanes_per_cycle", lanes)
        source = f"fp32 elements in a vector register: {self.name(f'[{section}] {key}')}"
        return lanes, Provenance(kind=ProvenanceKind.DERIVED, source=source, low=low, high=high)

    def find_default(self, path: str) -> tuple[int | float, Provenance] | None:
        """What the host tiling takes for a key that the file lacks."""
        default = _HOST_TILING_DEFAULTS.get(path)
        if default is None:
            return None
        value = type(self.base_figures[path])(default)
        keys = " or ".join(f"[{section}] {key}" for section, key in _KEYS[path])
        return value, Provenance(
            kind=ProvenanceKind.ASSUMED,
            source=f"{self.ini.soc}.ini lacks {keys}; what the host tiling takes then",
            low=value / _GUESS_FACTOR,
            high=value * _GUESS_FACTOR,
        )

    def inherit(self, path: str) -> tuple[int | float, Provenance]:
        """The base's figure, scaled where it follows figures that the file gives."""
        leaders = _FOLLOWS.get(path, ())
        ratio = math.prod(self.complete(one) / self.base_figures[one] for one in leaders)
        value = _scale(self.base_figures[path], ratio)
        known = self.base.provenance[path]
        source = f"from {self.base.name}"
        if ratio != 1:
            source += f", in proportion to {' x '.join(leaders)}"
        source += f" ({known.kind.value}: {known.source})"
        if ratio == 1 and self.same_soc:
            return value, replace(known, source=source)
        kind = (
            ProvenanceKind.ASSUMED
            if known.kind is ProvenanceKind.ASSUMED
            else ProvenanceKind.DERIVED
        )
        low, high = self.scale_range(path, value)
        return value, Provenance(kind=kind, source=source, low=low, high=high)

    def document(self, path: str, value: float, key: str) -> Provenance:
        """Provenance of a figure that the file gives; a range as wide as the base's figure has."""
        known = self.base.provenance[path]
        low, high = (None, None) if known.low is None else self.scale_range(path, value)
        return Provenance(
            kind=ProvenanceKind.DOCUMENTED, source=self.name(key), low=low, high=high
        )

    def scale_range(self, path: str, value: float) -> tuple[float, float]:
        """The base's range in proportion to the value; half to twice it if there is none."""
        known = self.base.provenance[path]
        if known.low is None or known.high is None:
            return value / _GUESS_FACTOR, value * _GUESS_FACTOR
        ratio = value / self.base_figures[path]
        return float(min(value, known.low * ratio)), float(max(value, known.high * ratio))

    def name(self, key: str) -> str:
        return f"{self.ini.soc}.ini, {key}"

    def read(self, section: str, key: str, *, whole: bool) -> int | float | None:
        """The number under a key, None when it is missing or empty."""
        text = self.ini.find(section, key)
        if text is None:
            return None
        try:
            value = int(text) if whole else float(text)
        except ValueError:
            self.fail(section, key, text, "a whole number" if whole else "a number")
        if not 0 < value < FIGURE_LIMIT:
            self.fail(section, key, text, "a number above 0 and below 2^63")
        return value

    def fail(self, section: str, key: str, text: str, expected: str) -> NoReturn:
        raise HardwareSpecError(
            f"{self.ini.where}: {section}.{key}: is {text!r}, expected {expected}; "
            "correct it, or remove the line to take the base's figure"
        )


def _scale(value: int | float, ratio: float) -> int | float:
    """The value times the ratio, of the same type, without the noise of the division."""
    if ratio == 1:
        return value
    if isinstance(value, int):
        return max(1, round(value * ratio))
    return float(f"{value * ratio:.{_SIGNIFICANT_DIGITS}g}")
