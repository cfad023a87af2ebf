"""How `autotune baseline` words a decision: as a table for people, as a document for programs."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Final

from baseline.decision import BaselineDecision
from baseline.request import TilingRequest
from baseline.steps import StepValue
from hwmodel.plan import KernelPlan
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import DAV_3510

_INDENT: Final = "  "
_PER_LINE: Final = 4
"""Fields of a record on one line."""

_LABEL_WIDTH: Final = 16
_FIELD_WIDTH: Final = 26


def build_document(
    request: TilingRequest, spec: HardwareSpec, decision: BaselineDecision, *, explain: bool
) -> dict[str, object]:
    """The decision as one JSON document; steps and warnings only when explained."""
    key = decision.key
    document: dict[str, object] = {
        "problem": asdict(request.to_problem()),
        "hardware": spec.name,
        "as_950": spec.npu_arch != DAV_3510,
        "decision": decision.to_record(),
        "plan": asdict(decision.plan),
        "key": {
            "api_level": key.api_level.name,
            "trans_a": key.trans_a,
            "trans_b": key.trans_b,
            "batch_model": key.batch_model,
            "model": key.model.name,
            "full_load": key.full_load.name,
            "l0c_out": key.l0c_out.name,
        },
    }
    if explain:
        document["warnings"] = list(decision.warnings)
        document["steps"] = [
            {"topic": step.topic, "text": step.text, "values": dict(step.values)}
            for step in decision.steps
        ]
    return document


def format_decision(
    request: TilingRequest, spec: HardwareSpec, decision: BaselineDecision, *, explain: bool
) -> str:
    """The decision as text, at most about 110 columns wide."""
    lines = [_describe_problem(request), _describe_chip(spec), ""]
    lines += _format_launch(decision)
    lines += ["", "plan", *_format_fields(_plan_fields(decision.plan))]
    lines += ["", f"tiling data ({decision.tiling_struct})", *_format_record(decision)]
    lines += ["", "run info", *_format_fields(decision.run_info)]
    if explain:
        lines += ["", "steps", *_format_steps(decision)]
    lines += [f"\nwarning: {warning}" for warning in decision.warnings]
    return "\n".join(lines)


def _describe_problem(request: TilingRequest) -> str:
    stored_a = "K x M" if request.trans_a else "M x K"
    stored_b = "N x K" if request.trans_b else "K x N"
    bias = f", bias {request.bias_dtype}" if request.bias_dtype is not None else ""
    mode = request.op_impl_mode.name.lower().replace("_", " ")
    return (
        f"m {request.m}, k {request.k}, n {request.n}: A {request.dtype} stored {stored_a},"
        f" B stored {stored_b} ({request.format_b}), C {request.out_dtype}{bias}, mode {mode},"
        f" determinism {request.deterministic_level}"
    )


def _describe_chip(spec: HardwareSpec) -> str:
    cores = spec.cores
    chip = (
        f"{spec.name}: {cores.aic_num} cube cores, {cores.aiv_num} vector cores,"
        f" {cores.clock_mhz} MHz"
    )
    if spec.npu_arch == DAV_3510:
        return chip
    return f"{chip}; the heuristic of the Ascend 950 applied to a chip of {spec.npu_arch}"


def _format_launch(decision: BaselineDecision) -> list[str]:
    key = decision.key
    rows = (
        ("strategy", decision.strategy.value),
        ("tiling key", f"{decision.tiling_key} (0x{decision.tiling_key:x})"),
        ("  API level", key.api_level.name),
        ("  transposed", f"A {_yes_no(key.trans_a)}, B {_yes_no(key.trans_b)}"),
        ("  model", key.model.name),
        ("  full load", key.full_load.name),
        ("  L0C output", key.l0c_out.name),
        ("blocks", str(decision.num_blocks)),
        ("workspace", f"{decision.workspace_bytes} bytes"),
        ("schedule mode", str(decision.schedule_mode)),
    )
    return ["decision", *(f"{_INDENT}{label:<{_LABEL_WIDTH}}{text}" for label, text in rows)]


def _plan_fields(plan: KernelPlan) -> dict[str, StepValue]:
    return {field.name: getattr(plan, field.name) for field in fields(plan)}


def _format_record(decision: BaselineDecision) -> list[str]:
    """The tiling data; a nested record is written out under its name."""
    lines: list[str] = []
    plain: dict[str, StepValue] = {}
    for name, value in decision.tiling_data.items():
        if isinstance(value, Mapping):
            nested = _format_fields(value)
            lines += [f"{_INDENT}{name}", *(_INDENT + line for line in nested)]
        else:
            plain[name] = value
    return lines + _format_fields(plain)


def _format_fields(values: Mapping[str, StepValue]) -> list[str]:
    """`name value` pairs in columns."""
    cells = [
        f"{name} {_format_value(value)}".ljust(_FIELD_WIDTH) for name, value in values.items()
    ]
    return [
        _INDENT + _INDENT.join(cells[start : start + _PER_LINE]).rstrip()
        for start in range(0, len(cells), _PER_LINE)
    ]


def _format_steps(decision: BaselineDecision) -> Iterable[str]:
    """Each step with its number, and its figures below it."""
    width = len(str(len(decision.steps)))
    for number, step in enumerate(decision.steps, start=1):
        yield f"{_INDENT}{number:>{width}}. {step.topic}: {step.text}"
        if step.values:
            figures = ", ".join(
                f"{name} {_format_value(value)}" for name, value in step.values.items()
            )
            yield f"{_INDENT}{' ' * width}  {figures}"


def _format_value(value: StepValue) -> str:
    if isinstance(value, bool):
        return _yes_no(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _yes_no(value: bool) -> str:
    return "yes" if value else "no"
