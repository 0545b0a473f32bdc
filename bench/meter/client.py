"""One streamed request → one `Sample`.

`wire.py` sends, `reply.py` reads what came, `judge.py` says what it is worth. A failing request is
data, not an exception.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import httpx
import msgspec

from bench.meter.connection import Clock, RunawayOutput
from bench.meter.exchange import Exchange
from bench.meter.judge import Attempt, Counter, sample_of
from bench.meter.target import REFUSALS, Ask, Target, holds, refused_key, without
from bench.meter.wire import Wire, encode
from bench.sample import Sample

__all__ = ["Ask", "Target", "ask_one"]


class Prepared(msgspec.Struct, frozen=True):
    """A request as bytes, so that nothing is left to build when its time comes."""

    request: httpx.Request
    data: bytes


async def ask_one(
    target: Target,
    ask: Ask,
    *,
    transport: httpx.AsyncBaseTransport | None = None,
    stall_seconds: float = 300.0,
    count: Counter | None = None,
    clock: Clock = time.perf_counter,
) -> Sample:
    """Send one request by itself; ``Sample.sent`` is then the moment's wait in this client.

    A key that the server refuses is left out, and named in ``Sample.dropped``. ``count`` gives the
    tokens of a text where the server tells none.
    """
    wire = transport or Wire(verify=target.verify, stall_seconds=stall_seconds, clock=clock)
    began = clock()
    try:
        attempt = await asked(wire, target, ask, clock=clock)
    finally:
        if transport is None:
            await wire.aclose()
    return sample_of(attempt, began=began, count=count)


async def prepared(target: Target, ask: Ask, dropped: tuple[str, ...] = ()) -> Prepared:
    """Build a request and its bytes. Raises BenchError for a bad URL or a key that is not set."""
    headers = {
        "Accept": "text/event-stream",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "X-Request-Id": ask.id,
        **target.request_headers(),
    }
    body = msgspec.json.encode(without(ask.body, (*target.dropped, *dropped)))
    request = httpx.Request("POST", target.ask_url, headers=headers, content=body)
    return Prepared(request, await encode(request))


async def asked(
    wire: httpx.AsyncBaseTransport,
    target: Target,
    ask: Ask,
    *,
    ready: Prepared | None = None,
    due: float | None = None,
    refused: list[str] | None = None,
    note: Callable[[Attempt], None] = lambda attempt: None,
    clock: Clock = time.perf_counter,
) -> Attempt:
    """Send a request, and again without each key that the server refuses.

    ``refused`` is shared by the requests of a level: a key is refused once, not in each of them.
    ``note`` gets every attempt before it is sent, so that one that is cancelled is not lost.
    """
    refused = [] if refused is None else refused
    while True:
        dropped = tuple(refused)
        if ready is None or dropped:
            ready = await prepared(target, ask, dropped)
        attempt = Attempt(
            ask=ask,
            due=clock() if due is None else due,
            exchange=Exchange(ask.most_events),
            dropped=tuple(key for key in (*target.dropped, *dropped) if holds(ask.body, key)),
        )
        note(attempt)
        await exchange(wire, ready, attempt.exchange, clock)
        if attempt.exchange.status not in REFUSALS:
            return attempt
        sent = without(ask.body, (*target.dropped, *dropped))
        key = refused_key(sent, attempt.exchange.body)
        if key is None:
            return attempt
        refused.append(key)
        due = None


async def exchange(
    wire: httpx.AsyncBaseTransport, ready: Prepared, seen: Exchange, clock: Clock
) -> None:
    """Send a prepared request over any httpx transport, and note what comes in ``seen``.

    A `Wire` notes it itself, at the socket; of another transport's answer each piece is stamped
    when it is handed over.
    """
    request = ready.request
    try:
        if isinstance(wire, Wire):
            await wire.send(request.url, ready.data, seen)
            return
        seen.sent = clock()
        response = await wire.handle_async_request(request)
        seen.status, seen.headers = response.status_code, response.headers.raw
        async for piece in response.stream:  # type: ignore[union-attr]
            seen.reads.append((clock(), piece, ()))
            if seen.runs_away():
                raise RunawayOutput("stopped by the meter")
    except httpx.TransportError as fault:
        seen.fault = fault
    except asyncio.CancelledError as fault:
        seen.fault = fault
        raise
    finally:
        seen.end = clock()
