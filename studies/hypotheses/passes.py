"""What a study is worth to a model: weighted mean and time saved in a forward pass.

Over the rows of the shapes file; outside a study's domain the operator's plan stays (r = 1).
Weights are normalised to 1 for each model and phase in the mean, and stay calls of a pass in the
savings.
"""

import math
from collections.abc import Sequence

from studies.hypotheses.answers import ShapeAnswer
from studies.hypotheses.domain import Answers, list_counted
from studies.hypotheses.statistics import geometric_mean, round_ratio
from studies.hypotheses.verdicts import PassSaving, StudiedRow
from studies.shape_rows import ShapeRow


def weigh_ratios(study: str, rows: Sequence[StudiedRow], answers: Answers) -> float:
    """Geometric mean over the rows of the shapes file by normalised weight."""
    counted = list_counted(rows, answers)
    totals: dict[tuple[str, str], float] = {}
    for row, _ in counted:
        key = (row.model, row.phase)
        totals[key] = totals.get(key, 0.0) + row.weight
    ratios = [_ratio_or_one(answer, study) for _, answer in counted]
    weights = [
        row.weight / totals[row.model, row.phase] if totals[row.model, row.phase] > 0 else 0.0
        for row, _ in counted
    ]
    return geometric_mean(ratios, weights)


def _ratio_or_one(answer: ShapeAnswer, study: str) -> float:
    comparison = answer.find(study)
    return 1.0 if comparison is None else round_ratio(comparison.judged_ratio)


def sum_passes(study: str, rows: Sequence[StudiedRow], answers: Answers) -> tuple[PassSaving, ...]:
    """Judged time of a pass of each model, in the order of the file."""
    passes: dict[tuple[str, int | None, str, int | None], list[tuple[ShapeRow, ShapeAnswer]]] = {}
    for row, answer in list_counted(rows, answers):
        if row.model or row.phase:
            key = (row.model, row.tp, row.phase, row.tokens)
            passes.setdefault(key, []).append((row, answer))
    return tuple(
        PassSaving(
            model=model,
            tp=tp,
            phase=phase,
            tokens=tokens,
            shapes=len(members),
            control_us=math.fsum(row.weight * _times(answer, study)[0] for row, answer in members),
            treatment_us=math.fsum(
                row.weight * _times(answer, study)[1] for row, answer in members
            ),
        )
        for (model, tp, phase, tokens), members in passes.items()
    )


def _times(answer: ShapeAnswer, study: str) -> tuple[float, float]:
    """Judged times of control and treatment; the baseline's out of the domain."""
    comparison = answer.find(study)
    if comparison is None:
        return answer.baseline.judge_us, answer.baseline.judge_us
    return comparison.control.judge_us, comparison.treatment.judge_us
