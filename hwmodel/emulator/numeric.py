"""Numeric mode: the numbers that a kernel computes, added up in its order.

Every item of the schedule multiplies L0 step by L0 step into an fp32 tile and leaves it the way
the kernel does: in C, added to what earlier K slices left there, or in a workspace slot that the
stream-K reduction adds up in slot order (specification: kernels.md). Elements of K are added one
after the other in fp32, each product rounded to fp32 before (products of 16-bit inputs are exact).
So a result depends on how K is cut into slices and pieces, and in which order they are added, not
on tiles, buffers, windows, cores or the template.

Not modelled: the order of additions inside a 16 x 16 fractal, and the shorter inputs of HF32;
no source gives them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwmodel.dtypes import DType
from hwmodel.errors import InputError
from hwmodel.plan import CUBE_TEMPLATES, KernelPlan, Template
from hwmodel.problem import GemmProblem
from hwmodel.walk import Schedule, WalkItem, walk

FloatArray = NDArray[np.floating[Any]]
Fp32Array = NDArray[np.float32]

BF16_DROPPED_BITS = 16
"""Bits of an fp32 number that bf16 does not have (IEEE 754 binary32 with its upper half kept)."""

BF16_HALF_LESS_ONE = 0x7FFF
"""Half of bf16's last place in fp32's bits, less one: a tie is rounded up by the odd bit alone."""

BF16_KEPT_MASK = 0xFFFF0000
"""The bits of an fp32 number that bf16 keeps."""

QUIET_NAN_BIT = 0x00400000
"""Set in a NaN so that dropping bits does not turn it into an infinity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericResult:
    """What a kernel leaves in C.

    Attributes:
        accumulated: C in fp32, before the cast to the output type; shape (m, n).
        c: C in the output type: float16 for fp16, else float32, for bf16 with bf16's values.
    """

    accumulated: Fp32Array
    c: FloatArray


def compute_numeric(
    problem: GemmProblem,
    plan: KernelPlan,
    a: FloatArray,
    b: FloatArray,
    bias: FloatArray | None = None,
) -> NumericResult:
    """Run the plan's schedule on numbers.

    The time is that of K times m x n elementwise additions: about a second for 1024^3.

    Args:
        problem: the problem.
        plan: a plan of a cube template.
        a: A as it is stored: (m, k), with trans_a (k, m). Rounded to the problem's type first.
        b: B as it is stored: (k, n), with trans_b (n, k); the same when its format is NZ, whose
            blocks hold the same numbers. Rounded likewise.
        bias: the n numbers of the bias if the problem has one. Rounded to the bias' type.

    Raises:
        InputError: a shape does not fit, a bias is missing or not expected, or the template is
            none of the cube cores' or cannot compute the problem.
    """
    if plan.template not in CUBE_TEMPLATES:
        raise InputError(
            f"numeric mode: template {plan.template}: runs on vector cores; use a cube template"
        )
    schedule = walk(problem, plan)
    left = _take("a", a, (problem.m, problem.k), problem.trans_a, problem.dtype)
    right = _take("b", b, (problem.k, problem.n), problem.trans_b, problem.dtype)
    first = _take_bias(problem, bias)
    c = np.zeros((problem.m, problem.n), dtype=np.float32)
    workspace: dict[int, Fp32Array] = {}
    for core in range(plan.used_core_num):
        slots = schedule.workspace_slots(core)
        for item, slot in zip(schedule.items(core), slots, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):  # The cube does not warn either.
                tile = _multiply(problem, plan, item, left, right, first)
            if slot >= 0:
                # Slices of a piece follow each other on the core: the first one is stored.
                workspace[slot] = workspace[slot] + tile if slot in workspace else tile
            elif item.k_off == 0:
                c[_rows(item), _columns(item)] = tile
            else:
                c[_rows(item), _columns(item)] += tile
    if plan.template is Template.STREAM_K:
        _reduce(schedule, plan.k_pieces(problem), workspace, c)
    return NumericResult(accumulated=c, c=cast_output(c, problem.out_dtype))


def round_to(values: FloatArray, dtype: DType) -> Fp32Array:
    """The numbers rounded to the type, half to even, as fp32.

    Numbers beyond the type's range become infinite. Rounded to fp32 first.
    """
    with np.errstate(over="ignore"):
        single = np.asarray(values, dtype=np.float32)
        if dtype is DType.FP16:
            return single.astype(np.float16).astype(np.float32)
    return round_to_bf16(single) if dtype is DType.BF16 else single


def round_to_bf16(values: Fp32Array) -> Fp32Array:
    """The numbers rounded to bf16, half to even, as fp32; a NaN stays one."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    odd = (bits >> np.uint32(BF16_DROPPED_BITS)) & np.uint32(1)
    rounded = bits + np.uint32(BF16_HALF_LESS_ONE) + odd
    rounded = np.where(np.isnan(values), bits | np.uint32(QUIET_NAN_BIT), rounded)
    kept: Fp32Array = (rounded & np.uint32(BF16_KEPT_MASK)).view(np.float32)
    return kept


def cast_output(values: Fp32Array, dtype: DType) -> FloatArray:
    """C in its type; bf16, which NumPy does not have, as fp32 with bf16's values."""
    rounded = round_to(values, dtype)
    return rounded.astype(np.float16) if dtype is DType.FP16 else rounded.copy()


def _take(
    name: str, stored: FloatArray, shape: tuple[int, int], is_transposed: bool, dtype: DType
) -> Fp32Array:
    """An operand as (rows, columns) of the product, rounded to its type."""
    expected = shape[::-1] if is_transposed else shape
    if stored.shape != expected:
        raise InputError(
            f"numeric mode: {name} has shape {stored.shape}: must be {expected}, as it is stored"
        )
    rounded = round_to(stored, dtype)
    return rounded.T if is_transposed else rounded


def _take_bias(problem: GemmProblem, bias: FloatArray | None) -> Fp32Array | None:
    """The bias rounded to its type, None without one."""
    if problem.bias_dtype is None:
        if bias is not None:
            raise InputError("numeric mode: the problem has no bias: leave it out")
        return None
    if bias is None or bias.shape != (problem.n,):
        shape = None if bias is None else bias.shape
        raise InputError(f"numeric mode: bias has shape {shape}: must be {(problem.n,)}")
    return round_to(bias, problem.bias_dtype)


def _rows(item: WalkItem) -> slice:
    return slice(item.m_off, item.m_off + item.blk_m)


def _columns(item: WalkItem) -> slice:
    return slice(item.n_off, item.n_off + item.blk_n)


def _l0_steps(problem: GemmProblem, plan: KernelPlan, item: WalkItem) -> Iterator[range]:
    """The columns of K of each L0 step of an item, in order (specification: kernels.md)."""
    k_l1 = plan.k_l1(problem)
    end = item.k_off + item.blk_k
    for slab in range(item.k_off, end, k_l1):
        slab_end = min(slab + k_l1, end)
        for at in range(slab, slab_end, plan.base_k):
            yield range(at, min(at + plan.base_k, slab_end))


def _multiply(
    problem: GemmProblem,
    plan: KernelPlan,
    item: WalkItem,
    left: Fp32Array,
    right: Fp32Array,
    bias: Fp32Array | None,
) -> Fp32Array:
    """An item's L0C tile: from the bias or zero, plus its columns of K one after the other."""
    tile = np.zeros((item.blk_m, item.blk_n), dtype=np.float32)
    if bias is not None and item.k_off == 0:
        tile += bias[_columns(item)]
    product = np.empty_like(tile)
    rows, columns = _rows(item), _columns(item)
    for step in _l0_steps(problem, plan, item):
        a_step = left[rows, step.start : step.stop]
        b_step = right[step.start : step.stop, columns]
        for at in range(len(step)):
            np.multiply(a_step[:, at, np.newaxis], b_step[at], out=product)
            np.add(tile, product, out=tile)
    return tile


def _reduce(
    schedule: Schedule, pieces: int, workspace: dict[int, Fp32Array], c: Fp32Array
) -> None:
    """Add up the slots of each tile of the last round, in slot order, and write C."""
    tiles = schedule.rows.count * schedule.cols.count
    for number, position in enumerate(range(schedule.whole_slots, tiles)):
        total = workspace[number * pieces]
        for slot in range(number * pieces + 1, (number + 1) * pieces):
            total = total + workspace[slot]
        item = schedule.tile(position)
        c[_rows(item), _columns(item)] = total
