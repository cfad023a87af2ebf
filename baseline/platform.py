"""The platform figures that the host tiling reads (specification: host-tiling.md, section 1)."""

from dataclasses import dataclass
from typing import Final

from hwmodel.errors import InputError
from hwmodel.spec import HardwareSpec

MIN_BUFFER_BYTES: Final = 4096
"""Least size of an on-chip buffer; below it the vendor's vector tilings divide by zero."""

MAX_BUFFER_BYTES: Final = 2**26
"""Greatest size of an on-chip buffer, 64 MiB: far above any chip, and it bounds the search."""

MAX_L2_BYTES: Final = 2**40
"""Greatest L2 size accepted."""

MAX_CORES: Final = 2**16
"""Greatest number of cores accepted; it bounds the tail split loops."""

MAX_RATE: Final = 2**20
"""Greatest clock in MHz and greatest rate in bytes per cycle accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """What the heuristic knows of a chip.

    Attributes:
        aic_num: cube cores; 0 is accepted here and rejected by the validation, as in the operator.
        aiv_num: vector cores.
        ai_core_cnt: cores that scale the bandwidths; aic_num unless the platform file differs.
        clock_mhz: clock of the cube cores.
        ddr_rate: HBM bytes per cycle and core.
        l2_rate: L2 bytes per cycle and core.
        l0a_bytes: left input buffer of the cube unit.
        l0b_bytes: right input buffer of the cube unit.
        l0c_bytes: accumulator buffer.
        l1_bytes: L1 buffer.
        ub_bytes: unified buffer of a vector core.
        l2_bytes: L2 cache of the chip.
        bias_table_bytes: bias table of a cube core; 0 for none.
    """

    aic_num: int
    aiv_num: int
    ai_core_cnt: int
    clock_mhz: float
    ddr_rate: float
    l2_rate: float
    l0a_bytes: int
    l0b_bytes: int
    l0c_bytes: int
    l1_bytes: int
    ub_bytes: int
    l2_bytes: int
    bias_table_bytes: int

    def __post_init__(self) -> None:
        """Reject figures that no chip has and that would make the heuristic endless or undefined.

        Raises:
            InputError: a figure is out of its range.
        """
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if not low <= value <= high:
                raise InputError(f"platform figure {name} = {value}: must be in {low}..{high}")

    @staticmethod
    def from_spec(spec: HardwareSpec) -> "Platform":
        """The heuristic's view of a hardware spec."""
        cores, buffers, rates = spec.cores, spec.buffers, spec.rates
        return Platform(
            aic_num=cores.aic_num,
            aiv_num=cores.aiv_num,
            ai_core_cnt=cores.ai_core_cnt,
            clock_mhz=cores.clock_mhz,
            ddr_rate=rates.hbm_read_bytes_per_cycle,
            l2_rate=rates.l2_read_bytes_per_cycle,
            l0a_bytes=buffers.l0a_bytes,
            l0b_bytes=buffers.l0b_bytes,
            l0c_bytes=buffers.l0c_bytes,
            l1_bytes=buffers.l1_bytes,
            ub_bytes=buffers.ub_bytes,
            l2_bytes=buffers.l2_bytes,
            bias_table_bytes=buffers.bias_table_bytes,
        )


_RANGES: Final = (
    ("aic_num", 0, MAX_CORES),
    ("aiv_num", 0, MAX_CORES),
    ("ai_core_cnt", 0, MAX_CORES),
    ("clock_mhz", 1, MAX_RATE),
    ("ddr_rate", 1, MAX_RATE),
    ("l2_rate", 1, MAX_RATE),
    ("l0a_bytes", MIN_BUFFER_BYTES, MAX_BUFFER_BYTES),
    ("l0b_bytes", MIN_BUFFER_BYTES, MAX_BUFFER_BYTES),
    ("l0c_bytes", MIN_BUFFER_BYTES, MAX_BUFFER_BYTES),
    ("l1_bytes", MIN_BUFFER_BYTES, MAX_BUFFER_BYTES),
    ("ub_bytes", MIN_BUFFER_BYTES, MAX_BUFFER_BYTES),
    ("l2_bytes", 1, MAX_L2_BYTES),
    ("bias_table_bytes", 0, MAX_BUFFER_BYTES),
)
"""Name, least and greatest value of each figure."""
