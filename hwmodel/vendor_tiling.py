"""The vendor's tiling data and KernelPlan: the table of names, and the maps between the two.

The host hands a kernel a record of integers in the vendor's camelCase names ("tiling data"). The
maps here cover the templates that share one record: ASWT, both full loads and stream-K
(specification: plan.md, "Fields", and host-tiling.md, section 10).

- `plan_from_tiling_data` turns a record into a plan. A field that the record lacks takes its
  canonical value.
- `tiling_data_from_plan` is its left inverse wherever the vendor can express the plan;
  `find_inexpressible_field` names the first field that it cannot express.
"""

from collections.abc import Mapping
from typing import Final, cast

from hwmodel.errors import InputError
from hwmodel.integers import FRACTAL, align_up, floor_div
from hwmodel.plan import (
    VENDOR_WINDOW_LEN,
    KernelPlan,
    L0cOutput,
    StreamKOrder,
    Template,
    canonical_window,
)
from hwmodel.problem import GemmProblem

VendorRecord = Mapping[str, int | Mapping[str, int]]
"""A tiling data record by vendor name; BASE's has one nested record."""

VENDOR_NAMES: Final[Mapping[str, str]] = {
    "used_core_num": "usedCoreNum",
    "m": "m",
    "n": "n",
    "k": "k",
    "m_l1": "mL1",
    "n_l1": "nL1",
    "k_l1": "kL1",
    "base_m": "baseM",
    "base_n": "baseN",
    "base_k": "baseK",
    "single_core_k": "skSingleCoreK",
    "m_tail_cnt": "mTailCnt",
    "n_tail_cnt": "nTailCnt",
    "m_base_tail_split_cnt": "mBaseTailSplitCnt",
    "n_base_tail_split_cnt": "nBaseTailSplitCnt",
    "m_tail_main": "mTailMain",
    "n_tail_main": "nTailMain",
    "is_hf32": "mmadParam",
    "l1_buffer_num": "l1BufferNum",
    "db_l0c": "l0cDB",
    "ub_db": "ubDB",
    "l2_cache_disable": "l2CacheDisable",
    "slice_m": "sliceM",
    "src_nd_stride": "srcNdStride",
    "row_stride": "rowStride",
    "inner_batch": "innerBatch",
}
"""Project name to vendor name of each field of the record, in the vendor's order.

The measured rows use the project names for the columns they have.
"""

TILING_DATA_TEMPLATES: Final = frozenset(
    {Template.ASWT, Template.A_FULL, Template.B_FULL, Template.STREAM_K}
)
"""Templates whose plan travels in this record."""

MAX_VENDOR_STEP_K: Final = 4
"""Most L0 steps in one L1 step that the record states: kL1 = base_k*min(4, step_ka, step_kb)."""

L2_BYPASS_LINE_BYTES: Final = 128
"""Rows must be whole multiples of this many bytes for an operand to bypass L2.

Source: specification, host-tiling.md, section 10.
"""


def to_vendor_names(values: Mapping[str, int]) -> dict[str, int]:
    """The same values under the vendor's names, without those that the record does not have."""
    return {VENDOR_NAMES[name]: value for name, value in values.items() if name in VENDOR_NAMES}


def plan_from_tiling_data(
    problem: GemmProblem,
    template: Template,
    tiling_data: Mapping[str, int],
    *,
    l0c_output: L0cOutput = L0cOutput.ON_THE_FLY,
) -> KernelPlan:
    """The plan that a tiling data record of the vendor describes.

    step_k is kL1 / baseK as the record has it, not cut to the problem's K, so that the way back is
    exact.

    Args:
        problem: the problem the record was made for.
        template: the kernel; one of `TILING_DATA_TEMPLATES`. The record does not name it, the
            tiling key does.
        tiling_data: the record, by vendor name. Needed: usedCoreNum, kL1, baseM, baseN, baseK.
            Absent ones of skSingleCoreK, mTailCnt, nTailCnt, l1BufferNum, l0cDB, ubDB count as K,
            1, 1, 2, 1, 1.
        l0c_output: the way out of L0C; it too is in the tiling key, not in the record.

    Returns:
        The plan, with the vendor's window (stream-K and ASWT) or the canonical one (full loads).

    Raises:
        InputError: the template has another record, or a needed field is missing.
    """
    if template not in TILING_DATA_TEMPLATES:
        raise InputError(
            f"template {template}: its plan is not in this tiling data record; use one of"
            f" {', '.join(sorted(TILING_DATA_TEMPLATES))}"
        )
    try:
        return _build_plan(problem, template, tiling_data, l0c_output)
    except KeyError as missing:
        raise InputError(f"tiling data: {missing.args[0]} is missing; the plan needs it") from None


def plan_from_asw_tiling_data(
    problem: GemmProblem,
    tiling_data: VendorRecord,
    *,
    l0c_output: L0cOutput = L0cOutput.ON_THE_FLY,
) -> KernelPlan:
    """The plan of the older BASE template, from its record (host-tiling.md, section 10).

    Args:
        problem: the problem the record was made for.
        tiling_data: the record: `tCubeTiling` with the tile, and the tail split and window beside
            it.
        l0c_output: the way out of L0C.
    """
    cube, outer = cast(Mapping[str, int], tiling_data["tCubeTiling"]), tiling_data
    return KernelPlan(
        template=Template.BASE,
        base_m=cube["baseM"],
        base_n=cube["baseN"],
        base_k=cube["baseK"],
        step_k=min(cube["stepKa"], cube["stepKb"]),
        db_l0c=cube["dbL0C"],
        l0c_output=l0c_output,
        window_len=cast(int, outer["aswWindowLen"]),
        m_tail_cnt=cast(int, outer["mTailCnt"]),
        n_tail_cnt=cast(int, outer["nTailCnt"]),
        single_core_k=problem.k,
        used_core_num=cube["usedCoreNum"],
    )


def plan_from_vector_tiling_data(
    problem: GemmProblem, template: Template, tiling_data: Mapping[str, int]
) -> KernelPlan:
    """The plan of a vector strategy, from its record (host-tiling.md, section 10).

    The outputs of a TO_MUL tile are its base_n where M is 1, else its base_m. Fields that a vector
    kernel does not use have their canonical value (specification: plan.md, "Fields").

    Args:
        problem: the problem the record was made for.
        template: VECTOR (TO_MUL), TO_MULTI_MUL or K_EQUAL_ZERO.
        tiling_data: the record of that strategy.
    """
    base_m = base_n = 1
    if template is Template.VECTOR:
        base_m, base_n = (
            (1, tiling_data["baseMN"]) if problem.m == 1 else (tiling_data["baseMN"], 1)
        )
    elif template is Template.TO_MULTI_MUL:
        base_m, base_n = tiling_data["baseM"], tiling_data["baseN"]
    clears = template is Template.K_EQUAL_ZERO
    return KernelPlan(
        template=template,
        base_m=base_m,
        base_n=base_n,
        base_k=1 if clears else tiling_data["baseK"],
        step_k=1,
        window_len=1,
        single_core_k=problem.k,
        used_core_num=tiling_data["aivNum" if clears else "usedCoreNum"],
    )


def find_inexpressible_field(problem: GemmProblem, plan: KernelPlan) -> str | None:
    """Name of the first plan field that the vendor cannot express; None when it can express all.

    The kernels fix the window (length 4, serpentine) and the order of the stream-K piece, keep no
    slabs resident outside the full loads, and know at most four L0 steps in an L1 step. A value
    that runs exactly like one the vendor has (another window over the same single row of blocks,
    say) counts as expressible.
    """
    if plan.template not in TILING_DATA_TEMPLATES:
        return "template"
    if plan.resident_slabs != 0:
        return "resident_slabs"
    if not _is_full_load(plan.template):
        tiles = plan.m_tiles(problem), plan.n_tiles(problem)
        own = canonical_window(plan.window_len, plan.serpentine, *tiles)
        vendor = canonical_window(VENDOR_WINDOW_LEN, True, *tiles)
        if own != vendor:
            return "window_len" if own[0] != vendor[0] else "serpentine"
    longest_k_l1 = MAX_VENDOR_STEP_K * plan.base_k
    if plan.step_k > MAX_VENDOR_STEP_K and longest_k_l1 < align_up(problem.k, FRACTAL):
        return "step_k"
    if plan.template is Template.STREAM_K and plan.sk_order is not StreamKOrder.VENDOR:
        return "sk_order"
    return None


def tiling_data_from_plan(
    problem: GemmProblem, plan: KernelPlan, *, l2_bytes: int
) -> dict[str, int]:
    """The tiling data record that makes the vendor's kernel run the plan, by vendor name.

    Args:
        problem: the problem.
        plan: a plan of one of `TILING_DATA_TEMPLATES`.
        l2_bytes: size of the L2 cache in bytes, on which l2CacheDisable depends.

    Returns:
        The record, fields in the vendor's order.

    Raises:
        InputError: the vendor cannot express the plan; the message names the field.
    """
    field = find_inexpressible_field(problem, plan)
    if field is not None:
        raise InputError(
            f"plan field {field} = {getattr(plan, field)}: the vendor's tiling data cannot express"
            " it; use another value"
        )
    m_l1 = align_up(problem.m, FRACTAL) if plan.template is Template.A_FULL else plan.base_m
    n_l1 = align_up(problem.n, FRACTAL) if plan.template is Template.B_FULL else plan.base_n
    k_l1 = plan.base_k * min(MAX_VENDOR_STEP_K, plan.step_k)
    l2_cache_disable = compute_l2_cache_disable(
        problem,
        l2_bytes=l2_bytes,
        a_in_one_block=plan.base_n >= problem.n and plan.n_tail_cnt <= 1,
        b_in_one_block=plan.base_m >= problem.m and plan.m_tail_cnt <= 1,
        a_inner_tile=m_l1 if problem.trans_a else k_l1,
        b_inner_tile=k_l1 if problem.trans_b else n_l1,
    )
    return build_tiling_data(
        problem,
        used_core_num=plan.used_core_num,
        l1_tile=(m_l1, n_l1, k_l1),
        base=(plan.base_m, plan.base_n, plan.base_k),
        single_core_k=plan.single_core_k,
        tail_counts=(plan.m_tail_cnt, plan.n_tail_cnt),
        l1_buffer_num=plan.l1_buffer_num,
        db_l0c=plan.db_l0c,
        ub_db=plan.ub_db,
        l2_cache_disable=l2_cache_disable,
    )


def build_tiling_data(
    problem: GemmProblem,
    *,
    used_core_num: int,
    l1_tile: tuple[int, int, int],
    base: tuple[int, int, int],
    single_core_k: int,
    tail_counts: tuple[int, int],
    l1_buffer_num: int,
    db_l0c: int,
    ub_db: int,
    l2_cache_disable: int,
) -> dict[str, int]:
    """The record in the vendor's order; tuples are (m, n, k) and (m, n), sizes in elements.

    Merged tails are never used by this version of the host tiling, and the inputs are contiguous:
    those fields are constant (specification: host-tiling.md, sections 3 and 10).
    """
    m_l1, n_l1, k_l1 = l1_tile
    base_m, base_n, base_k = base
    m_tail_cnt, n_tail_cnt = tail_counts
    return {
        "usedCoreNum": used_core_num,
        "m": problem.m,
        "n": problem.n,
        "k": problem.k,
        "mL1": m_l1,
        "nL1": n_l1,
        "kL1": k_l1,
        "baseM": base_m,
        "baseN": base_n,
        "baseK": base_k,
        "skSingleCoreK": single_core_k,
        "mTailCnt": m_tail_cnt,
        "nTailCnt": n_tail_cnt,
        "mBaseTailSplitCnt": 1,
        "nBaseTailSplitCnt": 1,
        "mTailMain": 0,
        "nTailMain": 0,
        "mmadParam": int(problem.is_hf32),
        "l1BufferNum": l1_buffer_num,
        "l0cDB": db_l0c,
        "ubDB": ub_db,
        "l2CacheDisable": l2_cache_disable,
        "sliceM": base_m,
        "srcNdStride": 1,
        "rowStride": 1 if problem.trans_a else problem.k,
        "innerBatch": 0,
    }


def compute_l2_cache_disable(
    problem: GemmProblem,
    *,
    l2_bytes: int,
    a_in_one_block: bool,
    b_in_one_block: bool,
    a_inner_tile: int,
    b_inner_tile: int,
) -> int:
    """Which operands bypass L2: 0 none, 1 A, 2 B, 3 both (host-tiling.md, section 10).

    Only when A, B and C together do not fit L2, an operand is read by one block only, and both its
    rows in memory and the rows of its L1 tile are whole multiples of 128 bytes.

    Args:
        problem: the problem.
        l2_bytes: size of L2.
        a_in_one_block: no second block reads the same part of A (one column of blocks, no column
            tail split).
        b_in_one_block: the same for B and rows.
        a_inner_tile: elements of an L1 tile along A's contiguous axis.
        b_inner_tile: the same for B.
    """
    total_bytes = problem.c_total_bytes + problem.a_total_bytes + problem.b_total_bytes
    if total_bytes < l2_bytes:
        return 0
    element_bytes = problem.dtype.size_bytes
    a_inner = problem.m if problem.trans_a else problem.k
    b_inner = problem.k if problem.trans_b else problem.n
    bypass_a = (
        a_in_one_block
        and a_inner * element_bytes % L2_BYPASS_LINE_BYTES == 0
        and a_inner_tile * element_bytes % L2_BYPASS_LINE_BYTES == 0
    )
    bypass_b = (
        b_in_one_block
        and b_inner * element_bytes % L2_BYPASS_LINE_BYTES == 0
        and b_inner_tile * element_bytes % L2_BYPASS_LINE_BYTES == 0
    )
    return int(bypass_a) + 2 * int(bypass_b)


def _build_plan(
    problem: GemmProblem,
    template: Template,
    tiling_data: Mapping[str, int],
    l0c_output: L0cOutput,
) -> KernelPlan:
    """The plan of `plan_from_tiling_data`; raises KeyError for a needed field that is missing."""
    get = tiling_data.get
    base_k = tiling_data["baseK"]
    return KernelPlan(
        template=template,
        base_m=tiling_data["baseM"],
        base_n=tiling_data["baseN"],
        base_k=base_k,
        step_k=floor_div(tiling_data["kL1"], base_k),
        l1_buffer_num=get("l1BufferNum", 2),
        db_l0c=get("l0cDB", 1),
        ub_db=get("ubDB", 1),
        l0c_output=l0c_output,
        window_len=1 if _is_full_load(template) else VENDOR_WINDOW_LEN,
        m_tail_cnt=get("mTailCnt", 1),
        n_tail_cnt=get("nTailCnt", 1),
        single_core_k=get("skSingleCoreK", problem.k),
        used_core_num=tiling_data["usedCoreNum"],
    )


def _is_full_load(template: Template) -> bool:
    """The kernels that keep one whole operand in L1 and walk no window."""
    return template is Template.A_FULL or template is Template.B_FULL
