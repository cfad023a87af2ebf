"""`random`: legal points drawn uniformly, without repetition."""

import numpy as np

from studies.strategies.points import Indices
from studies.strategies.protocol import TakenPoints, Times, Turn


class RandomStrategy:
    """A lazy shuffle of 0 .. n - 1: a draw costs the same, whatever n and however few are left.

    The shuffle is Fisher and Yates' with only the swapped positions kept.
    """

    def __init__(self, size: int, seed: int) -> None:
        """`size` is the number of points of the space."""
        self._taken = TakenPoints(size)
        self._turn = Turn()
        self._rng = np.random.default_rng(seed)
        self._moved: dict[int, int] = {}
        self._drawn = 0

    def observe(self, index: int, time_us: float) -> None:
        """Never ask this point."""
        self._taken.take(index)

    def ask(self, count: int) -> Indices:
        """New points, uniformly drawn."""
        batch = [self._draw() for _ in range(self._turn.open(count, self._taken.left))]
        return np.array(batch, dtype=np.int64)

    def tell(self, times_us: Times) -> None:
        """Times do not change the draws."""
        self._turn.close(times_us)

    def _draw(self) -> int:
        """The next point of the shuffle that is not taken; there must be one."""
        while True:
            other = int(self._rng.integers(self._drawn, self._taken.size))
            index = self._moved.get(other, other)
            self._moved[other] = self._moved.pop(self._drawn, self._drawn)
            self._drawn += 1
            if index not in self._taken:
                self._taken.take(index)
                return index
