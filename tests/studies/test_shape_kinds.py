"""The kinds that the quick list and the domain lists name are those the baseline really takes."""

from collections.abc import Mapping

import pytest

from baseline.decision import decide
from hwmodel.cost.roofline import compute_roofline_us
from hwmodel.dtypes import DType
from hwmodel.plan import L0cOutput, Template
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware
from hwmodel.validation.classes import ErrorClass, select_error_class
from studies.shape_rows import BUNDLED_DIRECTORY, ShapeRow, load_shapes
from studies.shapes.kinds import Kind

VENDOR_STRATEGIES: Mapping[Kind, str] = {Kind.STREAM_K: "BASIC_STREAM_K"}
TEMPLATES: Mapping[Kind, Template] = {
    Kind.STREAM_K: Template.STREAM_K,
    Kind.A_FULL: Template.A_FULL,
    Kind.B_FULL: Template.B_FULL,
}
ERROR_CLASSES: Mapping[Kind, ErrorClass] = {
    Kind.SMALL: ErrorClass.SMALL,
    Kind.STREAM_K: ErrorClass.STREAM_K,
    Kind.COMPUTE_BOUND: ErrorClass.COMPUTE_BOUND,
    Kind.READ_BOUND: ErrorClass.READ_BOUND,
    Kind.OUTPUT_HEAVY: ErrorClass.OUTPUT_HEAVY,
    Kind.GEMV: ErrorClass.READ_BOUND,
    Kind.TRANSPOSED: ErrorClass.COMPUTE_BOUND,
}


def bundled(name: str) -> tuple[ShapeRow, ...]:
    return load_shapes(BUNDLED_DIRECTORY / f"{name}.csv")


QUICK = {Kind(row.tag): row.problem for row in bundled("quick")}


@pytest.fixture(scope="module")
def spec() -> HardwareSpec:
    return load_hardware(DEFAULT_HARDWARE)


@pytest.mark.parametrize("kind", Kind)
def test_the_baseline_takes_the_path_of_the_kind(kind: Kind, spec: HardwareSpec) -> None:
    decision = decide(QUICK[kind], spec)
    assert decision.strategy == VENDOR_STRATEGIES.get(kind, "BASIC_ASWT")
    assert decision.plan.template is TEMPLATES.get(kind, Template.ASWT)
    uses_fixpipe = decision.plan.l0c_output is L0cOutput.FIXPIPE
    assert uses_fixpipe == (kind is Kind.FIXPIPE)


@pytest.mark.parametrize("kind", ERROR_CLASSES)
def test_the_error_class_is_that_of_the_kind(kind: Kind, spec: HardwareSpec) -> None:
    # The roofline time is the least that is possible: it decides the class on its own, far from
    # the edges between the classes.
    problem = QUICK[kind]
    plan = decide(problem, spec).plan
    time_us = compute_roofline_us(problem, spec)
    assert select_error_class(problem, plan, time_us, spec) is ERROR_CLASSES[kind]


def test_kinds_that_sizes_and_types_define() -> None:
    assert QUICK[Kind.GEMV].m == 1
    assert QUICK[Kind.FP32].dtype is QUICK[Kind.FP32].out_dtype is DType.FP32
    transposed = QUICK[Kind.TRANSPOSED]
    assert (transposed.trans_a, transposed.trans_b) == (True, False)
    ragged = QUICK[Kind.RAGGED]
    for size in (ragged.m, ragged.k, ragged.n):
        assert all(size % divisor for divisor in range(2, size))


def test_all_of_h4_is_in_the_domain_of_the_hypothesis(spec: HardwareSpec) -> None:
    # Domain: BASIC_ASWT without A full load (specification: studies.md, Hypotheses).
    plans = [decide(row.problem, spec).plan for row in bundled("h4")]
    assert all(plan.template in (Template.ASWT, Template.B_FULL) for plan in plans)
    # Some rows use the fixpipe path today, the others are those where the claim would change it.
    fixpipe = sum(plan.l0c_output is L0cOutput.FIXPIPE for plan in plans)
    assert 0 < fixpipe < len(plans)
