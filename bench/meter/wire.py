"""The wire: an httpx transport that stamps bytes where they leave and where they arrive.

A request starts when its bytes are handed to the socket. A piece of the answer arrived when this
machine's kernel got it (SO_TIMESTAMPNS; where there is none, when it was read), so that a busy
event loop makes no answer look slow. Between the first and the last token of a request nothing is
parsed: a piece is read and appended. Connections are opened before they are needed; no cap on them.

Plain sockets on the event loop's selector, because asyncio's own transports allocate 256 KiB for
each read, which costs more than all that is done here. HTTP/1.1, and no proxies, redirects or
compression: a meter must not add them.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator

import httpx

from bench.meter.connection import Clock, Connection
from bench.meter.exchange import Exchange
from bench.meter.tls import Tls

Origin = tuple[str, str, int]
FRESH = 1.0
"""Seconds for which a new connection counts as opened for its first request."""


class Wire(httpx.AsyncBaseTransport):
    """An httpx transport that reads each answer to its end; ``send`` also tells when bytes came.

    A request on a connection that was not opened for it, and that dies before any byte of answer,
    is sent once more on a new one, and counted (llama.cpp's server closes after each stream
    although it promises not to). A new connection that dies is a failure.
    """

    def __init__(
        self,
        *,
        verify: bool | ssl.SSLContext = True,
        connect_seconds: float = 10.0,
        stall_seconds: float = 300.0,
        clock: Clock = time.perf_counter,
    ) -> None:
        self._verify = verify
        self._context: ssl.SSLContext | None = None
        self._connect_seconds, self._stall_seconds = connect_seconds, stall_seconds
        self._clock = clock
        self._idle: list[tuple[Origin, Connection]] = []
        self._hasty: set[Origin] = set()
        self._addresses: dict[Origin, list[tuple[int, tuple[object, ...]]]] = {}

    async def open(self, url: httpx.URL, count: int) -> None:
        """Have this many connections ready. Raises httpx.TransportError when that cannot be."""
        where = origin(url)
        missing = count - sum(at == where and not idle.dead for at, idle in self._idle)
        for _ in range(missing):
            self._idle.append((where, await self._dial(where)))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        seen = Exchange()
        try:
            await self.send(request.url, await encode(request), seen)
        except httpx.TransportError as fault:
            seen.fault = fault
            if seen.status is None:
                raise
        headers = list(seen.headers)
        return httpx.Response(seen.status or 0, headers=headers, stream=_Pieces(seen))

    async def send(self, url: httpx.URL, data: bytes, seen: Exchange) -> None:
        """Send a request's bytes (`encode`) and note its answer.

        Raises httpx.TransportError when that breaks off; what came before is noted.
        """
        where = origin(url)
        connection = self._take(where)
        if connection is not None:
            try:
                return await self._ask_on(connection, where, data, seen)
            except (httpx.WriteError, httpx.ReadError):
                fresh = connection.answered is None
                if seen.reads or (fresh and self._clock() - connection.opened < FRESH):
                    raise
                seen.resent += 1
                self._hasty.add(where)
        await self._ask_on(await self._dial(where), where, data, seen)

    async def aclose(self) -> None:
        for _, connection in self._idle:
            connection.close()
        self._idle.clear()

    async def _ask_on(
        self, connection: Connection, where: Origin, data: bytes, seen: Exchange
    ) -> None:
        try:
            await connection.ask(data, seen, self._stall_seconds)
        except BaseException:
            connection.close()
            raise
        if connection.reusable and where not in self._hasty:
            self._idle.append((where, connection))
        else:
            connection.close()

    def _take(self, where: Origin) -> Connection | None:
        """A connection to this origin that is still open."""
        for index in range(len(self._idle) - 1, -1, -1):
            at, connection = self._idle[index]
            if at == where:
                del self._idle[index]
                if not connection.dead:
                    return connection
                if connection.hasty:
                    self._hasty.add(where)
        return None

    async def _dial(self, where: Origin) -> Connection:
        try:
            async with asyncio.timeout(self._connect_seconds):
                return await self._connected(where)
        except TimeoutError as fault:
            raise httpx.ConnectTimeout(f"no answer within {self._connect_seconds:g} s") from fault
        except (OSError, ssl.SSLError) as fault:
            raise httpx.ConnectError(_plain(fault)) from fault

    async def _connected(self, where: Origin) -> Connection:
        scheme, host, _ = where
        sock = await self._reach(where)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if scheme == "http":
                return Connection(sock, None, self._clock)
            self._context = self._context or httpx.create_ssl_context(verify=self._verify)
            tls = Tls(self._context, host)
            await tls.handshake(sock)
            return Connection(sock, tls, self._clock)
        except BaseException:
            sock.close()
            raise

    async def _reach(self, where: Origin) -> socket.socket:
        """A socket connected to the first address of this host that answers."""
        loop = asyncio.get_running_loop()
        if where not in self._addresses:
            found = await loop.getaddrinfo(where[1], where[2], type=socket.SOCK_STREAM)
            self._addresses[where] = [(family, address) for family, _, _, _, address in found]
        fault: OSError = OSError("no address")
        for family, address in self._addresses[where]:
            sock = socket.socket(family, socket.SOCK_STREAM)
            sock.setblocking(False)
            try:
                await loop.sock_connect(sock, address)
            except OSError as why:
                sock.close()
                fault = why
            except BaseException:
                sock.close()
                raise
            else:
                return sock
        raise fault


class _Pieces(httpx.AsyncByteStream):
    def __init__(self, seen: Exchange) -> None:
        self._seen = seen

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _, data in self._seen.pieces():
            yield data
        if self._seen.fault is not None:
            raise self._seen.fault


def origin(url: httpx.URL) -> Origin:
    return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)


async def encode(request: httpx.Request) -> bytes:
    """The bytes of a request as they go over the wire."""
    body = await request.aread()
    head = [b"%s %s HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
    head += [b"%s: %s" % (name, value) for name, value in request.headers.raw]
    return b"\r\n".join([*head, b"", body])


def _plain(fault: OSError) -> str:
    """What went wrong with a connection, in words."""
    if isinstance(fault, ssl.SSLCertVerificationError):
        return f"its TLS certificate is not trusted ({fault.verify_message})"
    if isinstance(fault, ssl.SSLError):
        return f"no TLS connection could be made ({fault.reason or fault})"
    if isinstance(fault, socket.gaierror):
        return "its name is not known"
    if isinstance(fault, ConnectionRefusedError):
        return "nothing listens there (connection refused)"
    return fault.strerror or str(fault)
