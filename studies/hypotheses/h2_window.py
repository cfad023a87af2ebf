"""H2: a window fitted to shape, L2 and cores against the constant 4.

The window decides the order in which cores take blocks: what is still in L2 when it is needed
again, and which blocks are left for the last round. The two parts are told apart by a chip whose
L2 holds everything: what the window gains there is not reuse.
"""

from dataclasses import replace

from hwmodel.emulator.summary import compute_l2_hit_ratio
from hwmodel.plan import KernelPlan, Template
from hwmodel.plan_batch import PlanBatch
from studies.hypotheses.answers import Comparison, WindowEffect, WindowPoint
from studies.hypotheses.case import batch_legal
from studies.hypotheses.models import CaseModels
from studies.hypotheses.traffic import emulate_plan, widen_l2
from studies.protocol import Case, Statement
from studies.windows import select_windows

WALKING_TEMPLATES = (Template.ASWT, Template.STREAM_K)
"""The operator's templates whose blocks go by windows."""


class WindowHypothesis:
    """Same plan, other order of blocks."""

    @property
    def statement(self) -> Statement:
        """What is claimed, stated before any run."""
        return Statement(
            id="h2",
            title="a fitted window",
            claim="A swizzle window fitted to shape, L2 and cores beats the constant 4.",
            domain=(
                "Kernels without full load that have at least two rows and two columns of blocks."
            ),
            control="The operator's plan with its window of 4 block rows.",
            treatment="The same plan with the window that the pipeline model holds for the best.",
            falsifier=(
                "The mean gain's interval ends below 0.5 % and fewer than 1 % of the shapes gain"
                " more than 5 %."
            ),
        )

    def in_domain(self, case: Case) -> bool:
        """At least two block rows and columns, no full load."""
        plan = case.baseline
        tiles = plan.m_tiles(case.problem), plan.n_tiles(case.problem)
        return plan.template in WALKING_TEMPLATES and min(tiles) > 1

    def alternatives(self, case: Case) -> PlanBatch | None:
        """The baseline with every other window of the space."""
        return batch_legal(case, list_windowed(case, case.baseline))


def list_windowed(case: Case, plan: KernelPlan) -> list[KernelPlan]:
    """The plan with every window of the space (specification: plan.md, "Window length")."""
    m_tiles, n_tiles = plan.m_tiles(case.problem), plan.n_tiles(case.problem)
    return [
        replace(plan, window_len=window_len, serpentine=serpentine)
        for window_len, serpentine in select_windows(m_tiles, n_tiles, plan.used_core_num)
    ]


def measure_window_effect(models: CaseModels, comparison: Comparison) -> WindowEffect:
    """What the chosen window does, its parts, and every window of the space beside it."""
    case = models.case
    before, after = comparison.control, comparison.treatment
    wide = widen_l2(case.spec)
    ticks = [
        emulate_plan(case.problem, wide, side.plan).makespan_ticks for side in (before, after)
    ]
    tail_ratio = ticks[0] / ticks[1]
    control, treatment = (_measure_point(models, side.plan) for side in (before, after))
    sweep = list_windowed(case, case.baseline)
    ordered = sorted(sweep, key=lambda plan: (not plan.serpentine, plan.window_len))
    return WindowEffect(
        m_tiles=case.baseline.m_tiles(case.problem),
        n_tiles=case.baseline.n_tiles(case.problem),
        control=control,
        treatment=treatment,
        tail_ratio=tail_ratio,
        l2_ratio=comparison.judged_ratio / tail_ratio,
        sweep=tuple(_measure_point(models, plan) for plan in ordered),
    )


def _measure_point(models: CaseModels, plan: KernelPlan) -> WindowPoint:
    """One window, judged, with what it read."""
    case = models.case
    result = emulate_plan(case.problem, case.spec, plan)
    judged = models.judge(plan)
    return WindowPoint(
        window_len=plan.window_len,
        serpentine=plan.serpentine,
        selector_us=judged.selector_us,
        judge_us=judged.judge_us,
        l2_hit_ratio=compute_l2_hit_ratio(result),
        hbm_read_bytes=result.hbm_read_bytes,
    )
