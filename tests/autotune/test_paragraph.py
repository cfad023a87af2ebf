"""Paragraphs in lines that a terminal shows whole."""

import json

from autotune.cli.paragraph import wrap_entry, wrap_json, wrap_paragraph


def test_numbers_keep_their_units() -> None:
    text = "x " * 48 + "12.3 us instead of"
    first, second = wrap_paragraph(text).splitlines()
    assert second == "12.3 us instead of"
    assert first == ("x " * 48).rstrip()
    assert wrap_paragraph("saves 3 used cores", "  ") == "  saves 3 used cores"


def test_entries_hang_beside_their_label() -> None:
    lines = wrap_entry("why", "word " * 40).splitlines()
    assert lines[0].startswith("why              word ")
    assert all(line.startswith(" " * 17 + "word") for line in lines[1:])
    assert max(map(len, lines)) <= 100


def test_json_breaks_between_members() -> None:
    value = {f"name{number}": {"n": number} for number in range(30)}
    text = wrap_json(value)
    assert json.loads(text) == value
    assert all(line.endswith(("}", ",")) for line in text.splitlines())
