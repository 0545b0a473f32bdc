"""HTTP/1.1 framing: where an answer ends, at next to no cost while it streams.

Source: RFC 9112 sections 6 and 7. Every piece costs one comparison until the answer may be over;
only then are the chunks walked, each byte once.
"""

from __future__ import annotations

from collections.abc import Callable

LONGEST_HEAD = 65536
CHUNK_END = b"\r\n\r\n"


class Malformed(Exception):
    """These bytes are not an HTTP/1.1 answer."""


class Dechunker:
    """Takes chunked transfer coding apart, cut anywhere."""

    def __init__(self) -> None:
        self.done = False
        self.extra = b""
        """What came after the end of the answer."""
        self._rest = b""
        self._left = 0  # bytes of the current chunk still to come, its CRLF included
        self._trailers = False

    def feed(self, data: bytes) -> bytes:
        """The payload in these bytes. Raises Malformed for a chunk size that is no number."""
        data = self._rest + data if self._rest else data
        at, payload = 0, []
        while not self.done:
            if self._left:
                part = data[at : at + self._left]
                payload.append(part[: max(self._left - 2, 0)])
                at += len(part)
                self._left -= len(part)
                if self._left:
                    break
            end = data.find(b"\r\n", at)
            if end < 0:
                break
            self._line(data[at:end])
            at = end + 2
        self._rest = data[at:]
        if self.done:
            self.extra, self._rest = self._rest, b""
        elif len(self._rest) > LONGEST_HEAD:
            raise Malformed("a chunk without a size")
        return b"".join(payload)

    def _line(self, line: bytes) -> None:
        if self._trailers:
            self.done = not line
            return
        try:
            size = int(line.partition(b";")[0], 16)
        except ValueError:
            size = -1
        if size < 0:
            raise Malformed(f"a chunk of size {line[:20]!r}")
        self._trailers = size == 0
        self._left = size + 2 if size else 0


class Answer:
    """Finds the end of one HTTP answer in its bytes as they come.

    ``feed(data)`` is True when the answer is whole. ``bodies()`` afterwards gives the payload of
    each fed piece, in order, so that a piece's arrival time stays with it.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        self.headers: list[tuple[bytes, bytes]] = []
        self.feed: Callable[[bytes], bool] = self._head
        self.reusable = False
        """Whether the connection may carry another request after a whole answer."""
        self.until_close = False
        """The answer ends with its connection."""
        self._held = b""
        self._bodies: list[bytes] = []
        self._waiting: list[bytes] = []
        self._chunks = Dechunker()
        self._left = 0

    def bodies(self) -> list[bytes]:
        """The payload of each piece; an answer that broke off gives what there is of it."""
        self._walk()
        return self._bodies

    def _head(self, data: bytes) -> bool:
        self._held += data
        while (end := self._held.find(b"\r\n\r\n")) >= 0:
            self._read_head(self._held[:end])
            self._held = self._held[end + 4 :]
            if self.status is not None and (self.status >= 200 or self.status == 101):
                return self._choose()
        if len(self._held) > LONGEST_HEAD or not b"HTTP/".startswith(self._held[:5]):
            raise Malformed(f"an answer that begins with {self._held[:20]!r}")
        self._bodies.append(b"")
        return False

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.split(b"\r\n")
        version, _, rest = first.partition(b" ")
        if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
            raise Malformed(f"an answer that begins with {first[:20]!r}")
        self.status = int(rest[:3])
        self.reusable = version != b"HTTP/1.0"
        pairs = (line.partition(b":") for line in lines)
        self.headers = [(name.strip().lower(), value.strip()) for name, _, value in pairs]

    def _choose(self) -> bool:
        """Choose the rule by which this answer ends, and apply it to what follows the head."""
        fields = dict(self.headers)
        words = fields.get(b"connection", b"").lower()
        self.reusable = (self.reusable and b"close" not in words) or b"keep-alive" in words
        rest, self._held = self._held, b""
        if self.status in (204, 304):
            self._left = 0
            self.feed = self._counted
        elif b"chunked" in fields.get(b"transfer-encoding", b"").lower():
            self.feed = self._chunked
        elif (length := fields.get(b"content-length", b"-")).isdigit():
            self._left = int(length)
            self.feed = self._counted
        else:
            self.until_close = True
            self.reusable = False
            self.feed = self._closed
        return self.feed(rest)

    def _counted(self, data: bytes) -> bool:
        self._bodies.append(data[: self._left])
        self._left -= len(data)
        self.reusable &= self._left >= 0
        return self._left <= 0

    def _chunked(self, data: bytes) -> bool:
        self._waiting.append(data)
        if len(data) >= 4 and data[-4:] != CHUNK_END:
            return False
        self._walk()
        self.reusable &= not self._chunks.extra
        return self._chunks.done

    def _closed(self, data: bytes) -> bool:
        self._bodies.append(data)
        return False

    def _walk(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._bodies += [self._chunks.feed(data) for data in waiting]
