"""What the pipeline model takes from problem and hardware before it looks at any plan.

A `ProblemTerms` holds one problem, or one problem per plan (columns), so that a calibration can
evaluate many measured kernels at once. Lengths are floats: products of three dimensions leave
the range of 64-bit integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.constants import PipelineConstants
from hwmodel.cost.roofline import macs_per_cycle
from hwmodel.dtypes import Format
from hwmodel.emulator.constants import GRAINS_PER_BYTE, SHARE_ONE, TICKS_PER_CYCLE
from hwmodel.emulator.spec_constants import constants_from_spec
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec

Column = NDArray[np.float64]
"""One float per plan."""

IntColumn = NDArray[np.int64]
"""One integer per plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipRates:
    """The chip's figures with the fitted constants applied; cycles, bytes and bytes per cycle.

    `total` rates are of the whole chip, the others of one core.
    """

    clock_mhz: float
    macs_per_cycle: float
    l1_to_l0a: float
    l1_to_l0b: float
    fixpipe: float
    mte2_port: float
    hbm_read_total: float
    hbm_write_total: float
    l2_total: float
    l2_write_total: float
    l2_bytes: float
    l2_latency: float
    hbm_latency: float
    line_bytes: float
    line_waste_ratio: float
    overlap_loss_ratio: float
    row_cycles: float
    tile_cycles: float
    partial_line_cycles: float
    launch_cycles: float
    mixed_extra_cycles: float
    barrier_cycles: float
    aiv_hbm: float
    aiv_ub_to_l2: float
    aiv_reduce: float
    aiv_ub_to_hbm: float
    vector_lanes: float
    aiv_num: float


def chip_rates(
    problem: GemmProblem, spec: HardwareSpec, constants: PipelineConstants
) -> ChipRates:
    """The rates that the problem's input type sees on this chip.

    They are the emulator's, calibrated where the spec has a calibration of it, times the ratios
    fitted for this model.
    """
    rates, fine = spec.rates, constants_from_spec(spec)
    efficiency = min(1.0, spec.compute.cube_efficiency_ratio * constants.cube_efficiency_ratio)
    hbm_total = _per_cycle(fine.hbm_grains) * constants.hbm_read_ratio
    l2_latency = _cycles(fine.l2_latency_ticks)
    hbm_latency = l2_latency + _cycles(fine.hbm_latency_ticks)
    return ChipRates(
        clock_mhz=float(spec.cores.clock_mhz),
        macs_per_cycle=macs_per_cycle(problem, spec) * efficiency,
        l1_to_l0a=rates.l1_to_l0a_bytes_per_cycle,
        l1_to_l0b=rates.l1_to_l0b_bytes_per_cycle,
        fixpipe=fine.fixpipe_q / GRAINS_PER_BYTE,
        mte2_port=fine.port_q / GRAINS_PER_BYTE * constants.mte2_port_ratio,
        hbm_read_total=hbm_total,
        hbm_write_total=hbm_total * SHARE_ONE / fine.hbm_write_cost_f,
        l2_total=_per_cycle(fine.l2_grains) * constants.l2_ratio,
        l2_write_total=rates.l2_write_total_bytes_per_cycle,
        l2_bytes=float(fine.l2_capacity_bytes),
        l2_latency=l2_latency,
        hbm_latency=hbm_latency,
        line_bytes=float(spec.cache.line_bytes),
        line_waste_ratio=fine.line_waste_f / SHARE_ONE * constants.line_waste_ratio,
        overlap_loss_ratio=constants.overlap_loss_ratio,
        row_cycles=_cycles(fine.row_ticks),
        tile_cycles=_cycles(fine.tile_ticks),
        partial_line_cycles=_cycles(fine.partial_ticks),
        launch_cycles=_cycles(fine.launch_ticks) + hbm_latency,
        mixed_extra_cycles=_cycles(fine.mixed_kernel_extra_ticks),
        barrier_cycles=_cycles(fine.barrier_ticks) * constants.barrier_ratio,
        aiv_hbm=rates.aiv_hbm_bytes_per_cycle,
        aiv_ub_to_l2=rates.aiv_ub_to_l2_bytes_per_cycle,
        aiv_reduce=fine.aiv_reduce_q / GRAINS_PER_BYTE,
        aiv_ub_to_hbm=rates.aiv_ub_to_hbm_bytes_per_cycle,
        vector_lanes=float(spec.compute.vector_lanes_per_cycle),
        aiv_num=float(spec.cores.aiv_num),
    )


def _cycles(ticks: int) -> float:
    """The emulator's ticks in cycles."""
    return ticks / TICKS_PER_CYCLE


def _per_cycle(grains: int) -> float:
    """The emulator's rate of a shared resource in bytes per cycle."""
    return grains * TICKS_PER_CYCLE / GRAINS_PER_BYTE


def lowest_bit(value: IntColumn) -> IntColumn:
    """Greatest power of two that divides each value; 0 for 0."""
    bit: IntColumn = value & -value
    return bit


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandTerms:
    """How A or B lies in memory. "Outer" is the dimension that is not K: M for A, N for B.

    Attributes:
        outer: length of the outer dimension.
        run_along_k: a contiguous run of a tile is a piece of K, else a piece of the outer
            dimension.
        pitch_bit: greatest power of two that divides the bytes from one run to the next.
        is_padded: fractal layout: whole fractals in sequence, no partial lines.
    """

    outer: Column
    run_along_k: bool
    pitch_bit: IntColumn
    is_padded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemTerms:
    """One problem, or one per plan; the types are shared by all of them.

    Attributes:
        k: K, at least 1: without a K dimension a cube kernel costs about as much as with one
            column.
        a: the operand of the rows.
        b: the operand of the columns.
        input_bytes: bytes of an element of A and B.
        output_bytes: bytes of an element of C.
        bias_bytes: bytes of an element of the bias, 0 without one.
        k_fractal: K columns of one fractal.
        c_pitch_bit: greatest power of two that divides the bytes of a row of C.
        is_transposed: rows and columns have changed places, so that a template that keeps B runs
            as its mirror image that keeps A; C is still stored by the columns of the problem.
    """

    k: Column
    a: OperandTerms
    b: OperandTerms
    input_bytes: int
    output_bytes: int
    bias_bytes: int
    k_fractal: int
    c_pitch_bit: IntColumn
    is_transposed: bool

    @property
    def input_total_bytes(self) -> Column:
        """Bytes of A, B and bias."""
        operands = (self.a.outer + self.b.outer) * self.k * self.input_bytes
        return operands + self.bias_total_bytes

    @property
    def output_total_bytes(self) -> Column:
        """Bytes of C."""
        return self.a.outer * self.b.outer * self.output_bytes

    @property
    def bias_total_bytes(self) -> Column:
        """Bytes of the bias, one element for each column of C."""
        columns = self.a.outer if self.is_transposed else self.b.outer
        return columns * self.bias_bytes

    def transposed(self) -> "ProblemTerms":
        """The same problem with rows and columns exchanged."""
        return ProblemTerms(
            k=self.k,
            a=self.b,
            b=self.a,
            input_bytes=self.input_bytes,
            output_bytes=self.output_bytes,
            bias_bytes=self.bias_bytes,
            k_fractal=self.k_fractal,
            c_pitch_bit=self.c_pitch_bit,
            is_transposed=not self.is_transposed,
        )


def problem_terms(problems: Sequence[GemmProblem]) -> ProblemTerms:
    """The terms of one problem, shape (1,), or of one per plan, shape (n,).

    The problems share element types, formats and transposes; only their lengths differ.
    """
    first = problems[0]
    m, k, n = (
        np.array([getattr(problem, name) for problem in problems], dtype=np.int64)
        for name in ("m", "k", "n")
    )
    k = np.maximum(k, 1)
    size = first.dtype.size_bytes
    return ProblemTerms(
        k=k.astype(np.float64),
        a=OperandTerms(
            outer=m.astype(np.float64),
            run_along_k=not first.trans_a,
            pitch_bit=lowest_bit((m if first.trans_a else k) * size),
            is_padded=False,
        ),
        b=OperandTerms(
            outer=n.astype(np.float64),
            run_along_k=first.trans_b,
            pitch_bit=lowest_bit((k if first.trans_b else n) * size),
            is_padded=first.format_b is Format.NZ,
        ),
        input_bytes=size,
        output_bytes=first.out_dtype.size_bytes,
        bias_bytes=first.bias_bytes,
        k_fractal=first.dtype.c0_elements,
        c_pitch_bit=lowest_bit(n * first.out_dtype.size_bytes),
        is_transposed=False,
    )
