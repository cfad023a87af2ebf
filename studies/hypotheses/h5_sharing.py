"""H5: reads and writes share the bandwidth of global memory.

(a) The operator's heuristic compares compute power with the HBM bandwidth as if C cost nothing
there. The correction takes only the reads' part of it: hbm_bw * reads / (reads + writes), with
reads = A and B and writes = what of C does not stay in the usable L2. It enters the two edges of
the base block search (specification: host-tiling.md, section 4).
"""

from baseline.what_if import WhatIf
from hwmodel.plan import KernelPlan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from studies.hypotheses.answers import SharedBandwidth
from studies.hypotheses.case import batch_legal, decide_if
from studies.protocol import Case, Statement


class SharingHypothesis:
    """The operator's heuristic with the reads' share of the bandwidth."""

    @property
    def statement(self) -> Statement:
        """What is claimed, stated before any run."""
        return Statement(
            id="h5",
            title="reads and writes share the bandwidth",
            claim=(
                "Reads and writes share the bandwidth of global memory, and counting with that"
                " changes decisions for the better."
            ),
            domain="Shapes that write more elements than they read: M*N > M*K + K*N.",
            control="The operator's plan.",
            treatment=(
                "The better by the pipeline model of that plan and what the heuristic decides"
                " when its HBM bandwidth is multiplied by reads / (reads + writes)."
            ),
            falsifier=(
                "The mean gain's interval ends below 0.5 % and fewer than 1 % of the shapes gain"
                " more than 5 %."
            ),
        )

    def in_domain(self, case: Case) -> bool:
        """More written than read."""
        return is_output_heavy(case.problem)

    def alternatives(self, case: Case) -> PlanBatch | None:
        """The corrected heuristic's plan, where it is another one."""
        return batch_legal(case, [decide_corrected(case)])


def is_output_heavy(problem: GemmProblem) -> bool:
    """M*N > M*K + K*N (specification: studies.md, H5)."""
    m, k, n = problem.m, problem.k, problem.n
    return m * n > m * k + k * n


def compute_hbm_share(case: Case) -> tuple[int, int, float]:
    """Bytes read, bytes of C beyond the usable L2, and the reads' share of both."""
    problem, spec = case.problem, case.spec
    usable = int(spec.buffers.l2_bytes * min(1.0, spec.cache.l2_usable_ratio))
    reads = problem.a_total_bytes + problem.b_total_bytes
    writes = max(0, problem.c_total_bytes - usable)
    return reads, writes, reads / (reads + writes)


def decide_corrected(case: Case) -> KernelPlan:
    """The operator's plan with the corrected bandwidth."""
    return decide_if(case, WhatIf(hbm_share=compute_hbm_share(case)[2]))


def measure_shared_bandwidth(case: Case) -> SharedBandwidth:
    """The correction and whether it changes the decision."""
    reads, writes, share = compute_hbm_share(case)
    return SharedBandwidth(
        read_bytes=reads,
        write_bytes=writes,
        hbm_share=share,
        c_over_l2=case.problem.c_total_bytes / case.spec.buffers.l2_bytes,
        changes_decision=decide_corrected(case) != case.baseline,
    )
