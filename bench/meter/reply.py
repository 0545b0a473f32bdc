"""Reply: what the events of one stream say, by the rules that engines break (cases A01-A10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from bench.meter.sse import Event, events

_ANSWER = ("content", "text", "refusal")
_THINKING = ("reasoning", "reasoning_content", "thinking", "reasoning_text")
_TAGS = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
)
_BROKEN_FINISH = ("error", "abort")

_Usage = tuple[Mapping[str, Any], bool, bool]  # (usage, with no choices, beside text)


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """One event with text in any channel: what a reader sees grow."""

    at: float
    answer: str = ""
    thinking: str = ""
    ids: int | None = None
    """Token ids in it, where the server tells."""
    so_far: int | None = None
    """Output tokens up to here, where the server tells with each event."""

    @property
    def has_text(self) -> bool:
        return bool(self.answer or self.thinking)


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A stream, read. ``finished`` means that the server said it was whole."""

    first_event: float | None = None
    chunks: tuple[Chunk, ...] = ()
    finish: str | None = None
    finished: bool = False
    streamed: bool = True
    """False for one JSON object in place of a stream: its tokens have no times."""
    ids: int | None = None
    """Token ids of all events; None unless every chunk brought its own."""
    usage: Mapping[str, Any] = msgspec.field(default_factory=dict)
    timings: Mapping[str, Any] = msgspec.field(default_factory=dict)
    error: str | None = None
    nonsense: str | None = None
    """The first event that could not be read."""
    cut: bool = False
    """That event was the last one: the stream may just have broken off in it."""


def read(pieces: Sequence[tuple[float, bytes]]) -> Reply:
    """Read a body in pieces of (arrival, bytes): a stream of events, or one JSON object."""
    body = b"".join(data for _, data in pieces)
    if body.lstrip()[:1] == b"{" and isinstance(whole := _json(body), dict):
        return _read([Event(pieces[-1][0], body.decode(errors="replace"), bare=True)], whole)
    return _read(list(events(pieces)), None)


def split_thinking(texts: Sequence[str]) -> tuple[str, str, int | None]:
    """Take thinking out of the answer's channel, where a server leaves it between tags.

    Returns (thinking, answer, index of the text in which the answer begins or None).
    """
    whole = "".join(texts)
    thinking, answer = _cut(whole)
    if not answer:
        return thinking, answer, None
    begin = len(whole) - len(answer)
    ends = accumulate(len(text) for text in texts)
    return thinking, answer, next(index for index, end in enumerate(ends) if end > begin)


def _cut(whole: str) -> tuple[str, str]:
    for opening, closing in _TAGS:
        opened = whole.lstrip().startswith(opening)
        before, closed, after = whole.partition(closing)
        if closed and (opened or opening not in before):
            return before.strip().removeprefix(opening).strip(), after.lstrip()
        if opened:
            return whole.strip().removeprefix(opening).strip(), ""
    return "", whole


def _read(stream: Sequence[Event], whole: dict[str, Any] | None) -> Reply:
    chunks: list[Chunk] = []
    usages: list[_Usage] = []
    finish = error = None
    nonsense: Event | None = None
    timings: Any = {}
    ids = 0
    said = [event for event in stream if event.data.strip() != "[DONE]"]
    for event in said:
        data = whole or _json(event.data)
        fault = _fault(data)
        if event.name == "error":
            fault = fault or event.data or "the server gave no reason"
        if fault:
            error = error or fault
        elif not isinstance(data, dict):
            unnamed = data is None and event.name in ("", "message")
            nonsense = nonsense or (event if unnamed and event.data.strip() else None)
        else:
            chunk = _chunk(event.at, data)
            ids += chunk.ids or 0
            if chunk.has_text:
                chunks.append(chunk)
            if isinstance(told := data.get("usage"), dict):
                usages.append((told, not data.get("choices"), chunk.has_text))
            timings = data.get("timings") or timings
            finish = _finish(data) or finish
    done = len(said) < len(stream)
    if finish in _BROKEN_FINISH:
        error = error or f"the engine ended it with finish_reason {finish!r}"
    return Reply(
        first_event=said[0].at if said else None,
        chunks=tuple(chunks),
        finish=finish,
        finished=finish is not None or _ended_by(usages) or (done and bool(chunks)),
        streamed=whole is None,
        ids=ids if chunks and all(chunk.ids for chunk in chunks) else None,
        usage=_last(usages),
        timings=timings if isinstance(timings, dict) else {},
        error=error,
        nonsense=None if nonsense is None else nonsense.data,
        cut=nonsense is not None and nonsense is stream[-1],
    )


def _json(text: str | bytes) -> Any:
    """The value, or None for what is no JSON."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None


def _ended_by(usages: Sequence[_Usage]) -> bool:
    """Whether usage was given as the end: usage beside every chunk ends nothing."""
    if not usages:
        return False
    usage, alone, text = usages[-1]
    return alone or (len(usages) == 1 and not text and bool(usage.get("completion_tokens")))


def _last(usages: Sequence[_Usage]) -> Mapping[str, Any]:
    """The last usage counts, never the sum; but zeros at the end replace no real count."""
    found: Mapping[str, Any] = {}
    for usage, _, _ in usages:
        if usage.get("completion_tokens") or not found.get("completion_tokens"):
            found = usage
    return found


def _choices(data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    choices = data.get("choices")
    yield from (choice for choice in choices or () if isinstance(choice, dict))


def _finish(data: Mapping[str, Any]) -> str | None:
    reasons = [choice.get("finish_reason") for choice in _choices(data)]
    return next((str(reason) for reason in reasons if reason), None)


def _chunk(at: float, data: Mapping[str, Any]) -> Chunk:
    answer, thinking, ids = "", "", None
    for choice in _choices(data):
        delta = choice.get("delta") or choice.get("message") or choice
        if isinstance(delta, dict):
            said, thought = _texts(delta)
            answer += said
            thinking += thought
        given = choice.get("token_ids")
        ids = (ids or 0) + len(given) if isinstance(given, list) else ids
    usage = data.get("usage")
    so_far = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return Chunk(at=at, answer=answer, thinking=thinking, ids=ids, so_far=so_far)


def _texts(delta: Mapping[str, Any]) -> tuple[str, str]:
    """(answer, thinking) of one delta. A field given under two names counts once (A03)."""
    answer, thinking = "", ""
    content = delta.get("content")
    if isinstance(content, list):  # parts, as for mixed content
        parts = [part for part in content if isinstance(part, dict)]
        answer = "".join(_text(part.get("text")) for part in parts)
        thinking = "".join(_text(part.get("thinking")) for part in parts)
    answer += "".join(_text(delta.get(name)) for name in _ANSWER)
    thinking += "".join(dict.fromkeys(_text(delta.get(name)) for name in _THINKING))
    # The arguments of a tool call are written like any text, and are no answer.
    for call in delta.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            thinking += _text(function.get("name")) + _text(function.get("arguments"))
    return answer, thinking


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _fault(data: Any) -> str | None:
    """The message of an error in any of the shapes that servers send, else None."""
    if not isinstance(data, dict):
        return None
    error = data.get("error")
    error = error or next(
        (choice["error"] for choice in _choices(data) if choice.get("error")), None
    )
    if not error and (data.get("object") == "error" or "choices" not in data):
        error = data.get("message") or data.get("detail")
    return message(error) if error else None


def message(error: Any) -> str:
    """An error's own words: of an object, a list (as FastAPI sends) or a text."""
    if isinstance(error, dict):
        inner = (
            error.get("message") or error.get("msg") or error.get("detail") or error.get("error")
        )
        where = ".".join(str(part) for part in error.get("loc", ()))
        said = message(inner) if inner else msgspec.json.encode(error).decode()
        return f"{where}: {said}" if where else said
    if isinstance(error, list):
        return "; ".join(message(item) for item in error)
    return str(error)
