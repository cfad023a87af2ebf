from dataclasses import replace

import pytest

from autotune.report.text import display_columns
from autotune.results import Coverage
from autotune.study_table import describe_marks, describe_plan, format_summary, format_table
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
        *("shape", "baseline", "us", "best", "us", "gap", "x", "res", "bound", "roof")
    ]
    assert set(rule) == {"-", " "}
    assert first.split("  ")[0] == "square"
    assert " ".join(first.split()) == (
        "square 256x256x64/4 w4 110 128x256x64/4 w8r d 100 +10.0 % w yes mte2>cube 50>30%"
    )
    assert second.split() == ["refused", "rejected", *"--------"]


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
        compared,
        best=compared.baseline,
        best_inexpressible_field="",
        gap_ratio=0.0,
        resolved=False,
        rejected={},
        violations=(),
    )
    line = format_table((replace(result_row(), compared=same),)).splitlines()[2]
    assert line.split()[-6:] == ["0.0", "%", "-", "no", "mte2", "50%"]


def test_marks_are_explained_when_they_occur() -> None:
    compared = compared_plans()
    extrapolated = replace(compared, coverage=Coverage.EXTRAPOLATED)
    plain = replace(compared, best_inexpressible_field="")
    rows = tuple(replace(result_row(), compared=item) for item in (compared, extrapolated, plain))
    marks = [line.split()[-4:-2] for line in format_table(rows).splitlines()[2:5]]
    assert marks == [["w", "yes"], ["w", "yes*"], ["-", "yes"]]
    star, field = describe_marks(rows)
    assert star.startswith("yes*: resolved, but one of the two tilings is beyond the measured")
    assert field.startswith("x: the best needs a field that the operator's tiling data cannot")
    assert describe_marks(rows[:1]) == (field,)
    assert describe_marks((rows[2], rejected_row())) == ()
    unresolved = replace(extrapolated, resolved=False, best_inexpressible_field="")
    assert describe_marks((replace(result_row(), compared=unresolved),)) == ()


@pytest.mark.parametrize(
    ("field", "code"), [("serpentine", "w"), ("step_k", "k"), ("resident_slabs", "s")]
)
def test_the_kind_of_a_new_field_in_one_letter(field: str, code: str) -> None:
    compared = replace(compared_plans(), best_inexpressible_field=field)
    line = format_table((replace(result_row(), compared=compared),)).splitlines()[2]
    assert line.split()[-4] == code


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
    assert format_summary(rows, "new", calibrated) == (
        "1 of 3 shapes counted (1 grouped, 1 rejected); gap +10.0 % (+10.0 % weighted by calls), "
        "geometric means; +5.0 % with the fields of the operator's tiling data, which cannot "
        "carry 1 of the best plans; resolved for 1 of 1 (of these, 0 also exceed twice the 90th "
        "percentile of their class, 0 are extrapolated); the new model's median error is 2.8 % on "
        "75 kernels measured on Ascend950PR_9589"
    )
    bare = replace(calibrated, calibrations={"new": replace(calibration, errors={})})
    assert format_summary(rows, "new", bare).endswith(
        "; error of the new model on this chip not known, so no gap is resolved"
    )
    plain = replace(
        compared_plans(), best_inexpressible_field="", expressible_gap_ratio=0.1, resolved=False
    )
    line = format_summary((replace(result_row(), compared=plain),), "new", calibrated)
    assert line.startswith("1 of 1 shapes counted; gap +10.0 %")
    assert "; resolved for 0 of 1; the new model" in line
    assert "tiling data" not in line


def test_another_chips_error_is_not_shown_as_ones_own() -> None:
    calibration = Calibration(
        model="new",
        measured_on="Ascend950PR_9589",
        date="2026-01-01",
        data_digest="",
        rows=75,
        constants={},
        errors={"all": ClassError(n=75, median_ape=0.0284, p90_ape=0.2)},
    )
    spec = replace(load_hardware("ascend950dt-9582"), calibrations={"new": calibration})
    line = format_summary((result_row(),), "new", spec)
    assert line.endswith(
        "; the new model's constants were fitted on Ascend950PR_9589; its error on "
        "Ascend950DT_9582 is not known, so no gap is resolved"
    )
    assert "2.8 %" not in line


def test_a_model_without_constants_has_its_plain_error_on_the_measured_chip_only() -> None:
    never = "; the formula model has no cross-validated error, so no gap is ever resolved"
    measured = format_summary((result_row(),), "formula", load_hardware("ascend950pr-9589"))
    assert f"{never}; on 99 kernels measured on Ascend950PR_9589 its median error is " in measured
    other = format_summary((result_row(),), "formula", load_hardware("ascend950dt-9582"))
    assert other.endswith(never)


def test_without_a_counted_shape_there_is_no_gap() -> None:
    spec = load_hardware("ascend950pr-9589")
    expected = "0 of 2 shapes counted (2 rejected); there is no gap to tell"
    assert format_summary((rejected_row(), rejected_row(2)), "pipeline", spec) == expected
    grouped = format_summary((replace(result_row(), tag="grouped"),), "pipeline", spec)
    assert grouped == "0 of 1 shapes counted (1 grouped); there is no gap to tell"
