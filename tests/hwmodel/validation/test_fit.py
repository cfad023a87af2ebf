"""The fit and its cross-validation: splits, the locked quarter, recovery of known constants."""

from dataclasses import replace

import numpy as np
import pytest

from hwmodel.cost.constants import CONSTANT_NAMES, PipelineConstants
from hwmodel.cost.pipeline import PipelineEvaluator
from hwmodel.errors import InputError
from hwmodel.plan_batch import PlanBatch
from hwmodel.spec_io import load_hardware
from hwmodel.validation.calibrate import select_fit_rows
from hwmodel.validation.fit import FOLDS, RowPredictor, cross_validate, fit_constants, split_groups
from hwmodel.validation.measured import load_measured

SPEC = load_hardware("ascend950pr-9589")
ROWS = select_fit_rows(load_measured())


def test_no_locked_row_is_fitted() -> None:
    assert len(ROWS) == 68
    assert not any(row.locked for row in ROWS)
    with pytest.raises(InputError, match="locked"):
        fit_constants(SPEC, load_measured())


def test_too_few_rows_are_an_error() -> None:
    with pytest.raises(InputError, match="3 rows cannot fit"):
        fit_constants(SPEC, ROWS[:3])


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
    together = RowPredictor(SPEC, ROWS).predict_us(constants)
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
        mte2_port_ratio=0.8,
        cube_efficiency_ratio=0.97,
        barrier_ratio=1.4,
        line_waste_ratio=0.6,
        overlap_loss_ratio=0.05,
    )
    times = RowPredictor(SPEC, ROWS).predict_us(truth)
    rows = [replace(row, duration_us=float(time)) for row, time in zip(ROWS, times, strict=True)]
    fitted = fit_constants(SPEC, rows)
    for name in CONSTANT_NAMES:
        assert getattr(fitted, name) == pytest.approx(getattr(truth, name), abs=0.02)


def test_cross_validation_is_reproducible() -> None:
    first, second = (cross_validate(SPEC, ROWS, folds=2, repeats=1, seed=3) for _ in range(2))
    assert first.shape == (1, len(ROWS))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, cross_validate(SPEC, ROWS, folds=2, repeats=1, seed=4))
