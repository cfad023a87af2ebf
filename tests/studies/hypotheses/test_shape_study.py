"""One problem through all studies with the real models; resuming; figures behind the answers."""

import pytest

from hwmodel.plan import Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from studies.hypotheses.answers import ShapeAnswer
from studies.hypotheses.shape_study import ANSWER_KIND, study_shape
from studies.outcome_json import from_json, to_json
from studies.search import Effort, SearchOptions
from tests.studies.fake_evaluator import MemoryJournal

SPEC = load_hardware("ascend950pr-9589")


def ask(
    problem: GemmProblem, study: str = "all", journal: MemoryJournal | None = None
) -> ShapeAnswer:
    options = SearchOptions(study=study, effort=Effort.QUICK)
    return study_shape(problem, SPEC, options, journal or MemoryJournal())


@pytest.fixture(scope="module")
def walking() -> ShapeAnswer:
    """ASWT with several rows and columns of blocks, more written than read."""
    return ask(GemmProblem(m=1040, k=160, n=1100))


@pytest.fixture(scope="module")
def vector() -> ShapeAnswer:
    return ask(GemmProblem(m=1, k=512, n=600))


def test_studies_come_in_order_and_only_in_their_domains(
    walking: ShapeAnswer, vector: ShapeAnswer
) -> None:
    studies = [item.study for item in walking.comparisons]
    assert [study for study in studies if "_" not in study] == [
        "h1", "h2", "h3", "h4", "h5", "joint", "opt",
    ]  # fmt: skip
    assert "joint_without_h3" in studies
    assert vector.find("h2") is None
    assert vector.find("h6") is not None
    assert walking.h6 is None


def test_every_time_is_positive_and_the_selector_never_expects_a_loss(
    walking: ShapeAnswer, vector: ShapeAnswer
) -> None:
    for answer in (walking, vector):
        for item in answer.comparisons:
            assert item.control.judge_us > 0
            assert item.treatment.judge_us > 0
            if item.study not in {"opt", "h5_rule"}:
                assert item.selected_ratio >= 1.0 - 1e-9


def test_draws_are_those_of_the_effort(walking: ShapeAnswer) -> None:
    for item in walking.comparisons:
        is_drawn = item.study in {"h1", "h2", "h3", "h4", "h5", "joint"}
        assert len(item.pipeline_draws) == (8 if is_drawn else 0)
        assert len(item.emulator_draws) == (4 if is_drawn else 0)
        assert all(ratio >= 1.0 for ratio in item.pipeline_draws)


def test_the_parts_of_h1_and_h2_multiply_to_the_whole(walking: ShapeAnswer) -> None:
    h1, h2 = walking.find("h1"), walking.find("h2")
    assert h1 is not None
    assert h2 is not None
    assert walking.h1 is not None
    assert walking.h2 is not None
    tile_and_template = walking.h1.tile_ratio * walking.h1.template_ratio
    assert tile_and_template == pytest.approx(h1.judged_ratio)
    assert walking.h2.tail_ratio * walking.h2.l2_ratio == pytest.approx(h2.judged_ratio)


def test_the_sweep_holds_the_operators_window_and_its_times(walking: ShapeAnswer) -> None:
    assert walking.h2 is not None
    sweep = walking.h2.sweep
    assert walking.h2.control in sweep
    assert walking.h2.treatment in sweep
    assert len({(point.window_len, point.serpentine) for point in sweep}) == len(sweep)
    assert all(0.0 <= point.l2_hit_ratio <= 1.0 for point in sweep)
    assert walking.h2.control.judge_us == walking.baseline.judge_us


def test_the_proxy_is_judged_among_its_own_candidates(walking: ShapeAnswer) -> None:
    h1 = walking.h1
    assert h1 is not None
    assert h1.pairs >= h1.plans > 1
    assert h1.judged_candidates == 4
    assert h1.judged_regret_ratio >= 0.0
    assert h1.proxy_regret_ratio >= 0.0


def test_residency_saves_loads_and_takes_l1(walking: ShapeAnswer) -> None:
    h3 = walking.h3
    assert h3 is not None
    assert h3.best.plan.resident_slabs > 0
    assert h3.best_load_bytes <= h3.control_load_bytes
    assert 0 < h3.best_l1_bytes <= SPEC.buffers.l1_bytes
    assert h3.a_over_l1 == 1040 * 160 * 2 / SPEC.buffers.l1_bytes


def test_both_ways_out_are_judged(walking: ShapeAnswer) -> None:
    h4 = walking.h4
    assert h4 is not None
    assert (h4.row_bytes, h4.row_align_bytes) == (2200, 8)
    assert h4.direct.plan.l0c_output == "on_the_fly"
    assert h4.through_ub.plan.l0c_output == "fixpipe"
    assert h4.fixpipe_ratio == h4.direct.judge_us / h4.through_ub.judge_us


def test_the_vector_kernel_is_judged_whatever_was_chosen(vector: ShapeAnswer) -> None:
    h6 = vector.h6
    assert h6 is not None
    assert h6.length == 600
    assert h6.vector.plan.template is Template.VECTOR
    assert h6.vector_ratio == vector.baseline.judge_us / h6.vector.judge_us


def test_the_best_known_is_as_good_as_anything_judged(walking: ShapeAnswer) -> None:
    assert walking.opt is not None
    best_us = walking.opt.best.judge_us
    assert all(best_us <= item.treatment.judge_us * (1 + 1e-6) for item in walking.comparisons)
    joint = walking.find("joint")
    assert joint is not None
    gap = joint.treatment.judge_us / best_us - 1.0
    assert walking.opt.joint_gap_ratio == pytest.approx(gap, abs=1e-6)
    assert bool(walking.opt.joint_gap_fields) == (walking.opt.joint_gap_ratio > 0)


def test_one_hypothesis_alone_is_the_same_as_among_all(walking: ShapeAnswer) -> None:
    for study in ("h1", "h2", "h3", "h4", "h5"):
        alone = ask(walking.problem, study)
        assert alone.find(study) == walking.find(study)
        assert alone.find("joint") is None
        assert getattr(alone, study) == getattr(walking, study)


def test_answers_come_from_the_journal_when_they_are_there(vector: ShapeAnswer) -> None:
    journal = MemoryJournal()
    assert ask(vector.problem, journal=journal) == vector
    assert journal.writes == 1
    assert ask(vector.problem, journal=journal) == vector
    assert journal.writes == 1
    assert ask(vector.problem, "h6", journal=journal) != vector
    assert journal.writes == 2


def test_a_damaged_record_is_worked_out_again(vector: ShapeAnswer) -> None:
    journal = MemoryJournal()
    ask(vector.problem, journal=journal)
    (record,) = journal.records
    assert record["kind"] == ANSWER_KIND
    journal.records[0] = {**record, "answer": {"problem": 1}}
    assert ask(vector.problem, journal=journal) == vector
    assert journal.writes == 2


def test_answers_survive_json(walking: ShapeAnswer) -> None:
    assert from_json(ShapeAnswer, to_json(walking)) == walking
    with pytest.raises(ValueError, match="ShapeAnswer"):
        from_json(ShapeAnswer, {})
