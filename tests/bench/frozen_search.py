"""All strategies on the frozen search benchmark: a program, slower than a test may be.

    python -m tests.bench.frozen_search --kernel-tuner PYTHON --figure docs/figures/convergence.svg

For each strategy and shape, with 500 evaluations and 10 seeds: how many seeds come within 1 % of
the optimum ("hits"), the median number of evaluations until then (a miss counts as infinite), the
median gap at the end, and the CPU time a strategy takes per evaluation. It sees the seven factors
of a point and the costs it asked for, nothing else. PYTHON is an interpreter that has
kernel_tuner, whose bayes_opt runs on the same spaces.

`--robustness` runs `prior` on spaces that differ from the frozen ones in shape, salt or
ruggedness, with other seeds; `--design` on those that its design was chosen on.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autotune.report.figures.convergence import Convergence, build_convergence
from studies.strategies import STRATEGY_NAMES, build_strategy
from studies.strategies.points import FloatArray
from tests.bench.frozen_space import (
    OTHER_SHAPES,
    PARAMETERS,
    RUGGEDNESS,
    SHAPES,
    FrozenSpace,
    Shape,
    build_frozen_space,
)

BUDGET = 500
SEEDS = 10
OTHER_SEED = 1000
"""First of the seeds of the robustness checks; the benchmark's are 0 .. 9."""
KERNEL_TUNER = "kernel_tuner bayes_opt"
SAMPLING = tuple(name for name in STRATEGY_NAMES if name != "exhaustive")
RESTRICTIONS = (
    "2*base_m*base_k*2 <= 65536",
    "2*base_n*base_k*2 <= 65536",
    "base_m*base_n*4*db_l0c <= 262144",
    "2*(base_m+base_n)*base_k*step_k*2 <= 524288",
)
"""`frozen_space.fits` in kernel_tuner's words."""
REPEATS = 7
"""Times per point that a cache file of kernel_tuner lists."""
MS_PER_S = 1000.0
PERCENT = 100.0

SpaceKey = tuple[Shape, str, float]
"""Shape, salt and ruggedness."""
FROZEN: tuple[SpaceKey, ...] = tuple((shape, "", RUGGEDNESS) for shape in SHAPES)
PERTURBED: tuple[SpaceKey, ...] = (
    *((shape, "other salt", RUGGEDNESS) for shape in SHAPES),
    *((shape, "less rugged", RUGGEDNESS / 4) for shape in SHAPES[:3]),
    *((shape, "more rugged", RUGGEDNESS * 2) for shape in SHAPES[:3]),
)
DESIGN: tuple[SpaceKey, ...] = tuple((shape, "design", RUGGEDNESS) for shape in OTHER_SHAPES)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """One strategy on one space.

    Attributes:
        costs: costs in the order of evaluation, one array a seed.
        best: the optimum.
        cpu_ms: CPU time of the strategy per evaluation, milliseconds.
    """

    costs: tuple[FloatArray, ...]
    best: float
    cpu_ms: float

    @property
    def first_hits(self) -> tuple[float, ...]:
        """Evaluations until a point within 1 % of the optimum, infinite for none."""
        found = [np.flatnonzero(costs <= 1.01 * self.best) for costs in self.costs]
        return tuple(float(rows[0]) + 1 if len(rows) else np.inf for rows in found)

    @property
    def hits(self) -> int:
        """Seeds that came within 1 % of the optimum."""
        return int(np.isfinite(self.first_hits).sum())

    @property
    def median_gap(self) -> float:
        """Median over the seeds of the gap at the end."""
        return statistics.median(float(costs.min()) / self.best - 1 for costs in self.costs)


def run_strategy(
    name: str, space: FrozenSpace, *, seeds: Iterable[int], budget: int, until_hit: bool = False
) -> Result:
    """Let a strategy evaluate points one by one."""
    costs: list[FloatArray] = []
    started = time.process_time()
    for seed in seeds:
        strategy = build_strategy(name, space, seed)
        asked: list[int] = []
        while len(asked) < budget:
            batch = strategy.ask(1)
            strategy.tell(space.cost_us[batch])
            asked.append(int(batch[0]))
            if until_hit and space.is_hit(asked[-1]):
                break
        costs.append(space.cost_us[asked])
    seconds = time.process_time() - started
    evaluations = sum(len(run) for run in costs)
    return Result(
        costs=tuple(costs),
        best=float(space.cost_us.min()),
        cpu_ms=seconds * MS_PER_S / evaluations,
    )


def run_kernel_tuner(
    python: str, shape: Shape, space: FrozenSpace, *, seeds: Iterable[int], budget: int
) -> tuple[Result, str]:
    """kernel_tuner's bayes_opt on the same space, and the version of kernel_tuner."""
    with tempfile.TemporaryDirectory() as directory:
        cache = Path(directory, "cache.json")
        cache.write_text(json.dumps(_cache_of(shape, space)))
        request = {
            "cache": str(cache),
            "problem_size": shape[:2],
            "parameters": PARAMETERS,
            "restrictions": RESTRICTIONS,
            "strategy": "bayes_opt",
            "budget": budget,
            "seeds": list(seeds),
        }
        path = Path(directory, "request.json")
        path.write_text(json.dumps(request))
        script = Path(__file__).with_name("kernel_tuner_search.py")
        finished = subprocess.run(
            [python, str(script), str(path)], check=True, capture_output=True, text=True
        )
    answer = json.loads(finished.stdout)
    costs = tuple(np.array(run) for run in answer["costs"])
    evaluations = sum(len(run) for run in costs)
    result = Result(
        costs=costs,
        best=float(space.cost_us.min()),
        cpu_ms=answer["seconds"] * MS_PER_S / evaluations,
    )
    return result, answer["version"]


def _cache_of(shape: Shape, space: FrozenSpace) -> dict[str, object]:
    """The space as a cache file of kernel_tuner (its schema 1.0.0)."""
    constant = {
        "compile_time": 0.0,
        "verification_time": 0,
        "benchmark_time": 0.0,
        "strategy_time": 0,
        "framework_time": 0,
        "timestamp": "2026-01-01 00:00:00",
    }
    entries = {
        ",".join(map(str, factors)): {
            **dict(zip(PARAMETERS, factors, strict=True)),
            "time": cost,
            "times": [cost] * REPEATS,
            **constant,
        }
        for factors, cost in zip(
            space.configurations.tolist(), space.cost_us.tolist(), strict=True
        )
    }
    return {
        "schema_version": "1.0.0",
        "device_name": "frozen",
        "kernel_name": "gemm",
        "problem_size": list(shape[:2]),
        "tune_params_keys": list(PARAMETERS),
        "tune_params": PARAMETERS,
        "objective": "time",
        "cache": entries,
    }


def table_lines(results: Mapping[str, Mapping[str, Result]]) -> Iterable[str]:
    """One line for each strategy and space, and one for each strategy over all of them."""
    yield f"{'strategy':30}{'space':34}{'hits':>7}{'median':>9}{'gap %':>9}{'ms/eval':>9}"
    for strategy, by_space in results.items():
        for space, result in by_space.items():
            yield _line(strategy, space, result)
        medians = [statistics.median(result.first_hits) for result in by_space.values()]
        hits = sum(result.hits for result in by_space.values())
        runs = sum(len(result.costs) for result in by_space.values())
        cpu_ms = statistics.mean(result.cpu_ms for result in by_space.values())
        yield (
            f"{strategy:30}{'median of the medians':34}{f'{hits}/{runs}':>7}"
            f"{statistics.median(medians):9.1f}{'':9}{cpu_ms:9.1f}"
        )


def _line(strategy: str, space: str, result: Result) -> str:
    return (
        f"{strategy:30}{space:34}{f'{result.hits}/{len(result.costs)}':>7}"
        f"{statistics.median(result.first_hits):9.1f}{result.median_gap * PERCENT:9.2f}"
        f"{result.cpu_ms:9.1f}"
    )


def _name_of(key: SpaceKey) -> str:
    shape, salt, _ = key
    return " ".join(["x".join(map(str, shape)), salt]).strip()


def measure(
    keys: Sequence[SpaceKey],
    strategies: Sequence[str],
    *,
    seeds: Sequence[int],
    budget: int,
    kernel_tuner: str | None = None,
    until_hit: bool = False,
) -> dict[str, dict[str, Result]]:
    """The results of each strategy on each space; progress goes to stderr."""
    results: dict[str, dict[str, Result]] = {name: {} for name in strategies}
    for key in keys:
        shape, salt, ruggedness = key
        space = build_frozen_space(shape, salt=salt, ruggedness=ruggedness)
        for name in strategies:
            result = run_strategy(name, space, seeds=seeds, budget=budget, until_hit=until_hit)
            results[name][_name_of(key)] = result
            sys.stderr.write(_line(name, _name_of(key), result) + "\n")
        if kernel_tuner:
            result, version = run_kernel_tuner(
                kernel_tuner, shape, space, seeds=seeds, budget=budget
            )
            column = results.setdefault(f"{KERNEL_TUNER} {version}", {})
            column[_name_of(key)] = result
            sys.stderr.write(_line(KERNEL_TUNER, _name_of(key), result) + "\n")
    return results


def convergence_curves(results: Mapping[str, Mapping[str, Result]]) -> tuple[Convergence, ...]:
    """For each strategy the gap to the optimum of all its runs, best so far; `prior` first."""
    ordered = sorted(results.items(), key=lambda item: item[0] != "prior")
    return tuple(
        Convergence(
            name=name,
            gaps=tuple(
                np.minimum.accumulate(costs) / result.best - 1
                for result in by_space.values()
                for costs in result.costs
            ),
        )
        for name, by_space in ordered
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="strategies on the frozen search benchmark")
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--shapes", type=int, default=len(SHAPES), help="only the first so many")
    parser.add_argument("--strategies", nargs="+", choices=SAMPLING, default=SAMPLING)
    parser.add_argument("--kernel-tuner", metavar="PYTHON", help="interpreter with kernel_tuner")
    parser.add_argument("--figure", type=Path, metavar="SVG", help="where the figure goes")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--robustness", action="store_true", help="prior on spaces of the kind")
    kind.add_argument("--design", action="store_true", help="prior where it was designed")
    options = parser.parse_args(arguments)
    if options.robustness or options.design:
        results = measure(
            PERTURBED if options.robustness else DESIGN,
            ("prior",),
            seeds=range(OTHER_SEED, OTHER_SEED + options.seeds),
            budget=options.budget,
            until_hit=True,
        )
    else:
        results = measure(
            FROZEN[: options.shapes],
            options.strategies,
            seeds=range(options.seeds),
            budget=options.budget,
            kernel_tuner=options.kernel_tuner,
        )
    sys.stdout.write("\n".join(table_lines(results)) + "\n")
    if options.figure:
        figure = build_convergence(convergence_curves(results), subject="the optimum")
        options.figure.parent.mkdir(parents=True, exist_ok=True)
        options.figure.write_text(figure.svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
