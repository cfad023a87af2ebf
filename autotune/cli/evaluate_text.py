"""How `autotune evaluate` words its answer: as a table for people, as a document for programs."""

from dataclasses import asdict, dataclass

from autotune.cli.breakdown_text import describe_costs, format_breakdowns
from autotune.cli.kernel_arguments import Kernel
from autotune.cli.paragraph import wrap_paragraph
from autotune.explanation import Comparison, describe_chip, describe_plan, explain
from autotune.explanation_reasons import ExplainedKernel
from autotune.report.text import TIMES, describe_problem, format_percent, format_us
from hwmodel.cost.breakdown import CostBreakdown
from hwmodel.cost.roofline import compute_roofline_us
from hwmodel.spec_io import DAV_3510


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A prediction, or two to compare.

    Attributes:
        model: name of the model.
        model_version: its version.
        kernels: the kernel that was asked about, last; before it the one to compare with, if any.
        costs: their predicted costs.
    """

    model: str
    model_version: str
    kernels: tuple[Kernel, ...]
    costs: tuple[CostBreakdown, ...]

    @property
    def kernel(self) -> Kernel:
        """The kernel that was asked about."""
        return self.kernels[-1]

    def comparison(self) -> Comparison:
        """The two kernels, by the names that the text gives them."""
        first, second = (
            ExplainedKernel(name=name, plan=kernel.plan, cost=cost)
            for name, kernel, cost in zip(self.names(), self.kernels, self.costs, strict=True)
        )
        kernel = self.kernel
        return Comparison(problem=kernel.problem, spec=kernel.spec, first=first, second=second)

    def names(self) -> tuple[str, ...]:
        """What the text calls the kernels."""
        own = ("the plan of --vs", "this plan")[-len(self.kernels) :]
        return tuple(
            "the operator's plan" if kernel.is_baseline else name
            for name, kernel in zip(own, self.kernels, strict=True)
        )


def build_document(evaluation: Evaluation) -> dict[str, object]:
    """The answer as one JSON document; `vs` is null where nothing was to be compared."""
    kernel, cost = evaluation.kernel, evaluation.costs[-1]
    roofline_us = compute_roofline_us(kernel.problem, kernel.spec)
    costs = describe_costs(evaluation.costs)
    return {
        "problem": asdict(kernel.problem),
        "hardware": kernel.spec.name,
        "as_950": kernel.spec.npu_arch != DAV_3510,
        "evaluator": evaluation.model,
        "model_version": evaluation.model_version,
        **_describe_kernel(kernel),
        "cost": costs[-1],
        "roofline_us": roofline_us,
        "roofline_ratio": roofline_us / cost.task_duration_us,
        "vs": None
        if len(evaluation.kernels) == 1
        else {
            **_describe_kernel(evaluation.kernels[0]),
            "cost": costs[0],
            "gap_ratio": evaluation.comparison().gap_ratio,
            "explanation": explain(evaluation.comparison()),
        },
    }


def _describe_kernel(kernel: Kernel) -> dict[str, object]:
    """The plan, whose it is, and the rules that it breaks."""
    return {
        "plan": asdict(kernel.plan),
        "is_baseline": kernel.is_baseline,
        "warnings": list(kernel.warnings),
    }


def format_evaluation(evaluation: Evaluation) -> str:
    """The answer as text."""
    kernel, cost = evaluation.kernel, evaluation.costs[-1]
    details = describe_problem(kernel.problem).replace(TIMES, "x")
    lines = [
        f"{kernel.problem.label()}{f' ({details})' if details else ''} on "
        f"{describe_chip(kernel.spec)}, "
        f"by the {evaluation.model} model",
        "",
    ]
    lines += [
        f"{name}: {describe_plan(one.plan)}"
        for name, one in zip(evaluation.names(), evaluation.kernels, strict=True)
    ]
    lines += ["", format_breakdowns(evaluation.names(), evaluation.costs), ""]
    roofline_us = compute_roofline_us(kernel.problem, kernel.spec)
    reached = format_percent(roofline_us / cost.task_duration_us)
    lines.append(
        f"roofline: {format_us(roofline_us)} us, the least time of any plan; reached to {reached}"
    )
    if len(evaluation.kernels) == 2:
        lines += ["", wrap_paragraph(explain(evaluation.comparison()))]
    return "\n".join(lines)
