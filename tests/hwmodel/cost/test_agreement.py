"""A small fixed sample of `tests.bench.agreement`: pipeline model against emulator.

The bounds are what the whole comparison shows, rounded up, not what one would wish.
"""

import numpy as np
import pytest

from hwmodel.cost.evaluators import select_evaluator
from hwmodel.plan_batch import PlanBatch
from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware
from tests.bench.agreement import emulator_timer
from tests.bench.agreement_samples import GROUPS, count_events, template_samples

PLANS = 45
MAX_MEAN_EVENTS = 50_000
"""Problems whose plans have more events on average take too long for a test."""

MEDIAN_ERROR = 0.03
"""The aim for the whole comparison; every template keeps it."""

P90_ERROR = 0.12
"""The 95th percentile over templates is 8 to 15 % in the whole comparison."""


@pytest.mark.parametrize("group", GROUPS)
def test_model_agrees_with_emulator_on_random_plans_of_every_template(group: str) -> None:
    spec = load_hardware(DEFAULT_HARDWARE)
    evaluator, timer = select_evaluator("pipeline"), emulator_timer(spec)
    errors: list[float] = []
    for sample in template_samples(spec, group, plans=PLANS, seed=3):
        plans = PlanBatch.from_plans(sample.plans)
        if count_events(sample.problem, plans).mean() > MAX_MEAN_EVENTS:
            continue
        predicted = evaluator.estimate_us(sample.problem, spec, plans)
        emulated = [timer(sample.problem, plan) for plan in sample.plans]
        errors.extend(np.abs(predicted / np.array(emulated) - 1))
    assert len(errors) > PLANS / 2
    assert np.median(errors) < MEDIAN_ERROR
    assert np.percentile(errors, 90) < P90_ERROR
