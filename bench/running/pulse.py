"""Whether anything moves while a level is measured: the look that ends a stall."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from bench.errors import BenchError
from bench.machine.watchdog import STALL_PATIENCE, Reading, stalled

Flight = Callable[[], tuple[int, int]]
"""(requests in flight, pieces of answers that have come) of the level that is being measured."""


class Pulse:
    """Readings of the last minutes. `look` is one of `halt.py`: called twice a second."""

    def __init__(
        self, patience: float = STALL_PATIENCE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.flight: Flight = lambda: (0, 0)
        """Of the level that is being measured; each level sets its own."""
        self.counter: Callable[[], float | None] = lambda: None
        """The sum of the engine's own counters; None where it has none."""
        self._patience = patience
        self._clock = clock
        self._readings: deque[Reading] = deque()

    def look(self) -> BenchError | None:
        running, tokens = self.flight()
        now = Reading(at=self._clock(), running=running, tokens=tokens, counter=self.counter())
        self._readings.append(now)
        while self._readings[0].at < now.at - 2 * self._patience:
            self._readings.popleft()
        if not stalled(tuple(self._readings), self._patience):
            return None
        return BenchError("engine_stalled", requests=running, minutes=round(self._patience / 60))

    def rest(self) -> None:
        """Between levels nothing is in flight."""
        self.flight = lambda: (0, 0)
