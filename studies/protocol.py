"""What a hypothesis is: sentences stated before any run, a domain, and plans beside the control.

Specification: studies.md, "Hypotheses". The treatment of every hypothesis is what the selector
(the pipeline model at nominal hardware) chooses among the control and the alternatives; the judge
(the emulator) says what that choice is worth.
"""

from dataclasses import dataclass
from typing import Protocol

from baseline.decision import BaselineDecision
from hwmodel.plan import KernelPlan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is claimed, and what would refute it; one plain sentence each, fixed before any run.

    Attributes:
        id: short name, as `--study` takes it, e.g. `h1`.
        title: the claim in a few words, for tables and figures.
        claim: what is held to be true.
        domain: the shapes that it is about.
        control: what it is compared with.
        treatment: what is compared with the control.
        falsifier: the finding that refutes it.
    """

    id: str
    title: str
    claim: str
    domain: str
    control: str
    treatment: str
    falsifier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One problem on one chip with the vendor's decision.

    Attributes:
        problem: the GEMM.
        spec: the chip at its nominal figures.
        decision: what the operator decides.
        baseline: its plan in canonical form.
    """

    problem: GemmProblem
    spec: HardwareSpec
    decision: BaselineDecision
    baseline: KernelPlan


class Hypothesis(Protocol):
    """One improvement of the operator's host tiling."""

    @property
    def statement(self) -> Statement:
        """What is claimed, stated before any run."""

    def in_domain(self, case: Case) -> bool:
        """Whether the claim is about this problem."""

    def alternatives(self, case: Case) -> PlanBatch | None:
        """Legal plans beside the control, in canonical form; None when there are none.

        Called for problems in the domain only.
        """
