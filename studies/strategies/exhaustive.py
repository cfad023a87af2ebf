"""`exhaustive`: every legal point, in the order of the space."""

import numpy as np

from studies.strategies.points import Indices
from studies.strategies.protocol import TakenPoints, Times, Turn


class ExhaustiveStrategy:
    """Consecutive runs of points; no set of them is kept, so a large space costs nothing."""

    def __init__(self, size: int) -> None:
        """`size` is the number of points of the space."""
        self._observed: set[int] = set()
        self._space = TakenPoints(size)
        self._turn = Turn()
        self._next = 0

    def observe(self, index: int, time_us: float) -> None:
        """Leave this point out."""
        self._space.take(index)
        self._observed.add(index)

    def ask(self, count: int) -> Indices:
        """The next points in order."""
        ahead = sum(index >= self._next for index in self._observed)
        left = self._space.size - self._next - ahead
        wanted = self._turn.open(count, left)
        stop = min(self._next + wanted + ahead, self._space.size)
        run = np.arange(self._next, stop, dtype=np.int64)
        batch = run[~np.isin(run, list(self._observed))][:wanted]
        if wanted:
            self._next = int(batch[-1]) + 1
        return batch

    def tell(self, times_us: Times) -> None:
        """Times do not change the order."""
        self._turn.close(times_us)
