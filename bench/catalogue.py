"""The catalogue: ``data/*.toml`` as values. A fault names the file and the key.

Every file is a table of entries by id; ``data/recipes/<engine>.toml`` has them by model and
artifact. docs/models.md says how to add one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from bench.errors import BenchError
from engines import Flag

DATA = Path(__file__).parents[1] / "data"
T = TypeVar("T")

Format = Literal["safetensors", "gguf", "ollama"]


class Artifact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One published form of a model."""

    id: str
    format: Format
    quantization: str
    path: str
    """Relative to a model root: a folder of safetensors or a GGUF file; ``*`` stands for any
    text. For ``ollama`` it is Ollama's tag."""
    size_bytes: int | None = None
    repository: str | None = None
    """Where it is published, ``organisation/name``."""
    package: str | None = None
    """The installed Python package that carries it (demo models)."""
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
    network: Literal["bridge", "host"] = "bridge"


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
    """Limit of an answer's length, thinking included."""
    answer_repeats: int = 1
    """Times that each of them is asked: how stable a model is."""
    answer_temperature: float | Literal["model"] = 0.0
    """``model`` leaves it, and all of sampling, to what the model's publisher recommends."""
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
    """Times that the whole sweep is done."""
    order: Literal["rising", "heat_aware"] = "rising"
    """``heat_aware``: the heaviest levels are no neighbours."""
    search: bool = False
    """Whether the edge is then looked for between the levels."""
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
    workload: Mapping[str, str]
    """In words, by language: what was sent."""
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
    set: str = ""
    """The versioned set it belongs to: answers are compared within one set only."""
    short: bool = False
    """Also in the short form of its set."""
    why: Mapping[str, str] = msgspec.field(default_factory=dict)


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    models: Mapping[str, Model]
    engines: Mapping[str, Engine]
    recipes: tuple[RecipeEntry, ...]
    workloads: Mapping[str, Workload]
    prompts: Mapping[str, Prompt]
    published: Mapping[str, Published]


def load(folder: Path = DATA) -> Catalogue:
    """Read and check everything, anew when a file has changed.

    Raises BenchError ``catalogue_fault``.
    """
    files = (*folder.glob("*.toml"), *folder.glob("recipes/*.toml"), *folder.glob("chinese/*.toml"))
    return _load(folder, tuple((file, file.stat().st_mtime_ns) for file in sorted(files)))


@lru_cache(maxsize=4)
def _load(folder: Path, _stamps: tuple[tuple[Path, int], ...]) -> Catalogue:
    catalogue = Catalogue(
        models={model.id: model for model in _models(folder / "models.toml")},
        engines=_entries(folder / "engines.toml", Engine),
        recipes=tuple(
            recipe for file in sorted(folder.glob("recipes/*.toml")) for recipe in _recipes(file)
        ),
        workloads=_entries(folder / "workloads.toml", Workload),
        prompts={
            id: prompt
            for file in (folder / "prompts.toml", *sorted(folder.glob("chinese/*.toml")))
            for id, prompt in _entries(file, Prompt).items()
        },
        published=_entries(folder / "published.toml", Published),
    )
    for file, key, problem in _loose_ends(catalogue):
        raise _fault(file, key, problem)
    return catalogue


def artifact(model: Model, id: str) -> Artifact:
    return next(artifact for artifact in model.artifacts if artifact.id == id)


def _models(file: Path) -> Iterator[Model]:
    for id, table in _read(file).items():
        artifacts = [
            _convert(
                {**_table(entry, file, f"{id}.artifacts.{name}"), "id": name},
                Artifact,
                file,
                f"{id}.artifacts.{name}",
            )
            for name, entry in _table(table.get("artifacts", {}), file, f"{id}.artifacts").items()
        ]
        yield _convert({**table, "id": id, "artifacts": artifacts}, Model, file, id)


def _recipes(file: Path) -> Iterator[RecipeEntry]:
    for model, artifacts in _read(file).items():
        for name, table in artifacts.items():
            key = f"{model}.{name}"
            named = {"engine": file.stem, "model": model, "artifact": name}
            yield _convert({**_table(table, file, key), **named}, RecipeEntry, file, key)


def _entries(file: Path, type: type[T]) -> dict[str, T]:
    return {id: _convert({**table, "id": id}, type, file, id) for id, table in _read(file).items()}


def _read(file: Path) -> dict[str, dict[str, Any]]:
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise _fault(file.name, "", str(fault)) from fault
    return {id: _table(table, file, id) for id, table in tables.items()}


def _table(value: object, file: Path, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _fault(file.name, key, "a table belongs here")
    return value


def _convert(table: Mapping[str, object], type: type[T], file: Path, key: str) -> T:
    try:
        return msgspec.convert(table, type)
    except msgspec.ValidationError as fault:
        problem, _, place = str(fault).partition(" - at `$")
        raise _fault(file.name, key + place.rstrip("`"), problem) from fault


def _fault(file: str, key: str, problem: str) -> BenchError:
    return BenchError("catalogue_fault", file=file, key=key or "-", problem=problem)


def _loose_ends(catalogue: Catalogue) -> Iterator[tuple[str, str, str]]:
    """What points at nothing: file, key, problem."""
    for recipe in catalogue.recipes:
        file, key = f"{recipe.engine}.toml", f"{recipe.model}.{recipe.artifact}"
        engine, model = catalogue.engines.get(recipe.engine), catalogue.models.get(recipe.model)
        if engine is None:
            yield file, key, f"no engine {recipe.engine} in engines.toml"
        elif model is None:
            yield file, key, f"no model {recipe.model} in models.toml"
        elif recipe.artifact not in {artifact.id for artifact in model.artifacts}:
            yield file, key, f"{recipe.model} has no artifact {recipe.artifact} in models.toml"
        elif (form := artifact(model, recipe.artifact).format) not in engine.formats:
            yield file, key, f"{engine.id} cannot read {form}"
        elif engine.kind == "docker" and not (recipe.image or engine.image):
            yield file, f"{key}.image", "a container needs an image"
    for workload in catalogue.workloads.values():
        for prompt in workload.answers:
            if prompt not in catalogue.prompts:
                yield "workloads.toml", f"{workload.id}.answers", f"no prompt {prompt}"
    for entry in catalogue.published.values():
        if entry.model not in catalogue.models:
            yield "published.toml", f"{entry.id}.model", f"no model {entry.model}"
        if entry.engine not in catalogue.engines:
            yield "published.toml", f"{entry.id}.engine", f"no engine {entry.engine}"
