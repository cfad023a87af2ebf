"""The union of the improvements: what its candidates hold, and what leaving one out leaves."""

from dataclasses import replace

import numpy as np
import pytest

from hwmodel.legality import check
from hwmodel.plan import L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from studies.hypotheses.case import build_case
from studies.hypotheses.joint import USES, JointCandidates, build_candidates
from studies.hypotheses.registry import HYPOTHESES
from studies.protocol import Case

SPEC = load_hardware("ascend950pr-9589")
CASE = build_case(GemmProblem(m=520, k=160, n=1100), SPEC)


@pytest.fixture(scope="module")
def candidates() -> JointCandidates:
    return build_candidates(CASE)


def test_candidates_are_legal(candidates: JointCandidates) -> None:
    rows = np.random.default_rng(1).integers(len(candidates.plans), size=300)
    for row in rows:
        assert check(CASE.problem, SPEC, candidates.plans.plan(int(row))) == ()


def test_what_each_improvement_offers_alone_is_among_them(candidates: JointCandidates) -> None:
    held = {candidates.plans.plan(row) for row in range(len(candidates.plans))}
    for hypothesis in HYPOTHESES:
        if hypothesis.statement.id == "h5" or not hypothesis.in_domain(CASE):
            continue
        alternatives = hypothesis.alternatives(CASE)
        assert alternatives is not None
        offered = {alternatives.plan(row) for row in range(len(alternatives))}
        assert offered <= held, hypothesis.statement.id


def test_marks_say_what_a_row_makes_use_of(candidates: JointCandidates) -> None:
    assert tuple(candidates.uses) == USES
    own = CASE.baseline
    for row in range(0, len(candidates.plans), 37):
        plan = candidates.plans.plan(row)
        uses = {name for name in USES if candidates.uses[name][row]}
        is_resident = plan.template in {
            Template.A_PARTIAL, Template.B_PARTIAL, Template.A_PANEL, Template.B_PANEL,
        }  # fmt: skip
        assert ("h3" in uses) == is_resident
        if "h1" not in uses and not is_resident:
            assert (plan.base_m, plan.base_n) == (own.base_m, own.base_n)
        if "h4" not in uses and "h1" not in uses:
            assert plan.l0c_output is own.l0c_output
        if not uses - {"h2"}:
            assert replace(plan, window_len=own.window_len, serpentine=True) == own
    assert (~candidates.rows_without("h2") == candidates.uses["h2"]).all()


@pytest.mark.parametrize(
    ("problem", "uses"),
    [
        (GemmProblem(m=1, k=512, n=600), {"h1", "h3", "h4", "h6"}),
        (GemmProblem(m=16, k=7168, n=1536), set()),
    ],
)
def test_only_what_applies_is_used(problem: GemmProblem, uses: set[str]) -> None:
    case: Case = build_case(problem, SPEC)
    found = build_candidates(case).uses
    assert {name for name in USES if found[name].any()} == uses


def test_stream_k_keeps_its_tile_and_gets_windows() -> None:
    case = build_case(GemmProblem(m=2048, k=5120, n=12800), SPEC)
    assert case.baseline.template is Template.STREAM_K
    plans = build_candidates(case).plans
    found = {plans.plan(row) for row in range(len(plans))}
    assert len(found) > 1
    assert {replace(plan, window_len=4, serpentine=True) for plan in found} == {
        replace(case.baseline, window_len=4, serpentine=True)
    }
    assert all(plan.l0c_output is L0cOutput.ON_THE_FLY for plan in found)
