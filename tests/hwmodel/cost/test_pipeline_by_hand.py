"""Predictions worked out by hand: the model's formula in plain arithmetic, without its code.

All figures are those of the 950PR_9589, without a calibration (ratios 1, no overlap loss):
4096 MAC/cycle at 98.8 %, L1 to L0 256 B/cycle, fixpipe 128 B/cycle, a core's port 100 B/cycle; all
cores together: HBM 992, L2 3515, writes to L2 2606 B/cycle; 1650 MHz, launch 1.4 us, latency of
HBM 1980 cycles, stream-K barrier 1.3 us, 20 cycles for a partial line of 128 bytes.
"""

from dataclasses import replace

import pytest

from hwmodel.cost.pipeline import PipelineEvaluator
from hwmodel.dtypes import DType
from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware

SPEC = replace(load_hardware("ascend950pr-9589"), calibrations={})
LAUNCH = 1.4 * 1650 + 1980
CUBE = 4096


def predict_cycles(problem: GemmProblem, plan: KernelPlan) -> float:
    return 1650 * PipelineEvaluator().evaluate(problem, SPEC, plan).task_duration_us


def test_one_round_with_an_expensive_store() -> None:
    """1536 x 64 x 521 on 6 x 5 blocks of 256 x 128: one L1 step, one L0 step, one item a core."""
    problem = GemmProblem(m=1536, k=64, n=521)
    plan = KernelPlan(
        template=Template.ASWT,
        base_m=256,
        base_n=128,
        base_k=64,
        step_k=4,
        single_core_k=64,
        used_core_num=30,
    )
    # Rows of A and B are 128 bytes, whole lines. The port decides: the HBM would need
    # 1536 * 128 / 992 = 198 cycles for A and 67 for B.
    loads = 256 * 128 / 100 + 128 * 128 / 100
    chain = 64 * 256 * 128 / CUBE
    # Rows of C are 1042 bytes: they start at any even byte, nearly always two partial lines.
    store = 256 * 128 * 4 / 128 + 256 * 20 * (2 - 2 * 2 / 128)
    # The store begins with the last L0 step, which here is the whole chain.
    expected = LAUNCH + loads + chain + (store - chain)
    assert predict_cycles(problem, plan) == pytest.approx(expected, rel=1e-9)
    # A bias of 128 fp32 elements comes with the one slab.
    with_bias = replace(problem, bias_dtype=DType.FP32)
    assert predict_cycles(with_bias, plan) == pytest.approx(expected + 128 * 4 / 100, rel=1e-9)


def test_two_rounds_that_the_cube_decides() -> None:
    """1024 x 2048 x 4096 on 4 x 16 blocks of 256 x 256: two items a core, eight L1 steps each."""
    problem = GemmProblem(m=1024, k=2048, n=4096)
    plan = KernelPlan(
        template=Template.ASWT,
        base_m=256,
        base_n=256,
        base_k=64,
        step_k=4,
        single_core_k=2048,
        used_core_num=32,
    )
    slab_bytes, tile_bytes = 2 * 256 * 256 * 2, 256 * 256 * 2
    first_slab = slab_bytes / 100
    per_k = 256 * 256 / CUBE  # MTE1 needs 2 * 256 * 2 / 256 = 4 cycles for a column of K
    chain, l0_step = 2048 * per_k, 64 * per_k
    # Between the items the store shares L2 with the part of the next slab that MTE2 has not loaded
    # in the L0 step before the store: here at least as much as the tile's own bytes.
    assert slab_bytes - 100 * (l0_step - 4 * 64) > tile_bytes
    hand_over = 2 * tile_bytes * 32 / 3515 - 2 * l0_step
    # Alone, the fixpipe reads the fp32 tile at its own pace.
    last_store = 2 * tile_bytes / 128
    expected = LAUNCH + first_slab + (chain + hand_over) + chain + (last_store - l0_step)
    assert predict_cycles(problem, plan) == pytest.approx(expected, rel=1e-9)


def test_stream_k_that_the_hbm_decides() -> None:
    """16 x 8192 x 1024 on four blocks of 16 x 256, each cut into eight pieces of K."""
    problem = GemmProblem(m=16, k=8192, n=1024)
    plan = KernelPlan(
        template=Template.STREAM_K,
        base_m=16,
        base_n=256,
        base_k=64,
        step_k=4,
        single_core_k=1024,
        used_core_num=32,
    )
    # A piece of A comes at the port's rate, B at the rate of the HBM that all cores share.
    loads = 16 * 1024 * 2 / 100 + 1024 * 8192 * 2 / 992
    # MTE1 decides the L0 steps: (16 + 256) * 2 / 256 cycles for a column of K, mmad takes 1.01.
    per_k = (16 + 256) * 2 / 256
    last_step, last_l0 = 256 * per_k, 64 * per_k
    # The workspace slot is written at the L2 rate that all cores share.
    last_store = 16 * 256 * 4 * 32 / 3515 - last_l0
    # 16 vector cores a block: one row each, eight partial sums.
    reduction = 8 * 256 * 4 / 42 + 8 * 256 / 64 + 256 * 2 / 42
    expected = LAUNCH + loads + last_step + last_store + 1.3 * 1650 + reduction
    assert predict_cycles(problem, plan) == pytest.approx(expected, rel=1e-9)
