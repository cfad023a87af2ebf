"""EmulatorConstants: the chip's figures as the integers of docs/emulator.md, sections 1 and 6."""

from dataclasses import dataclass

TICKS_PER_CYCLE = 256
"""Time is counted in 1/256 of a core cycle (docs/emulator.md, section 1)."""

GRAINS_PER_BYTE = 65536
"""A virtual clock counts 1/65,536 byte."""

SHARE_ONE = 4096
"""Fixed-point one of a share (docs/emulator.md, section 1)."""

GRAIN_BYTES = 512
"""The fixpipe hands L0C over in grains of this size (specification: kernels.md)."""

LINE_BYTES = 128
"""Memory is moved in lines of this size (specification: kernels.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulatorConstants:
    """Integers the emulator computes with; names and units of docs/emulator.md.

    `*_q` are rates in bytes per cycle times 65,536; `*_grains` are rates of a shared resource in
    grains per tick; `*_ticks*` are times; `*_f` are shares times 4,096. `fractal_ticks_*` is the
    cube's time of one fractal step; `l2_bytes` is the whole L2, on which the vendor's cache mode
    depends, `l2_capacity_bytes` the part of it that holds objects.
    `hbm_writes_alone` is 1 where the write-back does not share the HBM with the reads and each has
    its whole rate: no chip does that, but a study asks about it.
    """

    launch_ticks: int
    l2_latency_ticks: int
    hbm_latency_ticks: int
    busy_latency_ticks: int
    port_q: int
    hbm_grains: int
    l2_grains: int
    fixpipe_q: int
    l1_to_l0a_q: int
    l1_to_l0b_q: int
    hbm_write_cost_f: int
    write_back_shares: int
    write_back_slack_bytes: int
    line_waste_f: int
    row_ticks: int
    straddle_ticks: int
    partial_ticks: int
    fractal_ticks_16bit: int
    fractal_ticks_fp32: int
    fractal_ticks_hf32: int
    tile_ticks: int
    barrier_ticks: int
    aiv_reduce_q: int
    aiv_store_q: int
    aiv_hbm_q: int
    aiv_l2_q: int
    vector_lanes: int
    mixed_kernel_extra_ticks: int
    l2_bytes: int
    l2_capacity_bytes: int
    hbm_writes_alone: int = 0

    @property
    def write_back_speed(self) -> int:
        """What the write-back's bytes are divided by on the clock that it goes by."""
        return self.hbm_grains if self.hbm_writes_alone else self.write_back_shares

    @property
    def write_back_slack_grains(self) -> int:
        """The write-back's slack on that clock."""
        return self.write_back_slack_bytes * GRAINS_PER_BYTE // self.write_back_speed


def ticks(cycles: float) -> int:
    """Cycles in ticks, rounded to the nearest."""
    return int(cycles * TICKS_PER_CYCLE + 0.5)


def rate_q(bytes_per_cycle: float) -> int:
    """A rate in bytes per cycle as the integer that `span` takes."""
    return int(bytes_per_cycle * GRAINS_PER_BYTE + 0.5)


def resource_grains(bytes_per_cycle: float) -> int:
    """A shared resource's rate in grains per tick."""
    return int(bytes_per_cycle * (GRAINS_PER_BYTE // TICKS_PER_CYCLE) + 0.5)


def share_f(share: float) -> int:
    """A share as a fixed-point integer."""
    return int(share * SHARE_ONE + 0.5)


def span(size_bytes: int, q: int) -> int:
    """Ticks that `size_bytes` take at the rate `q`, rounded up."""
    return -((-size_bytes * TICKS_PER_CYCLE * GRAINS_PER_BYTE) // q)
