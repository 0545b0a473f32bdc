"""TLS over bytes that were read elsewhere, so that their arrival can be stamped first."""

from __future__ import annotations

import asyncio
import socket
import ssl

READ = 65536


class Tls:
    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    async def handshake(self, sock: socket.socket) -> None:
        """Raises ssl.SSLError for a certificate that is not trusted or a peer without TLS."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                self._object.do_handshake()
                done = True
            except ssl.SSLWantReadError:
                done = False
            if out := self._outgoing.read():
                await loop.sock_sendall(sock, out)
            if done:
                return
            data = await loop.sock_recv(sock, READ)
            if not data:
                raise ssl.SSLError("the server closed the connection during the TLS handshake")
            self._incoming.write(data)

    def encrypt(self, data: bytes) -> bytes:
        view = memoryview(data)
        while view:
            view = view[self._object.write(view) :]
        return self._outgoing.read()

    def decrypt(self, data: bytes) -> bytes:
        """What the bytes say; empty for a piece of a record, or one without payload."""
        self._incoming.write(data)
        parts = []
        try:
            while part := self._object.read(READ):
                parts.append(part)
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass
        return b"".join(parts)
