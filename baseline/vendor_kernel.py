"""A plan as the operator's host tiling would have to hand it to the kernel, and back.

`build_vendor_kernel` gives what a launch needs, in the vendor's names: strategy, tiling key,
blocks, workspace and tiling data; for a plan of the operator's own it is the operator's own
decision, number for number. `plan_from_vendor_kernel` reads tiling key and tiling data again.
"""

from collections.abc import Mapping
from typing import Final

from baseline.aswt import SPLIT_K_LENGTH
from baseline.decision import STREAM_K_SCHEDULE_MODE
from baseline.dispatch import Strategy
from baseline.platform import Platform
from baseline.stream_k import BASE_WORKSPACE_BYTES, stream_k_workspace_bytes
from baseline.tiling_data import BASIC_STRUCT
from baseline.tiling_key import (
    ApiLevel,
    FullLoad,
    L0cOut,
    Model,
    TilingKey,
    decode_tiling_key,
)
from hwmodel.dtypes import DType, Format
from hwmodel.errors import InputError
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.vendor_tiling import plan_from_tiling_data, tiling_data_from_plan

VENDOR_KERNEL_KEYS: Final = (
    "strategy",
    "tilingKey",
    "numBlocks",
    "workspaceSize",
    "scheduleMode",
    "tilingStruct",
    "tilingData",
)
"""Keys of `build_vendor_kernel`, which are among those of a decision's record."""

_FULL_LOADS: Final = {Template.A_FULL: FullLoad.A, Template.B_FULL: FullLoad.B}
_TEMPLATES: Final = {
    (Model.BASIC, FullLoad.NONE): Template.ASWT,
    (Model.BASIC_SPLIT_K, FullLoad.NONE): Template.ASWT,
    (Model.BASIC, FullLoad.A): Template.A_FULL,
    (Model.BASIC, FullLoad.B): Template.B_FULL,
    (Model.STREAM_K, FullLoad.NONE): Template.STREAM_K,
    (Model.SK_SPLIT_K, FullLoad.NONE): Template.STREAM_K,
}
"""Templates of the kernels that take this tiling data record."""


def build_vendor_kernel(
    problem: GemmProblem, plan: KernelPlan, platform: Platform
) -> dict[str, object]:
    """What the host tiling would have to produce for the plan, in the vendor's names and order.

    The kernel is the one that the operator itself would take, on the tensor API (specification:
    host-tiling.md, sections 7, 8 and 10).

    Raises:
        InputError: the vendor's tiling data cannot express the plan; the message names the field.
    """
    is_stream_k = plan.template is Template.STREAM_K
    strategy = Strategy.BASIC_STREAM_K if is_stream_k else Strategy.BASIC_ASWT
    return {
        "strategy": strategy.value,
        "tilingKey": _select_key(problem, plan).encode(),
        "numBlocks": plan.used_core_num,
        "workspaceSize": stream_k_workspace_bytes(platform)
        if is_stream_k
        else BASE_WORKSPACE_BYTES,
        "scheduleMode": STREAM_K_SCHEDULE_MODE if is_stream_k else 0,
        "tilingStruct": BASIC_STRUCT,
        "tilingData": tiling_data_from_plan(problem, plan, l2_bytes=platform.l2_bytes),
    }


def plan_from_vendor_kernel(
    problem: GemmProblem, tiling_key: int, tiling_data: Mapping[str, int]
) -> KernelPlan:
    """The plan that a tiling key and its tiling data describe.

    Raises:
        InputError: no kernel has the key, another record belongs to it, it is for operands stored
            otherwise, or a field is missing.
    """
    key = decode_tiling_key(tiling_key)
    template = _TEMPLATES.get((key.model, key.full_load))
    if template is None or key.api_level is ApiLevel.HIGH:
        raise InputError(
            f"tiling key {tiling_key}: its kernel takes another record than {BASIC_STRUCT}; "
            "give the key of an ASWT, full load or stream-K kernel"
        )
    if (key.trans_a, key.trans_b) != (problem.trans_a, problem.trans_b):
        raise InputError(
            f"tiling key {tiling_key}: it is for trans_a {int(key.trans_a)}, trans_b "
            f"{int(key.trans_b)}, the problem has {int(problem.trans_a)}, {int(problem.trans_b)}"
        )
    on_the_fly = key.l0c_out is L0cOut.ON_THE_FLY
    return plan_from_tiling_data(
        problem,
        template,
        tiling_data,
        l0c_output=L0cOutput.ON_THE_FLY if on_the_fly else L0cOutput.FIXPIPE,
    )


def _select_key(problem: GemmProblem, plan: KernelPlan) -> TilingKey:
    """The kernel variant that runs the plan."""
    return TilingKey(
        api_level=ApiLevel.TENSOR,
        trans_a=problem.trans_a,
        trans_b=problem.trans_b,
        model=_select_model(problem, plan),
        full_load=_FULL_LOADS.get(plan.template, FullLoad.NONE),
        l0c_out=_select_l0c_out(problem, plan),
    )


def _select_model(problem: GemmProblem, plan: KernelPlan) -> Model:
    """The kernel's model: plain fp32 with a long K is split along K inside the kernel."""
    if plan.template is Template.STREAM_K:
        splits = problem.is_plain_fp32 and plan.single_core_k >= SPLIT_K_LENGTH
        return Model.SK_SPLIT_K if splits else Model.STREAM_K
    splits = (
        plan.template is Template.ASWT
        and plan.l0c_output is L0cOutput.ON_THE_FLY
        and problem.is_plain_fp32
        and problem.format_b is Format.ND
        and problem.k >= SPLIT_K_LENGTH
    )
    return Model.BASIC_SPLIT_K if splits else Model.BASIC


def _select_l0c_out(problem: GemmProblem, plan: KernelPlan) -> L0cOut:
    """The way out of L0C; stream-K always shares a tile between two vector cores."""
    if plan.l0c_output is L0cOutput.ON_THE_FLY:
        return L0cOut.ON_THE_FLY
    is_shared = plan.template is Template.STREAM_K or problem.dtype is DType.FP32
    return L0cOut.ND_FIXPIPE_1_2 if is_shared else L0cOut.ND_FIXPIPE_1_1
