"""A port or a socket of another machine, brought here through SSH (`ssh.py`)."""

from __future__ import annotations

import socket
import subprocess
import time
from contextlib import suppress
from urllib.parse import urlsplit

from engines import ssh

PATIENCE = 20.0
"""Seconds for SSH to sign in."""
DOCKER = "/var/run/docker.sock"


class Tunnel:
    """Open from the start until `close`."""

    def __init__(self, host: str, forward: str, here: str | int) -> None:
        """``host`` is ``ssh://[user@]name[:port]``, ``forward`` what `to_port` or `to_socket` says,
        and ``here`` its end on this machine: a port of 127.0.0.1, or a socket's path.

        Raises BenchError ``docker_host_key``, ``ssh_denied`` or ``tunnel_failed``.
        """
        self._here = here
        self._ssh = subprocess.Popen(
            ssh.command(
                host,
                *("-N", "-o", "ExitOnForwardFailure=yes", "-o", "ServerAliveInterval=15"),
                *("-L", forward),
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            self._await_open(host)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End it. Safe to call again."""
        self._ssh.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._ssh.wait(5)
        self._ssh.kill()
        self._ssh.wait()
        if self._ssh.stderr:
            self._ssh.stderr.close()

    def _await_open(self, host: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while self._ssh.poll() is None and time.monotonic() < deadline:
            with suppress(OSError):
                self._knock()
                return
            time.sleep(0.05)
        told = self._ssh.stderr.read() if self._ssh.poll() is not None and self._ssh.stderr else ""
        raise ssh.refusal(host, told)

    def _knock(self) -> None:
        """Raises OSError while nothing listens."""
        if isinstance(self._here, int):
            socket.create_connection(("127.0.0.1", self._here), 1).close()
            return
        with socket.socket(socket.AF_UNIX) as attempt:
            attempt.settimeout(1)
            attempt.connect(self._here)


def to_port(here: int, there: int) -> str:
    """From a port of 127.0.0.1 to one of that machine's."""
    return f"127.0.0.1:{here}:127.0.0.1:{there}"


def to_socket(host: str, here: str) -> str:
    """From a socket to Docker's on that machine; ``ssh://…/path`` may name another."""
    path = urlsplit(host).path
    return f"{here}:{path if path.strip('/') else DOCKER}"
