"""The frozen search benchmark is the frozen one, and its program works; figures are in README."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.bench import frozen_search
from tests.bench.frozen_search import SAMPLING, Result, main, run_strategy
from tests.bench.frozen_space import SHAPES, FrozenSpace, build_frozen_space

DIGESTS = {
    (4096, 4096, 4096): "dedb968a777522a1",
    (1, 4096, 4096): "944bdc8dd73436dd",
    (16, 28672, 8192): "9fea41527b0eb184",
    (8192, 8192, 8192): "8edc14c155be0f19",
    (4096, 14336, 4096): "0196d5c158b8e0db",
    (2048, 128256, 4096): "fbe6a0f1be6b3d99",
}
"""First digits of the sha256 of each shape's costs as little-endian doubles."""


@pytest.fixture(scope="module")
def first_space() -> FrozenSpace:
    return build_frozen_space(SHAPES[0])


def test_the_space_is_frozen(first_space: FrozenSpace) -> None:
    assert tuple(DIGESTS) == SHAPES
    assert len(first_space) == 26_496
    digest = hashlib.sha256(first_space.cost_us.astype("<f8").tobytes()).hexdigest()
    assert digest.startswith(DIGESTS[SHAPES[0]])
    best = int(first_space.cost_us.argmin())
    assert first_space.configurations[best].tolist() == [128, 256, 64, 2, 2, 4, 0]
    assert sum(first_space.is_hit(index) for index in range(len(first_space))) == 3


def test_other_salts_keep_the_smooth_part(first_space: FrozenSpace) -> None:
    other = build_frozen_space(SHAPES[0], salt="other")
    ratio = other.cost_us / first_space.cost_us
    assert 0.9 < ratio.min() < 0.95 < 1.05 < ratio.max() < 1.1


@pytest.mark.parametrize("name", [*SAMPLING])
def test_bench_of_a_strategy(
    benchmark: BenchmarkFixture, first_space: FrozenSpace, name: str
) -> None:
    if name == "cmaes":
        pytest.importorskip("cmaes")
    result = benchmark(run_strategy, name, first_space, seeds=(0,), budget=20)
    assert len(np.unique(result.costs[0])) == 20


def test_prior_comes_within_one_percent(first_space: FrozenSpace) -> None:
    result = run_strategy("prior", first_space, seeds=(0, 1), budget=200, until_hit=True)
    assert result.hits == 2


def test_results_count_evaluations_from_one() -> None:
    costs = (np.array([3.0, 1.005, 1.0]), np.array([2.0, 1.5, 1.2]))
    result = Result(costs=costs, best=1.0, cpu_ms=0.0)
    assert result.first_hits == (2.0, np.inf)
    assert result.hits == 1
    assert result.median_gap == pytest.approx(0.1)


def test_the_program_prints_a_table_and_draws(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    figure = tmp_path / "figures" / "convergence.svg"
    small = ["--budget", "8", "--seeds", "2", "--shapes", "1", "--figure", str(figure)]
    assert main([*small, "--strategies", "random", "nsga2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["strategy", *["random"] * 2, *["nsga2"] * 2]
    assert figure.read_text().startswith("<?xml")


def test_the_recording_for_kernel_tuner_is_complete(first_space: FrozenSpace) -> None:
    recorded = frozen_search._cache_of(SHAPES[0], first_space)
    entries = recorded["cache"]
    assert isinstance(entries, dict)
    assert len(entries) == len(first_space)
    assert entries["128,256,64,2,2,4,0"]["time"] == first_space.cost_us.min()
