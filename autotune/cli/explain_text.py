"""How `autotune explain` words its answer: as text for people, as a document for programs."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from autotune.cli.breakdown_text import describe_costs, format_breakdowns
from autotune.cli.paragraph import wrap_paragraph
from autotune.explanation import describe_chip, describe_plan, explain
from autotune.gap_wording import describe_coverage, describe_resolved
from autotune.report.run_files import RunFiles
from autotune.report.text import TIMES, describe_problem, format_count, format_gap, short_name
from autotune.run_explanation import ExplainedRow
from hwmodel.spec_io import DAV_3510


def build_document(
    files: RunFiles, model: str, versus: str, explained: Sequence[ExplainedRow]
) -> dict[str, object]:
    """The answer as one JSON document; what is said of the gap is that to the baseline."""
    return {
        "run": str(files.directory),
        "hardware": files.spec.name,
        "as_950": files.spec.npu_arch != DAV_3510,
        "evaluator": model,
        "vs": versus,
        "shapes": [_describe_row(one) for one in explained],
    }


def _describe_row(one: ExplainedRow) -> dict[str, object]:
    """One shape as plain data."""
    sides = one.comparison.first, one.comparison.second
    costs = describe_costs([side.cost for side in sides])
    first, second = (
        {"name": side.name, "plan": asdict(side.plan), "cost": cost}
        for side, cost in zip(sides, costs, strict=True)
    )
    return {
        "number": one.row.index + 1,
        "name": one.row.name,
        "problem": asdict(one.row.problem),
        "vs": first,
        "best": second,
        "matches_run": one.matches_run,
        "gap_ratio": one.comparison.gap_ratio,
        "resolved": one.compared.resolved,
        "coverage": one.compared.coverage.value,
        "explanation": explain(one.comparison),
    }


def format_explanations(
    files: RunFiles, model: str, explained: Sequence[ExplainedRow], *, is_single: bool
) -> str:
    """The answer as text: a whole comparison of a single shape, else a paragraph each."""
    if is_single:
        return "\n".join(_format_single(files, model, explained[0]))
    return "\n".join(_format_largest(files, model, explained))


def _format_single(files: RunFiles, model: str, one: ExplainedRow) -> Iterator[str]:
    """Plans, breakdowns side by side, and the words."""
    sides = one.comparison.first, one.comparison.second
    yield f"{_describe_shape(one)} on {describe_chip(files.spec)}, by the {model} model"
    yield ""
    yield from (f"{side.name}: {describe_plan(side.plan)}" for side in sides)
    yield ""
    yield format_breakdowns([side.name for side in sides], [side.cost for side in sides])
    yield ""
    yield wrap_paragraph(explain(one.comparison))
    if one.comparison.first.plan == one.compared.baseline.plan:
        yield ""
        yield wrap_paragraph(f"Gap: {describe_resolved(one.compared)}.")
        yield wrap_paragraph(f"Coverage: {describe_coverage(one.compared.coverage)}.")


def _format_largest(
    files: RunFiles, model: str, explained: Sequence[ExplainedRow]
) -> Iterator[str]:
    """A paragraph a shape, and how to ask for one."""
    if not explained:
        yield f"No better tiling than the operator's was found for any of {_count(files)}."
        return
    largest = f"{len(explained)} largest gaps" if len(explained) > 1 else "only gap"
    yield f"The {largest} of {_count(files)} on {describe_chip(files.spec)}, by the {model} model:"
    for one in explained:
        yield ""
        gap = format_gap(one.compared.gap_ratio)
        resolved = describe_resolved(one.compared)
        yield wrap_paragraph(f"{one.row.index + 1}. {_describe_shape(one)}: gap {gap}, {resolved}")
        yield from (
            f"  {side.name}: {describe_plan(side.plan)}"
            for side in (one.comparison.first, one.comparison.second)
        )
        yield wrap_paragraph(explain(one.comparison), "  ")
    yield ""
    yield (
        "With the breakdowns side by side (by number, name or size M x K x N): autotune explain "
        f"{shlex.quote(str(files.directory))} --shape {explained[0].row.index + 1}"
    )


def _count(files: RunFiles) -> str:
    return format_count(len(files.rows), "shape")


def _describe_shape(one: ExplainedRow) -> str:
    """Name and size."""
    label, name = one.row.problem.label(), short_name(one.row.name)
    details = ", ".join(
        part
        for part in (label if label != name else "", describe_problem(one.row.problem))
        if part
    ).replace(TIMES, "x")
    return f"{name} ({details})" if details else name
