"""The Gaussian process: gradient, known cases, and what it learns of made-up functions."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from studies.strategies import gaussian_process
from studies.strategies.gaussian_process import (
    FactorRows,
    FloatArray,
    Hyperparameters,
    Process,
    fit_hyperparameters,
    prior_centre,
)

RNG_SEED = 3


def grid_points(count: int, dimensions: int = 3, levels: int = 5) -> FloatArray:
    rng = np.random.default_rng(RNG_SEED)
    every = np.indices((levels,) * dimensions).reshape(dimensions, -1).T / (levels - 1)
    rows = rng.choice(len(every), size=count, replace=False)
    picked: FloatArray = every[rows]
    return picked


def slow_covariance(
    parameters: Hyperparameters, left: FloatArray, right: FloatArray
) -> FloatArray:
    """The formula of the module's notation, element by element."""
    result = np.empty((len(left), len(right)))
    for i, x in enumerate(left):
        for j, z in enumerate(right):
            value = parameters.variance
            for d in range(len(x)):
                scaled = 3**0.5 * abs(x[d] - z[d]) / parameters.lengths[d]
                share = parameters.shares[d]
                c = (1 - share) * (1 + scaled) * np.exp(-scaled) + share * (x[d] == z[d])
                value *= (1 + parameters.weights[d] * c) / (1 + parameters.weights[d])
            result[i, j] = value
    return result


def make_parameters(dimensions: int = 3, **changes: float) -> Hyperparameters:
    vector = prior_centre(dimensions) + np.linspace(-0.5, 0.5, 3 * dimensions + 2)
    parameters = Hyperparameters.from_vector(vector)
    return Hyperparameters(
        lengths=parameters.lengths,
        weights=parameters.weights,
        shares=parameters.shares,
        variance=changes.get("variance", parameters.variance),
        nugget=changes.get("nugget", parameters.nugget),
    )


@pytest.mark.parametrize("most_combinations", [1, 4, 1024])
def test_covariances_are_those_of_the_formula(
    monkeypatch: pytest.MonkeyPatch, most_combinations: int
) -> None:
    monkeypatch.setattr(FactorRows, "_MOST_COMBINATIONS", most_combinations)
    points, parameters = grid_points(20), make_parameters()
    found = FactorRows(points).covariance(parameters, points[:7])
    np.testing.assert_allclose(found, slow_covariance(parameters, points, points[:7]))


def test_the_gradient_is_the_derivative() -> None:
    points = grid_points(15)
    posterior = gaussian_process._Posterior(points, np.sin(points @ [1.0, 2.0, 3.0]))
    vector = prior_centre(3) + np.linspace(-0.4, 0.6, 11)

    def value(vector: FloatArray) -> float:
        return posterior(vector)[0]

    def gradient(vector: FloatArray) -> FloatArray:
        return posterior(vector)[1]

    assert check_grad(value, gradient, vector) < 1e-4


def test_a_matrix_that_is_not_positive_definite_is_no_error() -> None:
    posterior = gaussian_process._Posterior(np.zeros((60, 1)), np.ones(60))
    vector = prior_centre(1)
    vector[-2], vector[-1] = 60.0, -60.0
    value, gradient = posterior(vector)
    assert value == gaussian_process._FAILED
    assert not gradient.any()


def test_the_prediction_is_the_conditional_distribution() -> None:
    points, parameters = grid_points(12), make_parameters(nugget=0.3)
    known, asked = points[:8], points[8:]
    y = np.arange(8.0)
    noise = parameters.nugget**2
    inverse = np.linalg.inv(slow_covariance(parameters, known, known) + noise * np.eye(8))
    cross = slow_covariance(parameters, asked, known)
    mean, deviation = Process(parameters, known, y).predict(FactorRows(asked))
    np.testing.assert_allclose(mean, cross @ inverse @ y, atol=1e-6)
    variance = parameters.variance + noise - np.einsum("ij,jk,ik->i", cross, inverse, cross)
    np.testing.assert_allclose(deviation, np.sqrt(variance), atol=1e-6)


def test_it_learns_a_sum_of_effects() -> None:
    points = grid_points(100)
    y = np.cos(3 * points[:, 0]) + points[:, 1] * points[:, 2]
    y = (y - y.mean()) / y.std()
    parameters = fit_hyperparameters(points[:60], y[:60])
    mean, _ = Process(parameters, points[:60], y[:60]).predict(FactorRows(points[60:]))
    assert np.abs(mean - y[60:]).mean() < 0.1


def test_it_tells_single_points_that_stand_out_from_levels_that_do() -> None:
    points = grid_points(100)
    rng = np.random.default_rng(RNG_SEED)
    scattered = fit_hyperparameters(points, points[:, 0] + rng.normal(scale=0.3, size=100))
    level = fit_hyperparameters(points, points[:, 0] + 2.0 * (points[:, 1] == 0.5))
    assert scattered.nugget > 0.2
    assert level.nugget < 0.1
    assert level.shares[1] > level.shares[[0, 2]].max()
