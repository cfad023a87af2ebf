"""Whether a verdict survives what is not known about the hardware.

At each draw of the chip the verdict is taken again: by the selector's model with the nominal top
and the control scored again, by the judge for the plans as they were selected. A verdict is robust
when at least 90 % of all draws give the nominal one (specification: studies.md, "Robust").
"""

from collections.abc import Sequence
from functools import partial

from studies.hypotheses.answers import Comparison
from studies.hypotheses.domain import DomainShape, summarise_ratios
from studies.hypotheses.verdicts import RatioSummary, Robustness, Verdict

ROBUST_SHARE = 0.9
"""Draws that must give the nominal verdict (specification: studies.md, "Robust")."""


def assess_robustness(shapes: Sequence[DomainShape], nominal: RatioSummary) -> Robustness:
    """The verdict at each draw of the hardware.

    Args:
        shapes: the domain, none or more; all were compared at the same draws.
        nominal: the summary at nominal hardware.
    """
    first = shapes[0].comparison if shapes else None
    pipeline = [
        summarise_ratios(shapes, partial(_pipeline_ratio, draw))
        for draw in range(len(first.pipeline_draws) if first else 0)
    ]
    emulator = [
        summarise_ratios(shapes, partial(_emulator_ratio, draw))
        for draw in range(len(first.emulator_draws) if first else 0)
    ]
    drawn = [*pipeline, *emulator]
    agreeing = sum(item.verdict is nominal.verdict for item in drawn)
    share = agreeing / len(drawn) if drawn else 0.0
    is_open = not drawn or nominal.verdict is Verdict.NOT_TESTED
    means = [item.geomean for item in (drawn or [nominal])]
    return Robustness(
        pipeline_verdicts=tuple(item.verdict for item in pipeline),
        emulator_verdicts=tuple(item.verdict for item in emulator),
        agreeing_ratio=share,
        geomean_low=min(means),
        geomean_high=max(means),
        is_robust=None if is_open else share >= ROBUST_SHARE,
    )


def _pipeline_ratio(draw: int, comparison: Comparison) -> float:
    return comparison.pipeline_draws[draw]


def _emulator_ratio(draw: int, comparison: Comparison) -> float:
    return comparison.emulator_draws[draw]
