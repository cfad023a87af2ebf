"""What decides the numbers of a run, and the digests that tell equal questions.

How many processes work, how the answer is printed and where it is written do not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import metadata

from autotune.plain_data import compute_digest, to_plain
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.journal import JsonRecord
from studies.search import SearchOptions
from studies.shape_rows import ShapeRow

DISTRIBUTION = "npu-gemm-autotune"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedOptions:
    """Options of a study with every default filled in, as the manifest keeps them.

    Attributes:
        shapes: the shapes file as named by the user.
        hw: the hardware as named by the user.
        as_950: the heuristic of the Ascend 950 was applied to another chip on request.
        study: name of the study.
        strategy: name of the search strategy.
        evaluator: name of the model that chooses.
        effort: preset of the space.
        trials: evaluations of a sampling strategy.
        seed: seed of a sampling strategy.
    """

    shapes: str
    hw: str
    as_950: bool
    study: str
    strategy: str
    evaluator: str
    effort: str
    trials: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Digests:
    """Hex sha256 of the parts of a run's question, and of all of them together (`run`)."""

    run: str
    shapes: str
    spec: str
    options: str
    model: str

    def differing_parts(self, other: "Digests") -> tuple[str, ...]:
        """Names of the parts that differ."""
        parts = ("shapes", "spec", "options", "model")
        return tuple(part for part in parts if getattr(self, part) != getattr(other, part))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInputs:
    """The question: shapes, hardware, options and the version of the model.

    Attributes:
        rows: rows of the shapes file, and of the domain lists that hypotheses add.
        spec: the chip.
        options: what decides the search.
        as_950: the chip is another one, treated as a 950 on request; it marks the report.
        model_version: version of the code of the evaluators that take part.
        studies: what is asked about each row where that differs from `options`, in the order of
            the rows; empty where it does not.
    """

    rows: tuple[ShapeRow, ...]
    spec: HardwareSpec
    options: SearchOptions
    as_950: bool
    model_version: str
    studies: tuple[str, ...] = ()

    def options_of(self, row: ShapeRow) -> SearchOptions:
        """The options for one of the rows."""
        if not self.studies:
            return self.options
        return replace(self.options, study=self.studies[row.index])

    def digests(self) -> Digests:
        """Digests of the parts and of the whole; equal for equal questions on any machine."""
        from hwmodel.spec_io import spec_digest

        parts = {
            "shapes": compute_digest(self.rows),
            "spec": spec_digest(self.spec),
            "options": compute_digest({"search": to_plain(self.options), "as_950": self.as_950}),
            "model": compute_digest(self._model()),
        }
        return Digests(run=compute_digest(parts), **parts)

    def journal_header(self, problem: GemmProblem, digests: Digests) -> JsonRecord:
        """What a journal's records belong to: its first line."""
        return {
            "record": "search",
            "problem": to_plain(problem),
            "spec_digest": digests.spec,
            "options": to_plain(self.options),
            "model": self._model(),
        }

    def _model(self) -> dict[str, str]:
        return {
            "evaluator": self.options.evaluator,
            "version": self.model_version,
            "program": metadata.version(DISTRIBUTION),
        }


def distinct_problems(rows: Sequence[ShapeRow]) -> tuple[ShapeRow, ...]:
    """The first row of each problem, in input order: equal problems are computed once."""
    first_rows: dict[GemmProblem, ShapeRow] = {}
    for row in rows:
        first_rows.setdefault(row.problem, row)
    return tuple(first_rows.values())
