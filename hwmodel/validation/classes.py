"""Error classes: kinds of kernels that a model gets right or wrong for different reasons.

Source: the specification (hardware.md, "Measured kernels"): first match of stream_k, small,
output_heavy, compute_bound, read_bound.
"""

from enum import StrEnum

from hwmodel.cost.roofline import macs_per_cycle
from hwmodel.integers import FRACTAL, align_up
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec

SMALL_KERNEL_US = 15.0
"""A shorter kernel is mostly launch and latency (specification: hardware.md, classes)."""

COMPUTE_BOUND_RATIO = 0.9
"""Share of the time that the cube's mmad chain takes in a compute-bound kernel (hardware.md,
classes)."""


class ErrorClass(StrEnum):
    """Classes in the order of the specification's table."""

    COMPUTE_BOUND = "compute_bound"
    READ_BOUND = "read_bound"
    OUTPUT_HEAVY = "output_heavy"
    SMALL = "small"
    STREAM_K = "stream_k"


def compute_mmad_chain_cycles(problem: GemmProblem, plan: KernelPlan, spec: HardwareSpec) -> float:
    """Cycles of mmad on the busiest core, without waits; 0 for a kernel on vector cores.

    Each round of blocks costs a whole tile; a last round that is split costs its share. A full
    load walks all tiles of its resident side inside one block.
    """
    if plan.template not in CUBE_TEMPLATES:
        return 0.0
    base_m = min(plan.base_m, align_up(problem.m, FRACTAL))
    base_n = min(plan.base_n, align_up(problem.n, FRACTAL))
    m_tiles, n_tiles = plan.m_tiles(problem), plan.n_tiles(problem)
    blocks, tiles_per_block = m_tiles * n_tiles, 1
    if plan.template in (Template.A_FULL, Template.A_PARTIAL):
        blocks, tiles_per_block = n_tiles, m_tiles
    elif plan.template in (Template.B_FULL, Template.B_PARTIAL):
        blocks, tiles_per_block = m_tiles, n_tiles
    full_rounds, rest = divmod(blocks, spec.cores.aic_num)
    rounds = full_rounds + (1 / (plan.m_tail_cnt * plan.n_tail_cnt) if rest else 0)
    tile_macs = base_m * base_n * problem.k
    return rounds * tiles_per_block * tile_macs / macs_per_cycle(problem, spec)


def select_error_class(
    problem: GemmProblem, plan: KernelPlan, time_us: float, spec: HardwareSpec
) -> ErrorClass:
    """Class of a kernel that takes (or is predicted to take) `time_us` microseconds."""
    if plan.template is Template.STREAM_K:
        return ErrorClass.STREAM_K
    if time_us < SMALL_KERNEL_US:
        return ErrorClass.SMALL
    m, k, n = problem.m, problem.k, problem.n
    if m * n > m * k + k * n:
        return ErrorClass.OUTPUT_HEAVY
    chain_us = spec.cycles_to_us(compute_mmad_chain_cycles(problem, plan, spec))
    if chain_us >= COMPUTE_BOUND_RATIO * time_us:
        return ErrorClass.COMPUTE_BOUND
    return ErrorClass.READ_BOUND
