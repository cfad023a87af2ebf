"""What there is to say of a design space without visiting its points."""

from collections.abc import Mapping
from dataclasses import dataclass

from baseline.decision import decide
from hwmodel.errors import RejectedError
from hwmodel.legality import check
from hwmodel.plan import KernelPlan, canonical_plan
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.shape_rows import find_shapes_file, load_shapes
from studies.space import build_space
from studies.space_counts import (
    FIELDS,
    TemplateCount,
    count_points_by_template,
    list_values,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceSummary:
    """Counts of one space.

    Attributes:
        problem: the GEMM.
        hardware: name of the chip.
        space: name of the space.
        restriction: in words, what is left out; empty when nothing.
        points: points of the space.
        omitted: legal points that the space leaves out to stay small.
        cartesian: points of the product of the axes, legal or not.
        templates: counts of each template.
        values: how many values of each field occur.
        rejected: illegal points by the first rule they break, most frequent first.
        baseline: the vendor's own plan.
        baseline_index: its number; None when it is no point.
        baseline_violations: rules that it breaks, a sentence each.
    """

    problem: GemmProblem
    hardware: str
    space: str
    restriction: str
    points: int
    omitted: int
    cartesian: int
    templates: tuple[TemplateCount, ...]
    values: Mapping[str, int]
    rejected: Mapping[str, int]
    baseline: KernelPlan
    baseline_index: int | None
    baseline_violations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSpace:
    """One shape of a list: its name, and its summary or why there is none."""

    name: str
    problem: GemmProblem
    summary: SpaceSummary | None
    refusal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSpaces:
    """The shapes of a file, in its order.

    Attributes:
        rows: the shapes.
        file_name: name of the file.
        bundled: it is one of the bundled lists.
    """

    rows: tuple[ListedSpace, ...]
    file_name: str
    bundled: bool


def summarise_space(
    problem: GemmProblem, spec: HardwareSpec, name: str, *, quick: bool
) -> SpaceSummary:
    """The counts of the named space for one problem.

    Raises:
        RejectedError: the operator rejects the problem.
    """
    baseline = canonical_plan(problem, decide(problem, spec).plan)
    space = build_space(problem, spec, baseline, quick=quick, name=name)
    return SpaceSummary(
        problem=problem,
        hardware=spec.name,
        space=name,
        restriction=space.restriction,
        points=len(space),
        omitted=space.omitted,
        cartesian=space.cartesian,
        templates=count_points_by_template(space),
        values={field: len(list_values(space, field)) for field in FIELDS},
        rejected=space.rejected,
        baseline=baseline,
        baseline_index=space.index_of(baseline),
        baseline_violations=tuple(item.sentence for item in check(problem, spec, baseline)),
    )


def summarise_shapes(name: str, spec: HardwareSpec, space: str, *, quick: bool) -> ListedSpaces:
    """The same for every shape of a file, or of a bundled list of that name.

    Equal problems are counted once.

    Raises:
        InputError: there is no such file, or it cannot be used.
    """
    found = find_shapes_file(name)
    known: dict[GemmProblem, SpaceSummary | str] = {}
    rows = []
    for row in load_shapes(found.path):
        if row.problem not in known:
            known[row.problem] = _summarise_or_refuse(row.problem, spec, space, quick)
        answer = known[row.problem]
        rows.append(
            ListedSpace(
                name=row.name,
                problem=row.problem,
                summary=None if isinstance(answer, str) else answer,
                refusal=answer if isinstance(answer, str) else "",
            )
        )
    return ListedSpaces(rows=tuple(rows), file_name=found.path.name, bundled=found.bundled)


def _summarise_or_refuse(
    problem: GemmProblem, spec: HardwareSpec, space: str, quick: bool
) -> SpaceSummary | str:
    try:
        return summarise_space(problem, spec, space, quick=quick)
    except RejectedError as error:
        return str(error)
