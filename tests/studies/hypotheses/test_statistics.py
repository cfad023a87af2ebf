"""Votes, intervals and verdicts on ratios whose answer is known."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodel.problem import GemmProblem
from studies.hypotheses.statistics import (
    LEAST_SHAPES,
    RatioSample,
    bootstrap_interval,
    cluster_of,
    geometric_mean,
    round_ratio,
    summarise,
)
from studies.hypotheses.verdicts import Verdict
from studies.shape_rows import ShapeRow


def sample(*ratios: float, cluster_size: int = 1) -> list[RatioSample]:
    return [
        RatioSample(ratio=ratio, cluster=("model", str(place // cluster_size)))
        for place, ratio in enumerate(ratios)
    ]


def verdict(*ratios: float) -> Verdict:
    return summarise(sample(*ratios)).verdict


def test_votes_are_counted_at_one_and_at_five_percent() -> None:
    summary = summarise(sample(1.2, 1.05, 1.01, 1.0, 0.995, 0.97, 0.9))
    assert (summary.wins, summary.ties, summary.losses) == (2, 3, 2)
    assert (summary.large_wins, summary.large_losses) == (1, 1)
    assert (summary.best, summary.worst) == (1.2, 0.9)


def test_ratios_are_compared_rounded_to_six_digits() -> None:
    assert round_ratio(1.0100000049) == 1.01
    assert summarise(sample(1.0100000049)).wins == 0
    assert summarise(sample(1.010006)).wins == 1


def test_equal_ratios_have_an_interval_without_width() -> None:
    assert bootstrap_interval(sample(*[1.0] * 9)) == (1.0, 1.0)
    assert bootstrap_interval(sample(*[1.03] * 9)) == (1.03, 1.03)


def test_one_cluster_has_no_interval() -> None:
    assert bootstrap_interval(sample(1.0, 1.1, 1.2, cluster_size=3)) is None
    assert bootstrap_interval([]) is None


def test_the_interval_holds_the_mean_and_is_the_same_again() -> None:
    ratios = [1.0 + 0.01 * place for place in range(30)]
    interval = bootstrap_interval(sample(*ratios))
    assert interval is not None
    assert interval[0] < geometric_mean(ratios) < interval[1]
    assert bootstrap_interval(sample(*ratios)) == interval


def test_shapes_of_a_cluster_are_resampled_together() -> None:
    ratios = [1.0] * 20 + [1.1] * 20
    alone = bootstrap_interval(sample(*ratios))
    together = bootstrap_interval(sample(*ratios, cluster_size=10))
    assert alone is not None
    assert together is not None
    assert together[1] - together[0] > 2 * (alone[1] - alone[0])


def test_fewer_than_twenty_shapes_are_not_tested() -> None:
    assert LEAST_SHAPES == 20
    assert verdict(*[1.5] * 19) is Verdict.NOT_TESTED
    assert verdict(*[1.5] * 20) is Verdict.SUPPORTED
    assert summarise(sample(*[1.5] * 8), least_shapes=8).verdict is Verdict.SUPPORTED
    assert verdict() is Verdict.NOT_TESTED


def test_supported_by_the_interval_or_by_five_percent_of_large_gains() -> None:
    assert verdict(*[1.02] * 40) is Verdict.SUPPORTED
    assert verdict(*[1.0] * 38, 1.06, 1.07) is Verdict.SUPPORTED
    assert verdict(*[1.0] * 39, 1.06) is Verdict.MIXED


def test_losses_stand_against_support() -> None:
    assert verdict(*[1.02] * 49, 0.98) is Verdict.SUPPORTED
    assert verdict(*[1.02] * 48, 0.98, 0.98) is Verdict.MIXED
    assert verdict(*[1.02] * 49, 0.95) is Verdict.MIXED


def test_refuted_when_nothing_is_gained() -> None:
    assert verdict(*[1.0] * 40) is Verdict.REFUTED
    assert verdict(*[1.0] * 39, 0.5) is Verdict.REFUTED
    assert verdict(*[1.007] * 40) is Verdict.MIXED
    assert verdict(*[1.0] * 139, 1.06) is Verdict.REFUTED
    assert verdict(*[1.0] * 99, 1.06) is Verdict.MIXED


def test_without_an_interval_only_large_gains_count() -> None:
    def of_one_cluster(ratio: float) -> Verdict:
        return summarise(sample(*[ratio] * 30, cluster_size=30)).verdict

    assert of_one_cluster(1.2) is Verdict.SUPPORTED
    assert of_one_cluster(1.02) is Verdict.MIXED
    assert of_one_cluster(1.0) is Verdict.MIXED


def test_the_cluster_is_the_layer_or_else_the_weight() -> None:
    problem = GemmProblem(m=1, k=2, n=3)
    of_model = ShapeRow(index=0, name="x", problem=problem, model="a", layer="qkv")
    assert cluster_of(of_model) == ("a", "qkv")
    assert cluster_of(ShapeRow(index=0, name="x", problem=problem)) == ("2", "3")


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.lists(st.floats(0.5, 2.0), min_size=1, max_size=20))
def test_the_mean_lies_between_the_extremes(ratios: list[float]) -> None:
    mean = geometric_mean(ratios)
    assert min(ratios) * (1 - 1e-9) <= mean <= max(ratios) * (1 + 1e-9)
    assert geometric_mean(ratios, [2.0] * len(ratios)) == pytest.approx(mean)


def test_means_by_weight() -> None:
    assert geometric_mean([4.0, 1.0], [1.0, 1.0]) == pytest.approx(2.0)
    assert geometric_mean([4.0, 1.0], [0.0, 3.0]) == 1.0
    assert geometric_mean([], []) == 1.0
    assert math.isclose(geometric_mean([8.0, 1.0], [1.0, 2.0]), 2.0)
