"""The heat map's data: the model's best time for every tile size of one shape."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autotune.report.aggregates import CountedRow
from autotune.report.figures.tile_map import TileMap
from baseline.decision import decide
from hwmodel.cost.evaluator import Evaluator
from hwmodel.cost.evaluators import SLOW_EVALUATORS, select_evaluator
from hwmodel.plan import Template, canonical_plan
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.space import TileLandscape, build_space, tile_landscape

_TILED = frozenset({Template.ASWT, Template.A_FULL, Template.B_FULL, Template.STREAM_K})
"""Templates whose plans have an L0C tile that means the same as in the map."""

_CHUNK = 1 << 16
"""Plans evaluated at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TileMapChoice:
    """The heat map, or why there is none.

    Attributes:
        map: the data; None without a shape to draw.
        note: why there is none; empty when there is one.
    """

    map: TileMap | None
    note: str


def compute_tile_map(
    largest: Sequence[CountedRow], spec: HardwareSpec, evaluator: str, *, quick: bool
) -> TileMapChoice:
    """The map of the first shape whose two plans have tiles and whose space is not empty.

    Args:
        largest: shapes with a gap, largest first.
        spec: the run's hardware.
        evaluator: name of the model.
        quick: the run searched the quick space; else the map covers the whole one.
    """
    if evaluator in SLOW_EVALUATORS:
        return _no_map(f"the {evaluator} is too slow to run every plan")
    model = select_evaluator(evaluator)
    for item in largest:
        compared = item.compared
        plans = (compared.baseline.plan, compared.best.plan)
        if any(plan.template not in _TILED for plan in plans):
            continue
        landscape = (
            tile_landscape(item.row.problem, spec, model)
            if quick
            else _whole_landscape(item.row.problem, spec, model)
        )
        if not np.isfinite(landscape.best_us).any():
            continue
        return TileMapChoice(
            map=TileMap(
                name=item.row.name,
                base_m=landscape.base_m,
                base_n=landscape.base_n,
                best_us=landscape.best_us,
                baseline=compared.baseline.plan,
                baseline_us=compared.baseline.predicted_us,
                best=compared.best.plan,
                best_us_found=compared.best.predicted_us,
                gap_ratio=compared.gap_ratio,
                quick=quick,
            ),
            note="",
        )
    reason = (
        "none of the largest gaps is between two tiled kernels"
        if largest
        else "no shape has a gap"
    )
    return _no_map(reason)


def _no_map(reason: str) -> TileMapChoice:
    """There is no map, for this reason."""
    return TileMapChoice(
        map=None, note=f"There is no heat map of the predicted time over the tile sizes: {reason}."
    )


def _whole_landscape(
    problem: GemmProblem, spec: HardwareSpec, evaluator: Evaluator
) -> TileLandscape:
    """`tile_landscape` over the whole space, about a million points, in about a second."""
    baseline = canonical_plan(problem, decide(problem, spec).plan)
    space = build_space(problem, spec, baseline, quick=False)
    base_m, base_n = np.unique(space.cells.base_m), np.unique(space.cells.base_n)
    best_us = np.full((len(base_m), len(base_n)), np.inf)
    for start in range(0, len(space), _CHUNK):
        plans = space.plans(np.arange(start, min(start + _CHUNK, len(space)), dtype=np.int64))
        cells = np.searchsorted(base_m, plans.base_m), np.searchsorted(base_n, plans.base_n)
        np.minimum.at(best_us, cells, evaluator.estimate_us(problem, spec, plans))
    best_us[np.isinf(best_us)] = np.nan
    return TileLandscape(base_m=base_m, base_n=base_n, best_us=best_us)
