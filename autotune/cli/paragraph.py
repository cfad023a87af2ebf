"""Paragraphs in lines that a terminal shows whole."""

import textwrap
from typing import Final

_COLUMNS: Final = 100
"""Width of a line, whatever the terminal: the same question prints the same."""


def wrap_paragraph(text: str, indent: str = "") -> str:
    """The text in lines of at most 100 columns, each indented."""
    return textwrap.fill(
        text,
        width=_COLUMNS,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
