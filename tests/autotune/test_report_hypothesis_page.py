"""report.html and report.md of a run of hypotheses: what they say, safe and always the same."""

from dataclasses import replace
from pathlib import Path

import pytest

from autotune.__main__ import main
from autotune.manifest import RunStatus, load_manifest, write_manifest
from autotune.report.hypotheses.page import HypothesisReport, build_report
from autotune.report.hypotheses.render import (
    render_html,
    render_markdown,
    write_hypothesis_report,
)
from autotune.runs import RESULTS_JSON_NAME
from hwmodel.errors import RunDirectoryError
from hwmodel.problem import GemmProblem
from studies.hypotheses.verdicts import RowState, StudyResults
from tests.autotune.hypothesis_runs import (
    make_answer,
    make_hypothesis_run,
    make_results,
    make_rows,
    make_view,
)
from tests.autotune.test_report_figures import ODD_NAMES
from tests.autotune.test_report_page import Page
from tests.studies.hypotheses.test_summary import row_of

COUNT = 60


@pytest.fixture(scope="module")
def results() -> StudyResults:
    return make_results(*make_rows(COUNT))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, results: StudyResults) -> Path:
    directory = make_hypothesis_run(tmp_path_factory.mktemp("hypotheses") / "run", results)
    write_hypothesis_report(directory)
    return directory


@pytest.fixture(scope="module")
def report(results: StudyResults) -> HypothesisReport:
    return build_report(make_view(results))


def test_the_page_goes_from_verdicts_to_what_to_build_to_the_shapes(run: Path) -> None:
    page = Page((run / "report.html").read_text("utf-8"))
    sections = [value for tag, name, value in page.attributes if (tag, name) == ("h2", "id")]
    assert sections == [
        "verdicts", "first", "reading", "terms", "overview", "savings", "maintainer", "h1", "h2",
        "h3", "h4", "h5", "h6", "joint", "opt", "shapes", "more-terms", "facts",
    ]  # fmt: skip
    assert "Model prediction; nothing was run on a chip." in page.text
    assert "It says nothing of the models' error" in page.text


def test_selector_judge_draws_and_coverage_are_told(report: HypothesisReport) -> None:
    told = " ".join(report.reading)
    for part in (
        "The pipeline (pipeline-4) model selected every treatment",
        "the emulator (emulator-1) model judged",
        "95 % bootstrap of the mean gain over another choice of shapes",
        "at least 90 % of 3 draws",
        "the selector's (pipeline) has a median of 2.8 % on 74 measured kernels",
        "extrapolated beyond it",
    ):
        assert part in told


def test_markdown_has_the_same_verdicts_and_the_maintainers_page(
    run: Path, report: HypothesisReport
) -> None:
    markdown = (run / "report.md").read_text("utf-8")
    assert "## Maintainer's page: what changes in the host tiling" in markdown
    for line in report.verdicts:
        assert f"**{line.study}** {line.title}" in markdown
        assert line.gain in markdown
    assert "\n\n\n" not in markdown
    for figure in report.figures:
        assert f"](figures/{figure.name}.svg)" in markdown
        assert (run / "figures" / f"{figure.name}.svg").read_text("utf-8") == figure.svg


def test_negatives_stand_like_positives(report: HypothesisReport) -> None:
    kinds = {line.study: line.kind for line in report.verdicts}
    assert (kinds["H2"], kinds["H4"], kinds["OPT"]) == ("refuted", "supported", "none")
    assert [line.study for line in report.verdicts] == [
        "H1", "H2", "H3", "H4", "H5", "H6", "JOINT", "OPT",
    ]  # fmt: skip
    assert {section.line.study for section in report.sections} == set(kinds)
    assert report.maintainer_note == "Without a rule: H2, H5: refuted; H6: not tested."


def test_losses_are_listed_by_name(results: StudyResults, report: HypothesisReport) -> None:
    section = next(section for section in report.sections if section.study == "joint")
    losing = [line.shape.name for line in section.lines if line.outcome == "loss"]
    assert losing
    assert len(section.losses) == len(losing)
    assert all(any(loss.startswith(name) for name in losing) for loss in section.losses)
    assert section.line.votes.endswith(f" / {len(losing)}")
    assert f"{len(losing)} loss" in section.line.rest


def test_every_pass_has_its_saving_per_token(report: HypothesisReport) -> None:
    assert report.saving_studies[-2:] == ("JOINT", "OPT")
    first = report.savings[0]
    assert first.model.startswith(("Llama", "Qwen", "DeepSeek"))
    assert len(first.shares) == len(report.saving_studies)
    assert float(first.best_per_token) * int(first.tokens) == pytest.approx(
        float(first.best_saved.replace(",", "")), rel=0.02
    )


def test_the_matrix_holds_every_row(report: HypothesisReport) -> None:
    assert [line.number for line in report.matrix] == list(range(1, COUNT + 1))
    assert any(line.note == "grouped: not counted" for line in report.matrix)
    assert any(gain == "" for line in report.matrix for gain in line.gains)


def test_the_same_results_give_the_same_bytes(results: StudyResults) -> None:
    first, second = (build_report(make_view(results)) for _ in range(2))
    assert render_html(first, "stamp") == render_html(second, "stamp")
    assert render_markdown(first) == render_markdown(second)


def test_the_page_loads_nothing_and_its_ids_are_unique(run: Path) -> None:
    page = Page((run / "report.html").read_text("utf-8"))
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = {value for _, name, value in page.attributes if name in {"src", "href", "xlink:href"}}
    assert all(link.startswith("#") for link in links)


def test_names_from_a_file_stay_text(tmp_path: Path) -> None:
    rows, answers = [], []
    for place, name in enumerate(ODD_NAMES):
        problem = GemmProblem(m=512, k=64 + place, n=4096)
        rows.append(row_of(problem, name=name, model=name, phase=name, index=place))
        answers.append(make_answer(problem, {"h1": 0.9 + 0.1 * (place % 3)}))
    run = make_hypothesis_run(tmp_path / "run", make_results(rows, answers, "h1"), "h1")
    write_hypothesis_report(run)
    Page((run / "report.html").read_text("utf-8"))
    assert "<script>alert" not in (run / "report.html").read_text("utf-8")


def test_a_run_without_an_answer_says_so() -> None:
    row = replace(
        row_of(GemmProblem(m=16, k=64, n=48)), state=RowState.REJECTED, message="no such dtype"
    )
    report = build_report(make_view(make_results([row], [])))
    assert {line.word for line in report.verdicts} == {"not tested"}
    assert all("no shape of this run is in its domain" in line.rest for line in report.verdicts)
    assert report.left_out.startswith("Left out of 1 row: 1 rejected by the operator.")
    assert report.matrix[0].note == "no such dtype"
    assert report.first[0].startswith("Build none of them on this evidence")
    Page(render_html(report, "stamp"))


def test_without_a_model_column_there_are_no_passes() -> None:
    problem = GemmProblem(m=512, k=64, n=4096)
    results = make_results([row_of(problem)], [make_answer(problem, {"h1": 1.02})], "h1")
    report = build_report(make_view(results, "h1"))
    assert report.savings == ()
    assert "Time saved per pass" not in render_html(report, "stamp")
    assert report.title.startswith("An improvement of the host tiling, tested on llm_shapes.csv")


def test_all_ties_are_refuted_and_have_no_losses() -> None:
    problems = [GemmProblem(m=512, k=64 + place, n=4096) for place in range(30)]
    answers = [make_answer(problem, {"h1": 1.0}) for problem in problems]
    results = make_results([row_of(problem) for problem in problems], answers, "h1")
    report = build_report(make_view(results, "h1"))
    (line,) = [line for line in report.verdicts if line.study == "H1"]
    assert line.word == "refuted"
    assert "no losses" in line.rest
    assert "the plan never changes" in line.rest
    assert report.sections[0].losses == ()
    assert "No shape loses more than 1\N{NO-BREAK SPACE}%." in render_html(report, "stamp")


def test_marks_stand_on_every_page(results: StudyResults) -> None:
    view = make_view(results)
    manifest = replace(
        view.manifest,
        status=RunStatus.INTERRUPTED,
        options=replace(view.manifest.options, as_950=True),
    )
    marks = build_report(replace(view, manifest=manifest)).marks
    assert "is not an Ascend 950" in marks[0]
    assert marks[1] == "This run is not complete: it was interrupted."


def test_report_writes_the_page_of_a_run_of_hypotheses_again(
    tmp_path: Path, results: StudyResults, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_hypothesis_run(tmp_path / "run", results)
    assert main(["report", str(run)]) == 0
    assert capsys.readouterr().out == f"{run / 'report.html'}\n"
    first = (run / "report.md").read_bytes()
    (run / "report.md").unlink()
    assert main(["report", str(run)]) == 0
    assert (run / "report.md").read_bytes() == first


def test_changed_results_are_refused(tmp_path: Path, results: StudyResults) -> None:
    run = make_hypothesis_run(tmp_path / "run", results)
    manifest = load_manifest(run)
    write_manifest(run, replace(manifest, file_digests={RESULTS_JSON_NAME: "0" * 64}))
    with pytest.raises(RunDirectoryError, match="changed since the run wrote it"):
        write_hypothesis_report(run)
