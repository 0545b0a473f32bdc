"""What the mock engine sends for one request, and when: a pure function of its behaviour."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from bench.mock.behaviour import Behaviour

WORDS = {
    "en": (
        " the",
        " meter",
        " reads",
        " what",
        " a",
        " server",
        " of",
        " known",
        " timing",
        " says",
    ),
    "zh": ("繁", "體", "中文", "的", "字", "被", "切", "成", "兩", "半"),
}


class Step(msgspec.Struct, frozen=True):
    at: float
    """Seconds after the start of work."""
    data: bytes
    tokens: int = 0
    """Output tokens in it."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a request asked for, as far as the stream depends on it."""

    tokens: int
    """Output tokens to write."""
    prompt_tokens: int = 0
    cached: int = 0
    """Prompt tokens that are in the cache."""
    ids: bool = False
    """Token ids with each event."""
    running: bool = False
    """Usage so far with each event."""
    chat: bool = True


@lru_cache(maxsize=256)
def script(how: Behaviour, asked: Asked) -> tuple[Step, ...]:
    """The stream's steps in the order of sending."""
    steps = list(_framed(how, _events(how, asked)))
    if how.framing == "chunked":
        steps = [Step(step.at, _http_chunk(step.data), step.tokens) for step in steps]
        if how.ending != "abort":
            steps.append(Step(steps[-1].at, b"0\r\n\r\n"))
    if how.buffered:
        steps = [Step(steps[-1].at, step.data, step.tokens) for step in steps]
    return tuple(steps)


def whole(how: Behaviour, asked: Asked) -> dict[str, Any]:
    """The answer to a request that asked for no stream."""
    text = "".join(_word(how, index) for index in range(asked.tokens))
    said: dict[str, Any] = {"message": {"role": "assistant", "content": text}}
    choice = {"index": 0, "finish_reason": "length", **(said if asked.chat else {"text": text})}
    usage = _usage(asked, asked.tokens)
    return {"id": "mock", "object": "chat.completion", "choices": [choice], "usage": usage}


def error_object(status: int, message: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "type": kind}}


def _events(how: Behaviour, asked: Asked) -> Iterator[Step]:
    """Events as JSON text, with their times; an error's name is in its own framing."""
    first = _first_token_at(how, asked)
    if asked.chat and how.role in ("early", "null"):
        content = "" if how.role == "early" else None
        yield Step(
            min(how.role_ms / 1000, first), _event(_delta(role="assistant", content=content))
        )
    written, at, before = 0, first, ""
    for index, (size, at, channel) in enumerate(_chunks(how, asked.tokens, first)):
        if how.ending in ("cut", "abort") and index == how.cut_after:
            return
        if index == how.error_after:
            yield Step(at, _error(how.error_shape))
            yield Step(at, b"[DONE]")
            return
        words = "".join(_word(how, written + offset) for offset in range(size))
        written += size
        if how.thinking == "tags" and how.thinking_tokens and channel != before:
            words = ("<think>" if channel == "thinking" else "</think>") + words
        before = channel
        choice = _said(how, channel, words, asked.chat)
        if index == 0 and asked.chat and how.role == "first":
            choice["delta"]["role"] = "assistant"
        if asked.ids and how.token_ids:
            choice["token_ids"] = list(range(1000 + written - size, 1000 + written))
        more: dict[str, Any] = {}
        if how.usage == "every" or (asked.running and how.usage in ("last", "finish")):
            more["usage"] = _usage(asked, written)
        yield Step(at, _event(choice, **more), size)
    yield from _ending(how, asked, at + how.usage_ms / 1000)


def _ending(how: Behaviour, asked: Asked, at: float) -> Iterator[Step]:
    usage = _usage(asked, asked.tokens)
    if how.usage == "zero":
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    reason = "stop" if how.early_eos is not None and how.early_eos <= asked.tokens else "length"
    finish: dict[str, Any] = {"delta": {}} if asked.chat else {"text": ""}
    beside: dict[str, Any] = {"usage": usage} if how.usage in ("finish", "every") else {}
    if how.usage == "null":
        beside = {"usage": None}
    if how.timings:
        beside["timings"] = {
            "cache_n": asked.cached,
            "prompt_n": asked.prompt_tokens - asked.cached,
        }
        beside["timings"]["predicted_n"] = asked.tokens
    yield Step(at, _event({**finish, "finish_reason": reason}, **beside))
    if how.usage in ("last", "zero"):
        yield Step(at, msgspec.json.encode({"id": "mock", "choices": [], "usage": usage}))
    if how.ending == "done":
        yield Step(at, b"[DONE]")


def _first_token_at(how: Behaviour, asked: Asked) -> float:
    if asked.cached and how.cached_ms is not None:
        return how.cached_ms / 1000
    work = (asked.prompt_tokens - asked.cached) / how.prefill_speed if how.prefill_speed else 0.0
    return how.ttft_ms / 1000 + work


def _chunks(how: Behaviour, tokens: int, first: float) -> Iterator[tuple[int, float, str]]:
    """(tokens, time, channel) of each chunk: thinking first, then the answer. The first chunk's
    time is the TTFT; the tokens of later ones take ``token_ms`` each."""
    thinking = min(how.thinking_tokens, tokens)
    at, chunk = first, 0
    for channel, size in (("thinking", thinking), ("answer", tokens - thinking)):
        for begin in range(0, size, how.tokens_per_chunk):
            count = min(how.tokens_per_chunk, size - begin)
            if chunk:
                at += count * how.token_ms / 1000
            if channel == "answer" and begin == 0 and thinking:
                at += how.answer_ms / 1000
            if chunk == how.stall_after:
                at += how.stall_ms / 1000
            chunk += 1
            yield count, at, channel


def _word(how: Behaviour, index: int) -> str:
    words = WORDS[how.text]
    return words[index % len(words)]


def _said(how: Behaviour, channel: str, words: str, chat: bool) -> dict[str, Any]:
    if not chat:
        return {"index": 0, "text": words, "finish_reason": None}
    if channel == "answer":
        return _delta(content=words)
    if how.thinking == "both":
        return _delta(reasoning=words, reasoning_content=words)
    return _delta(**{"content" if how.thinking == "tags" else how.thinking: words})


def _delta(**fields: Any) -> dict[str, Any]:
    return {"index": 0, "delta": fields, "finish_reason": None}


def _event(choice: dict[str, Any], **more: Any) -> bytes:
    base = {"id": "mock", "object": "chat.completion.chunk", "created": 0, "model": "mock"}
    return msgspec.json.encode({**base, "choices": [choice], **more})


def _usage(asked: Asked, tokens: int) -> dict[str, Any]:
    return {
        "prompt_tokens": asked.prompt_tokens,
        "completion_tokens": tokens,
        "total_tokens": asked.prompt_tokens + tokens,
        "prompt_tokens_details": {"cached_tokens": asked.cached},
    }


def _error(shape: str) -> bytes:
    fault = error_object(500, "engine stopped", "InternalServerError")
    if shape == "choices":
        fault |= {"choices": []}
    if shape == "text":
        fault = {"error": "engine stopped"}
    return msgspec.json.encode(fault)


def _framed(how: Behaviour, steps: Iterator[Step]) -> Iterator[Step]:
    """Events as server-sent events, by the line ends, comments and cuts asked for."""
    end = {"lf": b"\n", "crlf": b"\r\n", "cr": b"\r"}[how.line_end]
    field = b"data: " if how.space else b"data:"
    for step in steps:
        failing = step.data.startswith(b'{"error"')
        lines = [b": ping", b""] if how.comments else []
        if failing and how.error_shape == "bare":
            lines += [step.data, b""]
        else:
            lines += [b"event: error"] if failing and how.error_shape == "event" else []
            lines += [field + step.data, b""]
        data = b"".join(line + end for line in lines)
        size = how.piece_bytes or len(data)
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        for piece in pieces[:-1]:
            yield Step(step.at, piece)
        yield Step(step.at, pieces[-1], step.tokens)


def _http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)
