"""`tpe`: Optuna's tree-structured Parzen estimator over the factors of a plan.

Optuna suggests a value for each factor (base_m, base_n, base_k, step_k, db_l0c, window, template);
the nearest legal point that was not asked before is what gets evaluated, and its own factors are
what Optuna learns. So no illegal point and no repetition is ever evaluated, and nothing of what
the sampler is told is untrue.
"""

from collections.abc import Mapping

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.trial import Trial, TrialState

from studies.space import TileSpace
from studies.strategies.protocol import Indices, TakenPoints, Times, Turn
from studies.vendor_columns import IntColumn

STARTUP_TRIALS = 10
"""Random suggestions before the estimator is used: Optuna's default, fixed here for
repeatability."""


class TpeStrategy:
    """TPE with multivariate kernels; points of a batch count as bad (constant liar)."""

    def __init__(self, space: TileSpace, seed: int) -> None:
        """A study of its own, kept in memory."""
        self._factors = PlanFactors(space)
        self._taken = TakenPoints(len(space))
        self._turn = Turn()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(
            seed=seed, multivariate=True, constant_liar=True, n_startup_trials=STARTUP_TRIALS
        )
        self._study = optuna.create_study(sampler=sampler, direction="minimize")
        self._batch: list[tuple[Trial, int]] = []

    def observe(self, index: int, time_us: float) -> None:
        """Learn from this point and never ask it."""
        self._taken.take(index)
        self._learn(index, time_us)

    def ask(self, count: int) -> Indices:
        """The sampler's suggestions, each moved to the nearest legal point not asked before."""
        for _ in range(self._turn.open(count, self._taken.left)):
            trial = self._study.ask(self._factors.distributions)
            index = self._nearest_free(self._factors.nearest_index(trial.params))
            self._taken.take(index)
            self._batch.append((trial, index))
        return np.array([index for _, index in self._batch], dtype=np.int64)

    def tell(self, times_us: Times) -> None:
        """Learn the times of the batch."""
        self._turn.close(times_us)
        for (trial, index), time_us in zip(self._batch, times_us, strict=True):
            if trial.params == self._factors.params(index):
                self._study.tell(trial, float(time_us))
            else:
                self._study.tell(trial, state=TrialState.FAIL)
                self._learn(index, float(time_us))
        self._batch.clear()

    def _learn(self, index: int, time_us: float) -> None:
        self._study.add_trial(
            optuna.trial.create_trial(
                params=self._factors.params(index),
                distributions=self._factors.distributions,
                value=time_us,
            )
        )

    def _nearest_free(self, index: int) -> int:
        """The free point nearest in number: of the same tile and base_k, if there is one."""
        distance = 0
        while True:
            for candidate in (index - distance, index + distance):
                if 0 <= candidate < self._taken.size and candidate not in self._taken:
                    return candidate
            distance += 1


class PlanFactors:
    """The factors of a space's points: their ranges, and the way from values to points and back.

    base_m, base_n and base_k are ranks among the values that occur; step_k is itself; the window
    is its place in the order of `studies.windows`.
    """

    def __init__(self, space: TileSpace) -> None:
        """The factors of a space that is not empty."""
        self._space = space
        cells = space.cells
        columns: dict[str, IntColumn] = {
            "template": space.template,
            "base_m": cells.base_m,
            "base_n": cells.base_n,
            "db_l0c": cells.db_l0c,
            "base_k": cells.base_k,
        }
        self._ranks: dict[str, IntColumn] = {}
        self.distributions: dict[str, BaseDistribution] = {}
        for name, column in columns.items():
            values, ranks = np.unique(column, return_inverse=True)
            self._ranks[name] = ranks.astype(np.int64)
            self.distributions[name] = IntDistribution(0, max(len(values) - 1, 0))
        last_step = int((cells.first_step + cells.step_count - 1).max(initial=1))
        windows = int(cells.window_count.max(initial=1))
        self.distributions["step_k"] = IntDistribution(1, last_step, log=True)
        self.distributions["window"] = CategoricalDistribution(range(windows))

    def params(self, index: int) -> dict[str, int]:
        """The factors of a point."""
        cells = self._space.cells
        cell = int(np.searchsorted(self._space.ends, index, side="right"))
        windows, steps = int(cells.window_count[cell]), int(cells.step_count[cell])
        position = index - (int(self._space.ends[cell]) - windows * steps)
        factors = {name: int(ranks[cell]) for name, ranks in self._ranks.items()}
        factors["step_k"] = int(cells.first_step[cell]) + position // windows
        factors["window"] = position % windows
        return factors

    def nearest_index(self, params: Mapping[str, int]) -> int:
        """The legal point nearest to the given factors, the earlier factors weighing more."""
        candidates = np.arange(len(self._space.cells))
        for name, ranks in self._ranks.items():
            distance = np.abs(ranks[candidates] - params[name])
            candidates = candidates[distance == distance.min()]
        cell = int(candidates[0])
        cells = self._space.cells
        windows, steps = int(cells.window_count[cell]), int(cells.step_count[cell])
        step = min(max(params["step_k"] - int(cells.first_step[cell]), 0), steps - 1)
        window = params["window"] % windows
        return int(self._space.ends[cell]) - windows * steps + step * windows + window
