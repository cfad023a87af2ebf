import json
from dataclasses import replace

import numpy as np
import pytest

from baseline.decision import decide
from hwmodel.cost.evaluators import EVALUATOR_NAMES, SLOW_EVALUATORS
from hwmodel.cost.roofline import compute_roofline_us
from hwmodel.dtypes import DType, OpImplMode
from hwmodel.errors import InputError, RejectedError
from hwmodel.legality import check
from hwmodel.plan import KernelPlan, Template, canonical_plan
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import load_hardware
from hwmodel.vendor_tiling import find_inexpressible_field
from studies import branch_and_bound, search
from studies.expressible import find_new_field
from studies.objective import Objective
from studies.outcome import ShapeOutcome
from studies.outcome_json import plan_to_json
from studies.ranking import order_plans, rank_times
from studies.sampling_search import BATCH, derive_seed
from studies.search import (
    Effort,
    JsonRecord,
    SearchOptions,
    list_evaluators,
    resolve_search,
    search_shape,
)
from studies.space import NO_CUBE_RESTRICTION, QUICK_RESTRICTION, PlanSpace, build_space
from studies.space_axes import ALL, NO_TEMPLATE_RESTRICTION, TILES
from tests.studies.fake_evaluator import FakeEvaluator, MemoryJournal

SPEC = load_hardware("ascend950pr-9589")
PROBLEM = GemmProblem(m=200, k=96, n=3000)
SMALL_PROBLEM = GemmProblem(m=100, k=48, n=200)
"""Its whole space is soon listed."""
EXHAUSTIVE = SearchOptions(strategy="exhaustive", evaluator="pipeline")
QUICK = replace(EXHAUSTIVE, effort=Effort.QUICK)
SAMPLING = [
    replace(EXHAUSTIVE, strategy=strategy, trials=37, seed=3) for strategy in ("random", "tpe")
]


class Lab:
    """Searches with a fake evaluator that can be looked at."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.evaluator = FakeEvaluator()
        patch.setattr(search, "build_objective", self._build)

    def _build(self, problem: GemmProblem, spec: HardwareSpec, _: str) -> Objective:
        return Objective(problem, spec, self.evaluator)

    def search(
        self,
        options: SearchOptions,
        journal: MemoryJournal | None = None,
        problem: GemmProblem = PROBLEM,
    ) -> ShapeOutcome:
        return search_shape(problem, SPEC, options, journal or MemoryJournal())


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(monkeypatch)


def vendor_plan(problem: GemmProblem) -> KernelPlan:
    return canonical_plan(problem, decide(problem, SPEC).plan)


def searched_space(problem: GemmProblem, options: SearchOptions) -> PlanSpace:
    quick = options.effort is Effort.QUICK
    name = TILES if quick else ALL
    return build_space(problem, SPEC, vendor_plan(problem), quick=quick, name=name)


@pytest.mark.parametrize("options", [QUICK, EXHAUSTIVE])
def test_exhaustive_finds_what_a_sort_of_all_points_finds(
    lab: Lab, options: SearchOptions
) -> None:
    problem = PROBLEM if options is QUICK else SMALL_PROBLEM
    outcome = lab.search(options, problem=problem)
    baseline = vendor_plan(problem)
    space = searched_space(problem, options)
    plans = space.plans(np.arange(len(space), dtype=np.int64))
    times_us = lab.evaluator.estimate_us(problem, SPEC, plans)
    order = order_plans(plans, rank_times(times_us), baseline)[:16]
    assert tuple(item.plan for item in outcome.top) == tuple(plans.plan(int(row)) for row in order)
    assert outcome.best == outcome.top[0]
    assert outcome.ties_within_1pct == int((times_us <= 1.01 * times_us.min()).sum())
    certificate = outcome.certificate
    assert certificate is not None
    assert certificate.evaluated == outcome.evaluations == len(space)
    assert certificate.pruned == 0
    assert certificate.cartesian == len(space) + sum(outcome.rejected.values())
    assert certificate.best_us == outcome.best.cost.task_duration_us
    assert certificate.restriction == (QUICK_RESTRICTION if options is QUICK else "")
    name = "tiles" if options is QUICK else "all"
    assert (certificate.space, certificate.evaluator) == (name, "fake")
    assert outcome.history_us == ()


@pytest.mark.parametrize(
    ("options", "k", "n"), [(QUICK, 96, 3000), (QUICK, 700, 3000), (EXHAUSTIVE, 40, 120)]
)
def test_the_best_without_a_new_field_is_what_a_filter_finds(
    lab: Lab, options: SearchOptions, k: int, n: int
) -> None:
    problem = GemmProblem(m=400, k=k, n=n)
    outcome = lab.search(options, problem=problem)
    assert find_new_field(problem, outcome.best.plan, outcome.baseline.plan) == "window_len"
    baseline = vendor_plan(problem)
    space = searched_space(problem, options)
    plans = space.plans(np.arange(len(space), dtype=np.int64))
    rows = [
        row
        for row in range(0, len(space))
        if find_inexpressible_field(problem, plans.plan(row)) is None
    ]
    kept = plans.select(np.array(rows))
    times_us = lab.evaluator.estimate_us(problem, SPEC, kept)
    first = kept.plan(int(order_plans(kept, rank_times(times_us), baseline)[0]))
    assert outcome.best_expressible.plan == first
    assert 0 <= outcome.expressible_gap_ratio < outcome.gap_ratio


@pytest.mark.parametrize("options", SAMPLING)
def test_sampling_looks_among_what_it_evaluated(lab: Lab, options: SearchOptions) -> None:
    problem = GemmProblem(m=400, k=96, n=3000)
    journal = MemoryJournal()
    outcome = lab.search(replace(options, trials=120), journal, problem=problem)
    assert find_new_field(problem, outcome.best.plan, outcome.baseline.plan)
    assert not find_new_field(problem, outcome.best_expressible.plan, outcome.baseline.plan)
    assert outcome.best.cost.task_duration_us < outcome.best_expressible.cost.task_duration_us
    assert outcome.expressible_gap_ratio >= 0
    assert any(
        record["plan"] == json.loads(json.dumps(plan_to_json(outcome.best_expressible.plan)))
        for record in journal.records
    )


def test_the_outcome_has_the_vendors_side(lab: Lab) -> None:
    outcome = lab.search(QUICK)
    assert outcome.problem == PROBLEM
    assert outcome.baseline.plan == vendor_plan(PROBLEM)
    assert outcome.baseline_strategy == "BASIC_ASWT"
    assert outcome.baseline_violations == ()
    assert outcome.roofline_us == compute_roofline_us(PROBLEM, SPEC)
    assert outcome.gap_ratio > 0
    assert all(check(PROBLEM, SPEC, item.plan) == () for item in outcome.top)


def test_a_baseline_that_breaks_rules_is_searched_and_named(lab: Lab) -> None:
    problem = GemmProblem(m=124, k=4008, n=82, trans_a=True)
    outcome = lab.search(QUICK, problem=problem)
    assert outcome.baseline_strategy == "BASIC_STREAM_K"
    (violation,) = outcome.baseline_violations
    assert violation.startswith("base_k_multiple: base_k must be a multiple")
    assert violation.endswith("(126 against 16)")
    assert outcome.certificate is not None
    assert outcome.evaluations == outcome.certificate.evaluated + 1


def test_a_tie_goes_to_the_baseline(lab: Lab) -> None:
    baseline = vendor_plan(PROBLEM)
    lab.evaluator = FakeEvaluator(base_m=baseline.base_m, base_n=baseline.base_n)
    best = lab.search(QUICK).best.plan
    assert (best.base_m, best.base_n) == (baseline.base_m, baseline.base_n)


@pytest.mark.parametrize("chunk", [17, 1000])
def test_the_outcome_does_not_depend_on_the_chunks(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    expected = lab.search(QUICK)
    monkeypatch.setattr(branch_and_bound, "CHUNK", chunk)
    assert lab.search(QUICK) == expected


def test_full_covers_what_standard_does(lab: Lab) -> None:
    full = replace(EXHAUSTIVE, effort=Effort.FULL)
    assert lab.search(full, problem=SMALL_PROBLEM) == lab.search(EXHAUSTIVE, problem=SMALL_PROBLEM)


def test_a_finished_exhaustive_search_is_served_from_its_journal(lab: Lab) -> None:
    journal = MemoryJournal()
    outcome = lab.search(QUICK, journal)
    assert [record["kind"] for record in journal.records] == ["certificate"]
    lab.evaluator.calls = 0
    assert lab.search(QUICK, journal) == outcome
    assert lab.evaluator.calls == 1
    assert journal.writes == 1


def test_certificates_of_other_searches_are_not_used(lab: Lab) -> None:
    journal = MemoryJournal()
    problem = SMALL_PROBLEM
    quick = lab.search(QUICK, journal, problem=problem)
    assert lab.search(EXHAUSTIVE, journal, problem=problem).evaluations > quick.evaluations
    lab.evaluator = FakeEvaluator(version="2", base_m=64)
    outcome = lab.search(QUICK, journal, problem=problem)
    assert outcome.best.plan.base_m == 64
    assert len(journal.records) == 3


@pytest.mark.parametrize("outcome", [None, {}, 3])
def test_a_damaged_certificate_is_made_anew(lab: Lab, outcome: object) -> None:
    journal = MemoryJournal()
    expected = lab.search(QUICK, journal)
    damaged = MemoryJournal([{**journal.records[0], "outcome": outcome}])
    assert lab.search(QUICK, damaged) == expected
    assert len(damaged.records) == 2


@pytest.mark.parametrize("options", SAMPLING)
def test_sampling_spends_its_trials_on_distinct_legal_plans(
    lab: Lab, options: SearchOptions
) -> None:
    journal = MemoryJournal()
    outcome = lab.search(options, journal)
    assert outcome.evaluations == len(journal.records) == options.trials
    assert lab.evaluator.calls == options.trials
    plans = [str(record["plan"]) for record in journal.records]
    assert len(set(plans)) == options.trials
    assert [record["trial"] for record in journal.records] == list(range(options.trials))
    assert journal.writes == 1 + -(-(options.trials - 1) // BATCH)
    assert outcome.certificate is None
    assert len(outcome.history_us) == options.trials
    assert outcome.history_us[0] == outcome.baseline.cost.task_duration_us
    assert outcome.history_us[-1] == outcome.best.cost.task_duration_us
    assert list(outcome.history_us) == sorted(outcome.history_us, reverse=True)
    assert len(outcome.top) == 16
    assert 1 <= outcome.ties_within_1pct <= options.trials


@pytest.mark.parametrize("options", SAMPLING)
def test_a_seed_decides_the_course(lab: Lab, options: SearchOptions) -> None:
    journals = [MemoryJournal() for _ in range(3)]
    first = lab.search(options, journals[0])
    assert lab.search(options, journals[1]) == first
    lab.search(replace(options, seed=4), journals[2])
    assert journals[0].records == journals[1].records != journals[2].records


@pytest.mark.parametrize("options", SAMPLING)
@pytest.mark.parametrize("finished", [0, 1, 11, 16, 37])
def test_resuming_is_replaying(lab: Lab, options: SearchOptions, finished: int) -> None:
    whole = MemoryJournal()
    expected = lab.search(options, whole)
    interrupted = MemoryJournal(whole.records[:finished])
    lab.evaluator.calls = 0
    assert lab.search(options, interrupted) == expected
    assert interrupted.records == whole.records
    baseline_again = 1 if finished else 0
    assert lab.evaluator.calls == options.trials - finished + baseline_again


@pytest.mark.parametrize("options", SAMPLING)
def test_stale_foreign_and_damaged_records_are_not_used(lab: Lab, options: SearchOptions) -> None:
    old = MemoryJournal()
    lab.search(options, old)
    lab.evaluator = FakeEvaluator(version="2", base_m=64)
    expected = lab.search(options)
    clean = MemoryJournal()
    lab.search(options, clean)
    damaged: list[JsonRecord] = [
        {**clean.records[0], "cost": None},
        {**clean.records[3], "cost": {"task_duration_us": 1.0}},
        {**clean.records[4], "key": 7},
        {"kind": "evaluation"},
        {"something": "else"},
    ]
    journal = MemoryJournal([*old.records, *damaged])
    assert lab.search(options, journal) == expected
    assert journal.records[len(old.records) + len(damaged) :] == clean.records


@pytest.mark.parametrize("options", SAMPLING)
def test_sampling_stops_when_the_space_is_exhausted(lab: Lab, options: SearchOptions) -> None:
    problem = GemmProblem(m=17, k=13, n=5)
    space = build_space(problem, SPEC, vendor_plan(problem), name=ALL)
    outcome = lab.search(replace(options, trials=len(space) + 2), problem=problem)
    assert outcome.evaluations == len(space)
    assert outcome.best.cost.task_duration_us == min(outcome.history_us)


@pytest.mark.parametrize("options", SAMPLING)
def test_a_baseline_outside_the_space_is_trial_0_all_the_same(
    lab: Lab, options: SearchOptions
) -> None:
    problem = GemmProblem(m=64, k=8192, n=1280)
    outcome = lab.search(options, problem=problem)
    assert outcome.baseline_strategy == "BASIC_STREAM_K"
    assert outcome.history_us[0] == outcome.baseline.cost.task_duration_us
    assert outcome.evaluations == options.trials


@pytest.mark.parametrize(
    "options", [QUICK, *(replace(options, effort=Effort.QUICK) for options in SAMPLING)]
)
@pytest.mark.parametrize(
    ("problem", "strategy"),
    [
        (GemmProblem(m=16, k=0, n=16), "K_EQUAL_ZERO"),
        (
            GemmProblem(
                m=1,
                k=512,
                n=777,
                dtype=DType.FP32,
                out_dtype=DType.FP32,
                op_impl_mode=OpImplMode.HIGH_PRECISION,
            ),
            "TO_MUL",
        ),
        (
            GemmProblem(
                m=64,
                k=512,
                n=64,
                dtype=DType.FP32,
                out_dtype=DType.FP32,
                op_impl_mode=OpImplMode.HIGH_PRECISION,
            ),
            "TO_MULTI_MUL",
        ),
    ],
)
def test_where_there_is_nothing_to_search_the_baseline_is_the_best(
    lab: Lab, options: SearchOptions, problem: GemmProblem, strategy: str
) -> None:
    outcome = lab.search(options, problem=problem)
    assert outcome.baseline_strategy == strategy
    assert outcome.best == outcome.baseline
    assert outcome.top == (outcome.baseline,)
    assert outcome.best_expressible == outcome.baseline
    assert (outcome.gap_ratio, outcome.evaluations, outcome.ties_within_1pct) == (0.0, 1, 1)
    if outcome.certificate is not None:
        assert outcome.certificate.restriction == NO_CUBE_RESTRICTION
        assert outcome.certificate.cartesian == outcome.certificate.evaluated == 0


def test_the_whole_space_has_no_plan_that_clears_c(lab: Lab) -> None:
    outcome = lab.search(EXHAUSTIVE, problem=GemmProblem(m=16, k=0, n=16))
    assert outcome.top == (outcome.baseline,)
    assert outcome.certificate is not None
    assert outcome.certificate.restriction == NO_TEMPLATE_RESTRICTION
    assert (outcome.certificate.evaluated, outcome.evaluations) == (0, 1)


@pytest.mark.parametrize(
    ("strategy", "evaluator", "effort", "expected"),
    [
        (None, None, Effort.QUICK, ("exhaustive", "pipeline")),
        (None, None, Effort.STANDARD, ("cascade", "emulator")),
        (None, None, Effort.FULL, ("cascade", "emulator")),
        (None, "emulator", Effort.QUICK, ("cascade", "emulator")),
        (None, "pipeline", Effort.FULL, ("exhaustive", "pipeline")),
        (None, "formula", Effort.STANDARD, ("exhaustive", "formula")),
        ("cascade", None, Effort.QUICK, ("cascade", "emulator")),
        ("random", None, Effort.STANDARD, ("random", "pipeline")),
        ("prior", "emulator", Effort.STANDARD, ("prior", "emulator")),
    ],
)
def test_what_is_not_given_is_filled_in(
    strategy: str | None, evaluator: str | None, effort: Effort, expected: tuple[str, str]
) -> None:
    assert resolve_search(strategy, evaluator, effort) == expected


def test_the_models_that_take_part() -> None:
    assert list_evaluators(SearchOptions()) == ("pipeline", "emulator")
    assert list_evaluators(EXHAUSTIVE) == ("pipeline",)


def test_a_sampling_search_of_a_model_with_bounds_states_its_regret() -> None:
    options = SearchOptions(strategy="random", evaluator="pipeline", trials=5)
    journal = MemoryJournal()
    outcome = search_shape(SMALL_PROBLEM, SPEC, options, journal)
    certified = search_shape(SMALL_PROBLEM, SPEC, EXHAUSTIVE, MemoryJournal())
    assert outcome.certificate == certified.certificate
    best_us, least_us = (one.best.cost.task_duration_us for one in (outcome, certified))
    assert outcome.regret_ratio == pytest.approx(best_us / least_us - 1)
    assert certified.regret_ratio == 0
    assert [record["kind"] for record in journal.records] == ["evaluation"] * 5 + ["certificate"]
    assert search_shape(SMALL_PROBLEM, SPEC, options, journal) == outcome
    assert len(journal.records) == 6


def test_a_rejected_problem_is_the_callers_row() -> None:
    problem = GemmProblem(m=16, k=0, n=16, bias_dtype=DType.BF16)
    with pytest.raises(RejectedError):
        search_shape(problem, SPEC, QUICK, MemoryJournal())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (SearchOptions(study="windows"), "study 'windows' is unknown; use tiles"),
        (SearchOptions(strategy="luck"), "use one of cascade, exhaustive, random, tpe"),
        (SearchOptions(trials=0), "trials = 0: must be at least 1"),
        (replace(EXHAUSTIVE, evaluator="oracle"), "oracle"),
        (SearchOptions(evaluator="pipeline"), "cascade: the pipeline model chooses"),
        (
            replace(EXHAUSTIVE, evaluator="emulator"),
            "too slow.*--strategy cascade or random or tpe",
        ),
    ],
)
def test_impossible_options_are_refused(options: SearchOptions, message: str) -> None:
    with pytest.raises(InputError, match=message):
        search_shape(PROBLEM, SPEC, options, MemoryJournal())


@pytest.mark.parametrize("evaluator", sorted(set(EVALUATOR_NAMES) - SLOW_EVALUATORS))
def test_the_real_evaluators_serve(evaluator: str) -> None:
    outcome = search_shape(PROBLEM, SPEC, replace(QUICK, evaluator=evaluator), MemoryJournal())
    assert outcome.gap_ratio >= 0
    assert outcome.certificate is not None
    assert outcome.certificate.evaluator == evaluator


@pytest.mark.parametrize("evaluator", sorted(SLOW_EVALUATORS))
def test_slow_evaluators_serve_sampling_strategies(evaluator: str) -> None:
    options = replace(QUICK, evaluator=evaluator, strategy="random", trials=5)
    outcome = search_shape(PROBLEM, SPEC, options, MemoryJournal())
    assert outcome.gap_ratio >= 0
    assert outcome.evaluations == 5
    assert outcome.certificate is None


def test_seeds_depend_on_run_and_problem() -> None:
    seeds = {derive_seed(seed, replace(PROBLEM, m=m)) for seed in range(5) for m in range(1, 21)}
    assert len(seeds) == 100
    assert derive_seed(1, PROBLEM) == derive_seed(1, PROBLEM)
    assert all(0 <= seed < 2**32 for seed in seeds)


def test_keys_cover_all_that_an_answer_depends_on() -> None:
    plan = vendor_plan(PROBLEM)
    slower = replace(SPEC, rates=replace(SPEC.rates, hbm_read_total_bytes_per_cycle=1.0))
    keys = [
        Objective(PROBLEM, SPEC, FakeEvaluator()).key(plan),
        Objective(replace(PROBLEM, trans_a=True), SPEC, FakeEvaluator()).key(plan),
        Objective(PROBLEM, slower, FakeEvaluator()).key(plan),
        Objective(PROBLEM, SPEC, FakeEvaluator(version="2")).key(plan),
        Objective(PROBLEM, SPEC, FakeEvaluator()).key(replace(plan, window_len=9)),
    ]
    assert len(set(keys)) == len(keys)
    assert Objective(PROBLEM, SPEC, FakeEvaluator()).key(plan) == keys[0]
    assert plan.template is Template.ASWT
