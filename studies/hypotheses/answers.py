"""What the hypotheses say about one problem: plans, predicted and judged times, figures behind it.

Everything here goes into the journal and the results of a run and comes back unchanged: frozen
dataclasses of numbers, text, plans, tuples and optional values. Times are microseconds, sizes
bytes. Notation: r = t_control / t_treatment; a gain is r - 1.
"""

from dataclasses import dataclass

from hwmodel.plan import KernelPlan
from hwmodel.problem import GemmProblem
from studies.gap import Coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPlan:
    """A plan with the selector's and the judge's predicted time at nominal hardware."""

    plan: KernelPlan
    selector_us: float
    judge_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Control against treatment on one problem.

    Attributes:
        study: what is compared: `h1` .. `h6`, `joint`, `opt`, or one of their variants, e.g.
            `h1_frozen_load`, `h5_selector`, `joint_without_h1` (`studies.hypotheses.registry`).
        control: the plan compared with.
        treatment: the selector's choice among the control and the alternatives.
        candidates: plans that the selector chose from, the control included.
        changed_fields: names of the plan's fields in which the treatment differs.
        coverage: how far the two plans lie from the measured kernels.
        resolved: the judge's difference is larger than twice its median error in the classes of
            both kernels, and both templates were measured.
        pipeline_draws: r by the selector's model at each draw of the hardware, the best of the
            nominal top and the control being taken again at each.
        emulator_draws: r by the judge at each draw, for the plans as they are.
    """

    study: str
    control: JudgedPlan
    treatment: JudgedPlan
    candidates: int
    changed_fields: tuple[str, ...]
    coverage: Coverage
    resolved: bool
    pipeline_draws: tuple[float, ...]
    emulator_draws: tuple[float, ...]

    @property
    def judged_ratio(self) -> float:
        """Ratio r by the judge: above 1 the treatment is faster."""
        return self.control.judge_us / self.treatment.judge_us

    @property
    def selected_ratio(self) -> float:
        """Ratio r by the selector, never below 1."""
        return self.control.selector_us / self.treatment.selector_us

    @property
    def optimism_ratio(self) -> float:
        """The selector's gain less the judge's."""
        return self.selected_ratio - self.judged_ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class TileScoring:
    """H1: the operator's proxy against a model as the score of a base tile.

    Attributes:
        pairs: (base_m, base_n) that the operator's own loop visits.
        plans: distinct legal plans that these lead to by the operator's rules.
        proxy_regret_ratio: by the selector, t_baseline / t_best candidate - 1.
        judged_regret_ratio: the same by the judge, over the selector's best few candidates and
            the baseline: a lower bound of the judge's own regret.
        judged_candidates: how many the judge saw for that.
        tile_ratio: r by the judge with the full-load decision frozen: the tile alone.
        template_ratio: r over `tile_ratio`: what the changed full-load decision adds.
    """

    pairs: int
    plans: int
    proxy_regret_ratio: float
    judged_regret_ratio: float
    judged_candidates: int
    tile_ratio: float
    template_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPoint:
    """H2: one window of the baseline's plan, judged.

    `l2_hit_ratio` is the share of loads that caused no read of HBM.
    """

    window_len: int
    serpentine: bool
    selector_us: float
    judge_us: float
    l2_hit_ratio: float
    hbm_read_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowEffect:
    """H2: what the order of blocks does.

    Attributes:
        m_tiles: block rows.
        n_tiles: block columns.
        control: the operator's window.
        treatment: the chosen one.
        tail_ratio: r by the judge on a chip whose L2 holds everything: blocks of the last round
            and the order of first accesses, no capacity.
        l2_ratio: r over `tail_ratio`: what the reuse in a finite L2 adds.
        sweep: every window of the space, serpentine first, longest last.
    """

    m_tiles: int
    n_tiles: int
    control: WindowPoint
    treatment: WindowPoint
    tail_ratio: float
    l2_ratio: float
    sweep: tuple[WindowPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidencyEffect:
    """H3: what keeping a part of an operand in L1 saves.

    The best resident plan is described even where the selector keeps the control.

    Attributes:
        best: the selector's best plan with resident slabs.
        control_load_bytes: bytes the control moves into L1.
        best_load_bytes: bytes that `best` moves into L1.
        control_hbm_bytes: bytes the control reads from HBM.
        best_hbm_bytes: bytes that `best` reads from HBM.
        control_l1_bytes: L1 that the control uses.
        best_l1_bytes: L1 that `best` uses.
        a_over_l1: bytes of A over those of L1: below 1 it would fit.
        b_over_l1: bytes of B over those of L1.
    """

    best: JudgedPlan
    control_load_bytes: int
    best_load_bytes: int
    control_hbm_bytes: int
    best_hbm_bytes: int
    control_l1_bytes: int
    best_l1_bytes: int
    a_over_l1: float
    b_over_l1: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputEffect:
    """H4: the two ways of C out of L0C, both judged.

    Attributes:
        row_bytes: bytes of a row of C.
        row_align_bytes: largest power of two up to 128 that divides them.
        direct: the plan that writes C directly.
        through_ub: the plan that writes it through UB.
    """

    row_bytes: int
    row_align_bytes: int
    direct: JudgedPlan
    through_ub: JudgedPlan

    @property
    def fixpipe_ratio(self) -> float:
        """t_direct / t_through_ub by the judge: above 1 the fixpipe output pays."""
        return self.direct.judge_us / self.through_ub.judge_us


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBandwidth:
    """H5 (a): what the corrected bandwidth changes in the operator's decision.

    Attributes:
        read_bytes: A and B.
        write_bytes: C beyond the usable L2.
        hbm_share: reads / (reads + writes), the factor of the heuristic's HBM bandwidth.
        c_over_l2: bytes of C over those of L2.
        changes_decision: the corrected heuristic decides otherwise.
    """

    read_bytes: int
    write_bytes: int
    hbm_share: float
    c_over_l2: float
    changes_decision: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorEffect:
    """H6: cube against vector cores, both judged whatever the selector chose."""

    length: int
    vector: JudgedPlan
    vector_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BestKnown:
    """OPT: the judge's best of everything that was tried.

    Attributes:
        best: the plan.
        found_by: where it came from: `baseline`, `cascade`, or the study whose treatment it is.
        judged: distinct plans that the judge saw for it.
        joint_gap_ratio: t_joint / t_best - 1 by the judge.
        joint_gap_fields: names of the fields in which JOINT's plan differs from it.
    """

    best: JudgedPlan
    found_by: str
    judged: int
    joint_gap_ratio: float
    joint_gap_fields: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeAnswer:
    """All that a run says about one problem.

    Attributes:
        problem: the GEMM.
        strategy: the operator's strategy, e.g. `BASIC_ASWT`.
        baseline: its plan, judged.
        error_class: class of the baseline by its judged time.
        comparisons: one for each study whose domain holds the problem, in the registry's order.
        h1: figures of H1; None out of its domain or when it was not asked for; so for the others.
    """

    problem: GemmProblem
    strategy: str
    baseline: JudgedPlan
    error_class: str
    comparisons: tuple[Comparison, ...]
    h1: TileScoring | None = None
    h2: WindowEffect | None = None
    h3: ResidencyEffect | None = None
    h4: OutputEffect | None = None
    h5: SharedBandwidth | None = None
    h6: VectorEffect | None = None
    opt: BestKnown | None = None

    def find(self, study: str) -> Comparison | None:
        """The comparison of that study; None when its domain does not hold the problem."""
        return next((item for item in self.comparisons if item.study == study), None)
