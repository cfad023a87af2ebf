"""Made-up runs for the tests of the report: deterministic rows, and directories with them."""

import random
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from autotune.manifest import MANIFEST_SCHEMA, Manifest, RunStatus, write_manifest
from autotune.results import (
    ComparedPlans,
    Coverage,
    PlanResult,
    ResultRow,
    RowStatus,
)
from autotune.results_io import write_results_json
from autotune.run_inputs import Digests, ResolvedOptions
from autotune.runs import HARDWARE_NAME, RESULTS_JSON_NAME
from hwmodel.cost.constants import PipelineConstants
from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec import Calibration, ClassError, HardwareSpec
from hwmodel.spec_io import load_hardware, write_hardware

MODELS = ("Llama-3.1-8B", "Llama-3.1-70B", "Qwen3-30B-A3B", "DeepSeek-V3")
LAYERS = ("qkv", "o", "gate_up", "down", "lm_head forward")
CLASSES = ("compute_bound", "read_bound", "output_heavy", "small", "stream_k")


def make_plan(base_m: int, base_n: int, **changes: object) -> KernelPlan:
    plan = KernelPlan(
        template=Template.ASWT,
        base_m=base_m,
        base_n=base_n,
        base_k=64,
        step_k=4,
        single_core_k=4096,
        used_core_num=32,
    )
    return replace(plan, **changes)  # type: ignore[arg-type]


def make_compared(
    gap_ratio: float,
    *,
    best_us: float = 40.0,
    roofline_us: float = 30.0,
    resolved: bool = False,
    exceeds_p90: bool = False,
    expressible_gap_ratio: float | None = None,
    error_class: str = "read_bound",
    coverage: Coverage = Coverage.TRANSPOSED,
    baseline: KernelPlan | None = None,
    best: KernelPlan | None = None,
) -> ComparedPlans:
    baseline_us = best_us * (1.0 + gap_ratio)
    vendor = baseline or make_plan(256, 256)
    found = best or (vendor if gap_ratio == 0.0 else make_plan(128, 256))
    winner = PlanResult(
        plan=found, predicted_us=best_us, bound="cube", roofline_ratio=roofline_us / best_us
    )
    expressible = winner
    if expressible_gap_ratio is not None:  # then the winner needs a window the vendor lacks
        winner = replace(winner, plan=replace(found, window_len=2))
        expressible = replace(expressible, predicted_us=baseline_us / (1 + expressible_gap_ratio))
    return ComparedPlans(
        strategy="BASIC_ASWT",
        baseline=PlanResult(
            plan=vendor,
            predicted_us=baseline_us,
            bound="mte2",
            roofline_ratio=roofline_us / baseline_us,
        ),
        best=winner,
        best_expressible=expressible,
        best_inexpressible_field="" if expressible_gap_ratio is None else "window_len",
        gap_ratio=gap_ratio,
        expressible_gap_ratio=gap_ratio
        if expressible_gap_ratio is None
        else expressible_gap_ratio,
        resolved=resolved,
        exceeds_p90=exceeds_p90,
        error_class=error_class,
        best_error_class=error_class,
        coverage=coverage,
        roofline_us=roofline_us,
        ties_within_1pct=3,
        evaluations=1000,
        regret_ratio=0.0,
        violations=(),
        rejected={"l0a": 12},
        certificate="every legal point of the space tiles was covered",
    )


def make_row(
    index: int, compared: ComparedPlans | None, *, name: str = "", **changes: object
) -> ResultRow:
    problem = GemmProblem(m=64 * (index + 1), k=4096, n=6144)
    row = ResultRow(
        index=index,
        name=name or problem.label(),
        problem=problem,
        weight=1.0,
        tag="",
        model="",
        layer="",
        phase="",
        tp=None,
        tokens=None,
        measured_us=None,
        status=RowStatus.OK if compared is not None else RowStatus.REJECTED,
        message="" if compared is not None else "ValidateShape: dimension out of range",
        compared=compared,
    )
    return replace(row, **changes)  # type: ignore[arg-type]


def make_rows(count: int, seed: int = 7) -> tuple[ResultRow, ...]:
    """Rows like those of the LLM list: many small gaps, some large, a few without an answer."""
    source = random.Random(seed)
    rows = []
    for index in range(count):
        model, layer = source.choice(MODELS), source.choice(LAYERS)
        phase, tokens = source.choice((("decode", 16), ("prefill", 2048), ("training", 4096)))
        if count > 20 and index % 41 == 40:
            rows.append(make_row(index, None, name=f"{model} {phase} {layer} refused"))
            continue
        gap = 0.0 if source.random() < 0.2 else source.lognormvariate(-3.2, 1.3)
        best_us = source.lognormvariate(4.0, 1.5)
        compared = make_compared(
            gap,
            best_us=best_us,
            roofline_us=best_us * source.uniform(0.2, 0.98),
            resolved=gap > 0.1,
            exceeds_p90=gap > 0.25,
            expressible_gap_ratio=gap / 2 if gap > 0.0 and index % 5 == 0 else None,
            error_class=source.choice(CLASSES),
            coverage=source.choice(tuple(Coverage)),
        )
        rows.append(
            make_row(
                index,
                compared,
                name=f"{model} {phase} tokens={tokens} {layer}",
                model=model,
                layer=layer,
                phase=phase,
                tokens=tokens,
                tp=8 if "70B" in model else 1,
                weight=float(source.randint(1, 80)),
                tag="grouped" if source.random() < 0.05 else "",
            )
        )
    return tuple(rows)


def make_spec() -> HardwareSpec:
    """The default chip with a made-up calibration, which does not move with the fits."""
    spec = load_hardware("ascend950pr-9589")
    errors = {"all": ClassError(n=74, median_ape=0.028, p90_ape=0.227)}
    errors.update({name: ClassError(n=14, median_ape=0.031, p90_ape=0.2) for name in CLASSES})
    calibration = Calibration(
        model="pipeline",
        measured_on=spec.soc,
        date="2026-01-01",
        data_digest="0" * 64,
        rows=74,
        constants=asdict(PipelineConstants()),
        errors=errors,
    )
    return replace(spec, calibrations={"pipeline": calibration})


def make_manifest(**changes: object) -> Manifest:
    options = ResolvedOptions(
        shapes="/somewhere/llm_shapes.csv",
        hw="ascend950pr-9589",
        as_950=False,
        study="tiles",
        strategy="exhaustive",
        evaluator="pipeline",
        effort="quick",
        trials=200,
        seed=0,
    )
    manifest = Manifest(
        schema=MANIFEST_SCHEMA,
        status=RunStatus.FINISHED,
        created_utc="2026-01-02T03:04:05+00:00",
        argv=("study", "--jobs", "2"),
        options=options,
        seed=0,
        versions={"python": "3.11.0"},
        git_commit="abc123",
        digests=Digests(
            run="1" * 64, shapes="2" * 64, spec="3" * 64, options="4" * 64, model="5" * 64
        ),
    )
    return replace(manifest, **changes)  # type: ignore[arg-type]


def make_run(
    directory: Path,
    rows: Sequence[ResultRow],
    *,
    spec: HardwareSpec | None = None,
    manifest: Manifest | None = None,
) -> Path:
    """A run directory with these results; returns it."""
    directory.mkdir(parents=True, exist_ok=True)
    write_manifest(directory, manifest or make_manifest())
    write_hardware(spec or make_spec(), directory / HARDWARE_NAME)
    write_results_json(rows, directory / RESULTS_JSON_NAME)
    return directory
