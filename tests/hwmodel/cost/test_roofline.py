"""The roofline holds on every measured kernel and follows the input type."""

from dataclasses import replace

import pytest

from hwmodel.cost.roofline import compute_roofline_us, macs_per_cycle
from hwmodel.dtypes import DType, OpImplMode
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from hwmodel.validation.measured import load_measured

SPEC = load_hardware("ascend950pr-9589")


def test_no_measured_kernel_beats_the_roofline() -> None:
    for row in load_measured():
        assert compute_roofline_us(row.problem, SPEC) <= row.duration_us


def test_roofline_is_near_the_best_measured_kernel() -> None:
    best = max(compute_roofline_us(row.problem, SPEC) / row.duration_us for row in load_measured())
    assert best > 0.99


def test_compute_bound_side() -> None:
    problem = GemmProblem(m=8192, k=8192, n=8192)
    assert compute_roofline_us(problem, SPEC) == pytest.approx(8192**3 / (4096 * 32) / 1650)


def test_output_beyond_l2_goes_to_hbm() -> None:
    problem = GemmProblem(m=65536, k=16, n=65536)
    inputs = 2 * 65536 * 16 * 2
    beyond = 65536**2 * 2 - SPEC.buffers.l2_bytes
    plain = replace(SPEC, calibrations={})
    assert compute_roofline_us(problem, plain) == pytest.approx((inputs + beyond) / 992 / 1650)
    fit = SPEC.calibrations["pipeline"]
    fit = replace(fit, constants={**fit.constants, "hbm_read_ratio": 1.1})
    faster = replace(SPEC, calibrations={"pipeline": fit})
    assert compute_roofline_us(problem, faster) < compute_roofline_us(problem, plain)


def test_rates_by_type() -> None:
    problem = GemmProblem(m=64, k=64, n=64, dtype=DType.FP32, out_dtype=DType.FP32)
    hf32 = replace(problem, op_impl_mode=OpImplMode.HF32)
    assert macs_per_cycle(problem, SPEC) == SPEC.compute.macs_per_cycle_fp32
    assert macs_per_cycle(hf32, SPEC) == SPEC.compute.macs_per_cycle_hf32
    assert macs_per_cycle(GemmProblem(m=1, k=1, n=1), SPEC) == SPEC.compute.macs_per_cycle_16bit
