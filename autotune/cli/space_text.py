"""How `autotune space` words its answer: as tables for people, as documents for programs."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from autotune.report.text import clean_text, clip_text
from autotune.space_summary import ListedSpace, ListedSpaces, SpaceSummary
from hwmodel.legality import RULE_SENTENCES
from studies.space_counts import FACTORS

_FACTOR_HEADERS: Final = (
    "base_m, n",
    "+ L0C",
    "+ base_k",
    "+ step_k",
    "+ slabs",
    "+ tail",
    "+ piece",
    "+ order",
    "+ window",
)
"""Headers of `FACTORS`: each column counts with what is left of it."""

_NAME_WIDTH: Final = 40
_NO_COUNT: Final = "-"


def build_document(summary: SpaceSummary) -> dict[str, object]:
    """The counts of one space as a JSON document."""
    return {
        "problem": asdict(summary.problem),
        "hardware": summary.hardware,
        "space": summary.space,
        "restriction": summary.restriction,
        "points": summary.points,
        "omitted": summary.omitted,
        "cartesian": summary.cartesian,
        "templates": [asdict(count) for count in summary.templates],
        "values": dict(summary.values),
        "rejected": dict(summary.rejected),
        "baseline": {
            "plan": asdict(summary.baseline),
            "index": summary.baseline_index,
            "violations": list(summary.baseline_violations),
        },
    }


def build_list_document(listed: ListedSpaces) -> list[dict[str, object]]:
    """The same for every shape of a list, with its name; `refusal` where there are no counts."""
    return [
        {
            "name": row.name,
            **(
                {"problem": asdict(row.problem), "refusal": row.refusal}
                if row.summary is None
                else build_document(row.summary)
            ),
        }
        for row in listed.rows
    ]


def format_space(summary: SpaceSummary) -> str:
    """The counts of one space as text."""
    return "\n".join(_write_lines(summary))


def format_list(listed: ListedSpaces) -> str:
    """A table with a row a shape."""
    from tabulate import tabulate

    templates = dict.fromkeys(
        count.template.value
        for row in listed.rows
        if row.summary is not None
        for count in row.summary.templates
    )
    return tabulate(
        [_write_row(row, tuple(templates)) for row in listed.rows],
        headers=("shape", "points", "left out", "product", *templates, "worst rule"),
        colalign=("left", *["right"] * (len(templates) + 3), "left"),
        tablefmt="simple",
        disable_numparse=True,
    )


def _write_lines(summary: SpaceSummary) -> Iterator[str]:
    problem = summary.problem
    yield f"{problem.label()} {problem.dtype} on {summary.hardware}, space {summary.space}"
    yield f"{summary.points:,} points of {summary.cartesian:,} in the product of the axes"
    if summary.restriction:
        left_out = f" ({summary.omitted:,} legal points left out)" if summary.omitted else ""
        yield f"restricted: {summary.restriction}{left_out}"
    yield _describe_baseline(summary)
    yield from _write_templates(summary)
    yield from _write_rejected(summary)


def _describe_baseline(summary: SpaceSummary) -> str:
    """Where the vendor's plan is."""
    template = summary.baseline.template
    if summary.baseline_index is not None:
        return f"the operator's plan ({template}) is point {summary.baseline_index:,}"
    if summary.baseline_violations:
        broken = "; ".join(summary.baseline_violations)
        return f"the operator's plan ({template}) is no point but searched all the same: {broken}"
    return f"the operator's plan ({template}) is outside of this space but searched all the same"


def _write_templates(summary: SpaceSummary) -> Iterator[str]:
    """Legal points by template, factor by factor, and how many values each field has."""
    from tabulate import tabulate

    if not summary.templates:
        return
    yield ""
    yield "legal combinations; every column counts with the fields to its left"
    yield tabulate(
        [
            [
                count.template.value,
                *(f"{getattr(count, factor):,}" for factor in FACTORS),
                f"{count.cartesian:,}",
            ]
            for count in summary.templates
        ],
        headers=("template", *_FACTOR_HEADERS, "product"),
        colalign=("left", *["right"] * (len(FACTORS) + 1)),
        disable_numparse=True,
    )
    yield ""
    values = ", ".join(f"{field} {count:,}" for field, count in summary.values.items())
    yield f"values of the fields: {values}"


def _write_rejected(summary: SpaceSummary) -> Iterator[str]:
    """The rules, worst first; a point that breaks several counts once, under the first."""
    from tabulate import tabulate

    if not summary.rejected:
        return
    yield ""
    yield "points that a rule refuses, each under the first that it breaks"
    yield tabulate(
        [
            [rule, f"{count:,}", f"{count / summary.cartesian:.2%}", RULE_SENTENCES[rule]]
            for rule, count in summary.rejected.items()
        ],
        headers=("rule", "points", "share", "in words"),
        colalign=("left", "right", "right", "left"),
        disable_numparse=True,
    )


def _write_row(row: ListedSpace, templates: tuple[str, ...]) -> list[str]:
    name = clip_text(clean_text(row.name), _NAME_WIDTH)
    summary = row.summary
    if summary is None:
        return [name, *[_NO_COUNT] * (len(templates) + 3), f"rejected: {row.refusal}"]
    points = {count.template.value: f"{count.points:,}" for count in summary.templates}
    return [
        name,
        f"{summary.points:,}",
        f"{summary.omitted:,}",
        f"{summary.cartesian:,}",
        *(points.get(template, _NO_COUNT) for template in templates),
        next(iter(summary.rejected), ""),
    ]
