"""Target: an OpenAI-compatible server, and the requests that it is sent."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import httpx
import msgspec

from bench.errors import BenchError

Body = Mapping[str, Any]
Message = Mapping[str, str]

_RUNNING = "continuous_usage_stats"
_VLLM: Body = {"ignore_eos": True, "min_tokens": 0, _RUNNING: True}
_KNOWN: Mapping[str, Body] = {
    "vllm": _VLLM,
    "vllm-community": _VLLM,
    "trtllm": _VLLM,
    "sglang": {"ignore_eos": True, _RUNNING: True},
    "llama.cpp": {"ignore_eos": True, "cache_prompt": False},
    "llama.cpp-local": {"ignore_eos": True, "cache_prompt": False},
    "ollama": {},
    "endpoint": {"ignore_eos": True, _RUNNING: True},
}
"""Keys beyond OpenAI's: those that make an engine write the length asked for and read no cached
prompt, and the running count in each event, which tells how many tokens the first one held."""

_RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
REFUSALS = (400, 422)
"""The statuses with which a server refuses a request for what is in it."""
_NEEDED = ("model", "messages", "prompt", "stream")
_REFUSAL = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|extra|"
    r"invalid|deprecated|does not exist|use '?max",
    re.IGNORECASE,
)


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where requests go. ``url`` is a base URL with or without ``/v1``."""

    url: str
    model: str
    engine: str = "endpoint"
    """The engine's id, which tells what request keys it takes."""
    endpoint: Literal["chat", "completions"] = "chat"
    """``completions`` is for base models, which continue text."""
    key_env: str | None = None
    """Name of the environment variable with the key; never the key."""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    verify: bool = True
    """Whether a server's TLS certificate must be trusted."""
    dropped: tuple[str, ...] = ()
    """Request keys that this server is known to refuse: left out."""

    @property
    def root(self) -> str:
        """The base URL without ``/v1``: where ``/health`` and ``/metrics`` are.

        Raises BenchError ``target_url`` for what is no http or https URL.
        """
        return _version(self.url)[0]

    def address(self, path: str) -> str:
        """The URL of an OpenAI path: ``address("models")``."""
        root, version = _version(self.url)
        return f"{root}/{version}/{path.lstrip('/')}"

    @property
    def ask_url(self) -> str:
        return self.address("chat/completions" if self.endpoint == "chat" else "completions")

    def key(self, environ: Mapping[str, str] = os.environ) -> str | None:
        """Raises BenchError ``target_key`` when the variable with the key is not set."""
        if self.key_env is None:
            return None
        if not environ.get(self.key_env):
            raise BenchError("target_key", name=self.key_env)
        return environ[self.key_env]

    def request_headers(self) -> dict[str, str]:
        key = self.key()
        return {**self.headers, **({"Authorization": f"Bearer {key}"} if key else {})}


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One request to send."""

    id: str
    body: Body
    output_tokens: int | None = None
    """Output tokens asked for: an answer that goes far beyond them is stopped (A13)."""
    prompt_tokens: int | None = None
    """Prompt tokens planned."""

    @property
    def most_events(self) -> int | None:
        """Events that an answer of the length asked for can have, with room to spare."""
        return None if self.output_tokens is None else self.output_tokens * 3 // 2 + 64


def chat_body(
    target: Target,
    prompt: str | Sequence[Message],
    tokens: int,
    *,
    exact: bool = False,
    temperature: float | None = 0.0,
    seed: int | None = None,
    token_ids: bool = False,
    extra: Body | None = None,
) -> dict[str, Any]:
    """A streamed request of at most ``tokens`` output tokens; exactly that many with ``exact``.

    ``prompt`` is a text or chat messages. ``token_ids`` asks for the ids of each event (vLLM),
    which makes events larger. Keys that the target is known to refuse are left out.
    """
    known = _KNOWN.get(target.engine, _KNOWN["endpoint"])
    body: dict[str, Any] = {
        "model": target.model,
        **_said(target, prompt),
        "stream": True,
        "stream_options": {"include_usage": True, **_picked(known, _RUNNING)},
        "max_tokens": tokens,
    }
    if temperature is not None:
        body["temperature"] = temperature
    if seed is not None:
        body["seed"] = seed
    body |= _picked(known, "cache_prompt")
    if exact:
        body |= _picked(known, "ignore_eos")
        body |= {"min_tokens": tokens} if "min_tokens" in known else {}
    if token_ids:
        body["return_token_ids"] = True
    return without({**body, **(extra or {})}, target.dropped)


def without(body: Body, dropped: Sequence[str]) -> dict[str, Any]:
    """The body without refused keys; a limit is sent under its other name instead."""
    kept = {key: value for key, value in body.items() if key not in dropped}
    for key in dropped:
        other = _RENAMED.get(key)
        if key in body and other is not None and other not in dropped:
            kept[other] = body[key]
    if _RUNNING in dropped and "stream_options" in kept:
        options = kept["stream_options"]
        kept["stream_options"] = {key: options[key] for key in options if key != _RUNNING}
    return kept


def holds(body: Body, key: str) -> bool:
    """Whether the body has this key, or has it among its stream options."""
    return key in body or key in body.get("stream_options", {})


def refused_key(body: Body, answer: bytes) -> str | None:
    """The key of this request that a refusal names as one that the server doesn't take, if any.

    It is the first that is named: what comes later may be an echo of the whole request.
    """
    text = answer.decode(errors="replace")
    if not _REFUSAL.search(text):
        return None
    places = {key: found.start() for key in body if (found := re.search(rf"\b{key}\b", text))}
    places = {key: place for key, place in places.items() if key not in _NEEDED}
    if holds(body, _RUNNING):
        if re.search(rf"stream_options\W+{_RUNNING}", text):
            return _RUNNING
        if "stream_options" not in places and _RUNNING in text:
            return _RUNNING
    named = re.search(r'"param"\s*:\s*"(\w+)"', text)
    if named and named[1] in places:
        return named[1]
    return min(places, key=places.__getitem__, default=None)


def _picked(known: Body, key: str) -> dict[str, Any]:
    return {key: known[key]} if key in known else {}


def _said(target: Target, prompt: str | Sequence[Message]) -> Body:
    if target.endpoint == "completions":
        text = prompt if isinstance(prompt, str) else "\n".join(part["content"] for part in prompt)
        return {"prompt": text}
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    return {"messages": messages}


def _version(url: str) -> tuple[str, str]:
    """(base URL, version segment) of a URL as people paste it."""
    text = url.strip()
    text = text if "://" in text else f"http://{text}"
    try:
        parsed = httpx.URL(text)
    except httpx.InvalidURL as fault:
        raise BenchError("target_url", url=url) from fault
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise BenchError("target_url", url=url)
    path = re.sub(r"/(chat/)?completions/*$|/models/*$", "", parsed.path).rstrip("/")
    found = re.search(r"/(v\d\w*)$", path)
    root = str(parsed.copy_with(path=path[: found.start()] if found else path, query=None))
    return root.rstrip("/"), found[1] if found else "v1"
