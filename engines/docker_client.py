"""A client of a Docker engine: on this machine, through SSH, or over TLS.

Through SSH it is a tunnel to that machine's socket, by the system's own ``ssh``: the SDK's own way
needs paramiko and its keys, and does not keep what SSH says when it fails.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import docker

from engines.docker_faults import explained
from engines.docker_socket import listening
from engines.tunnel import Tunnel, to_socket

LOCAL = "unix:///var/run/docker.sock"


def client(host: str = LOCAL, timeout: float | None = 60) -> docker.DockerClient:
    """A client of a local socket, ``ssh://user@host``, or ``tcp://host:2376`` with TLS.

    For TLS the certificates are in DOCKER_CERT_PATH, as for the ``docker`` command. Raises
    BenchError: the codes of docker_faults.py, and of `Tunnel`.
    """
    listening(host)
    if host.startswith("ssh://"):
        return _Tunnelled(host, timeout)
    with explained(host):
        return docker.DockerClient(base_url=host, timeout=timeout, tls=_tls(host))


class _Tunnelled(docker.DockerClient):  # type: ignore[misc]  # the SDK has no types
    """A client through SSH; the tunnel lives as long as the client."""

    def __init__(self, host: str, timeout: float | None) -> None:
        self._folder = tempfile.mkdtemp(prefix="spark-ssh-")
        socket = f"{self._folder}/docker.sock"
        try:
            self._tunnel = Tunnel(host, to_socket(host, socket), socket)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        try:
            with explained(host):
                super().__init__(base_url=f"unix://{socket}", timeout=timeout)
        except BaseException:
            self._end()
            raise

    def close(self) -> None:
        super().close()
        self._end()

    def _end(self) -> None:
        self._tunnel.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class _TLS(docker.tls.TLSConfig):  # type: ignore[misc]
    """`requests` prefers REQUESTS_CA_BUNDLE to the authority that it is given; not here."""

    def configure_client(self, client: Any) -> None:
        super().configure_client(client)
        client.trust_env = False


def _tls(host: str) -> _TLS | bool:
    folder = os.environ.get("DOCKER_CERT_PATH")
    if not folder or not host.startswith("tcp://"):
        return False
    certificate, key, authority = (
        str(Path(folder) / name) for name in ("cert.pem", "key.pem", "ca.pem")
    )
    return _TLS(client_cert=(certificate, key), ca_cert=authority, verify=True)
