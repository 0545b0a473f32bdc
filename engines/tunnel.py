"""A port of another machine's 127.0.0.1, brought here through SSH.

It is the system's own ``ssh``, as the Docker SDK uses it: keys, names and known hosts are those of
the user who runs the worker.
"""

from __future__ import annotations

import socket
import subprocess
import time
from contextlib import suppress
from urllib.parse import urlsplit

from bench.errors import BenchError
from engines.process import free_port

PATIENCE = 20.0
"""Seconds for SSH to sign in."""


class Tunnel:
    """Open from the start until `close`."""

    def __init__(self, host: str, port: int) -> None:
        """``host`` is ``ssh://[user@]name[:port]``; ``port`` is on that machine's 127.0.0.1.

        Raises BenchError ``docker_host_key`` or ``tunnel_failed``.
        """
        self.port = free_port()
        self._ssh = subprocess.Popen(
            command(host, self.port, port),
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
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.05)
        told = self._ssh.stderr.read() if self._ssh.poll() is not None and self._ssh.stderr else ""
        if "Host key verification failed" in told:
            raise BenchError("docker_host_key", host=host)
        raise BenchError("tunnel_failed", host=host, reason=told.strip()[-300:] or "–")


def command(host: str, here: int, there: int) -> list[str]:
    """``ssh`` as a list of arguments: nothing is asked, and nothing but the port is forwarded."""
    parts = urlsplit(host)
    words = ["ssh", "-N", "-T", "-o", "BatchMode=yes", "-o", "ExitOnForwardFailure=yes"]
    words += ["-o", "ServerAliveInterval=15", "-L", f"127.0.0.1:{here}:127.0.0.1:{there}"]
    if parts.port:
        words += ["-p", str(parts.port)]
    if parts.username:
        words += ["-l", parts.username]
    return [*words, "--", str(parts.hostname)]
