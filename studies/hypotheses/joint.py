"""JOINT: the improvements together, and without each of them in turn.

The candidates are the product of H1's tiles, H2's windows, H3's residency and H4's ways out, and
H6's vector kernel; all else goes by the operator's rules. They are built once, as columns with a
mark for each improvement that a row makes use of, and a leave-out is the rows without that mark.

So that the product stays small, a tile of H1 keeps as many slabs as fit, for every length of an L1
step; with the operator's own tile every number is tried, as in H3.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from baseline.dispatch import Strategy
from baseline.what_if import WhatIf
from hwmodel.derived import runs_fp32_split_k
from hwmodel.integers import ceil_div
from hwmodel.legality import check
from hwmodel.plan import KernelPlan, L0cOutput, Template, canonical_plan
from hwmodel.plan_batch import PlanBatch
from studies.hypotheses.case import decide_if
from studies.hypotheses.h1_tile_score import list_tiles
from studies.hypotheses.h2_window import WALKING_TEMPLATES
from studies.hypotheses.h3_residency import (
    PANEL_TEMPLATES,
    PARTIAL_TEMPLATES,
    build_resident,
    count_fitting,
    iterate_resident,
)
from studies.hypotheses.h6_vector import VectorHypothesis, build_vector_plan
from studies.hypotheses.models import CaseModels, Choice
from studies.hypotheses.sharing import stop_sharing
from studies.protocol import Case, Statement
from studies.windows import select_windows

JOINT = "joint"
"""Id of the union."""
USES = ("h1", "h2", "h3", "h4", "h6")
"""Improvements that a candidate may make use of; H5 is in the selector."""

BoolColumn = NDArray[np.bool_]

STATEMENT = Statement(
    id=JOINT,
    title="the six together",
    claim="The improvements together are worth more than any of them alone.",
    domain="All shapes.",
    control="The operator's plan.",
    treatment=(
        "The best by the pipeline model over H1's tiles, H2's windows, H3's residency, H4's ways"
        " out and H6's vector kernel, all else by the operator's rules."
    ),
    falsifier=(
        "The mean gain's interval ends below 0.5 % and fewer than 1 % of the shapes gain more"
        " than 5 %."
    ),
)
"""What is claimed, stated before any run."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointCandidates:
    """Candidates beside the baseline.

    Attributes:
        plans: as columns.
        uses: for each improvement, the rows that make use of it.
    """

    plans: PlanBatch
    uses: dict[str, BoolColumn]

    def rows_without(self, improvement: str) -> BoolColumn:
        """Rows that do not make use of it."""
        return ~self.uses[improvement]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seed:
    """A plan with the operator's window, and the improvements that it makes use of."""

    plan: KernelPlan
    uses: tuple[str, ...]


def build_candidates(case: Case) -> JointCandidates:
    """The product of the improvements for one problem; empty where none applies."""
    seeds = list(_iterate_seeds(case))
    batch = PlanBatch.from_plans([seed.plan for seed in seeds])
    marks = {
        name: np.array([name in seed.uses for seed in seeds], dtype=np.bool_) for name in USES
    }
    rows, lengths, serpentines, changed = _spread_windows(case, [seed.plan for seed in seeds])
    plans = replace(batch.select(rows), window_len=lengths, serpentine=serpentines)
    uses = {name: marks[name][rows] for name in USES}
    uses["h2"] = changed
    return JointCandidates(plans=plans, uses=uses)


def choose_jointly(models: CaseModels, candidates: JointCandidates) -> dict[str, Choice]:
    """The selector's choice by study: `joint`, and `joint_without_h1` to `joint_without_h6`.

    Without H5 the candidates are all there, but the selector gives reads and writes the whole
    bandwidth each.
    """
    plans = candidates.plans
    everything = np.ones(len(plans), dtype=np.bool_)
    parts = {JOINT: everything}
    parts |= {f"{JOINT}_without_{name}": candidates.rows_without(name) for name in USES}
    times = models.select_us(plans)
    choices = {
        study: models.choose_timed(plans.select(rows), times[rows])
        for study, rows in parts.items()
    }
    alone = stop_sharing(models.case.spec)
    choices[f"{JOINT}_without_h5"] = models.choose(plans, spec=alone)
    return dict(sorted(choices.items()))


def _iterate_seeds(case: Case) -> Iterator[_Seed]:
    """Every candidate once, with the operator's window."""
    if VectorHypothesis().in_domain(case):
        vector = build_vector_plan(case)
        if not check(case.problem, case.spec, vector):
            yield _Seed(plan=vector, uses=("h6",))
    if case.decision.strategy is not Strategy.BASIC_ASWT:
        yield _Seed(plan=case.baseline, uses=())
        return
    given = [(WhatIf(), ()), *((WhatIf(base_tile=tile), ("h1",)) for tile in list_tiles(case))]
    seen: set[tuple[KernelPlan, tuple[str, ...]]] = set()
    for what_if, uses in given:
        for seed in _iterate_ways_out(case, what_if, uses):
            if (seed.plan, seed.uses) in seen or check(case.problem, case.spec, seed.plan):
                continue
            seen.add((seed.plan, seed.uses))
            yield seed
            yield from _iterate_residency(case, seed)


def _iterate_ways_out(case: Case, what_if: WhatIf, uses: tuple[str, ...]) -> Iterator[_Seed]:
    """The way out of L0C by the operator's rule, then the other one."""
    plan = decide_if(case, what_if)
    yield _Seed(plan=plan, uses=uses)
    is_direct = plan.l0c_output is L0cOutput.ON_THE_FLY
    other = L0cOutput.FIXPIPE if is_direct else L0cOutput.ON_THE_FLY
    changed = decide_if(case, replace(what_if, l0c_output=other))
    if changed.l0c_output is other:
        yield _Seed(plan=changed, uses=(*uses, "h4"))


def _iterate_residency(case: Case, seed: _Seed) -> Iterator[_Seed]:
    """The templates that keep slabs, where the seed is plain ASWT."""
    plan, problem = seed.plan, case.problem
    is_plain = plan.template is Template.ASWT and plan.l0c_output is L0cOutput.ON_THE_FLY
    if not is_plain or runs_fp32_split_k(problem, plan):
        return
    uses = (*seed.uses, "h3")
    for template in (*PARTIAL_TEMPLATES, *PANEL_TEMPLATES):
        if "h1" not in seed.uses:
            yield from (
                _Seed(plan=resident, uses=uses)
                for resident in iterate_resident(case, plan, template)
            )
            continue
        for step_k in range(1, ceil_div(problem.k, plan.base_k) + 1):
            counts = set(count_fitting(case, plan, template, step_k)) - {0}
            if not counts:
                break
            for slabs in sorted(counts):
                resident = build_resident(problem, case.spec, plan, template, step_k, slabs)
                yield _Seed(plan=canonical_plan(problem, resident), uses=uses)


def _spread_windows(
    case: Case, plans: Sequence[KernelPlan]
) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64], BoolColumn]:
    """Each plan with every window of its grid.

    Returns:
        the row of the plan, window length, serpentine, and whether the window is not the
        operator's, of every candidate.
    """
    rows: list[int] = []
    lengths: list[int] = []
    serpentines: list[bool] = []
    changed: list[bool] = []
    for row, plan in enumerate(plans):
        own = (plan.window_len, plan.serpentine)
        for window in _list_windows(case, plan):
            rows.append(row)
            lengths.append(window[0])
            serpentines.append(window[1])
            changed.append(window != own)
    return (
        np.array(rows, dtype=np.intp),
        np.array(lengths, dtype=np.int64),
        np.array(serpentines, dtype=np.int64),
        np.array(changed, dtype=np.bool_),
    )


def _list_windows(case: Case, plan: KernelPlan) -> Sequence[tuple[int, bool]]:
    """The plan's own window first, then the others of the space where its template walks them."""
    own = (plan.window_len, plan.serpentine)
    if plan.template not in {*WALKING_TEMPLATES, *PANEL_TEMPLATES}:
        return (own,)
    m_tiles, n_tiles = plan.m_tiles(case.problem), plan.n_tiles(case.problem)
    if plan.template is Template.B_PANEL:
        m_tiles, n_tiles = n_tiles, m_tiles
    return tuple(dict.fromkeys((own, *select_windows(m_tiles, n_tiles, plan.used_core_num))))
