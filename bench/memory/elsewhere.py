"""A model whose files are not on this machine: where they will be, and what its publisher says."""

from __future__ import annotations

import json
from pathlib import Path

from bench import catalogue
from bench.catalogue import Artifact, Catalogue
from bench.config import ROOT
from bench.errors import BenchError
from bench.memory import artifacts
from bench.memory.weights import Weights

SHAPES = ROOT / "data" / "shapes"


def expected(artifact: Artifact, root: Path) -> artifacts.Found:
    """Where an artifact is to lie below a model root, as docs/models.md says."""
    return artifacts.Found(root=root, path=root / artifact.path, files=())


def published(known: Catalogue, model: str, artifact: str | None) -> Weights | None:
    """What is published of a catalogue's model; None without a size."""
    if model not in known.models or artifact is None:
        return None
    try:
        chosen = catalogue.artifact(known.models[model], artifact)
    except BenchError:
        return None
    if chosen.size_bytes is None or chosen.format == "ollama":
        return None
    shape = SHAPES / f"{model}.json"
    told = chosen.format == "safetensors" and shape.exists()
    return Weights(
        path=chosen.path,
        format=chosen.format,
        bytes=chosen.size_bytes,
        files=0,
        quantization=chosen.quantization,
        config=json.loads(shape.read_text()) if told else {},
        published=True,
    )
