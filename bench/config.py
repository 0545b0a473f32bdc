"""Settings from the environment, read once at the edge and passed on as a value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Where things are on this machine, and the limits that its owner set."""

    var: Path
    """Folder of the database, the logs and the worker's lock; one local disk."""
    model_roots: tuple[Path, ...]
    """Only model files under one of these folders may be launched."""
    llama_server: str | None
    """A `llama-server` program to use in place of the one from PyPI."""
    floor_gib: float
    """The watchdog stops an engine when MemAvailable falls below this many GiB."""
    idle_seconds: float
    """A worker leaves after this many seconds without work."""
    proc: Path
    """Folder to read the machine's facts from; `/proc` but in tests."""
    docker_host: str = "unix:///var/run/docker.sock"
    """Where Docker listens: ``unix://``, ``ssh://`` or ``tcp://``."""
    start_worker: bool = True
    """False where a service of its own runs the worker, so that the server never starts one."""

    @property
    def database(self) -> Path:
        return self.var / "bench.db"

    @property
    def lock(self) -> Path:
        return self.var / "worker.lock"

    @property
    def logs(self) -> Path:
        return self.var / "logs"


def read(environ: Mapping[str, str] = os.environ) -> Config:
    """Read the settings; `docs/settings.md` says what each one does."""
    var = Path(environ.get("SPARK_COMPARE_VAR", ROOT / "var"))
    roots = environ.get("SPARK_COMPARE_MODELS", "/models")
    return Config(
        var=var,
        model_roots=(*(Path(root) for root in roots.split(os.pathsep) if root), var / "models"),
        llama_server=environ.get("LLAMA_SERVER"),
        floor_gib=float(environ.get("SPARK_COMPARE_FLOOR_GIB", "4")),
        idle_seconds=float(environ.get("SPARK_COMPARE_IDLE_SECONDS", "60")),
        proc=Path(environ.get("SPARK_COMPARE_PROC", "/proc")),
        docker_host=environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"),
        start_worker=environ.get("SPARK_COMPARE_START_WORKER", "1") != "0",
    )
