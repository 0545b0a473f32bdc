"""The machines on which engines are started: this one, and those that a file names.

``var/machines.toml`` (or the file in SPARK_COMPARE_MACHINES), one table a machine::

    [lab]
    name = "Spark in the lab"
    docker = "ssh://ops@spark-lab.lan"     # or tcp://spark-lab.lan:2376 with certificates
    models = "/models"                     # the model root on that machine

Each machine has a queue, a lock and a worker of its own: memory is one pool, so one run at a time.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from bench.config import Config
from bench.errors import BenchError
from bench.machine import host, smi
from bench.machine.host import Ask, Host

LOCAL = "local"


class Machine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    name: str = ""
    docker: str
    """``unix://…``, ``ssh://user@host`` or ``tcp://host:2376``."""
    certificates: str | None = None
    """For ``tcp://``: a folder with ca.pem, cert.pem and key.pem."""
    models: str = "/models"
    """The model root on that machine."""
    url: str | None = None
    """Under which its engines are reached from here, with a port. Without it, by an SSH tunnel."""
    bind: str = "127.0.0.1"
    """The address on that machine at which an engine's port is opened."""


def read(config: Config) -> Mapping[str, Machine]:
    """All machines by id, this one first.

    Raises BenchError ``machines_fault`` with what is wrong in the file.
    """
    found = {LOCAL: Machine(id=LOCAL, docker=config.docker_host)}
    file = config.machines_file
    if not file.exists():
        return found
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
        for id, table in tables.items():
            made = msgspec.convert({"id": id, "name": id, **table}, Machine)
            _check(made)
            found[id] = made
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, ValueError, TypeError) as fault:
        raise BenchError("machines_fault", file=str(file), problem=str(fault)) from fault
    return found


def named(config: Config, id: str) -> Machine:
    """Raises BenchError ``machine_unknown``."""
    try:
        return read(config)[id]
    except KeyError:
        raise BenchError("machine_unknown", name=id) from None


def lock(config: Config, id: str) -> Path:
    """Held by the worker of a machine while it lives."""
    return replace(config, machine=id).lock


def environment(machine: Machine) -> dict[str, str]:
    """What makes a worker the worker of another machine."""
    if machine.id == LOCAL:
        return {"SPARK_COMPARE_MACHINE": LOCAL}
    certificates = {"DOCKER_CERT_PATH": machine.certificates} if machine.certificates else {}
    return {"SPARK_COMPARE_MACHINE": machine.id, "DOCKER_HOST": machine.docker, **certificates}


def look(config: Config) -> Host:
    """The worker's machine as it is now; another one as it was last seen."""
    if config.machine == LOCAL:
        return host.read(config.proc, nvidia_smi=smi.ask)
    return host.facts(config.proc)


def asking(config: Config) -> Ask:
    """nvidia-smi of the worker's machine; another machine's is not asked."""
    return smi.ask if config.machine == LOCAL else lambda arguments: None


def _check(machine: Machine) -> None:
    if machine.id == LOCAL or not machine.id.replace("-", "").isalnum():
        raise ValueError(f"[{machine.id}]: a name of letters, digits and “-”, other than “{LOCAL}”")
    parts = urlsplit(machine.docker)
    if parts.scheme not in ("ssh", "tcp", "unix") or parts.password:
        raise ValueError(f"{machine.id}.docker: ssh://user@host, tcp://host:2376 or unix://socket")
    if parts.scheme == "tcp" and not machine.certificates:
        raise ValueError(f"{machine.id}.certificates: tcp:// is only used with TLS")
    if parts.scheme == "tcp" and not machine.url:
        raise ValueError(f"{machine.id}.url: how its engines are reached, http://name:port")
    if machine.url and not urlsplit(machine.url).port:
        raise ValueError(f"{machine.id}.url: http://name:port")
