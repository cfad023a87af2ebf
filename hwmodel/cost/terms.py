"""What the pipeline model takes from problem and chip before it looks at any plan.

Structs of numbers that compiled functions take. Lengths are floats: products of three dimensions
leave the range of 64-bit integers.
"""

from typing import NamedTuple

from hwmodel.cost.constants import PipelineConstants
from hwmodel.dtypes import DType, Format
from hwmodel.emulator.constants import (
    GRAINS_PER_BYTE,
    LINE_BYTES,
    SHARE_ONE,
    TICKS_PER_CYCLE,
    EmulatorConstants,
)
from hwmodel.emulator.spec_constants import MACS_BYTES, constants_from_spec
from hwmodel.footprint import L0C_ELEMENT_BYTES
from hwmodel.integers import FRACTAL
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec

FP32_WIDENING = 2.0
"""MTE1 moves fp32 twice when K is the outer dimension of the operand (docs/emulator.md, "MTE1 and
CUBE")."""


FP32_SLICE_K = 1024
"""K columns of a slice of the fp32 split-K kernels, from K = 2 * this (specification: swizzle.md,
section 1)."""

BASE_SLICE_K = 8192
"""K columns of a slice of BASE with an fp32 C (swizzle.md, section 3)."""


class ChipRates(NamedTuple):
    """The chip's figures with the fitted constants applied: cycles, bytes, cycles per byte.

    `*_per_byte` are cycles of core time; `hbm_*`, `l2_per_byte` and `l2_write_per_byte` are those
    of the whole chip, the others of one core.
    """

    cycles_per_mac: float
    l0a_per_byte: float
    l0b_per_byte: float
    fixpipe_per_byte: float
    fixpipe_per_element: float
    port_per_byte: float
    port_bytes_per_cycle: float
    hbm_read_per_byte: float
    hbm_write_per_byte: float
    hbm_shared: float
    l2_per_byte: float
    l2_write_per_byte: float
    l2_bytes: float
    l2_latency: float
    hbm_latency: float
    line_waste_ratio: float
    overlap_loss_ratio: float
    row_cycles: float
    straddle_cycles: float
    tile_cycles: float
    partial_line_cycles: float
    launch_cycles: float
    mixed_extra_cycles: float
    barrier_cycles: float
    aiv_hbm_per_byte: float
    aiv_l2_per_byte: float
    aiv_reduce_per_byte: float
    aiv_store_per_byte: float
    per_vector_lane: float


def chip_rates(
    problem: GemmProblem, spec: HardwareSpec, constants: PipelineConstants
) -> ChipRates:
    """The rates that the problem's input type sees on this chip.

    They are the emulator's, calibrated where the spec has a calibration of it, times the ratios
    fitted for this model.
    """
    rates, fine = spec.rates, constants_from_spec(spec)
    hbm_read = 1 / (_per_cycle(fine.hbm_grains) * constants.hbm_read_ratio)
    l2_latency = _cycles(fine.l2_latency_ticks)
    hbm_latency = l2_latency + _cycles(fine.hbm_latency_ticks)
    port = fine.port_q / GRAINS_PER_BYTE
    fixpipe = GRAINS_PER_BYTE / fine.fixpipe_q
    return ChipRates(
        cycles_per_mac=_cycles_per_mac(problem, fine) / constants.cube_efficiency_ratio,
        l0a_per_byte=1 / rates.l1_to_l0a_bytes_per_cycle,
        l0b_per_byte=1 / rates.l1_to_l0b_bytes_per_cycle,
        fixpipe_per_byte=fixpipe,
        fixpipe_per_element=fixpipe * L0C_ELEMENT_BYTES,
        port_per_byte=1 / port,
        port_bytes_per_cycle=port,
        hbm_read_per_byte=hbm_read,
        hbm_write_per_byte=hbm_read * fine.hbm_write_cost_f / SHARE_ONE,
        hbm_shared=1.0 - fine.hbm_writes_alone,
        l2_per_byte=1 / (_per_cycle(fine.l2_grains) * constants.l2_ratio),
        l2_write_per_byte=1 / rates.l2_write_total_bytes_per_cycle,
        l2_bytes=float(fine.l2_capacity_bytes),
        l2_latency=l2_latency,
        hbm_latency=hbm_latency,
        line_waste_ratio=fine.line_waste_f / SHARE_ONE * constants.line_waste_ratio,
        overlap_loss_ratio=constants.overlap_loss_ratio,
        row_cycles=_cycles(fine.row_ticks),
        straddle_cycles=_cycles(fine.straddle_ticks),
        tile_cycles=_cycles(fine.tile_ticks),
        partial_line_cycles=_cycles(fine.partial_ticks),
        launch_cycles=_cycles(fine.launch_ticks) + hbm_latency,
        mixed_extra_cycles=_cycles(fine.mixed_kernel_extra_ticks),
        barrier_cycles=_cycles(fine.barrier_ticks) * constants.barrier_ratio,
        aiv_hbm_per_byte=1 / rates.aiv_hbm_bytes_per_cycle,
        aiv_l2_per_byte=1 / rates.aiv_ub_to_l2_bytes_per_cycle,
        aiv_reduce_per_byte=GRAINS_PER_BYTE / fine.aiv_reduce_q,
        aiv_store_per_byte=1 / rates.aiv_ub_to_hbm_bytes_per_cycle,
        per_vector_lane=1 / spec.compute.vector_lanes_per_cycle,
    )


def _cycles(ticks: int) -> float:
    """The emulator's ticks in cycles."""
    return ticks / TICKS_PER_CYCLE


def _per_cycle(grains: int) -> float:
    """The emulator's rate of a shared resource in bytes per cycle."""
    return grains * TICKS_PER_CYCLE / GRAINS_PER_BYTE


def _cycles_per_mac(problem: GemmProblem, fine: EmulatorConstants) -> float:
    """The cube's time of a multiply-accumulate on the problem's input type."""
    fractal_ticks = fine.fractal_ticks_16bit
    if problem.dtype is DType.FP32:
        fractal_ticks = fine.fractal_ticks_hf32 if problem.is_hf32 else fine.fractal_ticks_fp32
    fractal_macs = FRACTAL * FRACTAL * (MACS_BYTES // problem.dtype.size_bytes)
    return _cycles(fractal_ticks) / fractal_macs


def lowest_bit(value: int) -> int:
    """Greatest power of two that divides the value, at most a line; a line for 0."""
    bit = value & -value
    return bit if 0 < bit < LINE_BYTES else LINE_BYTES


class OperandTerms(NamedTuple):
    """How A or B lies in memory. "Outer" is the dimension that is not K: M for A, N for B.

    Attributes:
        outer: length of the outer dimension.
        total_bytes: its bytes.
        pitch_bit: greatest power of two that divides the bytes from one run to the next, at most
            a line.
        run_along_k: 1 where a contiguous run of a tile is a piece of K, 0 where it is a piece of
            the outer dimension.
        waste_ratio: share of the whole-line overhead of a run that is paid; 0 in fractal layout,
            which has no partial lines.
        row_cycles: least port time of a row; 0 in fractal layout.
        straddle_cycles: port time of a row that touches a line more than it needs; 0 in fractal
            layout and where runs are along K.
        l0_per_row: cycles of MTE1 for a fractal row of outer length one and one column of K.
    """

    outer: float
    total_bytes: float
    pitch_bit: int
    run_along_k: float
    waste_ratio: float
    row_cycles: float
    straddle_cycles: float
    l0_per_row: float


class ProblemTerms(NamedTuple):
    """One problem.

    Attributes:
        k: K, at least 1: without a K dimension a cube kernel costs about as much as with one
            column.
        k_up: K in whole fractals.
        a: the operand of the rows.
        b: the operand of the columns.
        input_bytes: bytes of an element of A and B.
        output_bytes: bytes of an element of C.
        bias_bytes: bytes of an element of the bias, 0 without one.
        bias_total_bytes: bytes of the bias, one element for each column of C.
        output_total_bytes: bytes of C.
        k_fractal: K columns of one fractal.
        c_pitch_bit: greatest power of two that divides the bytes of a row of C, at most a line.
        is_transposed: rows and columns have changed places, so that a template that keeps B runs
            as its mirror image that keeps A; C is still stored by the columns of the problem.
        slices: slices of K of the sliced fp32 kernels, 1 where the type rules them out.
        base_slices: slices of BASE with an fp32 C, 1 where it has none.
    """

    k: float
    k_up: int
    a: OperandTerms
    b: OperandTerms
    input_bytes: float
    output_bytes: float
    bias_bytes: float
    bias_total_bytes: float
    output_total_bytes: float
    k_fractal: float
    c_pitch_bit: int
    is_transposed: bool
    slices: float
    base_slices: float


def problem_terms(problem: GemmProblem, chip: ChipRates, *, is_transposed: bool) -> ProblemTerms:
    """The problem, or the problem with rows and columns exchanged."""
    m, k, n = problem.m, max(problem.k, 1), problem.n
    size = problem.dtype.size_bytes
    is_fp32 = problem.dtype is DType.FP32
    k_up = -(-k // FRACTAL) * FRACTAL
    is_padded = problem.format_b is Format.NZ
    a = OperandTerms(
        outer=float(m),
        total_bytes=float(m * k * size),
        pitch_bit=lowest_bit((m if problem.trans_a else k) * size),
        run_along_k=0.0 if problem.trans_a else 1.0,
        waste_ratio=chip.line_waste_ratio,
        row_cycles=chip.row_cycles,
        straddle_cycles=chip.straddle_cycles if problem.trans_a else 0.0,
        l0_per_row=size
        * chip.l0a_per_byte
        * (FP32_WIDENING if is_fp32 and problem.trans_a else 1),
    )
    b = OperandTerms(
        outer=float(n),
        total_bytes=float(n * k * size),
        pitch_bit=lowest_bit((k if problem.trans_b else n) * size),
        run_along_k=1.0 if problem.trans_b else 0.0,
        waste_ratio=0.0 if is_padded else chip.line_waste_ratio,
        row_cycles=0.0 if is_padded else chip.row_cycles,
        straddle_cycles=0.0 if is_padded or problem.trans_b else chip.straddle_cycles,
        l0_per_row=size
        * chip.l0b_per_byte
        * (1 if problem.trans_b or not is_fp32 else FP32_WIDENING),
    )
    can_slice = not problem.is_hf32 and not is_padded
    slices = k // FP32_SLICE_K if can_slice and is_fp32 and k >= 2 * FP32_SLICE_K else 1
    is_base_sliced = can_slice and problem.out_dtype is DType.FP32 and k > BASE_SLICE_K
    return ProblemTerms(
        k=float(k),
        k_up=k_up,
        a=b if is_transposed else a,
        b=a if is_transposed else b,
        input_bytes=float(size),
        output_bytes=float(problem.out_dtype.size_bytes),
        bias_bytes=float(problem.bias_bytes),
        bias_total_bytes=float(n * problem.bias_bytes),
        output_total_bytes=float(problem.c_total_bytes),
        k_fractal=float(problem.dtype.c0_elements),
        c_pitch_bit=lowest_bit(n * problem.out_dtype.size_bytes),
        is_transposed=is_transposed,
        slices=float(slices),
        base_slices=float(-(-k // BASE_SLICE_K) if is_base_sliced else 1),
    )
