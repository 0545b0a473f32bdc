"""Streams as servers send them, with a time for each event, and what the client makes of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bench.meter.exchange import Exchange
from bench.meter.judge import Attempt, Counter, sample_of
from bench.meter.target import Ask
from bench.sample import Sample

SSE = ((b"content-type", b"text/event-stream"),)
JSON = ((b"content-type", b"application/json"),)
Piece = tuple[float, bytes]
DONE = b"data: [DONE]\n\n"


def event(data: Any) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def chunk(finish: str | None = None, usage: Any = ..., **delta: Any) -> bytes:
    """One event of a chat stream: ``chunk(content="台")``."""
    data: dict[str, Any] = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return event(data if usage is ... else {**data, "usage": usage})


def usage(prompt: int, completion: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": completion}


def last_usage(prompt: int, completion: int, **more: Any) -> bytes:
    return event({"choices": [], "usage": usage(prompt, completion), **more})


def said(times: Sequence[float], **delta: str) -> list[Piece]:
    """The same delta at each of these times."""
    return [(at, chunk(**delta)) for at in times]


def sample(
    *pieces: Piece,
    status: int = 200,
    headers: Sequence[tuple[bytes, bytes]] = SSE,
    fault: BaseException | None = None,
    count: Counter | None = None,
) -> Sample:
    """The sample of an answer in pieces of (seconds after sending, bytes)."""
    seen = Exchange()
    seen.sent, seen.status, seen.headers, seen.fault = 0.0, status, headers, fault
    seen.reads = [(at, data, ()) for at, data in pieces]
    seen.end = pieces[-1][0] if pieces else 0.0
    attempt = Attempt(ask=Ask(id="r1", body={}), due=0.0, exchange=seen)
    return sample_of(attempt, began=0.0, count=count)
