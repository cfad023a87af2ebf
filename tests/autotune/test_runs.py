import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from autotune import runs
from autotune.__main__ import main
from autotune.manifest import (
    Manifest,
    RunStatus,
    collect_versions,
    find_git_commit,
    load_manifest,
    write_manifest,
)
from autotune.run_inputs import RunInputs, distinct_problems
from autotune.runs import (
    RunDirectory,
    create_run,
    find_changed_files,
    find_interrupted,
    is_free,
    open_run,
    require_results,
    require_same_question,
)
from hwmodel.errors import AutotuneError, RunDirectoryError
from hwmodel.spec_io import load_hardware
from tests.autotune.samples import resolved_options, run_inputs


@pytest.fixture
def shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "some shapes.csv"
    path.write_bytes(b"\xef\xbb\xbfm,k,n\r\n64,64,64\r\n")
    return path


def create(shapes: Path, inputs: RunInputs, out: Path | None = None) -> RunDirectory:
    return create_run(out, shapes, inputs, resolved_options(), ("study", "--jobs", "2"))


def stop(run: RunDirectory, status: RunStatus = RunStatus.INTERRUPTED) -> RunDirectory:
    if status is RunStatus.FINISHED:
        (run.path / "results.json").write_text("{}", encoding="utf-8")
    run.set_status(status)
    return run


def test_a_new_run_has_all_that_a_later_one_needs(shapes: Path) -> None:
    inputs = run_inputs()
    run = create(shapes, inputs)
    assert run.path.parent == Path("runs")
    assert run.path.name.endswith("Z-some_shapes")
    assert (run.path / "shapes.csv").read_bytes() == shapes.read_bytes()
    assert load_hardware(str(run.path / "hardware.toml")) == inputs.spec
    assert (run.path / "journal").is_dir()
    manifest = load_manifest(run.path)
    assert manifest == run.manifest
    assert manifest.status is RunStatus.RUNNING
    assert manifest.argv == ("study", "--jobs", "2")
    assert manifest.digests == inputs.digests()
    assert manifest.versions["npu-gemm-autotune"]
    document = json.loads((run.path / "manifest.json").read_text(encoding="utf-8"))
    assert document["schema"] == 1
    assert set(document["digests"]) == {"run", "shapes", "spec", "options", "model"}
    assert document["options"]["hw"] == "ascend950pr-9589"


def test_changed_files_of_a_finished_run_are_found(shapes: Path) -> None:
    run = stop(create(shapes, run_inputs()), RunStatus.FINISHED)
    manifest = load_manifest(run.path)
    assert set(manifest.file_digests) == {"hardware.toml", "shapes.csv", "results.json"}
    assert find_changed_files(run.path, manifest) == ()
    assert require_results(run.path, manifest) == run.path / "results.json"
    (run.path / "shapes.csv").write_text("m,k,n\n1,1,1\n", encoding="utf-8")
    assert find_changed_files(run.path, manifest) == ("shapes.csv",)
    require_results(run.path, manifest)
    for name in ("results.json", "hardware.toml"):
        path = run.path / name
        content = path.read_bytes()
        path.write_bytes(content + b" ")
        with pytest.raises(RunDirectoryError, match=rf"{name}: changed since the run wrote it"):
            require_results(run.path, manifest)
        path.write_bytes(content)
    (run.path / "hardware.toml").unlink()
    assert find_changed_files(run.path, manifest) == ("shapes.csv",)


def test_a_run_that_goes_on_forgets_its_results(shapes: Path) -> None:
    run = stop(create(shapes, run_inputs()), RunStatus.FINISHED)
    run.set_status(RunStatus.RUNNING)
    (run.path / "results.json").write_text("[]", encoding="utf-8")
    assert find_changed_files(run.path, load_manifest(run.path)) == ()
    run.set_status(RunStatus.INTERRUPTED)
    (run.path / "results.json").unlink()
    with pytest.raises(RunDirectoryError, match=r"not finished \(interrupted\)"):
        require_results(run.path, run.manifest)


def test_missing_results_of_a_finished_run_are_named(
    shapes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = stop(create(shapes, run_inputs()), RunStatus.FINISHED)
    (run.path / "results.json").unlink()
    assert main(["report", str(run.path)]) == 2
    err = capsys.readouterr().err
    assert "the run is finished, but its results.json is missing" in err
    assert err.count("\n") == 1
    (run.path / "results.json").mkdir()
    with pytest.raises(RunDirectoryError, match=r"cannot read .*results\.json: Is a directory"):
        require_results(run.path, run.manifest)


def test_a_report_says_that_the_shapes_changed(
    shapes: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autotune.report.render.write_report", lambda _directory: None)
    run = stop(create(shapes, run_inputs()), RunStatus.FINISHED)
    assert main(["report", str(run.path)]) == 0
    assert capsys.readouterr().err == ""
    (run.path / "shapes.csv").write_text("m,k,n\n1,1,1\n", encoding="utf-8")
    assert main(["report", str(run.path)]) == 0
    out, err = capsys.readouterr()
    assert out == f"{run.path / 'report.html'}\n"
    assert "shapes.csv changed since the run read it" in err


def test_two_runs_in_one_second_do_not_meet(shapes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_STAMP_FORMAT", "stamp")
    names = [create(shapes, run_inputs()).path.name for _ in range(3)]
    assert names == ["stamp-some_shapes", "stamp-some_shapes-2", "stamp-some_shapes-3"]


def test_each_part_of_the_question_counts() -> None:
    base = run_inputs()
    others = {
        "shapes": run_inputs(m=65),
        "options": run_inputs(seed=1),
        "spec": replace(base, spec=replace(base.spec, name="other")),
        "model": replace(base, model_version="2"),
    }
    for part, inputs in others.items():
        assert base.digests().differing_parts(inputs.digests()) == (part,)
        assert base.digests().run != inputs.digests().run
    assert base.digests().differing_parts(replace(base, as_950=True).digests()) == ("options",)
    assert base.digests() == run_inputs().digests()


def test_another_question_is_refused_by_name(shapes: Path) -> None:
    run = create(shapes, run_inputs())
    require_same_question(run, run_inputs().digests())
    with pytest.raises(RunDirectoryError, match=r"another digest \(shapes, options differ\)"):
        require_same_question(run, run_inputs(seed=1, m=7).digests())


def test_the_newest_stopped_run_of_the_same_question_is_found(
    shapes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = run_inputs().digests()
    assert find_interrupted(digests) is None
    monkeypatch.setattr(runs, "_STAMP_FORMAT", "stamp")
    older, newer = (stop(create(shapes, run_inputs())) for _ in range(2))
    stop(create(shapes, run_inputs()), RunStatus.FINISHED)
    stop(create(shapes, run_inputs()), RunStatus.FAILED)
    stop(create(shapes, run_inputs(seed=5)))
    Path("runs/zzz-not-a-run").mkdir()
    found = find_interrupted(digests)
    assert found is not None
    assert found.path == newer.path
    stop(newer, RunStatus.RUNNING)
    with newer.locked():
        found = find_interrupted(digests)
        assert found is not None
        assert found.path == older.path
    found = find_interrupted(digests)
    assert found is not None
    assert found.path == newer.path, "a running run without a process was killed"


def test_a_run_is_locked_against_others(shapes: Path) -> None:
    run = create(shapes, run_inputs())
    with (
        run.locked(),
        pytest.raises(RunDirectoryError, match="in use by another process"),
        open_run(run.path).locked(),
    ):
        pass
    with open_run(run.path).locked():
        pass


def test_a_run_that_has_gone_is_one_clear_line(shapes: Path) -> None:
    run = create(shapes, run_inputs())
    shutil.rmtree(run.path)
    with pytest.raises(RunDirectoryError, match=r"cannot open .*No such file"), run.locked():
        pass


def test_where_a_run_may_be_made(shapes: Path, tmp_path: Path) -> None:
    assert is_free(tmp_path / "new" / "deep")
    (tmp_path / "empty").mkdir()
    assert is_free(tmp_path / "empty")
    run = create(shapes, run_inputs(), tmp_path / "empty")
    assert run.path == tmp_path / "empty"
    assert not is_free(tmp_path / "empty")
    with pytest.raises(RunDirectoryError, match="is not empty and holds no run"):
        is_free(tmp_path)
    with pytest.raises(RunDirectoryError, match=r"cannot use .* Not a directory"):
        is_free(shapes)
    with pytest.raises(RunDirectoryError, match=r"cannot make .*: a file is in the way"):
        create(shapes, run_inputs(), shapes)
    with pytest.raises(
        RunDirectoryError, match=r"cannot make the run directory .*Not a directory"
    ):
        create(shapes, run_inputs(), shapes / "below")


def test_runs_is_a_file(shapes: Path) -> None:
    Path("runs").write_text("in the way", encoding="utf-8")
    with pytest.raises(RunDirectoryError, match="cannot make the run directory"):
        create(shapes, run_inputs())
    assert find_interrupted(run_inputs().digests()) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "schema None, this version reads 1"),
        ('{"schema": 99}', "schema 99, this version reads 1"),
        ('{"schema": 1}', "missing entry"),
    ],
)
def test_a_foreign_manifest_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(RunDirectoryError, match=message):
        open_run(tmp_path)


def test_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="not a run directory"):
        open_run(tmp_path)
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(RunDirectoryError, match=r"cannot read .*Is a directory"):
        open_run(tmp_path)
    with pytest.raises(AutotuneError, match="cannot write"):
        write_manifest(tmp_path, load_any_manifest(tmp_path / "elsewhere"))


def load_any_manifest(directory: Path) -> Manifest:
    shapes = directory.parent / "s.csv"
    shapes.write_text("m,k,n\n1,1,1\n", encoding="utf-8")
    return create(shapes, run_inputs(), directory).manifest


def test_trials_are_the_journals_in_order(shapes: Path) -> None:
    inputs = run_inputs()
    run = create(shapes, inputs)
    rows = distinct_problems(inputs.rows)
    assert [row.index for row in rows] == [0, 1]
    journals = [run.journal_path(row) for row in rows]
    assert journals[1].name.startswith("0001-")
    journals[1].write_text("second\n", encoding="utf-8")
    run.write_trials(journals)
    assert (run.path / "trials.jsonl").read_text(encoding="utf-8") == "second\n"
    journals[0].write_text("first\n", encoding="utf-8")
    run.write_trials(journals)
    assert (run.path / "trials.jsonl").read_text(encoding="utf-8") == "first\nsecond\n"


def test_versions_name_python_and_the_program() -> None:
    assert {"python", "npu-gemm-autotune", "numpy"} <= set(collect_versions())


def test_the_commit_is_that_of_the_checkout_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "autotune"
    inner = package / "inner"
    inner.mkdir(parents=True)
    assert find_git_commit(package) is None
    git = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "first"], check=True)
    commit = find_git_commit(package)
    assert commit is not None
    assert len(commit) == 40
    assert find_git_commit(inner) is None, "an installed copy inside somebody's checkout"
    monkeypatch.setenv("PATH", "")
    assert find_git_commit(package) is None
