"""A file that somebody hands over, made safe to read: unpacked, measured, hashed, as UTF-8.

Nothing in it is trusted: not its name, not its size, not what it claims to be. It is copied into a
temporary file while it is unpacked, so that memory holds a block of it and never the whole.
"""

from __future__ import annotations

import codecs
import hashlib
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from bench.errors import BenchError

LIMIT = 300 * 1024 * 1024
"""Bytes that a file may have, packed or unpacked."""
RATIO = 250
"""A packed file that grows by more than this is a trap; our own bundles grow 10 to 30 times."""
BLOCK = 1 << 20
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A file ready to be read."""

    text: BinaryIO
    """UTF-8 without a byte order mark, at its beginning."""
    sha256: str
    """Of its bytes, unpacked, as they were before any change of encoding."""
    size: int
    """Bytes, unpacked."""
    packed: bool


@contextmanager
def opened(file: Path | BinaryIO, *, limit: int = LIMIT) -> Iterator[Source]:
    """Read a file once and give it back as text.

    Raises BenchError ``import_empty``, ``import_too_big``, ``import_packed_trap``,
    ``import_packed_broken``, ``import_no_text`` (neither UTF-8 nor UTF-16).
    """
    with tempfile.TemporaryFile() as whole, tempfile.TemporaryFile() as text:
        if isinstance(file, Path):
            with file.open("rb") as stream:
                packed, sha256, size = _unpack(stream, whole, limit)
        else:
            file.seek(0)
            packed, sha256, size = _unpack(file, whole, limit)
        if not size:
            raise BenchError("import_empty")
        whole.seek(0)
        encoding = _encoding(whole.read(4096))
        whole.seek(0)
        if encoding == "utf-8":
            yield Source(text=_checked(whole), sha256=sha256, size=size, packed=packed)
        else:
            _recode(whole, text, encoding)
            yield Source(text=text, sha256=sha256, size=size, packed=packed)


@contextmanager
def opened_raw(file: Path | BinaryIO, *, limit: int = LIMIT) -> Iterator[BinaryIO]:
    """A file's own bytes, unpacked: what `Source.sha256` is of."""
    with tempfile.TemporaryFile() as whole:
        if isinstance(file, Path):
            with file.open("rb") as stream:
                _unpack(stream, whole, limit)
        else:
            file.seek(0)
            _unpack(file, whole, limit)
        whole.seek(0)
        yield whole


def _unpack(stream: BinaryIO, target: BinaryIO, limit: int) -> tuple[bool, str, int]:
    digest, size, read = hashlib.sha256(), 0, 0
    first = stream.read(BLOCK)
    packed = first[:2] == b"\x1f\x8b"
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16) if packed else None
    block = first
    while block:
        read += len(block)
        if read > limit:
            raise BenchError("import_too_big", limit=limit >> 20)
        for piece in _pieces(unpacker, block) if unpacker else (block,):
            size += len(piece)
            if size > limit:
                raise BenchError("import_too_big", limit=limit >> 20)
            if packed and size > 10 * BLOCK and size > RATIO * read:
                raise BenchError("import_packed_trap", times=RATIO)
            digest.update(piece)
            target.write(piece)
        if unpacker and unpacker.eof:
            break
        block = stream.read(BLOCK)
    if unpacker and not unpacker.eof:
        raise BenchError("import_packed_broken")
    return packed, digest.hexdigest(), size


def _pieces(unpacker: zlib._Decompress, block: bytes) -> Iterator[bytes]:
    """What a block unpacks to, a piece at a time, so that a trap never fills the memory."""
    try:
        while block:
            yield unpacker.decompress(block, BLOCK)
            block = unpacker.unconsumed_tail
    except zlib.error as fault:
        raise BenchError("import_packed_broken") from fault


def _encoding(head: bytes) -> str:
    for mark, encoding in MARKS:
        if head.startswith(mark):
            return encoding
    if b"\x00" not in head:
        return "utf-8"
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) < 0.3 * len(head) / 2 or min(even, odd) > 0.05 * len(head) / 2:
        raise BenchError("import_no_text")
    return "utf-16-le" if odd > even else "utf-16-be"


def _checked(whole: BinaryIO) -> BinaryIO:
    """The file itself, when all of it is UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while block := whole.read(BLOCK):
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as fault:
        raise BenchError("import_no_text") from fault
    whole.seek(0)
    return whole


def _recode(whole: BinaryIO, text: BinaryIO, encoding: str) -> None:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        while block := whole.read(BLOCK):
            text.write(decoder.decode(block).encode())
        text.write(decoder.decode(b"", final=True).encode())
    except UnicodeError as fault:
        raise BenchError("import_no_text") from fault
    text.seek(0)
