"""The bundled lists: equal to their generator, and as the specification defines them."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from hwmodel.dtypes import DType
from hwmodel.problem import GemmProblem
from hwmodel.validation.measured import load_measured
from studies.shape_rows import BUNDLED_DIRECTORY, ShapeRow, load_shapes
from studies.shapes.figures import ModelFigures, SkippedError, load_configs
from studies.shapes.generate import ShapeList, build_lists, main, summarise_lists
from studies.shapes.kinds import Kind
from studies.shapes.llm import build_llm_rows

LISTS = {shapes.name: shapes for shapes in build_lists()}


def bundled(name: str) -> tuple[ShapeRow, ...]:
    return load_shapes(BUNDLED_DIRECTORY / f"{name}.csv")


LLM = {row.name: row for row in bundled("llm_shapes")}


@pytest.mark.parametrize("name", LISTS)
def test_files_equal_the_generator(name: str) -> None:
    text = (BUNDLED_DIRECTORY / f"{name}.csv").read_text(encoding="utf-8")
    assert text == LISTS[name].text()
    assert bundled(name) == LISTS[name].rows


def test_no_other_list_is_bundled() -> None:
    assert {path.stem for path in BUNDLED_DIRECTORY.glob("*.csv")} == set(LISTS)


@pytest.mark.parametrize("name", LISTS)
def test_names_are_unique_and_comments_say_where_the_list_comes_from(name: str) -> None:
    rows = LISTS[name].rows
    assert len({row.name for row in rows}) == len(rows)
    assert any("studies.shapes.generate" in comment for comment in LISTS[name].comments)
    assert not LISTS[name].notes


def test_the_script_writes_every_list_and_counts_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--out", str(tmp_path / "new")]) == 0
    for name in LISTS:
        written = (tmp_path / "new" / f"{name}.csv").read_bytes()
        assert written == (BUNDLED_DIRECTORY / f"{name}.csv").read_bytes()
    out = capsys.readouterr().out
    assert "llm_shapes.csv    206 rows\n" in out
    assert "  DeepSeek-V3     decode     39\n" in out


def test_counts_by_model_and_phase() -> None:
    # Layers of one pass: 5 dense, 6 MoE without shared experts, 13 with MLA, 10 GLM; decode has
    # three batch sizes, a training step three GEMMs a layer.
    dense, moe, mla, glm = 5, 6, 13, 10
    assert Counter((row.model, row.phase) for row in LLM.values()) == {
        ("Llama-3.1-8B", "decode"): 3 * dense,
        ("Llama-3.1-8B", "prefill"): dense,
        ("Llama-3.1-8B", "training"): 3 * dense,
        ("Llama-3.1-70B", "decode"): 3 * dense,
        ("Llama-3.1-70B", "prefill"): dense,
        ("Qwen3-32B", "decode"): 3 * dense,
        ("Qwen3-32B", "prefill"): dense,
        ("Qwen3-32B", "training"): 3 * dense,
        ("Qwen3-30B-A3B", "decode"): 3 * moe,
        ("Qwen3-30B-A3B", "prefill"): moe,
        ("DeepSeek-V3", "decode"): 3 * mla,
        ("DeepSeek-V3", "prefill"): mla,
        ("GLM-4.5-Air", "decode"): 3 * glm,
        ("GLM-4.5-Air", "prefill"): glm,
    }


@pytest.mark.parametrize(
    ("name", "label", "weight"),
    [
        # Worked out by hand from the configurations and the specification's table.
        ("Llama-3.1-8B decode m=16 qkv", "16x4096x6144", 32),
        ("Llama-3.1-8B decode m=1 o", "1x4096x4096", 32),
        ("Llama-3.1-8B prefill m=2048 gate_up", "2048x4096x28672", 32),
        ("Llama-3.1-8B prefill tokens=2048 lm_head", "4x4096x128256", 1),
        ("Llama-3.1-70B decode m=64 qkv", "64x8192x1280", 80),
        ("Llama-3.1-70B decode m=64 down", "64x3584x8192", 80),
        ("Qwen3-32B decode m=1 qkv", "1x5120x2560", 64),
        ("Qwen3-32B decode m=1 o", "1x2048x5120", 64),
        ("Qwen3-30B-A3B decode m=1 router", "1x2048x128", 48),
        ("Qwen3-30B-A3B decode m=1 expert_gate_up", "1x2048x1536", 48 * 8),
        ("Qwen3-30B-A3B decode tokens=16 expert_gate_up", "1x2048x1536", 48 * 128),
        ("Qwen3-30B-A3B prefill tokens=2048 expert_down", "128x768x2048", 48 * 128),
        ("DeepSeek-V3 decode m=1 mla_q_a", "1x7168x1536", 61),
        ("DeepSeek-V3 decode m=1 mla_kv_a", "1x7168x576", 61),
        ("DeepSeek-V3 decode m=1 mla_q_b", "1x1536x3072", 61),
        ("DeepSeek-V3 decode m=1 mla_kv_b", "1x512x4096", 61),
        ("DeepSeek-V3 decode m=1 mla_o", "1x2048x7168", 61),
        ("DeepSeek-V3 decode m=1 gate_up", "1x7168x4608", 3),
        ("DeepSeek-V3 decode m=1 down", "1x2304x7168", 3),
        ("DeepSeek-V3 decode m=1 shared_gate_up", "1x7168x512", 58),
        ("DeepSeek-V3 decode m=1 shared_down", "1x256x7168", 58),
        ("DeepSeek-V3 decode m=1 expert_down", "1x2048x7168", 58),
        ("DeepSeek-V3 decode tokens=64 expert_gate_up", "2x7168x4096", 58 * 256 / 8),
        ("DeepSeek-V3 decode m=1 lm_head", "1x7168x16160", 1),
        ("GLM-4.5-Air decode m=1 qkv", "1x4096x3584", 46),
        ("GLM-4.5-Air decode m=1 gate_up", "1x4096x5472", 1),
        ("GLM-4.5-Air decode m=1 shared_down", "1x352x4096", 45),
        ("GLM-4.5-Air decode m=1 expert_gate_up", "1x4096x2816", 45 * 8 / 4),
    ],
)
def test_rows_checked_by_hand(name: str, label: str, weight: float) -> None:
    row = LLM[name]
    assert (row.problem.label(), row.weight) == (label, weight)
    assert (row.problem.trans_a, row.problem.trans_b) == (False, True)
    assert (row.problem.dtype, row.problem.out_dtype) == (DType.BF16, DType.BF16)
    assert row.name.startswith(f"{row.model} {row.phase} ")
    assert row.name.endswith(row.layer)


def test_training_has_the_gradients_with_their_transposes() -> None:
    prefix = "Llama-3.1-8B training tokens=4096 down"
    forward, dx, dw = (LLM[f"{prefix} {kind}"] for kind in ("forward", "dX", "dW"))
    assert forward.problem == GemmProblem(m=4096, k=14336, n=4096, trans_a=False, trans_b=True)
    assert dx.problem == GemmProblem(m=4096, k=4096, n=14336, trans_a=False, trans_b=False)
    assert dw.problem == GemmProblem(m=4096, k=4096, n=14336, trans_a=True, trans_b=False)
    assert LLM["Llama-3.1-8B training tokens=4096 qkv dW"].problem == GemmProblem(
        m=6144, k=4096, n=4096, trans_a=True, trans_b=False
    )
    assert [row.tag for row in (forward, dx, dw)] == ["forward", "dX", "dW"]
    # The vocabulary sees every token in training; in prefill only the last of each sequence.
    head = LLM["Llama-3.1-8B training tokens=4096 lm_head forward"].problem
    assert head.label() == "4096x4096x128256"


def test_three_gemms_of_a_trained_layer_cost_the_same() -> None:
    training = [row for row in LLM.values() if row.phase == "training"]
    macs = Counter(row.problem.macs for row in training)
    layers = {(row.model, row.layer): row.problem.macs for row in training}
    assert all(count % 3 == 0 for count in macs.values())
    assert len(training) == 3 * len(layers)


def test_only_routed_experts_are_tagged_grouped() -> None:
    for row in LLM.values():
        assert (row.tag == "grouped") == row.layer.startswith("expert_")


def test_dense_weights_add_up_to_the_layers_of_the_model() -> None:
    for model in ("DeepSeek-V3", "GLM-4.5-Air"):
        rows = {row.layer: row for row in LLM.values() if row.model == model}
        assert (
            rows["gate_up"].weight + rows["shared_gate_up"].weight
            == rows["lm_head"].weight * ({"DeepSeek-V3": 61, "GLM-4.5-Air": 46}[model])
        )


def test_h4_is_short_k_and_ragged_rows() -> None:
    rows = bundled("h4")
    assert len(rows) == len({row.problem for row in rows}) == 60
    for row in rows:
        problem = row.problem
        assert 64 <= problem.k <= 512
        assert 256 <= problem.m <= 8192
        is_odd_multiple = problem.n % 32 == 16
        is_prime = all(problem.n % d for d in range(2, problem.n))
        assert row.tag == ("prime" if is_prime else "odd multiple of 16")
        assert is_odd_multiple != is_prime
    assert Counter(row.tag for row in rows) == {"prime": 30, "odd multiple of 16": 30}
    assert {row.problem.k for row in rows} >= {64, 512}
    assert {row.problem.m for row in rows} >= {256, 8192}


def test_h5_writes_more_than_it_reads() -> None:
    l2_bytes = 128 * 2**20
    rows = bundled("h5")
    assert len(rows) == len({row.problem for row in rows}) == 40
    for row in rows:
        m, k, n = row.problem.m, row.problem.k, row.problem.n
        assert m * n > m * k + k * n
        assert 0.5 * l2_bytes <= row.problem.c_total_bytes <= 8 * l2_bytes
    sizes = [row.problem.c_total_bytes / l2_bytes for row in rows]
    assert min(sizes) < 0.51
    assert max(sizes) > 7.99


def test_h6_is_matrix_vector_in_16_bit() -> None:
    rows = bundled("h6")
    assert len(rows) == len({row.problem for row in rows}) == 40
    for row in rows:
        assert (row.problem.m == 1) == (row.tag == "M = 1")
        assert (row.problem.n == 1) == (row.tag == "N = 1")
        assert row.problem.m == 1 or row.problem.n == 1
        assert row.problem.dtype is row.problem.out_dtype
        assert row.problem.dtype.size_bytes == 2
    assert Counter(row.tag for row in rows) == {"M = 1": 20, "N = 1": 20}
    assert {row.problem.dtype for row in rows} == {DType.FP16, DType.BF16}
    stored = Counter((r.tag, r.problem.trans_a, r.problem.trans_b) for r in rows)
    assert stored == {
        ("M = 1", False, False): 10,
        ("M = 1", False, True): 10,
        ("N = 1", False, True): 10,
        ("N = 1", True, True): 10,
    }


def test_quick_has_one_of_each_kind() -> None:
    rows = bundled("quick")
    assert [row.tag for row in rows] == list(Kind)
    assert len(rows) == 12


def test_measured_holds_every_measured_row() -> None:
    rows, measured = bundled("measured"), load_measured()
    assert len(rows) == len(measured) == 99
    for row, kernel in zip(rows, measured, strict=True):
        assert (row.problem, row.measured_us) == (kernel.problem, kernel.duration_us)
        assert (row.tag == "locked") == kernel.locked
        assert (row.problem.trans_a, row.problem.trans_b) == (False, False)


def small_config(**changes: object) -> Mapping[str, object]:
    config: dict[str, object] = {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 256,
    }
    return config | changes


@pytest.mark.parametrize(
    ("changes", "tp", "skipped"),
    [
        ({}, 4, {}),
        ({"intermediate_size": 130}, 4, {"gate_up": 1, "down": 1}),
        ({"num_attention_heads": 6, "head_dim": 8}, 4, {"qkv": 1, "o": 1}),
        ({"num_attention_heads": 5}, 1, {"qkv": 1, "o": 1}),
        ({"num_key_value_heads": 3}, 4, {"qkv": 1}),
        ({"vocab_size": None}, 1, {"lm_head": 1}),
        ({"hidden_size": "64"}, 1, dict.fromkeys(("qkv", "gate_up", "o", "down", "lm_head"), 1)),
        (
            {"num_experts": 8, "num_experts_per_tok": 2},
            1,
            {"expert_gate_up": 1, "expert_down": 1},
        ),
        (
            {
                "num_experts": 8,
                "num_experts_per_tok": 2,
                "moe_intermediate_size": 32,
                "decoder_sparse_step": 2,
            },
            1,
            {"router": 1, "expert_gate_up": 1, "expert_down": 1},
        ),
        (
            {"q_lora_rank": 8, "qk_rope_head_dim": 4},
            1,
            {"mla_kv_a": 1, "mla_q_b": 1, "mla_kv_b": 1, "mla_o": 1},
        ),
        (
            {
                "n_routed_experts": 8,
                "n_shared_experts": 1,
                "num_experts_per_tok": 2,
                "moe_intermediate_size": 33,
            },
            2,
            {"shared_gate_up": 1, "shared_down": 1},
        ),
    ],
)
def test_what_cannot_be_derived_is_skipped_with_a_note(
    changes: dict[str, object], tp: int, skipped: dict[str, int]
) -> None:
    rows, notes = build_llm_rows({"M": small_config(**changes)}, models=(("M", tp),), trained=())
    assert Counter(note.split(": ")[1].split(" ")[0] for note in notes) == skipped
    assert not {row.layer for row in rows} & set(skipped)
    assert rows or len(skipped) == 5
    assert [row.index for row in rows] == list(range(len(rows)))


def test_notes_say_why_and_are_shown() -> None:
    rows, notes = build_llm_rows(
        {"M": small_config(vocab_size=255)}, models=(("M", 4), ("Other", 1)), trained=()
    )
    assert notes == (
        "M tp4: lm_head skipped, vocab_size 255 does not divide by tp 4",
        "Other tp1: skipped, no configuration",
    )
    text = summarise_lists([ShapeList(name="some", comments=(), rows=rows, notes=notes)])
    assert "some.csv           16 rows\n" in text
    assert text.endswith(f"note: {notes[0]}\nnote: {notes[1]}\n")


def test_few_kv_heads_are_replicated() -> None:
    figures = ModelFigures("M", small_config(num_key_value_heads=2), tp=4)
    assert (figures.heads(), figures.kv_heads(), figures.head_dim()) == (1, 1, 16)
    with pytest.raises(SkippedError, match="lacks a number of experts"):
        figures.experts()


def test_every_bundled_configuration_states_its_source() -> None:
    configs = load_configs()
    assert len(configs) > 20
    for name, config in configs.items():
        source = ModelFigures(name, config, tp=1).source
        assert source not in ("", "unknown")
