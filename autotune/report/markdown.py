"""Text that Markdown shows as it is, in a paragraph or in a cell of a table."""

import re


class Verbatim(str):
    """Text that is Markdown already and must not be escaped."""

    __slots__ = ()


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")
"""What starts markup, ends a cell, or starts mathematics on the pages that show Markdown."""


def escape_markdown(value: object) -> str:
    """A value as Markdown text; line ends become blanks, so that a table keeps its rows."""
    if isinstance(value, Verbatim):
        return value
    text = " ".join(str(value).splitlines()).replace("&", "&amp;")
    return _SPECIAL.sub(r"\\\1", text)
