"""The one interface of all search strategies, and the bookkeeping they share.

A strategy works on the numbers of a space's legal points. It is asked for a batch of points never
asked before, and told their times before it is asked again; an empty batch means that it has no
point left.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from studies.strategies.points import Indices

Times = NDArray[np.float64]


class Strategy(Protocol):
    """A search over points 0 .. n - 1. Equal seeds and equal times give equal batches."""

    def observe(self, index: int, time_us: float) -> None:
        """Take note of a point evaluated elsewhere; it is never asked. Before the first `ask`."""

    def ask(self, count: int) -> Indices:
        """At most `count` new points, fewer only when the space is exhausted."""

    def tell(self, times_us: Times) -> None:
        """The times of the last batch, in its order, microseconds."""


class Turn:
    """Asking and telling alternate."""

    def __init__(self) -> None:
        """No batch is open."""
        self._pending: int | None = None

    def open(self, count: int, left: int) -> int:
        """Start a batch; the number of points it has: `count`, or what is `left`.

        Raises:
            ValueError: the times of the batch before were not told, or `count` is below 1.
        """
        if self._pending is not None:
            raise ValueError("ask: the times of the last batch were not told")
        if count < 1:
            raise ValueError(f"ask: a batch has at least one point, not {count}")
        self._pending = min(count, left)
        return self._pending

    def close(self, times_us: Times) -> None:
        """End the batch.

        Raises:
            ValueError: there is none, or the number of times is not that of its points.
        """
        if self._pending is None:
            raise ValueError("tell: there is no batch to tell times of")
        if len(times_us) != self._pending:
            raise ValueError(f"tell: {len(times_us)} times for {self._pending} points")
        self._pending = None


class TakenPoints:
    """Which of the points 0 .. size - 1 were asked or observed."""

    def __init__(self, size: int) -> None:
        """No point of `size` is taken."""
        self.size = size
        self._taken: set[int] = set()

    def __contains__(self, index: int) -> bool:
        """Whether the point is taken."""
        return index in self._taken

    @property
    def left(self) -> int:
        """Points that are not taken."""
        return self.size - len(self._taken)

    def free(self, indices: Indices) -> NDArray[np.bool_]:
        """Which of these points are not taken."""
        taken = np.fromiter(self._taken, dtype=np.int64, count=len(self._taken))
        return np.asarray(np.isin(indices, taken, invert=True))

    def take(self, index: int) -> None:
        """Mark a point as taken.

        Raises:
            ValueError: it is taken already, or no point of the space.
        """
        if not 0 <= index < self.size or index in self._taken:
            raise ValueError(f"point {index} is taken or outside the space of {self.size}")
        self._taken.add(index)
