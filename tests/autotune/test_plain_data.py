from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autotune.plain_data import compute_digest, from_plain, to_plain
from hwmodel.errors import InputError
from hwmodel.problem import GemmProblem


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 0
    HIGH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    count: int
    size: float
    flag: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    colour: Colour
    level: Level
    leaf: Leaf | None
    leaves: tuple[Leaf, ...]
    texts: tuple[str, ...]
    counts: Mapping[str, int]
    note: str | None


def tree() -> Tree:
    leaf = Leaf(count=3, size=0.1, flag=True)
    return Tree(
        colour=Colour.BLUE,
        level=Level.HIGH,
        leaf=leaf,
        leaves=(leaf, Leaf(count=-1, size=1e-300, flag=False)),
        texts=("a", ""),
        counts={"b": 2, "a": 1},
        note=None,
    )


def test_round_trip_is_exact_and_plain() -> None:
    plain = to_plain(tree())
    assert isinstance(plain, dict)
    assert plain["colour"] == "blue"
    assert type(plain["colour"]) is str
    assert plain["level"] == 64
    assert list(plain["counts"]) == ["b", "a"]
    assert from_plain(Tree, plain, "tree") == tree()


@settings(derandomize=True, deadline=None)
@given(st.builds(Leaf, count=st.integers(), size=st.floats(allow_nan=False), flag=st.booleans()))
def test_any_leaf_comes_back(leaf: Leaf) -> None:
    assert from_plain(Leaf, to_plain(leaf), "leaf") == leaf


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("colour",), "green", r"t\.colour: 'green' is not one of red, blue"),
        (("level",), 3, r"t\.level: 3 is not one of 0, 64"),
        (("leaf", "count"), "3", r"t\.leaf\.count: expected int, found str"),
        (("leaf", "count"), True, r"t\.leaf\.count: expected int, found bool"),
        (("leaf", "size"), None, r"t\.leaf\.size: expected float, found NoneType"),
        (("leaf", "flag"), 1, r"t\.leaf\.flag: expected bool, found int"),
        (("leaf", "colour"), 1, r"t\.leaf\.colour: unknown entry"),
        (("leaves",), {}, r"t\.leaves: expected a list, found dict"),
        (("leaves", 1), 7, r"t\.leaves\[1\]: expected an object, found int"),
        (("counts",), [], r"t\.counts: expected an object, found list"),
        (("counts", "a"), 1.5, r"t\.counts\.a: expected int, found float"),
        (("note",), 5, r"t\.note: expected str, found int"),
    ],
)
def test_errors_name_the_path(path: tuple[str | int, ...], value: object, message: str) -> None:
    plain = to_plain(tree())
    holder = plain
    for step in path[:-1]:
        holder = holder[step]  # type: ignore[index]
    holder[path[-1]] = value  # type: ignore[index]
    with pytest.raises(InputError, match=message):
        from_plain(Tree, plain, "t")


def test_missing_entry() -> None:
    with pytest.raises(InputError, match=r"leaf\.flag: missing entry"):
        from_plain(Leaf, {"count": 1, "size": 2}, "leaf")


def test_checks_of_the_class_itself_name_the_path() -> None:
    plain = to_plain(GemmProblem(m=1, k=1, n=1))
    assert isinstance(plain, dict)
    with pytest.raises(InputError, match=r"rows\[0\]: m = 0"):
        from_plain(GemmProblem, {**plain, "m": 0}, "rows[0]")


def test_digest_ignores_the_order_of_keys_only() -> None:
    assert compute_digest({"a": 1, "b": (2, 3)}) == compute_digest({"b": [2, 3], "a": 1})
    assert compute_digest({"a": 1, "b": (3, 2)}) != compute_digest({"a": 1, "b": (2, 3)})
