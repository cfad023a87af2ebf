"""`PriorSampler` as an Optuna user meets it."""

import warnings

import numpy as np
import optuna
import pytest
from optuna.trial import Trial, TrialState

from studies.strategies.prior_sampler import POINT, PriorSampler
from tests.studies.test_prior_search import SPACE, TIMES

optuna.logging.set_verbosity(optuna.logging.WARNING)


def make_study() -> optuna.Study:
    return optuna.create_study(sampler=PriorSampler(SPACE, seed=0))


def time_of(trial: Trial) -> float:
    return float(TIMES[trial.suggest_int(POINT, 0, len(SPACE) - 1)])


def points_of(study: optuna.Study) -> list[int]:
    return [trial.params[POINT] for trial in study.trials]


def test_a_study_finds_the_best() -> None:
    study = make_study()
    study.optimize(time_of, n_trials=40)
    assert study.best_params == {POINT: int(TIMES.argmin())}
    assert len(set(points_of(study))) == 40


def test_the_sampler_suggests_the_point_itself() -> None:
    sampler = PriorSampler(SPACE, seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: float(TIMES[sampler.suggest(trial)]), n_trials=3)
    assert len(set(points_of(study))) == 3


def test_maximising_goes_the_other_way() -> None:
    study = optuna.create_study(sampler=PriorSampler(SPACE, seed=0), direction="maximize")
    study.optimize(time_of, n_trials=40)
    assert study.best_value >= np.sort(TIMES)[-3]


def test_a_stored_study_goes_on_alike() -> None:
    whole = make_study()
    whole.optimize(time_of, n_trials=24)
    storage = optuna.storages.InMemoryStorage()
    for _ in range(2):  # the second time with a new sampler
        again = optuna.create_study(
            storage=storage,
            study_name="x",
            sampler=PriorSampler(SPACE, seed=0),
            load_if_exists=True,
        )
        again.optimize(time_of, n_trials=12)
    assert points_of(again) == points_of(whole)


def test_failed_pruned_and_infinite_trials_are_not_repeated() -> None:
    def objective(trial: Trial) -> float:
        time = time_of(trial)
        if trial.number % 4 == 1:
            raise optuna.TrialPruned
        if trial.number % 4 == 2:
            raise ArithmeticError
        return np.inf if trial.number % 4 == 3 else time

    study = make_study()
    study.optimize(objective, n_trials=len(SPACE), catch=(ArithmeticError,))
    assert sorted(points_of(study)) == list(range(len(SPACE)))
    assert {trial.state for trial in study.trials} == {
        TrialState.COMPLETE,
        TrialState.PRUNED,
        TrialState.FAIL,
    }


def test_threads_are_not_handed_the_same_point() -> None:
    study = make_study()
    study.optimize(time_of, n_trials=24, n_jobs=4)
    assert len(set(points_of(study))) == 24


def test_an_exhausted_space_is_an_error() -> None:
    study = make_study()
    for index in range(len(SPACE)):
        study.add_trial(
            optuna.trial.create_trial(
                params={POINT: index},
                distributions={POINT: PriorSampler(SPACE, seed=0).distribution},
                value=float(TIMES[index]),
            )
        )
    with pytest.raises(ValueError, match="all 120 points are taken"):
        study.optimize(time_of, n_trials=1)


def test_trials_without_a_point_and_other_parameters_do_no_harm() -> None:
    study = make_study()
    study.add_trial(optuna.trial.create_trial(params={}, distributions={}, value=1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.optimize(lambda trial: time_of(trial) + trial.suggest_float("x", 0, 1), n_trials=3)
    assert all(0 <= trial.params["x"] <= 1 for trial in study.trials[1:])


def test_several_objectives_are_refused() -> None:
    study = optuna.create_study(directions=["minimize"] * 2, sampler=PriorSampler(SPACE, seed=0))
    with pytest.raises(ValueError, match="multi-objective"):
        study.ask({POINT: PriorSampler(SPACE, seed=0).distribution})
