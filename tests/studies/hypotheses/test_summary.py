"""From answers to verdicts, on answers made by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from studies.gap import Coverage
from studies.hypotheses.answers import BestKnown, Comparison, JudgedPlan, ShapeAnswer, TileScoring
from studies.hypotheses.domain import list_domain
from studies.hypotheses.expected import format_expected
from studies.hypotheses.host_cost import NS_PER_CANDIDATE, summarise_host_cost
from studies.hypotheses.lists import add_domain_lists, list_sources, study_of_source
from studies.hypotheses.passes import sum_passes, weigh_ratios
from studies.hypotheses.registry import ENTRIES, find_entry
from studies.hypotheses.results import build_results
from studies.hypotheses.robustness import assess_robustness
from studies.hypotheses.splits import SPLITS, is_held_out
from studies.hypotheses.summary import summarise_field_gaps, summarise_proxy, summarise_studies
from studies.hypotheses.verdicts import RowState, StudiedRow, Verdict
from studies.search import Effort, SearchOptions
from studies.shape_rows import ShapeRow

SPEC = load_hardware("ascend950pr-9589")
PLAN = KernelPlan(
    template=Template.ASWT, base_m=256, base_n=256, base_k=64, step_k=4, single_core_k=64,
    used_core_num=32,
)  # fmt: skip


def comparison(study: str, ratio: float, **fields: object) -> Comparison:
    control = JudgedPlan(plan=PLAN, selector_us=110.0, judge_us=100.0)
    treatment = JudgedPlan(plan=PLAN, selector_us=100.0, judge_us=100.0 / ratio)
    made = Comparison(
        study=study,
        control=control,
        treatment=treatment,
        candidates=100,
        changed_fields=(),
        coverage=Coverage.INSIDE,
        resolved=False,
        pipeline_draws=(),
        emulator_draws=(),
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def answer_of(problem: GemmProblem, *comparisons: Comparison, **fields: object) -> ShapeAnswer:
    baseline = JudgedPlan(plan=PLAN, selector_us=110.0, judge_us=100.0)
    made = ShapeAnswer(
        problem=problem,
        strategy="BASIC_ASWT",
        baseline=baseline,
        error_class="compute_bound",
        comparisons=comparisons,
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def row_of(problem: GemmProblem, source: str = "", **fields: object) -> StudiedRow:
    row = ShapeRow(index=0, name=problem.label(), problem=problem)
    return StudiedRow(
        row=replace(row, **fields),  # type: ignore[arg-type]
        source=source,
        state=RowState.OK,
        message="",
    )


def problems(count: int) -> list[GemmProblem]:
    return [GemmProblem(m=512, k=64 + place, n=256) for place in range(count)]


def study_all(
    ratios: Sequence[float], **fields: object
) -> tuple[list[StudiedRow], Mapping[GemmProblem, ShapeAnswer]]:
    made = problems(len(ratios))
    answers = {
        problem: answer_of(problem, comparison("h1", ratio, **fields))
        for problem, ratio in zip(made, ratios, strict=True)
    }
    return [row_of(problem) for problem in made], answers


def test_a_problem_counts_once_and_grouped_rows_not_at_all() -> None:
    rows, answers = study_all([1.1, 1.2, 1.3])
    rows += [rows[0], replace(rows[1], row=replace(rows[1].row, tag="grouped"))]
    rows[1] = replace(rows[1], row=replace(rows[1].row, tag="grouped"))
    domain = list_domain(find_entry("h1"), rows, answers)
    assert [shape.comparison.judged_ratio for shape in domain] == pytest.approx([1.1, 1.3])


def test_a_domain_list_counts_for_its_own_hypothesis_only() -> None:
    (problem,) = problems(1)
    answers = {problem: answer_of(problem, comparison("h1", 1.1), comparison("h4", 1.1))}
    rows = [row_of(problem, "h4")]
    assert list_domain(find_entry("h4"), rows, answers)
    assert not list_domain(find_entry("h1"), rows, answers)


def test_what_was_asked_for_has_a_verdict_even_without_shapes() -> None:
    verdicts = summarise_studies("all", [], {})
    assert [verdict.study for verdict in verdicts] == [
        "h1", "h2", "h3", "h4", "h5", "h6", "joint",
    ]  # fmt: skip
    assert {verdict.summary.verdict for verdict in verdicts} == {Verdict.NOT_TESTED}
    assert [verdict.study for verdict in summarise_studies("h3", [], {})] == ["h3"]


def test_a_study_in_numbers() -> None:
    rows, answers = study_all([1.02] * 30, coverage=Coverage.EXTRAPOLATED, resolved=True)
    (verdict,) = summarise_studies("h1", rows, answers)
    assert verdict.summary.verdict is Verdict.SUPPORTED
    assert verdict.holds_for == ()
    assert verdict.selected_geomean == pytest.approx(1.1)
    assert verdict.optimism_mean == pytest.approx(0.08)
    assert (verdict.resolved, verdict.extrapolated) == (30, 30)
    assert verdict.host_cost is not None
    assert verdict.host_cost.candidates_max == 100


def test_a_mixed_study_names_the_parts_that_it_holds_for() -> None:
    long = [GemmProblem(m=4096, k=5000 + place, n=256) for place in range(40)]
    short = [GemmProblem(m=64, k=100 + place, n=256) for place in range(40)]
    answers = {problem: answer_of(problem, comparison("h1", 1.03)) for problem in long}
    answers |= {problem: answer_of(problem, comparison("h1", 0.97)) for problem in short}
    rows = [row_of(problem) for problem in (*long, *short)]
    (verdict,) = summarise_studies("h1", rows, answers)
    assert verdict.summary.verdict is Verdict.MIXED
    assert verdict.holds_for == ("rows M: M >= 2048", "depth K: K > 4096")
    by_name = {(part.split, part.part): part for part in verdict.subdomains}
    part = by_name["rows M", "M 17..256"]
    assert not part.chosen
    assert part.summary.losses == 40
    assert 0 < part.held_out.shapes < 40


def test_every_split_puts_each_shape_into_one_part() -> None:
    rows, answers = study_all([1.0] * 25)
    (verdict,) = summarise_studies("h1", rows, answers)
    for split in SPLITS:
        parts = [part for part in verdict.subdomains if part.split == split.name]
        assert sum(part.summary.shapes for part in parts) == 25
    assert 0 < sum(is_held_out(problem) for problem in problems(300)) < 150


def test_robust_means_nine_draws_in_ten() -> None:
    def assess(wins: int) -> bool | None:
        draws = (1.5,) * wins + (1.0,) * (10 - wins)
        rows, answers = study_all([1.5] * 20, pipeline_draws=draws[:4], emulator_draws=draws[4:])
        shapes = list_domain(find_entry("h1"), rows, answers)
        (verdict,) = summarise_studies("h1", rows, answers)
        found = assess_robustness(shapes, verdict.summary)
        assert found == verdict.robustness
        assert found.agreeing_ratio == wins / 10
        assert (len(found.pipeline_verdicts), len(found.emulator_verdicts)) == (4, 6)
        return found.is_robust

    assert assess(10) is True
    assert assess(9) is True
    assert assess(8) is False


def test_without_draws_or_verdict_robustness_is_open() -> None:
    rows, answers = study_all([1.5] * 20)
    assert summarise_studies("h1", rows, answers)[0].robustness.is_robust is None
    rows, answers = study_all([1.5] * 3, pipeline_draws=(1.5,))
    assert summarise_studies("h1", rows, answers)[0].robustness.is_robust is None


def test_weights_are_normalised_by_model_and_phase() -> None:
    one, two, other = problems(3)
    answers = {
        one: answer_of(one, comparison("h1", 4.0)),
        two: answer_of(two),
        other: answer_of(other, comparison("h1", 2.0)),
    }
    of_a: dict[str, Any] = {"model": "a", "phase": "decode", "tokens": 4}
    rows = [
        row_of(one, weight=3.0, **of_a),
        row_of(two, weight=1.0, **of_a),
        row_of(other, weight=100.0, model="b", phase="decode"),
        row_of(other, "h4", weight=1e9),
    ]
    assert weigh_ratios("h1", rows, answers) == pytest.approx((4.0**0.75 * 2.0) ** 0.5)
    first, second = sum_passes("h1", rows, answers)
    assert (first.model, first.tokens, first.shapes) == ("a", 4, 2)
    assert first.control_us == 400.0
    assert first.treatment_us == pytest.approx(175.0)
    assert first.saved_ratio == pytest.approx(225 / 400)
    assert first.per_token_us == pytest.approx(225 / 4)
    assert second.per_token_us is None


def test_a_launch_pays_for_the_candidates_of_its_shape() -> None:
    cost = summarise_host_cost([comparison("h1", 2.0, candidates=1000)] * 3, 2.0)
    assert cost is not None
    assert cost.launch_cost_us == pytest.approx(NS_PER_CANDIDATE)
    assert cost.pays_from_us == pytest.approx(2 * NS_PER_CANDIDATE)
    assert cost.paying_shapes == (3 if NS_PER_CANDIDATE < 50 else 0)
    nothing = summarise_host_cost([comparison("h1", 1.0)], 1.0)
    assert nothing is not None
    assert nothing.pays_from_us is None
    assert summarise_host_cost([], 1.0) is None


def test_the_proxys_misses_are_named_worst_first() -> None:
    made = problems(3)
    answers = {}
    for place, problem in enumerate(made):
        scoring = TileScoring(
            pairs=9,
            plans=9,
            proxy_regret_ratio=0.02 * place,
            judged_regret_ratio=0.008 * place,
            judged_candidates=4,
            tile_ratio=1.0,
            template_ratio=1.0,
        )
        answers[problem] = answer_of(problem, comparison("h1", 1.0), h1=scoring)
    quality = summarise_proxy([row_of(problem) for problem in made], answers)
    assert quality is not None
    assert (quality.shapes, quality.within_1pct, quality.judged_within_1pct) == (3, 1, 2)
    assert quality.worst[0] == made[2].label()
    assert summarise_proxy([], {}) is None


def test_gaps_to_the_best_known_are_shared_among_the_fields() -> None:
    made = problems(3)
    answers = {}
    for problem, gap, names in zip(
        made, (0.1, 0.2, 0.005), (("base_m", "base_n"), ("base_m",), ("step_k",)), strict=True
    ):
        known = BestKnown(
            best=JudgedPlan(plan=PLAN, selector_us=1.0, judge_us=1.0),
            found_by="cascade",
            judged=3,
            joint_gap_ratio=gap,
            joint_gap_fields=names,
        )
        answers[problem] = answer_of(problem, comparison("opt", 1.2), opt=known)
    gaps = summarise_field_gaps([row_of(problem) for problem in made], answers)
    assert [(gap.field, gap.shapes) for gap in gaps] == [("base_m", 2), ("base_n", 1)]
    assert gaps[1].log_gap == pytest.approx(0.0953102 / 2)


def test_domain_lists_are_numbered_on_and_thinned_at_quick_effort() -> None:
    own = [ShapeRow(index=0, name="a", problem=GemmProblem(m=2, k=2, n=2))]
    full = add_domain_lists(own, "all", "full")
    assert [row.index for row in full] == list(range(141))
    sources = list_sources(full, "all", "full")
    assert {name: sources.count(name) for name in ("", "h4", "h5", "h6")} == {
        "": 1, "h4": 60, "h5": 40, "h6": 40,
    }  # fmt: skip
    assert len(add_domain_lists(own, "all", "quick")) == 1 + 15 + 10 + 10
    assert len(add_domain_lists(own, "h6", "full")) == 41
    assert add_domain_lists(own, "h1", "full") == tuple(own)
    assert study_of_source("h5", "all") == "h5"
    assert study_of_source("", "all") == "all"


def test_results_hold_rejected_rows_and_expected_numbers_are_rounded() -> None:
    good, bad = problems(2)
    rows = [
        ShapeRow(index=0, name="good", problem=good),
        ShapeRow(index=1, name="bad", problem=bad),
    ]
    answers = {good: answer_of(good, comparison("h1", 1.123456789))}
    options = SearchOptions(study="h1", effort=Effort.QUICK)
    results = build_results(rows, answers, {bad: "refused"}, options, SPEC)
    assert [row.state for row in results.rows] == [RowState.OK, RowState.REJECTED]
    assert results.rows[1].message == "refused"
    assert results.answers == (answers[good],)
    text = format_expected(results, "the command")
    assert '"geomean": 1.12346,' in text
    assert '"command": "the command"' in text
    assert format_expected(results, "the command") == text


def test_every_entry_has_its_own_id_and_a_parent_that_exists() -> None:
    names = [entry.statement.id for entry in ENTRIES]
    assert len(set(names)) == len(names)
    assert {entry.parent for entry in ENTRIES} <= {"", *names}
    assert [name for name in names if find_entry(name).is_judged] == [
        "h1", "h2", "h3", "h4", "h5", "h6", "joint",
    ]  # fmt: skip
