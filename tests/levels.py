"""Samples and levels with known times, for tests of what is computed from them."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

from bench.sample import LevelRun, MeterHealth, Sample

QUIET = MeterHealth(loop_lag_p99=0.0005, loop_lag_max=0.001, cpu_share=0.05, busy=False)


def sample(
    number: int = 0,
    *,
    sent: float = 0.0,
    ttft: float = 0.2,
    tokens: int = 64,
    step: float = 0.02,
    per_chunk: int = 1,
    **changes: Any,
) -> Sample:
    """A request whose `tokens` come `per_chunk` at a time, one chunk each `per_chunk` × `step`."""
    chunks = -(-tokens // per_chunk)
    gaps = (per_chunk * step,) * (chunks - 1)
    last = ttft + sum(gaps)
    values: dict[str, Any] = {
        "id": f"r{number}",
        "sent": sent,
        "first_event": 0.01,
        "first_token": ttft,
        "first_answer": ttft,
        "last_token": last,
        "end": last,
        "gaps": gaps,
        "chunks": chunks,
        "prompt_tokens": 2048,
        "output_tokens": tokens,
        "count_source": "usage",
        "finish": "length",
        "status": 200,
    }
    return Sample(**{**values, **changes})


def failed(number: int = 0, *, sent: float = 0.0, end: float = 0.0, kind: Any = "http") -> Sample:
    return Sample(id=f"f{number}", sent=sent, end=end, error=f"{kind}: broken", error_kind=kind)


def level(samples: Sequence[Sample], concurrency: int = 1, **changes: Any) -> LevelRun:
    ends = [s.sent + (s.end or 0.0) for s in samples]
    values: dict[str, Any] = {
        "concurrency": concurrency,
        "samples": tuple(samples),
        "duration": max(ends, default=0.0),
        "peak_concurrency": min(concurrency, len(samples)),
        "meter": QUIET,
    }
    return LevelRun(**{**values, **changes})


def closed_loop(
    requests: int,
    concurrency: int,
    *,
    first_wave: float = 2.0,
    ttft: float = 0.5,
    tokens: int = 64,
    step: float = 0.02,
) -> LevelRun:
    """A level as the load generator makes it: whoever ends is replaced at once.

    The first wave's TTFTs are spread up to `first_wave` seconds, as an engine works prompts off.
    """
    free = [(0.0, user) for user in range(concurrency)]
    samples = []
    for number in range(requests):
        at, user = heapq.heappop(free)
        wait = first_wave * (number + 1) / concurrency if number < concurrency else ttft
        one = sample(number, sent=at, ttft=wait, tokens=tokens, step=step)
        samples.append(one)
        heapq.heappush(free, (at + (one.end or 0.0), user))
    return level(samples, concurrency)
