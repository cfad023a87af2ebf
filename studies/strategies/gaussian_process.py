"""A Gaussian process over a few ordered factors, made to learn from few noise-free evaluations.

Notation: x = (x_1 .. x_D) a point's factors scaled to 0 .. 1, y(x) the value there.

    y = g + e,   cov(g(x), g(x')) = v * prod_d (1 + w_d c_d(x_d, x'_d)) / (1 + w_d)
    c_d = (1 - r_d) * Matern32(|x_d - x'_d| / l_d) + r_d * [x_d = x'_d],   var(e) = s^2

Multiplied out, the product is a sum over all sets of factors: main effects, pairs and so on, each
the weaker the smaller the weights w are (Durrande et al., "ANOVA kernels and RKHS of zero mean
functions", 2013). r_d lets a single level of a factor stand out from its neighbours, as a tile
does that fits a shape by chance, and e every single point: e is part of what is sought, not an
error of measurement, so it counts in the predicted spread of a point that was not evaluated.

The D lengths l, weights w and shares r, the variance v and the deviation s are the maximum of the
posterior under the normal priors below (on logarithms; on the logit for r). The fit always starts
from their centres: it depends on the data alone, not on the fits before it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

FloatArray = NDArray[np.float64]

# Centre and deviation of the prior of each kind of parameter. The factors span 0 .. 1 and the
# values have a deviation of about 1, so that these are the same for every problem.
_LENGTH = (np.log(0.7), 0.7)
_WEIGHT = (np.log(0.5), 1.0)
_SHARE = (-2.0, 1.0)
_VARIANCE = (0.0, 1.0)
_NUGGET = (np.log(0.05), 1.5)

_BOUND = 5.0
"""Parameters stay within so many deviations of their prior's centre."""
_JITTER = 1e-8
"""Added to the diagonal: keeps nearly equal points from making the matrix singular."""
_MAX_STEPS = 30
"""Steps of the fit; the maximum is flat, and later steps change no decision."""
_SQRT3 = 3.0**0.5
_FAILED = 1e10
"""Objective where the covariance is not positive definite to machine precision."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hyperparameters:
    """Parameters of the covariance.

    Attributes:
        lengths: l_d, shape (D,).
        weights: w_d, shape (D,).
        shares: r_d, shape (D,).
        variance: v.
        nugget: s.
    """

    lengths: FloatArray
    weights: FloatArray
    shares: FloatArray
    variance: float
    nugget: float

    @classmethod
    def from_vector(cls, vector: FloatArray) -> "Hyperparameters":
        """From the vector of logarithms and logits that the fit works on, shape (3D + 2,)."""
        lengths, weights, shares = vector[:-2].reshape(3, -1)
        return cls(
            lengths=np.exp(lengths),
            weights=np.exp(weights),
            shares=1.0 / (1.0 + np.exp(-shares)),
            variance=float(np.exp(vector[-2])),
            nugget=float(np.exp(vector[-1])),
        )

    def factor(self, number: int, left: FloatArray, right: FloatArray) -> FloatArray:
        """Covariance factor of one x_d between levels, shape (len(left), len(right))."""
        distance = np.abs(left[:, None] - right[None, :])
        scaled = _SQRT3 / self.lengths[number] * distance
        share, weight = self.shares[number], self.weights[number]
        smooth = (1.0 + scaled) * np.exp(-scaled)
        mixed = (1.0 - share) * smooth + share * (distance == 0.0)
        result: FloatArray = (1.0 + weight * mixed) / (1.0 + weight)
        return result


def prior_centre(dimensions: int) -> FloatArray:
    """The vector of the priors' centres."""
    return _by_kind(dimensions, 0)


def _by_kind(dimensions: int, part: int) -> FloatArray:
    kinds = [_LENGTH] * dimensions + [_WEIGHT] * dimensions + [_SHARE] * dimensions
    return np.array([kind[part] for kind in (*kinds, _VARIANCE, _NUGGET)])


def fit_hyperparameters(x: FloatArray, y: FloatArray) -> Hyperparameters:
    """The most probable parameters given values y, shape (n,), at points x, shape (n, D)."""
    dimensions = x.shape[1]
    centre, deviation = prior_centre(dimensions), _by_kind(dimensions, 1)
    reach = _BOUND * deviation
    found = minimize(
        _Posterior(x, y),
        centre,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(centre - reach, centre + reach, strict=True)),
        options={"maxiter": _MAX_STEPS},
    )
    return Hyperparameters.from_vector(np.asarray(found.x))


class _Posterior:
    """Negative logarithm of the parameters' posterior density, with its gradient."""

    def __init__(self, x: FloatArray, y: FloatArray) -> None:
        columns = x.T
        self._distance = np.abs(columns[:, :, None] - columns[:, None, :])
        self._equal = self._distance == 0.0
        self._y = y
        dimensions = len(columns)
        self._centre, self._deviation = prior_centre(dimensions), _by_kind(dimensions, 1)

    def __call__(self, vector: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient at a vector of parameters."""
        parameters = Hyperparameters.from_vector(vector)
        weights = parameters.weights[:, None, None]
        shares = parameters.shares[:, None, None]
        scaled = _SQRT3 / parameters.lengths[:, None, None] * self._distance
        decay = np.exp(-scaled)
        smooth = (1.0 + scaled) * decay
        mixed = smooth + shares * (self._equal - smooth)
        factors = (1.0 + weights * mixed) / (1.0 + weights)
        covariance = parameters.variance * np.prod(factors, axis=0)
        count = len(self._y)
        try:
            lower = cholesky(
                covariance + (parameters.nugget**2 + _JITTER) * np.eye(count),
                lower=True,
                check_finite=False,
            )
        except LinAlgError:
            return _FAILED, np.zeros_like(vector)
        solved = cho_solve((lower, True), self._y, check_finite=False)
        offset = (vector - self._centre) / self._deviation
        value = self._y @ solved / 2 + np.log(np.diag(lower)).sum() + (offset @ offset) / 2
        inverse = cho_solve((lower, True), np.eye(count), check_finite=False)
        sensitivity = inverse - np.outer(solved, solved)
        by_factor = sensitivity * covariance / factors * (weights / (1.0 + weights))
        length = by_factor * (1.0 - shares) * scaled**2 * decay
        weight = by_factor * (mixed - 1.0) / (1.0 + weights)
        share = by_factor * (self._equal - smooth) * shares * (1.0 - shares)
        gradient = np.concatenate(
            [
                length.sum(axis=(1, 2)),
                weight.sum(axis=(1, 2)),
                share.sum(axis=(1, 2)),
                [(sensitivity * covariance).sum()],
                [2 * np.trace(sensitivity) * parameters.nugget**2],
            ]
        )
        return float(value), gradient / 2 + offset / self._deviation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Group:
    """Some factors together.

    Attributes:
        levels: for each of the factors its number, its levels, and the level of it that each
            combination has.
        codes: the combination that each row has.
    """

    levels: tuple[tuple[int, FloatArray, NDArray[np.intp]], ...]
    codes: NDArray[np.intp]


class FactorRows:
    """Points as rows of factors, prepared for their covariances with a few others.

    Few levels a factor have, and few combinations some of them together: the covariances of all
    rows are gathered from those of the distinct combinations of each group of factors.
    """

    _MOST_COMBINATIONS = 1024
    """Combinations of a group: their covariances fit the cache."""

    def __init__(self, x: FloatArray) -> None:
        """`x` has shape (rows, D); D is at least 1."""
        self._rows = len(x)
        self._groups: list[_Group] = []
        members: list[int] = []
        codes = first = np.zeros(0, dtype=np.intp)
        for number in range(x.shape[1]):
            own, own_codes = np.unique(x[:, number], return_inverse=True)
            joint = codes * len(own) + own_codes if members else own_codes
            distinct, joint_first, joint_codes = np.unique(
                joint, return_index=True, return_inverse=True
            )
            if members and len(distinct) > self._MOST_COMBINATIONS:
                self._close(x, members, first, codes)
                members = []
                _, joint_first, joint_codes = np.unique(
                    own_codes, return_index=True, return_inverse=True
                )
            members = [*members, number]
            codes, first = joint_codes, joint_first
        self._close(x, members, first, codes)

    def _close(
        self, x: FloatArray, members: list[int], first: NDArray[np.intp], codes: NDArray[np.intp]
    ) -> None:
        """Keep a group; `first` is a row of each combination."""
        combinations = x[first]
        levels = tuple(
            (number, *np.unique(combinations[:, number], return_inverse=True))
            for number in members
        )
        self._groups.append(_Group(levels=levels, codes=codes))

    def covariance(self, parameters: Hyperparameters, others: FloatArray) -> FloatArray:
        """Covariances of all rows with `others`, shape (rows, len(others))."""
        result: FloatArray = np.full((self._rows, len(others)), parameters.variance)
        for group in self._groups:
            (number, levels, codes), *further = group.levels
            table = parameters.factor(number, levels, others[:, number])[codes]
            for number, levels, codes in further:
                table *= parameters.factor(number, levels, others[:, number])[codes]
            result *= table[group.codes]
        return result


class Process:
    """The process given its values at some points."""

    def __init__(self, parameters: Hyperparameters, x: FloatArray, y: FloatArray) -> None:
        """Given `y`, shape (n,), at `x`, shape (n, D); n is at least 1."""
        self._parameters, self._x = parameters, x
        covariance = FactorRows(x).covariance(parameters, x)
        covariance[np.diag_indices_from(covariance)] += parameters.nugget**2 + _JITTER
        self._lower: FloatArray = cholesky(covariance, lower=True, check_finite=False)
        self._whitened = self._solve(y.copy())

    def predict(self, rows: FactorRows) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of y at each row, the single point's part included."""
        solved = self._solve(rows.covariance(self._parameters, self._x).T)
        rest = np.maximum(self._parameters.variance - np.einsum("ij,ij->j", solved, solved), 0.0)
        return self._whitened @ solved, np.sqrt(rest + self._parameters.nugget**2 + _JITTER)

    def _solve(self, right: FloatArray) -> FloatArray:
        solved = solve_triangular(
            self._lower, right, lower=True, overwrite_b=True, check_finite=False
        )
        return np.asarray(solved)
