"""What a model's files weigh, read from their headers: nothing is loaded.

Safetensors: https://huggingface.co/docs/safetensors (8 bytes length, then JSON). GGUF: `gguf.py`.
Every check here is one that would otherwise end a load after minutes.
"""

from __future__ import annotations

import errno
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from bench.errors import BenchError
from bench.memory import gguf

HEADER_LIMIT = 100_000_000
"""Bytes; the limit of the safetensors format itself."""
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    format: Literal["safetensors", "gguf"]
    bytes: int
    """Bytes of all tensors: what the model takes in memory before it does anything."""
    files: int
    quantization: str | None
    """By the model's own words, else the type that most bytes have: ``MXFP4``, ``BF16``."""
    config: Mapping[str, Any]
    """``config.json``, or a GGUF file's metadata; `kv.py` reads it."""
    published: bool = False
    """True: the size is its publisher's word, since the files are not on this machine."""


def read(path: Path, format: Literal["safetensors", "gguf"], roots: Sequence[Path] = ()) -> Weights:
    """What is at ``path``, for an engine that reads ``format``.

    Raises BenchError: ``model_outside`` (a link leads out of the model roots), ``model_not_there``,
    ``model_root_gone`` (a network drive that is not mounted), ``model_denied``,
    ``model_is_gguf`` and ``model_is_folder`` (the other engine's format), ``model_no_config``,
    ``model_config_broken``, ``model_config_only``, ``model_files_missing``, ``model_pointer``,
    ``model_truncated``, ``gguf_not``, ``gguf_version``.
    """
    try:
        _inside(path, roots)
        _there(path, roots)
        if format == "gguf":
            return _gguf(path)
        found, files = _safetensors(path)
        for file in files:
            _inside(file, roots)
        return found
    except OSError as fault:
        code = "model_nas_lost" if fault.errno in _GONE else "model_denied"
        raise BenchError(code, path=str(path), reason=fault.strerror or str(fault)) from fault


_GONE = {errno.ESTALE, errno.EIO, errno.ENOTCONN, errno.EHOSTDOWN, errno.ETIMEDOUT}


def _inside(path: Path, roots: Sequence[Path]) -> None:
    """Only files under a model root: a link in it must not lead out."""
    real = path.resolve()
    if roots and not any(real.is_relative_to(root.resolve()) for root in roots):
        raise BenchError("model_outside", path=str(path), target=str(real))


def _there(path: Path, roots: Sequence[Path]) -> None:
    if path.exists():
        return
    for root in roots:
        if path.is_relative_to(root) and not (root.is_dir() and any(root.iterdir())):
            raise BenchError("model_root_gone", path=str(path), root=str(root))
    raise BenchError("model_not_there", path=str(path))


def _gguf(path: Path) -> Weights:
    if path.is_dir():
        raise BenchError("model_is_folder", path=str(path))
    parts = _parts(path)
    if pointer := next((part for part in parts if _is_pointer(part)), None):
        raise BenchError("model_pointer", path=str(pointer))
    headers = [gguf.read(part) for part in parts]
    tensors = [(header, tensor) for header in headers for tensor in header.tensors]
    unknown = any(tensor.bytes is None for _, tensor in tensors)
    size = sum(tensor.bytes or 0 for _, tensor in tensors)
    if unknown:  # a type newer than the reader: what the files hold after their headers
        size = sum(
            part.stat().st_size - header.data_start
            for part, header in zip(parts, headers, strict=True)
        )
    return Weights(
        path=str(path),
        format="gguf",
        bytes=size,
        files=len(parts),
        quantization=headers[0].quantization
        or _most((tensor.type, tensor.bytes or 0) for _, tensor in tensors),
        config=headers[0].metadata,
    )


def _parts(path: Path) -> list[Path]:
    match = _PART.search(path.name)
    if not match:
        return [path]
    stem, count = path.name[: match.start()], int(match[2])
    parts = [
        path.with_name(f"{stem}-{number:05}-of-{count:05}.gguf") for number in range(1, count + 1)
    ]
    _all_there(path.parent, parts)
    return parts


def _safetensors(folder: Path) -> tuple[Weights, list[Path]]:
    if folder.is_file():
        raise BenchError("model_is_gguf" if _is_gguf(folder) else "model_is_file", path=str(folder))
    config = _json(folder / "config.json") if (folder / "config.json").exists() else None
    files = _shards(folder)
    if config is None:
        if not files and any(folder.glob("*.gguf")):
            raise BenchError("model_is_gguf", path=str(folder))
        raise BenchError("model_no_config", path=str(folder))
    if not files:
        raise BenchError("model_config_only", path=str(folder))
    sizes: Counter[str] = Counter()
    for file in files:
        sizes.update(_tensor_bytes(file))
    found = Weights(
        path=str(folder),
        format="safetensors",
        bytes=sizes.total(),
        files=len(files),
        quantization=_quantization(config) or _most(sizes.items()),
        config=config,
    )
    return found, files


def _shards(folder: Path) -> list[Path]:
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return sorted(folder.glob("*.safetensors"))
    names = _json(index).get("weight_map")
    if not isinstance(names, dict) or not names:
        raise BenchError("model_config_broken", path=str(index), reason="weight_map")
    files = [folder / str(name) for name in sorted(set(names.values()))]
    _all_there(folder, files)
    return files


def _all_there(folder: Path, files: Sequence[Path]) -> None:
    missing = [file.name for file in files if not file.exists()]
    if missing:
        raise BenchError(
            "model_files_missing",
            path=str(folder),
            missing=len(missing),
            total=len(files),
            first=missing[0],
        )


def _tensor_bytes(file: Path) -> Counter[str]:
    """Bytes by data type. The header's last offset must be the file's end."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > HEADER_LIMIT or 8 + length > size:
            raise BenchError("model_pointer" if _is_pointer(file) else "model_truncated",
                             path=str(file))  # fmt: skip
        header = stream.read(length)
    try:
        entries = [entry for name, entry in json.loads(header).items() if name != "__metadata__"]
        spans = [(entry["dtype"], *entry["data_offsets"]) for entry in entries]
    except (ValueError, TypeError, KeyError, AttributeError) as fault:
        raise BenchError("model_truncated", path=str(file)) from fault
    if 8 + length + max((end for _, _, end in spans), default=0) > size:
        raise BenchError("model_truncated", path=str(file))
    sizes: Counter[str] = Counter()
    for dtype, begin, end in spans:
        sizes[dtype] += end - begin
    return sizes


def _quantization(config: Mapping[str, Any]) -> str | None:
    method = (config.get("quantization_config") or {}).get("quant_method")
    return str(method).upper() if method else None


def _most(sizes: Iterable[tuple[str, int]]) -> str | None:
    totals: Counter[str] = Counter()
    for name, size in sizes:
        totals[name] += size
    return max(totals, key=lambda name: totals[name]) if totals else None


def _json(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_bytes())
    except ValueError as fault:
        raise BenchError("model_config_broken", path=str(file), reason=str(fault)) from fault
    if not isinstance(value, dict):
        raise BenchError("model_config_broken", path=str(file), reason="not an object")
    return value


def _is_gguf(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(4) == b"GGUF"


def _is_pointer(file: Path) -> bool:
    """A stand-in that git leaves where Git LFS did not fetch the file."""
    with file.open("rb") as stream:
        return stream.read(18) == b"version https://gi"
