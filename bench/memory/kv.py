"""How much memory a model's attention cache takes, from its own configuration.

Each layer with full attention keeps a key and a value of every token: ``2 · kv heads · head size``
numbers (grouped-query attention), or one compressed vector ``kv_lora_rank + qk_rope_head_dim``
(multi-head latent attention, arXiv 2405.04434). A sliding layer keeps only its window and what is
being worked on. Layers with linear attention or Mamba keep a state of fixed size whose layout is
each engine's own: its bytes are unknown here and are never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """The shape of a model's cache. Sizes are numbers kept, to be multiplied by their bytes."""

    full_layers: int = 0
    sliding_layers: int = 0
    state_layers: int = 0
    """Layers with a state of fixed size, whose bytes are not known here."""
    full: int = 0
    """Numbers for each token, of all full layers together."""
    sliding: int = 0
    """Numbers for each token in the window, of all sliding layers together."""
    window: int = 0
    """Tokens."""
    context: int | None = None
    """The longest context that the model was made for, in tokens."""
    unknown: str | None = None
    """What in the configuration keeps the whole from being calculated."""

    @property
    def known(self) -> bool:
        return self.unknown is None and not self.state_layers


ELEMENT_BYTES: Mapping[str, float] = {
    "auto": 2, "half": 2, "float16": 2, "bfloat16": 2, "f16": 2, "bf16": 2, "float": 4,
    "float32": 4, "f32": 4, "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "fp8_inc": 1,
    "q8_0": 34 / 32, "q5_1": 24 / 32, "q5_0": 22 / 32, "q4_1": 20 / 32, "q4_0": 18 / 32,
    "iq4_nl": 18 / 32,
}  # fmt: skip
"""Bytes for each number, by the engines' own names; llama.cpp's types have a scale a block."""


def of_config(config: Mapping[str, Any]) -> Cache:
    """The cache of a model with this ``config.json`` (a multimodal one: of its language part)."""
    text = config.get("text_config") or config.get("llm_config") or config
    layers = text.get("num_hidden_layers") or text.get("n_layer")
    heads = text.get("num_attention_heads") or text.get("n_head")
    if not layers or not heads:
        return Cache(unknown="num_hidden_layers")
    context = text.get("max_position_embeddings")
    for name in _BEYOND:
        if text.get(name):
            return Cache(unknown=name, context=context)
    kinds = _kinds(text, int(layers))
    if isinstance(kinds, str):
        return Cache(unknown=kinds, context=context)
    per_layer = _per_layer(text, int(heads))
    return _cache(kinds, [per_layer] * len(kinds), int(text.get("sliding_window") or 0), context)


def of_gguf(metadata: Mapping[str, Any]) -> Cache:
    """The cache of a model with this GGUF metadata."""
    name = str(metadata.get("general.architecture", ""))

    def of(key: str, default: Any = None) -> Any:
        return metadata.get(f"{name}.{key}", default)

    layers, heads, context = of("block_count"), of("attention.head_count"), of("context_length")
    if not layers or not heads:
        return Cache(unknown="block_count", context=context)
    key_value_heads = _each(of("attention.head_count_kv", heads), layers)
    recurrent = any(key.startswith(f"{name}.ssm.") for key in metadata) or of("wkv.head_size")
    if recurrent and 0 not in key_value_heads and not of("full_attention_interval"):
        return Cache(unknown=f"{name}.ssm", context=context)
    rank = of("attention.kv_lora_rank")
    head = of("embedding_length", 0) // max(_each(heads, layers))
    key_size = of("attention.key_length", head)
    both = key_size + of("attention.value_length", key_size)
    latent = rank + of("rope.dimension_count", 0) if rank else 0
    window = of("attention.sliding_window") or 0
    every = of("full_attention_interval") if recurrent else None
    kinds = ["state" if count == 0 else "full" for count in key_value_heads]
    if every:
        kinds = ["full" if (n + 1) % every == 0 else "state" for n in range(layers)]
    elif window:
        kinds = _gguf_windows(name, of("attention.sliding_window_pattern"), kinds)
    sizes = [latent or count * both for count in key_value_heads]
    return _cache(kinds, sizes, int(window), context)


def size(
    cache: Cache,
    tokens: int,
    requests: int,
    element_bytes: float,
    ahead: int = 512,
    round_to: int = 1,
) -> int:
    """Bytes for ``requests`` requests of ``tokens`` tokens each, without the unknown part.

    ``ahead`` tokens are worked on at once and are held beside a sliding window; an engine keeps
    whole blocks of ``round_to`` tokens.
    """
    kept = min(tokens, cache.window + ahead)
    full, kept = (-(-length // round_to) * round_to for length in (tokens, kept))
    return round((cache.full * full + cache.sliding * kept) * requests * element_bytes)


_BEYOND = (
    "num_kv_shared_layers", "global_head_dim", "index_topk", "attention_chunk_size",
    "cross_attention_layers", "linear_attn_config", "attn_layer_indices", "attn_type_list",
    "block_configs", "compress_ratios",
)  # fmt: skip
"""Keys of models whose layers differ in ways that are not calculated here."""
_STATE_KEYS = (
    "mamba_d_state", "mamba_num_heads", "ssm_cfg", "state_size", "linear_num_value_heads",
    "attn_layer_period", "layers_block_type", "rwkv_version",
)  # fmt: skip
_LAYER_WORDS = {
    "full_attention": "full", "attention": "full", "sliding_attention": "sliding",
    "linear_attention": "state", "mamba": "state", "mamba2": "state", "recurrent": "state",
}  # fmt: skip
_WINDOW_EVERY = {"gpt-oss": 2, "gemma2": 2, "gemma3": 6, "cohere2": 4}
"""Where every nth layer is full in llama.cpp though the GGUF file does not say so."""


def _kinds(text: Mapping[str, Any], layers: int) -> list[str] | str:
    """Each layer's kind, or the key that makes them unknown."""
    if words := text.get("layer_types") or text.get("layers_block_type"):
        if unknown := next((word for word in words if word not in _LAYER_WORDS), None):
            return str(unknown)
        return [_LAYER_WORDS[word] for word in words]
    if pattern := text.get("hybrid_override_pattern"):  # M Mamba, * attention, - and E no cache
        return ["full" if mark == "*" else "state" for mark in pattern if mark in "M*"]
    if every := text.get("full_attention_interval"):
        return ["full" if (n + 1) % every == 0 else "state" for n in range(layers)]
    if key := next((key for key in _STATE_KEYS if text.get(key)), None):
        return key
    if text.get("sliding_window") and (every := text.get("sliding_window_pattern")):
        return ["full" if (n + 1) % every == 0 else "sliding" for n in range(layers)]
    return ["full"] * layers


def _per_layer(text: Mapping[str, Any], heads: int) -> int:
    if rank := text.get("kv_lora_rank"):
        return int(rank) + int(text.get("qk_rope_head_dim") or 0)
    head = text.get("head_dim") or int(text.get("hidden_size") or 0) // heads
    return 2 * int(text.get("num_key_value_heads") or heads) * int(head)


def _cache(kinds: Sequence[str], sizes: Sequence[int], window: int, context: int | None) -> Cache:
    def total(kind: str) -> int:
        return sum(size for one, size in zip(kinds, sizes, strict=True) if one == kind)

    return Cache(
        full_layers=kinds.count("full"),
        sliding_layers=kinds.count("sliding"),
        state_layers=kinds.count("state"),
        full=total("full"),
        sliding=total("sliding"),
        window=window if "sliding" in kinds else 0,
        context=context,
    )


def _gguf_windows(name: str, pattern: Any, kinds: Sequence[str]) -> list[str]:
    """Which layers slide. Where nothing says it, all count as full: the larger figure."""
    if isinstance(pattern, tuple) and len(pattern) == len(kinds):
        slides = [bool(one) for one in pattern]
    else:
        every = pattern if isinstance(pattern, int) else _WINDOW_EVERY.get(name, 1)
        slides = [(n + 1) % every != 0 if every else True for n in range(len(kinds))]
    return [
        "sliding" if slide and kind == "full" else kind
        for slide, kind in zip(slides, kinds, strict=True)
    ]


def _each(value: Any, count: int) -> list[int]:
    """A figure for every layer, of metadata that give one for all or a list."""
    return [int(one) for one in value] if isinstance(value, tuple) else [int(value)] * count
