"""Least time any plan could take: the roofline that holds on every measured kernel.

Source: the specification (hardware.md, "Roofline that holds on every row"). Inputs come from HBM
once, the part of C that L2 cannot keep goes back to HBM, and everything passes L2. The rates are
those of the whole chip.
"""

from hwmodel.cost.constants import pipeline_constants
from hwmodel.cost.terms import chip_rates
from hwmodel.dtypes import DType
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec


def macs_per_cycle(problem: GemmProblem, spec: HardwareSpec) -> int:
    """Multiply-accumulates that one cube core does in a cycle on the problem's input type."""
    if problem.dtype is not DType.FP32:
        return spec.compute.macs_per_cycle_16bit
    if problem.is_hf32:
        return spec.compute.macs_per_cycle_hf32
    return spec.compute.macs_per_cycle_fp32


def compute_roofline_us(problem: GemmProblem, spec: HardwareSpec) -> float:
    """Lower bound of the time of any kernel for the problem, microseconds.

    The greatest of: all multiply-accumulates at peak; A, B and the part of C beyond L2 at the HBM
    rate; A, B and C at the L2 rate. It is a bound for the pipeline model too: L2 counts with its
    full size, and a rate with the greatest of its documented, measured and calibrated values.

    Raises:
        HardwareSpecError: the spec's calibration is not that of the pipeline model.
    """
    cores = spec.cores.aic_num
    rates, chip = spec.rates, chip_rates(problem, spec, pipeline_constants(spec))
    hbm = max(
        rates.hbm_read_total_bytes_per_cycle,
        1 / chip.hbm_read_per_byte,
        rates.hbm_read_bytes_per_cycle * cores,
    )
    l2 = max(
        rates.l2_total_bytes_per_cycle,
        1 / chip.l2_per_byte,
        rates.l2_read_bytes_per_cycle * cores,
    )
    inputs = problem.a_total_bytes + problem.b_total_bytes
    output = problem.c_total_bytes
    cycles = max(
        problem.macs / (macs_per_cycle(problem, spec) * cores),
        (inputs + max(0, output - spec.buffers.l2_bytes)) / hbm,
        (inputs + output) / l2,
    )
    return spec.cycles_to_us(cycles)
