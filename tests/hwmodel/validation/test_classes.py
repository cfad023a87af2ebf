"""Error classes of kernels, first match in the order of the specification."""

from dataclasses import replace

import pytest

from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from hwmodel.validation.classes import (
    ErrorClass,
    compute_mmad_chain_cycles,
    select_error_class,
)

SPEC = load_hardware("ascend950pr-9589")
PROBLEM = GemmProblem(m=4096, k=4096, n=4096)
PLAN = KernelPlan(
    template=Template.ASWT,
    base_m=256,
    base_n=256,
    base_k=64,
    step_k=4,
    single_core_k=4096,
    used_core_num=32,
)
TILE_CYCLES = 256 * 256 * 4096 / 4096


@pytest.mark.parametrize(
    ("problem", "template", "time_us", "expected"),
    [
        (PROBLEM, Template.STREAM_K, 5.0, ErrorClass.STREAM_K),
        (PROBLEM, Template.ASWT, 14.9, ErrorClass.SMALL),
        (replace(PROBLEM, k=1024), Template.ASWT, 90.0, ErrorClass.OUTPUT_HEAVY),
        (PROBLEM, Template.ASWT, 330.0, ErrorClass.COMPUTE_BOUND),
        (PROBLEM, Template.ASWT, 400.0, ErrorClass.READ_BOUND),
    ],
)
def test_first_match(
    problem: GemmProblem, template: Template, time_us: float, expected: ErrorClass
) -> None:
    plan = replace(PLAN, template=template)
    assert select_error_class(problem, plan, time_us, SPEC) is expected


def test_chain_counts_whole_rounds_and_split_tails() -> None:
    assert compute_mmad_chain_cycles(PROBLEM, PLAN, SPEC) == 8 * TILE_CYCLES
    longer = replace(PROBLEM, m=4096 + 256)
    split = replace(PLAN, m_tail_cnt=2)
    assert compute_mmad_chain_cycles(longer, PLAN, SPEC) == 9 * TILE_CYCLES
    assert compute_mmad_chain_cycles(longer, split, SPEC) == 8.5 * TILE_CYCLES


def test_chain_of_full_loads_walks_the_resident_side() -> None:
    for template in (Template.A_FULL, Template.B_FULL):
        plan = replace(PLAN, template=template)
        assert compute_mmad_chain_cycles(PROBLEM, plan, SPEC) == 16 * TILE_CYCLES


def test_a_vector_kernel_has_no_chain() -> None:
    plan = replace(PLAN, template=Template.VECTOR)
    assert compute_mmad_chain_cycles(PROBLEM, plan, SPEC) == 0
    assert select_error_class(PROBLEM, plan, 20.0, SPEC) is ErrorClass.READ_BOUND
