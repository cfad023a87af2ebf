"""Speed of the search of one shape: building and listing a space, and whole searches."""

from dataclasses import replace

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from baseline.decision import decide
from hwmodel.plan import canonical_plan
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from studies.branch_and_bound import CHUNK
from studies.outcome import ShapeOutcome
from studies.search import Effort, SearchOptions, search_shape
from studies.space import build_space
from tests.studies.fake_evaluator import MemoryJournal

SPEC = load_hardware("ascend950pr-9589")
SQUARE = GemmProblem(m=4096, k=4096, n=4096)
EXHAUSTIVE = SearchOptions(strategy="exhaustive", evaluator="pipeline")
DECODE = GemmProblem(m=16, k=4096, n=6144)


@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
def test_build_space(benchmark: BenchmarkFixture, quick: bool) -> None:
    baseline = canonical_plan(SQUARE, decide(SQUARE, SPEC).plan)
    space = benchmark(build_space, SQUARE, SPEC, baseline, quick=quick)
    assert len(space) > 4000


def test_list_a_chunk_of_plans(benchmark: BenchmarkFixture) -> None:
    space = build_space(SQUARE, SPEC, decide(SQUARE, SPEC).plan)
    plans = benchmark(space.plans, np.arange(CHUNK, dtype=np.int64))
    assert len(plans) == CHUNK


def search_afresh(problem: GemmProblem, options: SearchOptions) -> ShapeOutcome:
    return search_shape(problem, SPEC, options, MemoryJournal())


@pytest.mark.parametrize("problem", [SQUARE, DECODE], ids=["4096x4096x4096", "16x4096x6144"])
def test_search_quick(benchmark: BenchmarkFixture, problem: GemmProblem) -> None:
    outcome = benchmark(search_afresh, problem, replace(EXHAUSTIVE, effort=Effort.QUICK))
    assert outcome.gap_ratio >= 0


@pytest.mark.parametrize("problem", [SQUARE, DECODE], ids=["4096x4096x4096", "16x4096x6144"])
def test_certify_the_whole_space(benchmark: BenchmarkFixture, problem: GemmProblem) -> None:
    certificate = benchmark(search_afresh, problem, EXHAUSTIVE).certificate
    assert certificate is not None
    assert certificate.pruned > 20 * certificate.evaluated
    assert certificate.space == "all"


def test_search_by_cascade(benchmark: BenchmarkFixture) -> None:
    outcome = benchmark(search_afresh, DECODE, SearchOptions())
    assert outcome.selection is not None
    assert len(outcome.top) >= 16


@pytest.mark.parametrize("strategy", ["random", "tpe"])
def test_search_by_sampling(benchmark: BenchmarkFixture, strategy: str) -> None:
    outcome = benchmark(search_afresh, SQUARE, replace(EXHAUSTIVE, strategy=strategy, trials=50))
    assert outcome.evaluations == 50
