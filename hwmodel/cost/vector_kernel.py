"""Closed forms of the kernels on vector cores: TO_MUL and its 16-bit form, TO_MULTI_MUL, clearing.

Sources: the specification, kernels.md ("Vector kernels") and plan.md ("VECTOR for 16 bit"). No
vector kernel was measured.
"""

from hwmodel.cost.kernel_costs import KernelCosts
from hwmodel.cost.terms import ChipRates, ProblemTerms
from hwmodel.cost.whole import ceil
from hwmodel.jit import inline, jit

PASS_START_CYCLES = 20.0
"""Cycles that a vector instruction takes before its first result (plan.md, "VECTOR")."""

PASSES_16BIT = 4.0
"""Vector passes over a step: two casts, multiply, add (plan.md, "VECTOR")."""

PASSES_FP32 = 2.0
"""Multiply and add: fp32 needs no casts (plan.md, "VECTOR")."""

FP32_BYTES = 4.0

MULTI_MUL_K = 64.0
"""K columns of a step of TO_MULTI_MUL (kernels.md, "Vector kernels")."""


@inline
def build_costs(
    terms: ProblemTerms,
    chip: ChipRates,
    prologue: float,
    rounds: float,
    epilogue: float,
    loads: float,
    vector: float,
    balance_ratio: float,
    round_count: float,
    reads: float,
) -> KernelCosts:
    """The costs of a kernel without cube cores."""
    inputs = terms.a.total_bytes + terms.b.total_bytes + terms.bias_total_bytes
    return KernelCosts(
        launch=chip.launch_cycles,
        prologue=prologue,
        rounds=rounds,
        epilogue=epilogue,
        cube_busy=0.0,
        mte2_busy=loads,
        mte1_busy=0.0,
        fixpipe_busy=0.0,
        vector_busy=vector,
        hbm_read_bytes=min(reads, inputs),
        read_bytes=reads,
        write_bytes=terms.output_total_bytes,
        mte1_bytes=0.0,
        fixpipe_bytes=0.0,
        balance_ratio=balance_ratio,
        round_count=round_count,
        total=chip.launch_cycles + prologue + rounds + epilogue,
    )


@jit
def estimate_vector(
    terms: ProblemTerms, chip: ChipRates, base_mn: float, base_k: float, cores: float
) -> KernelCosts:
    """TO_MUL: tiles of base_mn outputs, each a broadcast multiply-add over K in steps of base_k.

    Per step MTE2 moves the tile's part of the matrix from HBM, which all cores share, and the
    vector operand from L2; the vector unit runs its passes; the two overlap. A tile ends with a
    reduction over the step's K and a store.
    """
    size = terms.input_bytes
    passes = PASSES_FP32 if size == FP32_BYTES else PASSES_16BIT
    outputs = max(terms.a.outer, terms.b.outer)
    base_mn, base_k = min(base_mn, outputs), min(base_k, terms.k)
    tiles = ceil(outputs / base_mn)
    steps = ceil(terms.k / base_k)
    per_core = ceil(tiles / cores)
    active = min(cores, tiles)
    step_bytes = base_mn * base_k * size
    load = (
        step_bytes * max(chip.aiv_hbm_per_byte, active * chip.hbm_read_per_byte)
        + base_k * size * chip.aiv_l2_per_byte
    )
    one_pass = ceil(base_mn * base_k * chip.per_vector_lane) + PASS_START_CYCLES
    compute = passes * one_pass
    # K is not rounded up to whole steps: the last one is as long as it is.
    lengths = terms.k / base_k
    store = base_mn * terms.output_bytes * chip.aiv_store_per_byte
    # A bias belongs to the columns of C: to all outputs of a row, to the one column else.
    bias_bytes = min(base_mn, terms.b.outer) * terms.bias_bytes
    finish = one_pass + PASS_START_CYCLES + bias_bytes * chip.aiv_l2_per_byte
    inputs = terms.a.total_bytes + terms.b.total_bytes + terms.bias_total_bytes
    return build_costs(
        terms,
        chip,
        prologue=min(load, compute),
        rounds=per_core * (lengths * max(load, compute) + finish) + (per_core - 1.0) * store,
        epilogue=store,
        loads=per_core * lengths * load,
        vector=per_core * (steps * compute + finish),
        balance_ratio=tiles / (per_core * cores),
        round_count=per_core,
        reads=inputs + (tiles - 1.0) * terms.k * size,
    )


@jit
def estimate_multi_mul(
    terms: ProblemTerms, chip: ChipRates, base_m: float, base_n: float, cores: float
) -> KernelCosts:
    """TO_MULTI_MUL: tiles of at most 64 x 64, a dot product of 64 for each output and step."""
    size = terms.input_bytes
    m, n = min(base_m, terms.a.outer), min(base_n, terms.b.outer)
    tiles = ceil(terms.a.outer / m) * ceil(terms.b.outer / n)
    per_core = ceil(tiles / cores)
    active = min(cores, tiles)
    steps = terms.k / MULTI_MUL_K
    step_bytes = (m + n) * MULTI_MUL_K * size
    inputs = terms.a.total_bytes + terms.b.total_bytes + terms.bias_total_bytes
    first_touch = min(inputs / (tiles * terms.k * (m + n) * size), 1.0)
    load = step_bytes * max(
        max(chip.aiv_l2_per_byte, active * chip.l2_per_byte),
        first_touch * active * chip.hbm_read_per_byte,
    )
    compute = m * n * (PASSES_FP32 * ceil(MULTI_MUL_K * chip.per_vector_lane))
    store = m * n * terms.output_bytes * chip.aiv_store_per_byte
    return build_costs(
        terms,
        chip,
        prologue=min(load, compute),
        rounds=per_core * steps * max(load, compute) + (per_core - 1.0) * store,
        epilogue=store,
        loads=per_core * steps * load,
        vector=per_core * steps * compute,
        balance_ratio=tiles / (per_core * cores),
        round_count=per_core,
        reads=tiles * steps * step_bytes,
    )


@jit
def estimate_clear(terms: ProblemTerms, chip: ChipRates, cores: float) -> KernelCosts:
    """K_EQUAL_ZERO: every vector core clears its share of C."""
    total = terms.output_total_bytes
    own = ceil(terms.a.outer * terms.b.outer / cores) * terms.output_bytes
    own *= chip.aiv_l2_per_byte
    shared = max(total * chip.l2_write_per_byte, (total - chip.l2_bytes) * chip.hbm_write_per_byte)
    return build_costs(
        terms,
        chip,
        prologue=0.0,
        rounds=max(own, shared),
        epilogue=0.0,
        loads=0.0,
        vector=own,
        balance_ratio=1.0,
        round_count=1.0,
        reads=0.0,
    )
