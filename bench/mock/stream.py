"""One connection of the mock engine: reads a request, plays its script, reads the next."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import msgspec

from bench.mock.request import behaviour, field, json_object, output_tokens, prompt_of, refusal_of
from bench.mock.script import Asked, Step, error_object, script, whole
from bench.mock.socket import Peer
from bench.mock.state import Engine, Record

TEMPLATE_TOKENS = 8
"""Tokens that the chat template adds to a prompt."""
_EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
_HEADS = {
    "chunked": _EVENTS + b"Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
    "close": _EVENTS + b"Connection: close\r\n\r\n",
}


class Stream:
    """One connection: reads a request, plays its script, reads the next."""

    def __init__(self, engine: Engine, peer: Peer) -> None:
        self._engine, self._peer = engine, peer
        peer.on_data, peer.on_gone = self._read, self._gone
        self._held = b""
        self._arrived = 0.0
        self._record: Record | None = None
        self._steps: Sequence[Step] = ()
        self._how = engine.how
        self._next = 0
        self._base = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._working = False
        self._head = b""

    def _read(self, data: bytes, arrival: float) -> None:
        self._held += data
        self._arrived = arrival
        head, found, body = self._held.partition(b"\r\n\r\n")
        if not found:
            return
        lines = head.decode("latin-1").split("\r\n")
        fields = dict(field(line) for line in lines[1:])
        length = int(fields.get("content-length", 0))
        if len(body) < length:
            return
        self._held = body[length:]
        method, path, _ = lines[0].split(" ")
        self._route(method, path.partition("?")[0], fields, body[:length])

    def _gone(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._end_work()

    # Routes

    def _route(self, method: str, path: str, fields: dict[str, str], body: bytes) -> None:
        engine = self._engine
        path = path.removeprefix("/v1") if path != "/v1/health" else "/health"
        if path == "/truth/stats":
            return self._json(200, engine.stats())
        if path == "/truth/reset":
            engine.reset()
            return self._json(200, {})
        if perf_counter() < engine.ready_at:
            return self._json(503, error_object(503, "Loading model", "unavailable_error"))
        if method == "POST" and path in ("/chat/completions", "/completions"):
            return self._complete(body, fields.get("x-request-id", ""), chat="chat" in path)
        if method == "POST" and path in ("/tokenize", "/detokenize"):
            return self._tokenize(body)
        if path == "/metrics":
            return self._answer(200, engine.metrics().encode(), "text/plain; version=0.0.4")
        page = engine.page(path)
        if page is None:
            return self._json(404, error_object(404, "File Not Found", "not_found_error"))
        self._json(200, page)

    def _tokenize(self, body: bytes) -> None:
        asked = json_object(body) or {}
        text = asked.get("content") or asked.get("prompt") or prompt_of(asked)
        tokens = self._engine.tokens(str(text))
        extra = TEMPLATE_TOKENS if "messages" in asked else 0
        tokens += [0] * extra
        page = {"tokens": tokens, "count": len(tokens), "max_model_len": self._engine.how.context}
        self._json(200, page)

    def _complete(self, body: bytes, name: str, *, chat: bool) -> None:
        received = perf_counter()
        engine = self._engine
        asked = json_object(body)
        if asked is None:
            return self._json(400, error_object(400, "the body is no JSON object"))
        try:
            how = self._how = behaviour(engine.how, asked)
        except msgspec.ValidationError as fault:
            return self._json(400, error_object(400, f"mock: {fault}"))
        prompt = prompt_of(asked)
        prompt_tokens = len(engine.tokens(prompt)) + (TEMPLATE_TOKENS if chat else 0)
        refusal = engine.unready_yet(how) or refusal_of(how, asked, prompt_tokens)
        if refusal is not None:
            return self._json(refusal["error"]["code"], refusal)
        if how.die_after is not None and engine.answered >= how.die_after:
            os._exit(1)
        cached = engine.seen.get(prompt[:64], 0)
        engine.seen[prompt[:64]] = prompt_tokens
        wanted = Asked(
            tokens=output_tokens(how, asked),
            prompt_tokens=prompt_tokens,
            cached=cached if how.cached_ms is not None else 0,
            ids=bool(asked.get("return_token_ids")),
            running=bool((asked.get("stream_options") or {}).get("continuous_usage_stats")),
            chat=chat,
        )
        if not asked.get("stream"):
            return self._json(200, whole(how, wanted))
        self._steps = script(how, wanted)
        wait = how.slow_first_ms / 1000 if engine.requests < how.slow_first else 0.0
        engine.requests += 1
        self._record = Record(name, self._arrived, received)
        engine.records.append(self._record)
        engine.open += 1
        engine.peak = max(engine.peak, engine.open)
        engine.enter(lambda: self._start(received, wait))

    # The stream

    def _start(self, received: float, wait: float) -> None:
        """Play the script from when the request was here, or from when its slot was free."""
        if self._record is None or self._peer.gone:
            self._engine.leave()
            return
        self._working = True
        now = perf_counter()
        self._base = (received if now - received < 0.001 else now) + wait
        self._record.started = self._base
        self._head = _HEADS[self._how.framing]
        self._next = 0
        self._play()

    def _play(self) -> None:
        """Send what is due and sleep until the next step; times count from the start, not from
        the step before, so that no delay adds up."""
        steps, record = self._steps, self._record
        assert record is not None
        while self._next < len(steps):
            step = steps[self._next]
            now = perf_counter()
            if self._base + step.at > now:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_at(self._base + step.at - now + loop.time(), self._play)
                return
            self._next += 1
            if step.tokens:
                record.sent.append(now)
                record.tokens.append(step.tokens)
            self._peer.write(self._head + step.data)
            self._head = b""
        record.ended = perf_counter()
        self._engine.answered += 1
        how = self._how
        self._end_work()
        if how.closes or how.framing == "close" or how.ending == "abort":
            self._peer.close()

    def _end_work(self) -> None:
        if self._record is None:
            return
        self._record = None
        self._engine.open -= 1
        if self._working:
            self._working = False
            self._engine.leave()

    # Answers

    def _json(self, status: int, page: Any) -> None:
        self._answer(status, msgspec.json.encode(page), "application/json")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        head = f"HTTP/1.1 {status} Mock\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}"
        self._peer.write(f"{head}\r\n\r\n".encode() + body)
