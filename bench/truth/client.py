"""One client of the truth benchmark, in a process of its own, so that its cost can be told.

``python -m bench.truth.client meter|plain URL STREAMS REQUESTS TOKENS`` prints one line of JSON.
``meter`` is this project's own. ``plain`` is the least that a client on asyncio's sockets can do:
connections opened before, bytes kept with the time of reading, everything else afterwards. It is
the reference: what is possible in Python without our own reading of the sockets.
"""

from __future__ import annotations

import asyncio
import json
import re
import resource
import sys
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

Times = tuple[str, list[float]]
"""(id, arrivals of the chunks with text in seconds after sending)"""


def main(argv: Sequence[str]) -> int:
    kind, url, streams, requests, tokens = argv
    client = _meter if kind == "meter" else _plain
    times = asyncio.run(client(url, int(streams), int(requests), int(tokens)))
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "cpu_s": used.ru_utime + used.ru_stime,
                "memory_mb": _memory_mb(),
                "times": times,
            }
        )
    )
    return 0


def _memory_mb() -> float:
    """The most memory this process had; ru_maxrss would count its parent's too."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


async def _meter(url: str, streams: int, requests: int, tokens: int) -> list[Times]:
    from bench.meter.load import run_level
    from bench.meter.target import Ask, Target, chat_body

    target = Target(url=url, model="mock", engine="llama.cpp")
    asks = [
        Ask(id=f"r{n}", body=chat_body(target, _prompt(n), tokens), output_tokens=tokens)
        for n in range(requests)
    ]
    level = await run_level(target, asks, concurrency=streams)
    assert all(sample.ok for sample in level.samples)
    times: list[Times] = []
    for sample in level.samples:
        assert sample.first_token is not None
        times.append((sample.id, list(accumulate(sample.gaps, initial=sample.first_token))))
    return times


class _Plain(asyncio.Protocol):
    def __init__(self, asks: list[tuple[str, bytes]]) -> None:
        self._asks = asks
        self.done = asyncio.Event()
        self.answers: list[tuple[str, float, list[tuple[float, bytes]]]] = []
        self._transport: asyncio.Transport
        self._pieces: list[tuple[float, bytes]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def ask(self) -> None:
        if not self._asks:
            self.done.set()
            return
        name, data = self._asks.pop()
        self._pieces = []
        self.answers.append((name, perf_counter(), self._pieces))
        self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        self._pieces.append((perf_counter(), data))
        if data.endswith(b"0\r\n\r\n"):
            self.ask()


async def _plain(url: str, streams: int, requests: int, tokens: int) -> list[Times]:
    parts = urlsplit(url)
    host, port = str(parts.hostname), parts.port or 80
    asks = [(f"r{n}", _request(parts.netloc, n, tokens)) for n in reversed(range(requests))]
    loop = asyncio.get_running_loop()
    users = []
    for _ in range(streams):
        _, user = await loop.create_connection(lambda: _Plain(asks), host, port)
        users.append(user)
    for user in users:
        user.ask()
    for user in users:
        await user.done.wait()
    answers = [answer for user in users for answer in user.answers]
    return [(name, _arrivals(sent, pieces)) for name, sent, pieces in answers]


def _arrivals(sent: float, pieces: Sequence[tuple[float, bytes]]) -> list[float]:
    """When each chunk with text came; the mock sends an event in one piece."""
    arrivals = []
    for at, data in pieces:
        for line in data.split(b"\n"):
            if not line.startswith(b"data: {"):
                continue
            choices = json.loads(line[6:])["choices"]
            if choices and choices[0]["delta"].get("content"):
                arrivals.append(at - sent)
    return arrivals


def _request(host: str, number: int, tokens: int) -> bytes:
    message = {"role": "user", "content": _prompt(number)}
    asked = {"model": "mock", "messages": [message], "max_tokens": tokens, "stream": True}
    body = json.dumps({**asked, "stream_options": {"include_usage": True}}).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nX-Request-Id: r{number}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _prompt(number: int) -> str:
    return f"{number} " + "word " * 60


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
