"""Choosing the strategy (specification: host-tiling.md, section 2).

The strategies are asked in the operator's order and the first capable one wins. BASE is not among
them; it runs only on request. A and C are always contiguous here.

After every strategy the original cuts base_n to max(bias table bytes, 256) when there is a bias.
With a bias no base_n exceeds an eighth of the bias table, or 256 in stream-K, so the cut never
binds and is left out.
"""

from enum import StrEnum
from typing import Final

from baseline.platform import Platform
from baseline.steps import Recorder
from baseline.stream_k import find_stream_k_obstacle, stream_k_figures
from baseline.vector import find_to_mul_obstacle, find_to_multi_mul_obstacle
from hwmodel.problem import GemmProblem


class Strategy(StrEnum):
    """The operator's tiling strategies, by the vendor's names."""

    K_EQUAL_ZERO = "K_EQUAL_ZERO"
    TO_MUL = "TO_MUL"
    TO_MULTI_MUL = "TO_MULTI_MUL"
    BASIC_STREAM_K = "BASIC_STREAM_K"
    BASIC_ASWT = "BASIC_ASWT"
    BASE = "BASE"


TOPIC: Final = "strategy"


def select_strategy(
    problem: GemmProblem, platform: Platform, recorder: Recorder | None
) -> Strategy:
    """The first strategy, in the operator's order, that is capable of the problem."""
    # The validation has refused a bias with K = 0 before.
    if problem.k == 0:
        return _accept(Strategy.K_EQUAL_ZERO, recorder)
    if recorder is not None:
        recorder.add(TOPIC, f"{Strategy.K_EQUAL_ZERO} refused: K is not 0", k=problem.k)
    obstacle = find_to_mul_obstacle(problem)
    if not obstacle:
        return _accept(Strategy.TO_MUL, recorder)
    if recorder is not None:
        recorder.add(TOPIC, f"{Strategy.TO_MUL} refused: {obstacle}", m=problem.m, n=problem.n)
    obstacle = find_to_multi_mul_obstacle(problem)
    if not obstacle:
        return _accept(Strategy.TO_MULTI_MUL, recorder)
    if recorder is not None:
        recorder.add(TOPIC, f"{Strategy.TO_MULTI_MUL} refused: {obstacle}")
    obstacle = find_stream_k_obstacle(problem, platform)
    if not obstacle:
        return _accept(Strategy.BASIC_STREAM_K, recorder)
    if recorder is not None:
        figures = stream_k_figures(problem, platform)
        recorder.add(TOPIC, f"{Strategy.BASIC_STREAM_K} refused: {obstacle}", **figures)
    return _accept(Strategy.BASIC_ASWT, recorder)


def _accept(strategy: Strategy, recorder: Recorder | None) -> Strategy:
    """Note the choice and return it."""
    if recorder is not None:
        recorder.add(TOPIC, f"{strategy} chosen")
    return strategy
