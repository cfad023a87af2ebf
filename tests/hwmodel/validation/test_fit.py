"""The fit and its cross-validation: splits, the locked quarter, recovery of known constants."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Literal

import numpy as np
import pytest

from hwmodel.cost.constants import CONSTANT_NAMES, PipelineConstants
from hwmodel.cost.pipeline import PipelineEvaluator
from hwmodel.errors import InputError
from hwmodel.plan_batch import PlanBatch
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import load_hardware
from hwmodel.validation.calibrate import select_fit_rows
from hwmodel.validation.fit import (
    FOLDS,
    Choice,
    Parameter,
    bootstrap_constants,
    cross_validate,
    fit_constants,
    split_groups,
)
from hwmodel.validation.measured import load_measured
from hwmodel.validation.pipeline_fit import PIPELINE_FIT, PipelinePredictor

SPEC = load_hardware("ascend950pr-9589")
ROWS = select_fit_rows(load_measured())
CHEAP = replace(PIPELINE_FIT, held=CONSTANT_NAMES[2:], most_steps=5)
"""A fit of two constants."""


def test_no_locked_row_is_fitted() -> None:
    assert len(ROWS) == 68
    assert not any(row.locked for row in ROWS)
    with pytest.raises(InputError, match="locked"):
        fit_constants(PIPELINE_FIT, SPEC, load_measured())


def test_too_few_rows_are_an_error() -> None:
    with pytest.raises(InputError, match="3 rows cannot fit"):
        fit_constants(replace(PIPELINE_FIT, held=()), SPEC, ROWS[:3])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_folds_never_split_a_group(seed: int) -> None:
    folds = split_groups(ROWS, FOLDS, seed)
    assert sorted(np.concatenate(folds).tolist()) == list(range(len(ROWS)))
    groups = [{ROWS[place].group for place in fold} for fold in folds]
    assert sum(len(fold) for fold in groups) == len({row.group for row in ROWS})
    assert min(len(fold) for fold in groups) >= 6


def test_seeds_deal_differently() -> None:
    first, second = (split_groups(ROWS, FOLDS, seed) for seed in (0, 1))
    assert any(not np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_predictor_and_evaluator_agree() -> None:
    constants = PipelineConstants(hbm_read_ratio=1.1, l2_ratio=0.9)
    together = PipelinePredictor(SPEC, ROWS)(asdict(constants))
    evaluator = PipelineEvaluator(constants)
    one_by_one = [
        evaluator.estimate_us(row.problem, SPEC, PlanBatch.from_plans((row.plan,)))[0]
        for row in ROWS
    ]
    assert together == pytest.approx(one_by_one, rel=1e-12)


def test_known_constants_are_recovered() -> None:
    truth = PipelineConstants(
        hbm_read_ratio=0.9,
        l2_ratio=0.95,
        cube_efficiency_ratio=0.97,
        barrier_ratio=1.4,
        line_waste_ratio=0.6,
        overlap_loss_ratio=0.05,
    )
    times = PipelinePredictor(SPEC, ROWS)(asdict(truth))
    rows = [replace(row, duration_us=float(time)) for row, time in zip(ROWS, times, strict=True)]
    fitted = fit_constants(replace(PIPELINE_FIT, held=()), SPEC, rows)
    for name in CONSTANT_NAMES:
        assert fitted[name] == pytest.approx(getattr(truth, name), abs=0.02)


def test_cross_validation_is_reproducible() -> None:
    first, second = (
        cross_validate(CHEAP, SPEC, ROWS, folds=2, repeats=1, seed=3) for _ in range(2)
    )
    assert first.shape == (1, len(ROWS))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, cross_validate(CHEAP, SPEC, ROWS, folds=2, repeats=1, seed=4))


def test_a_held_constant_stays_at_its_start() -> None:
    fit = replace(PIPELINE_FIT, held=("hbm_read_ratio",))
    constants = fit_constants(fit, SPEC, ROWS)
    assert set(constants) == set(CONSTANT_NAMES)
    assert constants["hbm_read_ratio"] == 1.0
    assert constants["l2_ratio"] != 1.0


def test_a_strong_prior_keeps_a_constant_near_its_centre() -> None:
    def bound(error: float) -> float:
        parameters = tuple(
            replace(one, sigma=0.1 if one.name == "barrier_ratio" else None)
            for one in PIPELINE_FIT.list_parameters(SPEC)
        )
        fit = replace(PIPELINE_FIT, list_parameters=lambda _: parameters, prior_error=error)
        return fit_constants(fit, SPEC, ROWS)["barrier_ratio"]

    free, weak, strong = bound(0.0), bound(0.03), bound(10.0)
    assert free > weak > strong
    assert strong == pytest.approx(1.0, abs=0.01)


def test_the_bootstrap_scatters_about_the_fit() -> None:
    fitted = fit_constants(PIPELINE_FIT, SPEC, ROWS)
    first, second = (
        bootstrap_constants(PIPELINE_FIT, SPEC, ROWS, fitted, draws=2, seed=1) for _ in range(2)
    )
    assert first == second
    assert len(first) == 2
    barriers = [draw["barrier_ratio"] for draw in first]
    assert min(barriers) < max(barriers)
    assert barriers == pytest.approx([fitted["barrier_ratio"]] * 2, abs=0.2)


def test_processes_change_nothing() -> None:
    one, two = (
        cross_validate(CHEAP, SPEC, ROWS, folds=2, repeats=1, jobs=jobs) for jobs in (1, 2)
    )
    assert np.array_equal(one, two)


@pytest.mark.parametrize("loss", ["linear", "soft_l1"])
def test_a_choice_takes_the_value_that_the_rows_show(loss: Literal["linear", "soft_l1"]) -> None:
    choice = Choice(name=CHEAP.held[0], values=(0.9, 1.0, 1.1))
    fit = replace(CHEAP, held=CHEAP.held[1:], loss=loss, loss_scale=0.01)
    others = tuple(name for name in CONSTANT_NAMES if name != choice.name)
    fit = replace(fit, held=others[1:], choices=(choice,), list_parameters=_all_but(choice.name))
    truth = {**fit.held_constants(SPEC), others[0]: 1.02, choice.name: 1.1}
    times = PipelinePredictor(SPEC, ROWS)(truth)
    rows = [replace(row, duration_us=float(time)) for row, time in zip(ROWS, times, strict=True)]
    fitted = fit_constants(fit, SPEC, rows)
    assert fitted[choice.name] == truth[choice.name]
    assert fitted[others[0]] == pytest.approx(truth[others[0]], abs=0.01)
    # A fit that starts from other constants does not go through the first values.
    again = fit_constants(fit, SPEC, rows, start=fitted)
    assert again[choice.name] == truth[choice.name]


def _all_but(name: str) -> Callable[[HardwareSpec], tuple[Parameter, ...]]:
    def list_parameters(spec: HardwareSpec) -> tuple[Parameter, ...]:
        return tuple(one for one in PIPELINE_FIT.list_parameters(spec) if one.name != name)

    return list_parameters
