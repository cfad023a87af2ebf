"""The operator's whole decision for one problem: strategy, tiling, kernel, launch.

`decide` is the entry for problems and hardware specs, `decide_request` for raw requests that may
be rejected. With `explain` the same code records its steps; nothing else changes.
"""

from dataclasses import dataclass, replace
from typing import Final

from baseline.aswt import compute_aswt, compute_base
from baseline.defects import find_defects
from baseline.dispatch import Strategy, select_strategy
from baseline.platform import Platform
from baseline.request import RequestedStrategy, TilingRequest
from baseline.steps import Recorder, Step
from baseline.stream_k import BASE_WORKSPACE_BYTES, compute_stream_k, stream_k_workspace_bytes
from baseline.tiling_data import (
    BASE_STRUCT,
    BASIC_STRUCT,
    K_EQUAL_ZERO_STRUCT,
    TO_MUL_STRUCT,
    TO_MULTI_MUL_STRUCT,
    RunInfo,
    build_base_tiling_data,
    build_basic_tiling_data,
    build_cube_run_info,
    build_k_equal_zero_tiling_data,
    build_to_mul_tiling_data,
    build_to_multi_mul_tiling_data,
    build_vector_run_info,
)
from baseline.tiling_key import ApiLevel, FullLoad, L0cOut, Model, TilingKey
from baseline.validation import validate
from baseline.vector import compute_to_mul, compute_to_multi_mul
from baseline.what_if import AS_IT_IS, WhatIf
from hwmodel.errors import InputError
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.vendor_tiling import (
    MAX_VENDOR_STEP_K,
    VendorRecord,
    plan_from_asw_tiling_data,
    plan_from_tiling_data,
    plan_from_vector_tiling_data,
)

STREAM_K_SCHEDULE_MODE: Final = 1
"""Stream-K's blocks must all run at once; other kernels have schedule mode 0."""

_FULL_LOAD_TEMPLATES: Final = {
    FullLoad.NONE: Template.ASWT,
    FullLoad.A: Template.A_FULL,
    FullLoad.B: Template.B_FULL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineDecision:
    """What the vendor's host tiling decides.

    Attributes:
        strategy: the strategy that ran.
        plan: the decision as a point of the design space.
        tiling_struct: the vendor's name of the tiling data record.
        tiling_data: the record, by vendor name.
        run_info: the host's own view of the tiling, by vendor name.
        key: the parts of the tiling key.
        num_blocks: blocks to launch.
        workspace_bytes: global memory the kernel may use beside its operands.
        schedule_mode: 1 when all blocks must run at once.
        warnings: defects of the operator that the problem meets; only when explained.
        steps: how the decision came about; only when explained.
    """

    strategy: Strategy
    plan: KernelPlan
    tiling_struct: str
    tiling_data: VendorRecord
    run_info: RunInfo
    key: TilingKey
    num_blocks: int
    workspace_bytes: int = BASE_WORKSPACE_BYTES
    schedule_mode: int = 0
    warnings: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def tiling_key(self) -> int:
        """The tiling key as one integer."""
        return self.key.encode()

    def to_record(self) -> dict[str, object]:
        """The decision in the vendor's names: strategy, key, launch, tiling data and run info."""
        key = self.key
        record: dict[str, object] = {
            "strategy": self.strategy.value,
            "tilingKey": key.encode(),
            "numBlocks": self.num_blocks,
            "workspaceSize": self.workspace_bytes,
            "scheduleMode": self.schedule_mode,
            "apiLevel": int(key.api_level),
            "model": int(key.model),
            "fullLoad": int(key.full_load),
            "l0C2Out": int(key.l0c_out),
            "tilingStruct": self.tiling_struct,
            "tilingData": self.tiling_data,
        }
        if "l2CacheDisable" in self.tiling_data:
            record["l2CacheDisable"] = self.tiling_data["l2CacheDisable"]
        record["runInfo"] = self.run_info
        return record


def decide(
    problem: GemmProblem,
    spec: HardwareSpec,
    *,
    strategy: str = RequestedStrategy.AUTO,
    offset_x: int = 0,
    explain: bool = False,
    what_if: WhatIf = AS_IT_IS,
) -> BaselineDecision:
    """The operator's decision for a problem on a chip.

    Args:
        problem: the GEMM.
        spec: the chip; only the figures of `Platform` count.
        strategy: `auto` for the operator's choice, `base` for the older template.
        offset_x: the operator's attribute; 0x80 avoids the tensor API.
        explain: record the steps and look for defects.
        what_if: what BASIC_ASWT is to take as given; other strategies have no such choices.

    Raises:
        RejectedError: the operator rejects the problem.
        InputError: `strategy` is neither `auto` nor `base`, or a figure of the chip is out of
        range.
    """
    if strategy not in tuple(RequestedStrategy):
        raise InputError(f"strategy {strategy!r}: must be auto or base")
    request = TilingRequest.from_problem(
        problem, strategy=RequestedStrategy(strategy), offset_x=offset_x
    )
    return decide_request(request, Platform.from_spec(spec), explain=explain, what_if=what_if)


def decide_request(
    request: TilingRequest,
    platform: Platform,
    *,
    explain: bool = False,
    what_if: WhatIf = AS_IT_IS,
) -> BaselineDecision:
    """The operator's decision for a raw request.

    Raises:
        RejectedError: the operator rejects the request.
    """
    validate(request, platform)
    problem = request.to_problem()
    recorder = Recorder() if explain else None
    if request.strategy is RequestedStrategy.BASE:
        strategy = Strategy.BASE
    else:
        strategy = select_strategy(problem, platform, recorder)
    if strategy is Strategy.BASIC_ASWT or strategy is Strategy.BASIC_STREAM_K:
        decision = _decide_basic(
            problem, platform, strategy, request.allows_tensor_api, recorder, what_if
        )
    elif strategy is Strategy.BASE:
        decision = _decide_base(problem, platform, recorder)
    else:
        decision = _decide_vector(problem, platform, strategy, recorder)
    return decision if recorder is None else _explain(decision, problem, platform, recorder)


def _decide_basic(
    problem: GemmProblem,
    platform: Platform,
    strategy: Strategy,
    allows_tensor_api: bool,
    recorder: Recorder | None,
    what_if: WhatIf,
) -> BaselineDecision:
    """ASWT with or without a full load, and stream-K: they share one record."""
    is_stream_k = strategy is Strategy.BASIC_STREAM_K
    if is_stream_k:
        tiling, key = compute_stream_k(problem, platform, allows_tensor_api, recorder)
    else:
        tiling, key = compute_aswt(problem, platform, allows_tensor_api, recorder, what_if)
    tiling_data = build_basic_tiling_data(problem, platform, tiling)
    if recorder is not None:
        recorder.add(
            "kernel's L1 slab",
            f"kL1 = {tiling_data['kL1']}: the record states at most {MAX_VENDOR_STEP_K} steps",
            step_ka=tiling.step_ka,
            step_kb=tiling.step_kb,
            step_k=tiling_data["kL1"] // tiling.base_k,
        )
    template = Template.STREAM_K if is_stream_k else _FULL_LOAD_TEMPLATES[key.full_load]
    return BaselineDecision(
        strategy=strategy,
        plan=plan_from_tiling_data(problem, template, tiling_data, l0c_output=_l0c_output(key)),
        tiling_struct=BASIC_STRUCT,
        tiling_data=tiling_data,
        run_info=build_cube_run_info(tiling),
        key=key,
        num_blocks=tiling.used_core_num,
        workspace_bytes=(
            stream_k_workspace_bytes(platform) if is_stream_k else BASE_WORKSPACE_BYTES
        ),
        schedule_mode=STREAM_K_SCHEDULE_MODE if is_stream_k else 0,
    )


def _decide_base(
    problem: GemmProblem, platform: Platform, recorder: Recorder | None
) -> BaselineDecision:
    """The older template."""
    if recorder is not None:
        recorder.add("strategy", "BASE on request; the operator itself no longer chooses it")
    tiling, key = compute_base(problem, platform, recorder)
    tiling_data = build_base_tiling_data(problem, platform, tiling)
    return BaselineDecision(
        strategy=Strategy.BASE,
        plan=plan_from_asw_tiling_data(problem, tiling_data, l0c_output=_l0c_output(key)),
        tiling_struct=BASE_STRUCT,
        tiling_data=tiling_data,
        run_info=build_cube_run_info(tiling),
        key=key,
        num_blocks=tiling.used_core_num,
    )


def _decide_vector(
    problem: GemmProblem, platform: Platform, strategy: Strategy, recorder: Recorder | None
) -> BaselineDecision:
    """The strategies of the vector cores."""
    trans_a, trans_b = problem.trans_a, problem.trans_b
    if strategy is Strategy.K_EQUAL_ZERO:
        template, struct, model = Template.K_EQUAL_ZERO, K_EQUAL_ZERO_STRUCT, Model.K_EQUAL_ZERO
        tiling_data = build_k_equal_zero_tiling_data(problem, platform)
        num_blocks = platform.aiv_num
        run_info: RunInfo = {
            "usedCoreNum": num_blocks,
            "totalDataAmount": problem.m * problem.n,
        }
        trans_a = trans_b = False
    else:
        if strategy is Strategy.TO_MUL:
            template, struct, model = Template.VECTOR, TO_MUL_STRUCT, Model.TO_MUL
            tiling_data = build_to_mul_tiling_data(
                problem, compute_to_mul(problem, platform, recorder)
            )
        else:
            template, struct = Template.TO_MULTI_MUL, TO_MULTI_MUL_STRUCT
            model = Model.TO_MULTI_MUL
            tiling_data = build_to_multi_mul_tiling_data(
                problem, compute_to_multi_mul(problem, platform, recorder)
            )
        num_blocks = tiling_data["usedCoreNum"]
        run_info = build_vector_run_info(tiling_data)
    return BaselineDecision(
        strategy=strategy,
        plan=plan_from_vector_tiling_data(problem, template, tiling_data),
        tiling_struct=struct,
        tiling_data=tiling_data,
        run_info=run_info,
        key=TilingKey(api_level=ApiLevel.BASIC, trans_a=trans_a, trans_b=trans_b, model=model),
        num_blocks=num_blocks,
    )


def _l0c_output(key: TilingKey) -> L0cOutput:
    """The plan's word for the key's L0C output."""
    on_the_fly = key.l0c_out is L0cOut.ON_THE_FLY
    return L0cOutput.ON_THE_FLY if on_the_fly else L0cOutput.FIXPIPE


def _explain(
    decision: BaselineDecision, problem: GemmProblem, platform: Platform, recorder: Recorder
) -> BaselineDecision:
    """The decision with its steps, the key decoded, and the defects it meets."""
    key = decision.key
    recorder.add(
        "tiling key",
        f"{decision.tiling_key} = API {key.api_level.name}, model {key.model.name},"
        f" full load {key.full_load.name}, L0C output {key.l0c_out.name}",
        trans_a=key.trans_a,
        trans_b=key.trans_b,
    )
    return replace(
        decision,
        steps=tuple(recorder.steps),
        warnings=find_defects(problem, platform, decision.strategy, decision.plan.single_core_k),
    )
