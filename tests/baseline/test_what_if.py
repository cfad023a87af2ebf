"""Departures from the operator's rules: what is given is taken, all else is as it was."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baseline.base_block import compute_roofline_edges, iterate_search_tiles
from baseline.decision import decide
from baseline.dispatch import Strategy
from baseline.platform import Platform
from baseline.tiling_key import FullLoad
from baseline.what_if import WhatIf
from hwmodel.plan import L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware

SPEC = load_hardware("ascend950pr-9589")
PLATFORM = Platform.from_spec(SPEC)
LENGTHS = st.integers(1, 6000)


@st.composite
def problems(draw: st.DrawFn) -> GemmProblem:
    return GemmProblem(
        m=draw(LENGTHS),
        k=draw(LENGTHS),
        n=draw(LENGTHS),
        trans_a=draw(st.booleans()),
        trans_b=draw(st.booleans()),
    )


@settings(derandomize=True, deadline=None, max_examples=60)
@given(problems())
def test_what_the_operator_would_decide_changes_nothing(problem: GemmProblem) -> None:
    plain = decide(problem, SPEC)
    fixed = WhatIf(full_load=plain.key.full_load, l0c_output=plain.plan.l0c_output)
    assert decide(problem, SPEC, what_if=fixed) == plain


@settings(derandomize=True, deadline=None, max_examples=60)
@given(problems())
def test_the_search_finds_one_of_its_tiles(problem: GemmProblem) -> None:
    tiles = list(iterate_search_tiles(problem, PLATFORM))
    assert len(set(tiles)) == len(tiles)
    explained = decide(problem, SPEC, explain=True)
    searched = [step for step in explained.steps if step.topic == "base block search"]
    if searched:
        assert len(tiles) == searched[0].values["candidates"]
        lead = [step for step in explained.steps if step.topic == "base block candidate"][-1]
        found = tuple(int(part) for part in lead.text.split(" takes")[0].split(" x "))
        starts = lead.text.endswith("the starting point")
        assert starts or found in tiles


def test_a_given_tile_is_taken_and_the_rest_follows() -> None:
    problem = GemmProblem(m=4096, k=4096, n=4096)
    decision = decide(problem, SPEC, what_if=WhatIf(base_tile=(128, 512)))
    plan = decision.plan
    assert (plan.base_m, plan.base_n, plan.base_k) == (128, 512, 32)
    edge, _ = compute_roofline_edges(problem, PLATFORM)
    param = 1 / 128 + 1 / 512
    assert decision.run_info["cubeBoundParam"] == param
    assert decision.run_info["cubeBoundEdge"] == min(param, edge * 0.85)


def test_a_given_tile_may_change_the_full_load_unless_that_is_given_too() -> None:
    problem = GemmProblem(m=16, k=4096, n=28672)
    assert decide(problem, SPEC).plan.template is Template.A_FULL
    wide = WhatIf(base_tile=(16, 896))
    assert decide(problem, SPEC, what_if=wide).plan.template is Template.ASWT
    frozen = replace(wide, full_load=FullLoad.A)
    assert decide(problem, SPEC, what_if=frozen).plan.template is Template.A_FULL


@pytest.mark.parametrize("output", list(L0cOutput))
def test_a_given_way_out_is_taken(output: L0cOutput) -> None:
    problem = GemmProblem(m=4096, k=4096, n=4096)
    decision = decide(problem, SPEC, what_if=WhatIf(l0c_output=output))
    assert decision.plan.l0c_output is output
    assert decision.strategy is Strategy.BASIC_ASWT


def test_a_share_of_the_bandwidth_moves_both_edges() -> None:
    problem = GemmProblem(m=8192, k=128, n=8192)
    edge, fixpipe_edge = compute_roofline_edges(problem, PLATFORM)
    assert compute_roofline_edges(problem, PLATFORM, 1.0) == (edge, fixpipe_edge)
    less, less_fixpipe = compute_roofline_edges(problem, PLATFORM, 0.25)
    assert less < edge
    assert less_fixpipe == fixpipe_edge * 0.25


def test_a_share_of_the_bandwidth_may_change_the_decision() -> None:
    # K = 1000 is below the fixpipe edge of 1270 columns, and above a quarter of it.
    problem = GemmProblem(m=8200, k=1000, n=8200)
    assert decide(problem, SPEC, what_if=WhatIf(hbm_share=0.25)).plan != decide(problem, SPEC).plan
