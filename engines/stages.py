"""What an engine's log says of its start: stages, figures, and how long it may still take.

One line at a time: ``progress = step(progress, line, at)``. Patterns go by meaning, so that old and
new wording give the same figures; prefixes, colours and thousands commas are no matter; an unknown
line is no error. vLLM's formats: v1/core/kv_cache_utils.py, v1/worker/gpu_worker.py and
model_loader/default_loader.py; llama.cpp's: tools/server and src/llama-model.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_type_hints

import msgspec

StageName = Literal["starting", "weights", "compile", "cache", "graphs", "server", "ready"]
ORDER: tuple[StageName, ...] = (
    "starting",
    "weights",
    "compile",
    "cache",
    "graphs",
    "server",
    "ready",
)
"""Stages only move forward. ``ready`` is the log's own word for it: whether an engine is ready is
decided by its answers, not by its log."""


class LoadFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a start gave, by the engine's own words. None: it has not said."""

    version: str | None = None
    shards_done: int | None = None
    shards_total: int | None = None
    weights_seconds: float | None = None
    model_gib: float | None = None
    model_seconds: float | None = None
    compile_seconds: float | None = None
    graphs_seconds: float | None = None
    graphs_gib: float | None = None
    kv_gib: float | None = None
    kv_tokens: int | None = None
    context: int | None = None
    """Tokens of context of one request: vLLM's model length, llama.cpp's slot."""
    max_concurrency: float | None = None
    """Requests of full context that the cache holds."""
    engine_seconds: float | None = None
    slots: int | None = None
    kv_unified: bool | None = None
    """llama.cpp: all slots share one pool of context."""
    gpu_layers: int | None = None
    gpu_layers_of: int | None = None


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    name: StageName
    began: float
    """Seconds since the start."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    stages: tuple[Stage, ...] = (Stage(name="starting", began=0.0),)
    facts: LoadFacts = LoadFacts()
    share: float | None = None
    """Of the present stage, 0 to 1; None where nothing tells."""
    moved: float = 0.0
    """Seconds since the start at which something last went forward: what giving up goes by."""

    @property
    def stage(self) -> StageName:
        return self.stages[-1].name


def read(lines: Iterable[str]) -> Progress:
    """The state after all of these lines."""
    progress = Progress()
    for line in lines:
        progress = step(progress, line, 0.0)
    return progress


def step(progress: Progress, line: str, at: float) -> Progress:
    """The state after one more line, seen ``at`` seconds after the start."""
    text = plain(line)
    for stage, pattern in _PATTERNS:
        if match := pattern.search(text):
            return _with(progress, stage, _figures(match), at)
    return progress


def plain(line: str) -> str:
    """A line without colours and cursor movements; of ``\\r`` the last state."""
    return _ANSI.sub("", line).rstrip("\r\n").rpartition("\r")[2]


def durations(progress: Progress, end: float) -> dict[str, float]:
    """Seconds of each stage, the last one until ``end``."""
    ends = [stage.began for stage in progress.stages[1:]] + [end]
    return {
        stage.name: until - stage.began for stage, until in zip(progress.stages, ends, strict=True)
    }


_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|[\x00-\x08\x0b\x0c\x0e-\x1a]")
_NUMBER = r"\d(?:[\d,]*\d)?(?:\.\d+)?"
_SECONDS = r"\s*(?:s\b|secs?\b|seconds?\b)"


def _patterns(
    *rows: tuple[StageName | None, str],
) -> list[tuple[StageName | None, re.Pattern[str]]]:
    """``<name>`` stands for a number that is a group of that name."""

    def group(match: re.Match[str]) -> str:
        return f"(?P<{match[1]}>{_NUMBER})"

    return [(stage, re.compile(re.sub(r"(?<!P)<(\w+)>", group, row))) for stage, row in rows]


_PATTERNS = _patterns(
    # vLLM and SGLang
    ("weights", r"\d+% Completed \| <shards_done>/<shards_total>"),
    ("weights", rf"Loading weights took <weights_seconds>{_SECONDS}"),
    ("weights", rf"Model loading took <model_gib> Gi?B(?: memory)? and <model_seconds>{_SECONDS}"),
    ("weights", r"Loading model weights took <model_gib> G"),
    ("weights", r"Starting to load model|Load weight begin"),
    ("compile", rf"torch\.compile (?:took|takes) <compile_seconds>{_SECONDS} in total"),
    ("compile", r"for vLLM's torch\.compile|Dynamo bytecode transform time|Compiling a graph for"),
    ("compile", r"[Ww]arming up model for the compilation"),
    ("cache", r"Available KV cache memory: <kv_gib> GiB"),
    ("cache", r"Explicitly set \(<kv_gib>/[\d.]+\) GiB for KV cache"),
    (
        "cache",
        r"KV cache size: <kv_tokens> tokens"
        r"(?:, Maximum concurrency for <context> tokens per request: <max_concurrency>x)?",
    ),
    ("cache", r"Maximum concurrency for <context> tokens per request: <max_concurrency>x"),
    ("cache", r"# (?:GPU|CUDA|cuda) blocks: <blocks>"),
    (
        "cache",
        r"max_total_num_tokens=<kv_tokens>, .*max_running_requests=<slots>, context_len=<context>",
    ),
    (
        "graphs",
        rf"Graph capturing finished in <graphs_seconds>{_SECONDS}(?:\.|,|$)"
        r"(?: took <graphs_gib> GiB)?",
    ),
    ("graphs", r"Capturing (?:CUDA|cuda) graph.*?<graphs_done>/<graphs_total>"),
    ("graphs", r"[Cc]apture (?:CUDA|cuda) graph begin|Capturing (?:CUDA|cuda) graph"),
    (
        None,
        rf"init engine \(.*?\) took <engine_seconds>{_SECONDS}"
        rf"(?: \(compilation: <compile_seconds>{_SECONDS})?",
    ),
    ("server", r"Starting vLLM (?:API )?server|Started server process"),
    ("ready", r"Application startup complete|The server is fired up"),
    (None, r"(?:API server version|LLM engine \(v|█ +version) ?v?(?P<version>\w[\w.+]*\w)"),
    # llama.cpp
    ("weights", r"load_model: loading model|llama_model_loader: loaded meta data"),
    (None, r"offloaded <gpu_layers>/<gpu_layers_of> layers to GPU"),
    (
        "cache",
        r"initializing(?: slots)?, n_slots = <slots>(?:, n_ctx_slot = <context>)?"
        r"(?:, kv_unified = '(?P<kv_unified>\w+)')?",
    ),
    ("cache", r"new slot,? n_ctx(?:_slot)? = <context>"),
    ("cache", r"KV self size\s*=\s*<kv_mib> MiB"),
    ("server", r"(?:load_model|init|main|server)\S*: model loaded"),
    ("ready", r"all slots are idle"),
)
_TEXTS = {"version"}
_FLOATS = {name for name, kind in get_type_hints(LoadFacts).items() if kind == float | None}


def _figures(match: re.Match[str]) -> dict[str, Any]:
    """What a line's groups say, by the names of `LoadFacts`, and ``share`` of a stage."""
    found: dict[str, Any] = {}
    for name, text in match.groupdict().items():
        if text is None:
            continue
        if name == "kv_unified":
            found[name] = text == "true"
        elif name in _TEXTS:
            found[name] = text
        else:
            number = float(text.replace(",", ""))
            found[name] = number if name in _FLOATS or name == "kv_mib" else int(number)
    for kind in ("shards", "graphs"):
        if total := found.get(f"{kind}_total"):
            found["share"] = found[f"{kind}_done"] / total
    if "blocks" in found:
        found["kv_tokens"] = 16 * found.pop("blocks")
    if "kv_mib" in found:
        found["kv_gib"] = found.pop("kv_mib") / 1024
    for name in ("graphs_done", "graphs_total"):
        found.pop(name, None)
    return found


_LARGEST = ("weights_seconds", "shards_total")
"""A draft model loads after the model itself and is smaller: the model's figures are kept."""


def _with(
    progress: Progress, stage: StageName | None, found: Mapping[str, Any], at: float
) -> Progress:
    if any(
        found[name] < (getattr(progress.facts, name) or 0) for name in _LARGEST if name in found
    ):
        return progress
    share = found.get("share")
    facts = {name: value for name, value in found.items() if name != "share"}
    stages = progress.stages
    if stage and ORDER.index(stage) > ORDER.index(progress.stage):
        stages = (*stages, Stage(name=stage, began=at))
    elif stage != progress.stage or share is None:
        share = progress.share if stages[-1].name == progress.stage else None
    changed = facts and msgspec.structs.replace(progress.facts, **facts) != progress.facts
    forward = stages != progress.stages or changed or share != progress.share
    return Progress(
        stages=stages,
        facts=msgspec.structs.replace(progress.facts, **facts),
        share=share,
        moved=at if forward else progress.moved,
    )
