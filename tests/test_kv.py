"""The attention cache's size, against what engines printed for the same models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.memory import kv
from bench.memory.kv import Cache

GIB = 1024**3
GPT_OSS: dict[str, Any] = json.loads(
    (Path(__file__).parent / "data" / "spark" / "gpt-oss-120b.config.json").read_text()
)
GEMMA = {  # gemma3-270m's own header
    "general.architecture": "gemma3", "gemma3.block_count": 18, "gemma3.context_length": 32768,
    "gemma3.embedding_length": 640, "gemma3.attention.head_count": 4,
    "gemma3.attention.head_count_kv": 1, "gemma3.attention.key_length": 256,
    "gemma3.attention.value_length": 256, "gemma3.attention.sliding_window": 512,
}  # fmt: skip
SMOLLM = {
    "general.architecture": "llama", "llama.block_count": 30, "llama.context_length": 8192,
    "llama.embedding_length": 576, "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": 3,
}  # fmt: skip


def test_grouped_query_attention_keeps_two_vectors_for_each_kv_head() -> None:
    cache = kv.of_config({"num_hidden_layers": 80, "num_attention_heads": 64, "hidden_size": 8192,
                          "num_key_value_heads": 8, "max_position_embeddings": 131072})  # fmt: skip
    assert cache == Cache(full_layers=80, full=2 * 8 * 128 * 80, context=131072)
    assert kv.size(cache, 1, 1, 2) == 327_680  # the well-known 320 KiB of a 70B Llama


def test_attention_without_groups_keeps_every_head() -> None:
    cache = kv.of_config({"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 256})
    assert kv.size(cache, 10, 1, 1) == 2 * 4 * 64 * 2 * 10


def test_latent_attention_keeps_one_compressed_vector() -> None:
    cache = kv.of_config({"num_hidden_layers": 61, "num_attention_heads": 128, "hidden_size": 7168,
                          "kv_lora_rank": 512, "qk_rope_head_dim": 64,
                          "num_key_value_heads": 128})  # fmt: skip
    assert kv.size(cache, 1, 1, 2) == 61 * 576 * 2


def test_the_published_kv_size_of_gpt_oss_is_reproduced() -> None:
    """16.48 GiB held 849,942 tokens = 25.94 requests of 32,768, as published for one Spark.

    Blocks of 16 tokens, 4,096 tokens ahead: vLLM adds a block to a sliding layer's share.
    """
    cache = kv.of_config(GPT_OSS)
    assert (cache.full_layers, cache.sliding_layers, cache.window) == (18, 18, 128)
    assert kv.size(cache, 1, 1, 1) == 36 * 2 * 8 * 64
    one = kv.size(cache, 32_768, 1, kv.ELEMENT_BYTES["fp8_e4m3"], ahead=4096 + 15, round_to=16)
    assert 16.48 * GIB / one == pytest.approx(25.94, abs=0.01)
    assert 16.48 * GIB / one * 32_768 == pytest.approx(849_942, rel=0.0005)


def test_llama_cpp_allocates_what_is_calculated_for_a_plain_model() -> None:
    """Its log for 4 slots of 2048: "llama_kv_cache: size = 180.00 MiB (2048 cells, 30 layers)"."""
    assert kv.size(kv.of_gguf(SMOLLM), 2048, 4, 2) == 180 * 2**20


def test_llama_cpp_allocates_what_is_calculated_for_a_sliding_model() -> None:
    """Its log: 24.00 MiB in 3 full layers of 2048 cells and 60.00 MiB in 15 of 1024."""
    cache = kv.of_gguf(GEMMA)
    assert (cache.full_layers, cache.sliding_layers) == (3, 15)
    assert kv.size(cache, 2048, 4, 2, ahead=512) == (24 + 60) * 2**20


def test_a_window_longer_than_the_context_keeps_only_the_context() -> None:
    cache = Cache(sliding_layers=1, sliding=10, window=4096)
    assert kv.size(cache, 100, 1, 1) == 1000


def test_a_quantized_cache_counts_its_scales() -> None:
    assert kv.size(Cache(full=32), 1, 1, kv.ELEMENT_BYTES["q8_0"]) == 34


def test_linear_attention_leaves_a_known_part_and_an_unknown_one() -> None:
    text = {"num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 2,
            "head_dim": 256, "linear_num_value_heads": 32}  # fmt: skip
    named = ["linear_attention"] * 3 + ["full_attention"]
    for config in (
        {"text_config": {**text, "layer_types": named * 2}},
        {**text, "full_attention_interval": 4},
    ):
        cache = kv.of_config(config)
        assert (cache.full_layers, cache.state_layers, cache.known) == (2, 6, False)
        assert kv.size(cache, 1, 1, 1) == 2 * 2 * 2 * 256


@pytest.mark.parametrize(
    ("extra", "unknown"),
    [
        ({"linear_num_value_heads": 32}, "linear_num_value_heads"),
        ({"mamba_d_state": 128}, "mamba_d_state"),
        ({"layer_types": ["full_attention", "moonlight"]}, "moonlight"),
        ({"kv_lora_rank": 512, "index_topk": 2048}, "index_topk"),
        ({"global_head_dim": 512}, "global_head_dim"),
        ({"num_hidden_layers": None}, "num_hidden_layers"),
    ],
)
def test_what_is_not_understood_is_unknown_and_never_guessed(
    extra: dict[str, Any], unknown: str
) -> None:
    config = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 256, **extra}
    cache = kv.of_config(config)
    assert (cache.unknown, cache.known) == (unknown, False)
    assert kv.size(cache, 1000, 1, 2) == 0


def test_a_hybrid_of_mamba_and_attention_counts_its_attention() -> None:
    shape = {"num_hidden_layers": 7, "num_attention_heads": 4, "hidden_size": 256}
    cache = kv.of_config({**shape, "hybrid_override_pattern": "M-M*-ME"})
    assert (cache.full_layers, cache.state_layers) == (1, 3)


def test_a_sliding_pattern_makes_every_nth_layer_full() -> None:
    base = {"num_hidden_layers": 12, "num_attention_heads": 4, "hidden_size": 256}
    cache = kv.of_config({**base, "sliding_window": 64, "sliding_window_pattern": 6})
    assert (cache.full_layers, cache.sliding_layers, cache.window) == (2, 10, 64)
    off = kv.of_config({**base, "sliding_window": 64, "use_sliding_window": False})
    assert (off.full_layers, off.sliding_layers, off.window) == (12, 0, 0)


def test_a_gguf_hybrid_counts_its_attention_layers() -> None:
    base = {"general.architecture": "h", "h.block_count": 4, "h.embedding_length": 64,
            "h.attention.head_count": 4, "h.ssm.state_size": 16}  # fmt: skip
    by_list = kv.of_gguf({**base, "h.attention.head_count_kv": (0, 2, 0, 0)})
    assert (by_list.full_layers, by_list.state_layers, by_list.full) == (1, 3, 2 * 2 * 16)
    every = {"h.attention.head_count_kv": 2, "h.full_attention_interval": 4}
    by_interval = kv.of_gguf({**base, **every})
    assert (by_interval.full_layers, by_interval.state_layers) == (1, 3)
    assert kv.of_gguf({**base, "h.attention.head_count_kv": 2}).unknown == "h.ssm"


def test_a_gguf_with_latent_attention_keeps_one_vector() -> None:
    cache = kv.of_gguf({"general.architecture": "d", "d.block_count": 2, "d.embedding_length": 64,
                        "d.attention.head_count": 4, "d.attention.head_count_kv": 1,
                        "d.attention.kv_lora_rank": 512, "d.rope.dimension_count": 64})  # fmt: skip
    assert cache.full == 2 * 576


def test_a_gguf_may_say_which_layers_slide() -> None:
    told = {**GEMMA, "general.architecture": "gemma3",
            "gemma3.attention.sliding_window_pattern": (True, False) * 9}  # fmt: skip
    assert kv.of_gguf(told).full_layers == 9
    other = {key.replace("gemma3", "newer"): value for key, value in GEMMA.items()}
    assert kv.of_gguf({**other, "general.architecture": "newer"}).sliding_layers == 0
    assert kv.of_gguf({"general.architecture": "x"}).unknown == "block_count"
