"""From the answers of all problems to the verdicts of a run.

Unweighted figures count each distinct problem of a domain once (`domain`); weighted ones are over
the rows of the shapes file (`passes`).
"""

import math
from collections.abc import Sequence

from studies.gap import Coverage
from studies.hypotheses.domain import Answers, DomainShape, list_domain, summarise_ratios
from studies.hypotheses.host_cost import summarise_host_cost
from studies.hypotheses.passes import sum_passes, weigh_ratios
from studies.hypotheses.registry import ALL, ENTRIES, StudyEntry
from studies.hypotheses.robustness import assess_robustness
from studies.hypotheses.splits import LEAST_CHOOSING, SPLITS, Split, is_held_out
from studies.hypotheses.statistics import (
    geometric_mean,
    round_ratio,
)
from studies.hypotheses.verdicts import (
    FieldGap,
    ProxyQuality,
    StudiedRow,
    StudyVerdict,
    Subdomain,
    Verdict,
)

CLOSE_RATIO = 1.01
"""A proxy this near to its best candidate is as good as it (specification: studies.md, H1)."""
WORST_MISSES = 10
"""Shapes that are named as the proxy's worst misses."""


def summarise_studies(
    asked: str, rows: Sequence[StudiedRow], answers: Answers
) -> tuple[StudyVerdict, ...]:
    """Every study that was asked for, also when no shape is in its domain, and its variants."""
    found = {item.study for answer in answers.values() for item in answer.comparisons}
    return tuple(
        _summarise_study(entry, rows, answers)
        for entry in ENTRIES
        if entry.statement.id in found or (entry.is_judged and asked in {entry.statement.id, ALL})
    )


def _summarise_study(
    entry: StudyEntry, rows: Sequence[StudiedRow], answers: Answers
) -> StudyVerdict:
    """One study in numbers."""
    study = entry.statement.id
    shapes = list_domain(entry, rows, answers)
    comparisons = [shape.comparison for shape in shapes]
    summary = summarise_ratios(shapes)
    subdomains = _summarise_parts(shapes) if entry.is_judged else ()
    is_mixed = summary.verdict is Verdict.MIXED
    scores = entry.scores_candidates and entry.is_judged
    return StudyVerdict(
        study=study,
        parent=entry.parent,
        statement=entry.statement,
        is_judged=entry.is_judged,
        summary=summary,
        subdomains=subdomains,
        holds_for=tuple(
            f"{part.split}: {part.part}"
            for part in subdomains
            if is_mixed and part.chosen and _is_confirmed(part)
        ),
        weighted_geomean=weigh_ratios(study, rows, answers),
        savings=sum_passes(study, rows, answers),
        optimism_mean=_mean([item.optimism_ratio for item in comparisons]),
        selected_geomean=geometric_mean([item.selected_ratio for item in comparisons]),
        resolved=sum(item.resolved for item in comparisons),
        extrapolated=sum(item.coverage is Coverage.EXTRAPOLATED for item in comparisons),
        robustness=assess_robustness(shapes, summary),
        host_cost=summarise_host_cost(comparisons, summary.geomean) if scores else None,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _summarise_parts(shapes: Sequence[DomainShape]) -> tuple[Subdomain, ...]:
    """Every part of every stated split that has shapes."""
    return tuple(
        _summarise_part(split, part, [shape for shape in shapes if _part(split, shape) == part])
        for split in SPLITS
        for part in dict.fromkeys(sorted(_part(split, shape) for shape in shapes))
    )


def _part(split: Split, shape: DomainShape) -> str:
    return split.part_of(shape.row, shape.answer)


def _summarise_part(split: Split, part: str, shapes: Sequence[DomainShape]) -> Subdomain:
    """One part: chosen on two thirds, scored on the rest."""
    held_out = [shape for shape in shapes if is_held_out(shape.row.problem)]
    choosing = [shape for shape in shapes if not is_held_out(shape.row.problem)]
    choice = summarise_ratios(choosing, least_shapes=LEAST_CHOOSING)
    return Subdomain(
        split=split.name,
        part=part,
        summary=summarise_ratios(shapes),
        chosen=choice.verdict is Verdict.SUPPORTED,
        held_out=summarise_ratios(held_out),
    )


def _is_confirmed(part: Subdomain) -> bool:
    """The shapes that did not choose the part gain on the mean and lose nothing large."""
    return part.held_out.geomean > 1.0 and part.held_out.large_losses == 0


def summarise_proxy(rows: Sequence[StudiedRow], answers: Answers) -> ProxyQuality | None:
    """H1's own question: how near the proxy comes to the best of its own candidates."""
    entry = next(item for item in ENTRIES if item.statement.id == "h1")
    regrets = [
        (shape.row, shape.answer.h1)
        for shape in list_domain(entry, rows, answers)
        if shape.answer.h1 is not None
    ]
    if not regrets:
        return None
    most = CLOSE_RATIO - 1.0
    ordered = sorted(
        regrets, key=lambda pair: (-round_ratio(pair[1].judged_regret_ratio), pair[0].index)
    )
    return ProxyQuality(
        shapes=len(regrets),
        within_1pct=sum(h1.proxy_regret_ratio <= most for _, h1 in regrets),
        judged_within_1pct=sum(h1.judged_regret_ratio <= most for _, h1 in regrets),
        worst=tuple(row.problem.label() for row, _ in ordered[:WORST_MISSES]),
    )


def summarise_field_gaps(rows: Sequence[StudiedRow], answers: Answers) -> tuple[FieldGap, ...]:
    """Fields in which JOINT and the best known differ, where the gap is above 1 %."""
    entry = next(item for item in ENTRIES if item.statement.id == "opt")
    counts: dict[str, int] = {}
    logs: dict[str, float] = {}
    for shape in list_domain(entry, rows, answers):
        known = shape.answer.opt
        if known is None or known.joint_gap_ratio <= CLOSE_RATIO - 1.0:
            continue
        share = math.log1p(known.joint_gap_ratio) / len(known.joint_gap_fields)
        for field in known.joint_gap_fields:
            counts[field] = counts.get(field, 0) + 1
            logs[field] = logs.get(field, 0.0) + share
    order = sorted(counts, key=lambda field: (-round_ratio(logs[field]), field))
    return tuple(
        FieldGap(field=field, shapes=counts[field], log_gap=logs[field]) for field in order
    )
