"""What strategies ask of a space's points, and the coordinates they see them in."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
FactorColumns = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class PointSpace(Protocol):
    """The legal points of a search space, numbered 0 .. len - 1.

    Points have whole-numbered factors, such as base_m. No two points have the same ones, and not
    every combination of values is a point.
    """

    def __len__(self) -> int:
        """Number of points."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the factors."""

    @property
    def values(self) -> tuple[Indices, ...]:
        """The values of each factor that occur, ascending."""

    def factors(self, indices: Indices) -> FactorColumns:
        """Factors of the points of these numbers, shape (len(indices), len(names))."""

    def neighbours(self, index: int) -> Indices:
        """Points that differ a little from this one."""


class UnitScale:
    """Factors scaled to 0 .. 1, sizes and counts by their logarithm; constant factors left out.

    A factor that begins at 1 or more is a size or a count, of which doubling it means the same
    everywhere; another is counted from its least value plus one, which makes flags 0 and 1.
    """

    def __init__(self, space: PointSpace) -> None:
        """The scale of a space that is not empty."""
        self._space = space
        self._columns = [column for column, all_ in enumerate(space.values) if len(all_) > 1]
        least = np.array([space.values[column][0] for column in self._columns], dtype=np.int64)
        most = np.array([space.values[column][-1] for column in self._columns], dtype=np.int64)
        self._shift = np.where(least >= 1, 0, 1 - least)
        self._low = np.log2(least + self._shift)
        self._span = np.log2(most + self._shift) - self._low

    def coordinates(self, indices: Indices) -> FloatArray:
        """Scaled factors of the points, shape (len(indices), factors that vary)."""
        raw = self._space.factors(indices)[:, self._columns]
        scaled: FloatArray = (np.log2(raw + self._shift) - self._low) / self._span
        return scaled
