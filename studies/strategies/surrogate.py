"""What `prior` expects of points that were not evaluated, given those that were.

A Gaussian process (`gaussian_process`) of the logarithm of the time. With a ranking, which is
another model's prediction for every point, it is a process of log(time / prediction) instead.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from studies.strategies.gaussian_process import (
    FactorRows,
    Hyperparameters,
    Process,
    fit_hyperparameters,
)
from studies.strategies.points import FloatArray

_FIT_POINTS = 96
"""Evaluations that the parameters are fitted to: more take time and change little."""
_MODEL_POINTS = 192
"""Evaluations that the process is given."""

_RANKING_DEVIATION = 0.1
"""Deviation of log(time / prediction) that a ranking is held to have before there is evidence."""
_RANKING_WEIGHT = 5.0
"""Evaluations that this counts for."""

_DIGITS = 6
"""Decimals to which logarithms of improvements are compared: their last bits may depend on the
number of threads."""
_FAR = -6.0
"""Standard deviations from which on the improvement is computed by its asymptotic series."""
_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """Evaluated points.

    Attributes:
        x: scaled factors, shape (n, D).
        values: what was measured, shape (n,).
        offset: logarithms of the ranking's predictions, shape (n,); zeros without a ranking.
    """

    x: FloatArray
    values: FloatArray
    offset: FloatArray

    def select(self, rows: NDArray[np.intp]) -> "Sample":
        """These rows of the sample."""
        return Sample(x=self.x[rows], values=self.values[rows], offset=self.offset[rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class Warp:
    """A change of the values that keeps their order and makes them fit for a process.

    Attributes:
        logarithmic: take the logarithm first; only for positive values.
        knee: what lies above is compressed, as by another logarithm.
        span: from the least value to the knee.
    """

    logarithmic: bool
    knee: float = np.inf
    span: float = 1.0

    def __call__(self, values: FloatArray) -> FloatArray:
        """The changed values."""
        changed = (
            np.log(np.maximum(values, np.finfo(np.float64).tiny)) if self.logarithmic else values
        )
        excess = np.maximum(changed - self.knee, 0.0)
        result: FloatArray = np.minimum(changed, self.knee) + self.span * np.log1p(
            excess / self.span
        )
        return result


def choose_warp(values: FloatArray, *, compress: bool) -> Warp:
    """The warp for these values; with `compress` the worse half of them is compressed.

    How much worse than the median a bad point is says little of where the best is, and would leave
    the process few of its means for the good ones.
    """
    plain = Warp(logarithmic=bool(values.min() > 0.0))
    changed = plain(values)
    knee = float(np.median(changed))
    span = knee - float(changed.min())
    if not compress or span <= 0.0:
        return plain
    return Warp(logarithmic=plain.logarithmic, knee=knee, span=span)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Surrogate:
    """What is learnt at a fit and holds until the next.

    Attributes:
        warp: of the values.
        centre: mean of the warped values beside the ranking.
        scale: their deviation from it.
        parameters: of the process of what is left, centred and scaled.
        kept: rows of the fitted sample that the process is given.
    """

    warp: Warp
    centre: float
    scale: float
    parameters: Hyperparameters
    kept: NDArray[np.intp]

    def expect(self, sample: Sample, pending: Sample) -> "Expectation":
        """What the sample lets expect; a pending point is taken to come out as expected.

        `pending` has points and ranking only, its values do not count.
        """
        warped = self.warp(sample.values)
        rest = (warped - sample.offset - self.centre) / self.scale
        process = Process(self.parameters, sample.x, rest)
        if len(pending.x):
            believed, _ = process.predict(FactorRows(pending.x))
            process = Process(
                self.parameters,
                np.concatenate([sample.x, pending.x]),
                np.concatenate([rest, believed]),
            )
        return Expectation(process, self.centre, self.scale, float(warped.min()))


class Expectation:
    """A process with its scale, and the least value so far."""

    def __init__(self, process: Process, centre: float, scale: float, least: float) -> None:
        """`least` is in the units of the warp."""
        self._process = process
        self._centre, self._scale, self._least = centre, scale, least

    def log_improvement(self, rows: FactorRows, offset: FloatArray) -> FloatArray:
        """Logarithm of the expected improvement on the least value, up to a constant.

        For a normal y of mean m and deviation s and u = (least - m) / s it is
        log(s * (u * cdf(u) + pdf(u))) (Jones, Schonlau and Welch, 1998).
        """
        mean, deviation = self._process.predict(rows)
        ahead = (self._least - offset - self._centre) / self._scale - mean
        improvement = np.log(deviation) + _log_gain(ahead / deviation)
        result: FloatArray = np.round(improvement, _DIGITS)
        return result


def _log_gain(u: FloatArray) -> FloatArray:
    """log(u * cdf(u) + pdf(u)) of the standard normal distribution."""
    log_density = -(u**2) / 2.0 - _LOG_SQRT_2PI
    near = np.maximum(u, _FAR)
    gain = near * ndtr(near) + np.exp(-(near**2) / 2.0 - _LOG_SQRT_2PI)
    far = log_density - 2.0 * np.log(np.maximum(-u, 1.0))
    result: FloatArray = np.where(u < _FAR, far, np.log(gain))
    return result


def fit_surrogate(sample: Sample, *, ranked: bool) -> Surrogate:
    """The surrogate of a sample of at least one point; `ranked` says that there is a ranking."""
    warp = choose_warp(sample.values, compress=not ranked)
    rest = warp(sample.values) - sample.offset
    centre = float(rest.mean())
    squares = float(((rest - centre) ** 2).sum())
    scale = (squares / len(rest)) ** 0.5 or 1.0
    if ranked:
        squares += _RANKING_WEIGHT * _RANKING_DEVIATION**2
        scale = (squares / (len(rest) + _RANKING_WEIGHT)) ** 0.5
    rows = _spread_by_value(sample.values, _FIT_POINTS)
    return Surrogate(
        warp=warp,
        centre=centre,
        scale=scale,
        parameters=fit_hyperparameters(sample.x[rows], (rest[rows] - centre) / scale),
        kept=_spread_by_value(sample.values, _MODEL_POINTS),
    )


def _spread_by_value(values: FloatArray, most: int) -> NDArray[np.intp]:
    """At most `most` rows: half of them those of the least values, the rest the earliest.

    The earliest are spread over the space, so what is bad there is not forgotten.
    """
    if len(values) <= most:
        return np.arange(len(values))
    best = np.argsort(values, kind="stable")[: most // 2]
    others = np.setdiff1d(np.arange(len(values)), best)
    return np.sort(np.concatenate([best, others[: most - len(best)]]))
