"""What a launch would pay for choosing by the model, and from which kernel time it pays.

The host tiling runs before every launch. Scoring candidates by the pipeline model adds their
number times what the batch model takes for a plan.
"""

from collections.abc import Sequence
from statistics import median

from studies.hypotheses.answers import Comparison
from studies.hypotheses.verdicts import HostCost

HEURISTIC_US = 5.5
"""What the heuristic takes today (specification: studies.md, "Rules for the maintainer")."""
NS_PER_CANDIDATE = 625.0
"""Time of the batch pipeline model for a plan, nanoseconds: 1.6 million plans a second on one core
of a two-core machine, measured by `make bench` (README, "How fast it is")."""
NS_PER_US = 1000.0


def compute_launch_us(candidates: float) -> float:
    """Time that scoring so many candidates adds to a launch, microseconds."""
    return candidates * NS_PER_CANDIDATE / NS_PER_US


def summarise_host_cost(comparisons: Sequence[Comparison], geomean: float) -> HostCost | None:
    """Cost over the domain shapes; None without any.

    Args:
        comparisons: of the domain shapes.
        geomean: mean ratio t_control / t_treatment over them.
    """
    if not comparisons:
        return None
    counts = [item.candidates for item in comparisons]
    cost_us = compute_launch_us(median(counts))
    gain_ratio = 1.0 - 1.0 / geomean
    saved_us = [item.control.judge_us - item.treatment.judge_us for item in comparisons]
    return HostCost(
        candidates_median=float(median(counts)),
        candidates_max=max(counts),
        ns_per_candidate=NS_PER_CANDIDATE,
        launch_cost_us=cost_us,
        pays_from_us=cost_us / gain_ratio if gain_ratio > 0 else None,
        paying_shapes=sum(
            saved > compute_launch_us(count) for saved, count in zip(saved_us, counts, strict=True)
        ),
    )
