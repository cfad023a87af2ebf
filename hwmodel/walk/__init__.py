"""The parameterised walk: which core computes which part of C, in which order.

`walk(problem, plan)` gives the `Schedule` of any template; `walk_params` and `build_schedule` are
its two steps, for callers with parameters that no plan expresses. The vendor's orders are one
choice of parameters (specification: swizzle.md), the proposed windows, orders and panels are
others (plan.md).
"""

from hwmodel.walk.items import VectorRecord, WalkItem
from hwmodel.walk.params import KSplit, WalkParams
from hwmodel.walk.plan_params import walk_params
from hwmodel.walk.schedule import AIV_PER_AIC, Schedule, build_schedule, walk

__all__ = [
    "AIV_PER_AIC",
    "KSplit",
    "Schedule",
    "VectorRecord",
    "WalkItem",
    "WalkParams",
    "build_schedule",
    "walk",
    "walk_params",
]
