"""H1: the base tile scored by a model instead of the operator's proxy.

The candidates are the pairs that the operator's own loop visits, with its alignments and bounds;
everything after the pair goes by its rules (specification: studies.md, H1). With the full-load
decision frozen, what remains is the tile's own effect.
"""

from baseline.base_block import iterate_search_tiles
from baseline.dispatch import Strategy
from baseline.platform import Platform
from baseline.tiling_key import FullLoad
from baseline.what_if import WhatIf
from hwmodel.plan import KernelPlan, L0cOutput
from hwmodel.plan_batch import PlanBatch
from studies.hypotheses.answers import Comparison, TileScoring
from studies.hypotheses.case import batch_legal, decide_if
from studies.hypotheses.models import CaseModels, Choice
from studies.protocol import Case, Statement


class TileScoreHypothesis:
    """The best of the operator's own candidates by the model."""

    @property
    def statement(self) -> Statement:
        """What is claimed, stated before any run."""
        return Statement(
            id="h1",
            title="the base tile by a model",
            claim=(
                "Scoring (base_m, base_n) by a model beats the operator's proxy of traffic and"
                " load balance."
            ),
            domain="Kernels that the operator gives to BASIC_ASWT.",
            control="The operator's plan.",
            treatment=(
                "The plan of the pair that the pipeline model holds for the best, among the pairs"
                " that the operator's own loop visits, everything after it by the operator's"
                " rules."
            ),
            falsifier=(
                "The mean gain's interval ends below 0.5 % and fewer than 1 % of the shapes gain"
                " more than 5 %."
            ),
        )

    def in_domain(self, case: Case) -> bool:
        """The operator runs BASIC_ASWT."""
        return case.decision.strategy is Strategy.BASIC_ASWT

    def alternatives(self, case: Case) -> PlanBatch | None:
        """The legal plans of all pairs."""
        return batch_legal(case, list_tile_plans(case))


def list_tiles(case: Case) -> tuple[tuple[int, int], ...]:
    """The pairs that the operator's loop visits."""
    return tuple(iterate_search_tiles(case.problem, Platform.from_spec(case.spec)))


def list_tile_plans(
    case: Case, *, full_load: FullLoad | None = None, l0c_output: L0cOutput | None = None
) -> tuple[KernelPlan, ...]:
    """The operator's plan for each pair, legal or not, each once, in the order of the loop."""
    plans = (
        decide_if(case, WhatIf(base_tile=tile, full_load=full_load, l0c_output=l0c_output))
        for tile in list_tiles(case)
    )
    return tuple(dict.fromkeys(plans))


def choose_frozen(models: CaseModels) -> Choice:
    """The selector's choice with the operator's full-load decision kept for every pair."""
    case = models.case
    frozen = list_tile_plans(case, full_load=case.decision.key.full_load)
    return models.choose(batch_legal(case, frozen))


def measure_tile_scoring(
    models: CaseModels, choice: Choice, comparison: Comparison, frozen: Comparison
) -> TileScoring:
    """How good the proxy is among its own candidates, by both models."""
    case = models.case
    seen = choice.top[: models.depth.judged_tiles]
    baseline_us = models.judge_us(case.baseline)
    best_us = min([baseline_us, *(models.judge_us(plan) for plan in seen)])
    return TileScoring(
        pairs=len(list_tiles(case)),
        plans=choice.candidates,
        proxy_regret_ratio=comparison.selected_ratio - 1.0,
        judged_regret_ratio=baseline_us / best_us - 1.0,
        judged_candidates=len(seen),
        tile_ratio=frozen.judged_ratio,
        template_ratio=comparison.judged_ratio / frozen.judged_ratio,
    )
