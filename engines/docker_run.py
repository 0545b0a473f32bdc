"""A launch as the arguments of the Docker SDK, and as the same command for a shell.

A container of ours carries two labels: ``spark-compare.app`` names the installation that started
it, and ``spark-compare.run`` the run.
"""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import Any

from docker import types

from engines import Launch

APP = "spark-compare.app"
RUN = "spark-compare.run"


def instance(var: Path) -> str:
    """What tells this installation's containers from another's on the same machine."""
    return hashlib.sha256(str(var.resolve()).encode()).hexdigest()[:12]


def options(
    launch: Launch, run: str, app: str, port: int | None, bind: str = "127.0.0.1"
) -> dict[str, Any]:
    """The arguments of the SDK's ``create``: the same as `command` says in words."""
    bridge = launch.network == "bridge"
    return {
        "image": launch.image,
        "command": list(launch.argv),
        "entrypoint": list(launch.entrypoint) if launch.entrypoint else None,
        "name": f"spark-compare-{run}",
        "labels": {APP: app, RUN: run},
        "environment": dict(launch.env),
        "mounts": [
            types.Mount(mount.target, mount.source, type=mount.kind, read_only=mount.read_only)
            for mount in launch.mounts
        ],
        "network_mode": "bridge" if bridge else "host",
        "ports": {f"{launch.port}/tcp": (bind, port)} if bridge else {},
        "ipc_mode": "host" if launch.ipc_host else None,
        "shm_size": launch.shm_bytes or None,
        "ulimits": [
            types.Ulimit(name=name, soft=limit, hard=limit)
            for name, limit in launch.ulimits.items()
        ],
        "device_requests": (
            [types.DeviceRequest(count=-1, capabilities=[["gpu"]])] if launch.gpus else []
        ),
        "security_opt": ["no-new-privileges"],
        "restart_policy": {"Name": "no"},
        "init": True,
    }


def command(
    launch: Launch,
    run: str = "by-hand",
    app: str = "by-hand",
    port: int = 0,
    bind: str = "127.0.0.1",
) -> str:
    """``docker run …`` for a shell, in one line: what `start` does, typed by hand."""
    words = ["docker", "run", "--name", f"spark-compare-{run}", "--init"]
    words += ["--label", f"{APP}={app}", "--label", f"{RUN}={run}"]
    words += ["--security-opt", "no-new-privileges"]
    if launch.gpus:
        words += ["--gpus", "all"]
    if launch.network == "host":
        words += ["--network", "host"]
    else:
        words += ["--publish", f"{bind}:{port or launch.port}:{launch.port}"]
    if launch.ipc_host:
        words += ["--ipc", "host"]
    if launch.shm_bytes:
        words += ["--shm-size", str(launch.shm_bytes)]
    for name, limit in launch.ulimits.items():
        words += ["--ulimit", f"{name}={limit}:{limit}"]
    for mount in launch.mounts:
        read_only = ",readonly" if mount.read_only else ""
        words += ["--mount", f"type={mount.kind},source={mount.source},target={mount.target}"
                  f"{read_only}"]  # fmt: skip
    for name, value in launch.env.items():
        words += ["--env", f"{name}={value}"]
    entrypoint = launch.entrypoint or ()
    if entrypoint:
        words += ["--entrypoint", entrypoint[0]]
    return shlex.join([*words, str(launch.image), *entrypoint[1:], *launch.argv])
