"""How `prior` chooses: first points, expected improvement, large spaces, rankings, purity."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from studies.strategies import prior_search, surrogate
from studies.strategies.points import FactorColumns, FloatArray, Indices, UnitScale
from studies.strategies.prior_search import Evaluation, ExhaustedError, PriorSearch
from studies.strategies.surrogate import choose_warp, fit_surrogate


class Boxes:
    """All points of a small product, for tests."""

    names = ("size", "flag", "fixed", "steps")

    def __init__(self, sizes: int = 6, steps: int = 10) -> None:
        factors = product([16 * 2**i for i in range(sizes)], (0, 1), (7,), range(1, steps + 1))
        self.table = np.array(list(factors), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def values(self) -> tuple[Indices, ...]:
        return tuple(np.unique(column) for column in self.table.T)

    def factors(self, indices: Indices) -> FactorColumns:
        return self.table[indices]

    def neighbours(self, index: int) -> Indices:
        return np.flatnonzero((self.table != self.table[index]).sum(axis=1) == 1).astype(np.int64)

    def times(self) -> FloatArray:
        size, flag, _, steps = self.table.T
        scatter = np.random.default_rng(5).uniform(0.98, 1.02, len(self))
        times: FloatArray = (1.0 + np.abs(np.log2(size / 64)) + 0.3 * flag + 5 / steps) * scatter
        return times


SPACE = Boxes()
TIMES = SPACE.times()


def play(search: PriorSearch, count: int, times: FloatArray = TIMES) -> list[Evaluation]:
    history: list[Evaluation] = []
    for _ in range(count):
        index = search.choose(history, ())
        history.append(Evaluation(index=index, value=float(times[index])))
    return history


def indices_of(history: Sequence[Evaluation]) -> list[int]:
    return [item.index for item in history]


def test_scaled_factors_are_logarithmic_and_leave_out_what_is_constant() -> None:
    x = UnitScale(SPACE).coordinates(np.arange(len(SPACE)))
    assert x.shape == (120, 3)
    assert (x.min(), x.max()) == (0.0, 1.0)
    assert set(np.round(np.unique(x[:, 0]) * 5, 9)) == set(range(6))
    assert set(x[:, 1]) == {0.0, 1.0}


def test_it_finds_the_best_in_a_fraction_of_the_space() -> None:
    found = [
        indices_of(play(PriorSearch(SPACE, seed), 40)).index(int(TIMES.argmin()))
        for seed in range(3)
    ]
    assert max(found) < 40


def test_a_choice_depends_on_seed_and_evaluations_alone() -> None:
    history = play(PriorSearch(SPACE, 1), 25)
    for count in (0, 5, 13, 24):
        assert PriorSearch(SPACE, 1).choose(history[:count], ()) == history[count].index
    assert indices_of(play(PriorSearch(SPACE, 2), 5)) != indices_of(history[:5])


def test_first_points_are_far_from_each_other() -> None:
    first = np.array(indices_of(play(PriorSearch(SPACE, 1), 4)))
    x = UnitScale(SPACE).coordinates(first)
    apart = np.abs(x[:, None] - x[None]).sum(axis=2)
    assert apart[np.triu_indices(4, 1)].min() >= 1.0


def test_pending_and_failed_points_are_left_alone() -> None:
    search = PriorSearch(SPACE, 1)
    history = play(search, 20)
    chosen = search.choose(history, ())
    other = search.choose(history, (chosen,))
    assert other != chosen
    assert search.choose(history, (), {chosen}) not in {chosen, *indices_of(history)}
    everything = range(len(SPACE))
    assert search.choose([], [i for i in everything if i != 77]) == 77
    with pytest.raises(ExhaustedError, match="all 120 points are taken"):
        search.choose([], list(everything))


def test_all_candidates_may_be_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prior_search, "_CANDIDATES", 3)
    search = PriorSearch(SPACE, 1)
    history = play(search, 20)
    pending: list[int] = []
    for _ in range(5):
        pending.append(search.choose(history, pending))
    assert len({*pending, *indices_of(history)}) == 25


def test_a_ranking_is_where_it_starts() -> None:
    search = PriorSearch(SPACE, 1, ranking=TIMES * 1.1)
    history = play(search, 3)
    assert history[0].index == int(TIMES.argmin())


def test_a_ranking_that_is_wrong_is_corrected() -> None:
    misled = TIMES * (1.0 + SPACE.table[:, 3] / 3.0) ** 2
    order = np.argsort(misled)
    rank = int(np.flatnonzero(order == TIMES.argmin())[0])
    history = play(PriorSearch(SPACE, 1, ranking=misled), rank)
    assert rank > 20
    assert int(TIMES.argmin()) in indices_of(history)


@pytest.mark.parametrize("ranked", [False, True])
def test_large_spaces_are_searched_from_samples(
    monkeypatch: pytest.MonkeyPatch, ranked: bool
) -> None:
    monkeypatch.setattr(prior_search, "SCREENED_COMPLETELY", 50)
    monkeypatch.setattr(prior_search, "_SCREENED_SAMPLE", 20)
    monkeypatch.setattr(prior_search, "_CHUNK", 16)
    ranking = np.roll(TIMES, 1) if ranked else None
    history = play(PriorSearch(SPACE, 1, ranking), 45)
    assert len(set(indices_of(history))) == 45
    assert min(item.value for item in history) <= 1.05 * TIMES.min()


def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = indices_of(play(PriorSearch(SPACE, 4), 25))
    monkeypatch.setattr(prior_search, "_CHUNK", 7)
    assert indices_of(play(PriorSearch(SPACE, 4), 25)) == expected


def test_long_histories_are_thinned_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surrogate, "_FIT_POINTS", 10)
    monkeypatch.setattr(surrogate, "_MODEL_POINTS", 14)
    history = play(PriorSearch(SPACE, 1), 40)
    assert len(set(indices_of(history))) == 40
    kept = surrogate._spread_by_value(np.array([5.0, 1.0, 9.0, 2.0, 8.0]), 4)
    assert kept.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("times", [np.full(120, 3.0), TIMES - 5.0], ids=["equal", "negative"])
def test_any_values_will_do(times: FloatArray) -> None:
    history = play(PriorSearch(SPACE, 1), 20, times)
    assert len(set(indices_of(history))) == 20


def test_a_warp_compresses_the_worse_half() -> None:
    values = np.exp(np.array([0.0, 1.0, 2.0, 3.0, 9.0]))
    warped = choose_warp(values, compress=True)(values)
    np.testing.assert_allclose(warped[:3], [0.0, 1.0, 2.0])
    np.testing.assert_allclose(warped[3:], [2 + 2 * np.log(1.5), 2 + 2 * np.log(4.5)])
    np.testing.assert_allclose(choose_warp(values, compress=False)(values), np.log(values))


def test_improvement_is_the_expected_one() -> None:
    u = np.linspace(-5.5, 5.0, 50)
    expected = np.log(u * norm.cdf(u) + norm.pdf(u))
    np.testing.assert_allclose(surrogate._log_gain(u), expected, rtol=1e-6)
    far = surrogate._log_gain(np.array([-6.0 + 1e-9, -6.0 - 1e-9, -50.0]))
    assert far[0] == pytest.approx(far[1], abs=0.1)
    assert far[1] > far[2] > -np.inf


def test_the_model_of_a_single_evaluation_expects_the_same_everywhere_but_there() -> None:
    sample = surrogate.Sample(x=np.array([[0.5]]), values=np.array([3.0]), offset=np.zeros(1))
    fitted = fit_surrogate(sample, ranked=False)
    assert fitted.centre == pytest.approx(np.log(3.0))
    assert fitted.scale == 1.0
