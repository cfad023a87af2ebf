"""Lower bounds of the pipeline model for boxes of plans.

The counterpart of `plan_costs`: a box is taken apart like a plan, with its longest slab, its
largest base_k and, for what whole lines cost, slabs that start on a line.
"""

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.plan_costs import (
    A_FULL,
    A_PANEL,
    A_PARTIAL,
    ASWT,
    B_FULL,
    B_PANEL,
    B_PARTIAL,
    STREAM_K,
    VECTOR,
    Model,
    PlanColumns,
    PlanRow,
    build_stream_k_plan,
    build_tile_plan,
    build_walk_plan,
    build_way_out,
    count_k_slices,
    estimate_vector_plan,
    launch_cycles,
    read_row,
)
from hwmodel.cost.resident_bound import ROUNDING, bound_resident
from hwmodel.cost.resident_kernel import ResidentCase
from hwmodel.cost.tile import L1_SLOTS, TilePlan, with_slabs
from hwmodel.cost.tile_bound import BoxLimits
from hwmodel.cost.walk_bound import bound_walk
from hwmodel.cost.walk_case import WalkCase
from hwmodel.emulator.constants import LINE_BYTES
from hwmodel.jit import inline, jit


@jit
def bound_batch(
    model: Model,
    plans: PlanColumns,
    k_l1_least: NDArray[np.int64],
    k_l1_most: NDArray[np.int64],
    kept_least: NDArray[np.float64],
    kept_most: NDArray[np.float64],
    cycles: NDArray[np.float64],
) -> None:
    """Fill `cycles` with a lower bound of every box; the columns are those of `PlanBoxes`."""
    for row in range(len(cycles)):
        limits = BoxLimits(
            float(k_l1_least[row]), float(k_l1_most[row]), kept_least[row], kept_most[row]
        )
        plan = read_row(plans, row)
        # The model's sums and the bound's are rounded in different orders.
        cycles[row] = bound_plans(model, plan, limits) * (1.0 - ROUNDING)


@inline
def bound_plans(model: Model, plan: PlanRow, limits: BoxLimits) -> float:
    """Lower bound of a box; 0 where none is known."""
    template = plan.template
    if template == VECTOR:
        return estimate_vector_plan(model, plan).total
    is_mirrored = template in (B_FULL, B_PARTIAL, B_PANEL)
    terms = model.mirrored if is_mirrored else model.terms
    tile_plan = with_longest_slab(build_tile_plan(terms, plan, is_mirrored), limits)
    walk = build_walk_plan(plan, is_mirrored)
    way_out = build_way_out(model.chip, terms, plan)
    launch = launch_cycles(model.chip, plan)
    is_full = template in (A_FULL, B_FULL)
    if is_full or template in (A_PARTIAL, B_PARTIAL):
        return bound_resident(
            ResidentCase(terms, model.chip, tile_plan, walk, way_out, launch, is_full, 0.0), limits
        )
    if template not in (ASWT, A_PANEL, B_PANEL, STREAM_K):
        return 0.0
    return bound_walk(
        WalkCase(
            terms=terms,
            chip=model.chip,
            plan=tile_plan,
            walk=walk,
            way_out=way_out,
            launch=launch,
            k_slices=count_k_slices(terms, plan),
            resident_slabs=0.0,
            stream_k=build_stream_k_plan(plan, template == STREAM_K),
        ),
        limits,
    )


@inline
def with_longest_slab(plan: TilePlan, limits: BoxLimits) -> TilePlan:
    """The tile figures with the box's longest slab; it starts on a line."""
    return with_slabs(plan, limits.k_l1_most, LINE_BYTES, L1_SLOTS)
