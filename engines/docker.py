"""Engines as containers, through the Docker SDK. Called by the worker only.

A container without our labels (`docker_run.py`) is never touched.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from docker import errors

from bench.errors import BenchError
from engines import Exit, Launch, images
from engines.docker_client import LOCAL as LOCAL
from engines.docker_client import client as client
from engines.docker_faults import explained
from engines.docker_run import APP, instance, options
from engines.logs import Follower, LogFile
from engines.process import free_port
from engines.reach import Reach, opened

TRIES = 5
"""A name that was just freed can be refused for a moment (A25)."""


class Container:
    """A `Running` engine in a container."""

    def __init__(
        self,
        container: Any,
        url: str,
        log: LogFile,
        host: str,
        facts: dict[str, Any],
        beside: ExitStack,
    ):
        """``beside`` is closed when the engine is stopped or left: a tunnel, a watch."""
        self.url = url
        self.log_path = log.path
        self._beside = beside
        self._container = container
        self._host = host
        self._facts = facts
        self._ended: Exit | None = None
        self._patient = client(host, timeout=None)  # a log may be silent for long
        self._follower = Follower(
            lambda since, follow: _records(self._patient.api, container.id, since, follow),
            log,
            self._over,
            (requests.RequestException, errors.APIError, OSError),
        )
        self._follower.start()

    def poll(self) -> Exit | None:
        """How it ended. Raises BenchError ``docker_gone`` when somebody removed it."""
        if self._ended is None:
            with explained(self._host):
                self._container.reload()
            state = self._container.attrs["State"]
            if state["Status"] in ("exited", "dead"):
                self._ended = Exit(code=state["ExitCode"], out_of_memory=state["OOMKilled"])
                self._follower.finish()
        return self._ended

    def stop(self, patience: int = 10) -> None:
        """Stop, keep the rest of the log, remove. One that is gone already does no harm."""
        try:
            with explained(self._host), suppress(errors.NotFound):
                self._container.stop(timeout=patience)
        finally:
            self._follower.finish()
            self._beside.close()
        with explained(self._host), suppress(errors.NotFound):
            self._container.remove(force=True)
        self._patient.close()
        self._container.client.close()

    def leave(self) -> None:
        """Let it run on, and have no more to do with it."""
        self._follower.leave()
        self._beside.close()

    def facts(self) -> dict[str, Any]:
        return self._facts

    def _over(self) -> bool:
        try:
            self._container.reload()
        except errors.NotFound:
            return True
        except (errors.DockerException, requests.RequestException):
            return False  # the daemon may come back
        return bool(self._container.status in ("exited", "dead"))


def start(
    launch: Launch,
    run: str,
    var: Path,
    *,
    host: str = LOCAL,
    port: int | None = None,
    reach: Reach | None = None,
) -> Container:
    """Create and start it; ready is another question (`bench.running.loading`).

    ``port`` is the port on the host; without one a free one is taken. Whatever fails, no container
    is left. Raises BenchError, whose codes are in docker_faults.py, or ``tunnel_failed``.
    """
    reach = reach or Reach()
    if reach.url:
        port = urlsplit(reach.url).port
    elif port is None and host.startswith("unix://"):
        port = free_port()  # another host's Docker takes one itself
    if launch.network == "host" and host.startswith("unix://"):
        port = _free(launch.port)
    image = str(launch.image)
    docker_client = client(host)
    with ExitStack() as undo:
        undo.callback(docker_client.close)
        facts = images.facts(docker_client, host, image)
        with explained(host, image):
            container = _create(docker_client, launch, run, instance(var), port, reach.bind)
            undo.callback(_remove, container)
            container.start()
            container.reload()
        engine = _reached(container, launch, _log(var, run), host, reach, facts)
        undo.pop_all()
    return engine


def attach(
    name: str, launch: Launch, run: str, var: Path, *, host: str = LOCAL, reach: Reach | None = None
) -> Container | None:
    """A container of ours that was left running, for another run; None when it runs no more, or
    its image's tag has come to mean another image."""
    docker_client = client(host)
    with ExitStack() as undo:
        undo.callback(docker_client.close)
        with explained(host), suppress(errors.NotFound):
            container = docker_client.containers.get(name)
            if container.labels.get(APP) != instance(var):
                return None
            facts = images.facts(docker_client, host, str(launch.image))
            if container.status == "running" and container.image.id == facts["image_id"]:
                engine = _reached(container, launch, _log(var, run), host, reach or Reach(), facts)
                undo.pop_all()
                return engine
    return None


def _reached(
    container: Any,
    launch: Launch,
    log: Path,
    host: str,
    reach: Reach,
    facts: dict[str, Any],
) -> Container:
    """A started container with its log and its address here."""
    facts = facts | {"container": container.name, "docker_host": host}
    with ExitStack() as beside:
        url = opened(reach, host, _host_port(container, launch), container, beside)
        file = LogFile(log)
        return Container(container, url, file, host, facts, beside.pop_all())


def _log(var: Path, run: str) -> Path:
    return var / "logs" / f"{run}.log"


def _create(
    docker_client: Any, launch: Launch, run: str, app: str, port: int | None, bind: str
) -> Any:
    wanted = options(launch, run, app, port, bind)
    for attempt in range(TRIES):
        try:
            return docker_client.containers.create(**wanted)
        except errors.APIError as fault:
            if fault.status_code != 409 or attempt == TRIES - 1:
                raise
            wanted["name"] = _free_name(docker_client, wanted["name"], app, attempt)
        time.sleep(0.2 * attempt)
    raise AssertionError("the last try returns or raises")


def _free_name(docker_client: Any, name: str, app: str, attempt: int) -> str:
    """Make room for a name, or take another: a container that is not ours is never touched."""
    try:
        holder = docker_client.containers.get(name)
    except errors.NotFound:
        return name  # a removal that is not through yet
    if holder.labels.get(APP) != app:
        return f"{name}-{attempt + 2}"
    if holder.status == "running":
        raise BenchError("docker_still_running", name=name)
    holder.remove(force=True)
    return name


def _free(port: int) -> int:
    """The port itself. On the host's network Docker starts an engine that cannot have its port."""
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind(("127.0.0.1", port))
        except OSError as fault:
            reason = f"127.0.0.1:{port}: {fault.strerror}"
            raise BenchError("docker_port_taken", image="", reason=reason) from fault
    return port


def _remove(container: Any) -> None:
    with suppress(errors.DockerException, requests.RequestException):
        container.remove(force=True)


def _host_port(container: Any, launch: Launch) -> int:
    if launch.network == "host":
        return launch.port
    published = container.attrs["NetworkSettings"]["Ports"].get(f"{launch.port}/tcp")
    return int(published[0]["HostPort"]) if published else 0  # it has ended already


def _records(api: Any, container: str, since: int | None, follow: bool) -> Iterator[bytes]:
    more = {"since": since} if since else {}
    with closing(
        api.logs(container, stream=True, follow=follow, timestamps=True, **more)
    ) as records:
        yield from records
