"""Exchange: one request and its answer as bytes with times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx

from bench.meter import stamps
from bench.meter.framing import Answer


class Exchange:
    """What was noted of one request: filled while it runs, read when the level is over.

    All times are readings of one clock, in seconds. Mutable, for it is the meter's notebook: what
    was noted before a cancel stays noted.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        """Events that the answer may have; with more of them its output runs away."""
        self.sent: float | None = None
        self.end: float | None = None
        self.status: int | None = None
        self.headers: Sequence[tuple[bytes, bytes]] = ()
        self.fault: BaseException | None = None
        self.resent = 0
        self.reads: list[tuple[float, bytes, Any]] = []
        """(time of reading, bytes, control messages of the socket)"""
        self.answer: Answer | None = None
        """The HTTP framing of ``reads``; None when they are the bare body."""
        self.shift: int | None = None
        """The kernel's clock minus ours at sending, in nanoseconds."""
        self._look = limit

    @property
    def kernel(self) -> bool:
        """Whether the kernel stamped the arrivals."""
        return bool(self.reads and self.reads[0][2]) and self.shift is not None

    def pieces(self) -> list[tuple[float, bytes]]:
        """The body in pieces of (arrival, bytes)."""
        bodies = self.answer.bodies() if self.answer else [data for _, data, _ in self.reads]
        arrivals = [self._arrival(read, control) for read, _, control in self.reads]
        return list(zip(arrivals, bodies, strict=False))

    @property
    def body(self) -> bytes:
        return b"".join(data for _, data in self.pieces())

    def header(self, name: str) -> str:
        """A header of the answer; empty where it has none."""
        return str(httpx.Headers(list(self.headers)).get(name, ""))

    def last_arrival(self) -> float | None:
        return self._arrival(self.reads[-1][0], self.reads[-1][2]) if self.reads else None

    def runs_away(self) -> bool:
        """Whether the answer has more events than it may. Counts only when it can be so."""
        if self._look is None or self.limit is None or len(self.reads) <= self._look:
            return False
        self._look = 2 * len(self.reads)
        return b"".join(data for _, data, _ in self.reads).count(b"data:") > self.limit

    def _arrival(self, read: float, control: Sequence[Any]) -> float:
        """The kernel's stamp where there is one and it can be, else the time of reading."""
        stamp = None if self.shift is None else stamps.seconds(control, self.shift)
        if stamp is None or self.sent is None:
            return read
        return stamp if self.sent <= stamp <= read else read
