"""The plans of the vector kernels on which the pipeline model is compared with the emulator.

TO_MUL, in fp32 and in 16 bit: random points of the space's vector cells and the operator's own
tile, on matrix-vector products from small to large. TO_MULTI_MUL: the operator's own plans.
"""

from collections.abc import Iterator
from random import Random

import numpy as np

from baseline.decision import decide
from hwmodel.dtypes import DType, OpImplMode
from hwmodel.emulator.vector_setup import count_vector_events
from hwmodel.integers import align_up
from hwmodel.plan import KernelPlan, Template, canonical_plan
from hwmodel.plan_batch import TEMPLATE_CODES
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.space import build_space
from tests.bench.agreement_samples import MAX_PLAN_EVENTS, PLANS_PER_PROBLEM, Sample

VECTOR_GROUPS = ("vector", "to_multi_mul")
"""Vector templates by name."""

LENGTHS = {"small": (16, 700), "mid": (256, 9000), "large": (4096, 140_000)}
"""Least and greatest number of outputs of a matrix-vector product."""

DEPTHS = {"small": (16, 2000), "mid": (128, 8000), "large": (512, 20_000)}
"""Least and greatest K."""

MOST_ROWS = {"small": 64, "mid": 700, "large": 2500}
"""Greatest M and N of TO_MULTI_MUL."""

MULTI_MUL_DEPTHS = (32, 3000)
"""Least and greatest K of TO_MULTI_MUL."""


def vector_samples(spec: HardwareSpec, group: str, *, plans: int, seed: int) -> Iterator[Sample]:
    """At least `plans` plans of a vector template, sizes in turn."""
    random = Random(f"{group}-{seed}")
    sizes, found, number = tuple(LENGTHS), 0, 0
    while found < plans:
        size = sizes[number % len(sizes)]
        number += 1
        if group == "vector":
            problem = _draw_row_or_column(random, size)
            chosen = _draw_tiles(random, problem, spec)
        else:
            problem = _draw_products(random, size)
            chosen = (decide(problem, spec).plan,)
            if chosen[0].template is not Template.TO_MULTI_MUL:
                continue
        chosen = tuple(
            one for one in chosen if count_vector_events(problem, one) < MAX_PLAN_EVENTS
        )
        found += len(chosen)
        if chosen:
            yield Sample(name=group, problem=problem, plans=chosen, halves=(size,) * len(chosen))


def _draw_length(random: Random, low: int, high: int) -> int:
    """Log-uniform, half of the time aligned."""
    drawn = round(low * (high / low) ** random.random())
    return align_up(drawn, random.choice((1, 1, 16, 128)))


def _draw_row_or_column(random: Random, size: str) -> GemmProblem:
    """A problem with M = 1 or N = 1, mostly in 16 bit, sometimes with a bias."""
    length, depth = (_draw_length(random, *table[size]) for table in (LENGTHS, DEPTHS))
    is_row = random.random() < 1 / 2
    dtype = random.choice((DType.BF16, DType.FP16, DType.FP32))
    return GemmProblem(
        m=1 if is_row else length,
        k=depth,
        n=length if is_row else 1,
        trans_a=random.random() < 1 / 2,
        trans_b=random.random() < 1 / 2,
        dtype=dtype,
        out_dtype=random.choice((dtype, dtype, DType.FP32)),
        bias_dtype=random.choice((None, None, None, DType.FP32)),
    )


def _draw_tiles(
    random: Random, problem: GemmProblem, spec: HardwareSpec
) -> tuple[KernelPlan, ...]:
    """The operator's tile and points of the whole space, each equally likely."""
    baseline = canonical_plan(problem, decide(problem, spec).plan)
    own = build_space(problem, spec, baseline, quick=True, name="all")
    whole = build_space(problem, spec, baseline, name="all", max_points=None)
    code = TEMPLATE_CODES[Template.VECTOR]
    first = own.plan(int(own.ends[own.template == code][0]) - 1)
    # A vector cell has one point, the last one that `ends` counts up to it.
    points = whole.ends[whole.template == code] - 1
    drawn = np.array([random.choice(points) for _ in range(PLANS_PER_PROBLEM - 1)])
    batch = whole.plans(drawn)
    return first, *(batch.plan(place) for place in range(len(batch)))


def _draw_products(random: Random, size: str) -> GemmProblem:
    """A problem for TO_MULTI_MUL: fp32, high precision, K contiguous in A and B."""
    most = MOST_ROWS[size]
    return GemmProblem(
        m=random.randint(2, most),
        k=_draw_length(random, *MULTI_MUL_DEPTHS),
        n=random.randint(2, most),
        trans_b=True,
        dtype=DType.FP32,
        out_dtype=DType.FP32,
        op_impl_mode=OpImplMode.HIGH_PRECISION,
    )
