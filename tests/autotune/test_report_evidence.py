"""What the report says of its own evidence: how sure gaps are, what the operator can run today."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.report.page import Report, build_report
from autotune.report.render import render_html, render_markdown
from autotune.report.run_files import load_run_files
from autotune.report.text import describe_field
from autotune.results import ResultRow
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import load_hardware
from hwmodel.validation.measured import MEASURED_HARDWARE, MEASURED_SOC, load_measured
from tests.autotune.report_runs import make_compared, make_manifest, make_row, make_run, make_spec


def report_of(
    directory: Path,
    rows: Sequence[ResultRow],
    *,
    spec: HardwareSpec | None = None,
    evaluator: str = "pipeline",
) -> Report:
    options = replace(make_manifest().options, evaluator=evaluator)
    run = make_run(directory, rows, spec=spec, manifest=make_manifest(options=options))
    return build_report(load_run_files(run))


def caption_of(report: Report) -> str:
    (figure,) = (item for item in report.figures if item.name == "predicted_against_measured")
    return figure.caption


@pytest.mark.parametrize(
    ("surest", "sentence"),
    [
        ((False, False), "Of these, 0 also exceed twice the 90th percentile of their class's"),
        ((True, False), "Of these, 1 also exceeds twice the 90th percentile"),
        ((True, True), "Of these, 2 also exceed twice the 90th percentile"),
        ((True,), "It also exceeds twice the 90th percentile of the error."),
        ((False,), "It does not exceed twice the 90th percentile of the error."),
    ],
)
def test_the_first_screen_counts_the_surest_gaps(
    tmp_path: Path, surest: tuple[bool, ...], sentence: str
) -> None:
    rows = [
        make_row(index, make_compared(0.3, resolved=True, exceeds_p90=sure))
        for index, sure in enumerate(surest)
    ]
    rows.append(make_row(len(rows), make_compared(0.01)))
    assert sentence in " ".join(report_of(tmp_path, rows).answer)


def test_what_the_tiling_data_cannot_carry_is_said_and_marked(tmp_path: Path) -> None:
    rows = (
        make_row(0, make_compared(0.21, resolved=True, expressible_gap_ratio=0.1)),
        make_row(1, make_compared(0.21)),
    )
    report = report_of(tmp_path, rows)
    assert report.answer[-1] == (
        "1 of the best tilings needs a field that the operator's tiling data cannot carry (block "
        "order, K depth); with the fields that they have, the mean gap is 15.4 % instead of "
        "21.0 %."
    )
    html, markdown = render_html(report, ""), render_markdown(report)
    for mark, text in (
        ("needs a new field (block order); without it +10.0 %", html),
        ("(needs a new field: block order; without it +10.0 %)", markdown),
    ):
        assert text.count(mark) == 2, "in the largest gaps and in the table of all shapes"


def test_a_single_shape_that_needs_a_new_field(tmp_path: Path) -> None:
    row = make_row(0, make_compared(0.21, expressible_gap_ratio=0.1))
    sentence = report_of(tmp_path, (row,)).answer[-1]
    assert sentence.startswith("The best tiling needs a field that the operator's tiling data")
    assert sentence.endswith("with the fields that they have, the gap is 10.0 %.")


def test_without_a_new_field_nothing_is_said(tmp_path: Path) -> None:
    report = report_of(tmp_path, (make_row(0, make_compared(0.2)),))
    assert "tiling data" not in " ".join(report.answer)
    assert "needs a new field" not in render_html(report, "")


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("", ""),
        ("window_len", "block order"),
        ("serpentine", "block order"),
        ("step_k", "K depth"),
        ("resident_slabs", "resident slabs"),
        ("template", "template"),
    ],
)
def test_fields_have_names(field: str, words: str) -> None:
    assert describe_field(field) == words


def test_kept_back_kernels_are_pooled_in_the_caption_and_not_drawn(tmp_path: Path) -> None:
    rows = load_measured()
    locked = sum(row.locked for row in rows)
    report = report_of(tmp_path, (make_row(0, make_compared(0.2)),))
    caption = caption_of(report)
    assert f"{locked} kernels held back from every fit are judged only together" in caption
    (figure,) = (item for item in report.figures if item.name == "predicted_against_measured")
    assert f"Two scatter plots of {len(rows) - locked} measured kernels" in figure.alt


def test_another_chip_shows_no_error_as_its_own(tmp_path: Path) -> None:
    other = load_hardware("ascend950dt-9582")
    spec = replace(other, calibrations=make_spec().calibrations)
    report = report_of(tmp_path, (make_row(0, make_compared(0.2)),), spec=spec)
    values = {item.label: item.value for item in report.headlines}
    assert values["model's median error"] == "unknown"
    assert "2.8 %" not in values.values()
    assert f"only on an {MEASURED_SOC}" in report.headlines[-1].note
    assert report.error.held_back is None
    assert f"Kernels and figures are those of {MEASURED_SOC}." in caption_of(report)
    assert load_hardware(MEASURED_HARDWARE).soc == MEASURED_SOC


def test_the_formula_has_its_plain_error_and_no_resolved_gap(tmp_path: Path) -> None:
    row = make_row(0, make_compared(0.2))
    report = report_of(tmp_path, (row,), evaluator="formula")
    text = " ".join(report.error_sentences)
    assert "the formula model's error has a median of" in text
    assert "so none of its gaps is resolved" in text
    assert all(line.threshold_ratio is None for line in report.error.classes)
