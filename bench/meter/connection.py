"""Connection: one socket that is asked one request at a time and notes when bytes come."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable

import httpx

from bench.meter import stamps
from bench.meter.exchange import Exchange
from bench.meter.framing import Answer, Malformed
from bench.meter.tls import Tls

Clock = Callable[[], float]
READ = 65536
HASTY = 0.5
"""A server that closes this soon after an answer, unannounced, keeps no connection alive."""


class NotHttp(httpx.RemoteProtocolError):
    """What came back is no HTTP/1.1."""


class RunawayOutput(httpx.TransportError):
    """The answer went on far beyond the tokens that were asked for."""


class Connection:
    """One socket, with at most one request on it at a time."""

    def __init__(self, sock: socket.socket, tls: Tls | None, clock: Clock) -> None:
        self.answered: float | None = None
        """When its last answer was whole; None before the first."""
        self.opened = clock()
        self.closed: float | None = None
        self._sock, self._tls, self._clock = sock, tls, clock
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[None] | None = None
        self._seen = Exchange()
        self._answer = Answer()
        self._unsent = memoryview(b"")
        self._stall = 0.0
        self._timer: asyncio.TimerHandle | None = None
        if clock is time.perf_counter:
            stamps.ask_for(sock)
        self._loop.add_reader(sock, self._readable)

    async def ask(self, data: bytes, seen: Exchange, stall: float) -> None:
        """Send a request and note its answer. Raises httpx.TransportError when that breaks off."""
        self._seen, self._answer, self._stall = seen, Answer(), stall
        self._done = self._loop.create_future()
        seen.answer, seen.reads = self._answer, []
        self._timer = self._loop.call_later(stall, self._check_stall)
        seen.shift = stamps.shift()
        seen.sent = self._clock()
        self._send(memoryview(self._tls.encrypt(data) if self._tls else data))
        try:
            await self._done
            self.answered = self._clock()
        finally:
            self._done = None
            self._timer.cancel()
            seen.status, seen.headers = self._answer.status, self._answer.headers

    @property
    def dead(self) -> bool:
        return self.closed is not None

    @property
    def hasty(self) -> bool:
        """Whether the server closed it right after an answer."""
        if self.closed is None or self.answered is None:
            return False
        return self.closed - self.answered < HASTY

    @property
    def reusable(self) -> bool:
        return not self.dead and self._answer.reusable

    def close(self) -> None:
        if not self.dead:
            self.closed = self._clock()
            self._loop.remove_reader(self._sock)
            self._loop.remove_writer(self._sock)
            self._sock.close()

    def _send(self, data: memoryview) -> None:
        try:
            sent = self._sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as fault:
            return self._end(httpx.WriteError(str(fault)))
        if self._unsent and sent == len(data):
            self._loop.remove_writer(self._sock)
        elif not self._unsent and sent < len(data):
            self._loop.add_writer(self._sock, lambda: self._send(self._unsent))
        self._unsent = data[sent:]

    def _readable(self) -> None:
        try:
            data, control, _, _ = self._sock.recvmsg(READ, stamps.CONTROL)
        except BlockingIOError:
            return
        except OSError as fault:
            return self._closed(str(fault))
        now = self._clock()
        if not data:
            return self._closed("the server closed the connection")
        if self._tls is not None:
            try:
                data = self._tls.decrypt(data)
            except ssl.SSLError as fault:
                return self._closed(str(fault))
            if not data:
                return
        if self._done is None:
            return self.close()  # nobody asked for this
        seen = self._seen
        seen.reads.append((now, data, control))
        try:
            if self._answer.feed(data):
                self._end(None)
            elif seen.runs_away():
                self._end(RunawayOutput("stopped by the meter"))
        except Malformed as fault:
            self._end(NotHttp(str(fault)))

    def _closed(self, why: str) -> None:
        self.close()
        self._end(None if self._answer.until_close else httpx.ReadError(why))

    def _check_stall(self) -> None:
        reads = self._seen.reads
        silent_since = reads[-1][0] if reads else (self._seen.sent or 0.0)
        left = silent_since + self._stall - self._clock()
        if left > 0:
            self._timer = self._loop.call_later(left, self._check_stall)
        else:
            self._end(httpx.ReadTimeout(f"no byte for {self._stall:g} s"))

    def _end(self, fault: httpx.TransportError | None) -> None:
        if self._done is None or self._done.done():
            return
        if fault is None:
            self._done.set_result(None)
        else:
            self._done.set_exception(fault)
