"""Watching a run from beside it: cancel, a dead engine, memory at its floor.

One thread looks twice a second and holds nothing else up; what it finds is raised in the worker's
own thread at the next `Halt.check`, and ends the level that is being measured at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from bench.errors import BenchError

PERIOD = 0.5
Look = Callable[[], BenchError | None]
"""Looks once; returns why the run has to end, or None. Called every `PERIOD` seconds."""


class Cancelled(Exception):
    """A person asked for the end of the run."""


class Halt:
    """Set once, by whichever look found a reason first."""

    def __init__(self) -> None:
        self.event = threading.Event()
        """Set when the run has to end; the load generator stops on it."""
        self.reason: BenchError | Cancelled | None = None

    def set(self, reason: BenchError | Cancelled) -> None:
        if self.reason is None:
            self.reason = reason
        self.event.set()

    def check(self) -> None:
        """Raise the reason, if there is one."""
        if self.reason is not None:
            raise self.reason


@contextmanager
def watching(halt: Halt, looks: Sequence[Look], cancelled: Callable[[], bool]) -> Iterator[None]:
    """Look every `PERIOD` seconds until the block ends or one look finds a reason."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(PERIOD) and halt.reason is None:
            for look in looks:
                if (reason := look()) is not None:
                    halt.set(reason)
            if halt.reason is None and cancelled():
                halt.set(Cancelled())

    thread = threading.Thread(target=watch, name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=10)
