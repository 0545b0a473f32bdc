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
    machine: str = "local"
    """The machine that this worker serves: its id in ``machines.toml``."""
    machines: Path | None = None
    """A file that names other machines; ``machines.toml`` in ``var`` when None."""
    start_worker: bool = True
    """False where a service of its own runs the worker, so that the server never starts one."""
    hosts: tuple[str, ...] = ()
    """Names under which browsers may open the app; none: this machine's own."""
    operators: tuple[str, ...] = ()
    """Who signs in as an operator: e-mail addresses, ``@domain`` or ``claim=value``."""
    viewers: tuple[str, ...] = ("*",)
    """Who else may sign in, written the same way; ``*`` is everybody whom the provider lets in."""
    sign_in_hours: float = 12
    """A sign-in ends after this many hours."""
    judge_url: str | None = None
    """The server of a model whose opinion on answers may be asked for; None: off."""
    judge_model: str | None = None
    """Its model; None: the first that it serves."""

    @property
    def database(self) -> Path:
        return self.var / "bench.db"

    @property
    def lock(self) -> Path:
        """One a machine, since each has a worker of its own."""
        own = "" if self.machine == "local" else f"-{self.machine}"
        return self.var / f"worker{own}.lock"

    @property
    def machines_file(self) -> Path:
        return self.machines or self.var / "machines.toml"

    @property
    def logs(self) -> Path:
        return self.var / "logs"

    @property
    def passcode(self) -> Path:
        """Holds the hash of the operators' passcode, once one is set."""
        return self.var / "passcode"


def read(environ: Mapping[str, str] = os.environ) -> Config:
    """Read the settings; `docs/settings.md` says what each one does."""
    var = Path(environ.get("SPARK_COMPARE_VAR", ROOT / "var"))
    roots = environ.get("SPARK_COMPARE_MODELS", "/models")
    machine = environ.get("SPARK_COMPARE_MACHINE", "local")
    seen = var / "machines" / machine  # what was last seen of another machine
    machines = environ.get("SPARK_COMPARE_MACHINES")
    return Config(
        var=var,
        model_roots=(*(Path(root) for root in roots.split(os.pathsep) if root), var / "models"),
        llama_server=environ.get("LLAMA_SERVER"),
        floor_gib=float(environ.get("SPARK_COMPARE_FLOOR_GIB", "4")),
        idle_seconds=float(environ.get("SPARK_COMPARE_IDLE_SECONDS", "60")),
        proc=Path(environ.get("SPARK_COMPARE_PROC", "/proc")) if machine == "local" else seen,
        machine=machine,
        machines=Path(machines) if machines else None,
        docker_host=environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"),
        start_worker=environ.get("SPARK_COMPARE_START_WORKER", "1") != "0",
        hosts=_words(environ.get("SPARK_COMPARE_HOSTS", "")),
        operators=_words(environ.get("SPARK_COMPARE_OPERATORS", "")),
        viewers=_words(environ.get("SPARK_COMPARE_VIEWERS", "*")),
        sign_in_hours=float(environ.get("SPARK_COMPARE_SIGN_IN_HOURS", "12")),
        judge_url=environ.get("SPARK_COMPARE_JUDGE_URL") or None,
        judge_model=environ.get("SPARK_COMPARE_JUDGE_MODEL") or None,
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())
