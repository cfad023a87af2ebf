"""`tpe`, `nsga2`, `cmaes` and `prior`: samplers of Optuna's, and the project's own, as strategies.

Optuna's suggest a value for each factor; the nearest legal point that was not asked before is what
gets evaluated, and its own factors are what the sampler learns. So no illegal point and no
repetition is ever evaluated, and nothing of what the sampler is told is untrue.
"""

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, CmaEsSampler, NSGAIISampler, TPESampler
from optuna.trial import Trial, TrialState

from studies.strategies.nearest import FactorGrid
from studies.strategies.points import FloatArray, Indices, PointSpace
from studies.strategies.prior_sampler import POINT, PriorSampler
from studies.strategies.protocol import TakenPoints, Times, Turn

STARTUP_TRIALS = 10
"""Random suggestions before TPE's estimator is used: Optuna's default, fixed here for
repeatability."""
POPULATION = 20
"""Population of NSGA-II: of 500 evaluations Optuna's default of 50 leaves ten generations, too few
(frozen benchmark)."""


def _create_study(sampler: BaseSampler) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(sampler=sampler, direction="minimize")


class OptunaStrategy:
    """A sampler over the factors of the points."""

    def __init__(self, space: PointSpace, sampler: BaseSampler) -> None:
        """A study of its own, kept in memory; `space` is not empty."""
        self._grid = FactorGrid(space)
        self._taken = TakenPoints(len(space))
        self._turn = Turn()
        self._study = _create_study(sampler)
        self._batch: list[tuple[Trial, int]] = []

    def observe(self, index: int, time_us: float) -> None:
        """Never ask this point. TPE learns from it; to a population it does not belong."""
        self._taken.take(index)
        self._learn(index, time_us)

    def ask(self, count: int) -> Indices:
        """The sampler's suggestions, each moved to the nearest legal point not asked before."""
        for _ in range(self._turn.open(count, self._taken.left)):
            trial = self._study.ask(self._grid.distributions)
            index = self._grid.nearest_free(trial.params, self._taken)
            self._taken.take(index)
            self._batch.append((trial, index))
        return np.array([index for _, index in self._batch], dtype=np.int64)

    def tell(self, times_us: Times) -> None:
        """Learn the times of the batch."""
        self._turn.close(times_us)
        for (trial, index), time_us in zip(self._batch, times_us, strict=True):
            if trial.params == self._grid.params(index):
                self._study.tell(trial, float(time_us))
            else:
                self._study.tell(trial, state=TrialState.FAIL)
                self._learn(index, float(time_us), trial)
        self._batch.clear()

    def _learn(self, index: int, time_us: float, moved: Trial | None = None) -> None:
        """Add a trial at the point, with the sampler's notes on the suggestion it stems from."""
        notes: dict[str, object] = {}
        if moved is not None:
            notes = dict(self._study.get_trials(deepcopy=False)[moved.number].system_attrs)
        self._study.add_trial(
            optuna.trial.create_trial(
                params=self._grid.params(index),
                distributions=self._grid.distributions,
                value=time_us,
                system_attrs=notes,
            )
        )


class PriorStrategy:
    """The project's sampler, which suggests points."""

    def __init__(self, space: PointSpace, seed: int, ranking: FloatArray | None = None) -> None:
        """`ranking` is another model's prediction for every point, if there is one."""
        sampler = PriorSampler(space, seed=seed, ranking=ranking)
        self._distributions: dict[str, BaseDistribution] = {POINT: sampler.distribution}
        self._taken = TakenPoints(len(space))
        self._turn = Turn()
        self._study = _create_study(sampler)
        self._batch: list[Trial] = []

    def observe(self, index: int, time_us: float) -> None:
        """Learn from this point and never ask it."""
        self._taken.take(index)
        self._study.add_trial(
            optuna.trial.create_trial(
                params={POINT: index}, distributions=self._distributions, value=time_us
            )
        )

    def ask(self, count: int) -> Indices:
        """The points of which the model expects most; within a batch it knows no new time."""
        asked = []
        for _ in range(self._turn.open(count, self._taken.left)):
            trial = self._study.ask(self._distributions)
            index = int(trial.params[POINT])
            self._taken.take(index)
            self._batch.append(trial)
            asked.append(index)
        return np.array(asked, dtype=np.int64)

    def tell(self, times_us: Times) -> None:
        """Learn the times of the batch."""
        self._turn.close(times_us)
        for trial, time_us in zip(self._batch, times_us, strict=True):
            self._study.tell(trial, float(time_us))
        self._batch.clear()


def build_tpe(space: PointSpace, seed: int) -> OptunaStrategy:
    """TPE with multivariate kernels; points of a batch count as bad (constant liar)."""
    sampler = TPESampler(
        seed=seed, multivariate=True, constant_liar=True, n_startup_trials=STARTUP_TRIALS
    )
    return OptunaStrategy(space, sampler)


def build_nsga2(space: PointSpace, seed: int) -> OptunaStrategy:
    """The genetic algorithm NSGA-II, here with one objective."""
    return OptunaStrategy(space, NSGAIISampler(seed=seed, population_size=POPULATION))


def build_cmaes(space: PointSpace, seed: int) -> OptunaStrategy:
    """CMA-ES on the ranks of the factors; needs the package `cmaes`."""
    return OptunaStrategy(space, CmaEsSampler(seed=seed, warn_independent_sampling=False))
