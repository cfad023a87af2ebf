"""The vendor's block orders: a swizzle request to the parameters of the walk.

The vendor's schedulers are the walk of `hwmodel.walk` with fixed parameters: windows of four block
rows (BASE: the tiling data's aswWindowLen), serpentine on, the stream-K piece before the last
data-parallel item. A request carries tiling data under the vendor's names and is read by
`parse_request`; `swizzle_record.py` writes the work list in the form of the specification
(swizzle.md, "The golden files").
"""

from dataclasses import replace

from baseline.json_lines import FLAGS, Fields, read_choice, read_int, require, show
from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.errors import InputError
from hwmodel.plan import VENDOR_WINDOW_LEN, KernelPlan, L0cOutput, Template
from hwmodel.problem import MAX_DIM, GemmProblem
from hwmodel.walk import WalkParams, walk_params

TEMPLATE_OF_KIND = {
    "aswt": Template.ASWT,
    "aswt_a_full": Template.A_FULL,
    "aswt_b_full": Template.B_FULL,
    "streamk": Template.STREAM_K,
    "asw_base": Template.BASE,
    "to_mul": Template.VECTOR,
    "to_multi_mul": Template.TO_MULTI_MUL,
    "k_eq_zero": Template.K_EQUAL_ZERO,
}
"""Template of each `kind` of request."""

REQUIRED_KEYS = ("kind", "m", "k", "n", "usedCoreNum", "dtype")

MAX_CORES = 65536
"""Most cores of a request: bounds the memory of an answer; real chips have fewer than 100."""

ON_THE_FLY = 0
"""`l0c2out` of tiles that go straight to C (specification: swizzle.md, "The golden files")."""

ND_FIXPIPE_1_2 = 2
"""`l0c2out` of tiles that both vector cores may write; 1 is the variant with one of them."""

_DTYPES = {dtype.value: dtype for dtype in DType}
_LAYOUTS = {layout.value: layout for layout in Format}
_L1_TILED = frozenset({Template.ASWT, Template.A_FULL, Template.B_FULL})
_PLAIN = frozenset({Template.TO_MULTI_MUL, Template.STREAM_K})


def parse_request(request: Fields) -> WalkParams:
    """The walk that a request (the `input` object of the specification's swizzle cases) asks for.

    Keys that the kind does not use are ignored.

    Raises:
        InputError: a key is missing or wrong, or the tiling data contradict each other.
    """
    require(request, REQUIRED_KEYS)
    template = read_choice(request, "kind", TEMPLATE_OF_KIND, Template.ASWT)
    problem = _read_problem(request)
    if template is Template.K_EQUAL_ZERO:
        return walk_params(problem, _read_plan(request, template, problem, tile=(1, 1)))
    if template is Template.VECTOR:
        base_mn = _read_base_mn(request, problem)
        tile = (base_mn, base_mn)
        return walk_params(problem, _read_plan(request, template, problem, tile))
    block_keys = ("mL1", "nL1") if template in _L1_TILED else ("baseM", "baseN")
    block_m, block_n = (_read_int(request, key) for key in block_keys)
    tile = (
        _read_int(request, "baseM") if template is Template.A_FULL else block_m,
        _read_int(request, "baseN") if template is Template.B_FULL else block_n,
    )
    params = walk_params(problem, _read_plan(request, template, problem, tile))
    if template in _PLAIN:
        return params
    return replace(
        params,
        block_m=block_m,
        block_n=block_n,
        m_tail_cnt=_read_int(request, "mTailCnt", 1),
        n_tail_cnt=_read_int(request, "nTailCnt", 1),
        m_base_tail_split_cnt=_read_int(request, "mBaseTailSplitCnt", 1),
        n_base_tail_split_cnt=_read_int(request, "nBaseTailSplitCnt", 1),
        m_tail_main=_read_int(request, "mTailMain", 0, low=0),
        n_tail_main=_read_int(request, "nTailMain", 0, low=0),
    )


def _read_problem(request: Fields) -> GemmProblem:
    dtype = read_choice(request, "dtype", _DTYPES, DType.BF16)
    is_hf32 = read_choice(request, "isHf32", FLAGS, False)
    return GemmProblem(
        m=_read_int(request, "m"),
        k=_read_int(request, "k", low=0),
        n=_read_int(request, "n"),
        trans_a=read_choice(request, "transA", FLAGS, False),
        trans_b=read_choice(request, "transB", FLAGS, True),
        dtype=dtype,
        out_dtype=read_choice(request, "cDtype", _DTYPES, dtype),
        format_b=read_choice(request, "layoutB", _LAYOUTS, Format.ND),
        op_impl_mode=OpImplMode.HF32 if is_hf32 else OpImplMode.DEFAULT,
    )


def _read_plan(
    request: Fields, template: Template, problem: GemmProblem, tile: tuple[int, int]
) -> KernelPlan:
    """The part of the tiling data that a plan can say, with items of `tile` rows and columns."""
    output = _read_int(request, "l0c2out", ON_THE_FLY, low=0, high=ND_FIXPIPE_1_2)
    is_stream_k = template is Template.STREAM_K
    # Stream-K pads its workspace rows in the 1_2 variant only.
    is_fixpipe = output == ND_FIXPIPE_1_2 if is_stream_k else output != ON_THE_FLY
    is_base = template is Template.BASE
    return KernelPlan(
        template=template,
        base_m=tile[0],
        base_n=tile[1],
        # The walk does not depend on the steps along K.
        base_k=1,
        step_k=1,
        l0c_output=L0cOutput.FIXPIPE if is_fixpipe else L0cOutput.ON_THE_FLY,
        window_len=_read_int(request, "windowLen") if is_base else VENDOR_WINDOW_LEN,
        single_core_k=_read_int(request, "skSingleCoreK") if is_stream_k else problem.k,
        used_core_num=_read_int(request, "usedCoreNum", high=MAX_CORES),
    )


def _read_base_mn(request: Fields, problem: GemmProblem) -> int:
    """TO_MUL's tile; the tile count and the last tile follow from it and must agree."""
    base_mn = _read_int(request, "baseMN")
    tiles, tail = divmod(problem.m * problem.n, base_mn)
    for key, expected in (("tileNum", tiles + bool(tail)), ("tailMN", tail)):
        value = _read_int(request, key, expected, low=0)
        if value != expected:
            raise InputError(f"{key} = {value}: baseMN = {base_mn} makes it {expected}")
    return base_mn


def _read_int(
    request: Fields,
    key: str,
    default: int | None = None,
    *,
    low: int = 1,
    high: int = MAX_DIM,
) -> int:
    """The integer under `key`, which is required where there is no default."""
    if key not in request:
        if default is None:
            raise InputError(f"key {key} is missing; this kind needs it")
        return default
    value = read_int(request, key)
    if not low <= value <= high:
        raise InputError(f"{key} = {show(value)}: must be in {low}..{high}")
    return value
