"""Chips for tests of the engine: one like a 950PR, and one without any delay of memory."""

from dataclasses import fields, replace

from hwmodel.emulator.constants import (
    EmulatorConstants,
    rate_q,
    resource_grains,
    share_f,
    ticks,
)

CHIP = EmulatorConstants(
    launch_ticks=ticks(3000),
    l2_latency_ticks=ticks(240),
    hbm_latency_ticks=ticks(480),
    busy_latency_ticks=ticks(700),
    port_q=rate_q(100),
    hbm_grains=resource_grains(992),
    l2_grains=resource_grains(3500),
    fixpipe_q=rate_q(128),
    l1_to_l0a_q=rate_q(256),
    l1_to_l0b_q=rate_q(256),
    hbm_write_cost_f=share_f(1.05),
    write_back_shares=32,
    write_back_slack_bytes=2**21,
    line_waste_f=share_f(0.7),
    row_ticks=ticks(3),
    straddle_ticks=ticks(7),
    partial_ticks=ticks(18),
    fractal_ticks_16bit=256,
    fractal_ticks_fp32=2048,
    fractal_ticks_hf32=512,
    tile_ticks=ticks(210),
    barrier_ticks=ticks(2500),
    aiv_reduce_q=rate_q(24),
    aiv_store_q=rate_q(40),
    aiv_hbm_q=rate_q(16),
    aiv_l2_q=rate_q(42),
    vector_lanes=64,
    mixed_kernel_extra_ticks=ticks(1000),
    l2_bytes=2**27,
    l2_capacity_bytes=2**27,
)

FAST_RATE = 1e8
"""Bytes a cycle of what should not be felt."""

INSTANT_CHIP = replace(
    CHIP,
    launch_ticks=0,
    l2_latency_ticks=0,
    hbm_latency_ticks=0,
    busy_latency_ticks=0,
    port_q=rate_q(FAST_RATE),
    hbm_grains=resource_grains(FAST_RATE),
    l2_grains=resource_grains(FAST_RATE),
    fixpipe_q=rate_q(FAST_RATE),
    l1_to_l0a_q=rate_q(FAST_RATE),
    l1_to_l0b_q=rate_q(FAST_RATE),
    row_ticks=0,
    straddle_ticks=0,
    partial_ticks=0,
    tile_ticks=0,
)


def twice_as_fast(constants: EmulatorConstants) -> EmulatorConstants:
    """The chip with all rates doubled and all fixed times halved."""

    def change(name: str) -> int:
        value: int = getattr(constants, name)
        if name.endswith(("_q", "_grains")) or name == "vector_lanes":
            return 2 * value
        return value // 2 if "ticks" in name else value

    return EmulatorConstants(**{field.name: change(field.name) for field in fields(constants)})
