"""A kernel emulated for somebody to look at: its result and, where it is not too long, its log."""

from dataclasses import dataclass

from hwmodel.emulator import engine, vector_engine
from hwmodel.emulator.constants import TICKS_PER_CYCLE, EmulatorConstants
from hwmodel.emulator.engine import EventLog
from hwmodel.emulator.result import EmulationResult
from hwmodel.emulator.spec_constants import constants_from_spec
from hwmodel.errors import InputError
from hwmodel.integers import ceil_div
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec

MAX_EVENTS = 20_000_000
"""Loads and stores of a kernel that is emulated at once: some seconds, half a gigabyte."""

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
        log: the log; None when it would have more than `MAX_LOG_ROWS` rows, and of vector kernels.
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
        if self.plan.template in CUBE_TEMPLATES:
            return f"the kernel has more than the {MAX_LOG_ROWS} steps that are logged"
        return "kernels of the vector cores are not logged"


def estimate_events(problem: GemmProblem, plan: KernelPlan) -> int:
    """About how many loads and stores the kernel has, without running it."""
    tiles = plan.m_tiles(problem) * plan.n_tiles(problem)
    return tiles * (2 * ceil_div(problem.k, plan.k_l1(problem)) + 1)


def estimate_log_rows(problem: GemmProblem, plan: KernelPlan) -> int:
    """About how many rows its log has: events, and two a L0 step."""
    tiles = plan.m_tiles(problem) * plan.n_tiles(problem)
    l0_steps = tiles * ceil_div(problem.k, plan.base_k)
    return estimate_events(problem, plan) + 2 * l0_steps


def needs_compiling(plan: KernelPlan) -> bool:
    """Whether emulating the plan will first take the time to compile the engine."""
    is_cube = plan.template in CUBE_TEMPLATES
    return engine.needs_compiling() if is_cube else vector_engine.needs_compiling()


def run_emulation(problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan) -> Emulation:
    """Emulate the kernel.

    Raises:
        InputError: the plan is none that the emulator takes, or has more than `MAX_EVENTS` events.
    """
    constants = constants_from_spec(spec)
    log: EventLog | None = None
    if plan.template not in CUBE_TEMPLATES:
        result = vector_engine.emulate_vector(problem, plan, constants)
    else:
        events = estimate_events(problem, plan)
        if events > MAX_EVENTS:
            raise InputError(
                f"{problem.label()}: about {events} loads and stores are more than the "
                f"{MAX_EVENTS} that are emulated; give a smaller problem or a larger tile"
            )
        if estimate_log_rows(problem, plan) > MAX_LOG_ROWS:
            result = engine.emulate(problem, plan, constants)
        else:
            result, log = engine.emulate_with_log(problem, plan, constants)
    return Emulation(
        problem=problem, spec=spec, plan=plan, constants=constants, result=result, log=log
    )
