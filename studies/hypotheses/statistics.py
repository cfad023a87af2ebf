"""Ratios of many shapes in numbers: votes, interval, verdict (specification: studies.md).

Notation: r = t_control / t_treatment by the judge, rounded to six digits before it is compared
with anything. The interval is that of the geometric mean of r under another choice of clusters:
layers of models, or (k, n) where there is no model. It says nothing of the models' error.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import bootstrap

from studies.hypotheses.verdicts import RatioSummary, Verdict
from studies.ranking import SIGNIFICANT_DIGITS
from studies.shape_rows import ShapeRow

WIN = 1.01
"""A shape wins above this ratio and loses below its reciprocal (specification: studies.md)."""
LARGE = 1.05
"""A gain or, reciprocal, a loss that counts by itself (specification: studies.md)."""
SUPPORTED_LOW = 1.01
"""The interval must lie above this (specification: studies.md) ..."""
SUPPORTED_LARGE_SHARE = 0.05
"""... or this part of the shapes must gain more than 5 % (specification: studies.md)."""
SUPPORTED_LOSS_SHARE = 0.02
"""Most shapes that may lose under `supported` (specification: studies.md)."""
REFUTED_HIGH = 1.005
"""The interval lies below this under `refuted` (specification: studies.md) ..."""
REFUTED_LARGE_SHARE = 0.01
"""... and fewer shapes than this gain more than 5 % (specification: studies.md)."""
LEAST_SHAPES = 20
"""Fewer domain shapes are `not tested` (specification: studies.md)."""
RESAMPLES = 9_999
"""Resamples of the bootstrap (specification: studies.md)."""
CONFIDENCE = 0.95
"""Level of the interval (specification: studies.md)."""
SEED = 20_261_130
"""Seed of the resamples: any fixed number does."""

Cluster = tuple[str, str]
"""What is resampled: (model, layer), or (k, n) as text."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioSample:
    """One distinct problem: its ratio r and the cluster it belongs to."""

    ratio: float
    cluster: Cluster


def cluster_of(row: ShapeRow) -> Cluster:
    """Cluster of a row: shapes of one layer of a model, or of one weight, behave alike."""
    if row.model:
        return row.model, row.layer
    return str(row.problem.k), str(row.problem.n)


def round_ratio(ratio: float) -> float:
    """The number to six significant digits: what is compared, and what is committed."""
    return float(f"{ratio:.{SIGNIFICANT_DIGITS}g}")


def geometric_mean(ratios: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """Weighted geometric mean, every ratio alike without weights; 1 without weight."""
    shares = [1.0] * len(ratios) if weights is None else weights
    total = math.fsum(shares)
    if total <= 0.0:
        return 1.0
    logs = math.fsum(w * math.log(r) for w, r in zip(shares, ratios, strict=True))
    return math.exp(logs / total)


def summarise(samples: Sequence[RatioSample], *, least_shapes: int = LEAST_SHAPES) -> RatioSummary:
    """Counts, geometric mean, interval and verdict of a set of shapes.

    Args:
        samples: one per distinct problem.
        least_shapes: fewer shapes are `not tested`.
    """
    ratios = [round_ratio(sample.ratio) for sample in samples]
    interval = bootstrap_interval(samples)
    wins = sum(r > WIN for r in ratios)
    losses = sum(r < 1 / WIN for r in ratios)
    large_wins = sum(r > LARGE for r in ratios)
    large_losses = sum(r < 1 / LARGE for r in ratios)
    return RatioSummary(
        shapes=len(ratios),
        clusters=len({sample.cluster for sample in samples}),
        geomean=geometric_mean(ratios),
        low=None if interval is None else interval[0],
        high=None if interval is None else interval[1],
        wins=wins,
        ties=len(ratios) - wins - losses,
        losses=losses,
        large_wins=large_wins,
        large_losses=large_losses,
        best=max(ratios, default=1.0),
        worst=min(ratios, default=1.0),
        verdict=_judge(
            len(ratios), interval, losses, large_wins, large_losses, max(1, least_shapes)
        ),
    )


def bootstrap_interval(samples: Sequence[RatioSample]) -> tuple[float, float] | None:
    """95 % percentile interval of the geometric mean, clusters resampled.

    Each cluster enters as its sum of log r and its number of shapes, drawn as a pair. None with
    fewer than two clusters: nothing can be resampled. Equal ratios give an interval of no width.
    """
    sums, counts = _pair_by_cluster(samples)
    if len(sums) < 2:  # one cluster has no spread
        return None
    drawn = bootstrap(
        (sums, counts),
        _mean_log,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return round_ratio(math.exp(drawn.low)), round_ratio(math.exp(drawn.high))


def _pair_by_cluster(samples: Sequence[RatioSample]) -> tuple[Floats, Floats]:
    """Sums of log r and counts, in the order in which the clusters appear."""
    logs: dict[Cluster, list[float]] = {}
    for sample in samples:
        logs.setdefault(sample.cluster, []).append(math.log(round_ratio(sample.ratio)))
    sums = np.array([math.fsum(values) for values in logs.values()])
    return sums, np.array([float(len(values)) for values in logs.values()])


def _mean_log(sums: Floats, counts: Floats, axis: int = -1) -> Floats:
    """Mean of log r over all shapes of the resampled clusters."""
    mean: Floats = np.sum(sums, axis=axis) / np.sum(counts, axis=axis)
    return mean


def _judge(
    shapes: int,
    interval: tuple[float, float] | None,
    losses: int,
    large_wins: int,
    large_losses: int,
    least_shapes: int,
) -> Verdict:
    """The rules of the specification, on counts of rounded ratios."""
    if shapes < least_shapes:
        return Verdict.NOT_TESTED
    gains = interval is not None and interval[0] > SUPPORTED_LOW
    gains = gains or large_wins >= SUPPORTED_LARGE_SHARE * shapes
    if gains and large_losses == 0 and losses <= SUPPORTED_LOSS_SHARE * shapes:
        return Verdict.SUPPORTED
    gains_nothing = interval is not None and interval[1] < REFUTED_HIGH
    if gains_nothing and large_wins < REFUTED_LARGE_SHARE * shapes:
        return Verdict.REFUTED
    return Verdict.MIXED
