"""Random small kernels of the vector cores, on the chips of `random_cases.py`."""

from dataclasses import replace
from random import Random

from hwmodel.dtypes import DType, Format
from hwmodel.emulator.constants import rate_q
from hwmodel.integers import ceil_div
from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import GemmProblem
from tests.hwmodel.emulator.random_cases import Case, make_constants

VECTOR_TEMPLATES = (Template.VECTOR, Template.TO_MULTI_MUL, Template.K_EQUAL_ZERO)
MAX_CORES = 5


def _make_problem(random: Random, template: Template) -> GemmProblem:
    dtype = random.choice((DType.BF16, DType.FP16, DType.FP32))
    m, n = random.randint(1, 150), random.randint(1, 150)
    k = random.choice((random.randint(1, 300), 64 * random.randint(1, 5)))
    if template is Template.VECTOR:
        long = random.choice((random.randint(1, 900), 64 * random.randint(1, 10)))
        m, n = random.choice(((1, long), (long, 1)))
    elif template is Template.K_EQUAL_ZERO:
        k = 0
        m = random.choice((1, random.randint(1, 3000)))
        n = random.choice((1, random.randint(1, 2000)))
    return GemmProblem(
        m=m,
        n=n,
        k=k,
        trans_a=random.random() < 0.4,
        trans_b=random.random() < 0.6,
        dtype=dtype,
        out_dtype=random.choice((dtype, DType.FP32)),
        bias_dtype=random.choice((None, None, DType.FP32, dtype)),
        format_b=random.choice((*[Format.ND] * 5, Format.NZ)),
    )


def make_vector_case(template: Template, seed: int) -> Case:
    """Case `seed` of a template; the same one on every machine."""
    random = Random(f"{template}-{seed}")
    problem = _make_problem(random, template)
    tile = random.randint(1, 128)
    base_m, base_n = random.randint(1, 64), random.randint(1, 64)
    if template is Template.VECTOR:
        base_m, base_n = (1, tile) if problem.m == 1 else (tile, 1)
    plan = KernelPlan(
        template=template,
        base_m=base_m,
        base_n=base_n,
        base_k=64 if template is Template.TO_MULTI_MUL else random.randint(20, 200),
        step_k=1,
        single_core_k=max(1, problem.k),
        used_core_num=random.randint(1, MAX_CORES),
    )
    if template is not Template.K_EQUAL_ZERO:
        tiles = ceil_div(problem.m, base_m) * ceil_div(problem.n, base_n)
        plan = replace(plan, used_core_num=min(plan.used_core_num, tiles))
    constants = make_constants(random, problem)
    constants = replace(
        constants,
        aiv_hbm_q=rate_q(random.choice((16, random.uniform(1, 60)))),
        aiv_l2_q=rate_q(random.choice((42, random.uniform(1, 60)))),
    )
    return Case(problem, plan, constants)
