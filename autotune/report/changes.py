"""What separates two plans of one problem, in the vendor's field names, and why one is faster."""

from autotune.report.text import describe_tiling, format_us, name_template
from hwmodel.cost.breakdown import Bound, CostBreakdown
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, L0cOutput, Template
from hwmodel.vendor_tiling import VENDOR_NAMES

ARROW = "→"

_FIELDS = (
    ("base_m", VENDOR_NAMES["base_m"]),
    ("base_n", VENDOR_NAMES["base_n"]),
    ("base_k", VENDOR_NAMES["base_k"]),
    ("step_k", "stepKa = stepKb"),
    ("l1_buffer_num", VENDOR_NAMES["l1_buffer_num"]),
    ("db_l0c", VENDOR_NAMES["db_l0c"]),
    ("m_tail_cnt", VENDOR_NAMES["m_tail_cnt"]),
    ("n_tail_cnt", VENDOR_NAMES["n_tail_cnt"]),
    ("single_core_k", VENDOR_NAMES["single_core_k"]),
    ("used_core_num", VENDOR_NAMES["used_core_num"]),
)
"""Plan fields and what the vendor's host code calls them, in the order of its record."""

_STRATEGIES = {Template.STREAM_K: "BASIC_STREAM_K", Template.BASE: "BASE"}
"""Vendor's strategy of a cube template; the others are kernels of BASIC_ASWT (specification:
host-tiling.md, sections 7 and 8)."""

_OUTPUTS = {L0cOutput.ON_THE_FLY: "direct", L0cOutput.FIXPIPE: "via UB"}
_LEAST_CHANGE = 0.02
"""Relative change of a traffic below which it explains nothing."""

_EXPLAINING_SHARE = 0.5
"""Part of a saving that a pipe's shorter busy time must make up to be its reason."""

_BYTES_PER_MB = 1e6


def describe_change(baseline: KernelPlan, best: KernelPlan, strategy: str) -> tuple[str, ...]:
    """The fields to change from the vendor's plan to the better one, `baseN 192 → 128` each.

    The block order is none of them: the vendor's tiling data carry no window.

    Args:
        baseline: the vendor's plan.
        best: the better one, of a cube template, that the vendor's tiling data can carry.
        strategy: the vendor's strategy of the baseline.
    """
    if baseline.template not in CUBE_TEMPLATES:
        return (f"strategy {strategy} {ARROW} {_strategy(best)}", describe_tiling(best))
    changes: list[str] = []
    if strategy != _strategy(best):
        changes.append(f"strategy {strategy} {ARROW} {_strategy(best)}")
    elif baseline.template is not best.template:
        changes.append(
            f"kernel {name_template(baseline.template)} {ARROW} {name_template(best.template)}"
        )
    for field, name in _FIELDS:
        before, after = getattr(baseline, field), getattr(best, field)
        if before != after and (field != "single_core_k" or best.template is Template.STREAM_K):
            changes.append(f"{name} {before} {ARROW} {after}")
    if baseline.l0c_output is not best.l0c_output:
        changes.append(
            f"output {_OUTPUTS[baseline.l0c_output]} {ARROW} {_OUTPUTS[best.l0c_output]}"
        )
    return tuple(changes)


def explain_gain(
    plans: tuple[KernelPlan, KernelPlan],
    costs: tuple[CostBreakdown, CostBreakdown],
    core_count: int,
) -> str:
    """Why the second plan is faster, in one clause: the part of the time that shrinks most.

    Args:
        plans: the vendor's plan and the better one.
        costs: their predicted costs.
        core_count: cube cores of the chip.
    """
    before, after = costs
    parts = {
        "launch": before.launch_us - after.launch_us,
        "prologue": before.prologue_us - after.prologue_us,
        "rounds": before.rounds_us - after.rounds_us,
        "epilogue": before.epilogue_us - after.epilogue_us,
    }
    match max(parts, key=lambda part: parts[part]):
        case "launch":
            reason = _times("cheaper launch:", before.launch_us, after.launch_us)
        case "prologue":
            reason = _times(
                "shorter wait for the first loads:", before.prologue_us, after.prologue_us
            )
        case "epilogue":
            reason = _explain_epilogue(plans, costs)
        case _:
            reason = _explain_rounds(plans, costs, core_count)
    if before.bound is after.bound:
        return reason
    return f"{reason}; bound by {before.bound.value} {ARROW} {after.bound.value}"


def _explain_epilogue(
    plans: tuple[KernelPlan, KernelPlan], costs: tuple[CostBreakdown, CostBreakdown]
) -> str:
    """Why the end of the kernel is shorter."""
    before, after = costs
    kinds = [plan.template is Template.STREAM_K for plan in plans]
    what = "no partial sums to reduce" if kinds == [True, False] else "C is stored faster"
    return _times(f"{what}: end of the kernel", before.epilogue_us, after.epilogue_us)


def _explain_rounds(
    plans: tuple[KernelPlan, KernelPlan],
    costs: tuple[CostBreakdown, CostBreakdown],
    core_count: int,
) -> str:
    """Why the rounds of blocks take less: more cores, fewer rounds, less traffic, less work."""
    before, after = costs
    cores = [plan.used_core_num for plan in plans if plan.template in CUBE_TEMPLATES]
    if len(cores) == len(plans) and cores[1] > cores[0]:
        return f"{cores[0]} of {core_count} cores busy {ARROW} {cores[1]}"
    if 0 < after.rounds < before.rounds:
        return f"{before.rounds:,} rounds {ARROW} {after.rounds:,}"
    for what, old, new in (
        ("HBM", before.hbm_read_bytes, after.hbm_read_bytes),
        ("L2", before.l2_read_bytes, after.l2_read_bytes),
    ):
        if new < old * (1.0 - _LEAST_CHANGE) and before.bound is Bound.MTE2:
            return f"less {what} reading: {_megabytes(old)} {ARROW} {_megabytes(new)} MB"
    pipes = (
        ("the cube is busy for less:", before.cube_time_us, after.cube_time_us),
        ("loading takes less:", before.mte2_time_us, after.mte2_time_us),
        ("L1 to L0 takes less:", before.mte1_time_us, after.mte1_time_us),
        ("output takes less:", before.fixpipe_time_us, after.fixpipe_time_us),
    )
    what, old, new = max(pipes, key=lambda pipe: pipe[1] - pipe[2])
    saved_us = before.rounds_us - after.rounds_us
    if old - new >= saved_us * _EXPLAINING_SHARE:
        return _times(what, old, new)
    return _times("loads, cube and output overlap better:", before.rounds_us, after.rounds_us)


def _times(what: str, before_us: float, after_us: float) -> str:
    """A reason with its two times."""
    return f"{what} {format_us(before_us)} {ARROW} {format_us(after_us)} µs"


def _megabytes(count: float) -> str:
    """Bytes as megabytes, as short as a time."""
    return format_us(count / _BYTES_PER_MB)


def _strategy(plan: KernelPlan) -> str:
    """The vendor's strategy that would have to choose this plan."""
    return _STRATEGIES.get(plan.template, "BASIC_ASWT")
