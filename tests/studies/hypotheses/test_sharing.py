"""H5 (b) and (c): what sharing changes, and that locked rows stay locked."""

import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from hwmodel.cost.evaluators import select_evaluator
from hwmodel.emulator.spec_constants import constants_from_spec
from hwmodel.plan import KernelPlan, Template
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import load_hardware
from hwmodel.validation.emulator_fit import EMULATOR_FIT
from hwmodel.validation.fit import ModelFit
from hwmodel.validation.measured import MeasuredRow
from studies.hypotheses import sharing
from studies.hypotheses.h5_sharing import is_output_heavy
from studies.hypotheses.sharing import measure_sharing_errors, stop_sharing

SPEC = load_hardware("ascend950pr-9589")


@pytest.mark.parametrize("name", ["pipeline", "emulator"])
def test_a_kernel_that_writes_beyond_l2_is_faster_without_sharing(name: str) -> None:
    problem = GemmProblem(m=16384, k=64, n=16384)
    plan = KernelPlan(
        template=Template.ASWT, base_m=256, base_n=256, base_k=64, step_k=1, single_core_k=64,
        used_core_num=32,
    )  # fmt: skip
    plans = PlanBatch.from_plans([plan])
    evaluator = select_evaluator(name)
    shared = evaluator.estimate_us(problem, SPEC, plans)
    alone = evaluator.estimate_us(problem, stop_sharing(SPEC), plans)
    assert alone < shared


def test_without_a_calibration_nothing_changes() -> None:
    bare = replace(SPEC, calibrations={})
    assert stop_sharing(bare) == bare
    assert measure_sharing_errors(bare) == ()


def test_a_chip_that_was_not_measured_has_no_errors() -> None:
    assert measure_sharing_errors(load_hardware("ascend950dt-9581")) == ()


def test_errors_are_those_of_the_domains_rows_and_never_of_locked_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[MeasuredRow] = []

    def fake_fit(
        fit: ModelFit, spec: HardwareSpec, rows: Sequence[MeasuredRow]
    ) -> dict[str, float]:
        seen.extend(rows)
        held = fit.held_constants(spec)
        return held | {one.name: one.start for one in fit.free_parameters(spec)}

    def fake_validate(
        fit: ModelFit, spec: HardwareSpec, rows: Sequence[MeasuredRow], *, jobs: int
    ) -> NDArray[np.float64]:
        constants = fit.held_constants(spec)
        error = 1.1 if constants.get("hbm_writes_alone") else 1.02
        return np.array([[row.duration_us * error for row in rows]])

    monkeypatch.setattr(sharing, "fit_constants", fake_fit)
    monkeypatch.setattr(sharing, "cross_validate", fake_validate)
    alone, shared = measure_sharing_errors(SPEC)
    assert (alone.shares, shared.shares) == (False, True)
    assert alone.mean_ape == pytest.approx(0.1)
    assert shared.p90_ape == pytest.approx(0.02)
    assert not any(row.locked for row in seen)
    heavy = {row.index for row in seen if is_output_heavy(row.problem)}
    assert alone.rows == shared.rows == len(heavy) > 0
    assert "hbm_writes_alone" not in alone.constants
    assert len(alone.values) == len(alone.constants) > 0


def test_the_switch_is_a_constant_of_the_emulator() -> None:
    assert constants_from_spec(SPEC).hbm_writes_alone == 0
    assert constants_from_spec(stop_sharing(SPEC)).hbm_writes_alone == 1


def test_the_fit_without_sharing_goes_to_other_processes() -> None:
    fit = pickle.loads(pickle.dumps(sharing._fit_alone(EMULATOR_FIT)))
    names = [one.name for one in EMULATOR_FIT.list_parameters(SPEC)]
    assert [one.name for one in fit.list_parameters(SPEC)] == [*names, "hbm_writes_alone"]
    assert fit.free_parameters(SPEC) == EMULATOR_FIT.free_parameters(SPEC)
