"""report.html and report.md: what they say, that they are safe and always the same."""

import base64
import hashlib
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from autotune.__main__ import main
from autotune.manifest import MANIFEST_NAME, RunStatus
from autotune.report.page import build_report
from autotune.report.render import render_html, write_report
from autotune.report.run_files import load_run_files
from autotune.report.text import TIMES
from autotune.results import Coverage, ResultRow, RowStatus
from autotune.results_io import write_results_json
from autotune.runs import RESULTS_JSON_NAME
from hwmodel.errors import AutotuneError, RunDirectoryError
from hwmodel.plan import Template
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import load_hardware
from tests.autotune.report_runs import (
    make_compared,
    make_manifest,
    make_plan,
    make_row,
    make_rows,
    make_run,
    make_spec,
)
from tests.autotune.test_report_figures import LONG_NAME, ODD_NAMES, odd_rows

VOID_ELEMENTS = frozenset({"meta", "br", "path", "use", "rect", "link", "img", "input", "hr"})


class Page(HTMLParser):
    """The elements and the text of a page; complains about tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.extend((tag, name, value or "") for name, value in attrs)
        if tag not in VOID_ELEMENTS:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.extend((tag, name, value or "") for name, value in attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID_ELEMENTS:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in {"style", "script"}:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def render(
    directory: Path, rows: Sequence[ResultRow], *, spec: HardwareSpec | None = None
) -> tuple[str, str]:
    """report.html and report.md of a run with these rows."""
    run = make_run(directory, rows, spec=spec)
    write_report(run)
    return (run / "report.html").read_text("utf-8"), (run / "report.md").read_text("utf-8")


def zero_k_row(index: int = 0) -> ResultRow:
    plan = make_plan(16, 16, template=Template.K_EQUAL_ZERO)
    compared = make_compared(0.0, baseline=plan, best_us=3.0, roofline_us=0.4)
    return make_row(index, compared, problem=GemmProblem(m=64, k=0, n=64), name="64x0x64")


@pytest.fixture(scope="module")
def large_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(tmp_path_factory.mktemp("large") / "run", make_rows(210))
    write_report(run)
    return run


def test_first_screen_says_what_is_gained_and_how_wrong_it_may_be(large_run: Path) -> None:
    text = Page((large_run / "report.html").read_text("utf-8")).text
    first = text[: text.index("Time saved per forward pass")]
    for part in (
        "Model prediction; nothing was run on a chip.",
        "210 GEMM shapes in llm_shapes.csv",
        "Ascend950PR_9589",
        "time saved per pass: decode",
        "time saved per pass: prefill",
        "time saved per pass: training",
        "of it resolved: ",
        "geometric and unweighted",
        "median error, held back",
        "kernels held back from every fit",
        "No shape was measured with two tilings",
        "Study tiles, strategy exhaustive, effort quick (a smaller space: gaps are lower bounds)",
        "pipeline model",
        "gaps are resolved",
        "cross-validated error",
        "median of 2.8 %",
        "more than 22.7 %",
        f"a gap below 2 {TIMES} the median error of that class is not resolved",
        "extrapolated beyond it",
        "tagged grouped",
        "rejected by the operator",
    ):
        assert part in first
    for term in ("Baseline", "Gap", "Roofline", "Resolved", "Coverage"):
        assert f"{term} " in first
    assert "6.2 %" in first


def test_the_phases_are_weighted_by_time(tmp_path: Path) -> None:
    rows = (
        make_row(0, make_compared(0.5, best_us=10.0, resolved=True), phase="decode", model="A"),
        make_row(1, make_compared(0.1, best_us=100.0), phase="decode", model="B", weight=2.0),
        make_row(2, make_compared(0.0), phase="prefill", model="B"),
    )
    report = build_report(load_run_files(make_run(tmp_path, rows)))
    decode, prefill, mean = report.headlines[:3]
    assert (decode.value, decode.note) == ("10.6 %", "of it resolved: 2.1 %")
    assert decode.label == "time saved per pass: decode"
    assert prefill.value == "0.0 %"
    assert mean.label == "mean gap of a shape"
    assert [(line.phase, line.saved_share) for line in report.phases] == [
        ("decode", "10.6 %"),
        ("prefill", "0.0 %"),
    ]
    assert [line.model for line in report.savings] == ["A", "B", "B"]


def test_a_file_without_models_has_one_line_of_savings(tmp_path: Path) -> None:
    rows = tuple(make_row(index, make_compared(0.1, resolved=True)) for index in range(3))
    report = build_report(load_run_files(make_run(tmp_path / "plain", rows)))
    assert report.headlines[0].label == "time saved, by weight"
    assert [(line.model, line.shapes) for line in report.phases] == [("all shapes", 3)]
    assert report.savings == ()
    mixed = (*rows, make_row(3, make_compared(0.2), model="A", phase="decode"))
    report = build_report(load_run_files(make_run(tmp_path / "mixed", mixed)))
    assert [line.model for line in report.phases] == ["rows without a phase", "all passes"]
    html, _ = render(tmp_path / "page", mixed)
    assert "rows without a phase" in html


def test_every_row_is_in_the_tables(large_run: Path) -> None:
    rows = make_rows(210)
    html = (large_run / "report.html").read_text("utf-8")
    markdown = (large_run / "report.md").read_text("utf-8")
    assert html.count('<tr><td class="number" data-value=') + html.count(
        '<tr class="grouped"><td class="number" data-value='
    ) == len(rows)
    table = markdown[markdown.index("## All shapes") : markdown.index("## Gap per shape, cont")]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    assert len(lines) == len(rows) + 1
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {13}
    assert sum("ValidateShape: dimension out of range" in line for line in lines) == 5
    assert "<details><summary>210 rows" in html


def find_tables(markdown: str) -> list[list[str]]:
    """Blocks of lines without a blank line that hold a separator of a table."""
    blocks = [block.splitlines() for block in markdown.split("\n\n")]
    return [block for block in blocks if any(re.match(r"\|[-:|]+$", line) for line in block)]


def test_long_markdown_is_tidy(large_run: Path) -> None:
    check_markdown((large_run / "report.md").read_text("utf-8"), tables=6)


@pytest.mark.parametrize("count", [1, 12])
@pytest.mark.parametrize("measured", [None, 12.0])
def test_short_markdown_is_tidy(tmp_path: Path, count: int, measured: float | None) -> None:
    rows = tuple(replace(row, measured_us=measured) for row in make_rows(count))
    if measured is not None:  # some certificates are missing, so that there is a column of regret
        first = rows[0].compared
        assert first is not None
        rows = (replace(rows[0], compared=replace(first, regret_ratio=None)), *rows[1:])
    check_markdown(render(tmp_path, rows)[1], tables=3 if count == 1 else 5)


def check_markdown(markdown: str, *, tables: int) -> None:
    """No stray blanks, and every table has a head, a separator and rows of the same cells."""
    assert "\n\n\n" not in markdown
    assert not re.search(r"[ \t]\n", markdown)
    found = find_tables(markdown)
    assert len(found) >= tables
    for table in found:
        assert re.match(r"\|[-:|]+$", table[1])
        counts = [len(re.findall(r"(?<!\\)\|", line)) for line in table]
        assert len(set(counts)) == 1, table[:3]


def test_rows_without_a_name_have_their_size(tmp_path: Path) -> None:
    _, markdown = render(tmp_path, (make_row(0, make_compared(0.1)),))
    assert f"| 64{TIMES}4096{TIMES}6144 | 64{TIMES}4096{TIMES}6144 |" in markdown


def test_words_of_the_tables_are_explained(large_run: Path) -> None:
    markdown = (large_run / "report.md").read_text("utf-8")
    words = markdown[markdown.index("## Words of the tables") :]
    for word in (
        "MTE2", "cube", "fixpipe", "launch", "L0C", "L1 step", "Base tile", "Block order",
        "window", "Tail split", "stream-K", "K/224", "via UB", "full load", "ASWT", "tp",
        "Grouped", "Regret", "Certificate", "Error class",
    ):  # fmt: skip
        assert word in words
    assert "stream k" not in markdown
    assert "stream\\_k" not in markdown


def test_the_page_needs_no_network(large_run: Path) -> None:
    html = (large_run / "report.html").read_text("utf-8")
    page = Page(html)
    for tag, name, value in page.attributes:
        if name in {"src", "href", "xlink:href", "srcset", "data", "action"}:
            assert value.startswith("#"), (tag, name, value)
        assert "url(" not in value or "url(#" in value
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    (policy,) = (value for _, name, value in page.attributes if value.startswith("default-src"))
    script = html[html.index("<script>") + len("<script>") : html.index("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'")
    assert f"script-src 'sha256-{digest}'" in policy


def test_ids_are_unique_and_figures_have_names(large_run: Path) -> None:
    page = Page((large_run / "report.html").read_text("utf-8"))
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    labels = [value for tag, name, value in page.attributes if name == "aria-labelledby"]
    assert {part for value in labels for part in value.split()} <= set(ids)


def test_the_same_results_give_the_same_bytes_but_for_the_stamp(
    large_run: Path, tmp_path: Path
) -> None:
    again = tmp_path / "elsewhere"
    shutil.copytree(large_run, again)
    make_run(again, make_rows(210), manifest=make_manifest(argv=("study", "--jobs", "1")))
    (again / "figures" / "stale.svg").write_text("old", "utf-8")
    write_report(again)
    figures = sorted(path.name for path in (large_run / "figures").iterdir())
    assert figures == sorted(path.name for path in (again / "figures").iterdir())
    assert "gap_per_shape.svg" in figures
    assert "tile_map.svg" in figures
    assert "predicted_against_measured.svg" in figures
    for name in ("report.md", *(f"figures/{figure}" for figure in figures)):
        assert (large_run / name).read_bytes() == (again / name).read_bytes(), name
    one, two = ((run / "report.html").read_text("utf-8") for run in (large_run, again))
    stamp = re.compile("<footer>.*</footer>")
    assert stamp.sub("", one) == stamp.sub("", two)
    assert "elsewhere" in two
    assert "elsewhere" not in (again / "report.md").read_text("utf-8")


def test_figures_of_the_markdown_exist(large_run: Path) -> None:
    markdown = (large_run / "report.md").read_text("utf-8")
    links = re.findall(r"^!\[.*\]\((.+)\)$", markdown, flags=re.MULTILINE)
    assert len(links) == len(list((large_run / "figures").iterdir()))
    assert all((large_run / link).is_file() for link in links)


def test_names_are_escaped_everywhere(tmp_path: Path) -> None:
    html, markdown = render(tmp_path, (*odd_rows(), make_row(9, None, name="<b>", message="<i>|")))
    page = Page(html)
    assert [tag for tag, name, value in page.attributes if tag == "script" and name != ""] == []
    assert html.count("<script") == 1
    for name in ODD_NAMES[:4]:
        assert name in page.text
    assert LONG_NAME not in html
    assert LONG_NAME[:50] in html
    assert "\x00" not in html
    assert "\u202e" not in html
    assert "<script" not in markdown.replace("\\<script", "")
    assert r"=1+1\|\`code\`\*bold\*\_under\_" in markdown
    assert r"rejected: \<i\>\|" in markdown


@pytest.mark.parametrize("count", [1, 12])
def test_short_lists_read_well(tmp_path: Path, count: int) -> None:
    html, markdown = render(tmp_path, make_rows(count))
    text = Page(html).text
    assert "None" not in text
    assert "nan" not in text
    assert "Gap per shape, continued" not in text
    assert "## Figures" in markdown
    if count == 1:
        assert "For the GEMM shape in llm_shapes.csv" in text
        assert "gap of a shape" not in text
        assert "Time saved per forward pass" not in text
        assert "Distribution of the gap" not in text
        assert "The comparison is " in text
        assert "1 row of the shapes file" in text
        assert "1 of 1 answer: there the whole space was covered" in text


def test_a_run_without_an_answer_says_so(tmp_path: Path) -> None:
    rows = (make_row(0, None), make_row(1, None, status=RowStatus.NO_LEGAL_PLAN, message="none"))
    html, markdown = render(tmp_path, rows)
    text = Page(html).text
    assert "No shape could be compared" in text
    assert "1 rejected by the operator; 1 without a legal tiling in the space" in text
    assert "no legal plan: none" in text
    assert "There is no heat map" in markdown
    assert (tmp_path / "figures" / "predicted_against_measured.svg").is_file()


def test_zero_gaps_and_empty_k_read_well(tmp_path: Path) -> None:
    html, markdown = render(tmp_path, (zero_k_row(), make_row(1, make_compared(0.0))))
    text = Page(html).text
    assert "No better tiling was found for any of 2 shapes in the space searched" in text
    assert "the same" in text
    assert "no shape has a gap" in markdown


def test_gaps_between_kernels_without_tiles_have_no_heat_map(tmp_path: Path) -> None:
    vector = make_plan(16, 16, template=Template.VECTOR)
    row = make_row(0, make_compared(0.2, best=vector))
    assert "none of the largest gaps" in render(tmp_path, (row,))[1]


def test_shapes_with_an_empty_space_have_no_heat_map(tmp_path: Path) -> None:
    row = make_row(0, make_compared(0.2), problem=GemmProblem(m=64, k=0, n=64))
    assert "There is no heat map" in render(tmp_path, (row,))[1]


def test_unresolved_gaps_are_not_an_answer(tmp_path: Path) -> None:
    text = Page(render(tmp_path, (make_row(0, make_compared(0.01)),))[0]).text
    assert "No gap is resolved, that is, larger than twice the model's median error" in text
    assert "not resolved" in text


@pytest.mark.parametrize("resolved", [1, 2])
def test_resolved_gaps_are_counted_in_words(tmp_path: Path, resolved: int) -> None:
    rows = tuple(
        make_row(index, make_compared(0.3, resolved=index < resolved)) for index in range(2)
    )
    expected = {1: "1 of 2 gaps is resolved", 2: "Every gap is resolved"}
    assert expected[resolved] in Page(render(tmp_path, rows)[0]).text
    single = tmp_path / "single"
    assert "The gap is resolved" in render(single, rows[:1])[1]


def test_the_largest_resolved_gap_is_named_however_small(tmp_path: Path) -> None:
    gaps = [0.5 - 0.01 * index for index in range(20)]
    rows = tuple(
        make_row(index, make_compared(gap, resolved=index == 19), name=f"shape {index}")
        for index, gap in enumerate(gaps)
    )
    text = Page(render(tmp_path, rows)[0]).text
    assert "1 of 20 gaps is resolved" in text
    assert "It is +31.0 %: shape 19." in text


def test_measured_times_have_a_column_when_there_are_some(tmp_path: Path) -> None:
    rows = (
        make_row(0, make_compared(0.1), measured_us=12.34),
        make_row(1, make_compared(0.1)),
        make_row(2, None),
    )
    html, markdown = render(tmp_path, rows)
    assert "measured, µs</th>" in html
    assert "12.3 |" in markdown
    assert 'colspan="9"' in html


def test_violations_of_the_vendors_plan_and_missing_certificates_show(tmp_path: Path) -> None:
    compared = replace(make_compared(0.1), violations=("l1_size",), regret_ratio=None)
    html, markdown = render(tmp_path, (make_row(0, compared),))
    assert "breaks l1_size" in html
    assert r"breaks l1\_size" in markdown
    assert "0 of 1 answer: there" in html


def test_another_chip_or_model_says_that_nothing_is_resolved(tmp_path: Path) -> None:
    spec = make_spec()
    moved = replace(spec.calibrations["pipeline"], measured_on="Ascend950PR_0000")
    rows = (make_row(0, make_compared(0.3)),)
    elsewhere = render(
        tmp_path / "moved", rows, spec=replace(spec, calibrations={"pipeline": moved})
    )
    assert "on which nothing was measured" in elsewhere[1]
    bare = render(tmp_path / "bare", rows, spec=replace(spec, calibrations={}))
    assert "none of its gaps is resolved" in bare[1]
    assert "No gap can be resolved" in bare[1]
    thin = replace(moved, measured_on=spec.soc, errors={})
    unknown = render(tmp_path / "thin", rows, spec=replace(spec, calibrations={"pipeline": thin}))
    assert "is not known, so no gap is resolved" in unknown[1]
    assert "unknown" in Page(unknown[0]).text


def test_classes_without_a_measured_kernel_are_counted(tmp_path: Path) -> None:
    row = make_row(0, make_compared(0.3, error_class="something_new"))
    html, markdown = render(tmp_path, (row,))
    assert "Shapes of a class that was never measured: 1." in Page(html).text
    assert "never measured" in markdown


def test_marks_stand_on_top(tmp_path: Path) -> None:
    options = replace(make_manifest().options, as_950=True, strategy="tpe")
    manifest = make_manifest(options=options, status=RunStatus.INTERRUPTED)
    spec = replace(load_hardware("ascend910b1"), calibrations=make_spec().calibrations)
    run = make_run(tmp_path, (make_row(0, make_compared(0.1)),), manifest=manifest, spec=spec)
    write_report(run)
    text = Page((run / "report.html").read_text("utf-8")).text
    assert "is not an Ascend 950" in text
    assert "This run is not complete: it was interrupted." in text
    assert "strategy tpe, 200 trials, seed 0" in text
    assert "> **Ascend910B1" in (run / "report.md").read_text("utf-8")


def test_who_chose_and_who_judged_is_said(tmp_path: Path) -> None:
    options = replace(make_manifest().options, strategy="cascade", evaluator="emulator")
    manifest = make_manifest(options=options)
    run = make_run(tmp_path, (make_row(0, make_compared(0.1)),), manifest=manifest)
    write_report(run)
    text = Page((run / "report.html").read_text("utf-8")).text
    assert "strategy cascade, effort" in text
    assert "The pipeline model covered the whole space of tilings and chose" in text
    assert "the emulator judged its best and the vendor's own" in text
    assert "The same model chose" not in text


def test_coverage_is_counted(tmp_path: Path) -> None:
    rows = tuple(
        make_row(index, make_compared(0.1, coverage=coverage, resolved=index > 1))
        for index, coverage in enumerate((*Coverage, Coverage.EXTRAPOLATED))
    )
    report = build_report(load_run_files(make_run(tmp_path, rows)))
    assert report.coverage_sentence.startswith(
        "Of 4 shapes that count, 1 inside what was measured, 1 the same but for transposed "
        "operands, 2 extrapolated beyond it. Of 2 resolved gaps, 2 are extrapolated"
    )
    assert "stamp <here>" not in render_html(report, "stamp <here>")


def test_report_command_prints_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path, make_rows(1))
    assert main(["report", str(run)]) == 0
    assert capsys.readouterr().out == f"{run / 'report.html'}\n"


def test_report_command_explains_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def complaint(run: Path) -> str:
        assert main(["report", str(run)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        return error

    assert "not a run directory" in complaint(tmp_path / "missing")
    run = make_run(tmp_path / "run", make_rows(1))
    (run / RESULTS_JSON_NAME).write_text('{"schema": 99, "rows": []}', "utf-8")
    assert "schema 99" in complaint(run)
    (run / RESULTS_JSON_NAME).unlink()
    assert "results.json is missing" in complaint(run)
    for status in (RunStatus.RUNNING, RunStatus.FAILED):
        make_run(run, (), manifest=make_manifest(status=status))
        (run / RESULTS_JSON_NAME).unlink()
        assert "not finished" in complaint(run)
    text = (run / MANIFEST_NAME).read_text("utf-8")
    (run / MANIFEST_NAME).write_text(text.replace('"schema": 1', '"schema": 7'), "utf-8")
    assert "schema 7" in complaint(run)


def test_a_file_in_the_place_of_the_figures_is_reported(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_rows(1))
    (run / "figures").write_text("in the way", "utf-8")
    with pytest.raises(RunDirectoryError, match="cannot hold the figures"):
        write_report(run)
    with pytest.raises(AutotuneError):
        write_results_json((), tmp_path / "figures" / "results.json")
