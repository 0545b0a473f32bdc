"""The numbers of one level, as values. Their formulas are in `metrics.py` and docs/measuring.md.

Times are seconds, speeds tokens a second, shares 0 to 1. ``None`` is "not measured" or "too few
samples to say", never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from bench.sample import CountSource, MeterHealth


class Interval(msgspec.Struct, frozen=True):
    """A 95 % interval, both ends included."""

    low: float
    high: float


class Mean(msgspec.Struct, frozen=True, kw_only=True):
    """Mean ± sample standard deviation (n − 1); ``sd`` and ``interval`` need two values."""

    n: int
    mean: float
    sd: float | None = None
    interval: Interval | None = None


class Quantiles(msgspec.Struct, frozen=True, kw_only=True):
    """A distribution. P90 needs 36 values, P95 72, P99 368 to carry a 95 % interval; with fewer the
    quantile is None and a reader is shown ``worst`` as "worst of n"."""

    n: int
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    best: float | None = None
    worst: float | None = None
    intervals: Mapping[str, Interval] = msgspec.field(default_factory=dict)
    """By name ("p50"…), where the sample carries one."""


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a level: the first wave (ramp), the steady state, or the tail (`phases.py`)."""

    n: int
    """Requests sent in it; of the tail: still running when it began."""
    duration: float
    ttft: Quantiles
    """Of the requests sent in it; nobody is sent in the tail."""
    throughput: float | None
    """Output tokens per second of all users together."""


class LevelSummary(msgspec.Struct, frozen=True, kw_only=True):
    kind: Literal["prefill", "decode", "answers", "sweep"]
    name: str
    """``pp2048``, ``tg128``, ``c8``."""
    concurrency: int
    repeat: int = 1
    asked: int
    """Requests planned."""
    ok: int
    failed: int
    errors: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Failures by kind."""
    success: Interval | None = None
    """Wilson interval of the success share."""
    duration: float | None
    """None where another tool does not tell."""
    peak_concurrency: int | None
    """None where another tool does not tell."""

    prompt_tokens_planned: int | None = None
    prompt_tokens: Mean | None = None
    output_tokens_planned: int | None = None
    output_tokens: Mean | None = None
    short_share: float | None = None
    """Share of requests whose output fell short of the plan by more than 5 %."""
    long_share: float | None = None
    """Share of requests whose output went over the plan by more than 5 %."""
    finishes: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Successful requests by finish reason."""
    count_source: CountSource | None = None
    tokens_per_chunk: float | None = None
    first_chunk_known: bool | None = None
    """Whether TPOT knows how many tokens the first chunk held; None where it does not matter."""
    tpot_if_even: float | None = None
    """Median TPOT if the first chunk held as many tokens as the others, where that is not known:
    the truth lies between this and ``tpot.p50``."""
    cache_hit: float | None = None
    """Share of prompt tokens that the engine took from its cache."""

    ttfr: Quantiles
    ttft: Quantiles
    ttfa: Quantiles
    e2e: Quantiles
    tpot: Quantiles
    gap: Quantiles
    queued: Quantiles

    prefill_speed: Mean | None = None
    """Prompt tokens ÷ TTFT, as seen by a client."""
    decode_speed: Mean | None = None
    """1 ÷ TPOT of each request: the speed at which one user sees text being written."""
    speed_with_wait: Mean | None = None
    """Output tokens ÷ E2E latency of each request."""
    throughput: float | None = None
    """Output tokens per second of all users together, steady state where there is one."""
    throughput_all: float | None = None
    """The same over the whole level, ramp and tail included."""
    requests_per_second: float | None = None
    ramp: Phase | None = None
    steady: Phase | None = None
    tail: Phase | None = None
    silence: float | None = None
    """Longest time without any text although a request was in the middle of its answer."""
    resent: int = 0
    meter: MeterHealth | None = None
    power: float | None = None
    """The GPU's mean power while the level was measured, watts; None where it does not tell."""
    slots: int | None = None
    """Requests the engine works on at once; above it a level is queueing."""
    flags: tuple[str, ...] = ()
    """What a reader must know: ``short_output``, ``long_output``, ``cached_prompts``,
    ``meter_busy``, ``queueing``, ``concurrency_not_reached``, ``stopped``, ``stalled``,
    ``chunk_counts``, ``first_chunk_unknown``, ``prompt_length``."""
