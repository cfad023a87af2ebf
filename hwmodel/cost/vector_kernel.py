"""Closed forms of the kernels on vector cores: TO_MUL and its 16-bit form, TO_MULTI_MUL, clearing.

Sources: the specification, kernels.md ("Vector kernels") and plan.md ("VECTOR for 16 bit"), and
docs/emulator.md, section 8. No vector kernel was measured. What a core does with its tiles is in
`vector_pipe`; here is what a step loads and computes, and how the cores share HBM and L2.
"""

from typing import NamedTuple

from hwmodel.cost.kernel_costs import KernelCosts
from hwmodel.cost.terms import ChipRates, OperandTerms, ProblemTerms
from hwmodel.cost.vector_pipe import (
    Step,
    VectorTile,
    start_core,
    take_tile,
    take_tiles,
    tile_loads,
    tile_work,
)
from hwmodel.cost.whole import ceil
from hwmodel.emulator.constants import LINE_BYTES
from hwmodel.emulator.stores import UB_BLOCK_BYTES
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

MULTI_MUL_SUMS = 2.0
"""Sums that finish a tile of TO_MULTI_MUL: of even and odd steps, then within them."""


class Slab(NamedTuple):
    """A slab of an operand: its bytes, its rows, and the bytes that whole lines add in HBM."""

    size: float
    rows: float
    waste: float


class Sharing(NamedTuple):
    """Who loads a slab at the same time.

    Attributes:
        loading: slabs that are loaded from HBM at the same time; 0: L2 has it.
        active: cores that load a slab.
    """

    loading: float
    active: float


@inline
def slab_of(
    terms: ProblemTerms,
    operand: OperandTerms,
    outer: float,
    depth: float,
    tile: float,
    step: float,
) -> Slab:
    """The slab of `outer` x `depth` elements of a grid of `tile` x `step`.

    Lines: a run starts at a multiple of g, the greatest power of two in the pitch of the runs and
    in the distance of the slabs; on average it touches its length in whole g's + a line - g.
    """
    size = outer * depth * terms.input_bytes
    if operand.run_along_k > 0.0:
        rows, run, is_cut, start = outer, depth, depth < terms.k, step < terms.k
        distance = int(step * terms.input_bytes)
    else:
        rows, run, is_cut, start = depth, outer, outer < operand.outer, tile < operand.outer
        distance = int(tile * terms.input_bytes)
    grain = float(operand.pitch_bit)
    if start:
        grain = min(grain, float(distance & -distance))
    if not is_cut:
        rows, run = 1.0, outer * depth
    length = run * terms.input_bytes
    ends = ceil(length / grain) * grain - length + LINE_BYTES - grain
    return Slab(size, rows, rows * ends * operand.waste_ratio)


@inline
def load_cycles(chip: ChipRates, operand: OperandTerms, slab: Slab, sharing: Sharing) -> float:
    """Time of a slab's data: at the core's port and from L2."""
    by_l2 = sharing.active * slab.size * chip.l2_per_byte
    port = chip.aiv_hbm_per_byte if sharing.loading > 0.0 else chip.aiv_l2_per_byte
    by_port = max(slab.size * port, slab.rows * operand.row_cycles)
    return max(by_port, by_l2)


@inline
def hbm_cycles(chip: ChipRates, slab: Slab, sharing: Sharing) -> float:
    """Time of the HBM for a slab of each core that loads one."""
    return sharing.loading * (slab.size + slab.waste) * chip.hbm_read_per_byte


@inline
def load_latency(chip: ChipRates, sharing: Sharing) -> float:
    """From the release of the slab's place to its data."""
    return chip.hbm_latency if sharing.loading > 0.0 else chip.l2_latency


@inline
def store_cycles(
    terms: ProblemTerms, chip: ChipRates, rows: float, run: float, active: float
) -> float:
    """Time to store a tile of so many rows and columns."""
    row = run * terms.output_bytes
    if run == terms.b.outer:
        rows, row = 1.0, rows * row
    by_port = rows * ceil(row / UB_BLOCK_BYTES) * UB_BLOCK_BYTES * chip.aiv_store_per_byte
    return max(by_port, active * rows * row * chip.l2_per_byte)


@inline
def first_loads(tile: VectorTile) -> float:
    """Time of the loads before V has work."""
    step = tile.last_step
    return step.first + max(step.second, step.shared)


@inline
def build_costs(
    terms: ProblemTerms,
    chip: ChipRates,
    launch: float,
    prologue: float,
    epilogue: float,
    end: float,
    loads: float,
    vector: float,
    balance_ratio: float,
    round_count: float,
    reads: float,
) -> KernelCosts:
    """The costs of a kernel without cube cores that ends at `end`, the launch included."""
    inputs = terms.a.total_bytes + terms.b.total_bytes + terms.bias_total_bytes
    hbm_read = min(reads, inputs)
    written_back = max(terms.output_total_bytes - chip.l2_bytes, 0.0)
    hbm = written_back * chip.hbm_write_per_byte
    if chip.hbm_shared > 0.0:
        hbm += hbm_read * chip.hbm_read_per_byte
    rounds = max(end - launch - prologue - epilogue, hbm - prologue)
    return KernelCosts(
        launch=launch,
        prologue=prologue,
        rounds=rounds,
        epilogue=epilogue,
        cube_busy=0.0,
        mte2_busy=loads,
        mte1_busy=0.0,
        fixpipe_busy=0.0,
        vector_busy=vector,
        hbm_read_bytes=hbm_read,
        read_bytes=reads,
        write_bytes=terms.output_total_bytes,
        mte1_bytes=0.0,
        fixpipe_bytes=0.0,
        balance_ratio=balance_ratio,
        round_count=round_count,
        total=launch + prologue + rounds + epilogue,
    )


class ToMul(NamedTuple):
    """What the tiles of a TO_MUL kernel have in common.

    Attributes:
        matrix, vector: the operands.
        outputs: elements of C.
        base_mn, base_k: a whole tile and step.
        fits_l2: whether L2 keeps the vector.
    """

    matrix: OperandTerms
    vector: OperandTerms
    outputs: float
    base_mn: float
    base_k: float
    fits_l2: bool


@inline
def to_mul_step(
    terms: ProblemTerms,
    chip: ChipRates,
    case: ToMul,
    depth: float,
    mn: float,
    active: float,
    is_first: bool,
) -> Step:
    """A step of `depth` columns of K while `active` cores load `mn` outputs each.

    A core with a shorter tile counts as a part of one.

    The vector comes first. One core loads it from HBM, all others wait for that one; the later
    tiles find it in L2. V works on whole tiles and steps, whatever they hold.
    """
    of_vector = Sharing(1.0 if is_first or not case.fits_l2 else 0.0, active)
    of_matrix = Sharing(active, active)
    vector = slab_of(terms, case.vector, 1.0, depth, 1.0, case.base_k)
    matrix = slab_of(terms, case.matrix, mn, depth, case.base_mn, case.base_k)
    passes = PASSES_FP32 if terms.input_bytes == FP32_BYTES else PASSES_16BIT
    lanes = ceil(case.base_mn * case.base_k * chip.per_vector_lane)
    first = load_cycles(chip, case.vector, vector, of_vector)
    second = load_cycles(chip, case.matrix, matrix, of_matrix)
    shared = hbm_cycles(chip, matrix, of_matrix)
    if matrix.waste == 0.0:
        # All slabs cost the same, so that the cores stay in step and wait for the HBM together.
        second = max(second, shared)
    return Step(
        first_latency=load_latency(chip, of_vector),
        second_latency=load_latency(chip, of_matrix),
        first=max(first, hbm_cycles(chip, vector, of_vector)),
        second=second,
        shared=shared,
        work=passes * (lanes + PASS_START_CYCLES),
    )


@inline
def to_mul_tile(
    terms: ProblemTerms, chip: ChipRates, case: ToMul, mn: float, active: float, is_first: bool
) -> VectorTile:
    """A tile of `mn` outputs on each of `active` cores."""
    steps = ceil(terms.k / case.base_k)
    last_depth = terms.k - (steps - 1.0) * case.base_k
    # A bias belongs to the columns of C: to all outputs of a row, to the one column else.
    bias_bytes = min(mn, terms.b.outer) * terms.bias_bytes
    lanes = ceil(case.base_mn * case.base_k * chip.per_vector_lane)
    short = ceil(mn * chip.per_vector_lane) + PASS_START_CYCLES
    finish = lanes + PASS_START_CYCLES
    if terms.bias_bytes > 0.0:
        finish += short
    if terms.output_bytes != FP32_BYTES:
        finish += short
    one_row = terms.b.outer > 1.0
    return VectorTile(
        steps=steps,
        step=to_mul_step(terms, chip, case, case.base_k, mn, active, is_first),
        last_step=to_mul_step(terms, chip, case, last_depth, mn, active, is_first),
        bias=bias_bytes * max(chip.aiv_hbm_per_byte, active * chip.hbm_read_per_byte),
        finish=finish,
        store=store_cycles(terms, chip, 1.0 if one_row else mn, mn if one_row else 1.0, active),
    )


@jit
def estimate_vector(
    terms: ProblemTerms, chip: ChipRates, base_mn: float, base_k: float, cores: float
) -> KernelCosts:
    """TO_MUL: tiles of base_mn outputs, each a broadcast multiply-add over K in steps of base_k.

    Per step MTE2 moves the vector operand, then the tile's part of the matrix from HBM, which all
    cores share.
    """
    outputs = max(terms.a.outer, terms.b.outer)
    matrix_is_b = terms.b.outer > 1.0
    case = ToMul(
        matrix=terms.b if matrix_is_b else terms.a,
        vector=terms.a if matrix_is_b else terms.b,
        outputs=outputs,
        base_mn=min(base_mn, outputs),
        base_k=min(base_k, terms.k),
        fits_l2=terms.k * terms.input_bytes <= chip.l2_bytes,
    )
    tiles = ceil(outputs / case.base_mn)
    per_core = ceil(tiles / cores)
    # The last tile of all may be short: the cores of the last round share HBM with less than whole
    # tiles, but those with a whole one have to load it.
    last_outputs = outputs - (per_core - 1.0) * cores * case.base_mn
    last_mn = min(last_outputs, case.base_mn)
    last = to_mul_tile(terms, chip, case, last_mn, last_outputs / last_mn, per_core == 1.0)
    first = to_mul_tile(terms, chip, case, case.base_mn, cores, True)
    later = to_mul_tile(terms, chip, case, case.base_mn, cores, False)
    at = start_core(chip.launch_cycles - chip.hbm_latency)
    if per_core > 1.0:
        at = take_tile(at, first)
        at = take_tiles(at, later, per_core - 2.0)
    at = take_tile(at, last)
    whole = per_core - 1.0
    inputs = terms.a.total_bytes + terms.b.total_bytes + terms.bias_total_bytes
    return build_costs(
        terms,
        chip,
        launch=chip.launch_cycles,
        prologue=first_loads(last),
        epilogue=last.store,
        end=at.stored,
        loads=whole * tile_loads(later) + tile_loads(last),
        vector=whole * tile_work(later) + tile_work(last),
        balance_ratio=tiles / (per_core * cores),
        round_count=per_core,
        reads=inputs + (tiles - 1.0) * terms.k * terms.input_bytes,
    )


class ToMultiMul(NamedTuple):
    """What the tiles of a TO_MULTI_MUL kernel have in common: a whole tile and the cores."""

    base_m: float
    base_n: float
    cores: float


@inline
def multi_mul_step(
    terms: ProblemTerms,
    chip: ChipRates,
    m: float,
    n: float,
    depth: float,
    of_a: Sharing,
    of_b: Sharing,
    case: ToMultiMul,
) -> Step:
    """A step of `depth` columns of K of a tile of m rows and n columns."""
    a = slab_of(terms, terms.a, m, depth, case.base_m, MULTI_MUL_K)
    b = slab_of(terms, terms.b, n, depth, case.base_n, MULTI_MUL_K)
    work = m * n * ceil(MULTI_MUL_K * chip.per_vector_lane)
    return Step(
        first_latency=load_latency(chip, of_a),
        second_latency=load_latency(chip, of_b),
        first=max(load_cycles(chip, terms.a, a, of_a), hbm_cycles(chip, a, of_a)),
        second=load_cycles(chip, terms.b, b, of_b),
        shared=hbm_cycles(chip, b, of_b),
        work=PASSES_FP32 * (work + PASS_START_CYCLES),
    )


@inline
def multi_mul_tile(
    terms: ProblemTerms,
    chip: ChipRates,
    case: ToMultiMul,
    m: float,
    n: float,
    active: float,
    a_is_new: bool,
    b_is_new: bool,
) -> VectorTile:
    """A tile of m rows and n columns; slabs that are new in the round come from HBM."""
    columns = ceil(terms.b.outer / case.base_n)
    of_a = Sharing(ceil(active / columns) if a_is_new else 0.0, active)
    of_b = Sharing(min(active, columns) if b_is_new else 0.0, active)
    depth = min(MULTI_MUL_K, terms.k)
    steps = ceil(terms.k / depth)
    last_depth = terms.k - (steps - 1.0) * depth
    work = m * n * ceil(MULTI_MUL_K * chip.per_vector_lane)
    return VectorTile(
        steps=steps,
        step=multi_mul_step(terms, chip, m, n, depth, of_a, of_b, case),
        last_step=multi_mul_step(terms, chip, m, n, last_depth, of_a, of_b, case),
        bias=0.0,
        finish=MULTI_MUL_SUMS * (work + PASS_START_CYCLES),
        store=store_cycles(terms, chip, m, n, active),
    )


@jit
def estimate_multi_mul(
    terms: ProblemTerms, chip: ChipRates, base_m: float, base_n: float, cores: float
) -> KernelCosts:
    """TO_MULTI_MUL: tiles of at most 64 x 64, a dot product of 64 for each output and step."""
    m, n = min(base_m, terms.a.outer), min(base_n, terms.b.outer)
    case = ToMultiMul(m, n, cores)
    rows, columns = ceil(terms.a.outer / m), ceil(terms.b.outer / n)
    tiles = rows * columns
    per_core = ceil(tiles / cores)
    last_active = tiles - (per_core - 1.0) * cores
    # The tiles of the last round are the last ones of the last row.
    last_m = terms.a.outer - (rows - 1.0) * m if last_active <= columns else m
    last_n = terms.b.outer - (columns - 1.0) * n if last_active == 1.0 or columns == 1.0 else n
    # A core meets new columns of B in its first rounds, new rows of A in each that is a row long.
    new_rounds = min(ceil(columns / cores), per_core)
    meets_a = cores >= columns
    is_new = per_core == new_rounds
    last = multi_mul_tile(
        terms, chip, case, last_m, last_n, last_active, meets_a or per_core == 1.0, is_new
    )
    later = multi_mul_tile(terms, chip, case, m, n, cores, meets_a, False)
    at = start_core(chip.launch_cycles - chip.hbm_latency)
    if per_core > 1.0:
        at = take_tile(at, multi_mul_tile(terms, chip, case, m, n, cores, True, True))
        more_new = max(min(new_rounds, per_core - 1.0) - 1.0, 0.0)
        new = multi_mul_tile(terms, chip, case, m, n, cores, meets_a, True)
        at = take_tiles(at, new, more_new)
        at = take_tiles(at, later, per_core - 2.0 - more_new)
    at = take_tile(at, last)
    whole = per_core - 1.0
    return build_costs(
        terms,
        chip,
        launch=chip.launch_cycles,
        prologue=first_loads(last),
        epilogue=last.store,
        end=at.stored,
        loads=whole * tile_loads(later) + tile_loads(last),
        vector=whole * tile_work(later) + tile_work(last),
        balance_ratio=tiles / (per_core * cores),
        round_count=per_core,
        reads=tiles * (m + n) * terms.k * terms.input_bytes,
    )


@jit
def estimate_clear(terms: ProblemTerms, chip: ChipRates, cores: float) -> KernelCosts:
    """K_EQUAL_ZERO: every vector core clears its share of C, from the launch on."""
    launch = chip.launch_cycles - chip.hbm_latency
    share = ceil(terms.a.outer * terms.b.outer / cores) * terms.output_bytes
    own = share * chip.aiv_store_per_byte
    shared = terms.output_total_bytes * chip.l2_per_byte
    return build_costs(
        terms,
        chip,
        launch=launch,
        prologue=0.0,
        epilogue=0.0,
        end=launch + max(own, shared),
        loads=0.0,
        vector=own,
        balance_ratio=1.0,
        round_count=1.0,
        reads=0.0,
    )
