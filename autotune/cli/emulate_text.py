"""How `autotune emulate` words its answer: as a table for people, as a document for programs."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Final

from autotune.cli.kernel_arguments import Kernel
from autotune.emulation import Emulation
from hwmodel.emulator.activity import (
    Pipe,
    PipeActivity,
    compute_activities,
    compute_mean_activities,
    find_busiest_core,
)
from hwmodel.emulator.summary import compute_l2_hit_ratio, compute_summary, find_bound

_LABEL_WIDTH: Final = 28
_PIPE_WIDTH: Final = 9
_CYCLES_WIDTH: Final = 14
_DIGITS: Final = 3
_INDENT: Final = "  "


def build_document(kernel: Kernel, emulation: Emulation) -> dict[str, object]:
    """The answer as one JSON document; `pipes` is null where the kernel is too long for a log."""
    return {
        "problem": asdict(kernel.problem),
        "hardware": kernel.spec.name,
        "plan": asdict(kernel.plan),
        "is_baseline": kernel.is_baseline,
        "warnings": list(kernel.warnings),
        "is_extrapolated": emulation.result.is_extrapolated,
        "summary": _summary(emulation),
        "bound": find_bound(emulation.result, emulation.plan, emulation.constants).value,
        "memory": _memory(emulation),
        "busiest_core": find_busiest_core(emulation.result),
        "pipes": _describe_pipes(emulation),
    }


def _summary(emulation: Emulation) -> dict[str, float]:
    """Msprof's columns."""
    summary = compute_summary(
        emulation.result, emulation.plan, emulation.spec, emulation.constants
    )
    return {
        name: round(value, _DIGITS) if name.endswith(("_us", "_percent")) else round(value, 6)
        for name, value in summary.items()
    }


def _memory(emulation: Emulation) -> dict[str, float]:
    """Loads, hits and bytes."""
    result = emulation.result
    return {
        "l2_hit_ratio": round(compute_l2_hit_ratio(result), 6),
        "loads": result.loads,
        "load_bytes": result.load_bytes,
        "store_bytes": result.store_bytes,
        "hbm_read_bytes": result.hbm_read_bytes,
        "hbm_write_bytes": result.hbm_write_bytes,
    }


def _compute_pipes(
    emulation: Emulation,
) -> tuple[Mapping[Pipe, PipeActivity], Mapping[Pipe, PipeActivity]] | None:
    """Pipes of the busiest core and of the mean one."""
    result, log, constants = emulation.result, emulation.log, emulation.constants
    plan = emulation.plan
    if log is None:
        return None
    core = find_busiest_core(result)
    return (
        compute_activities(result, log, plan, constants, core),
        compute_mean_activities(result, log, plan, constants),
    )


def _describe_pipes(emulation: Emulation) -> dict[str, object] | None:
    """The pipes as plain data."""
    pipes = _compute_pipes(emulation)
    if pipes is None:
        return None
    return {
        name: {pipe.value: _describe_pipe(activity) for pipe, activity in activities.items()}
        for name, activities in zip(("busiest", "mean"), pipes, strict=True)
    }


def _describe_pipe(activity: PipeActivity) -> dict[str, object]:
    return {
        "busy_cycles": round(activity.busy_cycles, _DIGITS),
        "stall_cycles": round(activity.stall_cycles, _DIGITS),
        "idle_cycles": round(activity.idle_cycles, _DIGITS),
        "stalls": {
            f"{reason}_cycles": round(cycles, _DIGITS)
            for reason, cycles in activity.stalls_cycles.items()
        },
    }


def format_emulation(kernel: Kernel, emulation: Emulation) -> str:
    """The answer as text, at most about 110 columns wide."""
    whose = "the operator's plan" if kernel.is_baseline else "a plan of your own"
    lines = [f"{kernel.problem.label()} on {kernel.spec.name}, {whose}", ""]
    if emulation.result.is_extrapolated:
        lines += ["too long to emulate: extrapolated from smaller kernels", ""]
    lines += _format_values("kernel (as msprof names it)", _summary(emulation))
    bound = find_bound(emulation.result, emulation.plan, emulation.constants)
    lines += [f"{_INDENT}{'bound':<{_LABEL_WIDTH}}{bound}", ""]
    lines += _format_values("memory", _memory(emulation))
    pipes = _compute_pipes(emulation)
    if pipes is None:
        return "\n".join([*lines, "", f"pipes: left out: {emulation.why_no_log}"])
    core = find_busiest_core(emulation.result)
    for title, activities in zip((f"core {core}, the last to end", "mean"), pipes, strict=True):
        lines += ["", *_format_pipes(f"pipes, cycles: {title}", activities)]
    return "\n".join(lines)


def _format_values(title: str, values: Mapping[str, float]) -> Iterator[str]:
    yield title
    for name, value in values.items():
        yield f"{_INDENT}{name:<{_LABEL_WIDTH}}{value}"


def _format_pipes(title: str, activities: Mapping[Pipe, PipeActivity]) -> Iterator[str]:
    yield title
    heads = "".join(f"{head:>{_CYCLES_WIDTH}}" for head in ("busy", "stall", "idle"))
    yield f"{_INDENT}{'':<{_PIPE_WIDTH}}{heads}  stalled by"
    for pipe, activity in activities.items():
        cycles = (activity.busy_cycles, activity.stall_cycles, activity.idle_cycles)
        columns = "".join(f"{value:>{_CYCLES_WIDTH}.0f}" for value in cycles)
        reasons = ", ".join(
            f"{reason} {value:.0f}"
            for reason, value in activity.stalls_cycles.items()
            if round(value)
        )
        yield f"{_INDENT}{pipe:<{_PIPE_WIDTH}}{columns}  {reasons}".rstrip()
