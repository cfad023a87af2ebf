"""Two runs of a study side by side: which shapes changed, and what was asked otherwise.

Shapes are matched by their problem, whatever their names; of equal problems in one run the first
counts. Times are those of the runs: nothing is evaluated again.
"""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from autotune.manifest import Manifest
from autotune.report.aggregates import is_grouped
from autotune.results import ComparedPlans, ResultRow
from autotune.search_runs import SearchResults
from hwmodel.errors import InputError
from hwmodel.problem import GemmProblem

DEFAULT_THRESHOLD_RATIO: Final = 0.01
"""Change of a time that counts: closer ones are ties (specification: studies.md, "Search")."""

_DIGEST_DIGITS: Final = 12
"""Hex digits of a digest that are shown."""


class Change(StrEnum):
    """What became of a shape from the first run to the second."""

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedShape:
    """A shape with an answer in both runs.

    Attributes:
        row: its row in the first run.
        first: what the first run found.
        second: what the second run found.
        change: whether the best time changed by more than the threshold.
    """

    row: ResultRow
    first: ComparedPlans
    second: ComparedPlans
    change: Change

    @property
    def best_ratio(self) -> float:
        """Time of the best plan, second run over first."""
        return self.second.best.predicted_us / self.first.best.predicted_us

    @property
    def baseline_ratio(self) -> float:
        """Time of the operator's plan, second run over first."""
        return self.second.baseline.predicted_us / self.first.baseline.predicted_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Something that the two runs were asked or made with otherwise."""

    what: str
    first: str
    second: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanChanges:
    """Geometric means over the matched shapes, without those tagged `grouped`.

    Attributes:
        best_ratio: time of the best plan, second run over first.
        baseline_ratio: time of the operator's plan, second run over first.
        first_gap_ratio: gap in the first run.
        second_gap_ratio: gap in the second run.
    """

    best_ratio: float
    baseline_ratio: float
    first_gap_ratio: float
    second_gap_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """All that `autotune compare` says.

    Attributes:
        threshold_ratio: change of a time from which it counts.
        shapes: shapes with an answer in both runs, in the order of the first.
        lost: rows of the first run with an answer there, and none in the second run.
        gained: rows of the second run with an answer there, and none in the first.
        unanswered: shapes of both runs without an answer in either.
        only_first: rows whose problem the second run does not have.
        only_second: rows whose problem the first run does not have.
        differences: what the two runs were asked otherwise.
    """

    threshold_ratio: float
    shapes: tuple[MatchedShape, ...]
    lost: tuple[ResultRow, ...]
    gained: tuple[ResultRow, ...]
    unanswered: int
    only_first: tuple[ResultRow, ...]
    only_second: tuple[ResultRow, ...]
    differences: tuple[Difference, ...]

    def count(self, change: Change) -> int:
        """Shapes of which this became."""
        return sum(shape.change is change for shape in self.shapes)

    @property
    def is_worse(self) -> bool:
        """A shape takes longer by more than the threshold, or lost its answer."""
        return self.count(Change.WORSE) > 0 or bool(self.lost)

    def means(self) -> MeanChanges | None:
        """The means; None when no shape counts."""
        counted = [shape for shape in self.shapes if not is_grouped(shape.row)]
        if not counted:
            return None
        return MeanChanges(
            best_ratio=_mean(shape.best_ratio for shape in counted),
            baseline_ratio=_mean(shape.baseline_ratio for shape in counted),
            first_gap_ratio=_mean(1.0 + shape.first.gap_ratio for shape in counted) - 1.0,
            second_gap_ratio=_mean(1.0 + shape.second.gap_ratio for shape in counted) - 1.0,
        )


def compare_runs(
    first: SearchResults, second: SearchResults, threshold_ratio: float
) -> RunComparison:
    """The second run against the first.

    Args:
        first: the run to compare with.
        second: the run to judge.
        threshold_ratio: change of a time from which it counts.

    Raises:
        InputError: the runs have no shape in common.
    """
    befores, afters = _by_problem(first.rows), _by_problem(second.rows)
    common = [(row, afters[problem]) for problem, row in befores.items() if problem in afters]
    if not common:
        raise InputError(
            f"{first.directory} and {second.directory} have no shape in common; "
            "compare runs of lists that share shapes"
        )
    return RunComparison(
        threshold_ratio=threshold_ratio,
        shapes=tuple(_match(common, threshold_ratio)),
        lost=tuple(one for one, two in common if one.compared and not two.compared),
        gained=tuple(two for one, two in common if two.compared and not one.compared),
        unanswered=sum(not one.compared and not two.compared for one, two in common),
        only_first=tuple(row for problem, row in befores.items() if problem not in afters),
        only_second=tuple(row for problem, row in afters.items() if problem not in befores),
        differences=tuple(_find_differences(first.manifest, second.manifest)),
    )


def _by_problem(rows: Sequence[ResultRow]) -> dict[GemmProblem, ResultRow]:
    """The first row of each problem."""
    found: dict[GemmProblem, ResultRow] = {}
    for row in rows:
        found.setdefault(row.problem, row)
    return found


def _match(
    common: Sequence[tuple[ResultRow, ResultRow]], threshold_ratio: float
) -> Iterator[MatchedShape]:
    """The shapes with an answer in both runs."""
    for one, two in common:
        if one.compared is None or two.compared is None:
            continue
        ratio = two.compared.best.predicted_us / one.compared.best.predicted_us
        change = Change.EQUAL
        if ratio > 1.0 + threshold_ratio:
            change = Change.WORSE
        elif ratio < 1.0 / (1.0 + threshold_ratio):
            change = Change.BETTER
        yield MatchedShape(row=one, first=one.compared, second=two.compared, change=change)


def _find_differences(first: Manifest, second: Manifest) -> Iterator[Difference]:
    """What decides results and was not the same, then what they were made with."""
    for what, name in (
        ("study", "study"),
        ("hardware", "hw"),
        ("applied as a 950", "as_950"),
        ("evaluator", "evaluator"),
        ("strategy", "strategy"),
        ("effort", "effort"),
        ("trials", "trials"),
        ("seed", "seed"),
        ("shapes file", "shapes"),
    ):
        yield from _differ(
            what, str(getattr(first.options, name)), str(getattr(second.options, name))
        )
    for what, name in (
        ("hardware figures (digest)", "spec"),
        ("model version (digest)", "model"),
        ("shapes (digest)", "shapes"),
    ):
        digests = getattr(first.digests, name), getattr(second.digests, name)
        if digests[0] != digests[1]:
            yield Difference(
                what=what, first=digests[0][:_DIGEST_DIGITS], second=digests[1][:_DIGEST_DIGITS]
            )
    for name in sorted(first.versions.keys() | second.versions.keys()):
        versions = (run.versions.get(name, "unknown") for run in (first, second))
        yield from _differ(f"version of {name}", *versions)
    commits = (run.git_commit or "unknown" for run in (first, second))
    yield from _differ("commit", *(commit[:_DIGEST_DIGITS] for commit in commits))


def _differ(what: str, first: str, second: str) -> Iterator[Difference]:
    """The difference, if there is one."""
    if first != second:
        yield Difference(what=what, first=first, second=second)


def _mean(ratios: Iterable[float]) -> float:
    return statistics.geometric_mean(ratios)
