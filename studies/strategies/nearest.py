"""The way between the factors of a space, as Optuna's samplers suggest them, and its points."""

from collections.abc import Mapping

import numpy as np
from optuna.distributions import BaseDistribution, IntDistribution

from studies.strategies.points import Indices, PointSpace
from studies.strategies.protocol import TakenPoints

COMPARED_COMPLETELY = 100_000
"""Points of a space up to which a suggestion is compared with every one of them."""
_POOL = 20_000
"""Points of a larger space that it is compared with; steps to neighbours lead nearer then."""
_POOL_SEED = 0
"""The pool is the same in every search."""


class FactorGrid:
    """The factors of a space as parameters: each is the rank of its value, from 0.

    A suggestion may be no point, or a taken one: then the free point nearest to it stands for it.
    The distance is the sum over the factors of the difference in rank, over the largest there is.
    """

    def __init__(self, space: PointSpace) -> None:
        """The factors of a space that is not empty."""
        self._space = space
        self._reach = np.array([max(len(values) - 1, 1) for values in space.values])
        self.distributions: dict[str, BaseDistribution] = {
            name: IntDistribution(0, len(values) - 1)
            for name, values in zip(space.names, space.values, strict=True)
        }
        size = len(space)
        self._complete = size <= COMPARED_COMPLETELY
        self._pool: Indices = np.arange(size, dtype=np.int64)
        if not self._complete:
            rng = np.random.default_rng(_POOL_SEED)
            self._pool = np.sort(rng.choice(size, size=_POOL, replace=False))
        self._pool_ranks = self._ranks(self._pool)

    def params(self, index: int) -> dict[str, int]:
        """The factors of a point."""
        ranks = self._ranks(np.array([index], dtype=np.int64))[0]
        return dict(zip(self._space.names, ranks.tolist(), strict=True))

    def nearest_free(self, params: Mapping[str, int], taken: TakenPoints) -> int:
        """The free point nearest to a suggestion, the first of several; there must be a free one.

        In a large space it is the nearest that steps from a sample lead to.
        """
        wanted = np.array([params[name] for name in self._space.names])
        free = taken.free(self._pool)
        if not free.any():
            return next(index for index in range(taken.size) if index not in taken)
        distance = np.where(free, self._distance(self._pool_ranks, wanted), np.inf)
        row = int(np.argmin(distance))
        index, least = int(self._pool[row]), float(distance[row])
        while not self._complete:
            around = self._space.neighbours(index)
            around = around[taken.free(around)]
            distance = self._distance(self._ranks(around), wanted)
            if not len(around) or distance.min() >= least:
                break
            row = int(np.argmin(distance))
            index, least = int(around[row]), float(distance[row])
        return index

    def _ranks(self, indices: Indices) -> Indices:
        factors = self._space.factors(indices)
        columns = [
            np.searchsorted(values, column)
            for values, column in zip(self._space.values, factors.T, strict=True)
        ]
        return np.stack(columns, axis=1).astype(np.int64)

    def _distance(self, ranks: Indices, wanted: Indices) -> np.typing.NDArray[np.float64]:
        distance: np.typing.NDArray[np.float64] = (np.abs(ranks - wanted) / self._reach).sum(
            axis=1
        )
        return distance
