"""What the judge saw besides the time: loads, hits in L2, bytes from HBM."""

from dataclasses import replace

from hwmodel.emulator.extrapolation import emulate_long
from hwmodel.emulator.result import EmulationResult
from hwmodel.emulator.spec_constants import constants_from_spec
from hwmodel.plan import KernelPlan
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec

BOUNDLESS_L2_RATIO = 1000.0
"""Times the L2's size: more than any kernel of the lists moves."""


def emulate_plan(problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan) -> EmulationResult:
    """The judge's run of a plan in full."""
    return emulate_long(problem, plan, constants_from_spec(spec))


def widen_l2(spec: HardwareSpec) -> HardwareSpec:
    """The chip with an L2 that never has to drop anything; all else, cache modes included, stays.

    The size that the operator and the kernels know does not change, only what the L2 holds.
    """
    return replace(spec, cache=replace(spec.cache, l2_usable_ratio=BOUNDLESS_L2_RATIO))
