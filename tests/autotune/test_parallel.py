from pathlib import Path

import pytest

from autotune import parallel
from autotune.parallel import Answer, AnswerKind, SearchTask, answer_tasks
from hwmodel.errors import AutotuneError
from hwmodel.problem import GemmProblem
from tests.autotune.fake_search import (
    DELAY_VARIABLE,
    K_DEFECT,
    K_KNOWN_FAILURE,
    K_REJECTED,
    K_WITHOUT_PLAN,
    K_WORKER_DIES,
    answer_with_fake,
)
from tests.autotune.samples import run_inputs


@pytest.fixture(autouse=True)
def _fake_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "answer_task", answer_with_fake)


def tasks(directory: Path, *ks: int) -> tuple[SearchTask, ...]:
    directory.mkdir(exist_ok=True)
    inputs = run_inputs()
    return tuple(
        SearchTask(
            problem=GemmProblem(m=64 + index, k=k, n=64),
            spec=inputs.spec,
            options=inputs.options,
            journal_path=directory / f"{index}.jsonl",
            journal_header={"index": index},
        )
        for index, k in enumerate(ks)
    )


def by_problem(answers: list[Answer]) -> dict[GemmProblem, Answer]:
    return {answer.problem: answer for answer in answers}


def test_workers_and_this_process_answer_alike(tmp_path: Path) -> None:
    ks = (64, K_REJECTED, 128, K_WITHOUT_PLAN, K_DEFECT, K_KNOWN_FAILURE, 256)
    alone = by_problem(list(answer_tasks(tasks(tmp_path / "1", *ks), 1)))
    together = by_problem(list(answer_tasks(tasks(tmp_path / "2", *ks), 2)))
    kinds = [answer.kind for answer in alone.values()]
    assert kinds == [
        AnswerKind.FOUND,
        AnswerKind.REJECTED,
        AnswerKind.FOUND,
        AnswerKind.NO_LEGAL_PLAN,
        AnswerKind.FAILED,
        AnswerKind.FAILED,
        AnswerKind.FOUND,
    ]
    for problem, answer in alone.items():
        other = together[problem]
        assert (other.kind, other.message) == (answer.kind, answer.message)
        assert other.outcome == answer.outcome
    for path in sorted((tmp_path / "1").iterdir()):
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes()


def test_failures_say_why(tmp_path: Path) -> None:
    ks = (K_REJECTED, K_WITHOUT_PLAN, K_DEFECT, K_KNOWN_FAILURE)
    rejected, without, defect, known = answer_tasks(tasks(tmp_path, *ks), 1)
    assert rejected.message == "dtype_combination (ValidateDtype): not this type"
    assert without.message == "nothing fits"
    assert defect.message == "ZeroDivisionError: a defect"
    assert "Traceback" in defect.details
    assert (known.message, known.details) == ("cannot write it: disk full", "")


def test_a_dead_worker_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(AutotuneError, match=r"a worker process died.*fewer --jobs"):
        list(answer_tasks(tasks(tmp_path, K_WORKER_DIES, 64, 64, 64), 2))


def test_stopping_early_leaves_no_work_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DELAY_VARIABLE, "0.05")
    answers = answer_tasks(tasks(tmp_path, *range(64, 84)), 2)
    next(answers)
    answers.close()
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert len(sizes) < 20
    with pytest.raises(StopIteration):
        next(answers)
