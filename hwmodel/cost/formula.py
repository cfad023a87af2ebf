"""The vendor's own cost model: the greatest of four pipes, each busy for its ideal time.

It sees neither base_k (but for the rounding of K), step_k, buffers nor the order of the blocks,
and rewards oversize tiles; it is here for comparison. Source: the specification (hardware.md, "The
vendor's own model").

Notation: M, K, N the problem; bm, bn, bk the base tile; P cube cores; s, sC bytes of an input and
an output element; rates in bytes per core cycle.

    t_mmad = M*K*N / (macs_per_cycle * P)
    t_mte2 = ddr / (P * hbm rate) + l2 / (P * l2 rate)
             with ddr = (M+N)*K*s and l2 = (M*N/bn + N*M/bm)*K*s - ddr
    t_mte1 = ceil(tiles, P) * ceil(K, bk) * (bm*bk*s / l0a rate + bn*bk*s / l0b rate)
    t_fixp = M*N*sC / (P * fixpipe rate)
    total  = the greatest of them; the first in this order names the bound

The sum of L2 bytes can be negative for a tile larger than the problem; the vendor's model does not
clamp it. Without a K dimension, or on a vector template, the four terms stand as they are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.breakdown import Bound, CostBreakdown
from hwmodel.cost.roofline import macs_per_cycle
from hwmodel.integers import ceil_div
from hwmodel.plan import KernelPlan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec

FloatColumn = NDArray[np.float64]

PIPE_BOUNDS = (Bound.CUBE, Bound.MTE2, Bound.MTE1, Bound.FIXPIPE)
"""The pipes in the order in which the first maximum names the bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pipes:
    """Busy cycles of the four pipes, each of shape (n,), and the L2 bytes."""

    mmad: FloatColumn
    mte2: FloatColumn
    mte1: FloatColumn
    fixpipe: FloatColumn
    l2_bytes: FloatColumn

    def stacked(self) -> FloatColumn:
        """Shape (4, n), in the order of `PIPE_BOUNDS`."""
        return np.stack((self.mmad, self.mte2, self.mte1, self.fixpipe))


def _compute_pipes(problem: GemmProblem, spec: HardwareSpec, plans: PlanBatch) -> _Pipes:
    """Evaluate the notation block of the module for a batch."""
    m, k, n = float(problem.m), float(problem.k), float(problem.n)
    size = problem.dtype.size_bytes
    cores = spec.cores.aic_num
    rates = spec.rates
    base_m, base_n = plans.base_m.astype(np.float64), plans.base_n.astype(np.float64)
    base_k = plans.base_k.astype(np.float64)
    ddr_bytes = (m + n) * k * size
    l2_bytes = (m * n / base_n + n * m / base_m) * k * size - ddr_bytes
    rounds = np.ceil(np.ceil(m / base_m) * np.ceil(n / base_n) / cores)
    slab = base_k * size
    mte1 = (
        rounds
        * np.ceil(k / base_k)
        * (
            base_m * slab / rates.l1_to_l0a_bytes_per_cycle
            + base_n * slab / rates.l1_to_l0b_bytes_per_cycle
        )
    )
    mmad = m * k * n / (macs_per_cycle(problem, spec) * cores)
    fixpipe = m * n * problem.out_dtype.size_bytes / (rates.fixpipe_bytes_per_cycle * cores)
    return _Pipes(
        mmad=np.full(len(plans), mmad),
        mte2=ddr_bytes / (rates.hbm_read_bytes_per_cycle * cores)
        + l2_bytes / (rates.l2_read_bytes_per_cycle * cores),
        mte1=mte1,
        fixpipe=np.full(len(plans), fixpipe),
        l2_bytes=l2_bytes,
    )


class FormulaEvaluator:
    """The vendor's model behind the evaluators' interface."""

    @property
    def name(self) -> str:
        """Name of the evaluator."""
        return "formula"

    @property
    def version(self) -> str:
        """Version of the code; the model has no constants of its own."""
        return "formula-1"

    def estimate_us(
        self, problem: GemmProblem, spec: HardwareSpec, plans: PlanBatch
    ) -> FloatColumn:
        """Predicted times of the batch, shape (len(plans),), microseconds."""
        cycles: FloatColumn = _compute_pipes(problem, spec, plans).stacked().max(axis=0)
        return cycles / spec.cores.clock_mhz

    def evaluate(
        self, problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan
    ) -> CostBreakdown:
        """Predicted time of one plan; launch, prologue and epilogue are 0 in this model."""
        pipes = _compute_pipes(problem, spec, PlanBatch.from_plans((plan,)))
        cycles = pipes.stacked()[:, 0]
        times_us = [spec.cycles_to_us(float(value)) for value in cycles]
        worst = int(np.argmax(cycles))
        tiles = ceil_div(problem.m, plan.base_m) * ceil_div(problem.n, plan.base_n)
        return CostBreakdown(
            task_duration_us=times_us[worst],
            launch_us=0.0,
            prologue_us=0.0,
            rounds_us=times_us[worst],
            epilogue_us=0.0,
            cube_time_us=times_us[0],
            mte2_time_us=times_us[1],
            mte1_time_us=times_us[2],
            fixpipe_time_us=times_us[3],
            hbm_read_bytes=float(problem.a_total_bytes + problem.b_total_bytes),
            l2_read_bytes=float(pipes.l2_bytes[0]),
            write_bytes=float(problem.c_total_bytes),
            rounds=ceil_div(tiles, spec.cores.aic_num),
            bound=PIPE_BOUNDS[worst],
        )
