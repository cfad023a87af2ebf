"""Names and numbers of the report."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autotune.report.markdown import Verbatim, escape_markdown
from autotune.report.text import (
    REPLACEMENT,
    TIMES,
    clean_text,
    clip_text,
    describe_problem,
    describe_tiling,
    display_columns,
    format_count,
    format_gap,
    format_percent,
    format_us,
    group_digits,
    name_class,
)
from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.plan import L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.validation.classes import ErrorClass
from tests.autotune.report_runs import make_plan


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain name", "plain name"),
        ("  two\t lines\r\nof\x00text \u2028 ", "two lines of text"),
        ("abc\u202edef\u2066ghi\ufeff", "abcdefghi"),
        ("\ud800|\uffff", f"{REPLACEMENT}|{REPLACEMENT}"),
        ("क्\u200dष", "क्\u200dष"),
        ("", ""),
    ],
)
def test_clean_text_keeps_what_can_be_shown(text: str, expected: str) -> None:
    assert clean_text(text) == expected


@settings(derandomize=True, deadline=None)
@given(st.text())
def test_clean_text_is_one_line_of_characters(text: str) -> None:
    cleaned = clean_text(text)
    assert {unicodedata.category(c) for c in cleaned}.isdisjoint({"Cc", "Zl", "Zp", "Cs", "Cn"})
    assert clean_text(cleaned) == cleaned
    cleaned.encode()


@settings(derandomize=True, deadline=None)
@given(st.text(), st.integers(min_value=3, max_value=60))
def test_clipped_text_fits(text: str, columns: int) -> None:
    clipped = clip_text(text, columns)
    assert display_columns(clipped) <= columns
    if display_columns(text) <= columns:
        assert clipped == text


def test_clipping_keeps_both_ends() -> None:
    assert clip_text("Llama-3.1-8B training tokens=4096 lm_head dX", 20) == "Llama-3.1-8…_head dX"
    assert clip_text("矩阵乘法矩阵乘法", 9) == "矩阵…乘法"


@pytest.mark.parametrize(
    ("microseconds", "expected"),
    [(0.0, "0"), (0.1234, "0.12"), (4.118, "4.12"), (38.06, "38.1"), (1240.4, "1,240")],
)
def test_format_us(microseconds: float, expected: str) -> None:
    assert format_us(microseconds) == expected


def test_gaps_have_a_sign_unless_they_round_to_nothing() -> None:
    assert format_gap(0.1234) == "+12.3 %"
    assert format_gap(0.0004) == "0.0 %"
    assert format_gap(-1e-12) == "0.0 %"
    assert format_percent(-1e-12) == "0.0 %"
    assert format_count(1, "entry", "entries") == "1 entry"
    assert format_count(2, "entry", "entries") == "2 entries"
    assert format_count(1234, "shape") == "1,234 shapes"


def test_long_numbers_in_a_sentence_get_separators() -> None:
    text = "pipeline v2000: 1234567 evaluated, 999 pruned, of 10000; 0.12345 and 1,000 stay"
    assert group_digits(text) == (
        "pipeline v2000: 1,234,567 evaluated, 999 pruned, of 10,000; 0.12345 and 1,000 stay"
    )


def test_error_classes_are_written_as_words() -> None:
    assert [name_class(name) for name in ErrorClass] == [
        "compute bound",
        "read bound",
        "output heavy",
        "small",
        "stream-K",
    ]


def test_describe_tiling_names_what_differs_from_the_plainest_kernel() -> None:
    assert describe_tiling(make_plan(256, 128)) == f"256{TIMES}128{TIMES}64, step 4, W 4"
    plan = make_plan(
        16,
        32,
        template=Template.STREAM_K,
        window_len=3,
        serpentine=False,
        db_l0c=2,
        m_tail_cnt=2,
        single_core_k=2048,
        l0c_output=L0cOutput.FIXPIPE,
        resident_slabs=5,
        l1_buffer_num=4,
    )
    assert describe_tiling(plan) == (
        f"stream-K 16{TIMES}32{TIMES}64, step 4, W 3 one-way, 2 L0C, tail 2{TIMES}1, K/2048, "
        "via UB, 5 resident, 4 L1 slots"
    )
    full = describe_tiling(make_plan(16, 16, template=Template.B_FULL))
    assert full.startswith(f"B full load 16{TIMES}16")
    assert describe_tiling(make_plan(16, 16, template=Template.K_EQUAL_ZERO)) == "k_equal_zero"
    assert "W" not in describe_tiling(make_plan(16, 16, window_len=1))


def test_describe_problem_names_what_differs_from_a_linear_layer() -> None:
    assert describe_problem(GemmProblem(m=1, k=2, n=3)) == ""
    problem = GemmProblem(
        m=1,
        k=2,
        n=3,
        trans_a=True,
        trans_b=False,
        dtype=DType.FP16,
        out_dtype=DType.FP32,
        bias_dtype=DType.FP32,
        format_b=Format.NZ,
    )
    assert describe_problem(problem) == (
        f"fp16 to fp32, A stored K{TIMES}M, B stored K{TIMES}N, B in NZ, bias"
    )
    hf32 = GemmProblem(
        m=1,
        k=2,
        n=3,
        dtype=DType.FP32,
        out_dtype=DType.FP32,
        op_impl_mode=OpImplMode.HF32,
    )
    assert describe_problem(hf32) == "fp32, hf32"


def test_markdown_shows_text_as_it_is() -> None:
    assert escape_markdown("a|b\n<i>*x*_y_ `$1$` [z](u) #&") == (
        r"a\|b \<i\>\*x\*\_y\_ \`\$1\$\` \[z\](u) \#&amp;"
    )
    assert escape_markdown(Verbatim("gap_rows")) == "gap_rows"
    assert escape_markdown(12) == "12"
