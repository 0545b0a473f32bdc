"""Judging: what an attempt is worth as a `Sample`: a measured answer, or a failure of some kind."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import httpx
import msgspec

from bench.meter import reply as replies
from bench.meter.connection import NotHttp, RunawayOutput
from bench.meter.exchange import Exchange
from bench.meter.reply import Chunk, Reply
from bench.meter.target import Ask
from bench.sample import CountSource, ErrorKind, Sample

Counter = Callable[[str], int]
"""Tokens of a text by the engine's own tokenizer."""
Failure = tuple[ErrorKind, str]


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was sent, or tried to be."""

    ask: Ask
    due: float
    """When it could have been sent, had this client had nothing else to do."""
    exchange: Exchange
    dropped: tuple[str, ...] = ()


def sample_of(attempt: Attempt, *, began: float, count: Counter | None = None) -> Sample:
    """The sample of an attempt in a level that began at ``began`` (same clock)."""
    seen = attempt.exchange
    pieces = seen.pieces()
    reply = replies.read(pieces) if seen.status == 200 else Reply()
    failure = _failure(seen, reply)
    sent = attempt.due if seen.sent is None else seen.sent
    thinking, answer, begin = replies.split_thinking([chunk.answer for chunk in reply.chunks])
    thinking = "".join(chunk.thinking for chunk in reply.chunks) + thinking
    times = [chunk.at - sent for chunk in reply.chunks] if reply.streamed else []
    tokens, source = _output_tokens(reply, thinking + answer, count)
    over = seen.end if seen.fault else seen.last_arrival()
    return Sample(
        id=attempt.ask.id,
        sent=sent - began,
        queued=max(sent - attempt.due, 0.0),
        first_event=_since(sent, reply.first_event) if reply.streamed else None,
        first_token=times[0] if times else None,
        first_answer=times[begin] if times and begin is not None else None,
        last_token=times[-1] if times else None,
        end=_since(sent, over),
        gaps=tuple(after - before for before, after in pairwise(times)),
        chunks=len(reply.chunks),
        first_chunk_tokens=_first_tokens(reply.chunks),
        prompt_tokens=_prompt_tokens(reply),
        cached_tokens=_cached_tokens(reply),
        output_tokens=tokens,
        reasoning_tokens=_reasoning_tokens(reply),
        count_source=source,
        finish=reply.finish,
        streamed=reply.streamed,
        text=answer,
        reasoning=thinking,
        status=seen.status,
        error=failure and failure[1],
        error_kind=failure and failure[0],
        resent=seen.resent,
        dropped=attempt.dropped,
    )


def _since(sent: float, at: float | None) -> float | None:
    return None if at is None else at - sent


def _failure(seen: Exchange, reply: Reply) -> Failure | None:
    """What went wrong, or None. An answer that the server ended itself is whole (A10)."""
    if isinstance(seen.fault, asyncio.CancelledError):
        return "cancelled", "It was stopped before its answer was whole."
    if isinstance(seen.fault, RunawayOutput):
        return "runaway", "The server went on writing far beyond the length that was asked for."
    if seen.status is None:
        return _no_answer(seen)
    if seen.status != 200:
        return "http", f"HTTP {seen.status}: {_explanation(seen)}"
    if reply.error is not None:
        return "in_stream", reply.error
    if isinstance(seen.fault, httpx.TimeoutException):
        return "timeout", f"The server fell silent in the middle of its answer: {seen.fault}."
    if isinstance(seen.fault, NotHttp):
        return "protocol", f"The answer broke the rules of HTTP: {seen.fault}."
    whole = reply.nonsense is None or reply.cut
    if reply.finished and whole:
        return None
    if seen.fault is not None or (reply.chunks and whole):
        return "truncated", f"The answer broke off: {seen.fault or 'it has no end'}."
    return _unreadable(seen, reply)


def _no_answer(seen: Exchange) -> Failure:
    fault = seen.fault
    if isinstance(fault, httpx.ConnectError | httpx.ConnectTimeout):
        return "connect", f"No connection: {fault}."
    if isinstance(fault, httpx.TimeoutException):
        return "timeout", f"The server gave no answer: {fault}."
    if isinstance(fault, NotHttp):
        return "protocol", f"What came back is no HTTP: {fault}."
    return "connect", f"The connection died before any answer: {fault}."


def _unreadable(seen: Exchange, reply: Reply) -> Failure:
    if "html" in seen.header("content-type") or seen.body.lstrip()[:1] == b"<":
        return "protocol", f"The server sent a web page, not an answer: {_explanation(seen)}"
    if reply.nonsense is not None:
        return "protocol", f"The server sent what is no JSON: {reply.nonsense[:200]!r}"
    return "empty", "The server answered with nothing: no text, no usage, no end."


def _explanation(seen: Exchange) -> str:
    """A refusal in the server's own words: the message in its JSON, a page's title, or its text."""
    text = seen.body.decode(errors="replace").strip()
    moved = seen.header("location")
    if moved:
        return f"it says to go to {moved}"
    try:
        data: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        title = re.search(r"<title>\s*(.*?)\s*</title>", text, re.IGNORECASE | re.DOTALL)
        return title[1] if title else text[:300] or "no explanation"
    if isinstance(data, dict):
        data = next((data[key] for key in ("error", "detail", "message") if data.get(key)), data)
    return replies.message(data) or text


def _output_tokens(
    reply: Reply, text: str, count: Counter | None
) -> tuple[int | None, CountSource | None]:
    """All generated tokens by the best source there is (A06)."""
    if reply.ids:
        return reply.ids, "token_ids"
    if told := _number(reply.usage, "completion_tokens"):
        return told, "usage"
    if told := _number(reply.timings, "predicted_n"):
        return told, "timings"
    if not reply.chunks:
        return _number(reply.usage, "completion_tokens"), "usage" if reply.usage else None
    if count is not None:
        return count(text), "tokenizer"
    return len(reply.chunks), "chunks"


def _first_tokens(chunks: tuple[Chunk, ...]) -> int | None:
    """Tokens in the first event, where ids or a running usage tell."""
    if not chunks:
        return None
    running = len(chunks) > 1 and chunks[0].so_far is not None and chunks[1].so_far is not None
    return chunks[0].ids or (chunks[0].so_far if running else None)


def _prompt_tokens(reply: Reply) -> int | None:
    if told := _number(reply.usage, "prompt_tokens"):
        return told
    worked = _number(reply.timings, "prompt_n")
    return None if worked is None else worked + (_number(reply.timings, "cache_n") or 0)


def _cached_tokens(reply: Reply) -> int | None:
    details = reply.usage.get("prompt_tokens_details")
    told = _number(details, "cached_tokens") if isinstance(details, Mapping) else None
    told = _number(reply.usage, "prompt_cache_hit_tokens") if told is None else told
    return _number(reply.timings, "cache_n") if told is None else told


def _reasoning_tokens(reply: Reply) -> int | None:
    details = reply.usage.get("completion_tokens_details")
    return _number(details, "reasoning_tokens") if isinstance(details, Mapping) else None


def _number(table: Mapping[str, Any], key: str) -> int | None:
    value = table.get(key)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
