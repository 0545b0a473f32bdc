"""A GGUF file's header: its metadata and the sizes of its tensors, without loading it.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Versions 2 and 3, little
endian. A model in several files (``…-00001-of-00003.gguf``) is read file by file.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from os import SEEK_CUR
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from bench.errors import BenchError

KEPT = 4096
"""Arrays longer than this (vocabularies) are walked over, not kept."""

_SCALARS: Mapping[int, str] = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9

TYPES: Mapping[int, tuple[str, int, int]] = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 36),
    10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1), 25: ("I16", 1, 2),
    26: ("I32", 1, 4), 27: ("I64", 1, 8), 28: ("F64", 1, 8), 29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17),
}  # fmt: skip
"""ggml's tensor types: name, elements a block, bytes a block."""

FILE_TYPES: Mapping[int, str] = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
    11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S",
    17: "Q5_K_M", 18: "Q6_K", 25: "IQ4_NL", 30: "IQ4_XS", 32: "BF16", 38: "MXFP4",
}  # fmt: skip
"""llama.cpp's names of a file's mixture of types (``general.file_type``)."""


class Tensor(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    shape: tuple[int, ...]
    type: str
    """A name of `TYPES`, or ``type 40`` for one that is newer than this reader."""
    bytes: int | None
    """None for an unknown type."""
    offset: int
    """Bytes from the start of the tensor data."""


class Gguf(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    metadata: Mapping[str, Any]
    """Long arrays are left out."""
    tensors: tuple[Tensor, ...]
    data_start: int
    """Where in the file the tensor data begin, in bytes."""

    @property
    def quantization(self) -> str | None:
        """The file's own name for it, where this reader knows that name."""
        return FILE_TYPES.get(self.metadata.get("general.file_type", -1))


def read(path: Path) -> Gguf:
    """The header of one file.

    Raises BenchError ``gguf_not`` (another format), ``gguf_version`` and ``model_truncated`` (the
    file ends before its header or its tensors do).
    """
    size = path.stat().st_size
    # No mmap: a network drive that goes away would end this process instead of raising OSError.
    with path.open("rb", buffering=1 << 20) as file:
        if file.read(4) != b"GGUF":
            raise BenchError("gguf_not", path=str(path))
        try:
            version = struct.unpack("<I", file.read(4))[0]
            if version not in (2, 3):
                raise BenchError("gguf_version", path=str(path), version=version)
            found = _header(_Cursor(file, size), version)
        except (struct.error, _PastEnd) as fault:
            raise BenchError("model_truncated", path=str(path)) from fault
    if _end(found) > size:
        raise BenchError("model_truncated", path=str(path))
    return found


class _PastEnd(Exception):
    """A length in the header points behind the end of the file."""


class _Cursor:
    """A place in the file; each call reads one value and moves on."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file = file
        self.size = size

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.file.read(struct.calcsize(form)))[0]

    def text(self) -> str:
        length = self.number("<Q")
        if length > self.size:
            raise _PastEnd
        return self.file.read(length).decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self._array(self.number("<I"), self.number("<Q"))
        return self.number(_form(kind))

    def _array(self, kind: int, count: int) -> tuple[Any, ...] | None:
        """None for an array too long to keep."""
        if kind in _SCALARS and count > KEPT:
            self._skip(count * struct.calcsize(_SCALARS[kind]))
            return None
        if count <= KEPT:
            return tuple(self.value(kind) for _ in range(count))
        for _ in range(count):
            if kind == _STRING:
                self._skip(self.number("<Q"))
            else:
                self.value(kind)
        return None

    def _skip(self, size: int) -> None:
        if self.file.seek(size, SEEK_CUR) > self.size:
            raise _PastEnd


def _header(cursor: _Cursor, version: int) -> Gguf:
    tensor_count, entries = cursor.number("<Q"), cursor.number("<Q")
    metadata: dict[str, Any] = {}
    for _ in range(entries):
        key = cursor.text()
        value = cursor.value(cursor.number("<I"))
        if value is not None:
            metadata[key] = value
    tensors = tuple(_tensor(cursor) for _ in range(tensor_count))
    alignment = int(metadata.get("general.alignment", 32)) or 32
    return Gguf(
        version=version,
        metadata=metadata,
        tensors=tensors,
        data_start=-(-cursor.file.tell() // alignment) * alignment,
    )


def _tensor(cursor: _Cursor) -> Tensor:
    name = cursor.text()
    dimensions = cursor.number("<I")
    if dimensions > 8:
        raise _PastEnd
    shape = tuple(cursor.number("<Q") for _ in range(dimensions))
    kind, offset = cursor.number("<I"), cursor.number("<Q")
    type_name, block, size = TYPES.get(kind, (f"type {kind}", 0, 0))
    elements = 1
    for length in shape:
        elements *= length
    return Tensor(
        name=name,
        shape=shape,
        type=type_name,
        bytes=elements // block * size if block else None,
        offset=offset,
    )


def _form(kind: int) -> str:
    if kind not in _SCALARS:
        raise _PastEnd
    return _SCALARS[kind]


def _end(found: Gguf) -> int:
    """The least size that the file must have for its tensors to be whole."""
    return max(
        (found.data_start + tensor.offset + (tensor.bytes or 0) for tensor in found.tensors),
        default=found.data_start,
    )
