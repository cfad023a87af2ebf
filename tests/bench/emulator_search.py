"""How near 100 evaluations by the emulator come to the best known: a program, slower than a test.

    python -m tests.bench.emulator_search --shapes 42

For LLM shapes, evenly picked from the bundled list: the best of `--trials` evaluations by the
emulator with each sampling strategy, against the best that `--reference` knows (the emulator's
best among the pipeline model's certified top 64) and all strategies of the run together. `prior`
starts from the pipeline model's ranking. Printed are the share of shapes within 1 %, and the
median and the largest gap.
"""

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autotune.report.figures.convergence import Convergence, build_convergence
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware
from studies.search import Effort, SearchOptions, search_shape
from studies.shape_rows import find_shapes_file, load_shapes
from tests.studies.fake_evaluator import MemoryJournal

TRIALS = 100
NEAR = 0.01
PERCENT = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeAnswer:
    """One shape.

    Attributes:
        name: of the shape.
        reference_us: emulated time of the best that the reference knows.
        history_us: for each strategy, the best so far after each evaluation.
    """

    name: str
    reference_us: float
    history_us: dict[str, tuple[float, ...]]

    @property
    def best_known_us(self) -> float:
        """The least time that anything found."""
        return min(self.reference_us, *(times[-1] for times in self.history_us.values()))

    def gap_ratio(self, strategy: str) -> float:
        """How far the strategy's best is from the reference's; negative where it is better."""
        return self.history_us[strategy][-1] / self.reference_us - 1


def pick_problems(count: int) -> tuple[tuple[str, GemmProblem], ...]:
    """`count` distinct problems, evenly spread over the bundled list."""
    rows = load_shapes(find_shapes_file("llm_shapes.csv").path)
    distinct: dict[GemmProblem, str] = {}
    for row in rows:
        distinct.setdefault(row.problem, row.name)
    items = [(name, problem) for problem, name in distinct.items()]
    picked = np.unique(np.linspace(0, len(items) - 1, min(count, len(items))).round().astype(int))
    return tuple(items[number] for number in picked)


def measure_shape(
    name: str,
    problem: GemmProblem,
    spec: HardwareSpec,
    *,
    strategies: Sequence[str],
    trials: int,
    reference: SearchOptions,
) -> ShapeAnswer:
    """Search one shape in every way."""
    known = search_shape(problem, spec, reference, MemoryJournal())
    histories = {}
    for strategy in strategies:
        options = SearchOptions(strategy=strategy, evaluator="emulator", trials=trials)
        histories[strategy] = search_shape(problem, spec, options, MemoryJournal()).history_us
    return ShapeAnswer(
        name=name, reference_us=known.best.cost.task_duration_us, history_us=histories
    )


def table_lines(answers: Sequence[ShapeAnswer], strategies: Sequence[str]) -> list[str]:
    """One line for each strategy."""
    lines = [f"{'strategy':12}{'shapes':>8}{'within 1 %':>12}{'median %':>10}{'largest %':>11}"]
    for strategy in strategies:
        gaps = [answer.gap_ratio(strategy) for answer in answers]
        near = statistics.mean(gap <= NEAR for gap in gaps)
        lines.append(
            f"{strategy:12}{len(gaps):8d}{near * PERCENT:12.1f}"
            f"{statistics.median(gaps) * PERCENT:10.2f}{max(gaps) * PERCENT:11.2f}"
        )
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="search by the emulator under a budget")
    parser.add_argument("--shapes", type=int, default=42, help="LLM shapes")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--strategies", nargs="+", default=["prior"])
    parser.add_argument("--reference", default="cascade", help="strategy that knows the best")
    parser.add_argument("--reference-evaluator", default="emulator")
    parser.add_argument("--hw", default=DEFAULT_HARDWARE)
    parser.add_argument("--figure", type=Path, metavar="SVG", help="where the figure goes")
    options = parser.parse_args(arguments)
    spec = load_hardware(options.hw)
    reference = SearchOptions(
        strategy=options.reference,
        evaluator=options.reference_evaluator,
        effort=Effort.FULL,
        trials=options.trials,
    )
    answers = []
    for name, problem in pick_problems(options.shapes):
        answer = measure_shape(
            name,
            problem,
            spec,
            strategies=options.strategies,
            trials=options.trials,
            reference=reference,
        )
        gaps = "  ".join(
            f"{strategy} {answer.gap_ratio(strategy) * PERCENT:+.2f} %"
            for strategy in options.strategies
        )
        sys.stderr.write(f"{name}: {answer.reference_us:.3f} us  {gaps}\n")
        answers.append(answer)
    sys.stdout.write("\n".join(table_lines(answers, options.strategies)) + "\n")
    if options.figure:
        curves = [
            Convergence(
                name=strategy,
                gaps=tuple(
                    np.array(answer.history_us[strategy]) / answer.best_known_us - 1
                    for answer in answers
                ),
            )
            for strategy in options.strategies
        ]
        options.figure.parent.mkdir(parents=True, exist_ok=True)
        options.figure.write_text(build_convergence(curves, subject="the best known").svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
