"""What an engine's log says of its start: stages, figures, and how long it may still take.

One line at a time: ``progress = step(progress, line, at)``. Patterns go by meaning, so that old and
new wording give the same figures; prefixes, colours and thousands commas are no matter; an unknown
line is no error. vLLM's formats: v1/core/kv_cache_utils.py, v1/worker/gpu_worker.py and
model_loader/default_loader.py; llama.cpp's: tools/server and src/llama-model.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

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
    for pattern, stage, facts in _PATTERNS:
        if match := pattern.search(text):
            found = {name: value for name, value in facts(match).items() if value is not None}
            return _with(progress, stage, found, at)
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
_NUMBER = r"([\d,]+(?:\.\d+)?)"
_SECONDS = r"\s*(?:s\b|secs?\b|seconds?\b)"

Facts = Callable[["re.Match[str]"], Mapping[str, Any]]


def _number(text: str | None) -> float | None:
    return float(text.replace(",", "")) if text else None


def _whole(text: str | None) -> int | None:
    return int(text.replace(",", "")) if text else None


def _shards(match: re.Match[str]) -> Mapping[str, Any]:
    done, total = int(match["done"]), int(match["total"])
    return {"shards_done": done, "shards_total": total, "share": done / total if total else None}


def _kv(match: re.Match[str]) -> Mapping[str, Any]:
    return {
        "kv_tokens": _whole(match[1]),
        "context": _whole(match[2]),
        "max_concurrency": _number(match[3]),
    }


def _floats(*names: str) -> Facts:
    return lambda match: {
        name: _number(match[place]) for place, name in enumerate(names, start=1)
    }


def _wholes(*names: str) -> Facts:
    return lambda match: {name: _whole(match[place]) for place, name in enumerate(names, start=1)}


def _slots(match: re.Match[str]) -> Mapping[str, Any]:
    unified = {"true": True, "false": False, None: None}[match["unified"]]
    return {"slots": int(match["slots"]), "context": _whole(match["context"]),
            "kv_unified": unified}  # fmt: skip


def _nothing(match: re.Match[str]) -> Mapping[str, Any]:
    return {}


_PATTERNS: tuple[tuple[re.Pattern[str], StageName | None, Facts], ...] = tuple(
    (re.compile(pattern), stage, facts)
    for pattern, stage, facts in (
        # vLLM and SGLang
        (r"\d+% Completed \| (?P<done>\d+)/(?P<total>\d+)", "weights", _shards),
        (r"Loading weights took " + _NUMBER + _SECONDS, "weights", _floats("weights_seconds")),
        (
            rf"Model loading took {_NUMBER} Gi?B(?: memory)? and {_NUMBER}{_SECONDS}",
            "weights",
            _floats("model_gib", "model_seconds"),
        ),
        (rf"Loading model weights took {_NUMBER} G", "weights", _floats("model_gib")),
        (r"Starting to load model|Load weight begin", "weights", _nothing),
        (
            rf"torch\.compile (?:took|takes) {_NUMBER}{_SECONDS} in total",
            "compile",
            _floats("compile_seconds"),
        ),
        (
            r"for vLLM's torch\.compile|Dynamo bytecode transform time|Compiling a graph for"
            r"|[Ww]arming up model for the compilation",
            "compile",
            _nothing,
        ),
        (
            rf"Graph capturing finished in {_NUMBER}{_SECONDS}(?:\.|,|$)(?: took {_NUMBER} GiB)?",
            "graphs",
            _floats("graphs_seconds", "graphs_gib"),
        ),
        (
            r"Capturing (?:CUDA|cuda) graph.*?(?P<done>\d+)/(?P<total>\d+)",
            "graphs",
            lambda match: {"share": int(match["done"]) / max(1, int(match["total"]))},
        ),
        (r"[Cc]apture (?:CUDA|cuda) graph begin|Capturing (?:CUDA|cuda) graph", "graphs", _nothing),
        (rf"Available KV cache memory: {_NUMBER} GiB", "cache", _floats("kv_gib")),
        (rf"Explicitly set \({_NUMBER}/[\d.]+\) GiB for KV cache", "cache", _floats("kv_gib")),
        (
            rf"KV cache size: {_NUMBER} tokens"
            rf"(?:, Maximum concurrency for {_NUMBER} tokens per request: {_NUMBER}x)?",
            "cache",
            _kv,
        ),
        (
            rf"Maximum concurrency for {_NUMBER} tokens per request: {_NUMBER}x",
            "cache",
            lambda match: {"context": _whole(match[1]), "max_concurrency": _number(match[2])},
        ),
        (
            rf"# (?:GPU|CUDA|cuda) blocks: {_NUMBER}",
            "cache",
            lambda match: {"kv_tokens": 16 * (_whole(match[1]) or 0)},
        ),
        (
            rf"init engine \(.*?\) took {_NUMBER}{_SECONDS}(?: \(compilation: {_NUMBER}{_SECONDS})?",
            None,
            _floats("engine_seconds", "compile_seconds"),
        ),
        (
            r"max_total_num_tokens=(\d+).*?max_running_requests=(\d+), context_len=(\d+)",
            "cache",
            _wholes("kv_tokens", "slots", "context"),
        ),
        (r"Starting vLLM (?:API )?server|Started server process", "server", _nothing),
        (r"Application startup complete|The server is fired up", "ready", _nothing),
        (
            r"(?:vLLM API server version|LLM engine \(v|█\s+version) ?v?([\w.+]+)",
            None,
            lambda match: {"version": match[1].rstrip(".")},
        ),
        # llama.cpp
        (r"load_model: loading model|llama_model_loader: loaded meta data", "weights", _nothing),
        (r"offloaded (\d+)/(\d+) layers to GPU", None, _wholes("gpu_layers", "gpu_layers_of")),
        (
            r"initializing(?: slots)?, n_slots = (?P<slots>\d+)"
            r"(?:, n_ctx_slot = (?P<context>\d+))?(?:, kv_unified = '(?P<unified>\w+)')?",
            "cache",
            _slots,
        ),
        (r"new slot,? n_ctx(?:_slot)? = (\d+)", "cache", _wholes("context")),
        (
            r"KV self size\s*=\s*([\d.]+) MiB",
            "cache",
            lambda match: {"kv_gib": (_number(match[1]) or 0) / 1024},
        ),
        (r"(?:load_model|init|main|server)\S*: model loaded", "server", _nothing),
        (r"all slots are idle", "ready", _nothing),
    )
)  # fmt: skip


_LARGEST = ("weights_seconds", "shards_total")
"""A draft model loads after the model itself and is smaller: the model's figures are kept."""


def _with(
    progress: Progress, stage: StageName | None, found: Mapping[str, Any], at: float
) -> Progress:
    if any(found[name] < (getattr(progress.facts, name) or 0) for name in _LARGEST if name in found):
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
