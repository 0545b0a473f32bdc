"""A level: many requests at once, in an arrival pattern, as a `LevelRun`.

- ``closed``: each of ``concurrency`` users sends the next request when the last one is answered.
- ``burst``: ``concurrency`` requests at once, the next wave when the last one is answered whole.
- ``staggered``: ``closed``, but the users come one after another, ``rate`` a second (when None, all
  within 4 s).
- ``poisson``: requests come at random, ``rate`` a second on average, however many are open.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from statistics import median
from typing import Literal

import httpx

from bench.meter.client import Prepared, asked, prepared
from bench.meter.connection import Clock
from bench.meter.judge import Attempt, Counter, sample_of
from bench.meter.stillness import TICK, Lag, still
from bench.meter.target import Ask, Target
from bench.meter.wire import Wire
from bench.running.pulse import Flight
from bench.sample import LevelRun, Sample

Arrival = Literal["closed", "burst", "staggered", "poisson"]
STAGGER_SECONDS = 4.0
Progress = Callable[[int, int], None]


async def run_level(
    target: Target,
    asks: Sequence[Ask],
    *,
    concurrency: int,
    arrival: Arrival = "closed",
    rate: float | None = None,
    seed: int = 0,
    stop: threading.Event | None = None,
    stall_seconds: float = 300.0,
    progress: Progress = lambda ended, failed: None,
    begun: Callable[[Flight], None] = lambda flight: None,
    count: Counter | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
    clock: Clock = time.perf_counter,
) -> LevelRun:
    """Send all asks and say how it went; a request that fails is a sample like any other.

    ``progress(ended, failed)`` is called when a request ends and must do no I/O; errors inside a
    stream are not known before the level is over. ``begun`` gets what another thread may ask while
    the level runs: how many requests are in flight, how many pieces have come. When ``stop`` is
    set, open requests end as ``cancelled``, no more are sent, and what was measured is kept.
    """
    wire = transport or Wire(verify=target.verify, stall_seconds=stall_seconds, clock=clock)
    try:
        ready = [await prepared(target, ask) for ask in asks]
        if isinstance(wire, Wire) and arrival != "poisson" and ready:
            with suppress(httpx.TransportError):  # each request will say so itself
                await wire.open(ready[0].request.url, min(concurrency, len(asks)))
        level = _Level(wire, target, list(zip(asks, ready, strict=True)), progress, clock)
        begun(level.flight)
        starts = _starts(arrival, len(asks), concurrency, rate, seed)
        lag = Lag()
        with still():
            work = level.waves(concurrency) if arrival == "burst" else level.users(starts)
            stopped = await _until(work, lag, stop)
            lag.end()
    finally:
        if transport is None:
            await wire.aclose()
    return _level_run(level, concurrency, lag, stopped, count)


def peak(samples: Sequence[Sample]) -> int:
    """Most requests in flight at once; one that never got a connection was not in flight."""
    flights = [sample for sample in samples if sample.error_kind != "connect"]
    changes = [(sample.sent, 1) for sample in flights]
    changes += [(sample.sent + (sample.end or 0.0), -1) for sample in flights]
    return max(accumulate(change for _, change in sorted(changes)), default=0)


class _Level:
    """The asks of a level while they are sent; ``attempts`` are kept also when it is cancelled."""

    def __init__(
        self,
        wire: httpx.AsyncBaseTransport,
        target: Target,
        asks: Sequence[tuple[Ask, Prepared]],
        progress: Progress,
        clock: Clock,
    ) -> None:
        self.attempts: dict[str, Attempt] = {}
        self.began = clock()
        self._wire, self._target, self._asks = wire, target, asks
        self._progress, self._clock = progress, clock
        self._refused: list[str] = []
        self._ended = self._failed = 0

    def flight(self) -> tuple[int, int]:
        """(requests in flight, pieces that have come)."""
        seen = [attempt.exchange for attempt in list(self.attempts.values())]
        return sum(one.end is None for one in seen), sum(len(one.reads) for one in seen)

    async def users(self, starts: Sequence[float]) -> None:
        """One user for each start, in seconds from now; they take the asks in turn."""
        asks = iter(self._asks)
        self.began = self._clock()
        await _together(self._user(start, asks) for start in starts)

    async def waves(self, size: int) -> None:
        self.began = self._clock()
        for first in range(0, len(self._asks), size):
            due = self._clock()
            wave = self._asks[first : first + size]
            await _together(self._ask(ask, ready, due) for ask, ready in wave)

    async def _user(self, start: float, asks: Iterator[tuple[Ask, Prepared]]) -> None:
        due = self.began + start
        if start:
            await asyncio.sleep(due - self._clock())
        for ask, ready in asks:
            await self._ask(ask, ready, due)
            due = self._clock()

    async def _ask(self, ask: Ask, ready: Prepared, due: float) -> None:
        attempt = await asked(
            self._wire,
            self._target,
            ask,
            ready=ready,
            due=due,
            refused=self._refused,
            note=self._note,
            clock=self._clock,
        )
        self._ended += 1
        self._failed += attempt.exchange.fault is not None or attempt.exchange.status != 200
        self._progress(self._ended, self._failed)

    def _note(self, attempt: Attempt) -> None:
        self.attempts[attempt.ask.id] = attempt


async def _together(work: Iterable[Coroutine[None, None, None]]) -> None:
    async with asyncio.TaskGroup() as group:
        for one in work:
            group.create_task(one)


async def _until(work: Coroutine[None, None, None], lag: Lag, stop: threading.Event | None) -> bool:
    """Do the work unless told to stop; True when it was stopped. Looks at the loop's lag."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    try:
        while not task.done():
            due = loop.time() + TICK
            done, _ = await asyncio.wait([task], timeout=TICK)
            if loop.time() > due:
                lag.note(loop.time() - due)
            if not done and stop is not None and stop.is_set():
                return True
        await task
        return False
    finally:
        task.cancel()
        await asyncio.wait([task])


def _starts(
    arrival: Arrival, asks: int, concurrency: int, rate: float | None, seed: int
) -> list[float]:
    """When each user comes, in seconds from the beginning."""
    users = min(concurrency, asks)
    if arrival == "poisson":
        if not rate or rate <= 0:
            raise ValueError("poisson arrivals need a rate above 0")
        chance = random.Random(seed)
        return list(accumulate(chance.expovariate(rate) for _ in range(asks)))
    if arrival == "staggered":
        return [user / (rate or users / STAGGER_SECONDS) for user in range(users)]
    return [0.0] * users


def _level_run(
    level: _Level, concurrency: int, lag: Lag, stopped: bool, count: Counter | None
) -> LevelRun:
    attempts = level.attempts.values()
    samples = sorted(
        (sample_of(attempt, began=level.began, count=count) for attempt in attempts),
        key=lambda sample: sample.sent,
    )
    gaps = [gap for sample in samples for gap in sample.gaps]
    kernel = any(attempt.exchange.kernel for attempt in attempts)
    ends = [sample.sent + (sample.end or 0.0) for sample in samples]
    return LevelRun(
        concurrency=concurrency,
        samples=tuple(samples),
        duration=max(ends) - samples[0].sent if samples else 0.0,
        peak_concurrency=peak(samples),
        meter=lag.health(kernel=kernel, gap=median(gaps) if gaps else None),
        stopped=stopped,
    )
