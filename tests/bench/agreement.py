"""How far the pipeline model is from the emulator: a program, slower than a test may be.

    python -m tests.bench.agreement --shapes 42

prints the error of the pipeline model's times against the emulator's (median and 95th percentile
of the absolute error, mean signed error), for uniform plans and the model's best of LLM shapes and
for every template, and the regret: the emulator's time of the plan that the model holds for the
best, over the best time among the sampled plans of the shape.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable

import numpy as np

from hwmodel.cost.evaluator import Evaluator
from hwmodel.cost.evaluators import select_evaluator
from hwmodel.emulator.constants import TICKS_PER_CYCLE
from hwmodel.emulator.engine import emulate
from hwmodel.emulator.spec_constants import constants_from_spec
from hwmodel.emulator.vector_engine import emulate_vector
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware
from tests.bench.agreement_samples import GROUPS, Sample, shape_samples, template_samples
from tests.bench.agreement_vector import VECTOR_GROUPS, vector_samples

PERCENT = 100
TAIL_PERCENTILE = 95

Timer = Callable[[GemmProblem, KernelPlan], float]
"""The emulated time of a plan, microseconds."""


def emulator_timer(spec: HardwareSpec) -> Timer:
    """Times by the emulator with the chip's constants."""
    constants = constants_from_spec(spec)

    def time_us(problem: GemmProblem, plan: KernelPlan) -> float:
        run = emulate if plan.template in CUBE_TEMPLATES else emulate_vector
        ticks = run(problem, plan, constants).makespan_ticks
        return ticks / TICKS_PER_CYCLE / spec.cores.clock_mhz

    return time_us


class Agreement:
    """Signed errors by group, and the regret of each shape."""

    def __init__(self, spec: HardwareSpec, evaluator: Evaluator, timer: Timer) -> None:
        """Nothing compared yet."""
        self._spec, self._evaluator, self._timer = spec, evaluator, timer
        self.errors: dict[str, list[float]] = defaultdict(list)
        self.regrets: list[float] = []

    def add(self, sample: Sample, *, group: str, has_regret: bool = False) -> None:
        """Compare the plans of one sample."""
        batch = PlanBatch.from_plans(sample.plans)
        predicted = self._evaluator.estimate_us(sample.problem, self._spec, batch)
        emulated = np.array([self._timer(sample.problem, plan) for plan in sample.plans])
        for half, error in zip(sample.halves, predicted / emulated - 1, strict=True):
            self.errors[f"{group} {half}"].append(float(error))
        if has_regret:
            chosen = emulated[int(np.argmin(predicted))]
            self.regrets.append(float(chosen / emulated.min() - 1))

    def lines(self) -> Iterable[str]:
        """The table."""
        yield f"{'':24}{'n':>7}{'median':>9}{'p95':>9}{'bias':>9}   (%)"
        for name, errors in self.errors.items():
            yield _format_line(name, errors)
        groups: dict[str, list[float]] = defaultdict(list)
        for name, errors in self.errors.items():
            groups[name.split(" ")[0] + " all"].extend(errors)
        for name, errors in groups.items():
            yield _format_line(name, errors)
        if self.regrets:
            yield _format_line("top-1 regret", self.regrets)


def _format_line(name: str, errors: list[float]) -> str:
    size = np.abs(errors) * PERCENT
    return (
        f"{name:24}{len(errors):7d}{np.median(size):9.2f}"
        f"{np.percentile(size, TAIL_PERCENTILE):9.2f}{np.mean(errors) * PERCENT:9.2f}"
    )


def measure(
    spec: HardwareSpec,
    evaluator: Evaluator,
    timer: Timer,
    *,
    shapes: int,
    template_plans: int,
    seed: int,
) -> Agreement:
    """Compare on both samples."""
    agreement = Agreement(spec, evaluator, timer)
    for sample in shape_samples(spec, evaluator, shapes=shapes, seed=seed):
        agreement.add(sample, group="llm", has_regret=True)
    for group in GROUPS:
        for sample in template_samples(spec, group, plans=template_plans, seed=seed):
            agreement.add(sample, group=group)
    for group in VECTOR_GROUPS:
        for sample in vector_samples(spec, group, plans=template_plans, seed=seed):
            agreement.add(sample, group=group)
    return agreement


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="pipeline model against emulator")
    parser.add_argument("--shapes", type=int, default=42, help="LLM shapes")
    parser.add_argument("--template-plans", type=int, default=500, help="plans of each template")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hw", default=DEFAULT_HARDWARE)
    options = parser.parse_args(arguments)
    spec = load_hardware(options.hw)
    agreement = measure(
        spec,
        select_evaluator("pipeline"),
        emulator_timer(spec),
        shapes=options.shapes,
        template_plans=options.template_plans,
        seed=options.seed,
    )
    sys.stdout.write("\n".join(agreement.lines()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
