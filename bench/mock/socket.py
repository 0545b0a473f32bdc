"""A socket of the mock engine: bytes with the time of their arrival, and writing that never waits.

Like the meter's own `connection.py` it is a plain socket on the selector, so that the server is
cheap enough to keep its timing at 128 streams and knows when a request really came.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from time import perf_counter

from bench.meter import stamps

_READ = 1 << 16


class Peer:
    """One client. ``on_data(bytes, arrival)`` and ``on_gone()`` are set by who talks to it."""

    def __init__(self, sock: socket.socket) -> None:
        self.on_data: Callable[[bytes, float], None] = lambda data, arrival: None
        self.on_gone: Callable[[], None] = lambda: None
        self.gone = False
        self._sock = sock
        self._unsent = b""
        self._leaving = False
        self._loop = asyncio.get_running_loop()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._loop.add_reader(sock, self._readable)

    def write(self, data: bytes) -> None:
        if self.gone:
            return
        if self._unsent:
            self._unsent += data
            return
        try:
            sent = self._sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            return self._drop()
        if sent < len(data):
            self._unsent = data[sent:]
            self._loop.add_writer(self._sock, self._writable)

    def close(self) -> None:
        """Close when everything is sent."""
        self._leaving = True
        if not self._unsent:
            self._drop()

    def _readable(self) -> None:
        try:
            data, control, _, _ = self._sock.recvmsg(_READ, stamps.CONTROL)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            return self._drop()
        now = perf_counter()
        arrival = stamps.seconds(control, stamps.shift())
        self.on_data(data, now if arrival is None else min(arrival, now))

    def _writable(self) -> None:
        self._loop.remove_writer(self._sock)
        data, self._unsent = self._unsent, b""
        self.write(data)
        if self._leaving and not self._unsent:
            self._drop()

    def _drop(self) -> None:
        if self.gone:
            return
        self.gone = True
        self._loop.remove_reader(self._sock)
        self._loop.remove_writer(self._sock)
        self._sock.close()
        self.on_gone()


def listen(sock: socket.socket, welcome: Callable[[Peer], object]) -> None:
    """Take every client that connects to this bound socket."""

    def accept() -> None:
        while True:
            try:
                client, _ = sock.accept()
            except BlockingIOError:
                return
            welcome(Peer(client))

    stamps.ask_for(sock)  # what a listening socket asks for, its clients' sockets do too
    sock.setblocking(False)
    sock.listen(1024)
    asyncio.get_running_loop().add_reader(sock, accept)
