"""The pipeline model over a batch of plans, several of them in each step of the processor.

The closed form is straight-line arithmetic, so a loop over plans of one kind compiles to vector
instructions: eight plans go through it at a time, and none waits for the guess which way a branch
goes. Rows come in any order of templates; they are dealt out to lanes, one set for each kind of
kernel, and a set that is full is computed. A plan's result is bit for bit that of
`plan_costs.estimate_plan`, whose functions the loops run.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.plan_costs import (
    Model,
    PlanColumns,
    PlanRow,
    estimate_resident_plan,
    estimate_vector_plan,
    estimate_walk_plan,
    read_row,
)
from hwmodel.cost.terms import ChipRates, ProblemTerms
from hwmodel.jit import inline, jit
from hwmodel.plan import Template

LANES = 128
"""Plans of a set: all its columns fit in the first level of a processor's cache."""

SET_SIZE = LANES * len(PlanRow._fields)
"""Numbers of a set: lanes of the first field, then of the next one."""

PLACES = PlanRow(*range(0, SET_SIZE, LANES))
"""Where the lanes of each field begin in a set."""

KINDS = 5
WALK, MIRRORED_WALK, RESIDENT, MIRRORED_RESIDENT, VECTOR_CORES = range(KINDS)

_KIND_OF_TEMPLATE = {
    Template.B_PANEL: MIRRORED_WALK,
    Template.A_FULL: RESIDENT,
    Template.A_PARTIAL: RESIDENT,
    Template.B_FULL: MIRRORED_RESIDENT,
    Template.B_PARTIAL: MIRRORED_RESIDENT,
    Template.VECTOR: VECTOR_CORES,
    Template.TO_MULTI_MUL: VECTOR_CORES,
    Template.K_EQUAL_ZERO: VECTOR_CORES,
}

KIND_OF_CODE = np.array([_KIND_OF_TEMPLATE.get(template, WALK) for template in Template])
"""The kind of kernel by a template's code."""


class Lanes(NamedTuple):
    """Room for one set of plans of each kind.

    Attributes:
        fields: the plans, shape (KINDS * SET_SIZE,): a set of each kind.
        rows: the rows that they came from, shape (KINDS, LANES).
        counts: how many there are, shape (KINDS,).
        cycles: results of the set at work, shape (LANES,).
    """

    fields: NDArray[np.int64]
    rows: NDArray[np.int64]
    counts: NDArray[np.int64]
    cycles: NDArray[np.float64]


def build_lanes() -> Lanes:
    """Empty lanes."""
    return Lanes(
        fields=np.zeros(KINDS * SET_SIZE, dtype=np.int64),
        rows=np.zeros((KINDS, LANES), dtype=np.int64),
        counts=np.zeros(KINDS, dtype=np.int64),
        cycles=np.zeros(LANES),
    )


def estimate_batch(model: Model, plans: PlanColumns, cycles: NDArray[np.float64]) -> None:
    """Fill `cycles` with the predicted time of every row."""
    estimate_rows(model, plans, build_lanes(), cycles)


@jit
def estimate_rows(
    model: Model, plans: PlanColumns, lanes: Lanes, cycles: NDArray[np.float64]
) -> None:
    """Fill `cycles` with the predicted time of every row; `lanes` are empty."""
    for row in range(len(cycles)):
        kind = KIND_OF_CODE[plans.template[row]]
        if kind == VECTOR_CORES:
            cycles[row] = estimate_vector_plan(model, read_row(plans, row)).total
            continue
        lane = lanes.counts[kind]
        write_lane(lanes.fields, kind * SET_SIZE + lane, read_row(plans, row))
        lanes.rows[kind, lane] = row
        lanes.counts[kind] = lane + 1
        if lane + 1 == LANES:
            estimate_lanes(model, lanes, kind, cycles)
    for kind in range(KINDS):
        if lanes.counts[kind] > 0:
            estimate_lanes(model, lanes, kind, cycles)


@jit
def estimate_lanes(model: Model, lanes: Lanes, kind: int, cycles: NDArray[np.float64]) -> None:
    """Compute a set, write the results to the rows of its plans, and empty it."""
    count = lanes.counts[kind]
    start = kind * SET_SIZE
    is_mirrored = kind in (MIRRORED_WALK, MIRRORED_RESIDENT)
    terms = model.mirrored if is_mirrored else model.terms
    if kind in (WALK, MIRRORED_WALK):
        estimate_walks(model.chip, terms, lanes.fields, start, count, lanes.cycles)
    else:
        estimate_residents(model.chip, terms, lanes.fields, start, count, lanes.cycles)
    for lane in range(count):
        cycles[lanes.rows[kind, lane]] = lanes.cycles[lane]
    lanes.counts[kind] = 0


@jit
def estimate_walks(
    chip: ChipRates,
    terms: ProblemTerms,
    fields: NDArray[np.int64],
    start: int,
    count: int,
    cycles: NDArray[np.float64],
) -> None:
    """Fill `cycles` for kernels that walk a grid of blocks."""
    for lane in range(count):
        cycles[lane] = estimate_walk_plan(chip, terms, read_lane(fields, start + lane)).total


@jit
def estimate_residents(
    chip: ChipRates,
    terms: ProblemTerms,
    fields: NDArray[np.int64],
    start: int,
    count: int,
    cycles: NDArray[np.float64],
) -> None:
    """Fill `cycles` for kernels that keep an operand in L1."""
    for lane in range(count):
        cycles[lane] = estimate_resident_plan(chip, terms, read_lane(fields, start + lane)).total


@inline
def write_lane(fields: NDArray[np.int64], lane: int, plan: PlanRow) -> None:
    """Keep a plan; `lane` is the place of its first field."""
    fields[lane + PLACES.template] = plan.template
    fields[lane + PLACES.base_m] = plan.base_m
    fields[lane + PLACES.base_n] = plan.base_n
    fields[lane + PLACES.base_k] = plan.base_k
    fields[lane + PLACES.step_k] = plan.step_k
    fields[lane + PLACES.l1_buffer_num] = plan.l1_buffer_num
    fields[lane + PLACES.resident_slabs] = plan.resident_slabs
    fields[lane + PLACES.db_l0c] = plan.db_l0c
    fields[lane + PLACES.ub_db] = plan.ub_db
    fields[lane + PLACES.l0c_output] = plan.l0c_output
    fields[lane + PLACES.window_len] = plan.window_len
    fields[lane + PLACES.serpentine] = plan.serpentine
    fields[lane + PLACES.m_tail_cnt] = plan.m_tail_cnt
    fields[lane + PLACES.n_tail_cnt] = plan.n_tail_cnt
    fields[lane + PLACES.single_core_k] = plan.single_core_k
    fields[lane + PLACES.sk_order] = plan.sk_order
    fields[lane + PLACES.used_core_num] = plan.used_core_num


@inline
def read_lane(fields: NDArray[np.int64], lane: int) -> PlanRow:
    """The plan whose first field is at that place."""
    return PlanRow(
        template=fields[lane + PLACES.template],
        base_m=fields[lane + PLACES.base_m],
        base_n=fields[lane + PLACES.base_n],
        base_k=fields[lane + PLACES.base_k],
        step_k=fields[lane + PLACES.step_k],
        l1_buffer_num=fields[lane + PLACES.l1_buffer_num],
        resident_slabs=fields[lane + PLACES.resident_slabs],
        db_l0c=fields[lane + PLACES.db_l0c],
        ub_db=fields[lane + PLACES.ub_db],
        l0c_output=fields[lane + PLACES.l0c_output],
        window_len=fields[lane + PLACES.window_len],
        serpentine=fields[lane + PLACES.serpentine],
        m_tail_cnt=fields[lane + PLACES.m_tail_cnt],
        n_tail_cnt=fields[lane + PLACES.n_tail_cnt],
        single_core_k=fields[lane + PLACES.single_core_k],
        sk_order=fields[lane + PLACES.sk_order],
        used_core_num=fields[lane + PLACES.used_core_num],
    )
