"""Server-sent events, read from stamped pieces after the stream is over.

Source: WHATWG HTML, section "Interpreting an event stream". Pieces may be cut anywhere, also inside
a character or between CR and LF.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

import msgspec

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class Event(msgspec.Struct, frozen=True):
    """One event."""

    at: float
    """When its last line had arrived; a blank line that comes late delays no token."""
    data: str
    name: str = ""
    bare: bool = False
    """A line of JSON with no ``data:`` before it, as broken servers send an error."""


def events(pieces: Sequence[tuple[float, bytes]]) -> Iterator[Event]:
    """The events in pieces of (arrival, bytes). The last one needs no blank line after it."""
    data: list[str] = []
    name, at = "", 0.0
    for when, line in _lines(pieces):
        if not line:
            if data:
                yield Event(at, "\n".join(data), name)
            data, name = [], ""
        elif line.startswith(b"{"):
            yield Event(when, line.decode(errors="replace"), name, bare=True)
        else:
            field, _, value = line.partition(b":")
            text = value.removeprefix(b" ").decode(errors="replace")
            if field == b"data":
                data.append(text)
                at = when
            elif field == b"event":
                name = text
    if data:
        yield Event(at, "\n".join(data), name)


def _lines(pieces: Sequence[tuple[float, bytes]]) -> Iterator[tuple[float, bytes]]:
    """Each line and the arrival of the piece in which it ended."""
    body = b"".join(data for _, data in pieces)
    ends = list(accumulate(len(data) for _, data in pieces))
    begin = len(_BOM) if body.startswith(_BOM) else 0
    for match in _LINE_END.finditer(body, begin):
        yield pieces[bisect_right(ends, match.start())][0], body[begin : match.start()]
        begin = match.end()
    if begin < len(body):
        yield pieces[bisect_right(ends, len(body) - 1)][0], body[begin:]
