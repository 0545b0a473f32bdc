"""When an engine has to be stopped: memory at its floor, no progress while loading, a stall.

Rules are pure; `memory_floor` is a look of `halt.py`, which looks twice a second from start to
stop: on a machine with unified memory an engine that takes the last of it stops the whole machine,
SSH included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from bench.errors import BenchError
from bench.machine.host import GIB

LOADING_PATIENCE = 600.0
"""Seconds without a new stage, shard or figure before a start is given up."""
STALL_PATIENCE = 120.0
"""Seconds without a token or a moving counter, with requests running, before a level is."""


def memory_floor(read_available: Callable[[], int], floor: int) -> Callable[[], BenchError | None]:
    """A look that ends a run when MemAvailable is under ``floor`` bytes."""

    def look() -> BenchError | None:
        available = read_available()
        if available >= floor:
            return None
        return BenchError(
            "memory_floor", available=f"{available / GIB:.1f}", floor=f"{floor / GIB:.1f}"
        )

    return look


def gave_up(moved: float, now: float, patience: float = LOADING_PATIENCE) -> bool:
    """Whether a start makes no progress; ``moved`` is `Progress.moved`, both in seconds."""
    return now - moved >= patience


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen at one moment while measuring."""

    at: float
    """Seconds."""
    running: int
    """Requests in flight."""
    tokens: int
    """Pieces of text that have arrived here, of all requests."""
    counter: float | None = None
    """The engine's own count of generated tokens; None where it has none."""


def stalled(readings: Sequence[Reading], patience: float = STALL_PATIENCE) -> bool:
    """Whether requests ran for ``patience`` seconds while no token came and no counter moved.

    ``readings`` in the order of time. GPU utilisation is not asked: a deadlock shows 96 % of it.
    """
    if not readings:
        return False
    last = readings[-1]
    since = last.at
    for reading in reversed(readings):
        same = (reading.tokens, reading.counter) == (last.tokens, last.counter)
        if not same or not reading.running:
            break
        since = reading.at
    return last.at - since >= patience
