"""The results of a run: rows, answers and what they come to."""

from collections.abc import Mapping, Sequence

from hwmodel.cost.evaluators import select_evaluator
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.hypotheses.answers import ShapeAnswer
from studies.hypotheses.effort import DEPTHS
from studies.hypotheses.lists import list_sources
from studies.hypotheses.models import JUDGE, SELECTOR
from studies.hypotheses.registry import ALL
from studies.hypotheses.sharing import measure_sharing_errors
from studies.hypotheses.summary import (
    summarise_field_gaps,
    summarise_proxy,
    summarise_studies,
)
from studies.hypotheses.verdicts import RowState, StudiedRow, StudyResults
from studies.search import SearchOptions
from studies.shape_rows import ShapeRow


def build_results(
    rows: Sequence[ShapeRow],
    answers: Mapping[GemmProblem, ShapeAnswer],
    refusals: Mapping[GemmProblem, str],
    options: SearchOptions,
    spec: HardwareSpec,
    *,
    jobs: int = 1,
) -> StudyResults:
    """Everything that a run says.

    Args:
        rows: those of the shapes file and of the domain lists (`lists.add_domain_lists`).
        answers: by problem; every problem of the rows is here or among the refusals.
        refusals: why the operator rejects a problem.
        options: what was asked.
        spec: the chip.
        jobs: processes for the fits of H5 (c); the results do not depend on it.
    """
    depth = DEPTHS[options.effort]
    studied = tuple(
        StudiedRow(
            row=row,
            source=source,
            state=RowState.OK if row.problem in answers else RowState.REJECTED,
            message=refusals.get(row.problem, ""),
        )
        for row, source in zip(
            rows, list_sources(rows, options.study, options.effort), strict=True
        )
    )
    distinct = dict.fromkeys(row.problem for row in rows)
    return StudyResults(
        effort=options.effort,
        selector=_name_version(SELECTOR),
        judge=_name_version(JUDGE),
        pipeline_draws=depth.pipeline_draws,
        emulator_draws=depth.emulator_draws,
        rows=studied,
        answers=tuple(answers[problem] for problem in distinct if problem in answers),
        verdicts=summarise_studies(options.study, studied, answers),
        proxy=summarise_proxy(studied, answers),
        sharing=measure_sharing_errors(spec, jobs=jobs)
        if depth.refits and options.study in {"h5", ALL}
        else (),
        field_gaps=summarise_field_gaps(studied, answers),
    )


def _name_version(name: str) -> str:
    """An evaluator with its version."""
    return f"{name} ({select_evaluator(name).version})"
