"""The studies by id: hypotheses with a verdict, and variants whose numbers are reported beside."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from studies.hypotheses import joint, opt
from studies.hypotheses.h1_tile_score import TileScoreHypothesis
from studies.hypotheses.h2_window import WindowHypothesis
from studies.hypotheses.h3_residency import ResidencyHypothesis
from studies.hypotheses.h4_fixpipe import OutputHypothesis
from studies.hypotheses.h5_sharing import SharingHypothesis
from studies.hypotheses.h6_vector import VectorHypothesis
from studies.protocol import Hypothesis, Statement

HYPOTHESES: tuple[Hypothesis, ...] = (
    TileScoreHypothesis(),
    WindowHypothesis(),
    ResidencyHypothesis(),
    OutputHypothesis(),
    SharingHypothesis(),
    VectorHypothesis(),
)
"""H1 to H6, in the order of the specification."""

ALL = "all"
"""`--study all`: every hypothesis, JOINT and OPT."""

STUDY_NAMES = (*(item.statement.id for item in HYPOTHESES), joint.JOINT, ALL)
"""What `--study` takes besides the search of a space. JOINT brings its leave-outs and OPT."""

DOMAIN_LISTS: Mapping[str, str] = {"h4": "h4", "h5": "h5", "h6": "h6"}
"""Bundled list of shapes that a hypothesis adds to those of the file (studies.md, "Shapes")."""

H1_FROZEN = "h1_frozen_load"
"""H1 with the operator's full-load decision kept."""
H5_RULE = "h5_rule"
"""H5 (a) applied as a rule, without asking the selector."""
H5_SELECTOR = "h5_selector"
"""H5 (b): a selector that shares the bandwidth against one that does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyEntry:
    """One study.

    Attributes:
        statement: the sentences stated before any run.
        parent: the hypothesis it is a variant of; empty for a hypothesis.
        is_judged: it has a verdict of its own.
        domain_list: bundled list that its domain includes; empty for none.
        scores_candidates: a launch would score the candidates by the model.
    """

    statement: Statement
    parent: str = ""
    is_judged: bool = True
    domain_list: str = ""
    scores_candidates: bool = True


def _variant(of: Statement, study: str, title: str, control: str, treatment: str) -> StudyEntry:
    """A study that is reported without a verdict."""
    statement = replace(of, id=study, title=title, control=control, treatment=treatment)
    return StudyEntry(
        statement=statement,
        parent=of.id,
        is_judged=False,
        domain_list=DOMAIN_LISTS.get(of.id, ""),
    )


def _list_entries() -> tuple[StudyEntry, ...]:
    """All studies in the order of the report."""
    by_id = {item.statement.id: item.statement for item in HYPOTHESES}
    entries = [
        StudyEntry(
            statement=statement,
            domain_list=DOMAIN_LISTS.get(study, ""),
            scores_candidates=study != "h5",
        )
        for study, statement in by_id.items()
    ]
    h1, h5 = by_id["h1"], by_id["h5"]
    entries += [
        StudyEntry(statement=joint.STATEMENT),
        _variant(
            h1,
            H1_FROZEN,
            "H1, full load as it was",
            h1.control,
            "As H1, with the operator's decision on the full load kept for every pair.",
        ),
        _variant(
            h5,
            H5_RULE,
            "H5 (a) as a rule",
            h5.control,
            "What the corrected heuristic decides, whatever the pipeline model says of it.",
        ),
        _variant(
            h5,
            H5_SELECTOR,
            "H5 (b): the selector",
            "H1's choice by a pipeline model that gives reads and writes the full figure each.",
            "H1's choice by the pipeline model that shares the figure between them.",
        ),
    ]
    for name in by_id:
        entries.append(
            _variant(
                joint.STATEMENT,
                f"{joint.JOINT}_without_{name}",
                f"JOINT without {name.upper()}",
                joint.STATEMENT.control,
                f"As JOINT, without what {name.upper()} adds.",
            )
        )
    entries.append(StudyEntry(statement=opt.STATEMENT, is_judged=False, scores_candidates=False))
    return tuple(entries)


ENTRIES: tuple[StudyEntry, ...] = _list_entries()
"""All studies in the order of the report: hypotheses, JOINT, variants, OPT."""


def find_entry(study: str) -> StudyEntry:
    """The study of that id, which is one of `ENTRIES`."""
    return next(entry for entry in ENTRIES if entry.statement.id == study)
