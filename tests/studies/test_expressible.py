from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodel.plan import KernelPlan, StreamKOrder, Template, canonical_plan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.vendor_tiling import find_inexpressible_field
from studies.expressible import find_new_field, mark_expressible

plans = st.builds(
    KernelPlan,
    template=st.sampled_from(Template),
    base_m=st.sampled_from((16, 32, 64, 128, 256)),
    base_n=st.sampled_from((16, 32, 64, 128, 256)),
    base_k=st.sampled_from((16, 64, 256)),
    step_k=st.integers(1, 8),
    resident_slabs=st.sampled_from((0, 0, 0, 2)),
    window_len=st.integers(1, 12),
    serpentine=st.booleans(),
    single_core_k=st.just(512),
    sk_order=st.sampled_from(StreamKOrder),
    used_core_num=st.just(32),
)
problems = st.builds(
    GemmProblem, m=st.integers(1, 2500), k=st.integers(1, 1500), n=st.integers(1, 600)
)
repeatable = settings(derandomize=True, deadline=None, max_examples=200)


@given(problem=problems, columns=st.lists(plans, min_size=1, max_size=12), canonical=st.booleans())
@repeatable
def test_columns_say_what_the_vendors_record_says(
    problem: GemmProblem, columns: list[KernelPlan], canonical: bool
) -> None:
    if canonical:
        columns = [canonical_plan(problem, plan) for plan in columns]
    marks = mark_expressible(problem, PlanBatch.from_plans(columns))
    assert list(marks) == [find_inexpressible_field(problem, plan) is None for plan in columns]


def test_the_vendors_own_plan_needs_no_new_field() -> None:
    problem = GemmProblem(m=1, k=512, n=777)
    vector = KernelPlan(
        template=Template.VECTOR,
        base_m=1,
        base_n=16,
        base_k=512,
        step_k=1,
        single_core_k=512,
        used_core_num=64,
    )
    assert find_new_field(problem, vector, vector) == ""
    assert find_new_field(problem, replace(vector, base_n=32), vector) == "template"
