"""Every GEMM of one pass of a language model on one device (specification: studies.md, Shapes).

Notation: a linear layer computes Y = X W^T with X of tokens x K and W stored N x K. Its gradients
are dX = dY W and dW = dY^T X.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hwmodel.integers import ceil_div
from hwmodel.problem import GemmProblem
from studies.shape_rows import ShapeRow
from studies.shapes.figures import ModelFigures, SkippedError

LLM_MODELS = (
    ("Llama-3.1-8B", 1),
    ("Llama-3.1-70B", 8),
    ("Qwen3-32B", 4),
    ("Qwen3-30B-A3B", 1),
    ("DeepSeek-V3", 8),
    ("GLM-4.5-Air", 4),
)
"""Models of the list with their tensor-parallel degree."""

TRAINED_MODELS = ("Llama-3.1-8B", "Qwen3-32B")
"""Models whose training step is in the list as well."""

DECODE_TOKENS = (1, 16, 64)
PREFILL_TOKENS = 2048
TRAINING_TOKENS = 4096

PREFILL_LM_HEAD_ROWS = 4
"""Prefill needs the vocabulary for the last token of each sequence only: four sequences."""

GROUPED_TAG = "grouped"
"""Tag of the routed experts: another operator serves them today, verdicts leave them out."""


class Phase(StrEnum):
    """What the model does."""

    DECODE = "decode"
    PREFILL = "prefill"
    TRAINING = "training"


class Rows(StrEnum):
    """Which tokens pass through a layer."""

    ALL = "all"
    SEQUENCE_ENDS = "sequence ends"
    EXPERT = "those of one expert"


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRule:
    """One row of the specification's table of layers; the functions take the model's figures.

    Attributes:
        name: value of the column `layer`.
        present: whether the model has such a layer.
        count: layers of this kind.
        k: inputs of the layer on one device.
        n: outputs of the layer on one device.
        rows: which tokens pass through it.
    """

    name: str
    present: Callable[[ModelFigures], bool]
    count: Callable[[ModelFigures], int]
    k: Callable[[ModelFigures], int]
    n: Callable[[ModelFigures], int]
    rows: Rows = Rows.ALL


def _always(_: ModelFigures) -> bool:
    return True


def _once(_: ModelFigures) -> int:
    return 1


def _hidden(figures: ModelFigures) -> int:
    return figures.need("hidden_size")


def _is_plain_attention(figures: ModelFigures) -> bool:
    return not figures.is_mla


def _is_mla(figures: ModelFigures) -> bool:
    return figures.is_mla


def _is_moe(figures: ModelFigures) -> bool:
    return figures.is_moe


def _has_dense(figures: ModelFigures) -> bool:
    return figures.dense_layers() > 0


LAYER_RULES = (
    LayerRule(
        name="qkv",
        present=_is_plain_attention,
        count=ModelFigures.layers,
        k=_hidden,
        n=lambda f: (f.heads() + 2 * f.kv_heads()) * f.head_dim(),
    ),
    LayerRule(
        name="o",
        present=_is_plain_attention,
        count=ModelFigures.layers,
        k=lambda f: f.heads() * f.head_dim(),
        n=_hidden,
    ),
    LayerRule(
        name="mla_q_a",
        present=_is_mla,
        count=ModelFigures.layers,
        k=_hidden,
        n=lambda f: f.need("q_lora_rank"),
    ),
    LayerRule(
        name="mla_kv_a",
        present=_is_mla,
        count=ModelFigures.layers,
        k=_hidden,
        n=lambda f: f.need("kv_lora_rank") + f.need("qk_rope_head_dim"),
    ),
    LayerRule(
        name="mla_q_b",
        present=_is_mla,
        count=ModelFigures.layers,
        k=lambda f: f.need("q_lora_rank"),
        n=lambda f: f.heads() * (f.need("qk_nope_head_dim") + f.need("qk_rope_head_dim")),
    ),
    LayerRule(
        name="mla_kv_b",
        present=_is_mla,
        count=ModelFigures.layers,
        k=lambda f: f.need("kv_lora_rank"),
        n=lambda f: f.heads() * (f.need("qk_nope_head_dim") + f.need("v_head_dim")),
    ),
    LayerRule(
        name="mla_o",
        present=_is_mla,
        count=ModelFigures.layers,
        k=lambda f: f.heads() * f.need("v_head_dim"),
        n=_hidden,
    ),
    LayerRule(
        name="gate_up",
        present=_has_dense,
        count=ModelFigures.dense_layers,
        k=_hidden,
        n=lambda f: 2 * f.split("intermediate_size"),
    ),
    LayerRule(
        name="down",
        present=_has_dense,
        count=ModelFigures.dense_layers,
        k=lambda f: f.split("intermediate_size"),
        n=_hidden,
    ),
    LayerRule(
        name="router",
        present=_is_moe,
        count=ModelFigures.moe_layers,
        k=_hidden,
        n=ModelFigures.experts,
    ),
    LayerRule(
        name="shared_gate_up",
        present=ModelFigures.has_shared_experts,
        count=ModelFigures.moe_layers,
        k=_hidden,
        n=lambda f: 2 * f.shared_intermediate(),
    ),
    LayerRule(
        name="shared_down",
        present=ModelFigures.has_shared_experts,
        count=ModelFigures.moe_layers,
        k=ModelFigures.shared_intermediate,
        n=_hidden,
    ),
    LayerRule(
        name="expert_gate_up",
        present=_is_moe,
        count=ModelFigures.moe_layers,
        k=_hidden,
        n=lambda f: 2 * f.need("moe_intermediate_size"),
        rows=Rows.EXPERT,
    ),
    LayerRule(
        name="expert_down",
        present=_is_moe,
        count=ModelFigures.moe_layers,
        k=lambda f: f.need("moe_intermediate_size"),
        n=_hidden,
        rows=Rows.EXPERT,
    ),
    LayerRule(
        name="lm_head",
        present=_always,
        count=_once,
        k=_hidden,
        n=lambda f: f.split("vocab_size"),
        rows=Rows.SEQUENCE_ENDS,
    ),
)
"""The layers in the order they run (specification: studies.md, table of layers)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    """A layer of one model on one device: m rows x k inputs to n outputs, `calls` times a pass."""

    name: str
    m: int
    k: int
    n: int
    calls: float
    tag: str


def build_llm_rows(
    configs: Mapping[str, Mapping[str, object]],
    models: Sequence[tuple[str, int]] = LLM_MODELS,
    trained: Sequence[str] = TRAINED_MODELS,
) -> tuple[tuple[ShapeRow, ...], tuple[str, ...]]:
    """The rows of `models`, and a note for each layer that the figures do not allow to derive."""
    rows: list[ShapeRow] = []
    notes: dict[str, None] = {}
    for name, tp in models:
        if name not in configs:
            notes[f"{name} tp{tp}: skipped, no configuration"] = None
            continue
        figures = ModelFigures(name, configs[name], tp)
        passes = [(Phase.DECODE, tokens) for tokens in DECODE_TOKENS]
        passes.append((Phase.PREFILL, PREFILL_TOKENS))
        if name in trained:
            passes.append((Phase.TRAINING, TRAINING_TOKENS))
        for phase, tokens in passes:
            for rule in LAYER_RULES:
                try:
                    layer = _derive_layer(figures, rule, phase, tokens)
                except SkippedError as reason:
                    notes[f"{name} tp{tp}: {rule.name} skipped, {reason}"] = None
                    continue
                if layer is not None:
                    rows.extend(_build_rows(len(rows), figures, layer, phase, tokens))
    return tuple(rows), tuple(notes)


def _derive_layer(
    figures: ModelFigures, rule: LayerRule, phase: Phase, tokens: int
) -> _Layer | None:
    """The layer of `rule` in this pass, None when the model has none.

    Raises:
        SkippedError: the figures do not allow to derive it.
    """
    if not rule.present(figures):
        return None
    rows, calls, tag = tokens, float(rule.count(figures)), ""
    if rule.rows is Rows.SEQUENCE_ENDS and phase is Phase.PREFILL:
        rows = PREFILL_LM_HEAD_ROWS
    elif rule.rows is Rows.EXPERT:
        experts, routed = figures.experts(), tokens * figures.need("num_experts_per_tok")
        rows = max(1, ceil_div(routed, experts))
        calls *= min(experts, routed) / figures.tp
        tag = GROUPED_TAG
    return _Layer(
        name=rule.name, m=rows, k=rule.k(figures), n=rule.n(figures), calls=calls, tag=tag
    )


def _build_rows(
    first_index: int, figures: ModelFigures, layer: _Layer, phase: Phase, tokens: int
) -> Iterator[ShapeRow]:
    """The GEMMs of a layer: one, or in training the forward one and its two gradients."""
    forward = GemmProblem(m=layer.m, k=layer.k, n=layer.n)
    gemms = {"": forward}
    if phase is Phase.TRAINING:
        gemms = {
            "forward": forward,
            "dX": GemmProblem(m=layer.m, k=layer.n, n=layer.k, trans_a=False, trans_b=False),
            "dW": GemmProblem(m=layer.n, k=layer.m, n=layer.k, trans_a=True, trans_b=False),
        }
    # A row's m is not always the number of tokens: an expert sees a few, dW has the outputs there.
    size = (
        f"m={tokens}" if layer.m == tokens and phase is not Phase.TRAINING else f"tokens={tokens}"
    )
    for offset, (kind, problem) in enumerate(gemms.items()):
        yield ShapeRow(
            index=first_index + offset,
            name=f"{figures.name} {phase} {size} {layer.name} {kind}".rstrip(),
            problem=problem,
            weight=layer.calls,
            tag=layer.tag or kind,
            model=figures.name,
            layer=layer.name,
            phase=phase.value,
            tp=figures.tp,
            tokens=tokens,
        )
