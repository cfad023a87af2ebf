"""PlanBatch: many plans as NumPy columns, the form the batch cost models take."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hwmodel.plan import KernelPlan, L0cOutput, StreamKOrder, Template

IntColumn = NDArray[np.int64]

TEMPLATE_CODES = {template: code for code, template in enumerate(Template)}
"""Integer code of each template in the `template` column."""

_TEMPLATES = tuple(Template)
_OUTPUTS = tuple(L0cOutput)
_ORDERS = tuple(StreamKOrder)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanBatch:
    """Columns of shape (n,), one per field of KernelPlan; enums as codes, serpentine as 0/1."""

    template: IntColumn
    base_m: IntColumn
    base_n: IntColumn
    base_k: IntColumn
    step_k: IntColumn
    l1_buffer_num: IntColumn
    resident_slabs: IntColumn
    db_l0c: IntColumn
    ub_db: IntColumn
    l0c_output: IntColumn
    window_len: IntColumn
    serpentine: IntColumn
    m_tail_cnt: IntColumn
    n_tail_cnt: IntColumn
    single_core_k: IntColumn
    sk_order: IntColumn
    used_core_num: IntColumn

    def __len__(self) -> int:
        """Number of plans."""
        return len(self.base_m)

    def plan(self, index: int) -> KernelPlan:
        """The plan in row `index`."""
        row = {field.name: int(getattr(self, field.name)[index]) for field in fields(self)}
        template = _TEMPLATES[row.pop("template")]
        output = _OUTPUTS[row.pop("l0c_output")]
        order = _ORDERS[row.pop("sk_order")]
        serpentine = bool(row.pop("serpentine"))
        return KernelPlan(
            template=template, l0c_output=output, sk_order=order, serpentine=serpentine, **row
        )

    def select(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> "PlanBatch":
        """The batch of the given rows (boolean mask or indices), in their order."""
        return PlanBatch(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})

    @staticmethod
    def from_plans(plans: Sequence[KernelPlan]) -> "PlanBatch":
        """The batch of `plans`, in their order."""
        codes = {
            "template": lambda plan: TEMPLATE_CODES[plan.template],
            "l0c_output": lambda plan: _OUTPUTS.index(plan.l0c_output),
            "sk_order": lambda plan: _ORDERS.index(plan.sk_order),
        }
        columns = {
            field.name: np.array(
                [
                    codes[field.name](plan)
                    if field.name in codes
                    else int(getattr(plan, field.name))
                    for plan in plans
                ],
                dtype=np.int64,
            )
            for field in fields(PlanBatch)
        }
        return PlanBatch(**columns)

    @staticmethod
    def concatenate(batches: Sequence["PlanBatch"]) -> "PlanBatch":
        """One batch of all rows, in order; `batches` is not empty."""
        return PlanBatch(
            **{
                field.name: np.concatenate([getattr(batch, field.name) for batch in batches])
                for field in fields(PlanBatch)
            }
        )
