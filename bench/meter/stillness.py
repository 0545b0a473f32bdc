"""The meter's own health: does it keep still while it measures, and could it have bent a figure?"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.sample import MeterHealth

TICK = 0.02
"""Seconds between two looks at the event loop."""
LAG = 0.01
"""A loop that is later than this may have sent late and, without kernel stamps, stamped late."""
CPU = 0.9
"""Share of one core above which the meter has no room left."""


class Lag:
    """By how much the event loop woke late, in a level, and what processor time that level took."""

    def __init__(self) -> None:
        self._late: list[float] = []
        self._cpu = time.process_time()
        self._began = time.perf_counter()
        self._share: float | None = None

    def note(self, late: float) -> None:
        """One wake-up that was this many seconds late."""
        self._late.append(late)

    def end(self) -> None:
        """The level is over: what comes now is no load on it."""
        spent = time.process_time() - self._cpu
        self._share = spent / max(time.perf_counter() - self._began, 1e-9)

    def health(self, *, kernel: bool, gap: float | None) -> MeterHealth:
        """How busy the meter was. ``gap``: the median seconds between two pieces of a stream.

        Busy is a core used to more than 90 %, or a P99 lag above 10 ms. When the kernel stamps
        arrivals a lag bends them only where two pieces come before one reading, so that half a gap
        is allowed then.
        """
        late = sorted(self._late) or [0.0]
        p99 = max(late[min(len(late) - 1, int(0.99 * len(late)))], 0.0)
        share = self._share or 0.0
        allowed = max(LAG, gap / 2) if kernel and gap is not None else LAG
        return MeterHealth(
            loop_lag_p99=p99,
            loop_lag_max=max(late[-1], 0.0),
            cpu_share=share,
            busy=share > CPU or p99 > allowed,
            kernel_stamps=kernel,
        )


@contextmanager
def still() -> Iterator[None]:
    """No garbage collection while a level runs; what is alive already is not looked at again."""
    was = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was:
            gc.enable()
