"""What a launch needs of this machine's memory, in bytes.

Two kinds of engine. One with a *budget* (vLLM, SGLang) takes a fixed share of all memory, whatever
the model: that share must be free, and the model must fit into it. One without (llama.cpp, Ollama)
takes what the model, the cache of all its slots and its own work need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec

from bench.errors import Field
from bench.machine.host import GIB, Host
from bench.memory import kv
from bench.memory.weights import Weights
from engines import Recipe

SHARE_FLAGS: Mapping[str, tuple[str, float]] = {
    "vllm": ("gpu-memory-utilization", 0.92),
    "vllm-community": ("gpu-memory-utilization", 0.92),
    "sglang": ("mem-fraction-static", 0.85),
}
"""Engines with a budget: the flag that sets their share of all memory, and their own default."""
RESERVE: Mapping[str, int] = {
    "vllm": 8 * GIB,
    "vllm-community": 8 * GIB,
    "sglang": 8 * GIB,
    "trtllm": 8 * GIB,
    "llama.cpp": 3 * GIB,
    "ollama": 3 * GIB,
    "llama.cpp-local": GIB // 2,
}
"""Room for the engine itself: program, work space, graphs. The published gpt-oss-120b run leaves
0.7 · 121.69 − 60 − 16.48 = 8.7 GiB for it; llama.cpp's work space is smaller."""
UNKNOWN_ROOM = 0.25
"""Where a part is unknown, this share of the weights is kept for it."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What the measurement asks of the engine at most."""

    tokens: int
    """Prompt and output of one request."""
    concurrency: int


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes are bytes."""

    host: Host
    floor: int
    flag: str | None
    """The engine's flag for its share; None for an engine without a budget."""
    share: float
    weights: int
    published: bool
    """The weights' size is their publisher's word."""
    reserve: int
    cache: Callable[[int, int], int]
    """Bytes for so many requests of so many tokens, without an unknown part."""
    shape: kv.Cache
    exact: bool
    context: int
    slots: int
    load: Load | None

    @property
    def most(self) -> int:
        """What can be given to an engine without reaching the floor."""
        return self.host.memory.available - self.floor

    @property
    def budget(self) -> int:
        return round(self.share * self.host.memory.total) if self.flag else self.most

    @property
    def room(self) -> int:
        """What the budget leaves for the cache."""
        return self.budget - self.weights - self.reserve

    @property
    def used(self) -> int:
        """Cache at the measurement's top level; what is held where no measurement is given."""
        if not self.flag or not self.load:
            return self.held
        return self.cache(self.load.tokens, min(self.load.concurrency, self.slots))

    @property
    def held(self) -> int:
        """Cache without which the engine does not start: one full request, or all slots."""
        return self.cache(self.context, 1 if self.flag else self.slots)

    @property
    def least(self) -> int:
        return self.weights + self.reserve + self.held

    @property
    def enough_share(self) -> float:
        """The least share that holds the model and the measurement, if that is free."""
        unknown = 0 if self.exact else UNKNOWN_ROOM * self.weights
        wanted = self.weights + self.reserve + max(self.held, self.used) + unknown
        share = math.ceil(wanted / self.host.memory.total * 100) / 100
        return min(share, self.best_share)

    @property
    def best_share(self) -> float:
        """The largest share that leaves the floor free."""
        return max(0, math.floor(self.most / self.host.memory.total * 100) / 100)


def of(
    host: Host, weights: Weights, recipe: Recipe, load: Load | None = None, floor: int = 4 * GIB
) -> Need:
    """The needs of ``recipe`` with ``weights`` on ``host``.

    ``floor`` is MemAvailable in bytes at which the watchdog stops an engine: it is kept free.
    """
    flag, default = SHARE_FLAGS.get(recipe.engine, (None, 1.0))
    read = kv.of_gguf if weights.format == "gguf" else kv.of_config
    shape = read(weights.config)
    element, ahead, block = _keeping(recipe, weights, shape)
    return Need(
        host=host,
        floor=floor,
        flag=flag,
        share=float(recipe.flags.get(flag or "", default)),
        weights=weights.bytes,
        published=weights.published,
        reserve=RESERVE.get(recipe.engine, 0),
        cache=lambda tokens, requests: kv.size(shape, tokens, requests, element or 0, ahead, block),
        shape=shape,
        exact=shape.known and element is not None,
        context=recipe.context or shape.context or 0,
        slots=max(1, recipe.slots),
        load=load,
    )


def _keeping(recipe: Recipe, weights: Weights, shape: kv.Cache) -> tuple[float | None, int, int]:
    """How the engine keeps its cache: bytes a number, tokens ahead of a window, tokens a block."""
    flags = recipe.flags
    if weights.format == "safetensors":
        ahead = int(flags.get("max-num-batched-tokens", 8192))
        return _bytes(flags.get("kv-cache-dtype", "auto")), ahead, 16
    keys, values = (_bytes(flags.get(name, "f16")) for name in ("cache-type-k", "cache-type-v"))
    element = (keys + values) / 2 if keys and values else None
    window = shape.window + int(flags.get("ubatch-size", 512))
    return element, -(-window // 256) * 256 - shape.window, 1


def _bytes(name: Field) -> float | None:
    return kv.ELEMENT_BYTES.get(str(name).lower())
