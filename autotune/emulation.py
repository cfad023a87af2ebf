"""A kernel emulated for somebody to look at: its result and, where it is not too long, its log."""

from dataclasses import dataclass

from hwmodel.emulator import engine, vector_engine
from hwmodel.emulator.constants import TICKS_PER_CYCLE, EmulatorConstants
from hwmodel.emulator.engine import EventLog
from hwmodel.emulator.extrapolation import LONG_EVENTS, count_events, emulate_long
from hwmodel.emulator.result import EmulationResult
from hwmodel.emulator.spec_constants import constants_from_spec
from hwmodel.emulator.vector_engine import emulate_vector_with_log
from hwmodel.integers import ceil_div
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec

MAX_LOG_ROWS = 16_000_000
"""Rows of a log: some 800 megabytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulation:
    """One kernel, what it did, and what it did when.

    Attributes:
        problem: the problem.
        spec: the chip.
        plan: the plan.
        constants: the chip's figures as the emulator takes them.
        result: the result.
        log: the log; None of long kernels.
    """

    problem: GemmProblem
    spec: HardwareSpec
    plan: KernelPlan
    constants: EmulatorConstants
    result: EmulationResult
    log: EventLog | None

    @property
    def duration_us(self) -> float:
        """The emulated time."""
        return self.spec.cycles_to_us(self.result.makespan_ticks / TICKS_PER_CYCLE)

    @property
    def why_no_log(self) -> str:
        """In a few words, where there is no log."""
        return "the kernel has more steps than are logged"


def estimate_log_rows(problem: GemmProblem, plan: KernelPlan) -> int:
    """About how many rows its log has: events, and two a L0 step or one a vector step."""
    if plan.template not in CUBE_TEMPLATES:
        return 2 * count_events(problem, plan)
    tiles = plan.m_tiles(problem) * plan.n_tiles(problem)
    l0_steps = tiles * ceil_div(problem.k, plan.base_k)
    return count_events(problem, plan) + 2 * l0_steps


def needs_compiling(plan: KernelPlan) -> bool:
    """Whether emulating the plan will first take the time to compile the engine."""
    is_cube = plan.template in CUBE_TEMPLATES
    return engine.needs_compiling() if is_cube else vector_engine.needs_compiling()


def run_emulation(problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan) -> Emulation:
    """Emulate the kernel.

    Raises:
        InputError: the plan is none that the emulator takes, or is far too long for it.
    """
    constants = constants_from_spec(spec)
    log: EventLog | None = None
    events, rows = count_events(problem, plan), estimate_log_rows(problem, plan)
    if events > LONG_EVENTS or rows > MAX_LOG_ROWS:
        result = emulate_long(problem, plan, constants, limit_events=LONG_EVENTS)
    elif plan.template in CUBE_TEMPLATES:
        result, log = engine.emulate_with_log(problem, plan, constants)
    else:
        result, log = emulate_vector_with_log(problem, plan, constants)
    return Emulation(
        problem=problem, spec=spec, plan=plan, constants=constants, result=result, log=log
    )
