"""Rows of a run: those of the shapes file, then the domain lists of the hypotheses asked for."""

from collections.abc import Sequence
from dataclasses import replace

from studies.hypotheses.effort import DEPTHS
from studies.hypotheses.registry import ALL, DOMAIN_LISTS
from studies.shape_rows import BUNDLED_DIRECTORY, SUFFIX, ShapeRow, load_shapes


def add_domain_lists(rows: Sequence[ShapeRow], study: str, effort: str) -> tuple[ShapeRow, ...]:
    """The rows, and after them those of the domain lists, numbered on.

    Args:
        rows: the shapes file.
        study: a hypothesis with a list of its own adds it; `all` adds every list.
        effort: `quick` takes every few rows of a list only (`effort.Depth.list_step`).
    """
    added = [row for name in _list_names(study) for row in _load_list(name, effort)]
    numbered = (replace(row, index=len(rows) + place) for place, row in enumerate(added))
    return (*rows, *numbered)


def list_sources(rows: Sequence[ShapeRow], study: str, effort: str) -> tuple[str, ...]:
    """For each row that `add_domain_lists` gave, the list it is from; empty for the file's."""
    added = [name for name in _list_names(study) for _ in _load_list(name, effort)]
    return (*([""] * (len(rows) - len(added))), *added)


def study_of_source(source: str, study: str) -> str:
    """What is asked about a row: rows of a domain list are about its hypothesis only."""
    owners = {name: owner for owner, name in DOMAIN_LISTS.items()}
    return owners.get(source, study)


def _list_names(study: str) -> tuple[str, ...]:
    """Names of the lists that a study adds, in order."""
    if study == ALL:
        return tuple(DOMAIN_LISTS.values())
    return (DOMAIN_LISTS[study],) if study in DOMAIN_LISTS else ()


def _load_list(name: str, effort: str) -> tuple[ShapeRow, ...]:
    """The rows of a bundled list that the effort takes."""
    rows = load_shapes(BUNDLED_DIRECTORY / f"{name}{SUFFIX}")
    return rows[:: DEPTHS[effort].list_step]
