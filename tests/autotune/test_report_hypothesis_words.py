"""Sentences of the report of hypotheses: verdicts in words, what to build first, rules."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from autotune.report.hypotheses.build_first import describe_first
from autotune.report.hypotheses.host_steps import STEPS
from autotune.report.hypotheses.maintainer import build_maintainer_page, list_left_out
from autotune.report.hypotheses.priorities import Form, Grade, Priority, rank_priorities
from autotune.report.hypotheses.study_facts import describe_study
from autotune.report.hypotheses.verdict_words import (
    compute_rest,
    describe_draws,
    describe_error,
    describe_verdict,
    format_signed,
    name_part,
)
from autotune.report.hypotheses.view import RunView
from hwmodel.problem import GemmProblem
from studies.gap import Coverage
from studies.hypotheses.answers import ShapeAnswer
from studies.hypotheses.registry import H1_FROZEN, H5_RULE, H5_SELECTOR
from studies.hypotheses.verdicts import StudiedRow
from tests.autotune.hypothesis_runs import (
    make_answer,
    make_comparison,
    make_results,
    make_view,
)
from tests.autotune.report_runs import make_spec
from tests.studies.hypotheses.test_summary import row_of


def view_of(
    ratios: Sequence[Mapping[str, float]],
    study: str,
    *,
    m: int = 512,
    n: int = 4096,
    model: str = "a",
    baseline_us: float = 100.0,
) -> RunView:
    """One shape for each entry, each of a layer of its own."""
    rows: list[StudiedRow] = []
    answers: list[ShapeAnswer] = []
    for place, entry in enumerate(ratios):
        problem = GemmProblem(m=m, k=64 + place, n=n)
        rows.append(
            row_of(problem, index=place, name=f"shape {place}", model=model, layer=str(place))
        )
        answers.append(make_answer(problem, entry, baseline_us))
    return make_view(make_results(rows, answers, study), study)


def sentence(view: RunView, study: str) -> str:
    return describe_verdict(view, view.verdicts[study])


def only(priorities: Sequence[Priority], study: str) -> Priority:
    return next(one for one in priorities if one.study == study)


def test_a_supported_verdict() -> None:
    view = view_of([{"h1": 1.03}] * 30, "h1")
    assert sentence(view, "h1") == (
        "supported, worth +3.0 % on the mean, at best +3.0 %, no losses; robust (3 of 3 draws "
        "agree); extrapolated beyond the measured data"
    )


def test_a_refuted_verdict_is_as_plain() -> None:
    view = view_of([{"h1": 1.0}] * 29 + [{"h1": 0.98}], "h1")
    assert sentence(view, "h1") == (
        "refuted: -0.1 % on the mean, and no shape gains more than 5.0 %, 1 loss of 30 shapes "
        "(worst -2.0 %); robust (3 of 3 draws agree); extrapolated beyond the measured data"
    )


def test_a_mixed_verdict_names_the_part_where_it_holds_and_what_is_elsewhere() -> None:
    rows, answers = [], []
    for place in range(80):
        long = place % 2 == 0
        problem = GemmProblem(m=4096 if long else 64, k=100 + place, n=4096)
        rows.append(row_of(problem, index=place, model="a", layer=str(place)))
        answers.append(make_answer(problem, {"h2": 1.04 if long else 0.98}))
    view = make_view(make_results(rows, answers, "h2"), "h2")
    told = sentence(view, "h2")
    assert told.startswith(
        "mixed: supported for M >= 2048 and 1 other part, worth +4.0 % there, -2.0 % elsewhere"
    )
    assert "40 losses of 80 shapes (worst -2.0 %)" in told


def test_what_is_nothing_elsewhere_is_called_so() -> None:
    view = view_of([{"h1": 1.04 if place % 2 else 1.0} for place in range(40)], "h1")
    summary = view.verdicts["h1"].summary
    assert compute_rest(summary, summary) == 1.0
    half = replace(summary, shapes=20, geomean=1.04)
    assert compute_rest(summary, half) == pytest.approx(1.0, abs=1e-6)


def test_a_mixed_verdict_that_holds_nowhere() -> None:
    view = view_of([{"h1": 1.1 if place % 2 else 0.9} for place in range(40)], "h1")
    assert sentence(view, "h1").startswith(
        "mixed: -0.5 % on the mean, a sure gain in no stated part of its domain, at best +10.0 %, "
        "20 losses of 40 shapes (worst -10.0 %)"
    )


@pytest.mark.parametrize(
    ("count", "start"),
    [
        (0, "not tested: no shape of this run is in its domain"),
        (1, "not tested: 1 shape in its domain, a verdict needs 20; on it +2.0 % on the mean"),
        (8, "not tested: 8 shapes in its domain, a verdict needs 20; on these +2.0 %"),
    ],
)
def test_too_few_shapes_are_not_tested(count: int, start: str) -> None:
    assert sentence(view_of([{"h1": 1.02}] * count, "h1"), "h1").startswith(start)


def test_robustness_counts_the_draws_that_keep_the_verdict() -> None:
    problems = [GemmProblem(m=512, k=64 + place, n=4096) for place in range(30)]
    answers = [
        replace(
            make_answer(problem, {}),
            comparisons=(
                make_comparison(
                    "h1", 1.03, pipeline_draws=(1.03, 1.02), emulator_draws=(0.9, 1.04)
                ),
            ),
        )
        for problem in problems
    ]
    view = make_view(make_results([row_of(problem) for problem in problems], answers, "h1"), "h1")
    assert "not robust (3 of 4 draws agree)" in sentence(view, "h1")
    assert describe_draws(view.verdicts["h1"]) == (
        "Of the selector's 2 draws: supported 2; of the judge's 2 draws: supported 1, refuted 1. "
        "The mean gain lies between -10.0 % and +4.0 % over all draws."
    )


@pytest.mark.parametrize(
    ("coverage", "text"),
    [
        (Coverage.INSIDE, "within the kinds of kernels that were measured"),
        (Coverage.EXTRAPOLATED, "extrapolated beyond the measured data"),
        (None, "15 of 30 changed plans extrapolated beyond the measured data"),
    ],
)
def test_coverage_counts_the_changed_plans(coverage: Coverage | None, text: str) -> None:
    problems = [GemmProblem(m=512, k=64 + place, n=4096) for place in range(30)]
    answers = []
    for place, problem in enumerate(problems):
        mixed = Coverage.INSIDE if place % 2 else Coverage.EXTRAPOLATED
        made = make_comparison("h1", 1.03, coverage=coverage or mixed)
        answers.append(replace(make_answer(problem, {}), comparisons=(made,)))
    view = make_view(make_results([row_of(problem) for problem in problems], answers, "h1"), "h1")
    assert sentence(view, "h1").endswith(text)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.031, "+3.1 %"), (0.98, "-2.0 %"), (1.0, "0.0 %"), (1.0002, "0.0 %"), (0.9999, "0.0 %")],
)
def test_gains_have_a_sign_unless_they_round_to_nothing(ratio: float, text: str) -> None:
    assert format_signed(ratio) == text


def test_an_unknown_error_is_said_to_be_unknown() -> None:
    view = view_of([], "h1")
    bare = replace(view, spec=replace(make_spec(), calibrations={}))
    assert describe_error(bare).startswith("Neither model's error on this chip is known")


def test_a_robust_condition_that_saves_a_part_of_a_pass_is_built_first() -> None:
    entries = [{"h4": 1.2, "h2": 1.0} for _ in range(60)]
    view = view_of(entries, "all", n=4097)
    priorities = rank_priorities(view)
    assert [one.grade for one in priorities[:1]] == [Grade.BUILD]
    assert priorities[0].study == "h4"
    assert priorities[0].best is not None
    assert priorities[0].best.form is Form.CONDITION
    told = describe_first(view, priorities)
    assert told[0].startswith(
        "Build H4, the fixpipe output by the model first: as a condition (whole domain) it saves "
        "16.7 % of a pass, mean of all passes; gains +20.0 % on"
    )
    assert "it costs a launch nothing to speak of" in told[0]
    assert "its verdict is robust (3 of 3 draws agree)" in told[0]
    assert "it needs host tiling only" in told[0]
    assert any(one.startswith("Leave") and "H2 (refuted)" in one for one in told)


def test_what_its_own_scoring_would_eat_up_is_scored_once_per_shape() -> None:
    view = view_of([{"h1": 1.04}] * 60, "h1", baseline_us=100.0)
    (one,) = rank_priorities(view)
    assert one.best is not None
    assert one.best.form is Form.CACHED
    assert one.best.saved_ratio == pytest.approx(1 - 1 / 1.04)
    by_form = {option.form: option for option in one.options}
    cost_us = 65 * 0.625
    assert by_form[Form.SCORING].saved_ratio == pytest.approx(1 - 1 / 1.04 - cost_us / 100.0)
    told = describe_first(view, (one,))
    assert "scored by the model once per shape, the answer kept" in told[0]
    assert "at every launch the scoring would cost 40.6 µs, more than it saves" in told[0]


def test_what_is_left_of_a_pass_by_scoring_at_every_launch_is_told() -> None:
    view = view_of([{"h1": 1.04}] * 60, "h1", baseline_us=2000.0)
    told = describe_first(view, rank_priorities(view))
    assert (
        "at every launch the scoring would cost 40.6 µs, which leaves 1.8 % of a pass" in told[0]
    )


@pytest.mark.parametrize(
    ("split", "part", "words"),
    [
        ("rows M", "M >= 2048", "for M >= 2048"),
        ("rows of C", "rows of C are not", "where rows of C are not"),
        ("kind of kernel", "read bound", "for read bound kernels"),
        ("blocks per core", "up to 4 blocks a core", "with up to 4 blocks a core"),
    ],
)
def test_parts_of_a_domain_in_words(split: str, part: str, words: str) -> None:
    view = view_of([{"h1": 1.03}] * 30, "h1")
    some = view.verdicts["h1"].subdomains[0]
    assert name_part(replace(some, split=split, part=part)) == words


def test_a_better_constant_window_is_the_simplest_form_of_h2() -> None:
    view = view_of([{"h2": 1.05}] * 60, "h2")
    (one,) = rank_priorities(view)
    assert one.best is not None
    assert one.best.form is Form.CONSTANT
    assert one.best.conditions == ("W = 8",)
    assert one.best.saved_ratio == pytest.approx(1 - 1 / 1.05)
    told = describe_first(view, (one,))
    assert "as a constant (W = 8) it saves 4.8 % of a pass" in told[0]
    assert "it needs host tiling, and a parameter that the kernel reads" in told[0]
    (entry,) = build_maintainer_page(view, (one,))
    assert "set it as the rule says: W = 8." in dict(entry.facts)["New rule"]


def test_long_kernels_pay_for_scoring_at_every_launch() -> None:
    (one,) = rank_priorities(view_of([{"h1": 1.04}] * 60, "h1", baseline_us=100_000.0))
    assert one.best is not None
    assert one.best.form is Form.SCORING


def test_a_gain_that_the_hardware_decides_is_measured_first() -> None:
    view = view_of([{"h1": 1.03}] * 10, "h1")
    priorities = rank_priorities(view)
    assert priorities[0].grade is Grade.MEASURE
    assert describe_first(view, priorities)[0].startswith(
        "No improvement is sure enough to be built blindly. Measure H1, the base tile by a model"
    )


def test_a_gain_outside_the_models_is_built_if_such_shapes_matter() -> None:
    view = view_of([{"h4": 1.2}] * 60, "h4", n=4097)
    rows = tuple(replace(row, source="h4") for row in view.results.rows)
    counted = make_view(replace(view.results, rows=rows), "h4")
    (one,) = rank_priorities(counted)
    assert one.grade is Grade.FOR_ITS_SHAPES
    assert "if shapes of its domain matter" in describe_first(counted, (one,))[0]


def test_nothing_is_built_where_nothing_gains() -> None:
    view = view_of([{"h1": 1.0, "h3": 0.97}] * 30, "all")
    told = describe_first(view, rank_priorities(view))
    assert told[0].startswith("Build none of them on this evidence")
    assert describe_first(view, ()) == ()


def test_host_tiling_alone_is_named_where_the_first_needs_a_kernel() -> None:
    view = view_of([{"h1": 1.02, "h3": 1.2, "joint": 1.1, "opt": 1.3}] * 40, "all")
    priorities = rank_priorities(view)
    assert [one.study for one in priorities[:2]] == ["h3", "h1"]
    told = " ".join(describe_first(view, priorities))
    assert "If only the host tiling may change, begin with H1" in told
    assert "so most of what is left lies beyond these six" in told


def test_a_new_kernel_must_save_twice_as_much_to_come_first() -> None:
    view = view_of([{"h1": 1.04, "h3": 1.05}] * 40, "all")
    assert [one.study for one in rank_priorities(view)[:2]] == ["h1", "h3"]


def test_a_form_without_large_losses_comes_before_a_greater_saving() -> None:
    entries = [{"h3": 1.02, "h1": 0.9 if place % 7 == 0 else 1.2} for place in range(60)]
    priorities = rank_priorities(view_of(entries, "all"))
    first, second = only(priorities, "h3"), only(priorities, "h1")
    assert priorities.index(first) < priorities.index(second)


def test_the_maintainers_page_has_rule_gain_cost_and_risk() -> None:
    view = view_of([{"h4": 1.2, "h2": 1.0} for _ in range(60)], "all", n=4097)
    entries = build_maintainer_page(view, rank_priorities(view))
    (entry,) = entries
    assert (entry.title, entry.verdict) == ("H4: the fixpipe output by the model", "supported")
    facts = dict(entry.facts)
    assert list(facts) == [
        "Step", "Today", "New rule", "As a condition", "By the model", "Host cost", "In a pass",
        "Work", "Risk",
    ]  # fmt: skip
    assert "section 8" in facts["Step"]
    assert "confirmed" in facts["As a condition"]
    assert "unseen shapes" in facts["By the model"]
    assert "65 candidates (median, at most 65)" in facts["Host cost"]
    assert "the 5.5 µs that the heuristic takes today" in facts["Host cost"]
    assert "it pays for kernels from" in facts["Host cost"]
    assert facts["Risk"].startswith("Robust (3 of 3 draws agree). No shape of the domain loses")
    assert list_left_out(view).startswith("Without a rule: H2: refuted; H1, H3, H5, H6, JOINT:")


def test_a_confirmed_condition_stands_in_the_rule() -> None:
    entries = [{"h6": 1.3 if place <= 64 else 0.7} for place in range(100)]
    view = view_of(entries, "h6", m=1)
    (entry,) = build_maintainer_page(view, rank_priorities(view))
    assert view.rules["h6"].is_confirmed
    condition = " and ".join(view.rules["h6"].conditions)
    assert f"where {condition}; its geometry" in dict(entry.facts)["New rule"]
    assert "lose on shape" in dict(entry.facts)["Risk"]


def test_every_hypothesis_has_a_step_of_the_host_tiling() -> None:
    view = view_of([], "all")
    assert set(STEPS) == set(view.verdicts)
    for step in STEPS.values():
        assert "section" in step.step


def test_each_study_shows_what_it_must_besides_its_verdict() -> None:
    entry = {
        "h1": 1.05, H1_FROZEN: 1.03, "h2": 1.02, "h3": 1.02, "h4": 1.1, "h5": 1.0, H5_RULE: 0.8,
        H5_SELECTOR: 1.01, "h6": 1.2, "joint": 1.05, "joint_without_h1": 1.02, "opt": 1.2,
    }  # fmt: skip
    view = view_of([entry] * 5, "all", m=1)
    told = {study: " ".join(describe_study(view, study)) for study in (*STEPS, "opt")}
    assert "within 1 % of the best of its own candidates for 0 of 5 shapes" in told["h1"]
    assert "shape 0 (5.0 %)" in told["h1"]
    assert "the tile alone gains +3.0 % on the mean" in told["h1"]
    assert "last round and first accesses make +0.5 %, reuse in L2 +1.5 %" in told["h2"]
    assert "Of 5 shapes that it makes more than 1 % faster, 5 load less." in told["h3"]
    assert "through UB is more than 1 % faster for 5 and more than 1 % slower for 0" in told["h4"]
    assert "changes the heuristic's decision for 0 of 5 shapes" in told["h5"]
    assert "Followed as a rule, without asking the selector, it gains -20.0 %" in told["h5"]
    assert "has a median of 3.0 % with sharing and 6.0 % without" in told["h5"]
    assert "more than 1 % faster for 5 of 5 shapes" in told["h6"]
    assert "H1 +2.9 %" in told["joint"]
    assert "The best known came from: the cascade over the space 5." in told["opt"]
    assert "base_n (5 shapes), window_len (5 shapes)" in told["opt"]
    bare = make_view(replace(view.results, sharing=(), proxy=None, field_gaps=()))
    assert describe_study(bare, "h1") == ()
    assert "not fitted both ways" in " ".join(describe_study(bare, "h5"))


def test_gains_without_fewer_loads_are_told_apart() -> None:
    view = view_of([{"h3": 1.05}] * 5, "h3")
    answers = tuple(
        replace(answer, h3=replace(answer.h3, best_load_bytes=1000)) if answer.h3 else answer
        for answer in view.results.answers
    )
    told = describe_study(make_view(replace(view.results, answers=answers), "h3"), "h3")
    assert "the other 5 gain without loading less" in told[0]
