"""What can be started on a machine now, and for what cannot the reason."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import msgspec

from bench import catalogue
from bench.catalogue import Catalogue, Engine, RecipeEntry
from bench.config import Config
from bench.errors import BenchError, Fault
from bench.machine.machines import LOCAL, Machine
from bench.memory import artifacts, elsewhere
from engines.docker_socket import listening


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One recipe, and whether it can start on this machine now."""

    engine: str
    model: str
    artifact: str
    problem: Fault | None = None
    """Why it cannot start here."""


def availability(
    known: Catalogue, config: Config, machine: Machine | None = None
) -> tuple[Choice, ...]:
    """Every recipe of the catalogue, and for each that cannot start here the reason.

    On another machine only containers are started, and nothing is looked at before.
    """
    if machine is not None and machine.id != LOCAL:
        return tuple(
            Choice(engine=entry.engine, model=entry.model, artifact=entry.artifact)
            for entry in known.recipes
            if _can_be_elsewhere(known, entry)
        )
    engines = {id: engine_problem(engine, config) for id, engine in known.engines.items()}
    return tuple(
        Choice(
            engine=entry.engine,
            model=entry.model,
            artifact=entry.artifact,
            problem=engines[entry.engine] or _problem_with_files(known, config, entry),
        )
        for entry in known.recipes
    )


def engine_problem(engine: Engine, config: Config) -> Fault | None:
    """Why an engine cannot start on this machine, or None."""
    checks = {"docker": _docker, "process": program}
    try:
        if engine.kind in checks:
            checks[engine.kind](config)
    except BenchError as error:
        return error.fault
    return None


def _can_be_elsewhere(known: Catalogue, entry: RecipeEntry) -> bool:
    """Whether a recipe can be started on another machine: in a container, with files there."""
    artifact = catalogue.artifact(known.models[entry.model], entry.artifact)
    return known.engines[entry.engine].kind == "docker" and artifact.package is None


def found_there(known: Catalogue, entry: RecipeEntry, machine: Machine) -> artifacts.Found | None:
    if not _can_be_elsewhere(known, entry):
        raise BenchError("machine_containers", machine=machine.id, engine=entry.engine)
    artifact = catalogue.artifact(known.models[entry.model], entry.artifact)
    if artifact.format == "ollama":
        return None
    return elsewhere.expected(artifact, Path(machine.models))


def program(config: Config) -> str | None:
    """A ``llama-server`` of this machine, or None for the packaged one."""
    program = config.llama_server or "llama-server"
    if path := shutil.which(program):
        return path
    if config.llama_server:
        raise BenchError("program_missing", program=program)
    if find_spec("xllamacpp") is None:
        raise BenchError("local_engine_missing")
    return None


def _docker(config: Config) -> None:
    """Where the worker is a service of its own, Docker is its affair: a server may have none."""
    if config.start_worker:
        listening(config.docker_host)


def _problem_with_files(known: Catalogue, config: Config, entry: RecipeEntry) -> Fault | None:
    artifact = catalogue.artifact(known.models[entry.model], entry.artifact)
    try:
        if artifact.format != "ollama":
            artifacts.check(artifact, config)
    except BenchError as error:
        return error.fault
    return None
