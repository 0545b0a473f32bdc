"""A stall is seen from what is in flight and from the engine's counters."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bench.meter import load
from bench.meter.target import Ask, Target, chat_body
from bench.running.halt import Halt, watching
from bench.running.pulse import Pulse
from bench.text import LANGUAGES, words


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_requests_that_bring_nothing_for_two_minutes_are_a_stall_and_said_so() -> None:
    clock = Clock()
    pulse = Pulse(clock=clock)
    pulse.flight = lambda: (8, 31)
    pulse.counter = lambda: 400.0
    for clock.now in range(120):
        assert pulse.look() is None
    clock.now = 120
    reason = pulse.look()
    assert reason is not None and reason.fault.code == "engine_stalled"
    for language in LANGUAGES:
        said = words(language).fault(reason.fault)
        assert "8" in said and "2" in said


def test_a_counter_that_moves_or_a_pause_between_levels_is_no_stall() -> None:
    clock, counted = Clock(), iter(range(1000))
    pulse = Pulse(clock=clock)
    pulse.flight = lambda: (1, 0)
    pulse.counter = lambda: float(next(counted))  # a long prompt is read, nothing comes yet
    for clock.now in range(0, 400, 10):
        assert pulse.look() is None
    pulse.counter = lambda: None
    pulse.rest()
    for clock.now in range(400, 900, 10):
        assert pulse.look() is None


class Silent(BaseHTTPRequestHandler):
    """Begins an answer and says no more."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        piece = {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]}
        self.wfile.write(f"data: {json.dumps(piece)}\n\n".encode())
        self.wfile.flush()
        self.server.over.wait(30)  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        pass


def test_a_level_on_an_engine_that_hangs_ends_and_keeps_what_came() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        server.over = threading.Event()  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        target = Target(url=f"http://127.0.0.1:{server.server_address[1]}", model="m")
        asks = [Ask(id=str(n), body=chat_body(target, "hello", 8), output_tokens=8) for n in (1, 2)]
        pulse = Pulse(patience=1.0)
        halt = Halt([pulse.look], lambda: False)

        def begun(flight: object) -> None:
            pulse.flight = flight  # type: ignore[assignment]

        with watching(halt):
            began = time.monotonic()
            run = asyncio.run(
                load.run_level(target, asks, concurrency=2, stop=halt.event, begun=begun)
            )
        server.over.set()  # type: ignore[attr-defined]
        server.shutdown()
    assert halt.reason is not None
    assert halt.reason.fault.code == "engine_stalled"  # type: ignore[union-attr]
    assert run.stopped and time.monotonic() - began < 20
    assert [sample.error_kind for sample in run.samples] == ["cancelled", "cancelled"]
