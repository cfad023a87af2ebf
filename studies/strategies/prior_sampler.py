"""`PriorSampler`: an Optuna sampler for a space of numbered points.

    sampler = PriorSampler(space, seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: time_us(sampler.suggest(trial)), n_trials=100)

It suggests one parameter, the number of a point, never the same twice, and needs few evaluations:
see `prior_search` and `surrogate`. A study that is loaded from a storage and gets a new sampler of
the same seed goes on as if never interrupted, as long as its trials ended one after the other.
"""

import math
import threading
from typing import Any

from optuna.distributions import BaseDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState

from studies.strategies.points import FloatArray, PointSpace
from studies.strategies.prior_search import Evaluation, PriorSearch

POINT = "point"
"""Name of the parameter."""


class PriorSampler(BaseSampler):
    """Suggests the number of the point of which a model of the finished trials expects most.

    Running trials count as if they came out as expected, failed and pruned ones and infinite
    values as points to leave alone. When all points are taken, `sample_relative` raises
    `prior_search.ExhaustedError`.
    """

    def __init__(self, space: PointSpace, *, seed: int, ranking: FloatArray | None = None) -> None:
        """A sampler for the points of `space`, which is not empty.

        Args:
            space: the points.
            seed: of the first points and of what is looked at in a large space.
            ranking: another model's prediction for every point, positive and, for the same units,
                about as large as the values; then the search starts from it.
        """
        self.distribution = IntDistribution(0, len(space) - 1)
        self._search = PriorSearch(space, seed, ranking)
        self._others = RandomSampler(seed=seed)
        self._lock = threading.Lock()
        self._handed_out: dict[int, int] = {}

    def suggest(self, trial: Trial) -> int:
        """The number of the point that `trial` shall evaluate."""
        return trial.suggest_int(POINT, self.distribution.low, self.distribution.high)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """The number of a point."""
        return {POINT: self.distribution}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The number of the next point.

        Raises:
            ExhaustedError: every point was suggested.
            ValueError: the study has several objectives.
        """
        self._raise_error_if_multi_objective(study)
        sign = -1.0 if study.direction is StudyDirection.MAXIMIZE else 1.0
        with self._lock:  # threads of one study must not be handed the same point
            index = self._choose(study.get_trials(deepcopy=False), sign)
            self._handed_out[trial.number] = index
        return {POINT: index}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Any other parameter, at random."""
        return self._others.sample_independent(study, trial, param_name, param_distribution)

    def _choose(self, trials: list[FrozenTrial], sign: float) -> int:
        history: dict[int, float] = {}
        pending: list[int] = []
        failed: list[int] = []
        for trial in trials:
            running = trial.state is TrialState.RUNNING
            index = trial.params.get(
                POINT, self._handed_out.get(trial.number) if running else None
            )
            if index is None:
                continue
            if running:
                pending.append(index)
            elif trial.state is TrialState.COMPLETE and math.isfinite(value := trial.values[0]):
                history.setdefault(index, sign * value)
            else:
                failed.append(index)
        evaluations = [Evaluation(index=index, value=value) for index, value in history.items()]
        return self._search.choose(evaluations, pending, failed)
