"""How `prior` chooses the next point.

The first points are spread over the space, or with a ranking the one it puts first. Then it is
always the free point of which the surrogate (`surrogate`) expects the largest improvement. Nothing
is kept from call to call but what could be computed anew: a choice depends on the seed and on the
evaluations in their order alone. So a search that is resumed goes on as if never interrupted.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from studies.strategies.gaussian_process import FactorRows
from studies.strategies.points import FloatArray, Indices, PointSpace, UnitScale
from studies.strategies.surrogate import Expectation, Sample, Surrogate, fit_surrogate

SPREAD_POINTS = 12
"""Points spread over the space before the surrogate is asked."""
_SPREAD_AMONG = 2000
"""Points that these are chosen from."""

_REFIT_SHARE = 15
"""The surrogate is fitted anew when the evaluations have grown by one in so many."""

SCREENED_COMPLETELY = 100_000
"""Spaces up to this size are screened completely at every fit."""
_SCREENED_SAMPLE = 15_000
"""Points of a larger space that are screened: so many drawn once, and the ranking's best."""
_SCREENED_AROUND = 8
"""The best evaluated points, whose neighbours are screened in a larger space."""
_CHUNK = 8192
"""Points screened at once, for the memory's sake."""
_CANDIDATES = 500
"""Most promising points of a screening; the next are chosen among them until the next fit."""


class ExhaustedError(ValueError):
    """Every point of the space is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A point and its value, the less the better."""

    index: int
    value: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Fit:
    """A surrogate, the evaluations it was fitted to, and the points it expects most of."""

    history: tuple[Evaluation, ...]
    surrogate: Surrogate
    candidates: Indices
    rows: FactorRows


class PriorSearch:
    """Chooses among the points 0 .. n - 1 of a space."""

    def __init__(self, space: PointSpace, seed: int, ranking: FloatArray | None = None) -> None:
        """`ranking` holds a positive prediction for every point of the space, if there is one."""
        self._size = len(space)
        self._space = space
        self._scale = UnitScale(space)
        self._ranking = None if ranking is None else np.log(ranking)
        rng = np.random.default_rng(seed)
        self._first = self._spread(rng) if ranking is None else (int(np.argmin(ranking)),)
        self._sample = self._select_sample(rng)
        self._sampled: list[tuple[Indices, FactorRows]] = []
        self._fit: _Fit | None = None

    def choose(
        self, history: Sequence[Evaluation], pending: Sequence[int], failed: Collection[int] = ()
    ) -> int:
        """The point to evaluate next.

        Args:
            history: evaluated points, in the order of their evaluation.
            pending: points whose evaluation has not ended.
            failed: points that could not be evaluated.

        Raises:
            ExhaustedError: there is no point left.
        """
        taken = {item.index for item in history}.union(pending, failed)
        if len(taken) >= self._size:
            raise ExhaustedError(f"all {self._size} points are taken")
        chosen = None
        if not history or len(taken) < len(self._first):
            chosen = next((index for index in self._first if index not in taken), None)
        if chosen is None and history:
            chosen = self._most_promising(tuple(history), pending, taken)
        if chosen is None:
            chosen = next(index for index in range(self._size) if index not in taken)
        return chosen

    def _most_promising(
        self, history: tuple[Evaluation, ...], pending: Sequence[int], taken: Collection[int]
    ) -> int | None:
        """The free candidate of the largest expected improvement; None where none is free."""
        fit = self._refresh(history[: _last_fit(len(history))])
        free = np.array([index not in taken for index in fit.candidates.tolist()], dtype=np.bool_)
        if not free.any():
            return None
        later = np.arange(len(fit.history), len(history))
        known = self._sample_of(history).select(np.concatenate([fit.surrogate.kept, later]))
        expectation = fit.surrogate.expect(known, self._pending_of(pending))
        worth = expectation.log_improvement(fit.rows, self._offset(fit.candidates))
        return int(fit.candidates[int(np.argmax(np.where(free, worth, -np.inf)))])

    def _refresh(self, history: tuple[Evaluation, ...]) -> _Fit:
        """The fit to this history."""
        if self._fit is None or self._fit.history != history:
            sample = self._sample_of(history)
            surrogate = fit_surrogate(sample, ranked=self._ranking is not None)
            expectation = surrogate.expect(sample.select(surrogate.kept), self._pending_of(()))
            candidates = self._screen(history, expectation)
            rows = FactorRows(self._scale.coordinates(candidates))
            self._fit = _Fit(
                history=history, surrogate=surrogate, candidates=candidates, rows=rows
            )
        return self._fit

    def _screen(self, history: tuple[Evaluation, ...], expectation: Expectation) -> Indices:
        """The most promising points that were not evaluated, ascending."""
        evaluated = np.array([item.index for item in history], dtype=np.int64)
        best = np.zeros(0, dtype=np.int64)
        best_worth = np.zeros(0)
        for indices, rows in self._chunks(history):
            worth = expectation.log_improvement(rows, self._offset(indices))
            fresh = ~np.isin(indices, evaluated)
            best = np.concatenate([best, indices[fresh]])
            best_worth = np.concatenate([best_worth, worth[fresh]])
            if len(best) > _CANDIDATES:
                order = np.lexsort((best, -best_worth))[:_CANDIDATES]
                best, best_worth = best[order], best_worth[order]
        return np.sort(best)

    def _chunks(self, history: tuple[Evaluation, ...]) -> Iterator[tuple[Indices, FactorRows]]:
        """The points to screen, in pieces: all, or a sample and those around the best so far."""
        if not self._sampled:
            self._sampled = list(self._prepare(self._sample))
        yield from self._sampled
        if len(self._sample) < self._size:
            nearest = sorted(history, key=lambda item: (item.value, item.index))
            around = [self._space.neighbours(item.index) for item in nearest[:_SCREENED_AROUND]]
            yield from self._prepare(np.setdiff1d(np.concatenate(around), self._sample))

    def _select_sample(self, rng: np.random.Generator) -> Indices:
        """All points, or of a large space some drawn ones and the ranking's best."""
        if self._size <= SCREENED_COMPLETELY:
            return np.arange(self._size, dtype=np.int64)
        drawn = _draw(rng, self._size, _SCREENED_SAMPLE)
        if self._ranking is None:
            return np.sort(drawn)
        return np.union1d(drawn, _least(self._ranking, _SCREENED_SAMPLE))

    def _prepare(self, indices: Indices) -> Iterator[tuple[Indices, FactorRows]]:
        for start in range(0, len(indices), _CHUNK):
            chunk = indices[start : start + _CHUNK]
            yield chunk, FactorRows(self._scale.coordinates(chunk))

    def _spread(self, rng: np.random.Generator) -> tuple[int, ...]:
        """Points far from each other: each is the farthest from those before it."""
        among = _draw(rng, self._size, _SPREAD_AMONG)
        x = self._scale.coordinates(among)
        chosen = [int(rng.integers(len(among)))]
        distance = np.abs(x - x[chosen[0]]).sum(axis=1)
        while len(chosen) < min(SPREAD_POINTS, len(among)):
            chosen.append(int(np.argmax(distance)))
            distance = np.minimum(distance, np.abs(x - x[chosen[-1]]).sum(axis=1))
        return tuple(int(among[row]) for row in chosen)

    def _sample_of(self, history: tuple[Evaluation, ...]) -> Sample:
        indices = np.array([item.index for item in history], dtype=np.int64)
        return Sample(
            x=self._scale.coordinates(indices),
            values=np.array([item.value for item in history]),
            offset=self._offset(indices),
        )

    def _pending_of(self, pending: Sequence[int]) -> Sample:
        indices = np.array(pending, dtype=np.int64)
        return Sample(
            x=self._scale.coordinates(indices),
            values=np.zeros(len(indices)),
            offset=self._offset(indices),
        )

    def _offset(self, indices: Indices) -> FloatArray:
        """Logarithms of the ranking's predictions."""
        return np.zeros(len(indices)) if self._ranking is None else self._ranking[indices]


def _last_fit(count: int) -> int:
    """The number of evaluations at which the surrogate was last fitted, of `count`."""
    fitted = 1
    while (following := fitted + max(1, fitted // _REFIT_SHARE)) <= count:
        fitted = following
    return fitted


def _draw(rng: np.random.Generator, size: int, most: int) -> Indices:
    """At most `most` different points, drawn uniformly."""
    return np.asarray(rng.choice(size, size=min(most, size), replace=False), dtype=np.int64)


def _least(values: FloatArray, count: int) -> Indices:
    """Numbers of the `count` least values of more, the earlier first where they are equal."""
    cutoff = np.partition(values, count - 1)[count - 1]
    below, equal = np.flatnonzero(values < cutoff), np.flatnonzero(values == cutoff)
    return np.concatenate([below, equal[: count - len(below)]]).astype(np.int64)
