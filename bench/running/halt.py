"""Watching a run from beside it: cancel, a dead engine, memory at its floor.

One thread looks twice a second and holds nothing else up; what it finds is raised in the worker's
own thread at the next `Halt.check`, and ends the level that is being measured at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from bench.errors import BenchError

PERIOD = 0.5
PAUSE = 0.1
Look = Callable[[], BenchError | None]
"""Looks once; returns why the run has to end, or None. Called every `PERIOD` seconds."""


class Cancelled(Exception):
    """A person asked for the end of the run."""


class Halt:
    """Why a run has to end: set once, by whichever look found a reason first."""

    def __init__(self, looks: Sequence[Look], cancelled: Callable[[], bool]) -> None:
        self.event = threading.Event()
        """Set when the run has to end; the load generator stops on it."""
        self.reason: BenchError | Cancelled | None = None
        self._looks = looks
        self._cancelled = cancelled

    def look(self) -> bool:
        """Look once; whether the run has to end."""
        if self.reason is None:
            found = (reason for look in self._looks if (reason := look()) is not None)
            self.reason = next(found, None) or (Cancelled() if self._cancelled() else None)
        if self.reason is not None:
            self.event.set()
        return self.reason is not None

    def settle(self, seconds: float = 3.0, pause: Callable[[float], None] = time.sleep) -> bool:
        """Look for a while after a request broke off: Docker says that a container has ended a
        moment after its connections did."""
        for _ in range(round(seconds / PAUSE)):
            if self.look():
                return True
            pause(PAUSE)
        return self.look()

    def check(self) -> None:
        """Raise the reason, if there is one."""
        if self.look() and self.reason is not None:
            raise self.reason


@contextmanager
def watching(halt: Halt) -> Iterator[None]:
    """Look every `PERIOD` seconds until the block ends or one look finds a reason."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(PERIOD) and not halt.look():
            pass

    thread = threading.Thread(target=watch, name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=10)
