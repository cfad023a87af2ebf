"""Where each improvement enters the operator's host tiling, in its own terms.

Sections and names of steps are those of the specification (host-tiling.md), which follows the
operator's source.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Work(StrEnum):
    """What has to be changed, least first."""

    HOST_ONLY = "host tiling only"
    KERNEL_PARAMETER = "host tiling, and a parameter that the kernel reads"
    NEW_KERNEL = "a new kernel, and the host tiling that chooses it"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStep:
    """One change.

    Attributes:
        step: the step of the host tiling, with its section in host-tiling.md.
        today: what it does today.
        change: the new condition or formula; `{condition}` stands for the derived one.
        without_condition: the change where no condition was found that holds on its own.
        work: what has to be changed.
        danger: what may go wrong besides the model's error.
    """

    step: str
    today: str
    change: str
    without_condition: str
    work: Work
    danger: str


STEPS: Mapping[str, HostStep] = {
    "h1": HostStep(
        step="rebalance_block, the search loop over (cur_m, cur_n) (section 4)",
        today=(
            "A pair replaces the best one so far when cube_win or trade_win holds: cur_param = "
            "1/cur_m + 1/cur_n against edge, and cur_param/cur_rate against param/rate."
        ),
        change=(
            "Keep the loop and its bounds; score each pair by the pipeline model's time of the "
            "whole plan instead, and take the fastest. It was worth it where {condition}. With "
            "the pair given, param = 1/base_m + 1/base_n and cube_bound_edge = param if param <= "
            "0.85*edge, else 0.85*edge; all after it (end of section 4 to section 8) stays."
        ),
        without_condition=(
            "Keep the loop and its bounds; score each pair by the pipeline model's time of the "
            "whole plan instead, and take the fastest. With the pair given, param = 1/base_m + "
            "1/base_n and cube_bound_edge = param if param <= 0.85*edge, else 0.85*edge; all "
            "after it (end of section 4 to section 8) stays."
        ),
        work=Work.HOST_ONLY,
        danger=(
            "Another pair may flip the full-load decision of section 8; keeping that decision is "
            "the safer half (line “full load as it was”)."
        ),
    ),
    "h2": HostStep(
        step="tiling data of BASIC_ASWT and BASIC_STREAM_K (section 10)",
        today=(
            "The kernel's window of 4 block rows is a constant of its scheduler; only BASE hands "
            "one over (aswWindowLen)."
        ),
        change=(
            "Hand aswWindowLen to the kernel as BASE does, and set it as the rule says: "
            "{condition}."
        ),
        without_condition=(
            "Hand aswWindowLen to the kernel as BASE does, set to the fastest of the canonical "
            "windows by the pipeline model; no constant in place of 4 gains on the shapes seen."
        ),
        work=Work.KERNEL_PARAMETER,
        danger="The tiling data and both kernels change together, or old binaries misread them.",
    ),
    "h3": HostStep(
        step="BASIC_ASWT, between the B full load and the plain case (section 8, steps 2 and 3)",
        today=(
            "An operand is kept in L1 as a whole, if up(M,16)*up(K,16)*sA (or N and sB) and the "
            "bias fit 3/4 of L1, or not at all."
        ),
        change=(
            "Where {condition}: keep p slabs of one operand beside two slots of the other, as "
            "many as L1 holds, with the base tile of section 4; p, step_k and which operand by "
            "the pipeline model."
        ),
        without_condition=(
            "Where neither full load applies: keep p slabs of one operand beside two slots of the "
            "other, as many as L1 holds, with the base tile of section 4; p, step_k and which "
            "operand by the pipeline model."
        ),
        work=Work.NEW_KERNEL,
        danger=(
            "Kernels that keep slabs do not exist: their cost is modelled from the parts of "
            "those that do. A part of the gain may come from the longer L1 step alone."
        ),
    ),
    "h4": HostStep(
        step="L0C output of BASIC_ASWT (section 8, before step 1)",
        today=(
            "ND_FIXPIPE when K <= 256, M >= 256, more blocks than aic_num, N*sC % 128 != 0, "
            "N*sC > 256 and aiv_num == 2*aic_num; else ON_THE_FLY."
        ),
        change=(
            "Take ND_FIXPIPE also where {condition}, with aiv_num == 2*aic_num; the L1 tiling "
            "of section 6 then stands, as it does today (step 4)."
        ),
        without_condition=(
            "Score both ways out by the pipeline model and take the faster, with aiv_num == "
            "2*aic_num; the L1 tiling of section 6 then stands for ND_FIXPIPE (step 4)."
        ),
        work=Work.HOST_ONLY,
        danger=(
            "The output through UB occupies the vector cores and was never measured here: no "
            "timed kernel of the calibration took it."
        ),
    ),
    "h5": HostStep(
        step="rebalance_block, hbm_bw in edge and fixp_edge (section 4)",
        today="hbm_bw = freq * ai_core_cnt * ddr_rate / 1024, as if writing C cost nothing there.",
        change=(
            "Where {condition}: hbm_bw *= reads / (reads + writes), with reads = (M*K + K*N)*s "
            "and writes = max(0, M*N*sC - usable L2)."
        ),
        without_condition=(
            "hbm_bw *= reads / (reads + writes), with reads = (M*K + K*N)*s and writes = max(0, "
            "M*N*sC - usable L2); keep the new plan only where the pipeline model prefers it."
        ),
        work=Work.HOST_ONLY,
        danger=(
            "As a rule without asking the model the correction can choose far worse tiles: see "
            "the line “H5 (a) as a rule”."
        ),
    ),
    "h6": HostStep(
        step="choice of the strategy, capability of TO_MUL (section 2)",
        today=(
            "TO_MUL takes M == 1 or N == 1 only with high_precision and sA == sB == 4; 16-bit "
            "vectors go to the cube cores."
        ),
        change=(
            "Let TO_MUL be capable of sA == sB == 2, too, where {condition}; its geometry "
            "(section 9) stays."
        ),
        without_condition=(
            "Let TO_MUL be capable of sA == sB == 2, too, and take it where the pipeline model "
            "prefers it; its geometry (section 9) stays."
        ),
        work=Work.NEW_KERNEL,
        danger="TO_MUL's kernel adds in fp32 only: a 16-bit variant with casts has to be written.",
    ),
    "joint": HostStep(
        step="all of the above together (sections 2, 4, 8 and 10)",
        today="Each decision is taken once, in the order of the sections.",
        change="",
        without_condition=(
            "Score the product of the pairs of section 4, the windows, the resident slabs, both "
            "ways out of L0C and the vector kernel by the pipeline model; all else stays."
        ),
        work=Work.NEW_KERNEL,
        danger="More candidates give a wrong model more chances to be wrong: see its optimism.",
    ),
}
"""By hypothesis."""
