"""Rules that a host tiling could hold, without asking a model at a launch.

A rule is a condition on what the host knows: sizes, transposes, alignment of rows, blocks per
core. It is chosen on two thirds of a domain's shapes, by hash of (k, n), and scored on the rest
(specification: studies.md, "Rules for the maintainer"). Where it holds, the change is made
whatever the selector says of it; elsewhere the operator's plan stays (r = 1).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from hwmodel.plan import L0cOutput, canonical_window
from hwmodel.problem import GemmProblem
from studies.hypotheses.answers import WindowEffect
from studies.hypotheses.domain import DomainShape
from studies.hypotheses.registry import H5_RULE
from studies.hypotheses.splits import LEAST_CHOOSING, LINE_BYTES, is_held_out
from studies.hypotheses.statistics import (
    LARGE,
    REFUTED_HIGH,
    RatioSample,
    cluster_of,
    round_ratio,
    summarise,
)
from studies.hypotheses.verdicts import RatioSummary

POWERS = tuple(2**power for power in range(4, 16))
"""Bounds of M, K and N that are tried: sizes come in powers of two."""
ROUNDS = (1, 2, 4, 8)
"""Bounds of blocks per core that are tried."""
CONSTANT_WINDOWS = (1, 2, 3, 5, 6, 7, 8)
"""Constants that are tried in place of the operator's 4: those that every sweep holds."""

BoolColumn = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Condition:
    """One condition: its words, and the shapes of a domain for which it holds."""

    words: str
    holds: BoolColumn


_EVERYWHERE = Condition(words="", holds=np.array(True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule with its score; ratios are 1 where it does not hold.

    Attributes:
        study: the hypothesis.
        conditions: in words, all of which must hold; empty for the whole domain.
        members: the domain's problems for which it holds, choosing and held out alike.
        choosing: the two thirds on which it was chosen.
        held_out: the other third.
        held_out_members: problems of the other third for which it holds.
    """

    study: str
    conditions: tuple[str, ...]
    members: tuple[GemmProblem, ...]
    choosing: RatioSummary
    held_out: RatioSummary
    held_out_members: int

    @property
    def is_confirmed(self) -> bool:
        """The shapes that did not choose it gain on the mean and none loses more than 5 %."""
        return self.held_out.geomean > 1.0 and self.held_out.large_losses == 0


def derive_rule(study: str, shapes: Sequence[DomainShape]) -> Rule | None:
    """The condition under which the change gains most; None where none gains without large loss.

    Every condition and every pair of them is tried, then a third one beside the best. A candidate
    must hold for `LEAST_CHOOSING` shapes that choose, lose no more than 5 % on any of them and
    gain as much on the mean as keeps a hypothesis from being refuted. Of equal gains the earlier
    candidate is taken, and fewer conditions.

    Args:
        study: `h1` to `h6`.
        shapes: its domain.
    """
    ratios = np.array([round_ratio(forced_ratio(study, shape)) for shape in shapes])
    choosing = np.array([not is_held_out(shape.row.problem) for shape in shapes], dtype=np.bool_)
    conditions = (_EVERYWHERE, *_iterate_conditions(shapes))
    best: tuple[float, tuple[Condition, ...]] = (0.0, ())
    for first, second in combinations_with_replacement(conditions, 2):
        best = _take_better(best, (first, second), ratios, choosing)
    if not best[1]:
        return None
    pair = best[1]
    for third in conditions:
        best = _take_better(best, (*pair, third), ratios, choosing)
    held = choosing | ~choosing
    for condition in best[1]:
        held = held & condition.holds
    applied = np.where(held, ratios, 1.0)
    words = dict.fromkeys(condition.words for condition in best[1] if condition.words)
    return Rule(
        study=study,
        conditions=tuple(words),
        members=tuple(s.row.problem for s, is_in in zip(shapes, held, strict=True) if is_in),
        choosing=_summarise(shapes, applied, choosing),
        held_out=_summarise(shapes, applied, ~choosing),
        held_out_members=int(np.sum(held & ~choosing)),
    )


def _take_better(
    best: tuple[float, tuple["Condition", ...]],
    conditions: tuple["Condition", ...],
    ratios: Floats,
    choosing: BoolColumn,
) -> tuple[float, tuple["Condition", ...]]:
    """The conditions with their gain if that is larger, else what was best before."""
    held = choosing
    for condition in conditions:
        held = held & condition.holds
    gain = _score(ratios, held)
    return (gain, conditions) if gain > best[0] else best


def derive_window(shapes: Sequence[DomainShape]) -> Rule | None:
    """The constant window that gains most in place of the operator's 4; None where none gains.

    Args:
        shapes: the domain of H2; those whose windows were not all judged are left out.
    """
    swept = [shape for shape in shapes if shape.answer.h2 is not None and shape.answer.h2.sweep]
    choosing = np.array([not is_held_out(shape.row.problem) for shape in swept], dtype=np.bool_)
    best: tuple[float, int, Floats] | None = None
    for window in CONSTANT_WINDOWS:
        ratios = np.array([window_ratio(shape.answer.h2, window) for shape in swept])
        gain = _score(ratios, choosing)
        if gain > 0.0 and (best is None or gain > best[0]):
            best = (gain, window, ratios)
    if best is None:
        return None
    _, window, ratios = best
    return Rule(
        study="h2",
        conditions=(f"W = {window}",),
        members=tuple(shape.row.problem for shape in swept),
        choosing=_summarise(swept, ratios, choosing),
        held_out=_summarise(swept, ratios, ~choosing),
        held_out_members=int(np.sum(~choosing)),
    )


def window_ratio(effect: WindowEffect | None, window: int) -> float:
    """Ratio r of that window, serpentine as the operator's; 1 where it was not judged."""
    if effect is None:
        return 1.0
    wanted = canonical_window(window, True, effect.m_tiles, effect.n_tiles)
    for point in effect.sweep:
        if (point.window_len, point.serpentine) == wanted:
            return effect.control.judge_us / point.judge_us
    return 1.0


def forced_ratio(study: str, shape: DomainShape) -> float:
    """Ratio r by the judge when the change is made without asking the selector where it can be.

    H1 and H2 have no other plan than the selector's choice.
    """
    answer = shape.answer
    if study == "h3" and answer.h3 is not None:
        return answer.baseline.judge_us / answer.h3.best.judge_us
    if study == "h4" and answer.h4 is not None:
        is_direct = answer.baseline.plan.l0c_output is L0cOutput.ON_THE_FLY
        return answer.h4.fixpipe_ratio if is_direct else 1.0
    if study == "h5":
        rule = answer.find(H5_RULE)
        return 1.0 if rule is None else rule.judged_ratio
    if study == "h6" and answer.h6 is not None:
        return answer.h6.vector_ratio
    return shape.comparison.judged_ratio


def _score(ratios: Floats, held: BoolColumn) -> float:
    """Sum of log r where it holds; nothing where few hold, one loses much or the mean is small.

    A mean below the one that refutes a hypothesis is no reason to change a rule.
    """
    chosen = ratios[held]
    if len(chosen) < LEAST_CHOOSING or chosen.min() < 1 / LARGE:
        return 0.0
    logs = math.fsum(np.log(chosen))
    return round_ratio(logs) if logs >= len(chosen) * math.log(REFUTED_HIGH) else 0.0


def _summarise(shapes: Sequence[DomainShape], ratios: Floats, counts: BoolColumn) -> RatioSummary:
    """Statistics of the shapes that count."""
    samples = [
        RatioSample(ratio=float(ratio), cluster=cluster_of(shape.row))
        for shape, ratio, is_in in zip(shapes, ratios, counts, strict=True)
        if is_in
    ]
    return summarise(samples, least_shapes=1)


def _iterate_conditions(shapes: Sequence[DomainShape]) -> Iterator[Condition]:
    """Every condition in words, and the shapes for which it holds; the same list for all studies.

    Simple ones first: of equal gains the first is taken.
    """
    sizes: tuple[tuple[str, Callable[[DomainShape], float], Sequence[int]], ...] = (
        ("K", lambda shape: shape.row.problem.k, POWERS),
        ("M", lambda shape: shape.row.problem.m, (1, *POWERS)),
        ("N", lambda shape: shape.row.problem.n, (1, *POWERS)),
        ("blocks per core", _count_rounds, ROUNDS),
    )
    flags: tuple[tuple[tuple[str, str], Callable[[DomainShape], bool]], ...] = (
        (("rows of C are whole 128-byte lines", "rows of C are not whole lines"), _has_lines),
        (("B is transposed", "B is not transposed"), lambda shape: shape.row.problem.trans_b),
        (("A is transposed", "A is not transposed"), lambda shape: shape.row.problem.trans_a),
    )
    for (name, measure, bounds), is_upper in product(sizes, (True, False)):
        values = np.array([float(measure(shape)) for shape in shapes])
        for bound in bounds:
            column = values <= bound if is_upper else values > bound
            yield Condition(words=f"{name} {'<=' if is_upper else '>'} {bound}", holds=column)
    for (yes, no), flag in flags:
        holds = np.array([flag(shape) for shape in shapes], dtype=np.bool_)
        yield Condition(words=yes, holds=holds)
        yield Condition(words=no, holds=~holds)


def _count_rounds(shape: DomainShape) -> float:
    """Blocks of the operator's plan for each of its cores."""
    plan, problem = shape.answer.baseline.plan, shape.row.problem
    return plan.m_tiles(problem) * plan.n_tiles(problem) / plan.used_core_num


def _has_lines(shape: DomainShape) -> bool:
    """Rows of C are whole lines."""
    problem = shape.row.problem
    return problem.n * problem.out_dtype.size_bytes % LINE_BYTES == 0
