"""Made-up runs of hypotheses for the tests of their report: deterministic answers and verdicts."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from autotune.hypothesis_results_io import format_hypotheses_json
from autotune.manifest import Manifest, write_manifest
from autotune.report.hypotheses.view import RunView
from autotune.runs import HARDWARE_NAME, RESULTS_JSON_NAME
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import write_hardware
from studies.gap import Coverage
from studies.hypotheses.answers import (
    BestKnown,
    Comparison,
    JudgedPlan,
    OutputEffect,
    ResidencyEffect,
    ShapeAnswer,
    SharedBandwidth,
    TileScoring,
    VectorEffect,
    WindowEffect,
    WindowPoint,
)
from studies.hypotheses.registry import H1_FROZEN, H5_RULE, H5_SELECTOR
from studies.hypotheses.summary import summarise_field_gaps, summarise_proxy, summarise_studies
from studies.hypotheses.verdicts import (
    RowState,
    SharingError,
    StudiedRow,
    StudyResults,
)
from studies.shape_rows import ShapeRow
from tests.autotune.report_runs import LAYERS, MODELS, make_manifest, make_plan, make_spec

PIPELINE_DRAWS = 2
EMULATOR_DRAWS = 1
PHASES = (("decode", 16), ("prefill", 2048), ("training", 4096))
LEAVE_OUTS = tuple(f"joint_without_h{number}" for number in range(1, 7))
Ratios = Mapping[str, float]


def make_comparison(
    study: str, ratio: float, *, baseline_us: float = 100.0, **changes: object
) -> Comparison:
    """A study with r = `ratio` by the judge, and as much by the selector where it gains."""
    control = JudgedPlan(plan=make_plan(256, 256), selector_us=baseline_us, judge_us=baseline_us)
    moved = ratio != 1.0
    treatment = JudgedPlan(
        plan=make_plan(128, 256) if moved else control.plan,
        selector_us=baseline_us / max(1.0, ratio),
        judge_us=baseline_us / ratio,
    )
    made = Comparison(
        study=study,
        control=control,
        treatment=treatment,
        candidates=65,
        changed_fields=("base_m",) if moved else (),
        coverage=Coverage.EXTRAPOLATED if moved else Coverage.TRANSPOSED,
        resolved=ratio > 1.05,
        pipeline_draws=(max(1.0, ratio),) * PIPELINE_DRAWS,
        emulator_draws=(ratio,) * EMULATOR_DRAWS,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def make_answer(problem: GemmProblem, ratios: Ratios, baseline_us: float = 100.0) -> ShapeAnswer:
    """The studies of `ratios`, with the figures of those that have some."""
    baseline = JudgedPlan(plan=make_plan(256, 256), selector_us=baseline_us, judge_us=baseline_us)
    comparisons = tuple(
        make_comparison(study, ratio, baseline_us=baseline_us) for study, ratio in ratios.items()
    )
    answer = ShapeAnswer(
        problem=problem,
        strategy="BASIC_ASWT",
        baseline=baseline,
        error_class="compute_bound",
        comparisons=comparisons,
    )
    return replace(answer, **dict(_iterate_figures(problem, ratios, baseline)))  # type: ignore[arg-type]


def _iterate_figures(
    problem: GemmProblem, ratios: Ratios, baseline: JudgedPlan
) -> Iterator[tuple[str, object]]:
    """The figures of each hypothesis in `ratios`, in keeping with its ratio."""
    if "h1" in ratios:
        ratio = ratios["h1"]
        yield "h1", TileScoring(
            pairs=90, plans=65, proxy_regret_ratio=max(0.0, ratio - 1.0),
            judged_regret_ratio=max(0.0, ratio - 1.0), judged_candidates=8,
            tile_ratio=ratio / 1.001, template_ratio=1.001,
        )  # fmt: skip
    if "h2" in ratios:
        yield "h2", make_window_effect(ratios["h2"], baseline.judge_us)
    if "h3" in ratios:
        best = _judged(baseline, ratios["h3"], template=Template.A_PARTIAL, resident_slabs=2)
        yield "h3", ResidencyEffect(
            best=best, control_load_bytes=1000, best_load_bytes=900, control_hbm_bytes=800,
            best_hbm_bytes=800, control_l1_bytes=300_000, best_l1_bytes=500_000,
            a_over_l1=problem.m * problem.k / 2**18, b_over_l1=problem.n * problem.k / 2**18,
        )  # fmt: skip
    if "h4" in ratios:
        through = _judged(baseline, ratios["h4"], l0c_output=L0cOutput.FIXPIPE)
        row_bytes = 2 * problem.n
        yield "h4", OutputEffect(
            row_bytes=row_bytes, row_align_bytes=min(128, row_bytes & -row_bytes),
            direct=baseline, through_ub=through,
        )  # fmt: skip
    if "h5" in ratios:
        yield "h5", SharedBandwidth(
            read_bytes=10, write_bytes=5, hbm_share=2 / 3, c_over_l2=problem.m / 4096,
            changes_decision=ratios["h5"] != 1.0,
        )  # fmt: skip
    if "h6" in ratios:
        yield (
            "h6",
            VectorEffect(
                length=max(problem.m, problem.n),
                vector=_judged(baseline, ratios["h6"], template=Template.VECTOR),
                vector_ratio=ratios["h6"],
            ),
        )
    if "opt" in ratios:
        gap = ratios["opt"] / ratios.get("joint", 1.0) - 1.0
        yield "opt", BestKnown(
            best=_judged(baseline, ratios["opt"], base_n=192), found_by="cascade", judged=20,
            joint_gap_ratio=gap, joint_gap_fields=("base_n", "window_len") if gap else (),
        )  # fmt: skip


def _judged(baseline: JudgedPlan, ratio: float, **changes: object) -> JudgedPlan:
    plan: KernelPlan = replace(baseline.plan, **changes)  # type: ignore[arg-type]
    return JudgedPlan(
        plan=plan, selector_us=baseline.judge_us / ratio, judge_us=baseline.judge_us / ratio
    )


def make_window_effect(ratio: float, baseline_us: float) -> WindowEffect:
    """A grid of 16 x 24 blocks on which the whole window gains `ratio`, and short ones lose."""

    def point(window_len: int, speed: float, serpentine: bool = True) -> WindowPoint:
        return WindowPoint(
            window_len=window_len,
            serpentine=serpentine,
            selector_us=baseline_us / speed,
            judge_us=baseline_us / speed,
            l2_hit_ratio=0.5 + window_len / 100,
            hbm_read_bytes=1000,
        )

    sweep = [point(1, 0.7), point(2, 0.98), point(4, 1.0), point(8, ratio), point(9, ratio)]
    return WindowEffect(
        m_tiles=16,
        n_tiles=24,
        control=point(4, 1.0),
        treatment=point(9, ratio),
        tail_ratio=ratio**0.25,
        l2_ratio=ratio**0.75,
        sweep=(*sweep, point(2, 0.97, serpentine=False)),
    )


def make_rows(count: int, seed: int = 3) -> tuple[list[StudiedRow], list[ShapeAnswer]]:
    """Rows like those of the LLM list, with every study where its domain would hold the shape."""
    source = random.Random(seed)
    rows, answers = [], []
    for index in range(count):
        phase, tokens = PHASES[index % len(PHASES)]
        m = source.choice((1, 16, 64, 256, 2048, 4096))
        problem = GemmProblem(
            m=m, k=64 * source.randint(1, 64), n=16 * source.randint(16, 600) + index % 2
        )
        model = source.choice(MODELS)
        row = ShapeRow(
            index=index,
            name=f"{model} {phase} m={m} {index}",
            problem=problem,
            weight=float(source.randint(1, 80)),
            tag="grouped" if count > 20 and index % 20 == 19 else "",
            model=model,
            layer=source.choice(LAYERS),
            tp=8 if "70B" in model else 1,
            tokens=tokens,
            phase=phase,
        )
        rows.append(StudiedRow(row=row, source="", state=RowState.OK, message=""))
        answers.append(
            make_answer(problem, dict(_iterate_ratios(source, problem)), 5.0 + index * 7.0)
        )
    return rows, answers


def _iterate_ratios(source: random.Random, problem: GemmProblem) -> Iterator[tuple[str, float]]:
    def draw(mean: float, spread: float) -> float:
        return 1.0 if source.random() < 0.3 else mean + source.gauss(0.0, spread)

    yield "h1", draw(1.02, 0.02)
    yield H1_FROZEN, draw(1.015, 0.02)
    if problem.m > 16:
        yield "h2", 1.0
    yield "h3", max(1.0, draw(1.02, 0.01))
    yield "h4", 1.15 if problem.n % 2 else 1.0
    if problem.m > 64:
        yield "h5", 1.0
        yield H5_RULE, 0.7 if problem.m > 2048 else 1.0
        yield H5_SELECTOR, draw(1.0, 0.01)
    if problem.m == 1:
        yield "h6", 1.4 if problem.k < 2048 else 0.6
    yield "joint", draw(1.04, 0.03)
    for leave_out in LEAVE_OUTS:
        yield leave_out, draw(1.03, 0.03)
    yield "opt", 1.2


def make_results(
    rows: Sequence[StudiedRow], answers: Sequence[ShapeAnswer], study: str = "all"
) -> StudyResults:
    """Verdicts by the real rules."""
    by_problem = {answer.problem: answer for answer in answers}
    error = SharingError(
        shares=False, rows=12, median_ape=0.06, mean_ape=0.07, p90_ape=0.2,
        constants=("hbm_read_ratio",), values=(0.9,),
    )  # fmt: skip
    return StudyResults(
        effort="quick",
        selector="pipeline (pipeline-4)",
        judge="emulator (emulator-1)",
        pipeline_draws=PIPELINE_DRAWS,
        emulator_draws=EMULATOR_DRAWS,
        rows=tuple(rows),
        answers=tuple(answers),
        verdicts=summarise_studies(study, rows, by_problem),
        proxy=summarise_proxy(rows, by_problem),
        sharing=(error, replace(error, shares=True, median_ape=0.03)),
        field_gaps=summarise_field_gaps(rows, by_problem),
    )


def make_hypothesis_manifest(study: str = "all") -> Manifest:
    manifest = make_manifest()
    return replace(manifest, options=replace(manifest.options, study=study))


def make_view(results: StudyResults, study: str = "all") -> RunView:
    return RunView(manifest=make_hypothesis_manifest(study), spec=make_spec(), results=results)


def make_hypothesis_run(directory: Path, results: StudyResults, study: str = "all") -> Path:
    """A run directory with these results; returns it."""
    directory.mkdir(parents=True, exist_ok=True)
    write_manifest(directory, make_hypothesis_manifest(study))
    write_hardware(make_spec(), directory / HARDWARE_NAME)
    (directory / RESULTS_JSON_NAME).write_text(format_hypotheses_json(results), "utf-8")
    return directory
