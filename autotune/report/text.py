"""Names and numbers as the report prints them: safe, short and always written the same way.

Names come from a user's file, so they may hold anything. Escaping belongs to the format (HTML,
Markdown, SVG) and is done there; this module removes what no format can show.
"""

import re
import unicodedata

from hwmodel.dtypes import DType, Format
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem

ELLIPSIS = "…"
TIMES = "\N{MULTIPLICATION SIGN}"
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_BREAKS = frozenset({"Cc", "Zl", "Zp"})
"""Unicode categories that would break a line: controls, line and paragraph separators."""

_UNSHOWABLE = frozenset({"Cn", "Cs"})
"""Unicode categories without a character: unassigned (XML forbids some), lone surrogates."""

_JOINERS = frozenset({"\N{ZERO WIDTH JOINER}", "\N{ZERO WIDTH NON-JOINER}"})
"""The only invisible format characters that belong to words; others can reorder text."""

_WIDE = frozenset({"W", "F"})
"""East Asian widths that take two columns."""

_HEAD_SHARE = 0.6
"""Part of a clipped name kept in front; the end stays too, names often differ only there."""

_NAME_COLUMNS = 60
"""Longest name in a sentence, in columns."""

_SIGNIFICANT_DIGITS = 3
"""Digits of a printed time; the models are not better than that."""

_PERCENT = 100.0

_LONG_NUMBER = re.compile(r"(?<![\w.,])\d{4,}(?![\w.])")

_FIELD_NAMES = {
    "window_len": "block order",
    "serpentine": "block order",
    "step_k": "K depth",
    "sk_order": "stream-K order",
}
"""Plan fields that say little to someone who does not know the plan."""

STREAM_K = "stream-K"
_TEMPLATE_NAMES = {
    Template.ASWT: "ASWT",
    Template.A_FULL: "A full load",
    Template.B_FULL: "B full load",
    Template.STREAM_K: STREAM_K,
}
"""Templates with names of their own; `autotune.report.terms` explains them."""


def clean_text(text: str) -> str:
    """One line without control, invisible or unassigned characters; runs of blanks become one."""
    characters: list[str] = []
    for character in text:
        category = unicodedata.category(character)
        if category in _BREAKS:
            characters.append(" ")
        elif category in _UNSHOWABLE:
            characters.append(REPLACEMENT)
        elif category != "Cf" or character in _JOINERS:
            characters.append(character)
    return " ".join("".join(characters).split())


def display_columns(text: str) -> int:
    """Width of a text in columns: wide characters count twice, combining ones not."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in _WIDE else 1
        for c in text
    )


def clip_text(text: str, columns: int) -> str:
    """The text in at most `columns` columns; what is too long loses its middle to an ellipsis."""
    if display_columns(text) <= columns:
        return text
    head_columns = int((columns - 1) * _HEAD_SHARE)
    tail_columns = columns - 1 - head_columns
    head = _take_columns(text, head_columns)
    tail = _take_columns(text[::-1], tail_columns)[::-1]
    return head.rstrip() + ELLIPSIS + tail.lstrip()


def short_name(name: str) -> str:
    """A name for a sentence."""
    return clip_text(clean_text(name), _NAME_COLUMNS)


def _take_columns(text: str, columns: int) -> str:
    """The longest beginning of `text` that fits."""
    taken = 0
    for position, character in enumerate(text):
        taken += display_columns(character)
        if taken > columns:
            return text[:position]
    return text


def format_us(microseconds: float) -> str:
    """A time in microseconds, three digits or more: `4.12`, `38.1`, `12,432`; `0` for none."""
    if microseconds == 0.0:
        return "0"
    digits = _SIGNIFICANT_DIGITS - 1
    limit = 10.0
    while digits > 0 and abs(microseconds) >= limit:
        digits -= 1
        limit *= 10.0
    return f"{microseconds:,.{digits}f}"


def format_percent(ratio: float) -> str:
    """A ratio as a percentage with one decimal, e.g. `12.3 %`; never `-0.0 %`."""
    return f"{round(ratio * _PERCENT, 1) + 0.0:.1f} %"


def format_gap(ratio: float) -> str:
    """A gap with its sign, e.g. `+12.3 %`; `0.0 %` when it rounds to nothing."""
    text = format_percent(ratio)
    return text if text == format_percent(0.0) else f"+{text}"


def format_count(count: int, singular: str, plural: str = "") -> str:
    """A number with its noun, e.g. `1 shape`, `1,210 shapes`."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def group_digits(text: str) -> str:
    """The text with separators in its long whole numbers, e.g. `12,345 evaluated`."""
    return _LONG_NUMBER.sub(lambda match: f"{int(match[0]):,}", text)


def name_class(error_class: str) -> str:
    """An error class as the report writes it, e.g. `read bound`, `stream-K`."""
    return STREAM_K if error_class == Template.STREAM_K else error_class.replace("_", " ")


def name_template(template: Template) -> str:
    """A kernel template as the report writes it, e.g. `A full load`, `stream-K`."""
    return _TEMPLATE_NAMES.get(template, template.value)


def format_product(*factors: int) -> str:
    """Sizes with multiplication signs between them."""
    return TIMES.join(map(str, factors))


def describe_tiling(plan: KernelPlan) -> str:
    """A plan in one line: the L0C tile and step, then only what differs from the plainest kernel.

    `256x256x64, step 4, W 4` reads: base_m x base_n x base_k, step_k 4, window_len 4. The template
    stands in front when it is not ASWT; double L0C (`2 L0C`), tail split (`tail 2x1`), K split
    (`K/2048`), fixpipe output through UB (`via UB`), resident slabs and the number of L1 slots
    follow when they are not the default.
    """
    if plan.template in {Template.K_EQUAL_ZERO, Template.TO_MULTI_MUL}:
        return name_template(plan.template)
    parts = [format_product(plan.base_m, plan.base_n, plan.base_k), f"step {plan.step_k}"]
    if plan.window_len > 1:
        parts.append(f"W {plan.window_len}" + ("" if plan.serpentine else " one-way"))
    if plan.db_l0c == 2:
        parts.append("2 L0C")
    if plan.m_tail_cnt * plan.n_tail_cnt > 1:
        parts.append(f"tail {format_product(plan.m_tail_cnt, plan.n_tail_cnt)}")
    if plan.template is Template.STREAM_K:
        parts.append(f"K/{plan.single_core_k}")
    if plan.l0c_output is L0cOutput.FIXPIPE:
        parts.append("via UB")
    if plan.resident_slabs:
        parts.append(f"{plan.resident_slabs} resident")
    if plan.l1_buffer_num != 2:
        parts.append(f"{plan.l1_buffer_num} L1 slots")
    text = ", ".join(parts)
    return text if plan.template is Template.ASWT else f"{name_template(plan.template)} {text}"


def describe_field(field: str) -> str:
    """A plan field that the vendor's tiling data may lack, in words; empty for none."""
    return _FIELD_NAMES.get(field, field.replace("_", " "))


def describe_problem(problem: GemmProblem) -> str:
    """What a shape has besides m, k, n; empty for a plain bf16 linear layer."""
    parts: list[str] = []
    if problem.dtype is not DType.BF16 or problem.out_dtype is not problem.dtype:
        same = problem.out_dtype is problem.dtype
        parts.append(
            problem.dtype.value if same else f"{problem.dtype.value} to {problem.out_dtype.value}"
        )
    if problem.is_hf32:
        parts.append("hf32")
    if problem.trans_a:
        parts.append(f"A stored K{TIMES}M")
    if not problem.trans_b:
        parts.append(f"B stored K{TIMES}N")
    if problem.format_b is not Format.ND:
        parts.append(f"B in {problem.format_b.value}")
    if problem.bias_dtype is not None:
        parts.append("bias")
    return ", ".join(parts)
