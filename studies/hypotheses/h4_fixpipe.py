"""H4: the fixpipe output (C through UB and the vector cores) beyond its narrow condition.

The operator takes it for K up to 256, M from 256, more blocks than cores and rows of C that are
not whole 128-byte lines. Here the model decides; the L1 tile and UB buffering follow by the
operator's rules for either way out, and the full load stays as it was.
"""

from baseline.dispatch import Strategy
from baseline.what_if import WhatIf
from hwmodel.plan import L0cOutput, Template
from hwmodel.plan_batch import PlanBatch
from studies.hypotheses.answers import OutputEffect
from studies.hypotheses.case import batch_legal, decide_if
from studies.hypotheses.models import CaseModels
from studies.protocol import Case, Statement

LINE_BYTES = 128
"""Memory is written in lines of this size (specification: kernels.md)."""


class OutputHypothesis:
    """The way of C out of L0C by the model."""

    @property
    def statement(self) -> Statement:
        """What is claimed, stated before any run."""
        return Statement(
            id="h4",
            title="the fixpipe output by the model",
            claim="Writing C through UB pays beyond the operator's narrow condition.",
            domain=(
                "Kernels of BASIC_ASWT without A full load, on a chip with two vector cores per"
                " cube core."
            ),
            control="The operator's plan.",
            treatment=(
                "The plan with the way out of L0C that the pipeline model holds for the better,"
                " the L1 tile following by the operator's rules."
            ),
            falsifier=(
                "The mean gain's interval ends below 0.5 % and fewer than 1 % of the shapes gain"
                " more than 5 %."
            ),
        )

    def in_domain(self, case: Case) -> bool:
        """ASWT or B full load with two vector cores per cube core."""
        cores = case.spec.cores
        return (
            case.decision.strategy is Strategy.BASIC_ASWT
            and case.baseline.template is not Template.A_FULL
            and cores.aiv_num == 2 * cores.aic_num
        )

    def alternatives(self, case: Case) -> PlanBatch | None:
        """The plan with the other way out, where it is legal."""
        is_direct = case.baseline.l0c_output is L0cOutput.ON_THE_FLY
        other = L0cOutput.FIXPIPE if is_direct else L0cOutput.ON_THE_FLY
        given = WhatIf(full_load=case.decision.key.full_load, l0c_output=other)
        return batch_legal(case, [decide_if(case, given)])


def measure_output_effect(
    models: CaseModels, alternatives: PlanBatch | None
) -> OutputEffect | None:
    """Both ways out, judged; None where there is only one."""
    if alternatives is None:
        return None
    case = models.case
    pair = [models.judge(plan) for plan in (case.baseline, alternatives.plan(0))]
    if case.baseline.l0c_output is L0cOutput.FIXPIPE:
        pair.reverse()
    row_bytes = case.problem.n * case.problem.out_dtype.size_bytes
    return OutputEffect(
        row_bytes=row_bytes,
        row_align_bytes=min(LINE_BYTES, row_bytes & -row_bytes),
        direct=pair[0],
        through_ub=pair[1],
    )
