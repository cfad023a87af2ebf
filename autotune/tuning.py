"""One shape searched in this process, and its best plan in the operator's own terms."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TextIO

from autotune.comparison import compare_plans
from autotune.plain_data import to_plain
from autotune.progress import Progress
from autotune.results import ComparedPlans
from baseline.decision import BaselineDecision, decide
from baseline.platform import Platform
from baseline.vendor_kernel import VENDOR_KERNEL_KEYS, build_vendor_kernel
from hwmodel.plan import KernelPlan
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.journal import EVALUATION_KIND, JsonRecord
from studies.outcome import ShapeOutcome
from studies.search import COVERING_NAMES, SearchOptions, search_shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What came of the search of one shape.

    Attributes:
        spec: the chip.
        options: what decided the search.
        outcome: what it found.
        compared: the same as a run keeps it, with what the gap is worth.
        decision: the operator's own decision.
    """

    spec: HardwareSpec
    options: SearchOptions
    outcome: ShapeOutcome
    compared: ComparedPlans
    decision: BaselineDecision

    @property
    def problem(self) -> GemmProblem:
        """The problem."""
        return self.outcome.problem

    def vendor_kernel(self) -> dict[str, object]:
        """The best plan that the operator's tiling data can carry, as its host tiling's result.

        The operator's own plan is given as the operator itself writes it, in whatever record.
        """
        plan = self.outcome.best_expressible.plan
        if plan == self.outcome.baseline.plan:
            record = self.decision.to_record()
            return {key: record[key] for key in VENDOR_KERNEL_KEYS}
        return build_vendor_kernel(self.problem, plan, Platform.from_spec(self.spec))

    def changed_fields(self, plan: KernelPlan) -> dict[str, object]:
        """The plan's fields that differ from the operator's plan, as `--plan` takes them."""
        return {
            field.name: to_plain(getattr(plan, field.name))
            for field in fields(KernelPlan)
            if getattr(plan, field.name) != getattr(self.decision.plan, field.name)
        }


def tune_shape(
    problem: GemmProblem, spec: HardwareSpec, options: SearchOptions, stream: TextIO
) -> Tuning:
    """Search the shape; nothing is kept on disk.

    Args:
        problem: the GEMM.
        spec: the chip.
        options: what decides the search.
        stream: where a sampling strategy shows how far it is.

    Raises:
        InputError: an option has an unknown or impossible value.
        RejectedError: the operator rejects the problem.
    """
    if options.strategy in COVERING_NAMES:
        outcome = search_shape(problem, spec, options, _Unkept())
    else:
        with Progress(options.trials, stream, unit="plan", verb="evaluated") as progress:
            outcome = search_shape(problem, spec, options, _Unkept(progress))
    return Tuning(
        spec=spec,
        options=options,
        outcome=outcome,
        compared=compare_plans(outcome, spec, options.evaluator),
        decision=decide(problem, spec),
    )


class _Unkept:
    """A `studies.journal.Journal` that keeps nothing and counts evaluations."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress

    def read(self) -> Sequence[JsonRecord]:
        """Nothing was done before."""
        return ()

    def append(self, records: Sequence[JsonRecord]) -> None:
        """Count the evaluations among the records."""
        if self._progress is not None:
            done = sum(record.get("kind") == EVALUATION_KIND for record in records)
            self._progress.advance(done)
