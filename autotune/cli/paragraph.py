"""Paragraphs in lines that a terminal shows whole."""

import json
import re
import textwrap
from typing import Final

_COLUMNS: Final = 100
"""Width of a line, whatever the terminal: the same question prints the same."""

_LABEL_COLUMNS: Final = 17
"""Columns of the labels of entries."""

_GLUE: Final = "\N{NO-BREAK SPACE}"
_UNIT: Final = re.compile(r"(?<=\d) (?=(?:%|us|KB|MB)(?!\w))")
"""The blank between a number and its unit, where no line ends."""


def wrap_paragraph(text: str, indent: str = "") -> str:
    """The text in lines of at most 100 columns, each indented."""
    return _wrap(_UNIT.sub(_GLUE, text), indent, indent)


def wrap_entry(label: str, text: str) -> str:
    """The text beside its label, in lines of at most 100 columns."""
    label, indent = label.ljust(_LABEL_COLUMNS), " " * _LABEL_COLUMNS
    return _wrap(_UNIT.sub(_GLUE, text), label, indent)


def wrap_json(value: object) -> str:
    """A JSON object in lines of at most 100 columns that end behind a member."""
    return _wrap(json.dumps(value, separators=(", ", f":{_GLUE}")), "", "")


def _wrap(text: str, first: str, others: str) -> str:
    """Lines that never end at the glue, which becomes a blank again."""
    lines = textwrap.fill(
        text,
        width=_COLUMNS,
        initial_indent=first,
        subsequent_indent=others,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return lines.replace(_GLUE, " ")
