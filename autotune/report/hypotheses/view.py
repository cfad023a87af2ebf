"""A run of hypotheses as the report looks at it: results, hardware, and shapes by study."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from autotune.hypothesis_results_io import load_hypotheses
from autotune.manifest import Manifest, load_manifest
from autotune.runs import HARDWARE_NAME, require_results
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import load_hardware
from studies.gap import Coverage
from studies.hypotheses.answers import ShapeAnswer
from studies.hypotheses.domain import DomainShape, list_domain, summarise_ratios
from studies.hypotheses.registry import HYPOTHESES, find_entry
from studies.hypotheses.rules import Rule, derive_rule, derive_window
from studies.hypotheses.splits import is_held_out
from studies.hypotheses.verdicts import RatioSummary, StudyResults, StudyVerdict

IMPROVEMENTS = tuple(item.statement.id for item in HYPOTHESES)
"""Ids of H1 to H6, in order."""
JOINT = "joint"
OPT = "opt"
MAIN_STUDIES = (*IMPROVEMENTS, JOINT, OPT)
"""Studies with a column of their own in the tables of shapes."""


@dataclass(frozen=True, kw_only=True)
class RunView:
    """A run and what is looked up in it often.

    Attributes:
        manifest: what was asked, and how far the run came.
        spec: the hardware of the run.
        results: answers and verdicts.
    """

    manifest: Manifest
    spec: HardwareSpec
    results: StudyResults

    @cached_property
    def answers(self) -> Mapping[GemmProblem, ShapeAnswer]:
        """The answers by problem."""
        return {answer.problem: answer for answer in self.results.answers}

    @cached_property
    def verdicts(self) -> Mapping[str, StudyVerdict]:
        """The verdicts by study, in the order of the report."""
        return {verdict.study: verdict for verdict in self.results.verdicts}

    @cached_property
    def domains(self) -> Mapping[str, tuple[DomainShape, ...]]:
        """The shapes that count for each study."""
        rows, answers = self.results.rows, self.answers
        return {study: list_domain(find_entry(study), rows, answers) for study in self.verdicts}

    @cached_property
    def rules(self) -> Mapping[str, Rule]:
        """Conditions for the host tiling, for the hypotheses that have one."""
        found = {
            study: derive_rule(study, self.domains[study])
            for study in IMPROVEMENTS
            if study in self.verdicts
        }
        return {study: rule for study, rule in found.items() if rule is not None}

    @cached_property
    def window_rule(self) -> Rule | None:
        """A better constant than the operator's window of 4, if there is one."""
        return derive_window(self.domains.get("h2", ()))

    def held_out(self, study: str) -> RatioSummary:
        """The selector's choices on the third of the shapes that decides no rule."""
        shapes = [s for s in self.domains[study] if is_held_out(s.row.problem)]
        return summarise_ratios(shapes, least_shapes=1)

    def coverage(self, study: str) -> Mapping[Coverage, int]:
        """Domain shapes by coverage."""
        shapes = self.domains[study]
        return {
            coverage: sum(shape.comparison.coverage is coverage for shape in shapes)
            for coverage in Coverage
        }


def load_view(directory: Path) -> RunView:
    """Read a run of hypotheses that has results.

    Raises:
        RunDirectoryError: not a run, a run of another schema, one without results, or one whose
            files changed since.
        InputError: a file of it is damaged.
    """
    manifest = load_manifest(directory)
    path = require_results(directory, manifest)
    return RunView(
        manifest=manifest,
        spec=load_hardware(str(directory / HARDWARE_NAME)),
        results=load_hypotheses(path),
    )
