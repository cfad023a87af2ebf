"""What the hypotheses come to over all shapes: verdicts, intervals, losses, savings, robustness.

Like the answers, these values go into the results of a run and come back unchanged. Ratios are
r = t_control / t_treatment by the judge unless said otherwise.
"""

from dataclasses import dataclass
from enum import StrEnum

from studies.hypotheses.answers import ShapeAnswer
from studies.protocol import Statement
from studies.shape_rows import ShapeRow


class Verdict(StrEnum):
    """The four answers (specification: studies.md, "Hypotheses")."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    MIXED = "mixed"
    NOT_TESTED = "not_tested"


class RowState(StrEnum):
    """Whether a row has an answer."""

    OK = "ok"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudiedRow:
    """A row of the shapes file or of a domain list.

    Attributes:
        row: the row.
        source: name of the bundled domain list (`h4`, `h5`, `h6`); empty for the shapes file.
        state: whether there is an answer.
        message: why there is none; empty when there is.
    """

    row: ShapeRow
    source: str
    state: RowState
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioSummary:
    """Ratios of one set of shapes, each distinct problem counted once, and the verdict on them.

    Attributes:
        shapes: distinct problems.
        clusters: (model, layer), or (k, n) where there is no model.
        geomean: geometric mean of r; 1 without shapes.
        low: lower end of the 95 % interval of the geometric mean over clusters; None with fewer
            than two clusters.
        high: its upper end.
        wins: shapes with r > 1.01.
        ties: shapes between.
        losses: shapes with r < 1/1.01.
        large_wins: shapes with r > 1.05.
        large_losses: shapes with r < 1/1.05.
        best: largest r; 1 without shapes.
        worst: least r; 1 without shapes.
        verdict: by the rules of `studies.hypotheses.statistics`.
    """

    shapes: int
    clusters: int
    geomean: float
    low: float | None
    high: float | None
    wins: int
    ties: int
    losses: int
    large_wins: int
    large_losses: int
    best: float
    worst: float
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Subdomain:
    """One part of a domain under a split that was stated before any run.

    A part is chosen on two thirds of the shapes, by hash of (k, n), and scored on the rest.

    Attributes:
        split: what the domain is split by, e.g. `rows M`.
        part: the part in words, e.g. `M >= 2048`.
        summary: all shapes of the part.
        chosen: the verdict on the two thirds is `supported`, by the rules without the least
            number of shapes.
        held_out: the other third, which did not decide.
    """

    split: str
    part: str
    summary: RatioSummary
    chosen: bool
    held_out: RatioSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Robustness:
    """How many draws of the hardware give the nominal verdict.

    `pipeline_verdicts` and `emulator_verdicts` hold the verdict of each draw, in order;
    `is_robust` is None when nothing was drawn or the verdict is `not_tested`.
    """

    pipeline_verdicts: tuple[Verdict, ...]
    emulator_verdicts: tuple[Verdict, ...]
    agreeing_ratio: float
    geomean_low: float
    geomean_high: float
    is_robust: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassSaving:
    """Time of the GEMMs of one forward pass (training: one step) on one device, judged.

    Shapes outside the domain count with the control's time. `per_token_us` is what each of the
    tokens in flight saves; None where the tokens are unknown.
    """

    model: str
    tp: int | None
    phase: str
    tokens: int | None
    shapes: int
    control_us: float
    treatment_us: float

    @property
    def saved_us(self) -> float:
        """Saved in a pass."""
        return self.control_us - self.treatment_us

    @property
    def saved_ratio(self) -> float:
        """Saved part of the pass."""
        return self.saved_us / self.control_us if self.control_us > 0 else 0.0

    @property
    def per_token_us(self) -> float | None:
        """Saved per token in flight."""
        return self.saved_us / self.tokens if self.tokens else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCost:
    """What a launch would pay for choosing by the model.

    Attributes:
        candidates_median: plans to score for a shape of the domain, median.
        candidates_max: the most.
        ns_per_candidate: time of the batch model for a plan, measured (`host_cost`).
        launch_cost_us: median candidates at that rate, beside the heuristic's own time.
        pays_from_us: kernel time from which the mean gain exceeds it; None without a gain.
        paying_shapes: domain shapes whose own gain exceeds their own cost.
    """

    candidates_median: float
    candidates_max: int
    ns_per_candidate: float
    launch_cost_us: float
    pays_from_us: float | None
    paying_shapes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyVerdict:
    """One study over all its domain shapes.

    Attributes:
        study: id, as in `Comparison.study`.
        parent: the hypothesis that a variant belongs to; empty for a hypothesis itself.
        statement: the sentences stated before the run.
        is_judged: it has a verdict of its own; else its numbers are reported without one.
        summary: the whole domain.
        subdomains: its parts, every stated split and part.
        holds_for: the parts that are supported, as `split: part`, when the verdict is mixed.
        weighted_geomean: over all rows of the shapes file by normalised weight, 1 outside the
            domain.
        savings: time of a pass of each model.
        optimism_mean: mean of the selector's gain less the judge's.
        selected_geomean: geometric mean of r by the selector.
        resolved: domain shapes whose difference exceeds the judge's error.
        extrapolated: domain shapes whose plans leave the measured data.
        robustness: over the draws of the hardware.
        host_cost: of choosing by the model at every launch; None where a rule decides.
    """

    study: str
    parent: str
    statement: Statement
    is_judged: bool
    summary: RatioSummary
    subdomains: tuple[Subdomain, ...]
    holds_for: tuple[str, ...]
    weighted_geomean: float
    savings: tuple[PassSaving, ...]
    optimism_mean: float
    selected_geomean: float
    resolved: int
    extrapolated: int
    robustness: Robustness
    host_cost: HostCost | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyQuality:
    """H1: how good the operator's proxy is among its own candidates.

    Attributes:
        shapes: domain shapes.
        within_1pct: those whose baseline is within 1 % of the selector's best candidate.
        judged_within_1pct: the same by the judge, over the candidates that it saw.
        worst: labels of the shapes with the largest regret by the judge, worst first.
    """

    shapes: int
    within_1pct: int
    judged_within_1pct: int
    worst: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingError:
    """H5 (c): error of the emulator on the measured rows of the domain, locked rows left out.

    Attributes:
        shares: reads and writes share the bandwidth.
        rows: measured rows of the domain.
        median_ape: median absolute error, a ratio.
        mean_ape: mean.
        p90_ape: 90th percentile.
        constants: names of the refitted constants.
        values: their values, in the order of the names.
    """

    shares: bool
    rows: int
    median_ape: float
    mean_ape: float
    p90_ape: float
    constants: tuple[str, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldGap:
    """OPT against JOINT: a field in which the two plans differ.

    `shapes` counts problems with a gap above 1 % in which the field differs; `log_gap` is the sum
    of log(t_joint / t_best), each problem's shared equally among its differing fields.
    """

    field: str
    shapes: int
    log_gap: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyResults:
    """A run: what was asked, every answer, every verdict.

    Attributes:
        effort: preset, which fixes draws, judged candidates and domain lists.
        selector: name and version of the model that chose.
        judge: name and version of the model that judged.
        pipeline_draws: draws of the hardware for the selector's model.
        emulator_draws: draws for the judge.
        rows: rows of the shapes file, then those of the domain lists.
        answers: one per distinct problem that the operator accepts, in the order of the rows.
        verdicts: in the registry's order.
        proxy: H1's own figures; None when it was not asked for; so for the others.
        sharing: H5 (c), without and with sharing.
        field_gaps: OPT against JOINT, largest first.
    """

    effort: str
    selector: str
    judge: str
    pipeline_draws: int
    emulator_draws: int
    rows: tuple[StudiedRow, ...]
    answers: tuple[ShapeAnswer, ...]
    verdicts: tuple[StudyVerdict, ...]
    proxy: ProxyQuality | None
    sharing: tuple[SharingError, ...]
    field_gaps: tuple[FieldGap, ...]
