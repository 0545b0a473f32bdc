"""Engines: a recipe becomes a launch (pure); `docker.py` and `process.py` do what it says.

An engine is one small module with one function ``launch(recipe) -> Launch``, one line in
`launches.py` and one entry in ``data/engines.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

Flag = str | int | float | bool
PYTHON = "{python}"
PORT = "{port}"


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """One model on one engine as the catalogue has it, the reader's choices filled in."""

    engine: str
    model: str
    """Catalogue id; also the name under which the engine serves the model."""
    path: str = ""
    """The model's file or folder on this host, or Ollama's tag; empty for an endpoint."""
    root: str = ""
    """The model root that ``path`` lies under: what a container sees, read-only."""
    image: str | None = None
    flags: Mapping[str, Flag] = msgspec.field(default_factory=dict)
    """Engine flags by their own names without dashes; ``True`` is a bare flag, ``False`` none."""
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    context: int = 0
    """Tokens of context for each request."""
    slots: int = 0
    """Requests the engine may work on at once; 0 where unknown."""
    url: str | None = None
    """Base URL of an endpoint that already runs."""
    key_env: str | None = None
    """Name of the environment variable that holds the endpoint's key; never the key."""
    program: str | None = None
    """A program of this machine that serves the model in place of the packaged one."""
    network: Literal["bridge", "host"] = "bridge"
    """``host`` only where an engine needs it; its port is then bound to 127.0.0.1 by a flag."""
    source: str = ""
    """Where these settings come from: a URL or a file."""


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    """A host folder, or the name of a volume."""
    target: str
    kind: Literal["bind", "volume"] = "bind"
    read_only: bool = True


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that starting an engine needs, and nothing it does not."""

    argv: tuple[str, ...]
    """Command and arguments, never a shell's. In a process ``PYTHON`` stands for this Python and
    ``PORT`` for the port that is taken at start."""
    port: int
    """The port the engine listens on inside; 0 = a free one is taken at start (process only)."""
    served: str
    """The model's name in ``/v1/models`` and in requests."""
    health: str = "/health"
    image: str | None = None
    """None: a local process."""
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    gpus: bool = False
    network: Literal["bridge", "host"] = "bridge"
    ipc_host: bool = False
    shm_bytes: int = 0
    ulimits: Mapping[str, int] = msgspec.field(default_factory=dict)
    entrypoint: tuple[str, ...] | None = None


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How an engine ended."""

    code: int
    """Exit code; negative is the signal that ended a process."""
    out_of_memory: bool = False
    """The kernel ended it for want of memory."""


class Running(Protocol):
    """An engine that was started: a container or a process group."""

    @property
    def url(self) -> str: ...

    @property
    def log_path(self) -> Path | None:
        """The file its output goes to; None where we have no hold of it."""

    def poll(self) -> Exit | None:
        """How it ended, or None while it runs."""

    def stop(self) -> None:
        """End it and leave nothing behind. Safe to call again."""

    def facts(self) -> dict[str, Any]:
        """What is worth keeping with a run, by name."""


def flag_args(flags: Mapping[str, Flag]) -> tuple[str, ...]:
    """Flags as an argument list: ``{"max-num-seqs": 32}`` is ``("--max-num-seqs", "32")``."""
    args: list[str] = []
    for name, value in flags.items():
        if value is False:
            continue
        args.append(f"--{name}")
        if value is not True:
            args.append(str(value))
    return tuple(args)
