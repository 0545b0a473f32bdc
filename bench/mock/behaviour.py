"""Behaviour: the habits of real engines, as switches of the mock engine (cases A01-A18)."""

from __future__ import annotations

from typing import Literal

import msgspec


class Behaviour(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the mock answers. Each field is an option, a key of a request's ``mock`` object, and a
    part of a model's name (``mock?ttft_ms=200&role=early``)."""

    ttft_ms: float = 0.0
    """From the whole request received, or its slot free, to the first token."""
    token_ms: float = 0.0
    """Time of each further token; a chunk of several comes when its last one is done."""
    prefill_speed: float = 0.0
    """Prompt tokens a second, on top of ``ttft_ms``; 0: no such work."""
    tokens: int | None = None
    """Output tokens; None: as many as the request's limit, or 16."""
    early_eos: int | None = None
    """Stops by itself after this many tokens."""
    tokens_per_chunk: int = 1
    role: Literal["early", "null", "first", "none"] = "early"
    """A role-only event first (with ``""`` or ``null``), the role in the first chunk, or none."""
    role_ms: float = 0.0
    thinking: Literal["reasoning", "reasoning_content", "both", "tags"] = "reasoning"
    thinking_tokens: int = 0
    answer_ms: float = 0.0
    """Pause between thinking and answer."""
    usage: Literal["last", "finish", "every", "null", "zero", "none"] = "last"
    usage_ms: float = 0.0
    """Pause before what ends the stream."""
    timings: bool = False
    """llama.cpp's ``timings`` in the last event."""
    token_ids: bool = False
    """Gives token ids where they are asked for."""
    text: Literal["en", "zh"] = "en"
    line_end: Literal["lf", "crlf", "cr"] = "lf"
    space: bool = True
    """A space after ``data:``."""
    comments: bool = False
    """A ``: ping`` before every event."""
    piece_bytes: int = 0
    """Sends the stream in pieces of this size."""
    framing: Literal["chunked", "close"] = "chunked"
    ending: Literal["done", "no_done", "cut", "abort"] = "done"
    """``cut``: ends cleanly with neither finish nor usage; ``abort``: the connection breaks."""
    cut_after: int = 3
    """Chunks before a cut or an abort."""
    error_after: int | None = None
    """Chunks before an error inside the stream."""
    error_shape: Literal["object", "choices", "text", "event", "bare"] = "object"
    buffered: bool = False
    """Sends everything at the end, as a buffering proxy does."""
    stall_after: int | None = None
    """Chunks before everything stands still for ``stall_ms``."""
    stall_ms: float = 0.0
    slow_first: int = 0
    """Requests, counted from a reset, that wait ``slow_first_ms`` longer."""
    slow_first_ms: float = 0.0
    cached_ms: float | None = None
    """TTFT for a prompt whose first 64 characters were seen before."""
    status: int = 200
    """Answers every request with this HTTP status."""
    refuses: str = ""
    """Request keys answered with HTTP 400, separated by commas."""
    ignores: str = ""
    """Request keys that are not obeyed, separated by commas."""
    context: int = 0
    """Context of a slot in tokens; longer prompts get llama.cpp's HTTP 400."""
    slots: int = 0
    """Requests worked on at once; more wait. 0: no limit."""
    closes: bool = False
    """Closes the connection after each stream although it promised to keep it (llama.cpp)."""
    refused_s: float = 0.0
    """Seconds for which connections are refused, from the start."""
    loading_s: float = 0.0
    """Seconds for which everything gets HTTP 503, from then."""
    unready: int = 0
    """Requests that get HTTP 503 although ``/health`` is good."""
    die_after: int | None = None
    """The process ends when this many requests were answered and one more comes."""
