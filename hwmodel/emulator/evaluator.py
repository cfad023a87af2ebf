"""The emulator behind the evaluators' interface."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.breakdown import Bound, CostBreakdown
from hwmodel.emulator import engine, layout, vector_engine
from hwmodel.emulator.activity import compute_launch_ticks, find_busiest_core
from hwmodel.emulator.constants import TICKS_PER_CYCLE, EmulatorConstants
from hwmodel.emulator.engine import EventLog, emulate, emulate_with_log
from hwmodel.emulator.extrapolation import LONG_EVENTS, count_events, emulate_long
from hwmodel.emulator.result import EmulationResult
from hwmodel.emulator.spec_constants import EMULATOR_MODEL, constants_from_spec
from hwmodel.emulator.summary import find_bound
from hwmodel.emulator.vector_engine import emulate_vector
from hwmodel.integers import ceil_div
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, Template, canonical_plan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec

_TINY = 16
"""Lengths of the kernels that are run only to compile the engines."""


def needs_compiling() -> bool:
    """Whether the first evaluation will take the time to compile the engines."""
    return engine.needs_compiling() or vector_engine.needs_compiling()


def compile_engines(spec: HardwareSpec) -> None:
    """Compile the engines, so that processes started later find them compiled."""
    plan = KernelPlan(
        template=Template.ASWT,
        base_m=_TINY,
        base_n=_TINY,
        base_k=_TINY,
        step_k=1,
        single_core_k=_TINY,
        used_core_num=1,
    )
    constants = constants_from_spec(spec)
    emulate(GemmProblem(m=_TINY, k=_TINY, n=_TINY), plan, constants)
    vector_plan = replace(plan, template=Template.VECTOR, base_m=1)
    emulate_vector(GemmProblem(m=1, k=_TINY, n=_TINY), vector_plan, constants)


class EmulatorEvaluator:
    """Emulates every plan with the constants of the spec, calibrated where it has a calibration.

    Milliseconds a plan, not microseconds: for sampling strategies and for single plans.
    """

    @property
    def name(self) -> str:
        """Name of the evaluator."""
        return EMULATOR_MODEL

    @property
    def version(self) -> str:
        """Version of the semantics of docs/emulator.md; the constants are part of the spec."""
        return "emulator-2"

    def evaluate(
        self, problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan
    ) -> CostBreakdown:
        """Emulated time of one plan with its parts.

        Raises:
            InputError: the emulator does not run the plan's template.
        """
        constants = constants_from_spec(spec)
        is_long = count_events(problem, plan) > LONG_EVENTS
        if is_long or plan.template not in CUBE_TEMPLATES:
            result = emulate_long(problem, plan, constants)
            cuts = _cut_without_log(result, problem, plan, constants)
        else:
            result, log = emulate_with_log(problem, plan, constants)
            cuts = _cut_cube_kernel(result, log, plan, constants)
        return _break_down(result, cuts, find_bound(result, plan, constants), spec)

    def estimate_us(
        self, problem: GemmProblem, spec: HardwareSpec, plans: PlanBatch
    ) -> NDArray[np.float64]:
        """Emulated times, shape (len(plans),), microseconds; plans that run alike run once.

        Raises:
            InputError: the emulator does not run a plan's template.
        """
        constants = constants_from_spec(spec)
        ticks: dict[KernelPlan, int] = {}
        times = np.empty(len(plans))
        for row in range(len(plans)):
            plan = canonical_plan(problem, plans.plan(row))
            if plan not in ticks:
                ticks[plan] = emulate_long(problem, plan, constants).makespan_ticks
            times[row] = _to_us(ticks[plan], spec)
        return times


def _to_us(ticks: int, spec: HardwareSpec) -> float:
    """Ticks in microseconds."""
    return spec.cycles_to_us(ticks / TICKS_PER_CYCLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cuts:
    """Where a run is cut into its parts.

    Attributes:
        launch: end of the launch, ticks.
        first: start of the busiest core's first multiplication, ticks.
        last: end of its last one, ticks.
        rounds: items of the core that has most.
    """

    launch: int
    first: int
    last: int
    rounds: int


def _cut_cube_kernel(
    result: EmulationResult, log: EventLog, plan: KernelPlan, constants: EmulatorConstants
) -> _Cuts:
    """A kernel of the cube cores is cut at its multiplications."""
    is_cube = log.rows[:, layout.LOG_PIPE] == layout.PIPE_CUBE
    is_busiest = log.rows[:, layout.LOG_CORE] == find_busiest_core(result)
    cube = log.rows[is_cube & is_busiest]
    return _Cuts(
        launch=compute_launch_ticks(plan, constants),
        first=int(cube[:, layout.LOG_START].min()),
        last=int(cube[:, layout.LOG_END].max()),
        rounds=int(np.diff(log.starts).max()),
    )


def _cut_without_log(
    result: EmulationResult, problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants
) -> _Cuts:
    """Kernels on vector cores, and those too long for a log, are all rounds after launch."""
    launch = compute_launch_ticks(plan, constants)
    blocks = plan.m_tiles(problem) * plan.n_tiles(problem)
    return _Cuts(
        launch=launch,
        first=launch,
        last=result.makespan_ticks,
        rounds=ceil_div(blocks, plan.used_core_num),
    )


def _break_down(
    result: EmulationResult, cuts: _Cuts, bound: Bound, spec: HardwareSpec
) -> CostBreakdown:
    """The parts of a run and the busy times of its busiest core."""
    core = result.cores[find_busiest_core(result)]
    return CostBreakdown(
        task_duration_us=_to_us(result.makespan_ticks, spec),
        launch_us=_to_us(cuts.launch, spec),
        prologue_us=_to_us(cuts.first - cuts.launch, spec),
        rounds_us=_to_us(cuts.last - cuts.first, spec),
        epilogue_us=_to_us(result.makespan_ticks - cuts.last, spec),
        cube_time_us=_to_us(core.cube_ticks, spec),
        mte2_time_us=_to_us(core.mte2_ticks, spec),
        mte1_time_us=_to_us(core.mte1_ticks, spec),
        fixpipe_time_us=_to_us(core.fixpipe_ticks, spec),
        hbm_read_bytes=float(result.hbm_read_bytes),
        l2_read_bytes=float(max(0, result.load_bytes - result.hbm_read_bytes)),
        write_bytes=float(result.store_bytes),
        rounds=cuts.rounds,
        bound=bound,
    )
