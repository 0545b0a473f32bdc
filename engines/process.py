"""Engines as processes of this machine: each in a process group of its own.

A note of the group, with the leader's start time, is kept in ``var/engines/<run>.json`` while it
runs, so that a worker that comes after a killed one finds and ends what was left.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from bench.errors import BenchError
from engines import PORT, PYTHON, Exit, Launch

ROOT = Path(__file__).parents[1]


class Note(msgspec.Struct, frozen=True):
    """What identifies a process group beyond doubt: process ids are used again."""

    pid: int
    started: int
    """Clock ticks since boot, from ``/proc/<pid>/stat``."""


class Process:
    """A `Running` engine in its own process group."""

    def __init__(
        self, child: subprocess.Popen[bytes], url: str, log_path: Path, note: Path, argv: list[str]
    ) -> None:
        self.url = url
        self.log_path = log_path
        self._child = child
        self._note = note
        self._argv = argv

    def poll(self) -> Exit | None:
        code = self._child.poll()
        return None if code is None else Exit(code=code)

    def stop(self, patience: float = 10.0) -> None:
        """SIGTERM to the group, SIGKILL to what is left of it after ``patience`` seconds."""
        _signal(self._child.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(patience)
        _signal(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._note.unlink(missing_ok=True)

    def facts(self) -> dict[str, Any]:
        return {"pid": self._child.pid, "argv": self._argv}


def start(launch: Launch, run: str, var: Path, *, port: int = 0) -> Process:
    """Start it; ready is another question (`bench.running.loading`).

    Raises BenchError ``program_missing`` or ``program_not_executable``.
    """
    port = port or free_port()
    fill = {PYTHON: sys.executable, PORT: str(port)}
    argv = [fill.get(word, word) for word in launch.argv]
    log_path = var / "logs" / f"{run}.log"
    log_path.parent.mkdir(parents=True, exist_ok=True)
    with log_path.open("ab") as log:
        child = _spawn(argv, {**os.environ, **launch.env}, log.fileno())
    note = _write_note(child.pid, var / "engines" / f"{run}.json")
    return Process(child, f"http://127.0.0.1:{port}", log_path, note, argv)


def stop_strays(var: Path, *, patience: float = 10.0) -> list[str]:
    """End the groups that a killed worker left, and say of which runs. Call it with the lock held.

    A group is ended only when process id and start time are those that were noted.
    """
    stopped = []
    for note in sorted((var / "engines").glob("*.json")):
        noted = msgspec.json.decode(note.read_bytes(), type=Note)
        if started_at(noted.pid) == noted.started:
            _signal(noted.pid, signal.SIGKILL)
            _await_end(noted, patience)
            stopped.append(note.stem)
        note.unlink()
    return stopped


def free_port() -> int:
    """A port of 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def started_at(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None when it is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *rest = stat.rpartition(") ")[2].split()  # a command's name may hold anything
    return None if state in "ZX" else int(rest[18])


def _spawn(argv: list[str], env: Mapping[str, str], log: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except FileNotFoundError as fault:
        raise BenchError("program_missing", program=argv[0]) from fault
    except PermissionError as fault:
        raise BenchError("program_not_executable", program=argv[0]) from fault


def _write_note(pid: int, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(Note(pid, started_at(pid) or 0)))
    return path


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


def _await_end(noted: Note, patience: float) -> None:
    deadline = time.monotonic() + patience
    while started_at(noted.pid) == noted.started and time.monotonic() < deadline:
        time.sleep(0.02)
