from dataclasses import replace

import pytest

from autotune.report.text import display_columns
from autotune.study_table import describe_plan, format_summary, format_table
from hwmodel.plan import KernelPlan, Template
from hwmodel.spec import Calibration, ClassError
from hwmodel.spec_io import load_hardware
from tests.autotune.samples import (
    BETTER_PLAN,
    PLAN,
    compared_plans,
    fixpipe_plan,
    rejected_row,
    result_row,
)


def test_columns_of_a_row() -> None:
    header, rule, first, second, *_ = format_table((result_row(), rejected_row())).splitlines()
    assert header.split() == [
        *("shape", "baseline", "us", "best", "us", "gap", "res", "bound", "roof")
    ]
    assert set(rule) == {"-", " "}
    assert first.split("  ")[0] == "square"
    assert " ".join(first.split()) == (
        "square 256x256x64/4 w4 110 128x256x64/4 w8r d 100 +10.0 % yes mte2>cube 50>30%"
    )
    assert second.split() == ["refused", "rejected", *"-------"]


def test_reasons_are_told_once_below_the_table() -> None:
    rows = (rejected_row(0), rejected_row(1), replace(rejected_row(2), message="two\nlines"))
    lines = format_table(rows).splitlines()
    assert lines[-2:] == [
        "rejected (2 shapes): dtype_combination (ValidateDtype): not this type",
        "rejected (1 shape): two lines",
    ]


def test_equal_bounds_and_unresolved_gaps() -> None:
    compared = compared_plans()
    same = replace(
        compared, best=compared.baseline, gap_ratio=0.0, resolved=False, rejected={}, violations=()
    )
    line = format_table((replace(result_row(), compared=same),)).splitlines()[2]
    assert line.split()[-5:] == ["0.0", "%", "no", "mte2", "50%"]


def test_long_names_do_not_widen_the_table() -> None:
    rows = tuple(
        replace(result_row(), index=index, name=f"a model of {index} words " * 9)
        for index in range(210)
    )
    lines = format_table(rows).splitlines()
    assert len(lines) >= 212
    assert max(map(display_columns, lines)) <= 120


def test_names_cannot_break_lines_or_drive_the_terminal() -> None:
    table = format_table((result_row("two\nlines \x1b[31mred\x1b[0m"),))
    assert "two lines" in table
    assert "\x1b" not in table


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (PLAN, "256x256x64/4 w4"),
        (BETTER_PLAN, "128x256x64/4 w8r d"),
        (fixpipe_plan(), "bf 256x256x64/1 ub"),
        (replace(PLAN, template=Template.K_EQUAL_ZERO), "k=0"),
    ],
)
def test_a_plan_in_short(plan: KernelPlan, text: str) -> None:
    assert describe_plan(plan) == text


def test_summary_in_one_line() -> None:
    rows = (
        result_row(),
        replace(result_row("expert"), tag="grouped"),
        rejected_row(),
    )
    spec = load_hardware("ascend950pr-9589")
    line = format_summary(rows, "new", spec)
    assert line == (
        "1 of 3 shapes counted (1 grouped, 1 rejected); gap +10.0 % (+10.0 % weighted by calls), "
        "geometric means; resolved for 1 of 1; error of the new model on this chip not known"
    )
    calibration = Calibration(
        model="new",
        measured_on="Ascend950PR_9589",
        date="2026-01-01",
        data_digest="",
        rows=75,
        constants={},
        errors={"all": ClassError(n=75, median_ape=0.0284, p90_ape=0.2)},
    )
    calibrated = replace(spec, calibrations={"new": calibration})
    assert format_summary(rows, "new", calibrated).endswith(
        "; the new model's median error is 2.8 % on 75 kernels measured on Ascend950PR_9589"
    )
    assert format_summary(rows[:1], "x", spec).startswith("1 of 1 shapes counted; gap")
