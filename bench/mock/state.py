"""What the mock engine's connections share: slots, its cache of prompts, its log, its pages."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from bench.mock.behaviour import Behaviour
from bench.mock.script import error_object

_TOKEN = re.compile(r"[A-Za-z0-9_]+|[^\sA-Za-z0-9_]")


class Record(msgspec.Struct):
    """What really happened to one request."""

    id: str
    arrived: float
    """The last of the request came to this machine."""
    received: float
    """The server had read it whole."""
    started: float | None = None
    """Work began: its slot was free."""
    sent: list[float] = msgspec.field(default_factory=list)
    """Each chunk with tokens was handed to the socket."""
    tokens: list[int] = msgspec.field(default_factory=list)
    ended: float | None = None


class Engine:
    """What the connections share: slots, the cache of prompts, the log."""

    def __init__(self, how: Behaviour) -> None:
        self.how = how
        self.ready_at = 0.0
        self.records: list[Record] = []
        self.waiting: deque[Callable[[], None]] = deque()
        self.seen: dict[str, int] = {}
        self.vocabulary: dict[str, int] = {}
        self.open = self.peak = self.working = self.answered = self.unready = 0
        self.requests = 0
        """Since a reset."""

    def unready_yet(self, how: Behaviour) -> dict[str, Any] | None:
        """HTTP 503 for the first requests although the health page is good."""
        if self.unready >= how.unready:
            return None
        self.unready += 1
        return error_object(503, "Loading model", "unavailable_error")

    def enter(self, start: Callable[[], None]) -> None:
        """Begin now, or when a slot is free."""
        if self.how.slots and self.working >= self.how.slots:
            self.waiting.append(start)
        else:
            self.working += 1
            start()

    def leave(self) -> None:
        self.working -= 1
        if self.waiting:
            self.working += 1
            self.waiting.popleft()()

    def reset(self) -> None:
        self.records.clear()
        self.seen.clear()
        self.requests = 0
        self.peak = self.open

    def stats(self) -> dict[str, Any]:
        """``open`` requests now, their ``peak`` since a reset, and each request's record."""
        return {
            "pid": os.getpid(),
            "open": self.open,
            "peak": self.peak,
            "requests": self.records,
        }

    def page(self, path: str) -> Any:
        """What a path without side effects shows; None for an unknown one."""
        return _pages(self).get(path)

    def metrics(self) -> str:
        """Gauges under the names of vLLM and of llama.cpp."""
        return _metrics(self)

    def tokens(self, text: str) -> list[int]:
        """Ids of a text's tokens: words, and every other character by itself."""
        words = self.vocabulary
        return [words.setdefault(word, len(words)) for word in _TOKEN.findall(text)]


def _pages(engine: Engine) -> dict[str, Any]:
    how = engine.how
    slot = {"n_ctx": how.context, "speculative": False}
    return {
        "/health": {"status": "ok"},
        "/models": {
            "object": "list",
            "data": [{"id": "mock", "object": "model", "owned_by": "mock"}],
        },
        "/props": {"total_slots": how.slots, "default_generation_settings": {"n_ctx": how.context}},
        "/slots": [
            {"id": index, "is_processing": index < engine.working, **slot}
            for index in range(how.slots)
        ],
        "/version": {"version": "mock"},
    }


def _metrics(engine: Engine) -> str:
    running, waiting = engine.working, len(engine.waiting)
    gauges = {
        "vllm:num_requests_running": running,
        "vllm:num_requests_waiting": waiting,
        "llamacpp:requests_processing": running,
        "llamacpp:requests_deferred": waiting,
    }
    return "".join(f"# TYPE {name} gauge\n{name} {value}\n" for name, value in gauges.items())
