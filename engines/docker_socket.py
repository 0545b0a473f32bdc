"""See whether a Docker engine listens, without asking it anything and without its SDK."""

from __future__ import annotations

import socket

from bench.errors import BenchError


def listening(host: str) -> None:
    """Raises BenchError ``docker_missing``, ``docker_denied`` or ``docker_down`` for a local
    socket; a remote host is not tried."""
    if not host.startswith("unix://"):
        return
    path = host.removeprefix("unix://")
    try:
        with socket.socket(socket.AF_UNIX) as attempt:
            attempt.settimeout(2)
            attempt.connect(path)
    except FileNotFoundError as fault:
        raise BenchError("docker_missing", socket=path) from fault
    except PermissionError as fault:
        raise BenchError("docker_denied", socket=path) from fault
    except OSError as fault:
        raise BenchError("docker_down", socket=path) from fault
