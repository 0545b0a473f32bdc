"""What one streamed request gave: the value that everything else is computed from."""

from __future__ import annotations

from typing import Literal

import msgspec

CountSource = Literal["token_ids", "usage", "timings", "tokenizer", "chunks"]
"""Where an output count came from, best first (A06). ``chunks`` is a lower bound."""

ErrorKind = Literal[
    "http",
    "in_stream",
    "truncated",
    "connect",
    "timeout",
    "cancelled",
    "empty",
    "protocol",
    "runaway",
]
"""How a request failed. ``runaway``: the meter stopped output far beyond what was asked (A13)."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One request as its client saw it.

    ``sent`` is seconds since the level began, at the moment the request's bytes were handed to
    the socket. Every other time is seconds since ``sent``. ``None`` is "did not happen" or "not
    told", never 0. A sample with ``error`` counts as failed and is in no latency and no rate; what
    arrived before the error is kept for a reader, not for the statistics.
    """

    id: str
    sent: float
    queued: float = 0.0
    """Seconds the request waited in this client before ``sent``: never part of a latency."""
    first_event: float | None = None
    """TTFR: the first event of any kind, a role-only chunk included (A01)."""
    first_token: float | None = None
    """TTFT: the first event with text in any channel, thinking included (A02)."""
    first_answer: float | None = None
    """TTFA: the first event with text of the answer itself."""
    last_token: float | None = None
    """The last event with text. Finish and usage events are no tokens."""
    end: float | None = None
    """The end of the stream."""
    gaps: tuple[float, ...] = ()
    """Inter-chunk latency in seconds: between events with text, the wait before the first not
    a member."""
    chunks: int = 0
    """Events with text."""
    first_chunk_tokens: int | None = None
    """Tokens in the first event with text, where the server tells (token ids)."""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    """All generated tokens, thinking included."""
    reasoning_tokens: int | None = None
    count_source: CountSource | None = None
    finish: str | None = None
    streamed: bool = True
    """False when the whole answer came as one JSON object: its tokens have no times."""
    text: str = ""
    reasoning: str = ""
    status: int | None = None
    error: str | None = None
    """What a person reads about the failure: kind and message."""
    error_kind: ErrorKind | None = None
    resent: int = 0
    """Times it was sent again because a reused connection died before any byte of answer."""
    dropped: tuple[str, ...] = ()
    """Request keys left out because the server refused them."""

    @property
    def ok(self) -> bool:
        return self.error is None


class MeterHealth(msgspec.Struct, frozen=True, kw_only=True):
    """How busy the meter itself was during a level: could it have bent the figures?"""

    loop_lag_p99: float
    """Seconds by which the event loop woke late."""
    loop_lag_max: float
    cpu_share: float
    """CPU seconds of this process for each second of the level."""
    busy: bool
    """True when the figures could be bent; such a level is marked."""
    kernel_stamps: bool = False
    """Whether arrivals were stamped by the kernel, which a busy meter cannot delay."""


class LevelRun(msgspec.Struct, frozen=True, kw_only=True):
    """One level as it happened: the raw material of a `LevelSummary`."""

    concurrency: int
    samples: tuple[Sample, ...]
    """In the order of sending."""
    duration: float
    """Seconds from the first request's sending to the last one's end."""
    peak_concurrency: int
    """Most requests in flight at once."""
    meter: MeterHealth
    stopped: bool = False
    """True when it was ended early (cancel, watchdog): what was measured is kept."""
