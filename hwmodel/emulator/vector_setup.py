"""Vector kernels: from problem, plan and constants to the numbers of a run.

Source: docs/emulator.md, section 8. The run's vector `par` is that of `layout.py`, so that the
memory's functions serve both engines, with the entries below after it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwmodel.dtypes import DType
from hwmodel.emulator import layout
from hwmodel.emulator.constants import EmulatorConstants
from hwmodel.emulator.geometry import Vector
from hwmodel.emulator.setup import (
    check_objects,
    shared_constant_values,
    shared_problem_values,
)
from hwmodel.emulator.stores import L0C_ELEMENT_BYTES
from hwmodel.errors import InputError
from hwmodel.integers import ceil_div
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, Template
from hwmodel.problem import GemmProblem

# Entries of `par` after those of `layout.py`.
(
    STEPS,
    TILE_COLS,
    FIRST_OPERAND,
    FIRST_C,
    PASSES,
    SUMS,
    ELEMENT_PASSES,
    WORK_CYCLES,
    OUTPUT_CYCLES,
    LANES,
    AIV_HBM_Q,
    AIV_L2_Q,
    SHARE,
    TOTAL,
    PIECE,
    VECTOR_PAR_SIZE,
) = range(layout.PAR_SIZE, layout.PAR_SIZE + 16)

# Array `core`, a row a vector core, after the common entries of `layout.py`. LD_: the next load.
# V_: the vector unit. Its inputs lie in two places, used in turn.
(
    BUSY_V,
    BUSY_MTE3,
    TILES,
    LD_TILE,
    LD_PART,
    V_FREE,
    V_STEP,
    V_STEP_NO,
    V_TILE,
    V_TILE_END,
    V_SLOT_FREE,
    _V_SLOT_FREE_1,
    V_LOADED,
    _V_LOADED_1,
    VECTOR_CORE_SIZE,
) = range(layout.COMMON_SIZE, layout.COMMON_SIZE + 15)

PASSES_16BIT = 4
"""Vector passes over a step: two casts, multiply, add (specification: plan.md, "VECTOR")."""

PASSES_FP32 = 2
"""Multiply and add: fp32 needs no casts."""

CLEAR_BYTES = 131072
"""What K_EQUAL_ZERO stores at once: half of UB, assumed."""

MAX_EVENTS = 400_000_000
"""Events of the largest kernel that is emulated one by one: about a minute."""

VECTOR_TEMPLATES = frozenset(Template) - CUBE_TEMPLATES
"""Templates that run on the vector cores alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRun:
    """Everything a run starts from.

    Attributes:
        par: the numbers.
        tiles: tiles (pieces of K_EQUAL_ZERO) of each core.
        objects: number of L2 objects.
    """

    par: Vector
    tiles: Vector
    objects: int


def _check(problem: GemmProblem, plan: KernelPlan) -> None:
    """Reject what no vector kernel computes and what the engine has no room for."""
    where = f"emulator: template {plan.template}"
    if plan.template not in VECTOR_TEMPLATES:
        raise InputError(f"{where}: runs on cube cores; use a vector template")
    is_clearing = plan.template is Template.K_EQUAL_ZERO
    if (problem.k == 0) != is_clearing:
        rule = "needs k = 0" if is_clearing else "needs k >= 1"
        raise InputError(f"{where}: k = {problem.k}: {rule}")
    if plan.template is Template.VECTOR and min(problem.m, problem.n) > 1:
        raise InputError(f"{where}: {problem.label()}: needs m = 1 or n = 1")
    for name in ("base_m", "base_n", "base_k", "used_core_num"):
        if getattr(plan, name) < 1:
            raise InputError(f"emulator: {name} = {getattr(plan, name)}: must be at least 1")
    if plan.used_core_num > (layout.CHANNEL_MASK + 1) // 2:
        limit = (layout.CHANNEL_MASK + 1) // 2
        raise InputError(f"emulator: used_core_num = {plan.used_core_num}: must be in 1..{limit}")


def tile_shape(problem: GemmProblem, plan: KernelPlan) -> tuple[int, int]:
    """Rows and columns of a whole tile; TO_MUL cuts the one direction that is not 1."""
    if plan.template is Template.VECTOR:
        return (1, plan.base_n) if problem.m == 1 else (plan.base_m, 1)
    return plan.base_m, plan.base_n


def count_vector_events(problem: GemmProblem, plan: KernelPlan) -> int:
    """Loads and stores of a vector kernel.

    Raises:
        InputError: the plan is none of a vector template, or cannot compute the problem.
    """
    _check(problem, plan)
    if plan.template is Template.K_EQUAL_ZERO:
        return sum(_clear_counts(problem, plan))
    height, width = tile_shape(problem, plan)
    steps = ceil_div(problem.k, min(plan.base_k, problem.k))
    return ceil_div(problem.m, height) * ceil_div(problem.n, width) * (2 * steps + 1)


def _clear_counts(problem: GemmProblem, plan: KernelPlan) -> tuple[int, ...]:
    """Pieces that each core clears."""
    total, cores = problem.m * problem.n, plan.used_core_num
    share = ceil_div(total, cores)
    piece = CLEAR_BYTES // problem.out_dtype.size_bytes
    sizes = (max(0, min(share, total - p * share)) for p in range(cores))
    return tuple(ceil_div(size, piece) for size in sizes)


def prepare_vector(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants
) -> VectorRun:
    """The numbers of a run.

    Raises:
        InputError: the plan is none of a vector template, cannot compute the problem, or has more
            than `MAX_EVENTS` events or `layout.MAX_OBJECTS` objects.
    """
    events = count_vector_events(problem, plan)
    if events > MAX_EVENTS:
        raise InputError(
            f"emulator: {problem.label()}: {events} events; emulate_long extrapolates beyond "
            f"{MAX_EVENTS}"
        )
    values = dict.fromkeys(range(VECTOR_PAR_SIZE), 0)
    values |= _problem_values(problem, plan) | _constant_values(constants)
    cores = plan.used_core_num
    if plan.template is Template.K_EQUAL_ZERO:
        values |= {
            SHARE: ceil_div(problem.m * problem.n, cores),
            TOTAL: problem.m * problem.n,
            PIECE: CLEAR_BYTES // problem.out_dtype.size_bytes,
        }
        tiles = _clear_counts(problem, plan)
        objects = cores * max(tiles)
        largest = CLEAR_BYTES
        values[TILE_COLS] = max(tiles)
    else:
        values |= _tile_values(problem, plan, constants)
        height, width = tile_shape(problem, plan)
        count = ceil_div(problem.m, height) * ceil_div(problem.n, width)
        tiles = tuple(len(range(p, count, cores)) for p in range(cores))
        objects = values[FIRST_C] + count
        depth = values[layout.BASE_K] * problem.dtype.size_bytes
        largest = max(height * depth, width * depth, height * width * L0C_ELEMENT_BYTES)
    check_objects(problem, objects, largest)
    return VectorRun(
        par=np.array([int(values[index]) for index in range(VECTOR_PAR_SIZE)], dtype=np.int64),
        tiles=np.array(tiles, dtype=np.int64),
        objects=objects,
    )


def _problem_values(problem: GemmProblem, plan: KernelPlan) -> dict[int, int]:
    """Entries of `par` that come from problem and plan alone."""
    return shared_problem_values(problem, plan) | {layout.TRACKS_SIZES: 1}


def _constant_values(constants: EmulatorConstants) -> dict[int, int]:
    """Entries of `par` that are constants."""
    return shared_constant_values(constants) | {
        layout.CAPACITY: constants.l2_capacity_bytes,
        layout.LAUNCH: constants.launch_ticks,
        LANES: constants.vector_lanes,
        AIV_HBM_Q: constants.aiv_hbm_q,
        AIV_L2_Q: constants.aiv_l2_q,
    }


def _tile_values(
    problem: GemmProblem, plan: KernelPlan, constants: EmulatorConstants
) -> dict[int, int]:
    """Entries of `par` on tiles, steps and the work of V."""
    height, width = tile_shape(problem, plan)
    depth = min(plan.base_k, problem.k)
    steps = ceil_div(problem.k, depth)
    row_blocks, col_blocks = ceil_div(problem.m, height), ceil_div(problem.n, width)
    is_to_mul = plan.template is Template.VECTOR
    matrix_is_a = is_to_mul and problem.n == 1
    matrix_is_b = is_to_mul and not matrix_is_a
    first_b = 0 if matrix_is_a else row_blocks * steps
    lanes = constants.vector_lanes
    outputs = min(max(height, width), problem.m * problem.n)
    return {
        layout.BASE_M: height,
        layout.BASE_N: width,
        layout.BASE_K: depth,
        layout.FIRST_B: first_b,
        layout.BYPASS_A: matrix_is_a,
        layout.BYPASS_B: matrix_is_b,
        STEPS: steps,
        TILE_COLS: col_blocks,
        FIRST_OPERAND: layout.OPERAND_B if matrix_is_a else layout.OPERAND_A,
        FIRST_C: first_b + (0 if matrix_is_b else col_blocks * steps),
        PASSES: PASSES_FP32 if problem.dtype is DType.FP32 else PASSES_16BIT,
        SUMS: 1 if is_to_mul else 2,
        ELEMENT_PASSES: (problem.bias_dtype is not None) + (problem.out_dtype is not DType.FP32),
        WORK_CYCLES: ceil_div(outputs * depth, lanes) if is_to_mul else 0,
        OUTPUT_CYCLES: 0 if is_to_mul else ceil_div(plan.base_k, lanes),
    }


def count_vector_log_rows(run: VectorRun) -> int:
    """Rows of a log of the run."""
    steps = int(run.par[STEPS])
    # A step is two loads and a piece of V's work; a tile is finished, unless there are no steps,
    # and stored.
    return int(run.tiles.sum()) * (3 * steps + (2 if steps else 1))


def list_tiles(run: VectorRun) -> NDArray[np.int32]:
    """Place and size of the tiles, core after core, in the columns of `layout.py`.

    A piece of K_EQUAL_ZERO has the place of its first element.
    """
    par = run.par
    core_of = np.repeat(np.arange(len(run.tiles)), run.tiles)
    number = np.arange(len(core_of)) - np.repeat(np.cumsum(run.tiles) - run.tiles, run.tiles)
    items = np.zeros((len(core_of), layout.ITEM_SIZE), dtype=np.int32)
    if par[STEPS] == 0:
        at = number * par[PIECE]
        start = core_of * par[SHARE] + at
        size = np.minimum(par[SHARE], par[TOTAL] - core_of * par[SHARE]) - at
        items[:, layout.M_OFF] = start // par[layout.LEN_N]
        items[:, layout.N_OFF] = start % par[layout.LEN_N]
        items[:, layout.ROWS] = 1
        items[:, layout.COLS] = np.minimum(par[PIECE], size)
        return items
    tile = core_of + number * len(run.tiles)
    for offset, extent, base, length, block in (
        (layout.M_OFF, layout.ROWS, layout.BASE_M, layout.LEN_M, tile // par[TILE_COLS]),
        (layout.N_OFF, layout.COLS, layout.BASE_N, layout.LEN_N, tile % par[TILE_COLS]),
    ):
        items[:, offset] = block * par[base]
        items[:, extent] = np.minimum(par[base], par[length] - items[:, offset])
    return items
