"""HardwareSpec: every figure of a chip that the models and the baseline read.

Units are in the names. Rates are bytes per core cycle: of one core unless the name says `total`.
Each figure has a `Provenance` under its dotted path, e.g. `rates.hbm_read_bytes_per_cycle`;
`spec_io.py` reads and writes the TOML form.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


FIGURE_LIMIT = 2**63
"""Every figure is below this, so that it fits the 64-bit integers of array code."""


class ProvenanceKind(StrEnum):
    """How we know a figure, from best to worst."""

    DOCUMENTED = "documented"
    DERIVED = "derived"
    MEASURED = "measured"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a figure comes from and between which values it may really lie.

    Attributes:
        kind: how it is known.
        source: document, file and key, or measurement.
        low: least plausible value, None only for documented figures.
        high: greatest plausible value, None only for documented figures.

    Documented figures have a range too where what kernels reach may differ from the vendor's
    figure.
    """

    kind: ProvenanceKind
    source: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreCounts:
    """Cores and clock.

    `ai_core_cnt` scales the vendor's bandwidths; it is aic_num unless the platform file differs.
    """

    aic_num: int
    aiv_num: int
    ai_core_cnt: int
    clock_mhz: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferSizes:
    """On-chip memories; L2 of the chip, the others of one core."""

    l0a_bytes: int
    l0b_bytes: int
    l0c_bytes: int
    l1_bytes: int
    ub_bytes: int
    bias_table_bytes: int
    l2_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeRates:
    """Multiply-accumulates per cycle of a cube core, its efficiency, lanes of a vector core."""

    macs_per_cycle_16bit: int
    macs_per_cycle_fp32: int
    macs_per_cycle_hf32: int
    cube_efficiency_ratio: float
    vector_lanes_per_cycle: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferRates:
    """Bytes per cycle of one core's port, or (`total`) of the chip, seen in core cycles."""

    hbm_read_bytes_per_cycle: float
    l2_read_bytes_per_cycle: float
    l1_to_l0a_bytes_per_cycle: float
    l1_to_l0b_bytes_per_cycle: float
    fixpipe_bytes_per_cycle: float
    mte2_port_bytes_per_cycle: float
    aiv_hbm_bytes_per_cycle: float
    aiv_ub_to_l2_bytes_per_cycle: float
    aiv_ub_to_hbm_bytes_per_cycle: float
    hbm_read_total_bytes_per_cycle: float
    hbm_write_total_bytes_per_cycle: float
    l2_total_bytes_per_cycle: float
    l2_write_total_bytes_per_cycle: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedCosts:
    """Times that do not scale with bytes or multiply-accumulates.

    The first accesses are the whole latency of a core's first load, from L2 or from HBM (not one
    on top of the other). `mixed_kernel_extra_us` is what a kernel that uses cube and vector cores
    costs more to launch. `partial_line_cycles` is what the fixpipe pays for a partial line of C.
    """

    launch_us: float
    l2_first_access_cycles: float
    hbm_first_access_cycles: float
    stream_k_barrier_us: float
    mixed_kernel_extra_us: float
    partial_line_cycles: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFacts:
    """L2 behaviour: the share of its size that holds data, and the line that memory moves."""

    l2_usable_ratio: float
    line_bytes: int


SECTIONS: Mapping[str, "type[DataclassInstance]"] = MappingProxyType(
    {
        "cores": CoreCounts,
        "buffers": BufferSizes,
        "compute": ComputeRates,
        "rates": TransferRates,
        "fixed": FixedCosts,
        "cache": CacheFacts,
    }
)
"""The groups of figures of a `HardwareSpec`, by attribute and in the order of a hardware file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassError:
    """A model's absolute percentage error on the rows of one class (ratios, 0.01 = 1 %)."""

    n: int
    median_ape: float
    p90_ape: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Constants of one model fitted to measured kernels, with the evidence for them.

    A calibration belongs to the chip it was measured on. On a relative of that chip the constants
    are carried over (they are then derived, not measured) and `measured_on` goes on naming the
    chip that was measured; the errors, which say nothing about the relative, are left out.

    Attributes:
        model: evaluator the constants belong to, e.g. `pipeline`.
        measured_on: the vendor's name of the SoC the kernels ran on, e.g. `Ascend950PR_9589`.
        date: ISO date of the fit.
        data_digest: sha256 of the measured rows used.
        rows: number of rows fitted.
        constants: name (with its unit as suffix) to fitted value.
        errors: cross-validated error by class; `all` pools the classes. Empty when nobody measured
            this chip.
        draws: how the constants scatter that were really fitted, not held: each a set of these, as
            a fit of rows drawn with replacement gave them together. Empty when not computed.
    """

    model: str
    measured_on: str
    date: str
    data_digest: str
    rows: int
    constants: Mapping[str, float]
    errors: Mapping[str, ClassError]
    draws: tuple[Mapping[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareSpec:
    """One chip.

    Attributes:
        name: lower-case identifier, e.g. `ascend950pr-9589`; also what `--hw` takes.
        soc: the vendor's SoC name, e.g. `Ascend950PR_9589`.
        npu_arch: the vendor's architecture, e.g. `DAV_3510`.
        provenance: dotted path of every figure to where it comes from.
        calibrations: fitted constants by model name; empty when there are none. Those whose
            `measured_on` is not `soc` were carried over from a relative.

    The hash covers the figures only, so that specs can be dictionary keys; equality compares
    everything.
    """

    name: str
    soc: str
    npu_arch: str
    cores: CoreCounts
    buffers: BufferSizes
    compute: ComputeRates
    rates: TransferRates
    fixed: FixedCosts
    cache: CacheFacts
    provenance: Mapping[str, Provenance] = field(hash=False)
    calibrations: Mapping[str, Calibration] = field(hash=False)

    def figures(self) -> dict[str, int | float]:
        """Every figure by its dotted path, in the order of the file."""
        return {
            f"{name}.{figure.name}": getattr(getattr(self, name), figure.name)
            for name, section in SECTIONS.items()
            for figure in fields(section)
        }

    @property
    def clock_hz(self) -> float:
        """Core clock in hertz."""
        return self.cores.clock_mhz * 1e6

    def cycles_to_us(self, cycles: float) -> float:
        """Microseconds that `cycles` core cycles take."""
        return cycles / self.cores.clock_mhz

    def us_to_cycles(self, microseconds: float) -> float:
        """Core cycles in `microseconds`."""
        return microseconds * self.cores.clock_mhz
