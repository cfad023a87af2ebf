"""Closed forms of the kernels on vector cores: TO_MUL and its 16-bit form, TO_MULTI_MUL, clearing.

Sources: the specification, kernels.md ("Vector kernels") and plan.md ("VECTOR for 16 bit"). No
vector kernel was measured.
"""

import numpy as np

from hwmodel.cost.kernel_costs import KernelCosts
from hwmodel.cost.terms import ChipRates, Column, ProblemTerms

PASS_START_CYCLES = 20.0
"""Cycles that a vector instruction takes before its first result (plan.md, "VECTOR")."""

PASSES_16BIT = 4
"""Vector passes over a step: two casts, multiply, add (plan.md, "VECTOR")."""

PASSES_FP32 = 2
"""Multiply and add: fp32 needs no casts (plan.md, "VECTOR")."""

FP32_BYTES = 4

MULTI_MUL_K = 64
"""K columns of a step of TO_MULTI_MUL (kernels.md, "Vector kernels")."""


def _costs(
    terms: ProblemTerms,
    chip: ChipRates,
    *,
    prologue: Column,
    rounds: Column,
    epilogue: Column,
    loads: Column,
    vector: Column,
    round_count: Column,
    reads: Column,
) -> KernelCosts:
    """The costs of a kernel without cube cores."""
    none = np.zeros_like(rounds)
    return KernelCosts(
        launch=none + chip.launch_cycles,
        prologue=prologue,
        rounds=rounds,
        epilogue=epilogue,
        cube_busy=none,
        mte2_busy=loads,
        mte1_busy=none,
        fixpipe_busy=none,
        vector_busy=vector,
        hbm_read_bytes=none + np.minimum(reads, terms.input_total_bytes),
        read_bytes=none + reads,
        write_bytes=none + terms.output_total_bytes,
        round_count=round_count,
    )


def estimate_vector(
    terms: ProblemTerms, chip: ChipRates, base_mn: Column, base_k: Column, cores: Column
) -> KernelCosts:
    """TO_MUL: tiles of base_mn outputs, each a broadcast multiply-add over K in steps of base_k.

    Per step MTE2 moves the tile's part of the matrix from HBM, which all cores share, and the
    vector operand from L2; the vector unit runs its passes; the two overlap. A tile ends with a
    reduction over the step's K and a store.
    """
    size = terms.input_bytes
    passes = PASSES_FP32 if size == FP32_BYTES else PASSES_16BIT
    outputs = np.maximum(terms.a.outer, terms.b.outer)
    base_mn = np.minimum(base_mn, outputs)
    base_k = np.minimum(base_k, terms.k)
    tiles = np.ceil(outputs / base_mn)
    steps = np.ceil(terms.k / base_k)
    per_core = np.ceil(tiles / cores)
    active = np.minimum(cores, tiles)
    step_bytes = base_mn * base_k * size
    load = step_bytes * np.maximum(1 / chip.aiv_hbm, active / chip.hbm_read_total) + base_k * (
        size / chip.aiv_ub_to_l2
    )
    one_pass = np.ceil(base_mn * base_k / chip.vector_lanes) + PASS_START_CYCLES
    compute = passes * one_pass
    # K is not rounded up to whole steps: the last one is as long as it is.
    lengths = terms.k / base_k
    tile_steps = lengths * np.maximum(load, compute)
    store = base_mn * (terms.output_bytes / chip.aiv_ub_to_hbm)
    # A bias belongs to the columns of C: to all outputs of a row, to the one column else.
    bias_bytes = np.minimum(base_mn, terms.b.outer) * terms.bias_bytes
    finish = one_pass + PASS_START_CYCLES + bias_bytes * (1 / chip.aiv_ub_to_l2)
    rounds = per_core * (tile_steps + finish) + (per_core - 1) * store
    return _costs(
        terms,
        chip,
        prologue=np.minimum(load, compute),
        rounds=rounds,
        epilogue=store,
        loads=per_core * lengths * load,
        vector=per_core * (steps * compute + finish),
        round_count=per_core,
        reads=terms.input_total_bytes + (tiles - 1) * terms.k * size,
    )


def estimate_multi_mul(
    terms: ProblemTerms, chip: ChipRates, base_m: Column, base_n: Column, cores: Column
) -> KernelCosts:
    """TO_MULTI_MUL: tiles of at most 64 x 64, a dot product of 64 for each output and step."""
    size = terms.input_bytes
    m, n = np.minimum(base_m, terms.a.outer), np.minimum(base_n, terms.b.outer)
    tiles = np.ceil(terms.a.outer / m) * np.ceil(terms.b.outer / n)
    per_core = np.ceil(tiles / cores)
    active = np.minimum(cores, tiles)
    steps = terms.k / MULTI_MUL_K
    step_bytes = (m + n) * MULTI_MUL_K * size
    first_touch = np.minimum(terms.input_total_bytes / (tiles * terms.k * (m + n) * size), 1)
    load = step_bytes * np.maximum(
        np.maximum(1 / chip.aiv_ub_to_l2, active / chip.l2_total),
        first_touch * active / chip.hbm_read_total,
    )
    compute = m * n * (PASSES_FP32 * np.ceil(MULTI_MUL_K / chip.vector_lanes))
    store = m * n * (terms.output_bytes / chip.aiv_ub_to_hbm)
    rounds = per_core * steps * np.maximum(load, compute) + (per_core - 1) * store
    return _costs(
        terms,
        chip,
        prologue=np.minimum(load, compute),
        rounds=rounds,
        epilogue=store,
        loads=per_core * steps * load,
        vector=per_core * steps * compute,
        round_count=per_core,
        reads=tiles * steps * step_bytes,
    )


def estimate_clear(terms: ProblemTerms, chip: ChipRates, cores: Column) -> KernelCosts:
    """K_EQUAL_ZERO: every vector core clears its share of C."""
    total = terms.output_total_bytes
    share = np.ceil(terms.a.outer * terms.b.outer / cores) * terms.output_bytes
    own = share / chip.aiv_ub_to_l2
    shared = np.maximum(
        total / chip.l2_write_total, (total - chip.l2_bytes) / chip.hbm_write_total
    )
    none = np.zeros_like(own)
    return _costs(
        terms,
        chip,
        prologue=none,
        rounds=np.maximum(own, shared),
        epilogue=none,
        loads=none,
        vector=own,
        round_count=none + 1,
        reads=none,
    )
